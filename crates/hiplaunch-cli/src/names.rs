//! The names by which programs ask for AMD's libraries. One library stands for both: HIP 5 has hiprtc's functions in
//! libamdhip64.

/// The names of the links to the library. Those without a number are last of each kind.
pub(crate) const NAMES: [&str; 8] = [
    "libamdhip64.so.5",
    "libamdhip64.so.6",
    "libamdhip64.so.7",
    "libamdhip64.so",
    "libhiprtc.so.5",
    "libhiprtc.so.6",
    "libhiprtc.so.7",
    "libhiprtc.so",
];

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
    fn names_with_and_without_versions_are_found() {
        let name = |file: &str| index_of(file.as_bytes()).map(|index| NAMES[index]);
        assert_eq!(name("libamdhip64.so"), Some("libamdhip64.so"));
        assert_eq!(name("libamdhip64.so.5"), Some("libamdhip64.so.5"));
        assert_eq!(name("libamdhip64.so.6.2.60200"), Some("libamdhip64.so.6"));
        assert_eq!(name("libhiprtc.so.7"), Some("libhiprtc.so.7"));
        for other in [
            "libamdhip64.so.4",
            "libamdhip64.so.50",
            "libamdhip64.so.debug",
            "libhiprtc-builtins.so.5",
            "libc.so.6",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
