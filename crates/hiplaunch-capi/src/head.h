/* hiplaunch: launch compiled HIP kernels by handle, on AMD GPUs or in an embedded emulator of gfx90a and gfx942.
 *
 * Generated from crates/hiplaunch-capi/src by crates/hiplaunch-capi/tests/header.rs; change the sources.
 *
 *   hiplaunch_launcher *launcher;
 *   if (hiplaunch_open(NULL, &launcher) != HIPLAUNCH_STATUS_OK)
 *     fprintf(stderr, "%s\n", hiplaunch_last_error_message());
 *
 * Errors: every function that can fail returns a hiplaunch_status. If it fails, hiplaunch_last_error_message returns a
 * message on the same thread, and the function has written no result.
 *
 * Handles (the pointers to incomplete structs) are never dereferenced. A handle that is null, unknown, closed, of
 * another kind of object or of another launcher is the error HIPLAUNCH_STATUS_INVALID_HANDLE. Closing a launcher closes
 * everything that was opened from it. A handle can be kept, copied and compared as any 64-bit number.
 *
 * Other pointers are used during the call only, unless a function says otherwise. A null pointer is an error unless the
 * function allows it or the array has no elements. Any other pointer must point to as many bytes as the function says.
 *
 * Versions: structs that begin with struct_size may grow. Set struct_size to the struct's sizeof and all other fields
 * to zero before filling them in. A size that the library does not know is the error HIPLAUNCH_STATUS_STRUCT_SIZE.
 *
 * Threads: every function may be called from any thread at any time, also on the same objects. A child of a fork must
 * not call the library; it may start a program that does.
 */

#ifndef HIPLAUNCH_H
#define HIPLAUNCH_H
