//! Guest memory: device allocations at deterministic addresses, mapped host ranges, and LDS, with bounds-checked
//! access.
//!
//! All raw accesses to guest memory are in this module and go through [`raw`], so that data races of a kernel, between
//! its waves or with the host, are not undefined behaviour.
//!
//! A dispatch has a [`RangeTable`] of the allocations that were live when it began. If one of them is freed meanwhile,
//! its memory stays alive until the dispatch has ended.

pub(crate) mod address_space;
#[cfg(test)]
mod address_space_tests;
pub(crate) mod apertures;
mod backing;
pub(crate) mod blocks;
pub(crate) mod bounds;
pub(crate) mod cells;
mod device_heap;
mod gather;
pub(crate) mod grain;
mod guest_range;
pub(crate) mod image;
pub(crate) mod lds;
#[cfg(test)]
mod race_tests;
mod raw;
pub(crate) mod refused;
mod region;
#[cfg(target_os = "linux")]
mod reserved;
mod shadow;
mod shared_pages;
mod view;
#[cfg(target_os = "linux")]
pub(crate) mod virtual_range;

pub(crate) use address_space::{AddressSpace, RangeTable, ShadowRange};
pub(crate) use gather::{Addresses, Based, Element, Pieces, Wide, offsets_are_run, opaque};
pub(crate) use guest_range::GuestRange;
pub(crate) use raw::{Cell, Piece};
pub(crate) use shadow::words;
pub(crate) use view::{DispatchMemory, Memory, Recent, View};
