//! Arrays, textures and surfaces are what HIP's documentation and AMD's library make of them.

use super::programs::*;

const EXPECTED: [(&str, &str); 2] = [
    ("arrays.hip", include_str!("../../../hip-dropin/tests/programs/arrays.expected")),
    ("textures.hip", include_str!("../../../hip-dropin/tests/programs/textures.expected")),
];

/// The codes are those of AMD's 5.2.3 over the software agent, as far as that gets without images. The dwords of textures are those of
/// the documents (`texture/descriptor.rs` has the fields).
#[test]
fn arrays_are_copied_and_kernels_find_textures_behind_their_handles() {
    for (name, expected) in EXPECTED {
        let Some(program) = program(name) else { return };
        let ran = exec(&["--validate"], &[program.to_str().unwrap()]);
        assert_eq!(text(&ran.stdout), expected, "{name}: {}", text(&ran.stderr));
        assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
    }
}

/// gfx942 has no image instructions, so nothing can read a texture; arrays are memory.
#[test]
fn without_image_instructions_there_are_arrays_and_no_textures() {
    let [(name, expected), (textures, _)] = EXPECTED;
    let Some(program) = program(name) else { return };
    let ran = exec(&["--target", "gfx942"], &[program.to_str().unwrap()]);
    assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));
    let textures = super::programs::program(textures).unwrap();
    let ran = exec(&["--target", "gfx942"], &[textures.to_str().unwrap()]);
    assert_eq!(text(&ran.stdout), "images: 0\nfloats: hipErrorNotSupported\n0\n");
}

#[test]
fn arrays_textures_and_surfaces_that_nothing_frees_are_leaks() {
    let Some(program) = program("textures.hip") else { return };
    let ran = exec(&["--validate"], &[program.to_str().unwrap(), "leak"]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 3 leaks"), "{}", text(&ran.stderr));
}

/// HIP 6 and 7 take the flags that HIP 5 does not support.
#[test]
fn later_versions_take_flags_for_surfaces() {
    let Some(program) = hip_7("arrays.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap()]);
    let out = text(&ran.stdout);
    assert!(out.contains("\nsurface: hipSuccess\n"), "{out}{}", text(&ran.stderr));
}
