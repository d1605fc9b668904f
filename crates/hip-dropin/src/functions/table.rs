//! The functions of AMD's libamdhip64, a row each.
//!
//! `functions/mod.rs` makes them functions; `build.rs` and the tests read their versions and names. A row is
//!
//! ```text
//! version name(parameters) body observer;
//! ```
//!
//! * `version`: the symbol's, without `hip_`, as AMD's libraries have it.
//! * `name`: HIP's. Messages, counts and the last error have it from here.
//! * `+ _spt(stream) version`: there is a form whose name ends with `_spt`, where a null `stream` is the thread's own default stream.
//!   `+ _spt()` is that of a function that waits on the null stream.
//! * `-> type`: what it returns instead of a `hipError_t`. It is called as it is; of other functions, `call` surrounds the body.
//! * The body is the function of that name in the file of the heading, which gets `process` and the arguments, unless the row says
//!   what it is:
//!   * `{ … }`: these lines. They may use `process`, the arguments, what the file of the heading has, and `hip_name`.
//!   * `work (stream) { … }`: a copy or a fill, on that stream. `(waiting)` is the null stream, and the call waits; `(waiting stream)`
//!     waits on that stream. The layers over AMD's library see it as well.
//!   * `launch { … }`: a launch of a kernel. The layers see it as well.
//!   * `quiet { … }`: it neither needs the driver nor changes the last error.
//!   * `rtc { … }`, `installed {}`: it returns a `hiprtcResult`, or the installed hiprtc answers.
//!   * `unsupported {}`, or neither parameters nor a body: a call is counted and fails.
//! * `observed { … }`: what shows a call to the layers over AMD's library. It may use `over`, `forward`, which calls AMD's function,
//!   and the arguments, and returns the status for the program. `replaced` is the same also without layers, `around (type)` for what
//!   returns that type.
//!
//! It is longer than other files because it is one table.

/// Makes the rows a list of versions and names, in their order.
#[allow(unused_macros, reason = "build.rs and the tests use it")]
macro_rules! names {
    ($ids:tt $($room:tt {$(
        $version:literal $name:ident $(($($args:tt)*))? $(+ _spt $stream:tt $since:literal)?
        $(-> $result:ident)? $($body:block)? $($kind:ident $(($($how:tt)*))? $block:block)* ;
    )*})*) => {
        &[$($(
            (stringify!($version), stringify!($name)),
            $((stringify!($since), concat!(stringify!($name), "_spt")),)?
        )*)*]
    };
}

/// Passes the rows to a macro.
macro_rules! functions {
    ($consumer:ident) => {
        $consumer! { (process over forward hip_name)
[process::about] {
    4.2 hipRuntimeGetVersion(version: Out<i32>) { version.set(Version::current().number()) };
    4.2 hipDriverGetVersion(version: Out<i32>) { version.set(Version::current().number()) };
    5.3 hipDrvGetErrorName(status: Status, name: Out<StaticText>)
        quiet { write_description(status, name, 0) };
    5.3 hipDrvGetErrorString(status: Status, text: Out<StaticText>)
        quiet { write_description(status, text, 1) };
    4.2 hipGetErrorName(status: Status) -> StaticText;
    4.2 hipGetErrorString(status: Status) -> StaticText;
}

[process::thread] {
    4.2 hipGetLastError() -> Status { LAST_ERROR.replace(Status::SUCCESS) }
        observed { errors::last(forward, true) };
    4.2 hipPeekAtLastError() -> Status { LAST_ERROR.get() } observed { errors::last(forward, false) };
    6.0 hipExtGetLastError() -> Status { LAST_CALL.replace(Status::SUCCESS) }
        observed { errors::last(forward, true) };
}

[process::entry_points] {
    6.1 hipGetProcAddress(name: Text, pointer: Out<Address>, version: i32, flags: u64, result: Out<i32>)
        { look_up(name, pointer, version, flags, result) } replaced { entries::replace(forward, pointer) };
    7.1 hipGetDriverEntryPoint(name: Text, pointer: Out<Address>, flags: u64, result: Out<i32>)
        { look_up(name, pointer, 0, flags, result) } replaced { entries::replace(forward, pointer) };
    7.1 hipGetDriverEntryPoint_spt(name: Text, pointer: Out<Address>, flags: u64, result: Out<i32>)
        { look_up(name, pointer, 0, flags | 2, result) } replaced { entries::replace(forward, pointer) };
}

// What profilers ask for.
[process::about] {
    4.2 hipApiName(_id: u32) -> StaticText { StaticText::new(UNKNOWN) };
    4.2 hipGetCmdName(_operation: u32) -> StaticText { StaticText::new(UNKNOWN) };
    4.2 __hipGetPCH(header: Out<In<c_void>>, bytes: Out<u32>) -> Void;
}

// Beside HIP's functions: conversions of halves that compilers call on the host, and the debugger's version.
[process] {
    // clang up to 14 calls it for `__fp16` on the host; 15 and later call `__extendhfsf2` of their own library.
    4.2 __gnu_h2f_ieee(bits: u16) -> f32 { f16::from_bits(bits).to_f32() };
    4.2 __gnu_f2h_ieee(value: f32) -> u16 { f16::from_f32(value).to_bits() };
    4.5 amd_dbgapi_get_build_name() -> StaticText { StaticText::new("hiplaunch\0") };
    4.5 amd_dbgapi_get_git_hash() -> StaticText { StaticText::new("\0") };
    4.5 amd_dbgapi_get_build_id() -> usize { 0 };
}

[device] {
    4.2 hipInit(flags: u32) { hipInit(flags) };
    4.2 hipGetDeviceCount(count: Out<i32>) -> Status;
    4.2 hipGetDevice(device: Out<i32>) { device.set(thread::device().0 as i32) };
    4.2 hipSetDevice(device: i32);
    6.2 hipSetValidDevices(devices: In<i32>, count: i32);
    4.2 hipDeviceGet(device: Out<i32>, ordinal: i32);
    4.2 hipDeviceGetName(name: Out<u8>, room: i32, device: i32);
    5.1 hipDeviceGetUuid(to: Out<hipUUID>, device: i32)
        { to.check()?; to.set(device::properties::uuid(process.device(device)?.1)) };
    4.2 hipDeviceGetPCIBusId(text: Out<u8>, room: i32, device: i32);
    4.2 hipDeviceGetByPCIBusId(device: Out<i32>, text: Text);
    4.2 hipDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32);
    4.2 hipDeviceTotalMem(bytes: Out<usize>, device: i32);
    4.2 hipDeviceSynchronize() { synchronize(process) }
        observed { streams::synchronize_device(over, forward) };
    4.2 hipDeviceReset() observed { observed_memory::reset(over, forward) };
    4.2 hipSetDeviceFlags(flags: u32);
    4.2 hipGetDeviceFlags(flags: Out<u32>)
        { flags.set(process.current().flags.load(Ordering::Relaxed) & SCHEDULE) };
    4.2 hipDeviceGetLimit(value: Out<usize>, number: i32)
        { value.check()?; value.set(limit(process, number)?.load(Ordering::Relaxed) as usize) };
    5.3 hipDeviceSetLimit(number: i32, value: usize);
    4.2 hipProfilerStart() { Ok(()) };
    4.2 hipProfilerStop() { Ok(()) };
    // Caches and the banks of LDS, which these GPUs do not let programs choose.
    4.2 hipDeviceSetCacheConfig(preference: i32) { Err(Status::NOT_SUPPORTED) };
    4.2 hipDeviceSetSharedMemConfig(preference: i32) { Err(Status::NOT_SUPPORTED) };
    4.2 hipCtxSetCacheConfig(preference: i32) { Err(Status::NOT_SUPPORTED) };
    4.2 hipCtxSetSharedMemConfig(preference: i32) { Err(Status::NOT_SUPPORTED) };
    4.2 hipDeviceGetCacheConfig(preference: Out<i32>) { preference.set(0) };
    4.2 hipDeviceGetSharedMemConfig(preference: Out<i32>) { preference.set(0) };
    4.2 hipCtxGetCacheConfig(preference: Out<i32>) { preference.set(0) };
    4.2 hipCtxGetSharedMemConfig(preference: Out<i32>) { preference.set(0) };
}

[device::attributes] {
    4.2 hipDeviceGetAttribute(value: Out<i32>, number: i32, device: i32);
}

[device::properties] {
    4.2 hipGetDeviceProperties(to: Out<hipDeviceProp_tR0000>, device: i32)
        { to.check()?; to.set(old_layout(process.device(device)?.1)) };
    4.2 hipGetDevicePropertiesR0000(to: Out<hipDeviceProp_tR0000>, device: i32)
        { to.check()?; to.set(old_layout(process.device(device)?.1)) };
    6.0 hipGetDevicePropertiesR0600(to: Out<hipDeviceProp_tR0600>, device: i32)
        { to.check()?; to.set(new_layout(process.device(device)?.1)) };
    4.2 hipChooseDevice(chosen: Out<i32>, wanted: In<hipDeviceProp_tR0000>);
    4.2 hipChooseDeviceR0000(chosen: Out<i32>, wanted: In<hipDeviceProp_tR0000>)
        { hipChooseDevice(process, chosen, wanted) };
    6.0 hipChooseDeviceR0600(chosen: Out<i32>, wanted: In<hipDeviceProp_tR0600>);
}

[device::context] {
    4.2 hipCtxCreate(context: Out<ContextHandle>, flags: u32, device: i32);
    4.2 hipCtxDestroy(context: ContextHandle);
    4.2 hipCtxPushCurrent(context: ContextHandle);
    4.2 hipCtxPopCurrent(context: Out<ContextHandle>);
    4.2 hipCtxSetCurrent(context: ContextHandle);
    4.2 hipCtxGetCurrent(context: Out<ContextHandle>)
        { context.set(process.context_handle(thread::device())) };
    4.2 hipCtxGetDevice(device: Out<i32>) { device.set(thread::device().0 as i32) };
    4.2 hipCtxGetApiVersion(context: ContextHandle, version: Out<i32>);
    4.2 hipCtxGetFlags(flags: Out<u32>) { flags.set(process.current().flags.load(Ordering::Relaxed)) };
    4.2 hipCtxSynchronize() { device::synchronize(process) }
        observed { streams::synchronize_device(over, forward) };
    4.2 hipDevicePrimaryCtxRetain(context: Out<ContextHandle>, device: i32);
    4.2 hipDevicePrimaryCtxRelease(device: i32);
    4.2 hipDevicePrimaryCtxReset(device: i32) { process.device(device).map(drop) };
    4.2 hipDevicePrimaryCtxSetFlags(device: i32, flags: u32);
    4.2 hipDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>);
}

[device::peer] {
    4.2 hipDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32);
    4.2 hipDeviceEnablePeerAccess(peer: i32, flags: u32)
        observed { observed_memory::hipDeviceEnablePeerAccess(over, forward, peer) };
    4.2 hipDeviceDisablePeerAccess(peer: i32) { disable(process.device(peer)?.0) };
    4.2 hipCtxEnablePeerAccess(peer: ContextHandle, flags: u32)
        { enable(process, process.device_of_context(peer)?, flags) };
    4.2 hipCtxDisablePeerAccess(peer: ContextHandle) { disable(process.device_of_context(peer)?) };
    4.2 hipDeviceGetP2PAttribute(value: Out<i32>, attribute: i32, device: i32, peer: i32);
    4.2 hipExtGetLinkTypeAndHopCount(device: i32, peer: i32, link: Out<u32>, hops: Out<u32>);
}

[memory] {
    4.2 hipMalloc(pointer: Out<Address>, bytes: usize)
        { pointer.check()?; pointer.set(allocate(process, bytes)?) }
        observed { observed_memory::allocate_bytes(over, forward, pointer, bytes) };
    4.2 hipExtMallocWithFlags(pointer: Out<Address>, bytes: usize, flags: u32)
        observed { observed_memory::allocate_bytes(over, forward, pointer, bytes) };
    4.2 hipMallocPitch(pointer: Out<Address>, pitch: Out<usize>, width: usize, height: usize)
        observed { observed_memory::allocate_rows(over, forward, pointer, pitch, width, height) };
    4.2 hipMemAllocPitch(pointer: Out<Address>, pitch: Out<usize>, width: usize, height: usize,
        element_bytes: u32)
        observed { observed_memory::allocate_rows(over, forward, pointer, pitch, width, height) };
    4.2 hipMalloc3D(pointer: Out<hipPitchedPtr>, extent: hipExtent)
        observed { observed_memory::hipMalloc3D(over, forward, pointer, extent) };
    4.2 hipFree(pointer: Address) observed { observed_memory::free(over, forward, pointer) };
    4.2 hipMemGetInfo(free: Out<usize>, total: Out<usize>);
    4.2 hipMemPtrGetInfo(pointer: Address, bytes: Out<usize>) { hipMemPtrGetInfo(pointer, bytes) };
    4.2 hipMemGetAddressRange(base: Out<Address>, bytes: Out<usize>, pointer: Address)
        { hipMemGetAddressRange(base, bytes, pointer) };
    4.2 hipPointerGetAttributes(attributes: Out<hipPointerAttribute_t>, pointer: Address)
        { hipPointerGetAttributes(attributes, pointer) };
    5.0 hipPointerGetAttribute(value: Address, wanted: i32, pointer: Address)
        { hipPointerGetAttribute(value, wanted, pointer) };
    5.0 hipDrvPointerGetAttributes(count: u32, wanted: In<i32>, values: In<Address>, pointer: Address)
        { hipDrvPointerGetAttributes(count, wanted, values, pointer) };
    4.2 hipPointerSetAttribute(value: In<u32>, wanted: i32, pointer: Address);
    5.1 hipMemGetAllocationGranularity(granularity: Out<usize>, prop: In<AllocationProp>, option: i32);
}

[memory::host] {
    4.2 hipHostMalloc(pointer: Out<Address>, bytes: usize, flags: u32)
        { allocate(process, pointer, bytes, flags) }
        observed { observed_memory::allocate_pinned(over, forward, pointer, bytes, flags) };
    4.2 hipHostAlloc(pointer: Out<Address>, bytes: usize, flags: u32)
        { allocate(process, pointer, bytes, flags) }
        observed { observed_memory::allocate_pinned(over, forward, pointer, bytes, flags) };
    4.2 hipMallocHost(pointer: Out<Address>, bytes: usize) { allocate(process, pointer, bytes, 0) }
        observed { observed_memory::allocate_pinned(over, forward, pointer, bytes, 0) };
    4.2 hipMemAllocHost(pointer: Out<Address>, bytes: usize) { allocate(process, pointer, bytes, 0) }
        observed { observed_memory::allocate_pinned(over, forward, pointer, bytes, 0) };
    4.2 hipHostFree(pointer: Address) { free(process, pointer) }
        observed { observed_memory::free(over, forward, pointer) };
    4.2 hipFreeHost(pointer: Address) { free(process, pointer) }
        observed { observed_memory::free(over, forward, pointer) };
    4.2 hipHostRegister(pointer: Address, bytes: usize, flags: u32)
        observed { observed_memory::hipHostRegister(over, forward, pointer, bytes, flags) };
    4.2 hipHostUnregister(pointer: Address) observed { observed_memory::unregister(over, forward, pointer) };
    4.2 hipHostGetDevicePointer(device_pointer: Out<Address>, pointer: Address, flags: u32)
        { hipHostGetDevicePointer(device_pointer, pointer, flags) };
    4.2 hipHostGetFlags(flags: Out<u32>, pointer: Address) { hipHostGetFlags(flags, pointer) };
}

[memory::managed] {
    4.2 hipMallocManaged(pointer: Out<Address>, bytes: usize, flags: u32)
        observed { observed_memory::hipMallocManaged(over, forward, pointer, bytes) };
    4.2 hipStreamAttachMemAsync(stream: StreamHandle, pointer: Address, bytes: usize, flags: u32);
}

[memory::advice] {
    4.2 hipMemAdvise(pointer: Address, bytes: usize, advice: i32, device: i32)
        { advise(process, pointer, bytes, advice, device) };
    7.1 hipMemAdvise_v2(pointer: Address, bytes: usize, advice: i32, location: hipMemLocation)
        { advise(process, pointer, bytes, advice, device_of(location)?) };
    4.2 hipMemPrefetchAsync(pointer: Address, bytes: usize, device: i32, stream: StreamHandle)
        { prefetch(process, pointer, bytes, device, stream) };
    7.1 hipMemPrefetchAsync_v2(pointer: Address, bytes: usize, location: hipMemLocation, flags: u32,
        stream: StreamHandle);
    4.2 hipMemRangeGetAttribute(data: Address, data_bytes: usize, attribute: i32, pointer: Address,
        bytes: usize) { write(process, data, data_bytes, attribute, pointer, bytes) };
    4.2 hipMemRangeGetAttributes(data: In<Address>, data_bytes: In<usize>, attributes: In<i32>, count: usize,
        pointer: Address, bytes: usize);
}

[memory::pool] {
    5.1 hipMallocAsync(pointer: Out<Address>, bytes: usize, stream: StreamHandle)
        { allocate(process, pointer, bytes, None, stream) }
        observed { observed_memory::allocate_in_order(over, forward, pointer, bytes, stream) };
    5.1 hipMallocFromPoolAsync(pointer: Out<Address>, bytes: usize, pool: PoolHandle, stream: StreamHandle)
        { allocate(process, pointer, bytes, Some(pool), stream) }
        observed { observed_memory::allocate_in_order(over, forward, pointer, bytes, stream) };
    5.1 hipFreeAsync(pointer: Address, stream: StreamHandle)
        observed { observed_memory::free_in_order(over, forward, pointer, stream) };
    5.1 hipDeviceGetDefaultMemPool(pool: Out<PoolHandle>, device: i32);
    5.1 hipDeviceGetMemPool(pool: Out<PoolHandle>, device: i32);
    5.1 hipDeviceSetMemPool(device: i32, pool: PoolHandle);
    5.1 hipMemPoolCreate(pool: Out<PoolHandle>, properties: In<hipMemPoolProps>);
    5.1 hipMemPoolDestroy(pool: PoolHandle);
    5.1 hipMemPoolTrimTo(pool: PoolHandle, keep: usize);
    5.1 hipMemPoolSetAttribute(pool: PoolHandle, attribute: i32, value: Address);
    5.1 hipMemPoolGetAttribute(pool: PoolHandle, attribute: i32, value: Address);
    5.1 hipMemPoolSetAccess(pool: PoolHandle, descriptions: In<hipMemAccessDesc>, count: usize);
    5.1 hipMemPoolGetAccess(flags: Out<i32>, pool: PoolHandle, location: In<hipMemLocation>);
}

[memory::ipc] {
    4.2 hipIpcGetMemHandle(handle: Out<hipIpcMemHandle_t>, pointer: Address)
        { handle.check()?; handle.set(handle_of(process, pointer)?) };
    4.2 hipIpcOpenMemHandle(pointer: Out<Address>, handle: hipIpcMemHandle_t, flags: u32)
        observed { observed_memory::give_unknown(over, forward) };
    4.2 hipIpcCloseMemHandle(pointer: Address);
}

[copy::bytes] {
    4.2 hipMemcpy(dst: Address, src: Address, bytes: usize, kind: i32) + _spt() 5.2
        work (waiting) { ByteCopy { dst, src, bytes, kind } };
    4.2 hipMemcpyWithStream(dst: Address, src: Address, bytes: usize, kind: i32, stream: StreamHandle)
        work (waiting stream) { ByteCopy { dst, src, bytes, kind } };
    4.2 hipMemcpyAsync(dst: Address, src: Address, bytes: usize, kind: i32, stream: StreamHandle)
        + _spt(stream) 5.2 work (stream) { ByteCopy { dst, src, bytes, kind } };
    4.2 hipMemcpyHtoD(dst: Address, src: Address, bytes: usize)
        work (waiting) { ByteCopy { dst, src, bytes, kind: HOST_TO_DEVICE } };
    4.2 hipMemcpyHtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle)
        work (stream) { ByteCopy { dst, src, bytes, kind: HOST_TO_DEVICE } };
    4.2 hipMemcpyDtoH(dst: Address, src: Address, bytes: usize)
        work (waiting) { ByteCopy { dst, src, bytes, kind: DEVICE_TO_HOST } };
    4.2 hipMemcpyDtoHAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle)
        work (stream) { ByteCopy { dst, src, bytes, kind: DEVICE_TO_HOST } };
    4.2 hipMemcpyDtoD(dst: Address, src: Address, bytes: usize)
        work (waiting) { ByteCopy { dst, src, bytes, kind: DEVICE_TO_DEVICE } };
    4.2 hipMemcpyDtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle)
        work (stream) { ByteCopy { dst, src, bytes, kind: DEVICE_TO_DEVICE } };
    4.2 hipMemcpyPeer(dst: Address, dst_device: i32, src: Address, src_device: i32, bytes: usize)
        { copy_peer(process, [dst_device, src_device], dst, src, bytes, Target::BLOCKING) }
        observed {
            ByteCopy { dst, src, bytes, kind: DEVICE_TO_DEVICE }.observe(over, forward, Target::BLOCKING)
        };
    4.2 hipMemcpyPeerAsync(dst: Address, dst_device: i32, src: Address, src_device: i32, bytes: usize,
        stream: StreamHandle)
        { copy_peer(process, [dst_device, src_device], dst, src, bytes, Target::enqueue(stream)) }
        observed {
            ByteCopy { dst, src, bytes, kind: DEVICE_TO_DEVICE }.observe(over, forward,
                Target::enqueue(stream))
        };
    4.2 hipMemcpyToSymbol(symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32) + _spt() 5.2
        work (waiting) {
            SymbolCopy { symbol, direction: Direction::ToSymbol, memory: src, bytes, offset, kind }
        };
    4.2 hipMemcpyToSymbolAsync(symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32,
        stream: StreamHandle) + _spt(stream) 5.3
        work (stream) {
            SymbolCopy { symbol, direction: Direction::ToSymbol, memory: src, bytes, offset, kind }
        };
    4.2 hipMemcpyFromSymbol(dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32)
        + _spt() 5.2
        work (waiting) {
            SymbolCopy { symbol, direction: Direction::FromSymbol, memory: dst, bytes, offset, kind }
        };
    4.2 hipMemcpyFromSymbolAsync(dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32,
        stream: StreamHandle) + _spt(stream) 5.3
        work (stream) {
            SymbolCopy { symbol, direction: Direction::FromSymbol, memory: dst, bytes, offset, kind }
        };
    4.2 hipGetSymbolAddress(pointer: Out<Address>, symbol: Address)
        { pointer.check()?; pointer.set(address(process, symbol, 0, 0)?) }
        observed { modules::hipGetSymbolAddress(over, forward, symbol) };
    4.2 hipGetSymbolSize(bytes: Out<usize>, symbol: Address);
}

[copy::boxes] {
    4.2 hipMemcpy2D(dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize,
        height: usize, kind: i32) + _spt() 5.2
        work (waiting) { rectangle(dst, dst_pitch, src, src_pitch, width, height, kind) };
    4.2 hipMemcpy2DAsync(dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize,
        height: usize, kind: i32, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { rectangle(dst, dst_pitch, src, src_pitch, width, height, kind) };
    4.2 hipMemcpyParam2D(parms: In<hip_Memcpy2D>) work (waiting) { Parms2D { parms, name: hip_name } };
    4.2 hipMemcpyParam2DAsync(parms: In<hip_Memcpy2D>, stream: StreamHandle)
        work (stream) { Parms2D { parms, name: hip_name } };
    4.3 hipDrvMemcpy2DUnaligned(parms: In<hip_Memcpy2D>)
        { Parms2D { parms, name: hip_name }.run(process, Target::BLOCKING.queue(process)?) };
    4.2 hipMemcpy3D(parms: In<hipMemcpy3DParms>) + _spt() 5.2
        work (waiting) { Parms3D { parms, name: hip_name } };
    4.2 hipMemcpy3DAsync(parms: In<hipMemcpy3DParms>, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { Parms3D { parms, name: hip_name } };
    4.2 hipDrvMemcpy3D(copy: Address) { run_drv_3d(process, hip_name, copy, Target::BLOCKING) };
    4.2 hipDrvMemcpy3DAsync(copy: Address, stream: StreamHandle)
        { run_drv_3d(process, hip_name, copy, Target::enqueue(stream)) };
}

[copy::batch] {
    7.1 hipMemcpyBatchAsync(dsts: In<Address>, srcs: In<Address>, bytes: In<usize>, count: usize,
        attributes: In<CopyAttributes>, attribute_indices: In<usize>, attribute_count: usize,
        failed: Out<usize>, stream: StreamHandle)
        { copy_batch(process, (dsts, srcs, bytes), count, (attributes, attribute_count), failed, stream) };
    7.1 hipMemcpy3DBatchAsync(count: usize, operations: In<BoxOperation>, failed: Out<usize>, flags: u64,
        stream: StreamHandle);
    7.1 hipMemcpy3DPeer(parms: In<PeerParms>)
        { between_devices(process, hip_name, parms)?.run(process, Target::BLOCKING.queue(process)?) };
    7.1 hipMemcpy3DPeerAsync(parms: In<PeerParms>, stream: StreamHandle);
}

[copy::fill] {
    4.2 hipMemset(start: Address, value: i32, count: usize) + _spt() 5.2
        work (waiting) { Fill::row(start, value as u32, 1, count) };
    4.2 hipMemsetAsync(start: Address, value: i32, count: usize, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { Fill::row(start, value as u32, 1, count) };
    4.2 hipMemsetD8(start: Address, value: u8, count: usize)
        work (waiting) { Fill::row(start, value.into(), 1, count) };
    4.2 hipMemsetD8Async(start: Address, value: u8, count: usize, stream: StreamHandle)
        work (stream) { Fill::row(start, value.into(), 1, count) };
    4.2 hipMemsetD16(start: Address, value: u16, count: usize)
        work (waiting) { Fill::row(start, value.into(), 2, count) };
    4.2 hipMemsetD16Async(start: Address, value: u16, count: usize, stream: StreamHandle)
        work (stream) { Fill::row(start, value.into(), 2, count) };
    4.2 hipMemsetD32(start: Address, value: i32, count: usize)
        work (waiting) { Fill::row(start, value as u32, 4, count) };
    4.2 hipMemsetD32Async(start: Address, value: i32, count: usize, stream: StreamHandle)
        work (stream) { Fill::row(start, value as u32, 4, count) };
    4.2 hipMemset2D(start: Address, pitch: usize, value: i32, width: usize, height: usize) + _spt() 5.2
        work (waiting) { rectangle(start, pitch, value as u32, 1, width, height)? };
    4.2 hipMemset2DAsync(start: Address, pitch: usize, value: i32, width: usize, height: usize,
        stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { rectangle(start, pitch, value as u32, 1, width, height)? };
    7.1 hipMemsetD2D8(start: Address, pitch: usize, value: u8, width: usize, height: usize)
        {
            rectangle(start, pitch, value.into(), 1, width, height)?.run(process,
                Target::BLOCKING.queue(process)?)
        };
    7.1 hipMemsetD2D8Async(start: Address, pitch: usize, value: u8, width: usize, height: usize,
        stream: StreamHandle)
        {
            rectangle(start, pitch, value.into(), 1, width, height)?.run(process,
                Target::enqueue(stream).queue(process)?)
        };
    7.1 hipMemsetD2D16(start: Address, pitch: usize, value: u16, width: usize, height: usize)
        {
            rectangle(start, pitch, value.into(), 2, width, height)?.run(process,
                Target::BLOCKING.queue(process)?)
        };
    7.1 hipMemsetD2D16Async(start: Address, pitch: usize, value: u16, width: usize, height: usize,
        stream: StreamHandle)
        {
            rectangle(start, pitch, value.into(), 2, width, height)?.run(process,
                Target::enqueue(stream).queue(process)?)
        };
    7.1 hipMemsetD2D32(start: Address, pitch: usize, value: u32, width: usize, height: usize)
        { rectangle(start, pitch, value, 4, width, height)?.run(process, Target::BLOCKING.queue(process)?) };
    7.1 hipMemsetD2D32Async(start: Address, pitch: usize, value: u32, width: usize, height: usize,
        stream: StreamHandle)
        {
            rectangle(start, pitch, value, 4, width, height)?.run(process,
                Target::enqueue(stream).queue(process)?)
        };
    4.2 hipMemset3D(memory: hipPitchedPtr, value: i32, extent: hipExtent) + _spt() 5.2
        work (waiting) { cuboid(&memory, value, extent)? };
    4.2 hipMemset3DAsync(memory: hipPitchedPtr, value: i32, extent: hipExtent, stream: StreamHandle)
        + _spt(stream) 5.3 work (stream) { cuboid(&memory, value, extent)? };
}

[copy::values] {
    4.4 hipStreamWaitValue32(stream: StreamHandle, at: Address, value: u32, flags: u32, mask: u32)
        observed { streams::unknown_order(over, forward) };
    4.4 hipStreamWaitValue64(stream: StreamHandle, at: Address, value: u64, flags: u32, mask: u64)
        observed { streams::unknown_order(over, forward) };
    4.4 hipStreamWriteValue32(stream: StreamHandle, at: Address, value: u32, flags: u32)
        { enqueue(process, stream, Operation::write(at, ValueWidth::Bits32, value.into())) };
    4.4 hipStreamWriteValue64(stream: StreamHandle, at: Address, value: u64, flags: u32)
        { enqueue(process, stream, Operation::write(at, ValueWidth::Bits64, value)) };
    6.4 hipStreamBatchMemOp(stream: StreamHandle, count: u32, given: In<MemOpParams>, flags: u32)
        observed { streams::unknown_order(over, forward) };
}

[stream] {
    4.2 hipStreamCreate(stream: Out<StreamHandle>) { create(process, stream, 0, None, None) }
        observed { streams::create(over, forward, stream, 0, None) };
    4.2 hipStreamCreateWithFlags(stream: Out<StreamHandle>, flags: u32)
        { create(process, stream, flags, None, None) }
        observed { streams::create(over, forward, stream, flags, None) };
    4.2 hipStreamCreateWithPriority(stream: Out<StreamHandle>, flags: u32, priority: i32)
        { create(process, stream, flags, Some(priority), None) }
        observed { streams::create(over, forward, stream, flags, Some(priority)) };
    4.2 hipExtStreamCreateWithCUMask(stream: Out<StreamHandle>, words: u32, mask: In<u32>)
        observed { streams::create(over, forward, stream, 0, None) };
    4.2 hipDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>)
        { hipDeviceGetStreamPriorityRange(least, greatest) };
    4.2 hipStreamDestroy(stream: StreamHandle) observed { streams::hipStreamDestroy(over, forward, stream) };
    4.2 hipStreamSynchronize(stream: StreamHandle) + _spt(stream) 5.2
        observed { streams::synchronize(over, forward, stream) };
    4.2 hipStreamQuery(stream: StreamHandle) + _spt(stream) 5.2
        observed { streams::query(over, forward, stream) };
    4.2 hipStreamWaitEvent(stream: StreamHandle, event: EventHandle, flags: u32) + _spt(stream) 5.2
        observed { streams::wait(over, forward, stream, event) };
    4.2 hipStreamGetFlags(stream: StreamHandle, flags: Out<u32>) + _spt(stream) 5.2;
    4.2 hipStreamGetPriority(stream: StreamHandle, priority: Out<i32>) + _spt(stream) 5.2;
    4.2 hipStreamGetDevice(stream: StreamHandle, device: Out<i32>)
        { device.check()?; device.set(process.stream(stream)?.0.0 as i32) };
    7.1 hipStreamGetId(stream: StreamHandle, id: Out<u64>);
    4.2 hipGetStreamDeviceId(stream: StreamHandle) -> i32;
    4.2 hipExtStreamGetCUMask(stream: StreamHandle, words: u32, mask: Out<u32>);
}

[stream::attributes] {
    7.1 hipStreamSetAttribute(stream: StreamHandle, attribute: i32, value: Address)
        { with_attributes(process, stream, |attributes| attributes.set(attribute, value)) };
    7.1 hipStreamGetAttribute(stream: StreamHandle, attribute: i32, value: Address)
        { with_attributes(process, stream, |attributes| attributes.get(attribute, value)) };
    7.2 hipStreamCopyAttributes(to: StreamHandle, from: StreamHandle);
}

[stream::event] {
    4.2 hipEventCreate(event: Out<EventHandle>) { create(process, event, 0) }
        observed { events::create(over, forward, event, 0) };
    4.2 hipEventCreateWithFlags(event: Out<EventHandle>, flags: u32) { create(process, event, flags) }
        observed { events::create(over, forward, event, flags) };
    4.2 hipEventDestroy(event: EventHandle) observed { events::hipEventDestroy(over, forward, event) };
    4.2 hipEventRecord(event: EventHandle, stream: StreamHandle) + _spt(stream) 5.2
        { process.record(event, stream) } observed { events::record(over, forward, event, stream) };
    6.4 hipEventRecordWithFlags(event: EventHandle, stream: StreamHandle, flags: u32)
        observed { events::record(over, forward, event, stream) };
    4.2 hipEventQuery(event: EventHandle) observed { events::hipEventQuery(over, forward, event) };
    4.2 hipEventSynchronize(event: EventHandle)
        observed { events::hipEventSynchronize(over, forward, event) };
    4.2 hipEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle)
        observed { events::hipEventElapsedTime(over, forward, milliseconds, start, end) };
}

[stream::callbacks] {
    4.2 hipStreamAddCallback(stream: StreamHandle, callback: StreamCallback, data: UserData, flags: u32)
        + _spt(stream) 5.3 observed { streams::host_function(over, forward, stream) };
    5.3 hipLaunchHostFunc(stream: StreamHandle, function: HostFn, data: UserData) + _spt(stream) 5.3
        observed { streams::host_function(over, forward, stream) };
}

[kernel::fat_binary] {
    4.2 __hipRegisterFatBinary(wrapper: In<c_void>) -> FatBinaryHandle {
        let mut handle = FatBinaryHandle::NULL;
        without_process(hip_name, || register_binary(wrapper).map(|registered| handle = registered));
        handle
    } around (FatBinaryHandle) {
        let handle = forward();
        without_process(hip_name, || insert(handle, wrapper));
        handle
    };
    4.2 __hipUnregisterFatBinary(handle: FatBinaryHandle) quiet { unregister(handle) } around (Void) {
        modules::unregister(interpose::opened(), handle);
        without_process(hip_name, || unregister(handle));
        forward()
    };
    4.2 __hipRegisterFunction(handle: FatBinaryHandle, function: Address, _device_function: Text, name: Text,
        _thread_limit: u32, _thread: In<c_void>, _block: In<c_void>, _block_size: In<c_void>,
        _grid_size: In<c_void>, _wave_size: In<i32>) quiet { register_function(handle, function, name) }
        around (Void) { without_process(hip_name, || register_function(handle, function, name)); forward() };
    4.2 __hipRegisterVar(handle: FatBinaryHandle, variable: Address, _host_name: Text, name: Text,
        _external: i32, _bytes: usize, _constant: i32, _global: i32)
        quiet { register_variable(handle, variable, name) }
        around (Void) { without_process(hip_name, || register_variable(handle, variable, name)); forward() };
    4.2 __hipRegisterManagedVar(handle: FatBinaryHandle, pointer: Out<Address>, initial: In<u8>, name: Text,
        bytes: usize, _align: u32)
        quiet { __hipRegisterManagedVar(handle, pointer, initial, name, bytes, _align) };
}

[kernel::configuration] {
    4.2 __hipPushCallConfiguration(grid: Dim3, block: Dim3, lds: usize, stream: StreamHandle)
        quiet { __hipPushCallConfiguration(grid, block, lds, stream) };
    4.2 __hipPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, lds: Out<usize>,
        stream: Out<StreamHandle>) quiet { __hipPopCallConfiguration(grid, block, lds, stream) };
    4.2 hipConfigureCall(grid: Dim3, block: Dim3, lds: usize, stream: StreamHandle)
        { hipConfigureCall(grid, block, lds, stream) };
    4.2 hipSetupArgument(argument: In<u8>, bytes: usize, offset: usize)
        { hipSetupArgument(argument, bytes, offset) };
}

[kernel::launch] {
    4.2 hipLaunchKernel(function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize,
        stream: StreamHandle) + _spt(stream) 5.2
        launch { Launch::host(function, Shape::new(grid, block, lds), parameters, stream) };
    4.2 hipLaunchCooperativeKernel(function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>,
        lds: u32, stream: StreamHandle) + _spt(stream) 5.2
        launch {
            Launch::host(function, Shape::new(grid, block, lds as usize), parameters, stream)
                .cooperating(Cooperation::Grid)
        };
    4.2 hipExtLaunchKernel(function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize,
        stream: StreamHandle, start: EventHandle, stop: EventHandle, flags: i32)
        launch {
            Launch::host(function, Shape::new(grid, block, lds), parameters, stream).with_events(start, stop)
        };
    // `hip_impl::hipLaunchKernelGGLImpl`, which programs call that were compiled with headers before HIP 4.
    // `extra` is that of `hipModuleLaunchKernel`.
    4.2 _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(function: Address, grid: In<Dim3>,
        block: In<Dim3>, lds: u32, stream: StreamHandle, extra: In<usize>)
        { launch_ggl(process, function, Shape::new(grid.get()?, block.get()?, lds as usize), stream, extra) };
    4.2 hipModuleLaunchKernel(function: KernelHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32,
        block_y: u32, block_z: u32, lds: u32, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>)
        launch {
            Launch::module(function, Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z],
                lds as usize), Arguments { parameters, extra }, stream)
        };
    5.5 hipModuleLaunchCooperativeKernel(function: KernelHandle, grid_x: u32, grid_y: u32, grid_z: u32,
        block_x: u32, block_y: u32, block_z: u32, lds: u32, stream: StreamHandle, parameters: In<In<u8>>)
        launch {
            Launch::module(function, Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z],
                lds as usize), Arguments::list(parameters), stream).cooperating(Cooperation::Grid)
        };
    // The grid of these is in work-items, and need not consist of whole workgroups.
    4.2 hipExtModuleLaunchKernel(function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32,
        block_x: u32, block_y: u32, block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>,
        extra: In<usize>, start: EventHandle, stop: EventHandle, flags: u32)
        launch {
            Launch::module(function, Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y,
                block_z], lds), Arguments { parameters, extra }, stream).with_events(start, stop)
        };
    4.2 hipHccModuleLaunchKernel(function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32,
        block_x: u32, block_y: u32, block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>,
        extra: In<usize>, start: EventHandle, stop: EventHandle)
        launch {
            Launch::module(function, Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y,
                block_z], lds), Arguments { parameters, extra }, stream).with_events(start, stop)
        };
    // The C++ declarations of the two, whose symbols are mangled.
    4.2 _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
        function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32, block_x: u32, block_y: u32,
        block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>,
        start: EventHandle, stop: EventHandle, flags: u32)
        {
            Launch::module(function, Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y,
                block_z], lds), Arguments { parameters, extra }, stream).with_events(start, stop).run(process)
        };
    4.2 _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
        function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32, block_x: u32, block_y: u32,
        block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>,
        start: EventHandle, stop: EventHandle)
        {
            Launch::module(function, Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y,
                block_z], lds), Arguments { parameters, extra }, stream).with_events(start, stop).run(process)
        };
    6.5 hipLaunchKernelExC(config: In<LaunchConfig<usize>>, function: Address, parameters: In<In<u8>>)
        launch { config.get()?.launch(KernelRef::Host(function), Arguments::list(parameters))? };
    6.5 hipDrvLaunchKernelEx(config: In<LaunchConfig<u32>>, function: KernelHandle, parameters: In<In<u8>>,
        extra: In<usize>)
        launch { config.get()?.launch(KernelRef::Module(function), Arguments { parameters, extra })? };
    5.5 hipModuleLaunchCooperativeKernelMultiDevice(launches: In<FunctionLaunchParams>, count: u32,
        flags: u32);
    4.2 hipLaunchCooperativeKernelMultiDevice(launches: In<hipLaunchParams>, count: i32, flags: u32);
    4.2 hipExtLaunchMultiKernelMultiDevice(launches: In<hipLaunchParams>, count: i32, flags: u32);
    4.2 hipLaunchByPtr(function: Address);
}

[kernel::function] {
    4.2 hipFuncGetAttributes(attributes: Out<hipFuncAttributes>, function: Address);
    4.2 hipFuncGetAttribute(value: Out<i32>, attribute: i32, function: KernelHandle);
    4.2 hipFuncSetAttribute(function: Address, attribute: i32, value: i32);
    4.2 hipFuncSetCacheConfig(function: Address, _preference: i32)
        { process.host_kernel(function).map(drop) };
    4.2 hipFuncSetSharedMemConfig(function: Address, _banks: i32) { process.host_kernel(function).map(drop) };
    6.2 hipGetFuncBySymbol(handle: Out<KernelHandle>, function: Address)
        observed { modules::hipGetFuncBySymbol(over, forward, handle, function) };
    4.2 hipKernelNameRef(function: KernelHandle) -> StaticText;
    4.2 hipKernelNameRefByPtr(function: Address, _stream: StreamHandle) -> StaticText;
}

[kernel::module] {
    4.2 hipModuleLoadData(module: Out<ModuleHandle>, image: In<u8>)
        { module.check()?; load(process, module, image::to_load(image)?) }
        observed { modules::load(over, forward, module, image::at(image).ok()) };
    4.2 hipModuleLoadDataEx(module: Out<ModuleHandle>, image: In<u8>, _options: u32, _option: In<c_void>,
        _values: In<c_void>) { module.check()?; load(process, module, image::to_load(image)?) }
        observed { modules::load(over, forward, module, image::at(image).ok()) };
    7.1 hipModuleLoadFatBinary(module: Out<ModuleHandle>, image: In<u8>)
        { module.check()?; load(process, module, image::to_load(image)?) }
        observed { modules::load(over, forward, module, image::at(image).ok()) };
    4.2 hipModuleLoad(module: Out<ModuleHandle>, path: Text)
        observed { modules::hipModuleLoad(over, forward, module, path) };
    4.2 hipModuleUnload(module: ModuleHandle) observed { modules::unload(over, forward, module) };
    4.2 hipModuleGetFunction(function: Out<KernelHandle>, module: ModuleHandle, name: Text)
        observed { modules::get_function(over, forward, function, module, name) };
    7.1 hipModuleGetFunctionCount(count: Out<u32>, module: ModuleHandle)
        { hipModuleGetFunctionCount(count, module) };
    4.2 hipModuleGetGlobal(pointer: Out<Address>, bytes: Out<usize>, module: ModuleHandle, name: Text)
        observed { modules::get_global(over, forward, (pointer, bytes), module, name) };
}

[kernel::library] {
    7.2 hipLibraryLoadData(library: Out<LibraryHandle>, image: In<u8>, jit_options: In<c_void>,
        jit_values: In<c_void>, jit_count: u32, options: In<c_void>, values: In<c_void>, count: u32)
        { load_data(library, image, jit_count) };
    7.2 hipLibraryLoadFromFile(library: Out<LibraryHandle>, path: Text, jit_options: In<c_void>,
        jit_values: In<c_void>, jit_count: u32, options: In<c_void>, values: In<c_void>, count: u32)
        { load_file(library, path, jit_count) };
    7.2 hipLibraryUnload(library: LibraryHandle);
    7.2 hipLibraryGetKernel(kernel: Out<KernelHandle>, library: LibraryHandle, name: Text);
    7.2 hipLibraryGetKernelCount(count: Out<u32>, library: LibraryHandle)
        { count.check()?; count.set(get(library)?.module(process)?.kernel_names().len() as u32) };
    7.2 hipLibraryEnumerateKernels(kernels: Out<KernelHandle>, room: u32, library: LibraryHandle);
    7.2 hipKernelGetLibrary(library: Out<LibraryHandle>, kernel: KernelHandle)
        { hipKernelGetLibrary(library, kernel) };
    7.2 hipKernelGetName(name: Out<Address>, kernel: KernelHandle) { hipKernelGetName(name, kernel) };
}

[kernel::occupancy] {
    4.2 hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<i32>, function: Address, block: i32,
        lds: usize) { active_blocks(process, blocks, KernelRef::Host(function), (block, lds), 0) };
    4.2 hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<i32>, function: Address, block: i32,
        lds: usize, flags: u32)
        { active_blocks(process, blocks, KernelRef::Host(function), (block, lds), flags) };
    4.2 hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<i32>, function: KernelHandle,
        block: i32, lds: usize)
        { active_blocks(process, blocks, KernelRef::Module(function), (block, lds), 0) };
    4.2 hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<i32>, function: KernelHandle,
        block: i32, lds: usize, flags: u32)
        { active_blocks(process, blocks, KernelRef::Module(function), (block, lds), flags) };
    4.2 hipOccupancyMaxPotentialBlockSize(grid: Out<i32>, block: Out<i32>, function: Address, lds: usize,
        limit: i32) { best_block(process, (grid, block), KernelRef::Host(function), (lds, limit), 0) };
    4.2 hipModuleOccupancyMaxPotentialBlockSize(grid: Out<i32>, block: Out<i32>, function: KernelHandle,
        lds: usize, limit: i32)
        { best_block(process, (grid, block), KernelRef::Module(function), (lds, limit), 0) };
    4.2 hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid: Out<i32>, block: Out<i32>,
        function: KernelHandle, lds: usize, limit: i32, flags: u32)
        { best_block(process, (grid, block), KernelRef::Module(function), (lds, limit), flags) };
    7.2 hipOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: Address, blocks: i32,
        _block: i32);
}

[graph::structure] {
    4.3 hipGraphCreate(graph: Out<GraphHandle>, flags: u32)
        observed { graphs::hipGraphCreate(over, forward, graph) };
    4.3 hipGraphDestroy(graph: GraphHandle) observed { graphs::destroy(over, forward, graph) };
    4.5 hipGraphClone(copy: Out<GraphHandle>, original: GraphHandle);
    4.5 hipGraphNodeFindInClone(found: Out<NodeHandle>, original: NodeHandle, copy: GraphHandle);
    4.4 hipGraphGetNodes(graph: GraphHandle, nodes: Out<NodeHandle>, count: Out<usize>);
    4.4 hipGraphGetRootNodes(graph: GraphHandle, nodes: Out<NodeHandle>, count: Out<usize>);
    4.5 hipGraphGetEdges(graph: GraphHandle, from: Out<NodeHandle>, to: Out<NodeHandle>, count: Out<usize>);
    4.5 hipGraphNodeGetDependencies(node: NodeHandle, nodes: Out<NodeHandle>, count: Out<usize>);
    4.5 hipGraphNodeGetDependentNodes(node: NodeHandle, nodes: Out<NodeHandle>, count: Out<usize>);
    4.5 hipGraphNodeGetType(node: NodeHandle, kind: Out<i32>)
        { kind.check()?; kind.set(process.graphs().node(node)?.payload().node_type()) };
    4.4 hipGraphAddDependencies(graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>, count: usize)
        observed { graphs::change_graph(over, forward, graph.0) };
    4.5 hipGraphRemoveDependencies(graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>,
        count: usize) observed { graphs::change_graph(over, forward, graph.0) };
    4.5 hipGraphDestroyNode(node: NodeHandle) observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphChildGraphNodeGetGraph(node: NodeHandle, graph: Out<GraphHandle>);
    5.3 hipGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32)
        observed { graphs::change_exec(over, forward, exec.0) };
    5.3 hipGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: Out<u32>);
}

[graph::nodes] {
    4.3 hipGraphAddKernelNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        params: In<hipKernelNodeParams>)
        { add(process, node, graph, (after, count), || kernel(process, params)) }
        observed { nodes::add_kernel(over, forward, nodes::added(node, graph, after, count), params) };
    4.4 hipGraphKernelNodeGetParams(node: NodeHandle, params: Out<hipKernelNodeParams>);
    4.4 hipGraphKernelNodeSetParams(node: NodeHandle, params: In<hipKernelNodeParams>)
        { set(process, node, || kernel(process, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.4 hipGraphExecKernelNodeSetParams(exec: ExecHandle, node: NodeHandle, params: In<hipKernelNodeParams>)
        { set_in_exec(process, exec, node, || kernel(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.3 hipGraphAddMemcpyNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        params: In<hipMemcpy3DParms>)
        { add(process, node, graph, (after, count), || copy_3d(process, params)) }
        observed {
            nodes::add_work(over, forward, nodes::added(node, graph, after, count), nodes::copy_box(over,
                params))
        };
    4.4 hipGraphMemcpyNodeGetParams(node: NodeHandle, params: Out<hipMemcpy3DParms>);
    4.4 hipGraphMemcpyNodeSetParams(node: NodeHandle, params: In<hipMemcpy3DParms>)
        { set(process, node, || copy_3d(process, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, params: In<hipMemcpy3DParms>)
        { set_in_exec(process, exec, node, || copy_3d(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.3 hipGraphAddMemsetNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        params: In<hipMemsetParams>)
        { add(process, node, graph, (after, count), || memset(process, params)) }
        observed {
            nodes::add_work(over, forward, nodes::added(node, graph, after, count), nodes::fill(over, params))
        };
    4.4 hipGraphMemsetNodeGetParams(node: NodeHandle, params: Out<hipMemsetParams>);
    4.4 hipGraphMemsetNodeSetParams(node: NodeHandle, params: In<hipMemsetParams>)
        { set(process, node, || memset(process, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, params: In<hipMemsetParams>)
        { set_in_exec(process, exec, node, || memset(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.5 hipGraphAddHostNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        params: In<hipHostNodeParams>) { add(process, node, graph, (after, count), || host(params)) }
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    4.5 hipGraphHostNodeGetParams(node: NodeHandle, params: Out<hipHostNodeParams>);
    4.5 hipGraphHostNodeSetParams(node: NodeHandle, params: In<hipHostNodeParams>)
        { set(process, node, || host(params)) } observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecHostNodeSetParams(exec: ExecHandle, node: NodeHandle, params: In<hipHostNodeParams>)
        { set_in_exec(process, exec, node, || host(params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.4 hipGraphAddEmptyNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize)
        { add(process, node, graph, (after, count), || Ok(Payload::Empty)) }
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    4.5 hipGraphAddChildGraphNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, child: GraphHandle)
        { add(process, node, graph, (after, count), || child_graph(process, child)) }
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    4.5 hipGraphExecChildGraphNodeSetParams(exec: ExecHandle, node: NodeHandle, child: GraphHandle)
        observed { graphs::change_exec(over, forward, exec.0) };
    4.3 hipGraphAddMemcpyNode1D(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, dst: Address, src: Address, bytes: usize, kind: i32)
        { add(process, node, graph, (after, count), || copy_1d(process, dst, src, bytes, kind)) }
        observed {
            nodes::add_work(over, forward, nodes::added(node, graph, after, count), nodes::copy(over,
                ByteCopy { dst, src, bytes, kind }))
        };
    4.5 hipGraphMemcpyNodeSetParams1D(node: NodeHandle, dst: Address, src: Address, bytes: usize, kind: i32)
        { set(process, node, || copy_1d(process, dst, src, bytes, kind)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecMemcpyNodeSetParams1D(exec: ExecHandle, node: NodeHandle, dst: Address, src: Address,
        bytes: usize, kind: i32)
        { set_in_exec(process, exec, node, || copy_1d(process, dst, src, bytes, kind)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.5 hipGraphAddMemcpyNodeToSymbol(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32)
        {
            add(process, node, graph, (after, count), || copy_symbol(process, SymbolCopy { symbol,
                direction: Direction::ToSymbol, memory: src, bytes, offset, kind }))
        }
        observed {
            nodes::add_work(over, forward, nodes::added(node, graph, after, count), nodes::copy_symbol(over,
                SymbolCopy { symbol, direction: Direction::ToSymbol, memory: src, bytes, offset, kind }))
        };
    4.5 hipGraphMemcpyNodeSetParamsToSymbol(node: NodeHandle, symbol: Address, src: Address, bytes: usize,
        offset: usize, kind: i32)
        {
            set(process, node, || copy_symbol(process, SymbolCopy { symbol, direction: Direction::ToSymbol,
                memory: src, bytes, offset, kind }))
        } observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecMemcpyNodeSetParamsToSymbol(exec: ExecHandle, node: NodeHandle, symbol: Address,
        src: Address, bytes: usize, offset: usize, kind: i32)
        {
            set_in_exec(process, exec, node, || copy_symbol(process, SymbolCopy { symbol,
                direction: Direction::ToSymbol, memory: src, bytes, offset, kind }))
        } observed { graphs::change_exec(over, forward, exec.0) };
    4.5 hipGraphAddMemcpyNodeFromSymbol(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32)
        {
            add(process, node, graph, (after, count), || copy_symbol(process, SymbolCopy { symbol,
                direction: Direction::FromSymbol, memory: dst, bytes, offset, kind }))
        }
        observed {
            nodes::add_work(over, forward, nodes::added(node, graph, after, count), nodes::copy_symbol(over,
                SymbolCopy { symbol, direction: Direction::FromSymbol, memory: dst, bytes, offset, kind }))
        };
    4.5 hipGraphMemcpyNodeSetParamsFromSymbol(node: NodeHandle, dst: Address, symbol: Address, bytes: usize,
        offset: usize, kind: i32)
        {
            set(process, node, || copy_symbol(process, SymbolCopy { symbol, direction: Direction::FromSymbol,
                memory: dst, bytes, offset, kind }))
        } observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecMemcpyNodeSetParamsFromSymbol(exec: ExecHandle, node: NodeHandle, dst: Address,
        symbol: Address, bytes: usize, offset: usize, kind: i32)
        {
            set_in_exec(process, exec, node, || copy_symbol(process, SymbolCopy { symbol,
                direction: Direction::FromSymbol, memory: dst, bytes, offset, kind }))
        } observed { graphs::change_exec(over, forward, exec.0) };
    4.5 hipGraphAddEventRecordNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, event: EventHandle)
        { add(process, node, graph, (after, count), || of_event(process, event, Payload::EventRecord)) }
        observed { nodes::add_unknown(over, forward, graph) };
    4.5 hipGraphEventRecordNodeGetEvent(node: NodeHandle, event: Out<EventHandle>)
        { get_event(process, node, event, true) };
    4.5 hipGraphEventRecordNodeSetEvent(node: NodeHandle, event: EventHandle)
        { set(process, node, || of_event(process, event, Payload::EventRecord)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecEventRecordNodeSetEvent(exec: ExecHandle, node: NodeHandle, event: EventHandle)
        { set_in_exec(process, exec, node, || of_event(process, event, Payload::EventRecord)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    4.5 hipGraphAddEventWaitNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, event: EventHandle)
        { add(process, node, graph, (after, count), || of_event(process, event, Payload::EventWait)) }
        observed { nodes::add_unknown(over, forward, graph) };
    4.5 hipGraphEventWaitNodeGetEvent(node: NodeHandle, event: Out<EventHandle>)
        { get_event(process, node, event, false) };
    4.5 hipGraphEventWaitNodeSetEvent(node: NodeHandle, event: EventHandle)
        { set(process, node, || of_event(process, event, Payload::EventWait)) }
        observed { graphs::change_node(over, forward, node.0) };
    4.5 hipGraphExecEventWaitNodeSetEvent(exec: ExecHandle, node: NodeHandle, event: EventHandle)
        { set_in_exec(process, exec, node, || of_event(process, event, Payload::EventWait)) }
        observed { graphs::change_exec(over, forward, exec.0) };
}

[graph::node_params] {
    5.5 hipGraphAddNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        params: Address) { add(process, node, graph, (after, count), || payload(process, params)) }
        observed { nodes::add_any(over, forward, graph) };
    6.2 hipGraphNodeSetParams(node: NodeHandle, params: Address)
        { set(process, node, || new_payload(process, node, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    6.2 hipGraphExecNodeSetParams(exec: ExecHandle, node: NodeHandle, params: Address)
        observed { graphs::change_exec(over, forward, exec.0) };
}

[graph::driver_api] {
    5.6 hipDrvGraphAddMemcpyNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, params: Address, context: ContextHandle)
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    6.0 hipDrvGraphMemcpyNodeGetParams(node: NodeHandle, params: Address);
    6.0 hipDrvGraphMemcpyNodeSetParams(node: NodeHandle, params: Address)
        { set(process, node, || copy(process, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    6.2 hipDrvGraphExecMemcpyNodeSetParams(exec: ExecHandle, node: NodeHandle, params: Address,
        context: ContextHandle) { set_in_exec(process, exec, node, || copy(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
    5.6 hipDrvGraphAddMemsetNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, params: Address, context: ContextHandle)
        { add(process, node, graph, (after, count), || memset(process, params)) }
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    6.2 hipDrvGraphExecMemsetNodeSetParams(exec: ExecHandle, node: NodeHandle, params: Address,
        context: ContextHandle) { set_in_exec(process, exec, node, || memset(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
}

[graph::batch] {
    6.4 hipGraphAddBatchMemOpNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, params: In<BatchParams>)
        { add(process, node, graph, (after, count), || operations(process, params)) }
        observed { nodes::add_unknown(over, forward, graph) };
    6.4 hipGraphBatchMemOpNodeGetParams(node: NodeHandle, params: Out<BatchParams>);
    6.4 hipGraphBatchMemOpNodeSetParams(node: NodeHandle, params: In<BatchParams>)
        { set(process, node, || operations(process, params)) }
        observed { graphs::change_node(over, forward, node.0) };
    6.4 hipGraphExecBatchMemOpNodeSetParams(exec: ExecHandle, node: NodeHandle, params: In<BatchParams>)
        { set_in_exec(process, exec, node, || operations(process, params)) }
        observed { graphs::change_exec(over, forward, exec.0) };
}

[graph::memory] {
    5.5 hipGraphAddMemAllocNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, params: Out<hipMemAllocNodeParams>)
        { add(process, node, graph, (after, count), || allocation(process, params)) }
        observed { nodes::add_allocation(over, forward, nodes::added(node, graph, after, count)) };
    5.5 hipGraphMemAllocNodeGetParams(node: NodeHandle, params: Out<hipMemAllocNodeParams>);
    5.5 hipGraphAddMemFreeNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>, count: usize,
        pointer: Address)
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    6.2 hipDrvGraphAddMemFreeNode(node: Out<NodeHandle>, graph: GraphHandle, after: In<NodeHandle>,
        count: usize, pointer: Address, context: ContextHandle)
        { add(process, node, graph, (after, count), || freeing(process, pointer)) }
        observed { nodes::add_empty(over, forward, nodes::added(node, graph, after, count)) };
    5.5 hipGraphMemFreeNodeGetParams(node: NodeHandle, pointer: Out<Address>);
    4.5 hipDeviceGetGraphMemAttribute(device: i32, attribute: i32, value: Out<u64>);
    4.5 hipDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: In<u64>);
    // Memory that no graph has is not kept, so nothing is left to trim.
    4.5 hipDeviceGraphMemTrim(device: i32) { process.device(device).map(drop) };
}

[graph::attributes] {
    5.0 hipGraphKernelNodeSetAttribute(node: NodeHandle, attribute: i32, value: Address)
        { with_attributes(process, node, |attributes| attributes.set(attribute, value)) }
        observed { graphs::change_node(over, forward, node.0) };
    5.0 hipGraphKernelNodeGetAttribute(node: NodeHandle, attribute: i32, value: Address)
        { with_attributes(process, node, |attributes| attributes.get(attribute, value)) };
    5.3 hipGraphKernelNodeCopyAttributes(from: NodeHandle, to: NodeHandle);
}

[graph::user_object] {
    5.3 hipUserObjectCreate(object: Out<UserObjectHandle>, data: UserData, destroy: HostFn, references: u32,
        flags: u32);
    5.3 hipUserObjectRetain(object: UserObjectHandle, count: u32);
    5.3 hipUserObjectRelease(object: UserObjectHandle, count: u32);
    5.3 hipGraphRetainUserObject(graph: GraphHandle, object: UserObjectHandle, count: u32, flags: u32);
    5.3 hipGraphReleaseUserObject(graph: GraphHandle, object: UserObjectHandle, count: u32);
}

[graph::exec] {
    4.3 hipGraphInstantiate(exec: Out<ExecHandle>, graph: GraphHandle, error_node: Out<NodeHandle>,
        log: Out<u8>, log_bytes: usize) observed { graphs::instantiate(over, forward, exec, graph) };
    4.5 hipGraphInstantiateWithFlags(exec: Out<ExecHandle>, graph: GraphHandle, flags: u64)
        { instantiate(process, exec, graph, flags) }
        observed { graphs::instantiate(over, forward, exec, graph) };
    6.1 hipGraphInstantiateWithParams(exec: Out<ExecHandle>, graph: GraphHandle,
        params: Out<InstantiateParams>) observed { graphs::instantiate(over, forward, exec, graph) };
    6.2 hipGraphExecGetFlags(exec: ExecHandle, flags: Out<u64>)
        { flags.check()?; flags.set(process.graphs().exec(exec)?.flags) };
    4.3 hipGraphExecDestroy(exec: ExecHandle) observed { graphs::destroy_exec(over, forward, exec) };
    5.3 hipGraphUpload(exec: ExecHandle, stream: StreamHandle);
    4.3 hipGraphLaunch(exec: ExecHandle, stream: StreamHandle) + _spt(stream) 5.3
        observed { graphs::launch(over, forward, exec, stream) };
    4.5 hipGraphExecUpdate(exec: ExecHandle, graph: GraphHandle, error_node: Out<NodeHandle>,
        result: Out<i32>) observed { graphs::change_exec(over, forward, exec.0) };
}

[graph::dot] {
    5.3 hipGraphDebugDotPrint(graph: GraphHandle, path: Text, _flags: u32);
}

[graph::stream_capture] {
    5.0 hipThreadExchangeStreamCaptureMode(mode: Out<i32>) { hipThreadExchangeStreamCaptureMode(mode) };
    4.3 hipStreamBeginCapture(stream: StreamHandle, mode: i32) + _spt(stream) 5.3
        observed { graphs::begin(over, forward, stream, mode) };
    4.3 hipStreamEndCapture(stream: StreamHandle, graph: Out<GraphHandle>) + _spt(stream) 5.3
        observed { graphs::end(over, forward, stream, graph) };
    4.3 hipStreamIsCapturing(stream: StreamHandle, status: Out<i32>) + _spt(stream) 5.3
        { status.check()?; status.set(number(process.capture_info(process.stream(stream)?).status)) };
    4.5 hipStreamGetCaptureInfo(stream: StreamHandle, status: Out<i32>, id: Out<u64>) + _spt(stream) 5.3;
    4.5 hipStreamGetCaptureInfo_v2(stream: StreamHandle, status: Out<i32>, id: Out<u64>,
        graph: Out<GraphHandle>, after: Out<Address>, count: Out<usize>) + _spt(stream) 5.3;
    6.1 hipStreamBeginCaptureToGraph(stream: StreamHandle, graph: GraphHandle, after: In<NodeHandle>,
        edge_data: Address, count: usize, mode: i32)
        observed { graphs::hipStreamBeginCaptureToGraph(over, forward, stream, graph) };
    4.5 hipStreamUpdateCaptureDependencies(stream: StreamHandle, nodes: In<NodeHandle>, count: usize,
        flags: u32) observed { graphs::hipStreamUpdateCaptureDependencies(over, forward) };
}

[compile::functions] {
    4.2 hiprtcCreateProgram(handle: Out<ProgramHandle>, source: Text, name: Text, header_count: c_int,
        headers: In<Text>, header_names: In<Text>)
        rtc { hiprtcCreateProgram(handle, source, name, header_count, headers, header_names) };
    4.2 hiprtcDestroyProgram(handle: Out<ProgramHandle>) rtc { hiprtcDestroyProgram(handle) };
    4.2 hiprtcAddNameExpression(handle: ProgramHandle, expression: Text)
        rtc { hiprtcAddNameExpression(handle, expression) };
    4.2 hiprtcCompileProgram(handle: ProgramHandle, count: c_int, options: In<Text>)
        rtc { compile_program(handle, options, count) };
    4.2 hiprtcGetLoweredName(handle: ProgramHandle, expression: Text, name: Out<StaticText>)
        rtc { hiprtcGetLoweredName(handle, expression, name) };
    4.2 hiprtcGetProgramLogSize(handle: ProgramHandle, bytes: Out<usize>) rtc { size(handle, bytes, log) };
    4.2 hiprtcGetProgramLog(handle: ProgramHandle, text: Out<u8>) rtc { copy(handle, text, log) };
    4.2 hiprtcGetCodeSize(handle: ProgramHandle, bytes: Out<usize>) rtc { size(handle, bytes, code) };
    4.2 hiprtcGetCode(handle: ProgramHandle, memory: Out<u8>) rtc { copy(handle, memory, code) };
    5.3 hiprtcGetBitcodeSize(handle: ProgramHandle, bytes: Out<usize>) rtc { size(handle, bytes, bitcode) };
    5.3 hiprtcGetBitcode(handle: ProgramHandle, memory: Out<u8>) rtc { copy(handle, memory, bitcode) };
}

[compile] {
    4.2 hiprtcGetErrorString(status: RtcStatus) -> StaticText { StaticText::new(describe(status)) };
}

// The installed hiprtc answers these itself.
[compile::link] {
    4.2 hiprtcVersion(major: *mut i32, minor: *mut i32) installed {};
    4.2 hiprtcLinkCreate(count: u32, options: *mut i32, values: *mut *mut c_void, state: *mut *mut c_void)
        installed {};
    4.2 hiprtcLinkAddFile(state: *mut c_void, kind: i32, path: *const c_void, count: u32, options: *mut i32,
        values: *mut *mut c_void) installed {};
    4.2 hiprtcLinkAddData(state: *mut c_void, kind: i32, image: *mut c_void, bytes: usize,
        name: *const c_void, count: u32, options: *mut i32, values: *mut *mut c_void) installed {};
    4.2 hiprtcLinkComplete(state: *mut c_void, binary: *mut *mut c_void, bytes: *mut usize) installed {};
    4.2 hiprtcLinkDestroy(state: *mut c_void) installed {};
}

// Not supported: arrays, textures, surfaces; memory and semaphores of graphics; virtual memory; events and pools
// of other processes; linking of code; callbacks of profilers. They are exported, so that programs that name them
// start; a call is counted for the summary and fails.
[process] {
    4.2 _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc;
    4.2 _Z23hipDestroySurfaceObjectP13__hip_surface;
    4.2 hipArray3DCreate;
    5.6 hipArray3DGetDescriptor;
    4.2 hipArrayCreate;
    4.3 hipArrayDestroy;
    5.6 hipArrayGetDescriptor;
    5.6 hipArrayGetInfo;
    4.2 hipBindTexture;
    4.2 hipBindTexture2D;
    4.2 hipBindTextureToArray;
    4.2 hipBindTextureToMipmappedArray;
    4.2 hipCreateChannelDesc;
    4.2 hipCreateSurfaceObject;
    4.2 hipCreateTextureObject;
    4.3 hipDestroyExternalMemory;
    4.3 hipDestroyExternalSemaphore;
    4.2 hipDestroySurfaceObject;
    4.2 hipDestroyTextureObject;
    4.2 hipDeviceGetTexture1DLinearMaxWidth;
    4.2 hipEnableActivityCallback;
    4.3 hipExternalMemoryGetMappedBuffer(pointer: Out<Address>, memory: Address, buffer: Address)
        unsupported {} observed { observed_memory::give_unknown(over, forward) };
    4.2 hipFreeArray;
    4.2 hipFreeMipmappedArray;
    4.3 hipGLGetDevices;
    4.2 hipGetChannelDesc;
    4.2 hipGetMipmappedArrayLevel;
    4.2 hipGetTextureAlignmentOffset;
    4.2 hipGetTextureObjectResourceDesc;
    4.2 hipGetTextureObjectResourceViewDesc;
    4.2 hipGetTextureObjectTextureDesc;
    4.2 hipGetTextureReference;
    5.3 hipGraphAddExternalSemaphoresSignalNode(node: Out<NodeHandle>, graph: GraphHandle,
        after: In<NodeHandle>, count: usize, params: Address) unsupported {}
        observed { nodes::add_unknown(over, forward, graph) };
    5.3 hipGraphAddExternalSemaphoresWaitNode(node: Out<NodeHandle>, graph: GraphHandle,
        after: In<NodeHandle>, count: usize, params: Address) unsupported {}
        observed { nodes::add_unknown(over, forward, graph) };
    5.3 hipGraphExecExternalSemaphoresSignalNodeSetParams(exec: ExecHandle, node: NodeHandle,
        params: Address) unsupported {} observed { graphs::change_exec(over, forward, exec.0) };
    5.3 hipGraphExecExternalSemaphoresWaitNodeSetParams(exec: ExecHandle, node: NodeHandle, params: Address)
        unsupported {} observed { graphs::change_exec(over, forward, exec.0) };
    5.3 hipGraphExternalSemaphoresSignalNodeGetParams;
    5.3 hipGraphExternalSemaphoresSignalNodeSetParams(node: NodeHandle, params: Address) unsupported {}
        observed { graphs::change_node(over, forward, node.0) };
    5.3 hipGraphExternalSemaphoresWaitNodeGetParams;
    5.3 hipGraphExternalSemaphoresWaitNodeSetParams(node: NodeHandle, params: Address) unsupported {}
        observed { graphs::change_node(over, forward, node.0) };
    4.3 hipGraphicsGLRegisterBuffer;
    4.5 hipGraphicsGLRegisterImage;
    4.3 hipGraphicsMapResources;
    4.3 hipGraphicsResourceGetMappedPointer(pointer: Out<Address>, bytes: Out<usize>, resource: Address)
        unsupported {} observed { observed_memory::give_unknown(over, forward) };
    4.5 hipGraphicsSubResourceGetMappedArray;
    4.3 hipGraphicsUnmapResources;
    4.3 hipGraphicsUnregisterResource;
    4.3 hipImportExternalMemory;
    4.3 hipImportExternalSemaphore;
    4.2 hipInitActivityCallback;
    4.2 hipIpcGetEventHandle;
    4.2 hipIpcOpenEventHandle;
    6.4 hipLinkAddData;
    6.4 hipLinkAddFile;
    6.4 hipLinkComplete;
    6.4 hipLinkCreate;
    6.4 hipLinkDestroy;
    4.2 hipMalloc3DArray;
    4.2 hipMallocArray;
    4.2 hipMallocMipmappedArray;
    5.1 hipMemAddressFree;
    5.1 hipMemAddressReserve(pointer: Out<Address>, bytes: usize, alignment: usize, address: Address,
        flags: u64) unsupported {} observed { observed_memory::give_unknown(over, forward) };
    5.1 hipMemCreate;
    5.1 hipMemExportToShareableHandle;
    5.1 hipMemGetAccess;
    5.1 hipMemGetAllocationPropertiesFromHandle;
    6.5 hipMemGetHandleForAddressRange;
    5.1 hipMemImportFromShareableHandle;
    5.1 hipMemMap(pointer: Address, bytes: usize, offset: usize, handle: Address, flags: u64) unsupported {}
        observed { observed_memory::give_unknown(over, forward) };
    5.1 hipMemMapArrayAsync;
    5.1 hipMemPoolExportPointer;
    5.1 hipMemPoolExportToShareableHandle;
    5.1 hipMemPoolImportFromShareableHandle;
    5.1 hipMemPoolImportPointer(pointer: Out<Address>, pool: PoolHandle, data: Address) unsupported {}
        observed { observed_memory::give_unknown(over, forward) };
    5.1 hipMemRelease;
    5.1 hipMemRetainAllocationHandle;
    5.1 hipMemSetAccess;
    5.1 hipMemUnmap;
    6.2 hipMemcpy2DArrayToArray;
    4.2 hipMemcpy2DFromArray;
    4.2 hipMemcpy2DFromArrayAsync;
    5.3 hipMemcpy2DFromArrayAsync_spt;
    5.2 hipMemcpy2DFromArray_spt;
    4.2 hipMemcpy2DToArray;
    4.3 hipMemcpy2DToArrayAsync;
    5.3 hipMemcpy2DToArrayAsync_spt;
    5.2 hipMemcpy2DToArray_spt;
    6.2 hipMemcpyAtoA;
    6.2 hipMemcpyAtoD;
    4.2 hipMemcpyAtoH;
    6.2 hipMemcpyAtoHAsync;
    6.2 hipMemcpyDtoA;
    4.2 hipMemcpyFromArray;
    5.3 hipMemcpyFromArray_spt;
    4.2 hipMemcpyHtoA;
    6.2 hipMemcpyHtoAAsync;
    4.2 hipMemcpyToArray;
    4.2 hipMipmappedArrayCreate;
    4.2 hipMipmappedArrayDestroy;
    4.2 hipMipmappedArrayGetLevel;
    4.2 hipModuleGetTexRef;
    4.2 hipRegisterActivityCallback;
    4.2 hipRegisterApiCallback;
    5.3 hipRegisterTracerCallback;
    4.2 hipRemoveActivityCallback;
    4.2 hipRemoveApiCallback;
    4.3 hipSignalExternalSemaphoresAsync;
    4.2 hipTexObjectCreate;
    4.2 hipTexObjectDestroy;
    4.2 hipTexObjectGetResourceDesc;
    4.2 hipTexObjectGetResourceViewDesc;
    4.2 hipTexObjectGetTextureDesc;
    4.2 hipTexRefGetAddress;
    4.2 hipTexRefGetAddressMode;
    4.2 hipTexRefGetArray;
    4.2 hipTexRefGetBorderColor;
    4.2 hipTexRefGetFilterMode;
    4.2 hipTexRefGetFlags;
    4.2 hipTexRefGetFormat;
    4.2 hipTexRefGetMaxAnisotropy;
    4.2 hipTexRefGetMipMappedArray;
    4.2 hipTexRefGetMipmapFilterMode;
    4.2 hipTexRefGetMipmapLevelBias;
    4.2 hipTexRefGetMipmapLevelClamp;
    4.2 hipTexRefSetAddress;
    4.2 hipTexRefSetAddress2D;
    4.2 hipTexRefSetAddressMode;
    4.2 hipTexRefSetArray;
    4.2 hipTexRefSetBorderColor;
    4.2 hipTexRefSetFilterMode;
    4.2 hipTexRefSetFlags;
    4.2 hipTexRefSetFormat;
    4.2 hipTexRefSetMaxAnisotropy;
    4.2 hipTexRefSetMipmapFilterMode;
    4.2 hipTexRefSetMipmapLevelBias;
    4.2 hipTexRefSetMipmapLevelClamp;
    4.2 hipTexRefSetMipmappedArray;
    4.2 hipUnbindTexture;
    4.3 hipWaitExternalSemaphoresAsync(semaphores: Address, params: Address, count: u32,
        stream: StreamHandle) unsupported {} observed { streams::unknown_order(over, forward) };
}

// Registering a texture or a surface before `main` does nothing; using it is not supported.
[process] {
    4.2 __hipRegisterTexture() -> Void {};
    4.2 __hipRegisterSurface() -> Void {};
}
        }
    };
}
