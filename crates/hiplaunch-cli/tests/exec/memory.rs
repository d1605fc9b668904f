//! Memory, pools and graphs do what HIP's documentation says.

use super::programs::*;

/// Strict bounds allow what compilers make of aligned reads: a wide one that ends in the 16 bytes of an allocation's last byte. It
/// is listed. What goes further, and writes, are faults; LDS ends with its granule where bounds are those of pages.
#[test]
fn reads_may_end_in_the_last_16_bytes_and_lds_in_its_granule() {
    let Some(program) = program("granules.hip") else { return };
    for (case, bounds, expected) in [
        (0, "strict", "hipSuccess 6"),
        (1, "strict", "hipSuccess 6"),
        (2, "strict", "hipSuccess 6"),
        (3, "strict", "hipErrorIllegalAddress 0"),
        (4, "strict", "hipErrorIllegalAddress 0"),
        (5, "strict", "hipErrorLaunchFailure 0"),
        (5, "pages", "hipSuccess 6"),
    ] {
        let ran = exec(&["--bounds", bounds], &[program.to_str().unwrap(), &case.to_string()]);
        let (out, err) = (text(&ran.stdout), text(&ran.stderr));
        assert_eq!(out.trim_end(), expected, "{case} {bounds}: {err}");
        assert_eq!(err.contains("up to 4 bytes past the end"), case < 3, "{case} {bounds}: {err}");
        assert_eq!(
            err.contains("`--bounds pages`"),
            case > 2 && bounds == "strict",
            "{case} {bounds}: {err}"
        );
    }
}
