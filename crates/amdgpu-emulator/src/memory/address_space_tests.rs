//! Tests of the guest's address space.

use std::ptr::NonNull;
use std::sync::Arc;

use super::address_space::*;
use super::backing::Backing;
use super::blocks::Blocks;
use super::bounds::{Bounds, PAGE};
use super::{DispatchMemory, View};
use crate::report::error::Error;

fn view(space: &AddressSpace) -> View {
    let own = Arc::new(DispatchMemory::new(0x1000, 64).unwrap());
    View::new(space.snapshot(), own, space.blocks().capture())
}

/// Loads a dword as kernels do with bounds of pages.
fn load(view: &mut View, address: u64) -> Option<u32> {
    let [value] = view.load_one(address).or_else(|| view.past_end(address, 4)?.0.load(address))?;
    Some(value)
}

#[test]
fn pages_end_where_the_last_page_of_an_allocation_does() {
    let space = AddressSpace::new(1 << 20);
    space.set_bounds(Bounds::Pages);
    let (small, large) = (space.alloc(100, 0).unwrap(), space.alloc(2 * PAGE + 1, 0).unwrap());
    assert!(small.is_multiple_of(PAGE) && large.is_multiple_of(PAGE));
    assert_eq!(space.usage().used, 100 + 2 * PAGE + 1);
    let mut view = view(&space);
    for (base, bytes, pages) in [(small, 100, PAGE), (large, 2 * PAGE + 1, 3 * PAGE)] {
        assert_eq!(load(&mut view, base + bytes.next_multiple_of(4)), Some(0));
        let (last, memory) = view.past_end(base + pages - 4, 4).unwrap();
        assert_eq!((memory.base, memory.len), (base, bytes));
        last.store(base + pages - 4, [7]).unwrap();
        assert_eq!(view.load_one::<[u32; 1]>(base + pages - 4), None);
        assert_eq!(load(&mut view, base + pages - 4), Some(7));
        assert_eq!(load(&mut view, base + pages), None);
        assert_eq!(load(&mut view, base + pages - 2), None);
        // The host's accesses end where the allocation does.
        assert_eq!(space.lookup(base).unwrap().len, bytes);
        assert_eq!(space.lookup(base + bytes), None);
        assert!(space.write(base + bytes - 1, &[1]).is_ok());
        assert!(matches!(space.write(base + bytes, &[1]), Err(Error::OutOfBounds { .. })));
        assert!(matches!(space.read(base, &mut vec![0; bytes as usize + 1]), Err(Error::OutOfBounds { .. })));
    }
    let nearest = space.nearest(small + PAGE, 4, &space.blocks().capture());
    assert!(nearest.contains(&format!("{} bytes past the end of", PAGE - 100)), "{nearest}");
    assert!(!nearest.contains("--bounds"), "{nearest}");
}

#[test]
fn host_memory_that_has_its_last_page_is_accessible_to_its_end() {
    let memory = Backing::zeroed(64 << 10).unwrap();
    let start = memory.ptr().as_ptr().addr().next_multiple_of(PAGE as usize) - memory.ptr().as_ptr().addr();
    // SAFETY: the offset is within the memory.
    let first = unsafe { memory.ptr().add(start) };
    // SAFETY: as above.
    let second = unsafe { first.add(2 * PAGE as usize) };
    let space = AddressSpace::new(1 << 20);
    space.set_bounds(Bounds::Pages);
    // SAFETY: the memory lives as long as the address space, and nothing else accesses it.
    let (whole, part) =
        unsafe { (space.map_host_pages(first, 100).unwrap(), space.map_host(second, 100).unwrap()) };
    let mut view = view(&space);
    assert_eq!(load(&mut view, whole + PAGE - 4), Some(0));
    assert_eq!(load(&mut view, whole + PAGE), None);
    assert_eq!(load(&mut view, part + 96), Some(0));
    assert_eq!(load(&mut view, part + 100), None);
    assert_eq!(space.lookup(whole).unwrap().len, 100);
}

#[test]
fn a_fault_in_the_last_page_says_that_pages_would_allow_it() {
    let space = AddressSpace::new(1 << 20);
    let a = space.alloc(100, 0).unwrap();
    let nearest = |at| space.nearest(at, 4, &space.blocks().capture());
    for at in [98, 100, PAGE - 4] {
        assert!(nearest(a + at).contains("`--bounds pages`"), "{}", nearest(a + at));
    }
    for at in [0, 96, PAGE - 3, PAGE] {
        assert!(!nearest(a + at).contains("--bounds"), "{}", nearest(a + at));
    }
}

#[test]
fn addresses_are_deterministic_and_separated_by_guards() {
    let make = || {
        let space = AddressSpace::new(1 << 20);
        let a = space.alloc(100, 0).unwrap();
        let b = space.alloc(5000, 4096).unwrap();
        space.free(a).unwrap();
        (a, b, space.alloc(100, 0).unwrap())
    };
    let (a, b, c) = make();
    assert_eq!((a, b, c), make());
    assert!(b >= a + 100 + GUARD && c > b && b % 4096 == 0);
}

#[test]
fn bytes_are_preserved_at_odd_offsets_and_by_overlapping_copies() {
    let space = AddressSpace::new(1 << 20);
    let a = space.alloc(1000, 0).unwrap();
    let data: Vec<u8> = (0..=255).cycle().take(777).collect();
    space.write(a + 3, &data).unwrap();
    let mut back = vec![0; 777];
    space.read(a + 3, &mut back).unwrap();
    assert_eq!(back, data);
    space.copy(a + 10, a + 3, 777).unwrap();
    space.read(a + 10, &mut back).unwrap();
    assert_eq!(back, data);
    space.fill(a + 1, &[1, 2, 3, 4], 100).unwrap();
    let mut some = [0; 5];
    space.read(a + 397, &mut some).unwrap();
    assert_eq!(some, [1, 2, 3, 4, back[391]]);
}

#[test]
fn a_shared_allocation_is_the_same_memory() {
    let (ours, theirs) = (AddressSpace::one_of(1000, 0, 2), AddressSpace::one_of(1000, 1, 2));
    let a = ours.alloc(100, 0).unwrap();
    assert_ne!(a, theirs.alloc(100, 0).unwrap());
    assert!(matches!(theirs.write(a, &[7]), Err(Error::OutOfBounds { .. })));
    ours.share(a, &theirs).unwrap();
    theirs.write(a + 99, &[7]).unwrap();
    let mut byte = [0];
    ours.read(a + 99, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    assert!(matches!(theirs.free(a), Err(Error::NotAnAllocation { .. })));
    theirs.unshare(a);
    assert!(matches!(theirs.read(a, &mut byte), Err(Error::OutOfBounds { .. })));
    assert_eq!(theirs.usage().used, 100);
}

#[test]
fn blocks_of_a_shared_allocation_are_checked_in_the_other_space_too() {
    let blocks = Arc::<Blocks>::default();
    let space = |index| AddressSpace::one_of(1 << 20, index, 2).with_blocks(Arc::clone(&blocks));
    let (ours, theirs) = (space(0), space(1));
    let a = ours.alloc(1024, 0).unwrap();
    ours.divide(a).unwrap();
    ours.divide(a).unwrap();
    assert_eq!(ours.usage().used, 1024);
    ours.share(a, &theirs).unwrap();
    blocks.add(a, 256);
    blocks.add(a + 512, 256);
    view(&ours).store_one(a + 512 + 252, [7u32; 1]).unwrap();
    let mut theirs_view = view(&theirs);
    assert_eq!(theirs_view.load_one::<[u32; 1]>(a + 512 + 252), Some([7]));
    assert_eq!(theirs_view.load_one::<[u32; 1]>(a + 256), None);
    assert_eq!(theirs_view.load_one::<[u32; 1]>(a + 512 + 256), None);
    assert!(theirs.check_blocks(a + 512, 256, &blocks.capture()).is_ok());
    assert!(theirs.check_blocks(a + 512, 257, &blocks.capture()).is_err());
    theirs.unshare(a);
    ours.free(a).unwrap();
    assert_eq!(ours.usage().used, 0);
}

#[test]
fn a_file_is_the_same_memory_in_two_spaces() {
    let path = std::env::temp_dir().join(format!("amdgpu-emulator-test-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len(5000).unwrap();
    let (ours, theirs) = (AddressSpace::new(8000), AddressSpace::new(8000));
    // SAFETY: the file keeps its length.
    let (a, b) = unsafe { (ours.alloc_file(&file, 5000).unwrap(), theirs.open_file(&file, 5000).unwrap()) };
    ours.write(a + 4999, &[7]).unwrap();
    let mut byte = [0];
    theirs.read(b + 4999, &mut byte).unwrap();
    assert_eq!((byte, ours.usage().used, theirs.usage().used), ([7], 5000, 0));
    // Memory that exists already can be given the file's bytes.
    let c = ours.alloc(1000, 0).unwrap();
    ours.write(c, &[1]).unwrap();
    // SAFETY: as above.
    unsafe { ours.back_with_file(c, &file) }.unwrap();
    theirs.write(b, &[9]).unwrap();
    ours.read(c, &mut byte).unwrap();
    assert_eq!((byte, ours.usage().used), ([9], 6000));
    // SAFETY: as above.
    assert!(matches!(unsafe { ours.back_with_file(c + 1, &file) }, Err(Error::NotAnAllocation { .. })));
    ours.free(a).unwrap();
    ours.free(c).unwrap();
    theirs.free(b).unwrap();
    assert_eq!((ours.usage().used, theirs.usage().used), (0, 0));
}

#[test]
fn memory_that_the_host_accesses_counts_as_written() {
    let space = AddressSpace::new(1000);
    space.track_writes();
    let a = space.alloc(600, 0).unwrap();
    let written = |offset| {
        let region = space.region(a).unwrap();
        region.shadow.unwrap().is_written(offset, 1)
    };
    let host = space.host_address(a + 100, 50).unwrap();
    assert_eq!([99, 100, 149, 150].map(written), [false, true, true, false]);
    // SAFETY: one of the 50 bytes, which nothing else accesses.
    unsafe { host.write(7) };
    let mut byte = [0];
    space.read(a + 100, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    assert!(matches!(space.host_address(a + 590, 11), Err(Error::OutOfBounds { .. })));
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn the_process_has_allocations_at_their_own_addresses() {
    let space = AddressSpace::new(1 << 20).at_own_addresses();
    let other = AddressSpace::one_of(1 << 20, 1, 2);
    let a = space.alloc(5000, 0).unwrap();
    assert!(a.is_multiple_of(PAGE));
    let host = space.host_address(a, 5000).unwrap();
    assert_eq!(host.as_ptr() as u64, a);
    // SAFETY: a byte of the allocation, which nothing else accesses.
    unsafe { host.write(7) };
    space.share(a, &other).unwrap();
    let mut byte = [0];
    other.read(a, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    other.unshare(a);
    space.free(a).unwrap();
    // What is freed is zero when it is allocated again, and another process's memory stays where it is.
    let b = space.alloc(5000, 0).unwrap();
    space.read(b, &mut byte).unwrap();
    assert_eq!(byte, [0]);
}

#[test]
fn memory_of_the_host_is_at_another_address_as_well() {
    let (space, other) = (AddressSpace::new(1000), AddressSpace::one_of(1000, 1, 2));
    let mut memory = vec![0_u8; 3 * PAGE as usize];
    let start = NonNull::from(&mut memory[100]);
    // SAFETY: the memory lives until it is unmapped, and is accessed through the address spaces alone meanwhile.
    let a = unsafe { space.map_host_elsewhere(start, 2 * PAGE) }.unwrap();
    assert!(AddressSpace::is_device_address(a) && a % PAGE == start.as_ptr() as u64 % PAGE);
    assert!(space.lookup(a).unwrap().is_host && !space.owns(a));
    space.share(a, &other).unwrap();
    other.write(a + 1, &[5]).unwrap();
    assert!(matches!(other.write(a + 2 * PAGE, &[5]), Err(Error::OutOfBounds { .. })));
    assert!(matches!(other.free(a), Err(Error::NotAnAllocation { .. })));
    other.unshare(a);
    space.unmap_host(a).unwrap();
    assert!(space.lookup(a).is_none());
    assert_eq!(memory[101], 5);
    // SAFETY: no memory.
    assert!(matches!(unsafe { space.map_host_elsewhere(start, 0) }, Err(Error::InvalidArgument(_))));
}

#[test]
fn misuse_returns_a_typed_error() {
    let space = AddressSpace::new(1000);
    assert!(matches!(space.alloc(0, 0), Err(Error::InvalidArgument(_))));
    assert!(matches!(space.alloc(10, 3 * 256), Err(Error::InvalidArgument(_))));
    let a = space.alloc(600, 0).unwrap();
    let Err(Error::OutOfMemory { requested: 500, free: 400, total: 1000 }) = space.alloc(500, 0) else {
        panic!("it must not fit");
    };
    let Err(Error::OutOfBounds { nearest, .. }) = space.write(a + 590, &[0; 11]) else {
        panic!("it must not fit");
    };
    assert!(nearest.contains("runs past its end"), "{nearest}");
    assert!(matches!(space.free(a + 1), Err(Error::NotAnAllocation { .. })));
    space.free(a).unwrap();
    assert!(matches!(space.free(a), Err(Error::NotAnAllocation { .. })));
    assert!(space.nearest(a + 1, 1, &space.blocks().capture()).contains("was freed"));
    assert_eq!(space.usage(), MemoryUsage { used: 0, capacity: 1000 });
}
