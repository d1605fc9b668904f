//! The functions that programs find: what follows from the rows of [`table`].

#[macro_use]
mod table;

use crate::abi::{Code, call};

/// What a function that does nothing returns besides a status.
type Number = u64;

macro_rules! exported {
    ($($library:ident $version:ident
        answered {$($name:ident($($arg:ident: $type:ty),*);)*}
        refused {$($refused:ident)*}
        zero {$($zero:ident)*}
        void {$($void:ident)*}
    )*) => {$(
        mod $library {
            use super::*;
            use bodies::$library::*;

            $(
                #[unsafe(no_mangle)]
                extern "C" fn $name($($arg: $type),*) -> Status {
                    call(|| bodies::$library::$name($($arg),*))
                }
            )*
            $(
                #[unsafe(no_mangle)]
                extern "C" fn $refused() -> Status {
                    log::debug!("{} is not supported", stringify!($refused));
                    Status::NOT_SUPPORTED
                }
            )*
            $(
                #[unsafe(no_mangle)]
                extern "C" fn $zero() -> Number {
                    0
                }
            )*
            $(
                #[unsafe(no_mangle)]
                extern "C" fn $void() {}
            )*
        }
    )*};
}

/// The bodies of each library, and what their rows name.
mod bodies {
    /// A pointer that is not used.
    pub(crate) type Ignored = *mut std::ffi::c_void;

    pub(super) mod hsa {
        pub(crate) use super::Ignored;
        pub(crate) use crate::abi::{Out, StaticText, Text};
        pub(crate) use crate::hsa::agent::*;
        pub(crate) use crate::hsa::cache::*;
        pub(crate) use crate::hsa::isa::*;
        pub(crate) use crate::hsa::memory::*;
        pub(crate) use crate::hsa::runtime::*;
        pub(crate) use crate::hsa::status::*;
        pub(crate) use crate::hsa::value::Place;
        pub(crate) use crate::hsa::{Callback, Data};
    }

    pub(super) mod rocm_smi {
        pub(crate) use crate::abi::{Out, StaticText};
        pub(crate) use crate::smi::rocm::*;
    }

    pub(super) mod amd_smi {
        pub(crate) use crate::abi::{Out, StaticText};
        pub(crate) use crate::smi::amd::*;
    }
}

functions! { exported }
