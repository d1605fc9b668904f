//! Guest memory: device allocations at deterministic addresses, host ranges, LDS; bounds-checked access to them.
//!
//! All raw access to guest memory is in this module, and through [`raw`], so that a kernel's data races, between its
//! waves or with the host, are not undefined behaviour here.
//!
//! A dispatch works on a [`Snapshot`] of the allocations that are live when it starts. Freeing one
//! during it keeps its memory alive until the dispatch ends.

pub(crate) mod address_space;
pub(crate) mod apertures;
mod backing;
mod gather;
pub(crate) mod image;
pub(crate) mod lds;
#[cfg(test)]
mod race_tests;
mod raw;
mod shadow;
mod view;
mod window;

pub(crate) use address_space::{AddressSpace, Snapshot, Tracked};
pub(crate) use gather::{Addresses, Based, Checked, Element, Wide};
pub(crate) use raw::Cell;
pub(crate) use view::{Block, View};
pub(crate) use window::Window;
