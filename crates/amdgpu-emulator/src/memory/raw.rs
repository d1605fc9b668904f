//! Raw accesses to guest memory. A kernel's data races are not undefined behaviour, also if the accesses have different
//! sizes.
//!
//! Atomic operations of Rust may race with each other, but not with those of another size on the same bytes. Kernels do
//! that: one wave stores a byte of a dword that another wave loads. To Rust's abstract machine, each load and store
//! here therefore consists of relaxed atomic loads or stores of single bytes. A read-modify-write is such a load and
//! store while a global lock is held. Miri runs exactly that.
//!
//! On an x86-64 host, each access is one instruction of inline assembly, which the compiler can't see into. A load or
//! store of 2 to 8 bytes has an effect that the accesses of its bytes may have in some order. An instruction with a
//! lock prefix has an effect that the global lock allows. In addition, a naturally aligned access happens at once,
//! which Rust does not know and kernels rely on. That holds for 16 bytes, too, where the processor has AVX: Intel's "Software
//! Developer's Manual", volume 3, 9.1.1 "Guaranteed Atomic Operations", and AMD's "Architecture Programmer's Manual", volume
//! 2, 7.3.2 "Access Atomicity". Without AVX, 16 bytes are two accesses of 8.
//!
//! Other hosts use Rust's atomic operations of the access's size, without assembly; 16 bytes are two accesses of 8. There,
//! kernels that race with accesses of different sizes rely on the compiler's generating plain loads and stores for them,
//! which it does.

use std::marker::PhantomData;

/// A naturally aligned value in guest memory, which any thread may change at any time. The caller of `new` keeps the
/// memory alive.
pub(crate) struct Cell<T> {
    p: *mut u8,
    value: PhantomData<T>,
}

impl<T> Cell<T> {
    /// # Safety
    /// `p` must point to as many bytes as the type has, aligned to that number. They must be valid as long as the value is
    /// used, and only be accessed by this module.
    #[inline(always)]
    pub(super) unsafe fn new(p: *mut u8) -> Cell<T> {
        Cell { p, value: PhantomData }
    }
}

macro_rules! cells {
    ($($ty:ty, $load:ident, $exchange:ident, $add:ident, $swap:ident;)*) => {$(
        impl Cell<$ty> {
            /// Replaces the value with what `f` returns for it, and returns the previous value.
            #[inline(always)]
            pub(crate) fn update(&self, mut f: impl FnMut($ty) -> $ty) -> $ty {
                // SAFETY: as the caller of `new` guarantees.
                let mut old = unsafe { $load(self.p) };
                loop {
                    // SAFETY: as the caller of `new` guarantees.
                    let seen = unsafe { $exchange(self.p, old, f(old)) };
                    if seen == old {
                        return old;
                    }
                    old = seen;
                }
            }

            /// Adds `value`, wrapping, and returns the previous value.
            #[inline(always)]
            pub(crate) fn add(&self, value: $ty) -> $ty {
                // SAFETY: as the caller of `new` guarantees.
                unsafe { $add(self.p, value) }
            }

            /// Replaces the value, and returns the previous one.
            #[inline(always)]
            pub(crate) fn swap(&self, value: $ty) -> $ty {
                // SAFETY: as the caller of `new` guarantees.
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
    /// Returns the value.
    #[inline(always)]
    pub(super) fn load(&self) -> u64 {
        // SAFETY: as the caller of `new` guarantees.
        unsafe { load64(self.p) }
    }
}

/// The dwords of 64 bytes of guest memory.
pub(crate) type Piece = [u32; 16];

/// Loads 64 bytes. Each naturally aligned value of 1, 2, 4 or 8 bytes in them is loaded at once, and of 16 on hosts that can.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(super) unsafe fn load_piece(p: *mut u8) -> Piece {
    // SAFETY: as the caller guarantees.
    unsafe { host::load_piece(p) }
}

/// Stores 64 bytes, at once where [`load_piece`] loads at once.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(super) unsafe fn store_piece(p: *mut u8, value: &Piece) {
    // SAFETY: as the caller guarantees.
    unsafe { host::store_piece(p, value) }
}

/// Loads 64 bytes by the largest values of up to 8 bytes that are aligned.
///
/// # Safety
/// As for [`read`].
unsafe fn load_parts(p: *mut u8) -> Piece {
    let mut out = Piece::default();
    let (words, _) = out.as_chunks_mut::<2>();
    for (n, word) in words.iter_mut().enumerate() {
        let at = |byte: usize| p.wrapping_add(8 * n + byte);
        // SAFETY: the 8 bytes lie within the 64 that the caller guarantees.
        let value = unsafe {
            match p.addr().trailing_zeros() {
                0 => (0..8).fold(0, |all, b| all | u64::from(load8(at(b))) << (8 * b)),
                1 => (0..4).fold(0, |all, h| all | u64::from(load16(at(2 * h))) << (16 * h)),
                2 => u64::from(load32(at(0))) | u64::from(load32(at(4))) << 32,
                _ => load64(at(0)),
            }
        };
        *word = [value as u32, (value >> 32) as u32];
    }
    out
}

/// Stores 64 bytes as [`load_parts`] loads them.
///
/// # Safety
/// As for [`read`].
unsafe fn store_parts(p: *mut u8, value: &Piece) {
    let (words, _) = value.as_chunks::<2>();
    for (n, [low, high]) in words.iter().enumerate() {
        let at = |byte: usize| p.wrapping_add(8 * n + byte);
        let value = u64::from(*low) | u64::from(*high) << 32;
        // SAFETY: the 8 bytes lie within the 64 that the caller guarantees.
        unsafe {
            match p.addr().trailing_zeros() {
                0 => (0..8).for_each(|b| store8(at(b), (value >> (8 * b)) as u8)),
                1 => (0..4).for_each(|h| store16(at(2 * h), (value >> (16 * h)) as u16)),
                2 => {
                    store32(at(0), *low);
                    store32(at(4), *high);
                }
                _ => store64(at(0), value),
            }
        }
    }
}

/// Copies bytes of guest memory to `out`. No aligned 64-bit word is read half-written.
///
/// # Safety
/// `p` must point to as many valid bytes, which are only accessed by this module. `out` must not be guest memory.
pub(super) unsafe fn read(p: *mut u8, out: &mut [u8]) {
    let head = p.align_offset(8).min(out.len());
    let (first, rest) = out.split_at_mut(head);
    let (words, last) = rest.as_chunks_mut::<8>();
    for (n, byte) in first.iter_mut().enumerate() {
        // SAFETY: as the caller guarantees.
        *byte = unsafe { load8(p.add(n)) };
    }
    // SAFETY: the words lie within the bytes that the caller guarantees.
    unsafe { host::read_words(p.add(head), words) };
    let at = head + words.len() * 8;
    for (n, byte) in last.iter_mut().enumerate() {
        // SAFETY: `at + n` is within the bytes that the caller guarantees.
        *byte = unsafe { load8(p.add(at + n)) };
    }
}

/// Copies `data` to guest memory. No other thread reads a half-written aligned 64-bit word.
///
/// # Safety
/// As for [`read`].
pub(super) unsafe fn write(p: *mut u8, data: &[u8]) {
    let head = p.align_offset(8).min(data.len());
    let (first, rest) = data.split_at(head);
    let (words, last) = rest.as_chunks::<8>();
    for (n, byte) in first.iter().enumerate() {
        // SAFETY: as the caller guarantees.
        unsafe { store8(p.add(n), *byte) };
    }
    // SAFETY: the words lie within the bytes that the caller guarantees.
    unsafe { host::write_words(p.add(head), words) };
    let at = head + words.len() * 8;
    for (n, byte) in last.iter().enumerate() {
        // SAFETY: `at + n` is within the bytes that the caller guarantees.
        unsafe { store8(p.add(at + n), *byte) };
    }
}

/// Reads aligned words one by one.
///
/// # Safety
/// As for [`read`].
unsafe fn read_each(p: *mut u8, out: &mut [[u8; 8]]) {
    for (n, word) in out.iter_mut().enumerate() {
        // SAFETY: as the caller guarantees.
        *word = unsafe { load64(p.add(n * 8)) }.to_le_bytes();
    }
}

/// Writes aligned words one by one.
///
/// # Safety
/// As for [`read`].
unsafe fn write_each(p: *mut u8, data: &[[u8; 8]]) {
    for (n, word) in data.iter().enumerate() {
        // SAFETY: as the caller guarantees.
        unsafe { store64(p.add(n * 8), u64::from_le_bytes(*word)) };
    }
}

/// Loads 16 bytes from each pointer as four dwords: at once if they are aligned and the host can.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(super) unsafe fn load128<const M: usize>(p: [*mut u8; M]) -> [[u32; 4]; M] {
    // SAFETY: as the caller guarantees, and aligned where the host loads at once.
    unsafe {
        match p.iter().fold(0, |all, p| all | p.addr()).is_multiple_of(16) {
            true => host::load128(p),
            false => {
                p.map(|p| if p.addr().is_multiple_of(16) { host::load128([p]) } else { load_halves([p]) }[0])
            }
        }
    }
}

/// Stores 16 bytes at each pointer as [`load128`] loads them.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(super) unsafe fn store128<const M: usize>(p: [*mut u8; M], values: [[u32; 4]; M]) {
    // SAFETY: as in `load128`.
    unsafe {
        if p.iter().fold(0, |all, p| all | p.addr()).is_multiple_of(16) {
            return host::store128(p, values);
        }
        for (p, value) in p.into_iter().zip(values) {
            match p.addr().is_multiple_of(16) {
                true => host::store128([p], [value]),
                false => store_halves([p], [value]),
            }
        }
    }
}

/// Loads 16 bytes with two accesses of 8.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
unsafe fn load_halves<const M: usize>(p: [*mut u8; M]) -> [[u32; 4]; M] {
    p.map(|p| {
        // SAFETY: as the caller guarantees.
        let [low, high] = unsafe { [load64(p), load64(p.add(8))] };
        [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
    })
}

/// Stores 16 bytes with two accesses of 8.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
unsafe fn store_halves<const M: usize>(p: [*mut u8; M], values: [[u32; 4]; M]) {
    for (p, [a, b, c, d]) in p.into_iter().zip(values) {
        // SAFETY: as the caller guarantees.
        unsafe {
            store64(p, u64::from(a) | u64::from(b) << 32);
            store64(p.add(8), u64::from(c) | u64::from(d) << 32);
        }
    }
}

use host::{add32, add64, exchange32, exchange64, swap32, swap64};
pub(crate) use host::{load8, load16, load32, load64, store8, store16, store32, store64};

/// The host's instructions. Values are little-endian in memory, for the guest and on this host.
///
/// # Safety
/// For all functions: `p` must point to valid bytes that are only accessed by this module. For read-modify-writes it
/// must be aligned to the number of bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod host {
    use std::arch::asm;
    use std::arch::x86_64::__m128i;

    macro_rules! plain {
        ($($load:ident, $store:ident, $ty:ty, $class:ident, $mov:literal, $to:literal, $size:literal, $from:literal;)*) => {$(
            #[inline(always)]
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                let value: u64;
                // SAFETY: it reads valid bytes, with the effect that the module's documentation describes.
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
                // SAFETY: it writes valid bytes, with the effect that the module's documentation describes.
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

    // Encoded with VEX, which clears the upper half of the register: no encoding of the instructions around it makes that slow.

    #[inline(always)]
    pub(super) unsafe fn load128<const M: usize>(p: [*mut u8; M]) -> [[u32; 4]; M] {
        if !std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: as the caller guarantees.
            return unsafe { super::load_halves(p) };
        }
        p.map(|p| {
            let value: __m128i;
            // SAFETY: it reads valid and aligned bytes, with the effect that the module's documentation describes.
            unsafe {
                asm!(
                    "vmovdqa {value}, [{p}]",
                    p = in(reg) p, value = lateout(xmm_reg) value,
                    options(nostack, preserves_flags, readonly),
                );
            }
            bytemuck::must_cast(value)
        })
    }

    #[inline(always)]
    pub(super) unsafe fn store128<const M: usize>(p: [*mut u8; M], values: [[u32; 4]; M]) {
        if !std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: as the caller guarantees.
            return unsafe { super::store_halves(p, values) };
        }
        for (p, value) in p.into_iter().zip(values) {
            let value: __m128i = bytemuck::must_cast(value);
            // SAFETY: it writes valid and aligned bytes, with the effect that the module's documentation describes.
            unsafe {
                asm!(
                    "vmovdqa [{p}], {value}",
                    p = in(reg) p, value = in(xmm_reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    // Each part of 16 bytes is one access, or two on both sides of the end of a cache line, which every naturally aligned
    // value is on one side of. The parts are in registers: a copy in memory would be slow to read as wider vectors.

    #[inline(always)]
    pub(super) unsafe fn load_piece(p: *mut u8) -> super::Piece {
        let (a, b, c, d): (__m128i, __m128i, __m128i, __m128i);
        if !std::arch::is_x86_feature_detected!("avx") {
            // In registers too: a result in memory here would be one there.
            // SAFETY: as the caller guarantees.
            [a, b, c, d] = bytemuck::must_cast(unsafe { super::load_parts(p) });
        } else {
            // SAFETY: it reads valid bytes, with the effect that the module's documentation describes.
            unsafe {
                asm!(
                    "vmovdqu {a}, [{p}]",
                    "vmovdqu {b}, [{p} + 16]",
                    "vmovdqu {c}, [{p} + 32]",
                    "vmovdqu {d}, [{p} + 48]",
                    p = in(reg) p, a = out(xmm_reg) a, b = out(xmm_reg) b, c = out(xmm_reg) c, d = out(xmm_reg) d,
                    options(nostack, preserves_flags, readonly),
                );
            }
        }
        bytemuck::must_cast([a, b, c, d])
    }

    #[inline(always)]
    pub(super) unsafe fn store_piece(p: *mut u8, value: &super::Piece) {
        if !std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: as the caller guarantees.
            return unsafe { super::store_parts(p, value) };
        }
        let [a, b, c, d]: [__m128i; 4] = bytemuck::must_cast(*value);
        // SAFETY: it writes valid bytes, with the effect that the module's documentation describes.
        unsafe {
            asm!(
                "vmovdqu [{p}], {a}",
                "vmovdqu [{p} + 16], {b}",
                "vmovdqu [{p} + 32], {c}",
                "vmovdqu [{p} + 48], {d}",
                p = in(reg) p, a = in(xmm_reg) a, b = in(xmm_reg) b, c = in(xmm_reg) c, d = in(xmm_reg) d,
                options(nostack, preserves_flags),
            );
        }
    }

    /// The number of words from which on the processor's string instruction is faster than a loop.
    const STRING: usize = 64;

    pub(super) unsafe fn read_words(p: *mut u8, out: &mut [[u8; 8]]) {
        if out.len() < STRING {
            // SAFETY: as the caller guarantees.
            return unsafe { super::read_each(p, out) };
        }
        // SAFETY: as the caller guarantees.
        unsafe { copy_words(p, out.as_mut_ptr().cast(), out.len()) };
    }

    pub(super) unsafe fn write_words(p: *mut u8, data: &[[u8; 8]]) {
        if data.len() < STRING {
            // SAFETY: as the caller guarantees.
            return unsafe { super::write_each(p, data) };
        }
        // SAFETY: as the caller guarantees.
        unsafe { copy_words(data.as_ptr().cast(), p, data.len()) };
    }

    unsafe fn copy_words(from: *const u8, to: *mut u8, count: usize) {
        // SAFETY: the caller guarantees that the bytes are valid, with the effect that the module's documentation
        // describes. The ABI demands that the direction flag is clear.
        unsafe {
            asm!(
                "rep movsq",
                inout("rcx") count => _, inout("rsi") from => _, inout("rdi") to => _,
                options(nostack, preserves_flags),
            );
        }
    }

    macro_rules! modify {
        ($($exchange:ident, $add:ident, $swap:ident, $ty:ty, $a:tt, $size:literal, $from:literal;)*) => {$(
            /// Stores `new` if the value is `old`. Returns the previous value.
            #[inline(always)]
            pub(super) unsafe fn $exchange(p: *mut u8, old: $ty, new: $ty) -> $ty {
                let seen: $ty;
                // SAFETY: it reads and writes valid bytes, with the effect that the module's documentation describes.
                unsafe {
                    asm!(
                        concat!("lock cmpxchg ", $size, " ptr [{p}], {new", $from, "}"),
                        p = in(reg) p, new = in(reg) new, inout($a) old => seen,
                        options(nostack),
                    );
                }
                seen
            }

            /// Adds `value`. Returns the previous value.
            #[inline(always)]
            pub(super) unsafe fn $add(p: *mut u8, mut value: $ty) -> $ty {
                // SAFETY: it reads and writes valid bytes, with the effect that the module's documentation describes.
                unsafe {
                    asm!(
                        concat!("lock xadd ", $size, " ptr [{p}], {value", $from, "}"),
                        p = in(reg) p, value = inout(reg) value,
                        options(nostack),
                    );
                }
                value
            }

            /// Stores `value`. Returns the previous value.
            #[inline(always)]
            pub(super) unsafe fn $swap(p: *mut u8, mut value: $ty) -> $ty {
                // SAFETY: it reads and writes valid bytes; `xchg` locks without a prefix.
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

/// What the assembly means to the abstract machine; see the module's documentation. It is slow.
#[cfg(miri)]
mod host {
    pub(super) use super::{
        load_halves as load128, load_parts as load_piece, read_each as read_words, store_halves as store128,
        store_parts as store_piece, write_each as write_words,
    };
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    use std::sync::{Mutex, PoisonError};

    static LOCK: Mutex<()> = Mutex::new(());

    macro_rules! bytes {
        ($($load:ident, $store:ident, $ty:ty;)*) => {$(
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                // SAFETY: as the caller guarantees, for each byte.
                <$ty>::from_le_bytes(std::array::from_fn(|n| unsafe { AtomicU8::from_ptr(p.add(n)) }.load(Relaxed)))
            }

            pub(crate) unsafe fn $store(p: *mut u8, value: $ty) {
                for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: as the caller guarantees, for each byte.
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
                // SAFETY: as the caller guarantees.
                unsafe { modify(p, |value| if value == old { new } else { value }, $load, $store) }
            }

            pub(super) unsafe fn $add(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: as the caller guarantees.
                unsafe { modify(p, |old: $ty| old.wrapping_add(value), $load, $store) }
            }

            pub(super) unsafe fn $swap(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: as the caller guarantees.
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
        // SAFETY: as the caller guarantees.
        let old = unsafe { load(p) };
        // SAFETY: as the caller guarantees.
        unsafe { store(p, f(old)) };
        old
    }
}

/// Rust's atomic operations; the module's documentation says on what they rely.
#[cfg(not(any(target_arch = "x86_64", miri)))]
mod host {
    pub(super) use super::{
        load_halves as load128, load_parts as load_piece, read_each as read_words, store_halves as store128,
        store_parts as store_piece, write_each as write_words,
    };
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

    macro_rules! plain {
        ($($load:ident, $store:ident, $ty:ty, $atomic:ty;)*) => {$(
            #[inline(always)]
            pub(crate) unsafe fn $load(p: *mut u8) -> $ty {
                if p.addr() % size_of::<$ty>() == 0 {
                    // SAFETY: as the caller guarantees, and it is aligned.
                    return <$ty>::from_le(unsafe { <$atomic>::from_ptr(p.cast()) }.load(Relaxed));
                }
                // SAFETY: as the caller guarantees, for each byte.
                <$ty>::from_le_bytes(std::array::from_fn(|n| unsafe { AtomicU8::from_ptr(p.add(n)) }.load(Relaxed)))
            }

            #[inline(always)]
            pub(crate) unsafe fn $store(p: *mut u8, value: $ty) {
                if p.addr() % size_of::<$ty>() == 0 {
                    // SAFETY: as the caller guarantees, and it is aligned.
                    return unsafe { <$atomic>::from_ptr(p.cast()) }.store(value.to_le(), Relaxed);
                }
                for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: as the caller guarantees, for each byte.
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
                // SAFETY: as the caller guarantees.
                let cell = unsafe { <$atomic>::from_ptr(p.cast()) };
                <$ty>::from_le(cell.compare_exchange(old.to_le(), new.to_le(), SeqCst, SeqCst).unwrap_or_else(|v| v))
            }

            pub(super) unsafe fn $add(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: as the caller guarantees.
                let mut old = unsafe { $load(p) };
                loop {
                    // SAFETY: as the caller guarantees.
                    let seen = unsafe { $exchange(p, old, old.wrapping_add(value)) };
                    if seen == old {
                        return old;
                    }
                    old = seen;
                }
            }

            pub(super) unsafe fn $swap(p: *mut u8, value: $ty) -> $ty {
                // SAFETY: as the caller guarantees.
                <$ty>::from_le(unsafe { <$atomic>::from_ptr(p.cast()) }.swap(value.to_le(), SeqCst))
            }
        )*};
    }

    modify! {
        exchange32, add32, swap32, load32, u32, AtomicU32;
        exchange64, add64, swap64, load64, u64, AtomicU64;
    }
}
