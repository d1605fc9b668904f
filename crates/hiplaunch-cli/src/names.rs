//! The names by which programs ask for AMD's libraries. One library stands for libamdhip64 and hiprtc, because HIP 5 has hiprtc's
//! functions in libamdhip64; another for what lies below HIP: HSA's runtime and the libraries of system management.

use std::path::{Path, PathBuf};

/// The names of the links to the libraries. Those without a number are last of each kind.
pub(crate) const NAMES: [&str; 19] = [
    "libamdhip64.so.5",
    "libamdhip64.so.6",
    "libamdhip64.so.7",
    "libamdhip64.so",
    "libhiprtc.so.5",
    "libhiprtc.so.6",
    "libhiprtc.so.7",
    "libhiprtc.so",
    "libhsa-runtime64.so.1",
    "libhsa-runtime64.so",
    "librocm_smi64.so.1",
    "librocm_smi64.so.5",
    "librocm_smi64.so.6",
    "librocm_smi64.so.7",
    "librocm_smi64.so",
    "libamd_smi.so.24",
    "libamd_smi.so.25",
    "libamd_smi.so.26",
    "libamd_smi.so",
];

/// The folder of links to the library below HIP, within that of the others, and the folder of Linux's files.
const BELOW_HIP: &str = "below-hip";
#[allow(dead_code, reason = "the command and the audit library use it, where there is an emulator")]
pub(crate) const FILES: &str = "files";

/// How many of the names are those of HIP and hiprtc. They come first.
pub(crate) const OF_HIP: usize = 8;

/// Whether a name is one of HIP's or hiprtc's.
pub(crate) fn is_of_hip(index: usize) -> bool {
    index < OF_HIP
}

/// Returns the path of the link for a name, in the folder that programs get.
///
/// The loader searches that folder before others, but not for the library below HIP: AMD's own libraries, which hiplaunch's opens, would
/// find it there. Only the audit library leads there, which knows who asks.
pub(crate) fn link(folder: &Path, index: usize) -> PathBuf {
    if is_of_hip(index) { folder.join(NAMES[index]) } else { folder.join(BELOW_HIP).join(NAMES[index]) }
}

/// How many of the names are libamdhip64's. They come first.
#[allow(dead_code, reason = "the audit library does not use it")]
pub(crate) const HIP_NAMES: usize = 4;

/// Returns the index of the name under which a program gets the library, if it asks for a file of this name, such as
/// `libamdhip64.so.6.2.60200`. `None` for other libraries, and for versions of HIP that the library does not stand for.
#[allow(dead_code, reason = "only the audit library uses it")]
pub(crate) fn index_of(file: &[u8]) -> Option<usize> {
    NAMES.iter().position(|name| {
        let Some(rest) = file.strip_prefix(name.as_bytes()) else { return false };
        let numbered = !name.ends_with(".so");
        rest.is_empty() || (numbered && rest.starts_with(b"."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_hip_are_where_the_loader_searches() {
        let folder = Path::new("/f");
        let (searched, others): (Vec<_>, Vec<_>) =
            (0..NAMES.len()).map(|index| link(folder, index)).partition(|link| link.parent() == Some(folder));
        assert_eq!(searched.len(), NAMES[..OF_HIP].len());
        assert!(others.iter().all(|link| link.starts_with("/f/below-hip")));
    }

    #[test]
    fn names_with_and_without_versions_are_found() {
        let name = |file: &str| index_of(file.as_bytes()).map(|index| NAMES[index]);
        assert_eq!(name("libamdhip64.so"), Some("libamdhip64.so"));
        assert_eq!(name("libamdhip64.so.5"), Some("libamdhip64.so.5"));
        assert_eq!(name("libamdhip64.so.6.2.60200"), Some("libamdhip64.so.6"));
        assert_eq!(name("libhiprtc.so.7"), Some("libhiprtc.so.7"));
        assert_eq!(name("libhsa-runtime64.so.1.18.0"), Some("libhsa-runtime64.so.1"));
        assert_eq!(name("librocm_smi64.so.7.8"), Some("librocm_smi64.so.7"));
        assert_eq!(name("libamd_smi.so"), Some("libamd_smi.so"));
        for other in [
            "libamdhip64.so.4",
            "libamdhip64.so.50",
            "libamdhip64.so.debug",
            "libhiprtc-builtins.so.5",
            "libc.so.6",
            "librocm_smi64.so.2",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
