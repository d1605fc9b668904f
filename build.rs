//! Compiles the code objects under `hip/` anew, with the feature `hipcc`. Without it, a build needs only Rust.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "hipcc")]
    kernels::rebuild();
}

/// Feature `hipcc`: the code objects under `hip/` from their sources.
#[cfg(feature = "hipcc")]
mod kernels {
    use std::process::Command;

    pub(super) fn rebuild() {
        // Not the folder: the objects that are written there would start the next build again.
        let sources =
            std::fs::read_dir("hip").expect("hip/ is there").filter_map(|entry| Some(entry.ok()?.path()));
        for source in
            sources.filter(|path| path.extension().is_some_and(|e| e == "hip" || e == "h" || e == "sh"))
        {
            println!("cargo::rerun-if-changed={}", source.display());
        }
        for variable in ["HIPCC", "CLANG", "TARGETS", "ROCM_PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let status = Command::new("bash").arg("hip/build.sh").status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("hip/build.sh failed ({status}); its message is above"),
            Err(error) => panic!("cannot run hip/build.sh with bash: {error}"),
        }
    }
}
