//! What follows from the rows of [`table`]: for each function the one over the driver, which is linked as `emulated_` and its
//! name, and the wrapper that shows its calls to the layers over AMD's library.
//!
//! `build.rs` reads the same rows: from them it writes the list of symbol versions for the linker, and the exported functions.

#[macro_use]
mod table;

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use half::f16;
use hip_driver::ValueWidth;

use crate::abi::structs::*;
use crate::abi::version::Version;
use crate::abi::{Address, HipResult, HostFn, In, Out, StaticText, Status, Text, UserData};
use crate::compile::{self, RtcStatus};
use crate::copy::bytes::{ByteCopy, Direction, SymbolCopy};
use crate::copy::{DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE};
use crate::device;
use crate::graph::payload::Payload;
use crate::graph::{ExecHandle, GraphHandle, NodeHandle};
use crate::interpose::{
    self, Forward, Interposed, Original, Wrapper, entry_points as entries, errors, events, graphs,
    memory as observed_memory, modules, nodes, streams,
};
use crate::kernel::image;
use crate::kernel::launch::KernelRef;
use crate::kernel::module::{KernelHandle, ModuleHandle};
use crate::memory::pool::PoolHandle;
use crate::process::call::{call, without_process};
use crate::process::{ContextHandle, thread};
use crate::report::record;
use crate::stream::{self, EventHandle, StreamHandle, Target};

/// `void`.
type Void = ();

/// A function, by its name.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Shows its calls to the layers, or replaces what it returns.
    pub(crate) wrapper: Option<Wrapper>,
}

/// Returns the function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().flatten().flatten().find(|function| function.name == name)
}

/// Makes the rows of the table to [`Function`]s: each row to one, and to another for the per-thread default stream if it has a
/// `_spt` form.
macro_rules! list {
    ($ids:tt $($room:tt {$(
        $version:literal $name:ident $(($($arg:ident: $type:ty),* $(,)?))?
        $(+ _spt($($stream:ident)?) $since:literal)?
        $(-> $result:ident)? $($body:block)? $($kind:ident $(($($how:tt)*))? $block:block)* ;
    )*})*) => {
        static FUNCTIONS: &[[Option<Function>; 2]] = &[$($(function! {
            $ids $room $name [$(($($arg: $type),*))?] [$($result)?] [$($body)?] [$($kind ($($($how)*)?) $block;)*]
            $([spt $($stream)?])?
        }),*),*];
    };
}

macro_rules! function {
    ($ids:tt $room:tt $name:ident $args:tt $result:tt $body:tt $kinds:tt) => {
        [Some(form! { $ids $room $name (stringify!($name)) $args $result $body $kinds [] }), None]
    };
    ($ids:tt $room:tt $name:ident $args:tt $result:tt $body:tt $kinds:tt $spt:tt) => {
        [
            Some(form! { $ids $room $name (stringify!($name)) $args $result $body $kinds [] }),
            Some(form! { $ids $room $name (concat!(stringify!($name), "_spt")) $args $result $body $kinds $spt }),
        ]
    };
}

/// One form of a function: the function over the driver, and the wrapper.
macro_rules! form {
    ($ids:tt [$($room:tt)*] $name:ident ($full:expr) $args:tt $result:tt $body:tt $kinds:tt $spt:tt) => {{
        #[allow(unused_imports, reason = "not every row needs what its room has")]
        use crate::$($room)*::*;
        const NAME: &str = $full;
        emulated! { $ids $name ($full) $args $result $body $kinds $spt }
        Function { name: NAME, wrapper: wrapper! { $ids $args $kinds $spt } }
    }};
}

/// The function over the driver.
macro_rules! emulated {
    // Not supported.
    ($ids:tt $name:ident $full:tt [] [] [] [] $spt:tt) => {
        emulated! { $ids $name $full [()] [] [] [unsupported () {};] $spt }
    };
    ($ids:tt $name:ident $full:tt [$args:tt] [] [] [unsupported () $_:block; $($rest:tt)*] $spt:tt) => {
        shim! { $full () Status, { record::unsupported(NAME); call(NAME, |_| Err(Status::NOT_SUPPORTED)) } }
    };
    // Work that goes on a stream.
    (($process:ident $($id:ident)*) $name:ident $full:tt [$args:tt] [] [] [work (waiting) $block:block;] [spt]) => {
        shim! { ($process $($id)*) $full $args Status, {
            call(NAME, |$process| {
                let queue = Target::enqueue(Target::BLOCKING_PER_THREAD.stream).queue($process)?;
                ($block).run($process, queue)?;
                stream::hipStreamSynchronize($process, Target::BLOCKING_PER_THREAD.stream)
            })
        } }
    };
    (($process:ident $($id:ident)*) $name:ident $full:tt [$args:tt] [] [] [work $how:tt $block:block;] $spt:tt) => {
        shim! { ($process $($id)*) $full $args Status, {
            per_thread!($spt);
            call(NAME, |$process| {
                let queue = target!($how []).queue($process)?;
                ($block).run($process, queue)
            })
        } }
    };
    (($process:ident $($id:ident)*) $name:ident $full:tt [$args:tt] [] [] [launch () $block:block;] $spt:tt) => {
        shim! { ($process $($id)*) $full $args Status, {
            per_thread!($spt);
            call(NAME, |$process| ($block).run($process))
        } }
    };
    // Neither needs the driver nor changes the last error. Of the functions that return nothing, nobody reads the status.
    ($ids:tt $name:ident $full:tt [$args:tt] [] [] [quiet () $block:block; $($rest:tt)*] $spt:tt) => {
        shim! { $ids $full $args Status, { without_process(NAME, || $block) } }
    };
    // hiprtc.
    ($ids:tt $name:ident $full:tt [$args:tt] [] [] [rtc () $block:block;] $spt:tt) => {
        shim! { $ids $full $args RtcStatus, { compile::run(NAME, || $block) } }
    };
    ($ids:tt $name:ident $full:tt [($($arg:ident: $type:ty),*)] [] [] [installed () $_:block;] $spt:tt) => {
        shim! { $ids $full ($($arg: $type),*) RtcStatus, {
            compile::run(NAME, || {
                let address = compile::link::address(NAME)?;
                // SAFETY: the function of this name has this type in every version that has it (hip/hiprtc.h), and its
                // library is never unloaded.
                let function = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> RtcStatus>(address)
                };
                // SAFETY: the caller's arguments are what the function wants.
                compile::link::result(unsafe { function($($arg),*) })
            })
        } }
    };
    // The body is in the row.
    (($process:ident $($id:ident)*) $name:ident $full:tt [$args:tt] [] [$body:block] $kinds:tt $spt:tt) => {
        shim! { ($process $($id)*) $full $args Status, { per_thread!($spt); call(NAME, |$process| $body) } }
    };
    ($ids:tt $name:ident $full:tt [$args:tt] [$result:ident] [$body:block] $kinds:tt $spt:tt) => {
        shim! { $ids $full $args $result, $body }
    };
    // The body is the function of the same name in the room.
    ($ids:tt $name:ident $full:tt [($($arg:ident: $type:ty),*)] [$result:ident] [] $kinds:tt $spt:tt) => {
        shim! { $ids $full ($($arg: $type),*) $result, { $name($($arg),*) } }
    };
    (($process:ident $($id:ident)*) $name:ident $full:tt [($($arg:ident: $type:ty),*)] [] [] $kinds:tt $spt:tt) => {
        shim! { ($process $($id)*) $full ($($arg: $type),*) Status, {
            per_thread!($spt);
            call(NAME, |$process| $name($process, $($arg),*))
        } }
    };
}

macro_rules! shim {
    (($process:ident $over:ident $forward:ident $hip_name:ident) ($full:expr) ($($arg:ident: $type:ty),*) $result:ident, $body:block) => {
        #[unsafe(export_name = concat!("emulated_", $full))]
        #[allow(unused_variables, reason = "not every function needs all its arguments, or its name")]
        extern "C" fn emulated($($arg: $type),*) -> $result {
            let $hip_name = NAME;
            $body
        }
    };
    (($full:expr) () $result:ident, $body:block) => {
        #[unsafe(export_name = concat!("emulated_", $full))]
        extern "C" fn emulated() -> $result {
            $body
        }
    };
}

/// In a `_spt` form, a null stream is the thread's own default stream.
macro_rules! per_thread {
    ([spt $stream:ident]) => {
        let $stream = $stream.or_per_thread();
    };
    ($other:tt) => {};
}

/// Where the work of a row goes.
macro_rules! target {
    ((waiting) [spt]) => {
        Target::BLOCKING_PER_THREAD
    };
    ((waiting) []) => {
        Target::BLOCKING
    };
    ((waiting $stream:ident) $spt:tt) => {
        Target::wait($stream)
    };
    (($stream:ident) $spt:tt) => {
        Target::enqueue($stream)
    };
}

/// The wrapper of a function over AMD's library, if its row has one.
macro_rules! wrapper {
    (($process:ident $over:ident $forward:ident $hip_name:ident) [$args:tt] [work $how:tt $block:block;] $spt:tt) => {
        wrapper! { ($process $over $forward $hip_name) $args $spt, false, {
            let describe = || HipResult::Ok($block);
            match describe() {
                Ok(work) => work.observe($over, $forward, target!($how $spt)),
                Err(_) => $forward(),
            }
        } }
    };
    (($process:ident $over:ident $forward:ident $hip_name:ident) [$args:tt] [launch () $block:block;] $spt:tt) => {
        wrapper! { ($process $over $forward $hip_name) $args $spt, false, {
            let describe = || HipResult::Ok($block);
            match describe() {
                Ok(launch) => launch.observe($over, $forward),
                Err(_) => $forward(),
            }
        } }
    };
    ($ids:tt [$args:tt] [$kind:ident () $_:block; observed () $block:block;] $spt:tt) => {
        wrapper! { $ids [$args] [observed () $block;] $spt }
    };
    (($process:ident $over:ident $forward:ident $hip_name:ident) [$args:tt] [observed () $block:block;] $spt:tt) => {
        wrapper! { ($process $over $forward $hip_name) $args $spt, false, $block }
    };
    // Over AMD's library, also without layers.
    (($process:ident $over:ident $forward:ident $hip_name:ident) [$args:tt] [replaced () $block:block;] $spt:tt) => {
        wrapper! { ($process $over $forward $hip_name) $args $spt, true, $block }
    };
    // Registering and its end come before and after everything else: the block calls AMD's function itself.
    ($ids:tt [$args:tt] [quiet () $_:block; around ($result:ident) $block:block;] $spt:tt) => {
        wrapper! { $ids $args around $result $block }
    };
    ($ids:tt [$args:tt] [around ($result:ident) $block:block;] $spt:tt) => {
        wrapper! { $ids $args around $result $block }
    };
    (($process:ident $over:ident $forward:ident $hip_name:ident) ($($arg:ident: $type:ty),*) around $result:ident $block:block) => {{
        static ORIGINAL: Original = Original::new();
        extern "C" fn wrapper($($arg: $type),*) -> $result {
            #[allow(unused_variables, reason = "not every row needs the name")]
            let $hip_name = NAME;
            let $forward = || {
                // SAFETY: it is AMD's function of this name, which compilers declare so.
                let original = unsafe {
                    std::mem::transmute::<*const (), unsafe extern "C" fn($($type),*) -> $result>(ORIGINAL.get())
                };
                // SAFETY: the arguments are those of the program.
                unsafe { original($($arg),*) }
            };
            $block
        }
        Some(Wrapper { function: wrapper as *const (), original: &ORIGINAL, without_layers: false })
    }};
    (($process:ident $over:ident $forward:ident $hip_name:ident) ($($arg:ident: $type:ty),*) $spt:tt, $without_layers:literal, $block:block) => {{
        static ORIGINAL: Original = Original::new();
        extern "C" fn wrapper($($arg: $type),*) -> Status {
            let original = || {
                // SAFETY: it is AMD's function of this name, whose declaration has these types.
                let original = unsafe {
                    std::mem::transmute::<*const (), unsafe extern "C" fn($($type),*) -> Status>(ORIGINAL.get())
                };
                // SAFETY: the arguments are those of the program, which calls the function.
                unsafe { original($($arg),*) }
            };
            #[allow(unused_variables, reason = "not every wrapper needs what is known, or the name")]
            let body = |$over: &'static Interposed, $forward: Forward<'_>| -> Status {
                let $hip_name = NAME;
                per_thread!($spt);
                $block
            };
            interpose::observed(NAME, &original, body)
        }
        Some(Wrapper { function: wrapper as *const (), original: &ORIGINAL, without_layers: $without_layers })
    }};
    ($ids:tt $args:tt $kinds:tt $spt:tt) => {
        None
    };
}

functions! { list }
