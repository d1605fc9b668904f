/* hiplaunch: launch compiled HIP kernels by handle, on AMD GPUs or in an embedded emulator of gfx90a and gfx942.
 *
 * Made from the sources under src/capi/ by tests/capi_header.rs; change those.
 *
 *   hiplaunch_launcher *launcher;
 *   if (hiplaunch_open(NULL, &launcher) != HIPLAUNCH_STATUS_OK)
 *     fprintf(stderr, "%s\n", hiplaunch_last_error_message());
 *
 * Errors: every function that can fail returns a hiplaunch_status, and leaves a message, of the calling thread's, in
 * hiplaunch_last_error_message. What it was to write is then as it was.
 *
 * Handles (the pointers to incomplete structs) are never followed: null, unknown and closed handles, and those of other
 * kinds of objects or of another launcher, are HIPLAUNCH_STATUS_INVALID_HANDLE. Closing a launcher closes everything made
 * from it. A handle can be kept, copied and compared as any 64-bit number.
 *
 * Other pointers are looked at during the call only, unless a function says otherwise. Null is an error where a function
 * does not allow it, but for arrays of no elements; otherwise they have to lead to as much as the function says.
 *
 * Versions: structs that begin with struct_size may grow; set it to the struct's sizeof and all else to zero before
 * filling them in. A size that the library does not know is HIPLAUNCH_STATUS_STRUCT_SIZE.
 *
 * Threads: every function may be called from any thread at any time, on the same objects too. A child of a fork must not
 * call the library; it may start a program that does.
 */

#ifndef HIPLAUNCH_H
#define HIPLAUNCH_H
