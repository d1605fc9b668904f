//! Memory of other processes, whose memory an address is, and the device's pool.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::PoisonError;

use crate::HipDriver;
use crate::bindings::{hipIpcMemHandle_t, hipPointerAttribute_t};
use crate::call::{check, check_ready, number, ordinal, pointer};
use crate::versions::POOL_CREATES_NULL_STREAM;
use hip_driver::{DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, IpcHandle};

/// `hipMemAttachGlobal`: any stream on any device.
pub(crate) const ATTACH_GLOBAL: u32 = 1;
/// `hipIpcMemLazyEnablePeerAccess`, the only flag there is, which must be given: 1 in 6.4 and 7.2, 0 in 5.2. Each
/// version refuses the other number before it looks at the handle (`tests/hip_quirks/`).
const LAZY_PEER_ACCESS: [u32; 2] = [1, 0];

impl HipDriver {
    pub(crate) fn open_ipc(&self, device: DeviceId, handle: IpcHandle) -> DriverResult<DevicePtr> {
        const CALL: &str = "hipIpcOpenMemHandle";
        let open = self.optional(CALL, self.on(device, CALL)?.hipIpcOpenMemHandle)?;
        let handle = hipIpcMemHandle_t { reserved: handle.0.map(|byte| byte as _) };
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live pointer; handles are plain bytes.
        let mut open_with = |flag| check(CALL, unsafe { open(&mut memory, handle, flag) });
        let [flag, old_flag] = LAZY_PEER_ACCESS;
        open_with(flag).or_else(|error| match error.code {
            ErrorCode::INVALID_VALUE => open_with(old_flag),
            _ => Err(error),
        })?;
        Ok(DevicePtr(number(memory)))
    }

    pub(crate) fn owner_of(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<DeviceId> {
        const CALL: &str = "hipPointerGetAttributes";
        let describe = self.optional(CALL, self.on(device, CALL)?.hipPointerGetAttributes)?;
        let mut attributes = MaybeUninit::<hipPointerAttribute_t>::zeroed();
        // SAFETY: the pointer is to memory for the attributes; the address is looked up and not accessed.
        check(CALL, unsafe { describe(attributes.as_mut_ptr(), pointer(ptr.0)) })?;
        // SAFETY: all bytes zero are attributes, and HIP has written them. `device` is where it always was.
        let owner = unsafe { (&raw const (*attributes.as_ptr()).device).read() };
        // HIP from 6.0 on knows host memory that is not registered, and says device -2.
        u32::try_from(owner).map(DeviceId).map_err(|_| DriverError::new(CALL, ErrorCode::INVALID_VALUE))
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

    pub(crate) fn trim_default_pool(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
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
