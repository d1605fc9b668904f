//! With the feature `hipcc`, compiles the code objects of `hip/` anew from their sources into `OUT_DIR`, where
//! `tests/compiled_kernels.rs` compares and runs them. Without it, a build needs only Rust.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "hipcc")]
    kernels::compile();
}

/// Feature `hipcc`: the code objects under `hip/` from their sources.
#[cfg(feature = "hipcc")]
mod kernels {
    use std::process::Command;

    pub(super) fn compile() {
        println!("cargo::rerun-if-changed=hip");
        for variable in ["HIPCC", "CLANG", "BUNDLER", "TARGETS", "ROCM_PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
        let status = Command::new("bash").args(["hip/build.sh", "--to"]).arg(folder).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("hip/build.sh failed ({status}); its message is above"),
            Err(error) => panic!("cannot run hip/build.sh with bash: {error}"),
        }
    }
}
