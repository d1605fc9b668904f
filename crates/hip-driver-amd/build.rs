//! With the feature `bindgen`, generates the HIP bindings from the installed headers. Without it, a build needs only
//! Rust.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bindgen")]
    bindings::generate();
}

/// Generates `bindings.rs` from the installed HIP headers, to replace the checked-in file.
#[cfg(feature = "bindgen")]
mod bindings {
    use std::env;
    use std::path::{Path, PathBuf};

    use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ParseCallbacks};

    const SYMBOLS: &str = "src/symbols.rs";
    const CHECKED_IN: &str = "src/bindings.rs";

    const TITLE: &str = "//! What the driver uses of AMD's `hip_runtime_api.h`: written by the feature `bindgen`, not by hand.";

    /// The device attributes that the driver reads. The others, about a hundred, are left out.
    const ATTRIBUTES: [&str; 17] = [
        "CanUseStreamWaitValue",
        "ClockRate",
        "L2CacheSize",
        "ManagedMemory",
        "MaxBlockDimX",
        "MaxBlockDimY",
        "MaxBlockDimZ",
        "MaxGridDimX",
        "MaxGridDimY",
        "MaxGridDimZ",
        "MaxRegistersPerBlock",
        "MaxSharedMemoryPerBlock",
        "MaxThreadsPerBlock",
        "MemoryBusWidth",
        "MemoryClockRate",
        "MultiprocessorCount",
        "WarpSize",
    ];

    #[derive(Debug)]
    struct Trim;

    impl ParseCallbacks for Trim {
        fn enum_variant_behavior(
            &self,
            enum_name: Option<&str>,
            variant: &str,
            _value: EnumVariantValue,
        ) -> Option<EnumVariantCustomBehavior> {
            let keep = match enum_name.map(|name| name.trim_start_matches("enum ")) {
                Some("hipDeviceAttribute_t") => {
                    variant.strip_prefix("hipDeviceAttribute").is_some_and(|v| ATTRIBUTES.contains(&v))
                }
                // `ErrorCode` has the codes; control flow depends on these two.
                Some("hipError_t") => ["hipSuccess", "hipErrorNotReady"].contains(&variant),
                _ => true,
            };
            (!keep).then_some(EnumVariantCustomBehavior::Hide)
        }
    }

    pub(super) fn generate() {
        for path in ["wrapper.h", SYMBOLS, CHECKED_IN] {
            println!("cargo::rerun-if-changed={path}");
        }
        for variable in ["ROCM_PATH", "HIP_PATH", "HIPLAUNCH_BLESS"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let includes = ["ROCM_PATH", "HIP_PATH"]
            .iter()
            .filter_map(env::var_os)
            .map(PathBuf::from)
            .chain([PathBuf::from("/opt/rocm")])
            .map(|root| root.join("include"))
            .filter(|include| include.join("hip/hip_runtime_api.h").is_file());

        let mut builder = bindgen::Builder::default()
            .header("wrapper.h")
            .clang_args(includes.map(|include| format!("-I{}", include.display())))
            .disable_header_comment()
            .generate_comments(false)
            .use_core()
            .prepend_enum_name(false)
            .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: false })
            // It has 32 bit fields, whose accessors nothing calls.
            .blocklist_type("hipDeviceArch_t")
            .raw_line("pub type hipDeviceArch_t = u32;")
            .allowlist_var("hip(StreamNonBlocking|EventDisableTiming|EventDefault|HostMallocDefault)")
            .merge_extern_blocks(true)
            .parse_callbacks(Box::new(Trim));
        for name in symbols() {
            builder = builder.allowlist_function(name);
        }
        let bindings = builder.generate().unwrap_or_else(|error| {
            panic!("cannot read wrapper.h: {error}. Feature `bindgen` needs libclang and HIP's headers (Debian: libclang1-15, libamdhip64-dev; ROCm: set ROCM_PATH)")
        });
        let out = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("bindings.rs");
        // `include!` accepts no inner doc comment: only the checked-in file has that line.
        let text = bindings.to_string();
        std::fs::write(&out, &text).expect("OUT_DIR is writable");
        if env::var_os("HIPLAUNCH_BLESS").is_some() {
            std::fs::write(CHECKED_IN, format!("{TITLE}\n{text}")).expect("the source tree is writable");
        }
    }

    /// Returns the functions of the driver's table: the words that begin a line with `hip` and are followed by `(`.
    fn symbols() -> Vec<String> {
        let table = std::fs::read_to_string(SYMBOLS).expect("the driver's table is there");
        let name = |line: &str| {
            let name = line.trim_start().split_once('(')?.0;
            (name.starts_with("hip") && name.bytes().all(|b| b.is_ascii_alphanumeric()))
                .then(|| name.to_owned())
        };
        table.lines().filter_map(name).collect()
    }
}
