//! A GPU as HSA has it: its agent, its pools, and the fault by which it was lost, if there was one. It is what queues, memory and markers know of
//! their device.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::abi::{Agent, Pool, agent_info, pool_info};
use crate::load::{self, Hsa};
use crate::signals::Counted;
use hip_driver::{DeviceId, DeviceProperties, DriverError, DriverResult, ErrorCode};

/// Locks a mutex; what a panic left is as good as ever.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pools of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPools {
    /// Memory that the host and devices see alike at any time.
    pub(crate) fine: Pool,
    /// The same, for kernel arguments.
    pub(crate) kernarg: Pool,
}

/// What all GPUs share.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) hsa: &'static Hsa,
    pub(crate) cpu: Agent,
    pub(crate) gpus: Vec<Agent>,
    pub(crate) pools: HostPools,
}

/// The fault by which a GPU was lost.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
}

/// A GPU. It lives forever.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) id: DeviceId,
    pub(crate) agent: Agent,
    pub(crate) hsa: &'static Hsa,
    pub(crate) system: &'static System,
    pub(crate) properties: DeviceProperties,
    /// The pool of the GPU's own memory.
    pub(crate) pool: Pool,
    pub(crate) most_packets: u32,
    /// The signals of markers that nobody holds.
    pub(crate) spare: Mutex<Vec<&'static Counted>>,
    lost: AtomicBool,
    fault: OnceLock<Fault>,
    /// What kernels are told of the first queue: its address, and its apertures.
    first_queue: OnceLock<(u64, [u32; 2])>,
    /// The names of the loaded kernels, by the address of their descriptors.
    names: Mutex<HashMap<u64, Arc<str>>>,
}

impl System {
    /// Finds the agents.
    pub(crate) fn new(hsa: &'static Hsa) -> Result<System, String> {
        let agents =
            hsa.agents().map_err(|status| format!("hsa_iterate_agents: {}", hsa.describe(status)))?;
        let cpu = agents.iter().copied().find(|agent| hsa.is_cpu(*agent)).ok_or("HSA names no host")?;
        let pool = |flags| hsa.find_pool(cpu, flags).map(|(pool, _)| pool);
        let fine = pool(pool_info::FINE_GRAINED).ok_or("the host has no fine-grained memory pool")?;
        let kernarg = pool(pool_info::KERNARG).ok_or("the host has no pool for kernel arguments")?;
        let gpus = agents.into_iter().filter(|agent| hsa.is_gpu(*agent)).collect();
        Ok(System { hsa, cpu, gpus, pools: HostPools { fine, kernarg } })
    }
}

impl Gpu {
    pub(crate) fn new(system: &'static System, id: DeviceId, agent: Agent) -> DriverResult<Gpu> {
        let hsa = system.hsa;
        let pool = hsa.find_pool(agent, pool_info::COARSE_GRAINED);
        let pool = pool.or_else(|| hsa.find_pool(agent, pool_info::FINE_GRAINED));
        let (pool, bytes) = pool.ok_or_else(|| {
            let detail = format!("{id} has no memory pool");
            DriverError::with_detail("hipGetDeviceCount", ErrorCode::INVALID_DEVICE, detail)
        })?;
        Ok(Gpu {
            id,
            agent,
            hsa,
            system,
            properties: hsa.properties(agent, bytes)?,
            pool,
            most_packets: hsa.agent(agent, agent_info::QUEUE_MAX_SIZE).unwrap_or(4096),
            spare: Mutex::default(),
            lost: AtomicBool::new(false),
            fault: OnceLock::new(),
            first_queue: OnceLock::new(),
            names: Mutex::default(),
        })
    }

    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Fails if the GPU is lost, or this process is a child of the one that opened it.
    #[inline]
    pub(crate) fn check(&self, call: &'static str) -> DriverResult<()> {
        if load::is_forked_child() {
            return Err(load::forked(call));
        }
        if self.is_lost() { Err(self.fault(call)) } else { Ok(()) }
    }

    /// The error of a call on a lost GPU.
    #[cold]
    pub(crate) fn fault(&self, call: &'static str) -> DriverError {
        match self.fault.get() {
            Some(fault) => DriverError::with_detail(call, fault.code, &*fault.text),
            None => DriverError::with_detail(call, ErrorCode::LAUNCH_FAILURE, "the queue has stopped"),
        }
    }

    /// Marks the GPU as lost: every later call fails. Only the first fault is kept; returns whether this is it.
    pub(crate) fn lose(&self, fault: Fault) -> bool {
        log::error!("{} is lost: {}: {}", self.id, fault.code, fault.text);
        let is_first = self.fault.set(fault).is_ok();
        self.lost.store(true, Ordering::Release);
        is_first
    }

    /// What was in flight, in words.
    pub(crate) fn in_flight(&self, kernels: &[u64]) -> String {
        let names = lock(&self.names);
        let mut known: Vec<&str> =
            kernels.iter().filter_map(|object| names.get(object)).map(|name| &**name).collect();
        known.dedup();
        match known.len() {
            0 => String::new(),
            more @ 9.. => format!("; {more} kernels in flight, first {}", known[..8].join(", ")),
            _ => format!("; in flight: {}", known.join(", ")),
        }
    }

    /// Notes the name of a kernel, for reports; `None` forgets it.
    pub(crate) fn name_kernel(&self, object: u64, name: Option<&str>) {
        let mut names = lock(&self.names);
        match name {
            Some(name) => names.insert(object, name.into()),
            None => names.remove(&object),
        };
    }

    /// Notes what kernels are told of queues, by the first one.
    pub(crate) fn note_queue(&self, address: u64, apertures: [u32; 2]) {
        self.first_queue.get_or_init(|| (address, apertures));
    }

    /// The address that kernels have for their queue's. Packets of a graph may go to any queue, so that it is always the first one's: what
    /// kernels read there is the same of all.
    #[inline]
    pub(crate) fn queue_address(&self) -> u64 {
        self.first_queue.get().map_or(0, |first| first.0)
    }

    /// The upper halves of the addresses of LDS and of private memory, which all queues have alike.
    #[inline]
    pub(crate) fn apertures(&self) -> [u32; 2] {
        self.first_queue.get().map_or([0; 2], |first| first.1)
    }
}
