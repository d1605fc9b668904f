//! Reading C's arguments: arrays, texts, versioned structs, and numbers that stand for enumerators.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

use super::status::{Failure, Result, hiplaunch_status};

/// Returns the memory for a required result, or an error that names `what` if the pointer is null.
#[inline]
pub(super) fn wanted<'a, T>(
    out: Option<&'a mut MaybeUninit<T>>,
    what: &str,
) -> Result<&'a mut MaybeUninit<T>> {
    match out {
        Some(out) => Ok(out),
        None => Err(Failure::null(what)),
    }
}

/// Returns the value that a required pointer points to, or an error that names `what` if the pointer is null.
#[inline]
pub(super) fn given<'a, T>(pointer: Option<&'a T>, what: &str) -> Result<&'a T> {
    match pointer {
        Some(value) => Ok(value),
        None => Err(Failure::null(what)),
    }
}

/// Returns `count` elements. With 0 elements, `data` may be null.
///
/// # Safety
/// Unless null, `data` must point to `count` elements, which stay unchanged for `'a`.
#[inline]
pub(super) unsafe fn slice<'a, T>(data: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_span(data, count, what)?;
    // SAFETY: not null, aligned and not longer than an allocation can be; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// Returns `count` bytes to be written. With 0 bytes, `data` may be null.
///
/// # Safety
/// Unless null, `data` must point to `count` bytes, which nothing else reads or writes for `'a`.
pub(super) unsafe fn bytes_mut<'a>(data: *mut c_void, count: usize, what: &str) -> Result<&'a mut [u8]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_span(data.cast::<u8>(), count, what)?;
    // SAFETY: not null and not longer than an allocation can be; the rest is the caller's promise. What C left
    // uninitialised is only ever written, by copies.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), count) })
}

/// Returns `count` bytes. With 0 bytes, `data` may be null.
///
/// # Safety
/// As [`slice`].
#[inline]
pub(super) unsafe fn bytes<'a>(data: *const c_void, count: usize, what: &str) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { slice(data.cast(), count, what) }
}

#[inline]
fn check_span<T>(data: *const T, count: usize, what: &str) -> Result<()> {
    let most = isize::MAX as usize / size_of::<T>();
    if !data.is_null() && data.is_aligned() && count <= most {
        Ok(())
    } else {
        Err(no_span(data, what, count))
    }
}

#[cold]
#[inline(never)]
fn no_span<T>(data: *const T, what: &str, count: usize) -> Failure {
    if data.is_null() {
        Failure::null(what)
    } else if !data.is_aligned() {
        Failure::invalid(format!("`{what}` is not aligned to {} bytes", align_of::<T>()))
    } else {
        Failure::invalid(format!("{count} elements of `{what}` are more than there can be"))
    }
}

/// Returns a text, or an error if it is null or not UTF-8.
///
/// # Safety
/// Unless null, `text` must end with a NUL and stay unchanged for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::invalid(format!("`{what}` is not UTF-8")))
}

/// A struct that begins with its own size in bytes. The size says which version of the header the program was compiled
/// with.
///
/// # Safety
/// All fields must be integers and pointers, for which zero is a valid value. `SIZES` must be the sizes of the struct's
/// versions in ascending order, of which the last is the size of `Self`.
pub(super) unsafe trait Versioned: Copy {
    const NAME: &'static str;
    const SIZES: &'static [usize];
}

#[inline]
fn version_size<T: Versioned>(size: usize) -> Result<usize> {
    if T::SIZES.contains(&size) { Ok(size) } else { Err(no_version::<T>(size)) }
}

#[cold]
#[inline(never)]
fn no_version<T: Versioned>(size: usize) -> Failure {
    Failure::new(
        hiplaunch_status::StructSize,
        format!(
            "struct_size {size} of {name} is of no version that library {version} knows ({known:?}); set it to sizeof({name}), and compile against this library's header",
            name = T::NAME,
            version = env!("CARGO_PKG_VERSION"),
            known = T::SIZES,
        ),
    )
}

/// Returns the size in the struct's first field, or an error if no version has it.
///
/// # Safety
/// `from` must not be null, and must point to a struct that begins with its size.
#[inline]
unsafe fn said_size<T: Versioned>(from: *const T) -> Result<usize> {
    // SAFETY: the caller's promise; an unaligned read needs no alignment.
    version_size::<T>(unsafe { from.cast::<usize>().read_unaligned() })
}

/// Reads a versioned struct. Fields that an older version lacks are zero.
///
/// # Safety
/// Unless null, `from` must point to a struct that begins with its size and has that number of bytes.
#[inline]
pub(super) unsafe fn versioned<T: Versioned>(from: *const T, what: &str) -> Result<T> {
    if from.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: not null; the caller's promise.
    let size = unsafe { said_size(from) }?;
    if size == size_of::<T>() {
        // SAFETY: not null, and the struct has the size that it says.
        return Ok(unsafe { from.read_unaligned() });
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `size` is the size of a version, none of which is larger than `T`. The source has `size` bytes by the
    // caller's promise. All fields are integers and pointers, for which any bits are valid.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size);
        Ok(value.assume_init())
    }
}

/// Writes the fields of a versioned struct that the program's version has. `make` gets the size of that version.
///
/// # Safety
/// As [`versioned`], for writing.
pub(super) unsafe fn fill<T: Versioned>(
    to: *mut T,
    what: &str,
    make: impl FnOnce(usize) -> Result<T>,
) -> Result<()> {
    if to.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: not null; the caller's promise.
    let size = unsafe { said_size(to.cast_const()) }?;
    let value = make(size)?;
    // SAFETY: the source has at least `size` bytes, and the target has `size` bytes by the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast::<u8>(), size) };
    Ok(())
}

/// An enumeration whose values C passes as numbers, which may be invalid.
pub(super) trait Enumeration: Copy + 'static {
    const NAME: &'static str;
    const ALL: &'static [(u32, Self)];
}

/// Returns the enumerator of a number, or an error if there is none.
#[inline]
pub(super) fn enumerator<E: Enumeration>(number: u32) -> Result<E> {
    // Most enumerations count from 0 without gaps.
    match E::ALL.get(number as usize) {
        Some((n, e)) if *n == number => Ok(*e),
        _ => search(number),
    }
}

#[cold]
#[inline(never)]
fn search<E: Enumeration>(number: u32) -> Result<E> {
    match E::ALL.iter().find(|(n, _)| *n == number) {
        Some((_, e)) => Ok(*e),
        None => Err(Failure::invalid(format!("{number} is no {}", E::NAME))),
    }
}

macro_rules! enumeration {
    ($name:ident: $($variant:ident),*) => {
        impl $crate::input::Enumeration for $name {
            const NAME: &'static str = stringify!($name);
            const ALL: &'static [(u32, $name)] = &[$(($name::$variant as u32, $name::$variant)),*];
        }
    };
}
pub(super) use enumeration;

/// Returns an error unless a reserved field is zero, as this version requires.
#[inline]
pub(super) fn reserved(value: u32, what: &str) -> Result<()> {
    if value == 0 { Ok(()) } else { Err(not_reserved(value, what)) }
}

#[cold]
#[inline(never)]
fn not_reserved(value: u32, what: &str) -> Failure {
    Failure::invalid(format!("`reserved` of {what} is {value}, not 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    struct Grown {
        struct_size: usize,
        first: u32,
        reserved: u32,
        second: u64,
    }

    // SAFETY: all fields are integers; the first version had 16 bytes and no field `second`.
    unsafe impl Versioned for Grown {
        const NAME: &'static str = "grown";
        const SIZES: &'static [usize] = &[16, 24];
    }

    #[test]
    fn fields_that_an_older_struct_lacks_are_read_as_zero() {
        let given = Grown { struct_size: 16, first: 7, reserved: 0, second: 9 };
        // SAFETY: of its size, and not null.
        let read = unsafe { versioned(&raw const given, "given") }.unwrap();
        assert_eq!((read.first, read.second), (7, 0));
        let given = Grown { struct_size: 24, ..given };
        // SAFETY: as above.
        let read = unsafe { versioned(&raw const given, "given") }.unwrap();
        assert_eq!((read.first, read.second), (7, 9));
    }

    #[test]
    fn fields_that_an_older_struct_lacks_are_not_written() {
        let full = Grown { struct_size: 24, first: 1, reserved: 0, second: 2 };
        let mut to = Grown { struct_size: 16, first: 0, reserved: 0, second: 99 };
        // SAFETY: of its size, and not null.
        unsafe { fill(&raw mut to, "to", |size| Ok(Grown { struct_size: size, ..full })) }.unwrap();
        assert_eq!((to.struct_size, to.first, to.second), (16, 1, 99));
    }

    #[test]
    fn other_sizes_are_refused() {
        for size in [0, 8, 20, 25, usize::MAX] {
            let given = Grown { struct_size: size, first: 7, reserved: 0, second: 9 };
            // SAFETY: it has 24 bytes, and no more are read.
            let failure = unsafe { versioned(&raw const given, "given") }.unwrap_err();
            assert!(format!("{failure:?}").contains("StructSize"), "{failure:?}");
        }
        // SAFETY: null is found.
        assert!(unsafe { versioned::<Grown>(std::ptr::null(), "given") }.is_err());
    }

    #[test]
    fn arrays_are_checked_before_they_are_read() {
        let words = [1u64, 2, 3];
        // SAFETY: null, none, or what is there.
        unsafe {
            assert!(slice::<u64>(std::ptr::null(), 1, "words").is_err());
            assert!(slice::<u64>(std::ptr::null(), 0, "words").unwrap().is_empty());
            assert_eq!(slice(words.as_ptr(), 3, "words").unwrap(), words);
            assert!(slice(words.as_ptr(), usize::MAX / 4, "words").is_err(), "more than there can be");
            assert!(slice(words.as_ptr().byte_add(1), 1, "words").is_err(), "not aligned");
        }
    }
}
