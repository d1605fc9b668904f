//! A device: its driver, its limits, its memory pool, and whether its context is lost.

mod live_streams;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, OutOfMemory, Result};
use crate::fault::FaultReport;
use crate::pool::{PoolCore, PoolCounters, PoolOptions};
use hip_driver::{DeviceId, DeviceProperties, Driver, DriverError, ErrorCode, Note, Observer};
pub(crate) use live_streams::{LiveStream, LiveStreams};

/// A device of an open driver. Cheap to clone; all clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<DeviceInner>);

struct DeviceInner {
    driver: Arc<dyn Driver>,
    id: DeviceId,
    properties: DeviceProperties,
    lost: AtomicBool,
    fault: OnceLock<Arc<FaultReport>>,
    streams: LiveStreams,
    held_pinned: AtomicU64,
    /// [`Observer::takes_notes`] of the driver.
    takes_notes: bool,
    pool: PoolCore,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("id", &self.0.id).field("name", &self.0.properties.name).finish()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Device {
    /// Opens device `id` of a driver, with the default options for its memory pool.
    ///
    /// # Errors
    /// Returns the driver's error when it has no such device.
    pub fn open(driver: Arc<dyn Driver>, id: DeviceId) -> Result<Device> {
        Device::open_with(driver, id, &PoolOptions::default())
    }

    /// Opens device `id` of a driver, with `options` for its memory pool.
    ///
    /// # Errors
    /// Returns the driver's error when it has no such device, and [`Error::Invalid`] for options that the driver does
    /// not support.
    pub fn open_with(driver: Arc<dyn Driver>, id: DeviceId, options: &PoolOptions) -> Result<Device> {
        let properties = driver.device_properties(id)?;
        options.check(driver.capabilities())?;
        Ok(Device(Arc::new(DeviceInner {
            pool: PoolCore::new(driver.clone(), id, options),
            takes_notes: driver.observer().is_some_and(Observer::takes_notes),
            driver,
            id,
            properties,
            lost: AtomicBool::new(false),
            fault: OnceLock::new(),
            streams: LiveStreams::default(),
            held_pinned: AtomicU64::new(0),
        })))
    }

    /// Returns the device's ordinal.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }

    /// Returns the device's driver.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// Returns the driver as a plain reference, for the hot path.
    #[inline]
    pub(crate) fn raw(&self) -> &dyn Driver {
        &*self.0.driver
    }

    /// Sends a note to the driver's observer, if it takes notes.
    #[inline]
    pub(crate) fn note(&self, note: &Note) {
        if self.0.takes_notes {
            self.tell(note);
        }
    }

    /// As [`note`](Device::note), for a note that costs something to make.
    #[inline]
    pub(crate) fn note_with(&self, note: impl FnOnce() -> Note) {
        if self.0.takes_notes {
            self.tell(&note());
        }
    }

    #[cold]
    fn tell(&self, note: &Note) {
        if let Some(observer) = self.raw().observer() {
            observer.note(note);
        }
    }

    /// Returns the device's names and limits.
    #[inline]
    pub fn properties(&self) -> &DeviceProperties {
        &self.0.properties
    }

    /// Returns the bytes of device memory that this library holds on the device: those that its pool took from the
    /// driver.
    pub fn held_bytes(&self) -> u64 {
        self.0.pool.shared.reserved()
    }

    #[inline]
    pub(crate) fn pool_core(&self) -> &PoolCore {
        &self.0.pool
    }

    /// Returns the bytes of pinned host memory that this library holds for the device: staging and result buffers.
    pub fn held_pinned_bytes(&self) -> u64 {
        self.0.held_pinned.load(Ordering::Relaxed)
    }

    pub(crate) fn add_held_pinned(&self, bytes: u64) {
        self.0.held_pinned.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn sub_held_pinned(&self, bytes: u64) {
        self.0.held_pinned.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Waits for all work of the device, work that others enqueued included (`hipDeviceSynchronize`).
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if a kernel has faulted; else returns the driver's error.
    pub fn synchronize(&self) -> Result<()> {
        self.check()?;
        self.raw().device_synchronize(self.id()).map_err(|e| self.error(e))
    }

    /// Returns whether kernels on this device can be allowed to access memory of `peer` (`hipDeviceCanAccessPeer`). `false`
    /// for the device itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a device of another driver; else returns the driver's error.
    pub fn can_access_peer(&self, peer: &Device) -> Result<bool> {
        self.is_of_driver(peer, "Device::can_access_peer")?;
        self.raw().can_access_peer(self.id(), peer.id()).map_err(|e| self.error(e))
    }

    /// Allows kernels on this device to access memory of `peer` from now on (`hipDeviceEnablePeerAccess`), in this
    /// direction alone. It succeeds if that is allowed already. Copies between devices do not need it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a device of another driver; else returns the driver's error, which is `NOT_SUPPORTED` if the
    /// driver lacks [`Capability::PeerAccess`](crate::driver::Capability::PeerAccess).
    pub fn enable_peer_access(&self, peer: &Device) -> Result<()> {
        self.is_of_driver(peer, "Device::enable_peer_access")?;
        self.raw().enable_peer_access(self.id(), peer.id()).map_err(|e| self.error(e))
    }

    fn is_of_driver(&self, peer: &Device, what: &'static str) -> Result<()> {
        if Arc::ptr_eq(self.driver(), peer.driver()) {
            return self.check();
        }
        Err(Error::invalid(what, "the peer is a device of another launcher's driver"))
    }

    /// Returns the report of the fault after which the device was lost, if it is lost.
    pub fn fault(&self) -> Option<Arc<FaultReport>> {
        self.0.fault.get().cloned()
    }

    /// Checks that the device is not lost. Makes no device call.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] with the report of the fault, if the device is lost.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.0.lost.load(Ordering::Acquire) { Err(self.lost_error()) } else { Ok(()) }
    }

    #[cold]
    fn lost_error(&self) -> Error {
        match self.0.fault.get() {
            Some(report) => Error::DeviceLost(report.clone()),
            None => DriverError::new("hipGetLastError", ErrorCode::UNKNOWN).into(),
        }
    }

    /// Returns the device's streams that are alive.
    pub(crate) fn streams(&self) -> &LiveStreams {
        &self.0.streams
    }

    /// Turns a driver's error into an [`Error`]. A sticky code marks the device as lost and creates the report. The
    /// caller holds the lock of no stream, because the report locks every stream.
    #[cold]
    pub(crate) fn error(&self, e: DriverError) -> Error {
        if !e.code.is_sticky() {
            return e.into();
        }
        let report = self.0.fault.get_or_init(|| {
            Arc::new(FaultReport {
                device: self.0.id,
                call: e.call,
                code: e.code,
                detail: e.detail.clone(),
                recovery: self.0.driver.info().recovery,
                in_flight: self.0.streams.in_flight(),
            })
        });
        self.0.lost.store(true, Ordering::Release);
        Error::DeviceLost(report.clone())
    }

    /// Turns the driver's error for an allocation of `requested` bytes into an [`Error`]; `kind` is `device` or
    /// `pinned host`.
    #[cold]
    pub(crate) fn allocation_error(&self, kind: &'static str, requested: usize, e: DriverError) -> Error {
        if e.code != ErrorCode::OUT_OF_MEMORY {
            return self.error(e);
        }
        let info = self.0.driver.mem_info(self.0.id).ok();
        let pool = (kind == "device").then(|| self.0.pool.counters());
        let counted = |f: fn(&PoolCounters) -> u64| pool.as_ref().map_or(0, f);
        Error::OutOfMemory(Box::new(OutOfMemory {
            kernel: None,
            kind,
            device: self.0.id,
            requested: requested as u64,
            free: info.map(|i| i.free),
            total: info.map(|i| i.total),
            held: if pool.is_some() { self.held_bytes() } else { self.held_pinned_bytes() },
            in_use: counted(|c| c.in_use),
            cached: counted(|c| c.cached),
            held_back: counted(|c| c.held_back),
            why: e.detail,
        }))
    }
}
