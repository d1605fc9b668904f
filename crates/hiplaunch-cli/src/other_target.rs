//! Chooses the target to emulate for a code object that the emulated device can't run.

use amdgpu_isa::Target;
use code_object::TargetId;

/// Returns a target that the emulator can emulate and that can run one of `available`: target ids, or ids of bundle
/// entries.
pub(crate) fn emulated_for(available: &[String]) -> Option<TargetId> {
    let targets = available.iter().filter_map(|id| {
        // The id of a bundle entry has the kind of the code before the target.
        id.parse::<TargetId>().ok().or_else(|| id.split_once('-')?.1.parse().ok())
    });
    targets.into_iter().find_map(|target| {
        Target::processors().find_map(|processor| {
            let mut device: TargetId = processor.parse().ok()?;
            // What the code leaves open, the emulator chooses.
            device.xnack = target.xnack.or(device.xnack);
            device.sramecc = target.sramecc.or(device.sramecc);
            target.is_compatible_with(&device).then_some(device)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_target_that_the_emulator_knows_is_chosen() {
        let emulated = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).into()).collect();
            emulated_for(&ids).map(|target| target.short())
        };
        assert_eq!(emulated(&["gfx942"]).as_deref(), Some("gfx942"));
        assert_eq!(emulated(&["gfx90a:xnack+"]).as_deref(), Some("gfx90a:xnack+"));
        assert_eq!(emulated(&["gfx942:sramecc-:xnack+"]).as_deref(), Some("gfx942:sramecc-:xnack+"));
        assert_eq!(emulated(&["gfx950"]).as_deref(), Some("gfx950"));
        assert_eq!(emulated(&["gfx9-4-generic:xnack-"]).as_deref(), Some("gfx942:xnack-"));
        let bundle = [
            "host-x86_64-unknown-linux-gnu-",
            "hipv4-amdgcn-amd-amdhsa--gfx1010",
            "hipv4-amdgcn-amd-amdhsa--gfx942",
        ];
        assert_eq!(emulated(&bundle).as_deref(), Some("gfx942"));
        // As LLVM 24 writes it.
        assert_eq!(
            emulated(&["hipv4-amdgpu9.0a-amd-amdhsa--gfx90a:xnack+"]).as_deref(),
            Some("gfx90a:xnack+")
        );
        assert_eq!(emulated(&["gfx1151"]).as_deref(), Some("gfx1151"));
        assert_eq!(emulated(&["gfx11-generic"]).as_deref(), Some("gfx1100"));
        assert_eq!(emulated(&["gfx10-3-generic"]).as_deref(), Some("gfx1030"));
        for none in [&["gfx1010"][..], &["gfx908"], &["host-x86_64-unknown-linux-gnu-"], &["amdgcn-"], &[]] {
            assert_eq!(emulated(none), None, "{none:?}");
        }
    }
}
