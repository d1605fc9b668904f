//! A driver that runs a hook of the test before each call that a pool makes.

use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex};

use hiplaunch::driver::{
    Capabilities, Capability, DeviceId, DeviceProperties, DevicePtr, Driver, DriverInfo, DriverResult,
    EventOptions, HostFunc, KernelLaunch, MemInfo, PinnedAllocation, RawEvent, RawFunction, RawModule,
    RawStream, StreamOptions,
};

type Hook = Arc<dyn Fn(&'static str) + Send + Sync>;

/// See the [module](self).
pub(crate) struct HookedDriver {
    inner: Arc<dyn Driver>,
    hook: Mutex<Option<Hook>>,
    lacks: Option<Capability>,
}

impl HookedDriver {
    pub(crate) fn new(inner: Arc<dyn Driver>) -> Arc<HookedDriver> {
        Arc::new(HookedDriver { inner, hook: Mutex::new(None), lacks: None })
    }

    /// A driver that lacks an ability.
    pub(crate) fn without(inner: Arc<dyn Driver>, lacks: Capability) -> Arc<HookedDriver> {
        Arc::new(HookedDriver { inner, hook: Mutex::new(None), lacks: Some(lacks) })
    }

    /// Sets the hook; it gets the call's name in the trait.
    pub(crate) fn set(&self, hook: Option<Hook>) {
        *self.hook.lock().unwrap() = hook;
    }

    /// The hook may call the driver, for which none is run.
    fn run(&self, call: &'static str) {
        let hook = self.hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook(call);
            self.hook.lock().unwrap().get_or_insert(hook);
        }
    }
}

impl fmt::Debug for HookedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedDriver").field("inner", &self.inner).finish_non_exhaustive()
    }
}

macro_rules! pass_on {
    (
        own { $($own:item)* }
        safe { $(fn $safe:ident($($a:ident: $t:ty),*) -> $r:ty;)* }
        hooked { $(fn $hooked:ident($($ha:ident: $ht:ty),*) -> $hr:ty;)* }
        asynchronous { $(fn $asynchronous:ident($($aa:ident: $at:ty),*) -> $ar:ty;)* }
        hooked_asynchronous { $(fn $both:ident($($ba:ident: $bt:ty),*) -> $br:ty;)* }
    ) => {
        impl Driver for HookedDriver {
            $($own)*
            $(fn $safe(&self, $($a: $t),*) -> $r {
                self.inner.$safe($($a),*)
            })*
            $(fn $hooked(&self, $($ha: $ht),*) -> $hr {
                self.run(stringify!($hooked));
                self.inner.$hooked($($ha),*)
            })*
            $(unsafe fn $asynchronous(&self, $($aa: $at),*) -> $ar {
                // SAFETY: the caller's promise, passed on.
                unsafe { self.inner.$asynchronous($($aa),*) }
            })*
            $(unsafe fn $both(&self, $($ba: $bt),*) -> $br {
                self.run(stringify!($both));
                // SAFETY: the caller's promise, passed on.
                unsafe { self.inner.$both($($ba),*) }
            })*
        }
    };
}

pass_on! {
    own {
        fn capabilities(&self) -> Capabilities {
            self.inner.capabilities().iter().filter(|c| Some(*c) != self.lacks).collect()
        }
    }
    safe {
        fn info() -> DriverInfo;
        fn device_count() -> DriverResult<u32>;
        fn device_properties(device: DeviceId) -> DriverResult<DeviceProperties>;
        fn mem_info(device: DeviceId) -> DriverResult<MemInfo>;
        fn device_synchronize(device: DeviceId) -> DriverResult<()>;
        fn can_access_peer(device: DeviceId, peer: DeviceId) -> DriverResult<bool>;
        fn enable_peer_access(device: DeviceId, peer: DeviceId) -> DriverResult<()>;
        fn mem_pool_trim(device: DeviceId, keep: usize) -> DriverResult<()>;
        fn host_malloc(device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation>;
        fn stream_create(device: DeviceId, options: StreamOptions) -> DriverResult<RawStream>;
    }
    hooked {
        fn malloc(device: DeviceId, bytes: usize) -> DriverResult<DevicePtr>;
        fn event_create(device: DeviceId, options: EventOptions) -> DriverResult<RawEvent>;
    }
    asynchronous {
        fn malloc_async(device: DeviceId, bytes: usize, stream: RawStream) -> DriverResult<DevicePtr>;
        fn free_async(device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()>;
        fn host_free(device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()>;
        fn memcpy_htod(device: DeviceId, dst: DevicePtr, src: *const u8, bytes: usize) -> DriverResult<()>;
        fn memcpy_dtoh(device: DeviceId, dst: *mut u8, src: DevicePtr, bytes: usize) -> DriverResult<()>;
        fn memcpy_htod_async(
            device: DeviceId, dst: DevicePtr, src: *const u8, bytes: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn memcpy_dtoh_async(
            device: DeviceId, dst: *mut u8, src: DevicePtr, bytes: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn memcpy_dtod_async(
            device: DeviceId, dst: DevicePtr, src: DevicePtr, bytes: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn memcpy_peer_async(
            device: DeviceId, dst: DevicePtr, src_device: DeviceId, src: DevicePtr, bytes: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn memset_d8_async(
            device: DeviceId, dst: DevicePtr, value: u8, bytes: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn memset_d32_async(
            device: DeviceId, dst: DevicePtr, value: u32, count: usize, stream: RawStream
        ) -> DriverResult<()>;
        fn stream_destroy(device: DeviceId, stream: RawStream) -> DriverResult<()>;
        fn launch_host_func(device: DeviceId, stream: RawStream, function: HostFunc) -> DriverResult<()>;
        fn event_destroy(device: DeviceId, event: RawEvent) -> DriverResult<()>;
        fn event_elapsed_ms(device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32>;
        fn module_load(device: DeviceId, image: &[u8]) -> DriverResult<RawModule>;
        fn module_unload(device: DeviceId, module: RawModule) -> DriverResult<()>;
        fn module_get_function(device: DeviceId, module: RawModule, name: &CStr) -> DriverResult<RawFunction>;
        fn module_get_global(
            device: DeviceId, module: RawModule, name: &CStr
        ) -> DriverResult<(DevicePtr, usize)>;
        fn occupancy(
            device: DeviceId, function: RawFunction, block_threads: u32, dynamic_lds: u32
        ) -> DriverResult<u32>;
        fn launch_kernel(device: DeviceId, launch: &KernelLaunch<'_>) -> DriverResult<()>;
    }
    hooked_asynchronous {
        fn free(device: DeviceId, ptr: DevicePtr) -> DriverResult<()>;
        fn stream_synchronize(device: DeviceId, stream: RawStream) -> DriverResult<()>;
        fn stream_query(device: DeviceId, stream: RawStream) -> DriverResult<bool>;
        fn stream_wait_event(device: DeviceId, stream: RawStream, event: RawEvent) -> DriverResult<()>;
        fn event_record(device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()>;
        fn event_query(device: DeviceId, event: RawEvent) -> DriverResult<bool>;
        fn event_synchronize(device: DeviceId, event: RawEvent) -> DriverResult<()>;
    }
}
