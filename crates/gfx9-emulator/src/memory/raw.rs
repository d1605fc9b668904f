//! Raw accesses to guest memory: what a kernel's data races do is defined, whatever their sizes.
//!
//! Rust's atomic operations may race, but not with others of another size on the same bytes. A kernel may do that: a
//! wave stores a byte of what another loads as a dword. So to the abstract machine every access here consists of
//! relaxed atomic loads or stores of single bytes, and a read-modify-write of such loads and stores while it holds a
//! lock that is everyone's. Miri runs exactly that.
//!
//! An x86-64 host does each in one instruction, of inline assembly, which the compiler can't look into: a load or
//! store of 2 to 8 bytes is one of the orders in which those of the bytes may happen, and an instruction with a lock
//! prefix does what the lock would make of them, and leaves less to chance. That a naturally aligned access happens at
//! once is more than Rust is told, and what kernels count on.
//!
//! Other hosts have no assembly here but Rust's atomic operations of the access's size. There, kernels that race with
//! accesses of different sizes rely on the compiler making plain loads and stores of them, as it does.

use std::marker::PhantomData;

/// A naturally aligned value in guest memory that any thread may change at any time. Whoever made it keeps the memory
/// alive while it is used.
pub(crate) struct Cell<T> {
    p: *mut u8,
    value: PhantomData<T>,
}

macro_rules! cells {
    ($($ty:ty, $load:ident, $exchange:ident, $add:ident, $swap:ident;)*) => {$(
        impl Cell<$ty> {
            /// # Safety
            /// `p` points to as many bytes, aligned to their number, that are valid as long as this is used and only
            /// accessed by this module.
            #[inline(always)]
            pub(super) unsafe fn new(p: *mut u8) -> Cell<$ty> {
                Cell { p, value: PhantomData }
            }

            /// Replaces the value with what `f` makes of it; returns the value before.
            #[inline(always)]
            pub(crate) fn update(&self, mut f: impl FnMut($ty) -> $ty) -> $ty {
                // SAFETY: as `new` was told.
                let mut old = unsafe { $load(self.p) };
                loop {
                    // SAFETY: as `new` was told.
                    let seen = unsafe { $exchange(self.p, old, f(old)) };
                    if seen == old {
                        return old;
                    }
                    old = seen;
                }
            }

            /// Adds, wrapping; returns the value before.
            #[inline(always)]
            pub(crate) fn add(&self, value: $ty) -> $ty {
                // SAFETY: as `new` was told.
                unsafe { $add(self.p, value) }
            }

            /// Replaces the value; returns the one before.
            #[inline(always)]
            pub(crate) fn swap(&self, value: $ty) -> $ty {
                // SAFETY: as `new` was told.
                unsafe { $swap(self.p, value) }
            }
        }
    )*};
}

cells! {
    u32, load32, exchange32, add32, swap32;
    u64, load64, exchange64, add64, swap64;
}

impl Cell<u64> {
    /// The value.
    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        // SAFETY: as `new` was told.
        unsafe { load64(self.p) }
    }
}

use host::{add32, add64, exchange32, exchange64, swap32, swap64};
pub(crate) use host::{load8, load16, load32, load64, store8, store16, store32, store64};

/// All values are as they lie in memory, which is little-endian to the guest and on this host.
///
/// # Safety
/// Of all functions: `p` points to the bytes accessed, which are valid and only accessed by this module; those of
/// read-modify-writes are aligned to their number.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod host {
    use std::arch::asm;

    macro_rules! plain {
        ($($load:ident, $store:ident, $ty:ty, $class:ident, $mov:literal, $to:literal, $size:literal, $from:literal;)*) => {$(
            #[inline(always)]
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                let value: u64;
                // SAFETY: reads valid bytes, with what effect the module's documentation says.
                unsafe {
                    asm!(
                        concat!($mov, " {value", $to, "}, ", $size, " ptr [{p}]"),
                        p = in(reg) p, value = lateout(reg) value,
                        options(nostack, preserves_flags, readonly),
                    );
                }
                value as $ty
            }

            #[inline(always)]
            pub(crate) unsafe fn $store(p: *mut u8, value: $ty) {
                // SAFETY: writes valid bytes, with what effect the module's documentation says.
                unsafe {
                    asm!(
                        concat!("mov ", $size, " ptr [{p}], {value", $from, "}"),
                        p = in(reg) p, value = in($class) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        )*};
    }

    plain! {
        load8, store8, u8, reg_byte, "movzx", ":e", "byte", "";
        load16, store16, u16, reg, "movzx", ":e", "word", ":x";
        load32, store32, u32, reg, "mov", ":e", "dword", ":e";
        load64, store64, u64, reg, "mov", ":r", "qword", ":r";
    }

    macro_rules! modify {
        ($($exchange:ident, $add:ident, $swap:ident, $ty:ty, $a:tt, $size:literal, $from:literal;)*) => {$(
            /// Stores `new` if it holds `old`; returns what it held.
            #[inline(always)]
            pub(super) unsafe fn $exchange(p: *mut u8, old: $ty, new: $ty) -> $ty {
                let seen: $ty;
                // SAFETY: reads and writes valid bytes, with what effect the module's documentation says.
                unsafe {
                    asm!(
                        concat!("lock cmpxchg ", $size, " ptr [{p}], {new", $from, "}"),
                        p = in(reg) p, new = in(reg) new, inout($a) old => seen,
                        options(nostack),
                    );
                }
                seen
            }

            /// Adds; returns what it held.
            #[inline(always)]
            pub(super) unsafe fn $add(p: *mut u8, mut value: $ty) -> $ty {
                // SAFETY: as above.
                unsafe {
                    asm!(
                        concat!("lock xadd ", $size, " ptr [{p}], {value", $from, "}"),
                        p = in(reg) p, value = inout(reg) value,
                        options(nostack),
                    );
                }
                value
            }

            /// Stores; returns what it held.
            #[inline(always)]
            pub(super) unsafe fn $swap(p: *mut u8, mut value: $ty) -> $ty {
                // SAFETY: as above; `xchg` locks without a prefix.
                unsafe {
                    asm!(
                        concat!("xchg ", $size, " ptr [{p}], {value", $from, "}"),
                        p = in(reg) p, value = inout(reg) value,
                        options(nostack, preserves_flags),
                    );
                }
                value
            }
        )*};
    }

    modify! {
        exchange32, add32, swap32, u32, "eax", "dword", ":e";
        exchange64, add64, swap64, u64, "rax", "qword", ":r";
    }
}

/// What the assembly means: see the module's documentation. As slow as it looks.
#[cfg(miri)]
mod host {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    use std::sync::{Mutex, PoisonError};

    static LOCK: Mutex<()> = Mutex::new(());

    macro_rules! bytes {
        ($($load:ident, $store:ident, $ty:ty;)*) => {$(
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                // SAFETY: the caller's, for each byte.
                <$ty>::from_le_bytes(std::array::from_fn(|n| unsafe { AtomicU8::from_ptr(p.add(n)) }.load(Relaxed)))
            }

            pub(crate) unsafe fn $store(p: *mut u8, value: $ty) {
                for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: the caller's, for each byte.
                    unsafe { AtomicU8::from_ptr(p.add(n)) }.store(byte, Relaxed);
                }
            }
        )*};
    }

    bytes! {
        load8, store8, u8;
        load16, store16, u16;
        load32, store32, u32;
        load64, store64, u64;
    }

    macro_rules! modify {
        ($($exchange:ident, $add:ident, $swap:ident, $load:ident, $store:ident, $ty:ty;)*) => {$(
            pub(super) unsafe fn $exchange(p: *mut u8, old: $ty, new: $ty) -> $ty {
                // SAFETY: the caller's.
                unsafe { modify(p, |value| if value == old { new } else { value }, $load, $store) }
            }

            pub(super) unsafe fn $add(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: the caller's.
                unsafe { modify(p, |old: $ty| old.wrapping_add(value), $load, $store) }
            }

            pub(super) unsafe fn $swap(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: the caller's.
                unsafe { modify(p, |_| value, $load, $store) }
            }
        )*};
    }

    modify! {
        exchange32, add32, swap32, load32, store32, u32;
        exchange64, add64, swap64, load64, store64, u64;
    }

    unsafe fn modify<T: Copy>(
        p: *mut u8,
        f: impl Fn(T) -> T,
        load: unsafe fn(*mut u8) -> T,
        store: unsafe fn(*mut u8, T),
    ) -> T {
        let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's.
        let old = unsafe { load(p) };
        // SAFETY: the caller's.
        unsafe { store(p, f(old)) };
        old
    }
}

/// Rust's atomic operations; see the module's documentation for what that leaves open.
#[cfg(not(any(target_arch = "x86_64", miri)))]
mod host {
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

    macro_rules! plain {
        ($($load:ident, $store:ident, $ty:ty, $atomic:ty;)*) => {$(
            #[inline(always)]
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                if p.addr() % size_of::<$ty>() == 0 {
                    // SAFETY: the caller's, and aligned.
                    return <$ty>::from_le(unsafe { <$atomic>::from_ptr(p.cast()) }.load(Relaxed));
                }
                // SAFETY: the caller's, for each byte.
                <$ty>::from_le_bytes(std::array::from_fn(|n| unsafe { AtomicU8::from_ptr(p.add(n)) }.load(Relaxed)))
            }

            #[inline(always)]
            pub(crate) unsafe fn $store(p: *mut u8, value: $ty) {
                if p.addr() % size_of::<$ty>() == 0 {
                    // SAFETY: the caller's, and aligned.
                    return unsafe { <$atomic>::from_ptr(p.cast()) }.store(value.to_le(), Relaxed);
                }
                for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: the caller's, for each byte.
                    unsafe { AtomicU8::from_ptr(p.add(n)) }.store(byte, Relaxed);
                }
            }
        )*};
    }

    plain! {
        load8, store8, u8, AtomicU8;
        load16, store16, u16, AtomicU16;
        load32, store32, u32, AtomicU32;
        load64, store64, u64, AtomicU64;
    }

    macro_rules! modify {
        ($($exchange:ident, $add:ident, $swap:ident, $load:ident, $ty:ty, $atomic:ty;)*) => {$(
            #[inline(always)]
            pub(super) unsafe fn $exchange(p: *mut u8, old: $ty, new: $ty) -> $ty {
                // SAFETY: the caller's.
                let cell = unsafe { <$atomic>::from_ptr(p.cast()) };
                <$ty>::from_le(cell.compare_exchange(old.to_le(), new.to_le(), SeqCst, SeqCst).unwrap_or_else(|v| v))
            }

            pub(super) unsafe fn $add(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: the caller's.
                let mut old = unsafe { $load(p) };
                loop {
                    // SAFETY: the caller's.
                    let seen = unsafe { $exchange(p, old, old.wrapping_add(value)) };
                    if seen == old {
                        return old;
                    }
                    old = seen;
                }
            }

            pub(super) unsafe fn $swap(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: the caller's.
                <$ty>::from_le(unsafe { <$atomic>::from_ptr(p.cast()) }.swap(value.to_le(), SeqCst))
            }
        )*};
    }

    modify! {
        exchange32, add32, swap32, load32, u32, AtomicU32;
        exchange64, add64, swap64, load64, u64, AtomicU64;
    }
}
