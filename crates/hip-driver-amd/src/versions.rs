//! The versions of HIP, in its numbering, from which or below which it behaves differently.

/// The oldest supported version in HIP's numbering (`major * 10^7 + minor * 10^5 + patch`): the first with the present
/// numbers of device attributes.
pub(crate) const OLDEST: i32 = 50_000_000;
/// The first version that is known to accept kernels of modules as nodes of graphs (seen with 5.2). Earlier ones accept
/// kernels with which the program was linked.
pub(crate) const GRAPHS_TAKE_MODULE_KERNELS: i32 = 50_200_000;
/// Below this version `hipModuleLaunchKernel` on a captured stream runs the kernel at once (5.2.3, seen). This is the
/// oldest that was seen to capture it, 6.4.3; `tests/hip_quirks/` shows both.
pub(crate) const CAPTURES_TAKE_MODULE_LAUNCHES: i32 = 60_443_484;
/// From this version on HIP loads code objects for generic processors; [`Capability::since`](hip_driver::Capability::since) says how that
/// is known.
pub(crate) const LOADS_GENERIC_CODE: i32 = 60_400_000;
/// Below this version `hipModuleLaunchKernel` takes `hipStreamPerThread` for an address (5.2.3, seen: it crashes). This is the
/// oldest that was seen to know it, 6.4.3; `tests/hip_quirks/` shows both.
pub(crate) const MODULE_LAUNCHES_KNOW_THREAD_STREAMS: i32 = 60_443_484;
/// Below this version `hipModuleLaunchKernel` crashes for a kernel with the argument `hidden_default_queue`: it reads the
/// device queue, of which HIP has none (5.2.3, seen). 6.4.3 is the oldest that was seen to launch such a kernel.
pub(crate) const LAUNCHES_NEED_NO_DEFAULT_QUEUE: i32 = 60_443_484;
/// Below this version, the arguments of a launch pass through state of the kernel that graphs do not lock: in 5.2.3,
/// threads got each other's arguments. 6.4.3 is the oldest version seen without this. `tests/hip_quirks/` shows both.
pub(crate) const LAUNCHES_HOLD_THEIR_ARGUMENTS: i32 = 60_443_484;
/// Below this version, `hipStreamDestroy` can loop forever: seen with 5.2, and mended in clr of 6.0.
pub(crate) const STREAM_DESTROY_IS_MENDED: i32 = 60_000_000;
/// From this version on, the first `hipMallocAsync` creates the null stream while it holds a lock that
/// `hipDeviceSynchronize` waits for, and waits for one of that: seen with 7.2.4, and not with 6.4.3, the newest version
/// before it that was seen. `tests/hip_quirks/` shows both.
pub(crate) const POOL_CREATES_NULL_STREAM: i32 = 60_443_485;
