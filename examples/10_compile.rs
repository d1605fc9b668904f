//! Compiles the guide's kernel while the program runs: a histogram that uses LDS and takes a struct by value.
//!
//! This needs ROCm's runtime compiler. Without it, the example prints what to install and ends.

use hiplaunch::code_object::CodeObject;
use hiplaunch::compile::CompileError;
use hiplaunch::{Arg, Compile, Compiler, Error, LaunchDims, Launcher};

const SOURCE: &str = include_str!("histogram/histogram.hip");

/// The kernel's `struct Range`, with the layout that it has in C.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Range {
    low: f32,
    high: f32,
    bins: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;

    // The compiler has HIP's declarations built in. The empty header stands for the one that the source includes.
    let compiler = Compiler::new(&device.properties().target)
        .name("histogram.hip")
        .option("-O3")
        .header("hip/hip_runtime.h", "");
    let code = match CodeObject::compile(SOURCE, &compiler) {
        Ok(code) => code,
        Err(missing @ (CompileError::NotFound { .. } | CompileError::UnknownTarget { .. })) => {
            println!("{missing}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    println!("compiled {} bytes for {}", code.elf().len(), code.code_object().target());
    // SAFETY: the kernel is the one above.
    let histogram = unsafe { launcher.register(device, code.elf(), "histogram")? };

    let x: Vec<f32> = (0..10_000).map(|i| (i % 1000) as f32 / 1000.0).collect();
    let range = Range { low: 0.0, high: 1.0, bins: 10 };
    let zeros = [0u32; 10];
    let args = [Arg::input(&x), Arg::from(x.len() as u32), Arg::value(&range), Arg::inout(&zeros)];
    // SAFETY: x has as many elements as the second argument says, and the counts have `bins` elements, at most 256.
    let ticket = unsafe { launcher.launch(histogram, &stream, LaunchDims::linear(4, 256), &args)? };
    let counts = ticket.read()?.slice::<u32>(0)?.to_vec();
    println!("{counts:?}");
    assert_eq!(counts.iter().sum::<u32>(), 10_000);
    assert!(counts.iter().all(|count| (990..=1010).contains(count)));

    // A launch that does not fit the kernel is refused before any device call, and the error says why.
    // SAFETY: nothing is launched.
    let refused = unsafe { launcher.launch(histogram, &stream, LaunchDims::linear(4, 256), &args[..3]) };
    assert!(matches!(refused, Err(Error::Launch { .. })));

    // The error for a wrong source has the compiler's log.
    let Err(error) = CodeObject::compile("__global__ void f() { g(); }", &compiler) else {
        return Err("g is not declared".into());
    };
    println!("{error}");
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
