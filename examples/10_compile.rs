//! The guide's kernel, compiled while the program runs: a histogram with LDS and a struct by value.
//!
//! Needs ROCm's runtime compiler; without it the example says what to install, and does nothing more.

use hiplaunch::code_object::CodeObject;
use hiplaunch::compile::CompileError;
use hiplaunch::{Arg, Compile, Compiler, Error, LaunchDims, Launcher};

const SOURCE: &str = include_str!("histogram/histogram.hip");

/// The kernel's `Range`, as C lays it out.
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

    // The compiler has HIP's header built in; what it is given as a header it need not look for.
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
    // SAFETY: x has as many elements as the second argument says, counts has `bins`, which is at most 256.
    let ticket = unsafe { launcher.launch(histogram, &stream, LaunchDims::linear(4, 256), &args)? };
    let counts = ticket.read()?.slice::<u32>(0)?.to_vec();
    println!("{counts:?}");
    assert_eq!(counts.iter().sum::<u32>(), 10_000);
    assert!(counts.iter().all(|count| (990..=1010).contains(count)));

    // What does not fit the kernel is refused before any device call, and the error names the argument.
    // SAFETY: nothing is launched.
    let refused = unsafe { launcher.launch(histogram, &stream, LaunchDims::linear(4, 256), &args[..3]) };
    assert!(matches!(refused, Err(Error::Launch { .. })));

    // An error in the source comes back with the compiler's log.
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
