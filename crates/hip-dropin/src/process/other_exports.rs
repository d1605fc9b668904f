//! What AMD's libamdhip64 exports beside HIP's functions: conversions of halves that compilers call on the host, and the version of
//! the debugger's interface.

use half::f16;

use crate::abi::c_caller::StaticText;

/// clang up to 14 calls it for `__fp16` on the host; 15 and later call `__extendhfsf2` of their own runtime library.
#[unsafe(export_name = "emulated___gnu_h2f_ieee")]
extern "C" fn __gnu_h2f_ieee(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

#[unsafe(export_name = "emulated___gnu_f2h_ieee")]
extern "C" fn __gnu_f2h_ieee(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

#[unsafe(export_name = "emulated_amd_dbgapi_get_build_name")]
extern "C" fn amd_dbgapi_get_build_name() -> StaticText {
    StaticText::new("hiplaunch\0")
}

#[unsafe(export_name = "emulated_amd_dbgapi_get_git_hash")]
extern "C" fn amd_dbgapi_get_git_hash() -> StaticText {
    StaticText::new("\0")
}

#[unsafe(export_name = "emulated_amd_dbgapi_get_build_id")]
extern "C" fn amd_dbgapi_get_build_id() -> usize {
    0
}
