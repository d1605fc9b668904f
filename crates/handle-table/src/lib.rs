//! A table of objects that are named by checked 64-bit numbers: handles.
//!
//! A handle is looked up and never used as an address. So a handle that is stale, of another table or invented is an
//! [`Error`]. Several calls may read an object at once. A call that changes or removes the object waits for them, and
//! they wait for it. Looking up takes no lock of the table: one compare and swap on the object's slot both checks the
//! handle and takes the slot's read lock.
//!
//! ```
//! use handle_table::{Error, Owner, Table};
//!
//! static STREAMS: Table<String> = Table::new(1);
//!
//! let handle = STREAMS.insert(Owner::NONE, "first".to_owned())?;
//! assert_eq!(STREAMS.read(handle)?.value, "first");
//! STREAMS.take(handle)?;
//! assert_eq!(STREAMS.take(handle).unwrap_err(), Error::Closed);
//! # Ok::<(), Error>(())
//! ```

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "loom's tests see what is private otherwise"))]

mod sync;
#[cfg(not(loom))]
mod table;

#[cfg(loom)]
pub mod free_stack;
#[cfg(not(loom))]
mod free_stack;
#[cfg(loom)]
pub mod slot_lock;
#[cfg(not(loom))]
mod slot_lock;

#[cfg(not(loom))]
pub use table::{Error, Found, Lock, Owner, Reading, Table};
