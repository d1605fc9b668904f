//! Tests that the launcher's safeguards are needed: with one turned off, the validation layer reports violations.

use super::*;
use crate::{Arg, ArgumentBlock, Backend, Patch, PatchTarget};
use hip_driver_layers::validation::{ValidationDriver, Violation};

const JIT: &[u8] = include_bytes!("../../hip/jit.gfx90a.co");

/// Returns a launcher on the emulator, two of its streams and the kernel `jit_echo`.
fn rig() -> (Launcher, [Stream; 2], KernelHandle) {
    let launcher =
        Launcher::builder().backend(Backend::Emulator).validate(true).staging_ring(1024, 2).build().unwrap();
    let device = launcher.device(0).unwrap().clone();
    let streams = [launcher.stream(&device).unwrap(), launcher.stream(&device).unwrap()];
    // SAFETY: a kernel of hip/.
    let echo = unsafe { launcher.register(&device, JIT, "jit_echo") }.unwrap();
    (launcher, streams, echo)
}

/// Launches `jit_echo` with a payload of `seed`. Returns the ticket and the payload, which is also the result.
fn echo(launcher: &Launcher, stream: &Stream, kernel: KernelHandle, seed: u8) -> (Ticket, [u8; 100]) {
    let payload = [seed; 100];
    let mut bytes = [0; 112];
    bytes[8..12].copy_from_slice(&100u32.to_le_bytes());
    bytes[12..].copy_from_slice(&payload);
    let patches = [Patch { offset: 0, target: PatchTarget::Result }];
    let block = ArgumentBlock { bytes: &bytes, patches: &patches, arrays: &[], result_bytes: 100 };
    // SAFETY: the argument block has the layout that the kernel takes.
    let ticket =
        unsafe { launcher.launch(kernel, stream, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]) };
    (ticket.unwrap(), payload)
}

fn violations(launcher: &Launcher) -> Vec<Violation> {
    launcher.validation().map(|v: &Arc<ValidationDriver>| v.take_violations()).unwrap_or_default()
}

#[test]
fn without_the_staging_ring_s_fences_the_layer_reports_a_host_write() {
    for fenced in [true, false] {
        let (launcher, [stream, _], kernel) = rig();
        stream.0.lock().ring.without_fence = !fenced;
        // A staging buffer takes 8 blocks of 112 bytes, each padded to 128. So 60 launches fill each of the two staging
        // buffers several times, and no ticket is read meanwhile.
        let tickets: Vec<_> = (0..60).map(|i| echo(&launcher, &stream, kernel, i)).collect();
        let found = violations(&launcher);
        assert_eq!(found.is_empty(), fenced, "fence: {fenced}: {found:?}");
        assert!(found.iter().all(Violation::is_order), "{found:?}");
        if fenced {
            for (ticket, payload) in tickets {
                assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), payload);
            }
        }
    }
}

#[test]
fn with_scratch_shared_between_streams_the_layer_reports_a_race() {
    for shared in [false, true] {
        let (launcher, [a, b], kernel) = rig();
        drop((echo(&launcher, &a, kernel, 1), echo(&launcher, &b, kernel, 2)));
        a.synchronize().unwrap();
        b.synchronize().unwrap();
        assert!(violations(&launcher).is_empty());
        if shared {
            let alias = a.0.lock().kernels.memory_of(kernel).unwrap().scratch.alias();
            let mut state = b.0.lock();
            let memory = state.kernels.memory_of(kernel).unwrap();
            drop(std::mem::replace(&mut memory.scratch, alias));
            memory.shadow_matches_device = false;
        }
        let tickets: Vec<_> =
            (3..13).map(|i| echo(&launcher, if i % 2 == 0 { &a } else { &b }, kernel, i)).collect();
        let found = violations(&launcher);
        assert_eq!(found.is_empty(), !shared, "shared: {shared}: {found:?}");
        assert!(found.iter().all(Violation::is_order), "{found:?}");
        for (ticket, payload) in tickets {
            let output = ticket.read().unwrap();
            assert!(shared || output.bytes(0).unwrap() == payload);
        }
        if shared {
            b.synchronize().unwrap();
            let kernels = std::mem::take(&mut b.0.lock().kernels);
            drop(kernels);
        }
    }
}
