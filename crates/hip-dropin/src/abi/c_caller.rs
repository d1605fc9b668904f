//! Arguments of C functions: pointers that a C caller passes.
//!
//! Only C callers make values of these types, by calling a function. HIP's documentation says for each function what its
//! pointers refer to, and a caller promises that by calling it. So the methods here dereference the pointers, and the
//! functions need no unsafe code for it. A null pointer is an error wherever HIP says so.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;

use crate::abi::status::{HipResult, Status};

/// A pointer to memory of the caller for one result: null or writable.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer as an address of the host.
    pub(crate) fn address(self) -> Address {
        Address(self.0.expose_provenance() as u64)
    }

    /// Fails with `INVALID_VALUE` for a null pointer.
    pub(crate) fn check(self) -> HipResult {
        if self.0.is_null() { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    /// Writes a result. Fails with `INVALID_VALUE` for a null pointer.
    pub(crate) fn set(self, value: T) -> HipResult {
        self.check()?;
        // SAFETY: not null, and then writable, as the module says. C callers align their variables.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Writes a result that the caller may not want.
    pub(crate) fn set_if_wanted(self, value: T) {
        let _ = self.set(value);
    }

    /// Writes the first values to an array that has room for `room`.
    pub(crate) fn set_array(self, values: impl IntoIterator<Item = T>, room: usize) -> HipResult {
        self.check()?;
        for (index, value) in values.into_iter().take(room).enumerate() {
            // SAFETY: an array with room for more than `index` elements, as the module says.
            unsafe { self.0.add(index).write(value) };
        }
        Ok(())
    }

    /// The value that the memory has: for arguments that are read and then written.
    pub(crate) fn get(self) -> HipResult<T>
    where
        T: Copy,
    {
        self.check()?;
        // SAFETY: not null, and the caller has initialized it, as HIP says for such arguments.
        Ok(unsafe { self.0.read() })
    }
}

impl Out<u8> {
    /// Writes `text` and a zero byte to memory of `room` bytes, cut to fit.
    pub(crate) fn set_text(self, text: &str, room: usize) -> HipResult {
        let end = text.len().min(room.saturating_sub(1));
        self.set_array(text.as_bytes()[..end].iter().copied().chain([0]), room)
    }
}

/// A pointer to values of the caller: null or readable.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

/// Copies pointers to any type, which a derive would not.
macro_rules! copied {
    ($($name:ident)*) => {$(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}
    )*};
}

copied! { Out In Handle }

impl<T: Copy> In<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Reads the value. Fails with `INVALID_VALUE` for a null pointer.
    pub(crate) fn get(self) -> HipResult<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: not null, and then readable, as the module says.
        Ok(unsafe { self.0.read() })
    }

    /// Reads an array of `count` values, which may be null if `count` is 0.
    pub(crate) fn array(self, count: usize) -> HipResult<Vec<T>> {
        match count {
            0 => Ok(Vec::new()),
            _ if self.0.is_null() => Err(Status::INVALID_VALUE),
            // SAFETY: an array of `count` values, as the module says.
            _ => Ok((0..count).map(|index| unsafe { self.0.add(index).read() }).collect()),
        }
    }

    /// Reads one value of an array that is not null.
    ///
    /// # Safety
    /// The array has more than `index` values.
    #[inline]
    pub(crate) unsafe fn at(self, index: usize) -> T {
        // SAFETY: as the caller promises.
        unsafe { self.0.add(index).read() }
    }
}

impl<T> In<T> {
    pub(crate) fn pointer(self) -> *const T {
        self.0
    }

    pub(crate) fn of(pointer: *const T) -> In<T> {
        In(pointer)
    }
}

/// A pointer to text that ends with a zero byte, or null.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text. Fails with `INVALID_VALUE` for a null pointer.
    pub(crate) fn get<'a>(self) -> HipResult<&'a CStr> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: not null, and then text that ends, as the module says. No caller of this keeps it longer than its call,
        // or the text is part of the program's image.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// Text that is returned to the caller. It lives forever, but for [`borrowed`](StaticText::borrowed) text.
#[repr(transparent)]
pub(crate) struct StaticText(*const c_char);

impl StaticText {
    /// `text` ends with a zero byte.
    pub(crate) fn new(text: &'static str) -> StaticText {
        debug_assert!(text.ends_with('\0'));
        StaticText(text.as_ptr().cast())
    }

    /// A text that lives as long as HIP says for the function that returns it.
    pub(crate) fn borrowed(text: &CStr) -> StaticText {
        StaticText(text.as_ptr())
    }

    pub(crate) const NULL: StaticText = StaticText(std::ptr::null());

    /// A copy that is never freed: HIP's callers may keep it forever.
    pub(crate) fn leaked(text: &CStr) -> StaticText {
        StaticText(Box::leak(Box::<CStr>::from(text)).as_ptr())
    }
}

/// An address of memory that a call copies, fills or frees: the host's or a device's. It is never dereferenced here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Address(pub u64);

impl Address {
    pub(crate) const NULL: Address = Address(0);

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn offset(self, bytes: usize) -> Address {
        Address(self.0.wrapping_add(bytes as u64))
    }

    /// The address as a pointer to a result: for functions that get `void*`.
    pub(crate) fn out<T>(self) -> Out<T> {
        Out(self.host())
    }

    /// The address as a pointer to values.
    pub(crate) fn values<T>(self) -> In<T> {
        In(self.host())
    }

    /// The address as the host's pointer. HIP's callers may pass any memory of the process.
    pub(crate) fn host<T>(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// A function of the caller with one argument.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct HostFn(Option<unsafe extern "C" fn(*mut c_void)>);

/// The argument of a function of the caller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct UserData(pub *mut c_void);

// SAFETY: the caller passes it for use on any thread.
unsafe impl Send for UserData {}
// SAFETY: a shared reference gives only the address.
unsafe impl Sync for UserData {}

impl HostFn {
    /// Fails with `INVALID_VALUE` for a null pointer.
    pub(crate) fn check(self) -> HipResult {
        self.0.map(drop).ok_or(Status::INVALID_VALUE)
    }

    pub(crate) fn call(self, data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the caller passed the function with this argument to be called so, on any thread.
            unsafe { function(data.0) }
        }
    }
}

/// A handle that HIP's headers declare as a pointer to an unknown type.
#[repr(transparent)]
pub(crate) struct Handle<T>(pub u64, PhantomData<fn() -> T>);

impl<T> Handle<T> {
    pub(crate) const NULL: Handle<T> = Handle(0, PhantomData);

    pub(crate) const fn new(value: u64) -> Handle<T> {
        Handle(value, PhantomData)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }
}
