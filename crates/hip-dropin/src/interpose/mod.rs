//! Layers over AMD's own library.
//!
//! With validation or a timeline, the functions that trait [`Driver`](hip_driver::Driver) knows have a wrapper, which follows from
//! their row. It makes the [`Call`](hip_driver::Call) that its function is, with HIP's own handles, shows it to the layers, calls AMD's
//! function once, and shows them the result. So each call of the program is one call of AMD's library, in the same order. All other
//! functions go to AMD's library directly.
//!
//! What the layers can't know is kept from them, as a false report is worse than a missed one:
//!
//! * memory that no wrapper saw being allocated is no part of a call, and handles that no wrapper saw being made are
//!   adopted, as foreign ones are;
//! * work that cannot be told from the arguments, such as copies of arrays, is not shown;
//! * a graph that was changed after its nodes were added is launched without being shown;
//! * where order comes from something that no call says, such as a wait for a value in memory, everything before counts as
//!   finished.
//!
//! | file | functions |
//! |---|---|
//! | `layers.rs` | the layers, and how a call passes them |
//! | `known.rs` | the memory, streams and events that are known |
//! | `memory.rs`, `copies.rs`, `fills.rs` | memory and its contents |
//! | `streams.rs`, `events.rs`, `errors.rs` | order, and the last error |
//! | `modules.rs`, `launches.rs` | code objects, registered fat binaries, launches |
//! | `graphs.rs`, `nodes.rs` | captures and graphs |
//! | `entry_points.rs` | functions by their names |

mod copies;
pub(crate) mod entry_points;
pub(crate) mod errors;
pub(crate) mod events;
mod fills;
pub(crate) mod graphs;
mod known;
mod launches;
mod layers;
pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod nodes;
pub(crate) mod streams;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use hip_driver_layers::validation::ValidationDriver;

use crate::abi::Status;
use crate::process::real::{self, RealLibrary};
use crate::process::write_trace;
use crate::report::say;
use crate::settings::LayerSettings;
use known::Known;
use layers::Layers;

/// Calls AMD's function with the program's arguments.
pub(crate) type Forward<'a> = &'a dyn Fn() -> Status;

/// AMD's library with what the environment puts over it.
pub(crate) struct Interposed {
    library: &'static RealLibrary,
    settings: LayerSettings,
    /// Made by the first call that the layers see; `None` if they can't be made.
    layers: OnceLock<Option<Layers>>,
    known: Known,
}

static INTERPOSED: OnceLock<Option<Interposed>> = OnceLock::new();

/// AMD's library with its layers, if the environment asks for it and it can be used.
pub(crate) fn opened() -> Option<&'static Interposed> {
    let open = || {
        let library = real::library()?;
        match LayerSettings::from_env() {
            Ok(settings) => {
                Some(Interposed { library, settings, layers: OnceLock::new(), known: Known::default() })
            }
            Err(reason) => {
                say(&reason);
                None
            }
        }
    };
    INTERPOSED.get_or_init(open).as_ref()
}

/// Returns the wrapper of a function, if something is put over AMD's library and the function has one. `original` is AMD's function.
pub(crate) fn wrapper(wrapper: Option<&'static Wrapper>, original: *const ()) -> Option<*const ()> {
    let (LayerSettings { validate, count, trace, .. }, wrapper) = (&opened()?.settings, wrapper?);
    let layers = *validate || trace.is_some();
    // Counts are complete if programs get only functions that count.
    if !(layers || *count && wrapper.without_layers) {
        return None;
    }
    wrapper.original.0.store(original.cast_mut(), Ordering::Release);
    Some(wrapper.function)
}

impl Interposed {
    /// The layers. `None` if they can't be made, which is reported once, and in a child after a fork, in which HIP can't be used.
    fn layers(&self) -> Option<&Layers> {
        let layers = self
            .layers
            .get_or_init(|| Layers::open(self.library, &self.settings).map_err(|reason| say(&reason)).ok());
        layers.as_ref().filter(|_| !layers::is_forked())
    }

    /// Whether the environment asks how often each function was called.
    pub(crate) fn counts_calls(&self) -> bool {
        self.settings.count
    }

    pub(crate) fn validation(&self) -> Option<&ValidationDriver> {
        self.layers.get()?.as_ref()?.validation.as_deref()
    }

    /// The file to which the summary is written as a document.
    pub(crate) fn json(&self) -> Option<&PathBuf> {
        self.settings.json.as_ref()
    }

    /// Writes the timeline, if the environment asks for one.
    pub(crate) fn write_trace(&self) {
        let Some(path) = &self.settings.trace else { return };
        if let Some(snapshot) = self.layers.get().and_then(|layers| layers.as_ref()?.recorded()) {
            write_trace(snapshot, path);
        }
    }
}

/// A wrapper of one of HIP's functions.
pub(crate) struct Wrapper {
    pub(crate) function: *const (),
    pub(crate) original: &'static Original,
    /// Whether it is used where only calls are counted, too.
    pub(crate) without_layers: bool,
}

// SAFETY: the pointer is to code.
unsafe impl Sync for Wrapper {}

/// AMD's function, which is known before its wrapper is first called.
pub(crate) struct Original(AtomicPtr<()>);

impl Original {
    pub(crate) const fn new() -> Original {
        Original(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> *const () {
        self.0.load(Ordering::Acquire)
    }
}

/// Runs the body of a wrapper, which calls `forward` once and returns the status for the program. Without layers, only AMD's function
/// is called. If the body panics, the program gets what AMD's function returned.
pub(crate) fn observed(
    name: &'static str,
    original: Forward<'_>,
    body: impl FnOnce(&'static Interposed, Forward<'_>) -> Status,
) -> Status {
    let Some(over) = opened().filter(|over| over.layers().is_some()) else { return original() };
    let returned = std::cell::Cell::new(None);
    let forward = || {
        errors::forget();
        let status = original();
        returned.set(Some(status));
        status
    };
    catch_unwind(AssertUnwindSafe(|| body(over, &forward))).unwrap_or_else(|_| {
        say(&format!("a layer panicked in {name}, which is a bug in hiplaunch"));
        returned.get().unwrap_or_else(original)
    })
}
