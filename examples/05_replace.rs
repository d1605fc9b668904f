//! Replaces the kernel of a handle, as a JIT compiler does, while launches of the old kernel are in flight.

use hiplaunch::{Arg, Error, FatBinary, LaunchDims, Launcher};

const N: usize = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/reduce.hipfb")?.for_device(device)?;
    // SAFETY: a kernel of this project.
    let sum = unsafe { launcher.register(device, code.elf(), "reduce_sum_f32")? };

    let x = [0.25f32; N];
    let launch = |dims: LaunchDims| {
        let args = [Arg::input(&x), Arg::output::<f32>(1), Arg::from(N as i32)];
        // SAFETY: the arrays are as long as the kernel takes them to be: N, and one sum for the one workgroup.
        unsafe { launcher.launch(sum, &stream, dims, &args) }
    };
    let before = launch(LaunchDims::linear(1, 256))?;

    // The kernel was compiled again. If the new code object can't be used, the old kernel stays. Otherwise its module
    // is unloaded after `before` has finished. SAFETY: a kernel of this project.
    let missing = unsafe { launcher.replace(sum, code.elf(), "reduce_sum_f64") };
    assert!(matches!(missing, Err(Error::CodeObject(_))));
    // SAFETY: as above.
    unsafe { launcher.replace(sum, code.elf(), "reduce_sum_dyn_f32")? };
    let after = launch(LaunchDims::linear(1, 64).with_lds(4 * 64))?;

    assert_eq!(before.read()?.value::<f32>(0)?, 64.0);
    assert_eq!(after.read()?.value::<f32>(0)?, 64.0);

    // The handle of an unregistered kernel is an error and never names another kernel.
    launcher.unregister(sum)?;
    let stale = launch(LaunchDims::linear(1, 64)).unwrap_err();
    assert!(matches!(stale, Error::StaleHandle(_)));
    println!("{stale}");
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
