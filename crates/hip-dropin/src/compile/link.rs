//! The functions that the installed hiprtc answers itself: its version, and linking bitcode.

use std::ffi::{c_char, c_int, c_uint, c_void};

use code_object::{Processor, TargetId};

use super::program::compiler_for;
use super::{RtcResult, RtcStatus, run, unusable};
use crate::report::record;

/// Declares functions that are passed on with all their arguments.
macro_rules! passed_on {
    ($($name:ident($($argument:ident: $of:ty),*);)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($name)))]
        extern "C" fn $name($($argument: $of),*) -> RtcStatus {
            run(stringify!($name), || {
                type Function = unsafe extern "C" fn($($of),*) -> RtcStatus;
                let address = address(stringify!($name))?;
                // SAFETY: the function of this name has this type in every version that has it (hip/hiprtc.h), and its
                // library is never unloaded.
                let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
                // SAFETY: the caller's arguments are what the function wants.
                match unsafe { function($($argument),*) } {
                    RtcStatus::SUCCESS => Ok(()),
                    status => Err(status),
                }
            })
        }
    )*};
}

/// The address of a function of the installed hiprtc.
fn address(name: &'static str) -> RtcResult<*mut c_void> {
    let any = TargetId::new(Processor::Gfx90a);
    match compiler_for(&any).function(name) {
        Ok(Some(address)) => Ok(address.as_ptr()),
        Ok(None) => {
            record::unsupported(name);
            Err(RtcStatus::INTERNAL_ERROR)
        }
        Err(error) => Err(unusable(&error)),
    }
}

passed_on! {
    hiprtcVersion(major: *mut c_int, minor: *mut c_int);
    hiprtcLinkCreate(count: c_uint, options: *mut c_int, values: *mut *mut c_void, state: *mut *mut c_void);
    hiprtcLinkAddFile(
        state: *mut c_void, kind: c_int, path: *const c_char, count: c_uint, options: *mut c_int,
        values: *mut *mut c_void
    );
    hiprtcLinkAddData(
        state: *mut c_void, kind: c_int, image: *mut c_void, bytes: usize, name: *const c_char, count: c_uint,
        options: *mut c_int, values: *mut *mut c_void
    );
    hiprtcLinkComplete(state: *mut c_void, binary: *mut *mut c_void, bytes: *mut usize);
    hiprtcLinkDestroy(state: *mut c_void);
}
