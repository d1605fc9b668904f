//! What HSA says of its agents and pools.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::abi::{Agent, ISA_NAME, ISA_NAME_LENGTH, Isa, PointerInfo, Pool, Status, agent_info, pool_info};
use crate::functions::Each;
use crate::load::Hsa;
use code_object::TargetId;
use hip_driver::{DeviceProperties, DriverError, DriverResult, ErrorCode};

/// The call in whose name devices are looked for.
const CALL: &str = "hipDeviceGetAttribute";

/// A type that an attribute may have: any bytes are a value of it.
///
/// # Safety
/// Any bytes are a value.
pub(crate) unsafe trait Plain: Copy + Default {}
// SAFETY: any bytes are a value.
unsafe impl Plain for u32 {}
// SAFETY: any bytes are a value.
unsafe impl Plain for u64 {}
// SAFETY: any bytes are values.
unsafe impl Plain for [u16; 3] {}
// SAFETY: any bytes are values.
unsafe impl Plain for [u32; 4] {}

impl Hsa {
    /// An attribute of an agent, which has the type `T`; `None` if it has none.
    pub(crate) fn agent<T: Plain>(&self, agent: Agent, attribute: u32) -> Option<T> {
        let mut value = T::default();
        // SAFETY: a live agent; the value of the attribute has this type (the caller's promise, as the constants are ours).
        let status =
            unsafe { (self.functions.agent_get_info)(agent, attribute, ptr::from_mut(&mut value).cast()) };
        (status == Status::SUCCESS).then_some(value)
    }

    /// A name of an agent, of at most 64 bytes.
    fn agent_name(&self, agent: Agent, attribute: u32) -> Option<String> {
        let mut bytes = [0u8; 65];
        // SAFETY: a live agent; names have 64 bytes.
        let status = unsafe { (self.functions.agent_get_info)(agent, attribute, bytes.as_mut_ptr().cast()) };
        let text = CStr::from_bytes_until_nul(&bytes).ok()?;
        (status == Status::SUCCESS).then(|| text.to_string_lossy().trim().to_owned())
    }

    fn pool<T: Plain>(&self, pool: Pool, attribute: u32) -> Option<T> {
        let mut value = T::default();
        // SAFETY: a live pool; the value of the attribute has this type.
        let status =
            unsafe { (self.functions.pool_get_info)(pool, attribute, ptr::from_mut(&mut value).cast()) };
        (status == Status::SUCCESS).then_some(value)
    }

    /// Whether programs may allocate from a pool.
    fn is_allocatable(&self, pool: Pool) -> bool {
        let mut allowed = 0u8;
        // SAFETY: a live pool; the value is a C bool, of one byte.
        let status = unsafe {
            (self.functions.pool_get_info)(pool, pool_info::ALLOC_ALLOWED, ptr::from_mut(&mut allowed).cast())
        };
        status == Status::SUCCESS && allowed != 0
    }

    /// The agent whose memory is at an address, code and variables of modules included; `None` if there is none.
    pub(crate) fn owner(&self, address: u64) -> Option<Agent> {
        let null = ptr::null_mut();
        let mut info = PointerInfo {
            size: size_of::<PointerInfo>() as u32,
            kind: 0,
            agent_base: null,
            host_base: null,
            bytes: 0,
            user_data: null,
            owner: Agent::default(),
            flags: 0,
        };
        let pointer = ptr::with_exposed_provenance(address as usize);
        // SAFETY: any address; a live struct of the size that it says; no list of agents is asked for.
        let status = unsafe {
            (self.functions.pointer_info)(pointer, &mut info, ptr::null(), ptr::null_mut(), ptr::null_mut())
        };
        (status == Status::SUCCESS && info.kind != 0).then_some(info.owner)
    }

    /// All agents.
    pub(crate) fn agents(&self) -> Result<Vec<Agent>, Status> {
        // SAFETY: the function calls the callback with each agent, and the data.
        collect(|each, data| unsafe { (self.functions.iterate_agents)(each, data) })
    }

    pub(crate) fn is_gpu(&self, agent: Agent) -> bool {
        self.agent::<u32>(agent, agent_info::DEVICE) == Some(agent_info::GPU)
    }

    pub(crate) fn is_cpu(&self, agent: Agent) -> bool {
        self.agent::<u32>(agent, agent_info::DEVICE) == Some(agent_info::CPU)
    }

    /// The first pool of an agent with these flags, from which programs may allocate, and its size.
    pub(crate) fn find_pool(&self, agent: Agent, flags: u32) -> Option<(Pool, u64)> {
        // SAFETY: a live agent; the function calls the callback with each pool, and the data.
        let pools =
            collect(|each, data| unsafe { (self.functions.agent_iterate_pools)(agent, each, data) }).ok()?;
        let fits = |pool: &Pool| {
            self.pool::<u32>(*pool, pool_info::SEGMENT) == Some(pool_info::GLOBAL)
                && self.pool::<u32>(*pool, pool_info::GLOBAL_FLAGS).is_some_and(|has| has & flags == flags)
                && self.is_allocatable(*pool)
        };
        let pool = pools.into_iter().find(fits)?;
        Some((pool, self.pool(pool, pool_info::SIZE).unwrap_or(0)))
    }

    /// The bytes of LDS of a compute unit.
    fn lds_bytes(&self, agent: Agent) -> Option<u64> {
        // SAFETY: as above.
        let pools =
            collect(|each, data| unsafe { (self.functions.agent_iterate_pools)(agent, each, data) }).ok()?;
        let is_lds = |pool: &Pool| self.pool::<u32>(*pool, pool_info::SEGMENT) == Some(pool_info::GROUP);
        self.pool(pools.into_iter().find(is_lds)?, pool_info::SIZE)
    }

    /// Whether kernels of an agent can be allowed to access a pool.
    pub(crate) fn can_access(&self, agent: Agent, pool: Pool) -> bool {
        let mut access = pool_info::NEVER;
        // SAFETY: live handles; the value is an enum of four bytes.
        let status = unsafe {
            (self.functions.agent_pool_get_info)(
                agent,
                pool,
                pool_info::ACCESS,
                ptr::from_mut(&mut access).cast(),
            )
        };
        status == Status::SUCCESS && access != pool_info::NEVER
    }

    /// The target of an agent: the first of its instruction sets, as others are generic ones.
    fn target(&self, agent: Agent) -> DriverResult<TargetId> {
        // SAFETY: as above.
        let isas =
            collect::<Isa>(|each, data| unsafe { (self.functions.agent_iterate_isas)(agent, each, data) })
                .map_err(|status| self.error(CALL, "hsa_agent_iterate_isas", status))?;
        let unknown = |text: &str| {
            DriverError::with_detail(
                CALL,
                ErrorCode::UNKNOWN,
                format!("HSA names an instruction set {text:?}"),
            )
        };
        let isa = *isas.first().ok_or_else(|| unknown("of no agent"))?;
        let mut bytes = 0u32;
        // SAFETY: a live handle; the length has four bytes.
        self.check(CALL, "hsa_isa_get_info_alt", unsafe {
            (self.functions.isa_get_info)(isa, ISA_NAME_LENGTH, ptr::from_mut(&mut bytes).cast())
        })?;
        let mut name = vec![0 as c_char; bytes as usize + 1];
        // SAFETY: a live handle; the name has as many bytes as were asked for, with its zero or without.
        self.check(CALL, "hsa_isa_get_info_alt", unsafe {
            (self.functions.isa_get_info)(isa, ISA_NAME, name.as_mut_ptr().cast())
        })?;
        // SAFETY: the last byte is 0.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy();
        let target = name.strip_prefix("amdgcn-amd-amdhsa--").unwrap_or(&name);
        target.parse().map_err(|_| unknown(&name))
    }

    /// The properties of a GPU with this much memory.
    pub(crate) fn properties(&self, agent: Agent, total_memory: u64) -> DriverResult<DeviceProperties> {
        use agent_info as info;
        let known = |attribute| self.agent::<u32>(agent, attribute).filter(|value| *value != 0);
        let needed = |attribute, name: &str| {
            known(attribute).ok_or_else(|| {
                DriverError::with_detail(
                    CALL,
                    ErrorCode::UNKNOWN,
                    format!("HSA does not say the agent's {name}"),
                )
            })
        };
        let target = self.target(agent)?;
        let name = self.agent_name(agent, info::PRODUCT_NAME).filter(|name| !name.is_empty());
        let bdf = self.agent::<u32>(agent, info::BDF).unwrap_or(0);
        let domain = self.agent::<u32>(agent, info::DOMAIN).unwrap_or(0);
        let threads = needed(info::WORKGROUP_MAX_SIZE, "largest workgroup")?;
        let block = self.agent::<[u16; 3]>(agent, info::WORKGROUP_MAX_DIM).unwrap_or([1024; 3]);
        Ok(DeviceProperties {
            name: name.or_else(|| self.agent_name(agent, info::NAME)).unwrap_or_default(),
            target,
            pci_bus_id: format!("{domain:04x}:{:02x}:{:02x}.{:x}", bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 7),
            total_memory,
            compute_units: needed(info::COMPUTE_UNITS, "number of compute units")?,
            wavefront_size: needed(info::WAVEFRONT_SIZE, "wave size")?,
            max_threads_per_block: threads,
            max_block: block.map(u32::from).map(|size| size.min(threads)),
            // As HIP has them. A packet counts work-items in 32 bits, too.
            max_grid: [i32::MAX as u32; 3],
            max_lds_per_block: self.lds_bytes(agent).unwrap_or(64 << 10) as u32,
            clock_khz: known(info::MAX_CLOCK_MHZ).map_or(0, |mhz| mhz * 1000),
            memory_clock_khz: known(info::MEMORY_CLOCK_MHZ).map(|mhz| mhz * 1000),
            memory_bus_bits: known(info::MEMORY_WIDTH),
            l2_bytes: self
                .agent::<[u32; 4]>(agent, info::CACHE_SIZE)
                .map(|sizes| sizes[1])
                .filter(|bytes| *bytes != 0),
            registers_per_block: None,
        })
    }
}

/// Collects the handles of an iteration.
fn collect<T: Copy>(iterate: impl FnOnce(Each<T>, *mut c_void) -> Status) -> Result<Vec<T>, Status> {
    unsafe extern "C" fn push<T: Copy>(handle: T, data: *mut c_void) -> Status {
        // SAFETY: the list below, which nothing else uses meanwhile.
        unsafe { &mut *data.cast::<Vec<T>>() }.push(handle);
        Status::SUCCESS
    }
    let mut all: Vec<T> = Vec::new();
    match iterate(push::<T>, ptr::from_mut(&mut all).cast()) {
        Status::SUCCESS | Status::BREAK => Ok(all),
        status => Err(status),
    }
}
