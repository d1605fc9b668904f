//! Memory: the pools of the system, what was allocated from them, and what of the host's is pinned.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::abi::{Agent, Pool};
use crate::gpu::{Gpu, lock};
use crate::load::Hsa;
use hip_driver::{DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, PinnedAllocation};

/// Memory of a pool that is freed when it is dropped. Nothing in flight uses it then.
#[derive(Debug)]
pub(crate) struct Block {
    hsa: &'static Hsa,
    pub(crate) address: NonNull<u8>,
    pub(crate) bytes: usize,
}

// SAFETY: it describes memory by address and length; each access is an unsafe operation of its own, and any thread may free it.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates memory of a pool that agents may access.
    pub(crate) fn new(
        call: &'static str,
        hsa: &'static Hsa,
        pool: Pool,
        bytes: usize,
        agents: &[Agent],
    ) -> DriverResult<Block> {
        let mut address: *mut c_void = ptr::null_mut();
        // SAFETY: a pool from which programs may allocate; the pointer is to a live pointer.
        hsa.check(call, "hsa_amd_memory_pool_allocate", unsafe {
            (hsa.functions.pool_allocate)(pool, bytes, 0, &mut address)
        })?;
        let Some(address) = NonNull::new(address.cast::<u8>()) else {
            let detail = format!("{bytes} bytes");
            return Err(DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail));
        };
        let block = Block { hsa, address, bytes };
        block.allow(call, agents)?;
        Ok(block)
    }

    /// Lets these agents access it, and the agent whose memory it is.
    fn allow(&self, call: &'static str, agents: &[Agent]) -> DriverResult<()> {
        if agents.is_empty() {
            return Ok(());
        }
        // SAFETY: live agents, an allocation of a pool.
        self.hsa.check(call, "hsa_amd_agents_allow_access", unsafe {
            (self.hsa.functions.agents_allow_access)(
                agents.len() as u32,
                agents.as_ptr(),
                ptr::null(),
                self.address.as_ptr().cast(),
            )
        })
    }

    pub(crate) fn device_address(&self) -> u64 {
        self.address.as_ptr().addr() as u64
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: an allocation that nothing uses any more (whoever drops it has seen to that).
        let status = unsafe { (self.hsa.functions.pool_free)(self.address.as_ptr().cast()) };
        if status != crate::abi::Status::SUCCESS {
            log::error!("freeing {} bytes: {}", self.bytes, self.hsa.describe(status));
        }
    }
}

/// An allocation of device memory.
#[derive(Debug)]
struct Allocation {
    block: Block,
    device: DeviceId,
    /// The devices that may access it, but for its own.
    accessors: Vec<Agent>,
}

/// Why host memory is pinned.
#[derive(Debug)]
enum Owner {
    /// The driver allocated it.
    Driver(#[allow(dead_code, reason = "it is freed when it is dropped")] Block),
    /// The driver allocated it as managed memory.
    Managed(#[allow(dead_code, reason = "it is freed when it is dropped")] Block),
    /// The caller registered it.
    Caller,
}

/// A range of pinned memory.
#[derive(Debug)]
struct Pinned {
    bytes: usize,
    device: u64,
    owner: Owner,
}

/// What pinned memory a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Driver,
    Managed,
    Caller,
}

impl Owner {
    fn kind(&self) -> Kind {
        match self {
            Owner::Driver(_) => Kind::Driver,
            Owner::Managed(_) => Kind::Managed,
            Owner::Caller => Kind::Caller,
        }
    }
}

/// All allocations of the driver, by address.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    devices: Mutex<BTreeMap<u64, Allocation>>,
    /// By the host's address.
    pinned: RwLock<BTreeMap<u64, Pinned>>,
    /// For each device, the devices that may access its memory.
    peers: Mutex<HashMap<DeviceId, Vec<Agent>>>,
}

impl Memory {
    /// Allocates memory of a device.
    pub(crate) fn allocate(&self, call: &'static str, device: &Gpu, bytes: usize) -> DriverResult<DevicePtr> {
        if bytes == 0 {
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "an allocation of 0 bytes"));
        }
        let accessors = lock(&self.peers).get(&device.id).cloned().unwrap_or_default();
        let mut agents = accessors.clone();
        if !agents.is_empty() {
            agents.push(device.agent);
        }
        let block = Block::new(call, device.hsa, device.pool, bytes, &agents)?;
        let address = block.device_address();
        lock(&self.devices).insert(address, Allocation { block, device: device.id, accessors });
        Ok(DevicePtr(address))
    }

    /// Takes an allocation of a device out, to be freed by dropping it.
    pub(crate) fn take(&self, call: &'static str, device: DeviceId, ptr: DevicePtr) -> DriverResult<Block> {
        let mut devices = lock(&self.devices);
        match devices.get(&ptr.0) {
            Some(found) if found.device == device => {}
            _ => {
                let detail = format!("{ptr} is not the start of an allocation of {device}");
                return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
            }
        }
        devices
            .remove(&ptr.0)
            .map(|found| found.block)
            .ok_or_else(|| DriverError::new(call, ErrorCode::INVALID_VALUE))
    }

    /// The bytes of a device that are allocated.
    pub(crate) fn used(&self, device: DeviceId) -> u64 {
        lock(&self.devices).values().filter(|a| a.device == device).map(|a| a.block.bytes as u64).sum()
    }

    /// Lets kernels of `device` access all memory of `owner`, present and to come.
    pub(crate) fn allow_peer(&self, call: &'static str, device: &Gpu, owner: &Gpu) -> DriverResult<()> {
        let mut peers = lock(&self.peers);
        let all = peers.entry(owner.id).or_default();
        if all.contains(&device.agent) {
            return Ok(());
        }
        for allocation in lock(&self.devices).values_mut().filter(|a| a.device == owner.id) {
            allocation.let_access(call, owner.agent, device.agent)?;
        }
        all.push(device.agent);
        Ok(())
    }

    /// Lets a device copy from memory of another.
    pub(crate) fn allow_copy(
        &self,
        call: &'static str,
        device: &Gpu,
        owner: &Gpu,
        src: DevicePtr,
    ) -> DriverResult<()> {
        let mut devices = lock(&self.devices);
        let found = devices.range_mut(..=src.0).next_back().map(|(_, found)| found);
        match found.filter(|found| found.device == owner.id) {
            Some(found) => found.let_access(call, owner.agent, device.agent),
            // Pinned and managed memory is everybody's.
            None => Ok(()),
        }
    }

    /// Allocates pinned host memory for all devices.
    pub(crate) fn pin_new(
        &self,
        call: &'static str,
        device: &Gpu,
        bytes: usize,
        kind: Kind,
    ) -> DriverResult<PinnedAllocation> {
        if bytes == 0 {
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "0 bytes"));
        }
        let system = device.system;
        let block = Block::new(call, device.hsa, system.pools.fine, bytes, &system.gpus)?;
        let (host, address) = (block.address, block.device_address());
        let owner = if kind == Kind::Managed { Owner::Managed(block) } else { Owner::Driver(block) };
        self.write().insert(address, Pinned { bytes, device: address, owner });
        Ok(PinnedAllocation { host, device: DevicePtr(address), bytes })
    }

    /// Pins the caller's memory for all devices.
    ///
    /// # Safety
    /// The memory is readable and writable until it is unpinned.
    pub(crate) unsafe fn pin(
        &self,
        call: &'static str,
        device: &Gpu,
        host: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let (hsa, start) = (device.hsa, host.addr() as u64);
        let invalid = |code, detail: String| DriverError::with_detail(call, code, detail);
        let pointer = NonNull::new(host).filter(|_| bytes > 0 && start.checked_add(bytes as u64).is_some());
        let pointer =
            pointer.ok_or_else(|| invalid(ErrorCode::INVALID_VALUE, format!("{bytes} bytes at {host:?}")))?;
        let mut pinned = self.write();
        if let Some((other, found)) = pinned.range(..start + bytes as u64).next_back()
            && other + found.bytes as u64 > start
        {
            let detail = format!("{bytes} bytes at {host:?} meet pinned memory at {other:#x}");
            return Err(invalid(ErrorCode::HOST_MEMORY_ALREADY_REGISTERED, detail));
        }
        let mut agents = device.system.gpus.clone();
        let mut mapped: *mut c_void = ptr::null_mut();
        // SAFETY: memory that the caller keeps until it is unlocked; live agents; a pointer to a live pointer.
        hsa.check(call, "hsa_amd_memory_lock", unsafe {
            (hsa.functions.memory_lock)(
                host.cast(),
                bytes,
                agents.as_mut_ptr(),
                agents.len() as i32,
                &mut mapped,
            )
        })?;
        let address = mapped.addr() as u64;
        pinned.insert(start, Pinned { bytes, device: address, owner: Owner::Caller });
        Ok(PinnedAllocation { host: pointer, device: DevicePtr(address), bytes })
    }

    /// Whether pinned memory of a kind begins at an address of the host.
    pub(crate) fn begins_at(&self, host: u64, kind: Kind) -> bool {
        self.read().get(&host).is_some_and(|found| found.owner.kind() == kind)
    }

    /// Unpins memory that nothing uses any more, and frees it unless it is the caller's.
    pub(crate) fn unpin(&self, call: &'static str, hsa: &'static Hsa, host: u64) -> DriverResult<()> {
        let Some(found) = self.write().remove(&host) else { return Ok(()) };
        match found.owner {
            Owner::Driver(_) | Owner::Managed(_) => Ok(()),
            // SAFETY: memory that `pin` has locked at this address.
            Owner::Caller => hsa.check(call, "hsa_amd_memory_unlock", unsafe {
                (hsa.functions.memory_unlock)(ptr::with_exposed_provenance_mut(host as usize))
            }),
        }
    }

    /// The address for devices of a range of the host's memory, if all of it is pinned.
    #[inline]
    pub(crate) fn device_address(&self, host: *const u8, bytes: usize) -> Option<u64> {
        let address = host.addr() as u64;
        let pinned = self.read();
        let (start, found) = pinned.range(..=address).next_back()?;
        let offset = address - start;
        let room = (found.bytes as u64).checked_sub(offset)?;
        (bytes as u64 <= room && room > 0).then_some(found.device + offset)
    }

    /// The address for the host of pinned memory, by that for devices.
    pub(crate) fn host_address(&self, device: DevicePtr, bytes: usize) -> Option<*const u8> {
        let pinned = self.read();
        let (host, found) = pinned.iter().find(|(_, found)| {
            device.0 >= found.device && device.0 + bytes as u64 <= found.device + found.bytes as u64
        })?;
        Some(ptr::with_exposed_provenance((host + (device.0 - found.device)) as usize))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<u64, Pinned>> {
        self.pinned.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<u64, Pinned>> {
        self.pinned.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocation {
    fn let_access(&mut self, call: &'static str, owner: Agent, accessor: Agent) -> DriverResult<()> {
        if self.accessors.contains(&accessor) || owner == accessor {
            return Ok(());
        }
        // The list replaces the one before.
        let mut agents = self.accessors.clone();
        agents.extend([owner, accessor]);
        self.block.allow(call, &agents)?;
        self.accessors.push(accessor);
        Ok(())
    }
}
