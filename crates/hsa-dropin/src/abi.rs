//! What crosses the border to C: statuses, and pointers that a C caller passes.
//!
//! Only C callers make values of the pointers' types, by calling a function. The libraries' documentation says for each function what its
//! pointers refer to, and a caller promises that by calling it. So the methods here write to the pointers, and the functions need no unsafe
//! code for it.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pointer that is not used.
pub(crate) type Ignored = *mut c_void;

/// The status of a library's functions.
pub(crate) trait Code: Sized {
    /// The function did what it is for.
    const SUCCESS: Self;
    /// It failed by an error of its own.
    const FAILED: Self;
    /// A pointer is null, or a number is none of those that it may be.
    const BAD_ARGUMENT: Self;
    /// The function does nothing.
    const NOT_SUPPORTED: Self;
}

/// Runs the body of a function. A panic is an error of the function's own.
pub(crate) fn call<C: Code>(body: impl FnOnce() -> Result<(), C>) -> C {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => C::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => C::FAILED,
    }
}

/// Runs the body of a function whose result is no status. After a panic, the result is the type's default.
pub(crate) fn plain<T: Default>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_default()
}

/// A pointer to values of the caller that are read: null, or as many as another argument says.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Array<T>(*const T);

impl<T: Copy> Array<T> {
    /// The first `count` values. Fails for a null pointer, unless there are none.
    pub(crate) fn get<C: Code>(self, count: usize) -> Result<Vec<T>, C> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(C::BAD_ARGUMENT);
        }
        // SAFETY: as many values as the caller's other argument says, as the module says. They may be misaligned, and change later.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }

    /// The value, if there is one.
    pub(crate) fn value(self) -> Option<T> {
        // SAFETY: not null, and then a value, as the module says.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// The value. Fails for a null pointer.
    pub(crate) fn first<C: Code>(self) -> Result<T, C> {
        self.value().ok_or(C::BAD_ARGUMENT)
    }
}

/// A pointer to memory of the caller for one result: null or writable.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Memory that a function of the caller has allocated for results.
    pub(crate) fn of_pointer(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    /// The same memory for results of another type.
    pub(crate) fn of<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// Writes a result. Fails for a null pointer.
    pub(crate) fn set<C: Code>(self, value: T) -> Result<(), C> {
        self.set_array([value], 1)
    }

    /// Writes the first values to an array that has room for `room`. Fails for a null pointer.
    pub(crate) fn set_array<C: Code>(
        self,
        values: impl IntoIterator<Item = T>,
        room: usize,
    ) -> Result<(), C> {
        if self.is_null() {
            return Err(C::BAD_ARGUMENT);
        }
        for (index, value) in values.into_iter().take(room).enumerate() {
            // SAFETY: an array with room for more than `index` elements, as the module says.
            unsafe { self.0.add(index).write(value) };
        }
        Ok(())
    }
}

impl<T: Copy> Out<T> {
    /// The value that the memory has: for arguments that are read and then written. Fails for a null pointer.
    pub(crate) fn get<C: Code>(self) -> Result<T, C> {
        if self.is_null() {
            return Err(C::BAD_ARGUMENT);
        }
        // SAFETY: not null, and the caller has initialised it, as the documentation says for such arguments.
        Ok(unsafe { self.0.read() })
    }
}

impl Out<u8> {
    /// Writes text and a zero byte to memory of `room` bytes, cut to fit. Fails for a null pointer, and without any room.
    pub(crate) fn set_text<C: Code>(self, text: &str, room: usize) -> Result<(), C> {
        let end = text.len().min(room.checked_sub(1).ok_or(C::BAD_ARGUMENT)?);
        self.set_array(text.bytes().take(end).chain([0]), room)
    }
}

/// A text of the caller: null, or ending with a zero byte.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text. Fails for a null pointer, and where it is not UTF-8.
    pub(crate) fn get<C: Code>(&self) -> Result<&str, C> {
        if self.0.is_null() {
            return Err(C::BAD_ARGUMENT);
        }
        // SAFETY: not null, and then text, as the module says.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| C::BAD_ARGUMENT)
    }
}

/// A text that this library gives to C, which is never freed.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct StaticText(*const c_char);

impl StaticText {
    pub(crate) fn new(text: &'static CStr) -> StaticText {
        StaticText(text.as_ptr())
    }
}

/// An array of `N` bytes with text and zeros behind it.
pub(crate) fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let end = text.len().min(N - 1);
    bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Status(u32);

    impl Code for Status {
        const SUCCESS: Status = Status(0);
        const FAILED: Status = Status(1);
        const BAD_ARGUMENT: Status = Status(2);
        const NOT_SUPPORTED: Status = Status(3);
    }

    #[test]
    fn text_is_cut_to_the_room_and_ends_with_a_zero_byte() {
        let mut room = [7; 6];
        assert_eq!(Out(room.as_mut_ptr()).set_text::<Status>("gfx90a", 4), Ok(()));
        assert_eq!(room, *b"gfx\0\x07\x07");
        assert_eq!(Out(room.as_mut_ptr()).set_text("gfx90a", 0), Err(Status::BAD_ARGUMENT));
        assert_eq!(Out(std::ptr::null_mut()).set_text("gfx90a", 4), Err(Status::BAD_ARGUMENT));
        assert_eq!(field::<4>("gfx90a"), *b"gfx\0");
    }

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(call(|| -> Result<(), Status> { panic!("of the test") }), Status::FAILED);
        assert_eq!(call::<Status>(|| Ok(())), Status::SUCCESS);
        assert_eq!(call(|| Err(Status::NOT_SUPPORTED)), Status::NOT_SUPPORTED);
    }
}
