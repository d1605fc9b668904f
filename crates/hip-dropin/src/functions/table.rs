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
    // Caches and the banks of LDS, which these GPUs do not let programs choose: what they prefer is taken and has no effect.
    4.2 hipDeviceSetCacheConfig(preference: i32) { check_preference(preference, CACHES) };
    4.2 hipDeviceSetSharedMemConfig(preference: i32) { check_preference(preference, BANKS) };
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
}

[memory::virtual_memory] {
    5.1 hipMemGetAllocationGranularity(granularity: Out<usize>, prop: In<Properties>, option: i32);
    5.1 hipMemAddressReserve(pointer: Out<Address>, bytes: usize, alignment: usize, wanted: Address,
        flags: u64) observed { observed_memory::give_unknown(over, forward) };
    5.1 hipMemAddressFree(pointer: Address, bytes: usize);
    5.1 hipMemCreate(handle: Out<u64>, bytes: usize, prop: In<Properties>, flags: u64);
    5.1 hipMemRelease(handle: u64);
    5.1 hipMemMap(pointer: Address, bytes: usize, offset: usize, handle: u64, flags: u64)
        observed { observed_memory::give_unknown(over, forward) };
    5.1 hipMemMapArrayAsync(list: Address, count: u32, stream: StreamHandle)
        { refuse_arrays(list, count, hip_name) };
    5.1 hipMemUnmap(pointer: Address, bytes: usize);
    5.1 hipMemSetAccess(pointer: Address, bytes: usize, descriptions: In<hipMemAccessDesc>, count: usize);
    5.1 hipMemGetAccess(flags: Out<u64>, location: In<hipMemLocation>, pointer: Address);
    5.1 hipMemRetainAllocationHandle(handle: Out<u64>, pointer: Address);
    5.1 hipMemGetAllocationPropertiesFromHandle(prop: Out<Properties>, handle: u64);
    5.1 hipMemExportToShareableHandle(to: Address, handle: u64, kind: i32, flags: u64);
    5.1 hipMemImportFromShareableHandle(handle: Out<u64>, from: Address, kind: i32);
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

[memory::array] {
    4.2 hipMallocArray(array: Out<Array>, desc: In<hipChannelFormatDesc>, width: usize, height: usize, flags: u32)
        { create(process, array, || Description::new(desc, hipExtent { width, height, depth: 0 }, flags)) };
    4.2 hipMalloc3DArray(array: Out<Array>, desc: In<hipChannelFormatDesc>, extent: hipExtent, flags: u32)
        { create(process, array, || Description::new(desc, extent, flags)) };
    4.2 hipArrayCreate(array: Out<Array>, desc: In<HIP_ARRAY_DESCRIPTOR>)
        { create(process, array, || Description::of_driver_2d(&desc.get()?)) };
    4.2 hipArray3DCreate(array: Out<Array>, desc: In<HIP_ARRAY3D_DESCRIPTOR>)
        { create(process, array, || Description::of_driver(&desc.get()?)) };
    4.2 hipFreeArray(array: Array) { destroy(process, array) };
    4.3 hipArrayDestroy(array: Array) { destroy(process, array) };
    5.6 hipArrayGetInfo(desc: Out<hipChannelFormatDesc>, extent: Out<hipExtent>, flags: Out<u32>, array: Array)
        { hipArrayGetInfo(desc, extent, flags, array) };
    5.6 hipArrayGetDescriptor(desc: Out<HIP_ARRAY_DESCRIPTOR>, array: Array)
        { hipArrayGetDescriptor(desc, array) };
    5.6 hipArray3DGetDescriptor(desc: Out<HIP_ARRAY3D_DESCRIPTOR>, array: Array)
        { hipArray3DGetDescriptor(desc, array) };
    4.2 hipMallocMipmappedArray(array: Out<MipmappedArray>, desc: In<hipChannelFormatDesc>, extent: hipExtent,
        levels: u32, flags: u32)
        { create_mipmapped(process, array, levels, || Description::new(desc, extent, flags)) };
    4.2 hipMipmappedArrayCreate(array: Out<MipmappedArray>, desc: In<HIP_ARRAY3D_DESCRIPTOR>, levels: u32)
        { create_mipmapped(process, array, levels, || Description::of_driver(&desc.get()?)) };
    4.2 hipFreeMipmappedArray(array: MipmappedArray) { destroy_mipmapped(process, array) };
    4.2 hipMipmappedArrayDestroy(array: MipmappedArray) { destroy_mipmapped(process, array) };
    4.2 hipGetMipmappedArrayLevel(level_array: Out<Array>, array: MipmappedArray, level: u32)
        { get_level(level_array, array, level) };
    4.2 hipMipmappedArrayGetLevel(level_array: Out<Array>, array: MipmappedArray, level: u32)
        { get_level(level_array, array, level) };
    4.2 hipCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, f: i32) -> hipChannelFormatDesc
        { hipChannelFormatDesc { x, y, z, w, f } };
    4.2 hipGetChannelDesc(desc: Out<hipChannelFormatDesc>, array: Array) { hipGetChannelDesc(desc, array) };
    4.2 hipDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, desc: In<hipChannelFormatDesc>, device: i32);
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
    4.2 hipMemcpyParam2D(parms: In<hip_Memcpy2D>) work (waiting) { Parms2D { parms } };
    4.2 hipMemcpyParam2DAsync(parms: In<hip_Memcpy2D>, stream: StreamHandle)
        work (stream) { Parms2D { parms } };
    4.3 hipDrvMemcpy2DUnaligned(parms: In<hip_Memcpy2D>)
        { Parms2D { parms }.run(process, Target::BLOCKING.queue(process)?) };
    4.2 hipMemcpy3D(parms: In<hipMemcpy3DParms>) + _spt() 5.2
        work (waiting) { Parms3D { parms } };
    4.2 hipMemcpy3DAsync(parms: In<hipMemcpy3DParms>, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { Parms3D { parms } };
    4.2 hipDrvMemcpy3D(copy: Address) { run_drv_3d(process, copy, Target::BLOCKING) };
    4.2 hipDrvMemcpy3DAsync(copy: Address, stream: StreamHandle)
        { run_drv_3d(process, copy, Target::enqueue(stream)) };
}

[copy::arrays] {
    4.2 hipMemcpy2DToArray(array: Array, x: usize, y: usize, src: Address, pitch: usize, width: usize,
        height: usize, kind: i32) + _spt() 5.2
        work (waiting) { to_array((array, x, y), (src, pitch), Size::Rectangle(width, height), kind) };
    4.3 hipMemcpy2DToArrayAsync(array: Array, x: usize, y: usize, src: Address, pitch: usize, width: usize,
        height: usize, kind: i32, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { to_array((array, x, y), (src, pitch), Size::Rectangle(width, height), kind) };
    4.2 hipMemcpy2DFromArray(dst: Address, pitch: usize, array: Array, x: usize, y: usize, width: usize,
        height: usize, kind: i32) + _spt() 5.2
        work (waiting) { from_array((dst, pitch), (array, x, y), Size::Rectangle(width, height), kind) };
    4.2 hipMemcpy2DFromArrayAsync(dst: Address, pitch: usize, array: Array, x: usize, y: usize, width: usize,
        height: usize, kind: i32, stream: StreamHandle) + _spt(stream) 5.3
        work (stream) { from_array((dst, pitch), (array, x, y), Size::Rectangle(width, height), kind) };
    6.2 hipMemcpy2DArrayToArray(dst: Array, dst_x: usize, dst_y: usize, src: Array, src_x: usize,
        src_y: usize, width: usize, height: usize, _kind: i32)
        work (waiting) { between((dst, dst_x, dst_y), (src, src_x, src_y), Size::Rectangle(width, height)) };
    4.2 hipMemcpyToArray(array: Array, x: usize, y: usize, src: Address, bytes: usize, kind: i32)
        work (waiting) { to_array((array, x, y), (src, 0), Size::Count(bytes), kind) };
    4.2 hipMemcpyFromArray(dst: Address, array: Array, x: usize, y: usize, bytes: usize, kind: i32) + _spt() 5.3
        work (waiting) { from_array((dst, 0), (array, x, y), Size::Count(bytes), kind) };
    4.2 hipMemcpyHtoA(array: Array, offset: usize, src: Address, bytes: usize)
        work (waiting) { row_to_array(array, offset, src, bytes, true) };
    6.2 hipMemcpyHtoAAsync(array: Array, offset: usize, src: Address, bytes: usize, stream: StreamHandle)
        work (stream) { row_to_array(array, offset, src, bytes, true) };
    6.2 hipMemcpyDtoA(array: Array, offset: usize, src: Address, bytes: usize)
        work (waiting) { row_to_array(array, offset, src, bytes, false) };
    4.2 hipMemcpyAtoH(dst: Address, array: Array, offset: usize, bytes: usize)
        work (waiting) { row_from_array(dst, array, offset, bytes, true) };
    6.2 hipMemcpyAtoHAsync(dst: Address, array: Array, offset: usize, bytes: usize, stream: StreamHandle)
        work (stream) { row_from_array(dst, array, offset, bytes, true) };
    6.2 hipMemcpyAtoD(dst: Address, array: Array, offset: usize, bytes: usize)
        work (waiting) { row_from_array(dst, array, offset, bytes, false) };
    6.2 hipMemcpyAtoA(dst: Array, dst_offset: usize, src: Array, src_offset: usize, bytes: usize)
        work (waiting) { between((dst, dst_offset, 0), (src, src_offset, 0), Size::Row(bytes)) };
}

[copy::batch] {
    7.1 hipMemcpyBatchAsync(dsts: In<Address>, srcs: In<Address>, bytes: In<usize>, count: usize,
        attributes: In<CopyAttributes>, attribute_indices: In<usize>, attribute_count: usize,
        failed: Out<usize>, stream: StreamHandle)
        { copy_batch(process, (dsts, srcs, bytes), count, (attributes, attribute_count), failed, stream) };
    7.1 hipMemcpy3DBatchAsync(count: usize, operations: In<BoxOperation>, failed: Out<usize>, flags: u64,
        stream: StreamHandle);
    7.1 hipMemcpy3DPeer(parms: In<PeerParms>)
        { between_devices(process, parms)?.run(process, Target::BLOCKING.queue(process)?) };
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
    // Texture references and surfaces are variables, too.
    4.2 __hipRegisterTexture(handle: FatBinaryHandle, variable: Address, _host_name: Text, name: Text,
        _kind: i32, _is_normalized: i32, _external: i32) quiet { register_variable(handle, variable, name) };
    4.2 __hipRegisterSurface(handle: FatBinaryHandle, variable: Address, _host_name: Text, name: Text,
        _kind: i32, _external: i32) quiet { register_variable(handle, variable, name) };
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
    4.2 hipFuncSetCacheConfig(function: Address, preference: i32)
        { process.host_kernel(function)?; device::check_preference(preference, device::CACHES) };
    4.2 hipFuncSetSharedMemConfig(function: Address, preference: i32)
        { process.host_kernel(function)?; device::check_preference(preference, device::BANKS) };
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

[texture] {
    4.2 hipCreateTextureObject(object: Out<Address>, resource: In<hipResourceDesc>, texture: In<hipTextureDesc>,
        view: In<hipResourceViewDesc>);
    4.2 hipDestroyTextureObject(object: Address) { destroy(process, object) };
    4.2 hipGetTextureObjectResourceDesc(desc: Out<hipResourceDesc>, object: Address);
    4.2 hipGetTextureObjectTextureDesc(desc: Out<hipTextureDesc>, object: Address);
    4.2 hipGetTextureObjectResourceViewDesc(desc: Out<hipResourceViewDesc>, object: Address);
    4.2 hipCreateSurfaceObject(object: Out<Address>, resource: In<hipResourceDesc>);
    4.2 hipDestroySurfaceObject(object: Address);
    // The same, with the names that C++ gives them in HIP 5.
    4.2 _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(object: Out<Address>,
        resource: In<hipResourceDesc>) { hipCreateSurfaceObject(process, object, resource) };
    4.2 _Z23hipDestroySurfaceObjectP13__hip_surface(object: Address)
        { hipDestroySurfaceObject(process, object) };
}

[texture::driver_api] {
    4.2 hipTexObjectCreate(object: Out<Address>, resource: In<HIP_RESOURCE_DESC>, texture: In<HIP_TEXTURE_DESC>,
        view: In<HIP_RESOURCE_VIEW_DESC>);
    4.2 hipTexObjectDestroy(object: Address) { destroy(process, object) };
    4.2 hipTexObjectGetResourceDesc(desc: Out<HIP_RESOURCE_DESC>, object: Address);
    4.2 hipTexObjectGetTextureDesc(desc: Out<HIP_TEXTURE_DESC>, object: Address);
    4.2 hipTexObjectGetResourceViewDesc(desc: Out<HIP_RESOURCE_VIEW_DESC>, object: Address);
}

[texture::reference] {
    4.2 hipBindTexture(offset: Out<usize>, reference: Out<textureReference>, start: Address,
        desc: In<hipChannelFormatDesc>, bytes: usize)
        { bind_linear(process, Owner::Program, (offset, reference), start, desc.get(), bytes) };
    4.2 hipBindTexture2D(offset: Out<usize>, reference: Out<textureReference>, start: Address,
        desc: In<hipChannelFormatDesc>, width: usize, height: usize, pitch: usize)
        {
            bind_rows(process, Owner::Program, (offset, reference), start, desc.get(), (width, height, pitch))
        };
    4.2 hipBindTextureToArray(reference: Out<textureReference>, array: Array, desc: In<hipChannelFormatDesc>);
    4.2 hipBindTextureToMipmappedArray(reference: Out<textureReference>, array: MipmappedArray,
        desc: In<hipChannelFormatDesc>);
    4.2 hipUnbindTexture(reference: Out<textureReference>);
    4.2 hipGetTextureAlignmentOffset(offset: Out<usize>, reference: Out<textureReference>)
        { get(process, offset, reference, |_| 0) };
    4.2 hipGetTextureReference(reference: Out<Address>, symbol: Address) { reference.set(symbol) };
    4.2 hipModuleGetTexRef(reference: Out<Address>, module: ModuleHandle, name: Text);
    4.2 hipTexRefSetAddress(offset: Out<usize>, reference: Out<textureReference>, start: Address, bytes: usize)
        {
            bind_linear(process, Owner::Module, (offset, reference), start, own_channels(reference), bytes)
        };
    4.2 hipTexRefSetAddress2D(reference: Out<textureReference>, desc: In<HIP_ARRAY_DESCRIPTOR>, start: Address,
        pitch: usize);
    4.2 hipTexRefSetArray(reference: Out<textureReference>, array: Array, flags: u32)
        { set_array(process, reference, false, array, flags) };
    4.2 hipTexRefSetMipmappedArray(reference: Out<textureReference>, array: MipmappedArray, flags: u32)
        { set_array(process, reference, true, array, flags) };
    4.2 hipTexRefGetAddress(start: Out<u64>, reference: Out<textureReference>)
        { hipTexRefGetAddress(start, reference) };
    4.2 hipTexRefGetArray(array: Out<Array>, reference: Out<textureReference>)
        { hipTexRefGetArray(array, reference) };
    4.2 hipTexRefGetMipMappedArray(array: Out<MipmappedArray>, reference: Out<textureReference>)
        { hipTexRefGetMipMappedArray(array, reference) };
    4.2 hipTexRefSetAddressMode(reference: Out<textureReference>, direction: i32, mode: i32)
        { set_address_mode(process, reference, direction, mode) };
    4.2 hipTexRefGetAddressMode(mode: Out<i32>, reference: Out<textureReference>, direction: i32)
        { get_address_mode(process, mode, reference, direction) };
    4.2 hipTexRefSetFilterMode(reference: Out<textureReference>, mode: i32)
        { set(process, reference, |reference| reference.filterMode = mode) };
    4.2 hipTexRefGetFilterMode(mode: Out<i32>, reference: Out<textureReference>)
        { get(process, mode, reference, |reference| reference.filterMode) };
    4.2 hipTexRefSetFlags(reference: Out<textureReference>, bits: u32)
        { set(process, reference, |reference| set_flags(reference, bits)) };
    4.2 hipTexRefGetFlags(bits: Out<u32>, reference: Out<textureReference>)
        { get(process, bits, reference, flags) };
    4.2 hipTexRefSetFormat(reference: Out<textureReference>, format: i32, channels: i32)
        { set(process, reference, |reference| (reference.format, reference.numChannels) = (format, channels)) };
    4.2 hipTexRefGetFormat(format: Out<i32>, channels: Out<i32>, reference: Out<textureReference>)
        {
            channels.check()?;
            get(process, format, reference, |reference| reference.format)?;
            get(process, channels, reference, |reference| reference.numChannels)
        };
    4.2 hipTexRefSetMaxAnisotropy(reference: Out<textureReference>, most: u32)
        { set(process, reference, |reference| reference.maxAnisotropy = most) };
    4.2 hipTexRefGetMaxAnisotropy(most: Out<u32>, reference: Out<textureReference>)
        { get(process, most, reference, |reference| reference.maxAnisotropy) };
    4.2 hipTexRefSetMipmapFilterMode(reference: Out<textureReference>, mode: i32)
        { set(process, reference, |reference| reference.mipmapFilterMode = mode) };
    4.2 hipTexRefGetMipmapFilterMode(mode: Out<i32>, reference: Out<textureReference>)
        { get(process, mode, reference, |reference| reference.mipmapFilterMode) };
    4.2 hipTexRefSetMipmapLevelBias(reference: Out<textureReference>, bias: f32)
        { set(process, reference, |reference| reference.mipmapLevelBias = bias) };
    4.2 hipTexRefGetMipmapLevelBias(bias: Out<f32>, reference: Out<textureReference>)
        { get(process, bias, reference, |reference| reference.mipmapLevelBias) };
    4.2 hipTexRefSetMipmapLevelClamp(reference: Out<textureReference>, least: f32, most: f32)
        {
            set(process, reference, |reference| {
                (reference.minMipmapLevelClamp, reference.maxMipmapLevelClamp) = (least, most);
            })
        };
    4.2 hipTexRefGetMipmapLevelClamp(least: Out<f32>, most: Out<f32>, reference: Out<textureReference>)
        {
            most.check()?;
            get(process, least, reference, |reference| reference.minMipmapLevelClamp)?;
            get(process, most, reference, |reference| reference.maxMipmapLevelClamp)
        };
    // A reference has no room for a border's colour, which is always transparent black.
    4.2 hipTexRefSetBorderColor(reference: Out<textureReference>, color: In<[f32; 4]>)
        { color.get()?; set(process, reference, |_| ()) };
    4.2 hipTexRefGetBorderColor(color: Out<[f32; 4]>, reference: Out<textureReference>)
        { get(process, color, reference, |_| [0.0; 4]) };
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

// Not supported: memory and semaphores of graphics; events and pools
// of other processes; linking of code; callbacks of profilers. They are exported, so that programs that name them
// start; a call is counted for the summary and fails.
[process] {
    4.3 hipDestroyExternalMemory;
    4.3 hipDestroyExternalSemaphore;
    4.2 hipEnableActivityCallback;
    4.3 hipExternalMemoryGetMappedBuffer(pointer: Out<Address>, memory: Address, buffer: Address)
        unsupported {} observed { observed_memory::give_unknown(over, forward) };
    4.3 hipGLGetDevices;
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
    6.5 hipMemGetHandleForAddressRange;
    5.1 hipMemPoolExportPointer;
    5.1 hipMemPoolExportToShareableHandle;
    5.1 hipMemPoolImportFromShareableHandle;
    5.1 hipMemPoolImportPointer(pointer: Out<Address>, pool: PoolHandle, data: Address) unsupported {}
        observed { observed_memory::give_unknown(over, forward) };
    4.2 hipRegisterActivityCallback;
    4.2 hipRegisterApiCallback;
    5.3 hipRegisterTracerCallback;
    4.2 hipRemoveActivityCallback;
    4.2 hipRemoveApiCallback;
    4.3 hipSignalExternalSemaphoresAsync;
    4.3 hipWaitExternalSemaphoresAsync(semaphores: Address, params: Address, count: u32,
        stream: StreamHandle) unsupported {} observed { streams::unknown_order(over, forward) };
}
        }
    };
}
