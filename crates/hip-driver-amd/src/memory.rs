//! Requests about memory: managed memory, memory of other processes, whose memory an address is, and the device's pool.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::PoisonError;

use crate::HipDriver;
use crate::bindings::{hipDeviceAttribute_t, hipIpcMemHandle_t, hipPointerAttribute_t};
use crate::call::{check, check_ready, number, ordinal, pointer};
use crate::versions::POOL_CREATES_NULL_STREAM;
use hip_driver::{
    DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, IpcHandle, MemoryKind, MemoryReply,
    MemoryRequest,
};

/// `hipMemAttachGlobal`: any stream on any device.
const ATTACH_GLOBAL: u32 = 1;
/// `hipIpcMemLazyEnablePeerAccess`, the only flag there is, which must be given: 1 in 6.4 and 7.2, 0 in 5.2. Each
/// version refuses the other number before it looks at the handle (`tests/hip_quirks/`).
const LAZY_PEER_ACCESS: [u32; 2] = [1, 0];

impl HipDriver {
    /// # Safety
    /// As for [`Driver::memory`](hip_driver::Driver::memory).
    pub(crate) unsafe fn request_memory(
        &self,
        device: DeviceId,
        request: &MemoryRequest,
    ) -> DriverResult<MemoryReply> {
        let call = request.name();
        let api = self.on(device, call)?;
        let mut memory: *mut c_void = ptr::null_mut();
        match *request {
            MemoryRequest::Allocate { kind: MemoryKind::Managed, bytes } => {
                let allocate = self.optional(call, api.hipMallocManaged)?;
                let (mut has, attribute) = (0, hipDeviceAttribute_t::hipDeviceAttributeManagedMemory);
                // SAFETY: the pointer is to a live integer.
                let asked =
                    unsafe { (api.hipDeviceGetAttribute)(&mut has, attribute, ordinal(call, device)?) };
                // HIP does not refuse the allocation on a device without.
                if check("hipDeviceGetAttribute", asked).is_err() || has == 0 {
                    let detail = format!("{device} has no managed memory");
                    return Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail));
                }
                // SAFETY: the pointer is to a live pointer.
                check(call, unsafe { allocate(&mut memory, bytes, ATTACH_GLOBAL) })?;
                Ok(MemoryReply::Memory { ptr: DevicePtr(number(memory)), host: NonNull::new(memory.cast()) })
            }
            MemoryRequest::Allocate { kind: MemoryKind::Shared, bytes } => {
                // Whatever `hipMalloc` gives can be shared.
                // SAFETY: the pointer is to a live pointer.
                check(call, unsafe { (api.hipMalloc)(&mut memory, bytes) })?;
                Ok(MemoryReply::Memory { ptr: DevicePtr(number(memory)), host: None })
            }
            MemoryRequest::Release { kind: MemoryKind::Opened, ptr } => {
                let close = self.optional(call, api.hipIpcCloseMemHandle)?;
                // SAFETY: memory of `hipIpcOpenMemHandle` that nothing in flight uses (the caller's promise).
                check(call, unsafe { close(pointer(ptr.0)) })?;
                Ok(MemoryReply::Done)
            }
            MemoryRequest::Release { ptr, .. } => {
                // SAFETY: a live allocation that nothing in flight uses (the caller's promise).
                check(call, unsafe { (api.hipFree)(pointer(ptr.0)) })?;
                Ok(MemoryReply::Done)
            }
            MemoryRequest::Share { ptr } => {
                let share = self.optional(call, api.hipIpcGetMemHandle)?;
                let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
                // SAFETY: the pointer is to a live handle; an address that is no allocation's gives an error.
                check(call, unsafe { share(&mut handle, pointer(ptr.0)) })?;
                Ok(MemoryReply::Handle(IpcHandle(handle.reserved.map(|byte| byte as u8))))
            }
            MemoryRequest::Open { handle, .. } => {
                let open = self.optional(call, api.hipIpcOpenMemHandle)?;
                let handle = hipIpcMemHandle_t { reserved: handle.0.map(|byte| byte as _) };
                let [flag, old_flag] = LAZY_PEER_ACCESS;
                // SAFETY: the pointer is to a live pointer; handles are plain bytes.
                let opened = check(call, unsafe { open(&mut memory, handle, flag) });
                if opened.as_ref().is_err_and(|error| error.code == ErrorCode::INVALID_VALUE) {
                    // SAFETY: as above.
                    check(call, unsafe { open(&mut memory, handle, old_flag) })?;
                } else {
                    opened?;
                }
                Ok(MemoryReply::Memory { ptr: DevicePtr(number(memory)), host: None })
            }
            MemoryRequest::Describe { ptr } => {
                let describe = self.optional(call, api.hipPointerGetAttributes)?;
                let mut attributes = MaybeUninit::<hipPointerAttribute_t>::zeroed();
                // SAFETY: the pointer is to memory for the attributes; the address is looked up and not accessed.
                check(call, unsafe { describe(attributes.as_mut_ptr(), pointer(ptr.0)) })?;
                // SAFETY: all bytes zero are attributes, and HIP has written them. `device` is where it always was.
                let owner = unsafe { (&raw const (*attributes.as_ptr()).device).read() };
                // HIP from 6.0 on knows host memory that is not registered, and says device -2.
                match u32::try_from(owner) {
                    Ok(device) => Ok(MemoryReply::Owner(DeviceId(device))),
                    Err(_) => Err(DriverError::new(call, ErrorCode::INVALID_VALUE)),
                }
            }
            // What the host can access of a GPU's memory depends on the machine, and is slow to read.
            MemoryRequest::HostAddress { ptr, .. } => Ok(MemoryReply::Memory { ptr, host: None }),
            MemoryRequest::SetFineGrained { .. } => {
                let detail = "HIP decides when it allocates memory whether it is fine-grained";
                Err(DriverError::with_detail(request.name(), ErrorCode::NOT_SUPPORTED, detail))
            }
            MemoryRequest::TrimPool { keep } => self.trim_pool(device, keep).map(|()| MemoryReply::Done),
            _ => Err(DriverError::new(call, ErrorCode::INVALID_VALUE)),
        }
    }

    /// Makes HIP create the null stream of the device, which is the current one: see [`POOL_CREATES_NULL_STREAM`].
    pub(crate) fn ensure_null_stream(&self, device: DeviceId) -> DriverResult<()> {
        const CALL: &str = "hipStreamQuery";
        if self.loaded.version < POOL_CREATES_NULL_STREAM {
            return Ok(());
        }
        let mut have = self.null_streams.lock().unwrap_or_else(PoisonError::into_inner);
        if !have.contains(&device) {
            // SAFETY: the null stream of the current device, which HIP creates for the query.
            check_ready(CALL, unsafe { (self.api(CALL)?.hipStreamQuery)(ptr::null_mut()) })?;
            have.insert(device);
        }
        Ok(())
    }

    pub(crate) fn trim_pool(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        const CALL: &str = "hipMemPoolTrimTo";
        let api = self.on(device, CALL)?;
        let trim = self.optional(CALL, api.hipMemPoolTrimTo)?;
        let default_pool = self.optional("hipDeviceGetDefaultMemPool", api.hipDeviceGetDefaultMemPool)?;
        let mut pool = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check("hipDeviceGetDefaultMemPool", unsafe { default_pool(&mut pool, ordinal(CALL, device)?) })?;
        // SAFETY: the pool lives as long as its device.
        check(CALL, unsafe { trim(pool, keep) })
    }
}
