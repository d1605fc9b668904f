//! Foreign memory from C: borrowed addresses, pinned host memory, managed memory, and handles of other processes.

use std::mem::MaybeUninit;
use std::ptr::null;

use hiplaunch::{Backend, Launcher};
use hiplaunch_capi::*;

const OK: hiplaunch_status = hiplaunch_status::Ok;

/// What a call that succeeds writes.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> hiplaunch_status) -> T {
    let mut place = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut place)), OK);
    // SAFETY: the call succeeded, and so has written it.
    unsafe { place.assume_init() }
}

fn bytes_of(buffer: *const hiplaunch_buffer, stream: *const hiplaunch_stream) -> Vec<u8> {
    let mut bytes = vec![0; made(|out| hiplaunch_buffer_size(buffer, out))];
    // SAFETY: as many bytes as there are.
    let read =
        unsafe { hiplaunch_buffer_download(buffer, stream, 0, bytes.as_mut_ptr().cast(), bytes.len()) };
    assert_eq!(read, OK);
    bytes
}

#[test]
fn memory_of_others_is_used_as_buffers_are_and_goes_with_the_launcher() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(true).build().unwrap();
    let layer = launcher.validation().unwrap().clone();
    let launcher = hiplaunch_adopt(launcher).unwrap();
    let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));

    // Borrowed: the middle of another buffer.
    let owner = made(|out| hiplaunch_buffer_open(launcher, 0, stream, 256, out));
    assert_eq!(hiplaunch_buffer_fill(owner, stream, 0, 256, 1), OK);
    let address = made(|out| hiplaunch_buffer_address(owner, out));
    // SAFETY: memory that outlives the borrow.
    let borrowed = made(|out| unsafe { hiplaunch_buffer_borrow(launcher, 0, address + 64, 64, out) });
    assert_eq!(hiplaunch_buffer_fill(borrowed, stream, 0, 64, 2), OK);
    assert_eq!(made(|out| hiplaunch_buffer_address(borrowed, out)), address + 64);
    let all = bytes_of(owner, stream);
    assert_eq!((all[63], all[64], all[127], all[128]), (1, 2, 2, 1));
    for wrong in [0, 16] {
        let mut place = MaybeUninit::uninit();
        // SAFETY: refused.
        let refused = unsafe { hiplaunch_buffer_borrow(launcher, 0, wrong, 64, Some(&mut place)) };
        assert_eq!(refused, hiplaunch_status::InvalidArgument);
    }
    assert_eq!(hiplaunch_buffer_close(borrowed), OK);

    // Pinned, allocated and registered.
    let pinned = made(|out| hiplaunch_pinned_open(launcher, 0, 256, out));
    let host = made(|out| hiplaunch_pinned_host(pinned, out)).cast::<u8>();
    // SAFETY: 256 bytes that no work uses, here and below.
    unsafe { host.write_bytes(3, 256) };
    assert_eq!(hiplaunch_buffer_upload_pinned(owner, stream, pinned), OK);
    assert_eq!(bytes_of(owner, stream), [3; 256]);
    let mut ours = vec![0u8; 256];
    // SAFETY: memory that outlives the registration.
    let registered = made(|out| unsafe {
        hiplaunch_pinned_register(launcher, 0, ours.as_mut_ptr().cast(), ours.len(), out)
    });
    assert_eq!(hiplaunch_buffer_download_pinned(owner, stream, registered), OK);
    assert_eq!(hiplaunch_pinned_record_use(registered, stream), OK);
    assert_ne!(made(|out| hiplaunch_pinned_address(registered, out)), 0);
    let seen = made(|out| hiplaunch_pinned_host(registered, out)).cast::<u8>();
    // SAFETY: as above.
    assert_eq!(unsafe { seen.add(255).read() }, 3);
    assert_eq!(hiplaunch_pinned_close(registered), OK);
    assert_eq!(ours, [3; 256]);

    // Managed.
    let managed = made(|out| hiplaunch_buffer_open_managed(launcher, 0, 256, out));
    assert_eq!(hiplaunch_buffer_fill(managed, stream, 0, 256, 4), OK);
    assert_eq!(hiplaunch_stream_synchronize(stream), OK);
    let host = made(|out| hiplaunch_buffer_host_address(managed, out)).cast::<u8>();
    // SAFETY: as above.
    assert_eq!(unsafe { host.read() }, 4);
    assert!(made(|out| hiplaunch_buffer_host_address(owner, out)).is_null());

    // Shared: the emulator opens it in the same process, too.
    let shared = made(|out| hiplaunch_buffer_open_shared(launcher, 0, 256, out));
    let handle = made(|out| hiplaunch_buffer_share(shared, out));
    // SAFETY: the shared buffer is open until both are closed.
    let opened = made(|out| unsafe { hiplaunch_buffer_open_handle(launcher, 0, Some(&handle), out) });
    assert_eq!(hiplaunch_buffer_fill(opened, stream, 0, 256, 5), OK);
    assert_eq!(bytes_of(shared, stream), [5; 256]);
    let mut place = MaybeUninit::uninit();
    assert_eq!(hiplaunch_buffer_share(owner, Some(&mut place)), hiplaunch_status::InvalidArgument);
    assert_eq!(hiplaunch_pinned_host(null(), None), hiplaunch_status::NullPointer);

    // What is not closed goes with the launcher.
    assert_eq!(hiplaunch_close(launcher), OK);
    layer.assert_clean_and_empty().unwrap();
    assert_eq!(hiplaunch_pinned_close(pinned), hiplaunch_status::InvalidHandle);
    assert_eq!(hiplaunch_buffer_close(managed), hiplaunch_status::InvalidHandle);
}
