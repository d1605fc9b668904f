//! The functions that programs find: what follows from the rows of [`table`].

#[macro_use]
mod table;

use crate::abi::{Code, call};

/// A function whose result is no status.
macro_rules! plain {
    ($library:ident $name:ident $body:ident ($($arg:ident: $type:ty),*) $result:ty) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) -> $result {
            crate::abi::plain(|| bodies::$library::$body($($arg),*))
        }
    };
}

macro_rules! exported {
    ($($library:ident $version:ident
        answered {$($name:ident($($arg:ident: $type:ty),*);)*}
        refused {$($refused:ident)*}
        plain {$($body:ident $plain_args:tt -> $result:ty {$($plain:ident)*})*}
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
            $($(plain! { $library $plain $body $plain_args $result })*)*
        }
    )*};
}

/// The bodies of each library, and what their rows name.
mod bodies {
    pub(super) mod hsa {
        pub(crate) use crate::abi::{Array, Ignored, Out, StaticText, Text};
        pub(crate) use crate::hsa::agent::*;
        pub(crate) use crate::hsa::allocations::*;
        pub(crate) use crate::hsa::cache::*;
        pub(crate) use crate::hsa::copies::*;
        pub(crate) use crate::hsa::events::*;
        pub(crate) use crate::hsa::executable::*;
        pub(crate) use crate::hsa::handlers::*;
        pub(crate) use crate::hsa::isa::*;
        pub(crate) use crate::hsa::memory::*;
        pub(crate) use crate::hsa::physical_memory::*;
        pub(crate) use crate::hsa::pointers::*;
        pub(crate) use crate::hsa::profiling::*;
        pub(crate) use crate::hsa::queue::*;
        pub(crate) use crate::hsa::runtime::*;
        pub(crate) use crate::hsa::signal::*;
        pub(crate) use crate::hsa::signal_operations::*;
        pub(crate) use crate::hsa::status::*;
        pub(crate) use crate::hsa::value::Place;
        pub(crate) use crate::hsa::virtual_memory::*;
        pub(crate) use crate::hsa::{Callback, Data};
    }

    pub(super) mod rocm_smi {
        pub(crate) use crate::abi::{Out, StaticText};
        pub(crate) use crate::smi::rocm::*;
    }

    pub(super) mod amd_smi {
        pub(crate) use crate::abi::{Ignored, Out, StaticText};
        pub(crate) use crate::smi::amd::*;
    }
}

functions! { exported }
