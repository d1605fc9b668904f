//! The functions that the installed hiprtc answers itself: its version, and linking bitcode.

use std::ffi::c_void;

use code_object::{Processor, TargetId};

use super::program::compiler_for;
use super::{RtcResult, RtcStatus, unusable};
use crate::report::record;

/// The address of a function of the installed hiprtc.
pub(crate) fn address(name: &'static str) -> RtcResult<*mut c_void> {
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

/// What a function of the installed hiprtc returned.
pub(crate) fn result(status: RtcStatus) -> RtcResult {
    match status {
        RtcStatus::SUCCESS => Ok(()),
        status => Err(status),
    }
}
