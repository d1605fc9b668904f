//! Texts that the library returns: reports, JSON.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

use super::handles::{Kind, Owner, Table};
use super::input::wanted;
use super::status::{Result, call, hiplaunch_status};

/// A text that the library returned.
pub struct hiplaunch_text {
    _opaque: (),
}

static TEXTS: Table<CString> = Table::new(Kind::Text);

/// Adds a text and returns its handle. A NUL in it would cut it short, and is replaced by U+FFFD.
pub(super) fn new_text(text: String) -> Result<*mut hiplaunch_text> {
    let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
    TEXTS.insert(Owner::NONE, text)
}

/// The characters of a text: UTF-8, with a NUL at the end. `length`, which may be null, gets the number of bytes before
/// the NUL.
///
/// Ownership: the characters belong to the text, and are valid until it is closed. Threads: any. Errors:
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_text_data(
    text: *const hiplaunch_text,
    data: Option<&mut MaybeUninit<*const c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_text_data", || {
        let data = wanted(data, "data")?;
        TEXTS.look(text, |found| {
            data.write(found.value.as_ptr());
            if let Some(length) = length {
                length.write(found.value.as_bytes().len());
            }
        })
    })
}

/// Closes a text.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_text_close(text: *mut hiplaunch_text) -> hiplaunch_status {
    call("hiplaunch_text_close", || TEXTS.take(text).map(drop))
}
