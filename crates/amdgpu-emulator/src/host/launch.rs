//! The dispatch ABI: the contents of registers and memory when a kernel starts.
//!
//! Sources: LLVM AMDGPU usage, "Initial Kernel Execution State", "Kernarg Segment", "Code Object V5 Metadata"; the HSA
//! runtime specification for the AQL packet and `amd_queue_t`.

use std::sync::Arc;

use amdgpu_isa::Target;
use code_object::occupancy::{self, LdsCapacity, Occupancy};
use code_object::{
    ArgSignature, FeatureSetting, HiddenArg, KernelDescriptor, KernelSignature, TargetId, ValueKind,
    WorkitemIds,
};
use kernel_services::Printer;

use crate::exec::inst::{Code, Host};
use crate::host::config::{Interrupt, MachineConfig};
use crate::host::program;
use crate::host::services::{self, PRINTF_BYTES, Print};
use crate::host::spin::VectorCount;
use crate::memory::apertures::{PRIVATE_BASE_HI, SCRATCH_BASE, SHARED_BASE_HI};
use crate::memory::bounds::Bounds;
use crate::memory::lds::max_lds;
use crate::memory::{AddressSpace, DispatchMemory};
use crate::report::error::{Error, Result};
use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, Mode, POOL, Wave};

/// The largest number of work-items of a workgroup.
pub const MAX_BLOCK: u32 = 1024;
/// The most private memory of a wave in bytes: the number that the hardware can address, in round figures. (LLVM's
/// `GCNSubtarget::getMaxWaveScratchSize`: 2^13 - 1 units of 1 KiB, on gfx11 2^15 - 1 of 256 bytes.)
const MAX_WAVE_SCRATCH: u32 = 8 << 20;
/// The size in bytes of the code at the entry that loads the preloaded kernel arguments, for firmware that can't
/// preload. The emulator skips it.
const PRELOAD_PROLOGUE: u64 = 256;

/// The guest address of a dispatch's own memory, which has the kernarg segment, the packet and the queue. It is below
/// all device allocations.
const BLOCK_BASE: u64 = 0x0f00_0000_0000;
const PACKET: u64 = BLOCK_BASE;
const QUEUE: u64 = BLOCK_BASE + 0x100;
const KERNARG: u64 = BLOCK_BASE + 0x400;

/// Describes one dispatch of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    /// The number of the kernel in the program, from
    /// [`LoadedProgram::kernel_index`](crate::LoadedProgram::kernel_index).
    pub kernel: usize,
    /// The number of workgroups along x, y and z. If one is 0, nothing runs.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup along x, y and z; at most [`MAX_BLOCK`] in all.
    pub block: [u32; 3],
    /// Bytes of LDS in addition to what the kernel declares.
    pub dynamic_lds: u32,
    /// The explicit arguments, each at its offset in the kernarg segment. If the bytes reach the hidden arguments, the
    /// emulator overwrites them there.
    pub kernarg: &'a [u8],
    /// Whether the kernel is told that its workgroups can wait for each other (`cooperative_groups::grid_group::is_valid`).
    /// They can in any dispatch: the emulator gives each workgroup that waits its turn.
    pub cooperative: bool,
}

/// Where a queue has what a kernel gets: a kernel dispatch packet of HSA's, which the host has written with all arguments, the hidden ones
/// among them. The addresses are those of the machine's memory.
#[derive(Clone, Debug)]
pub struct QueuePacket {
    /// The address of the packet.
    pub packet: u64,
    /// The address of the queue's `amd_queue_t`.
    pub queue: u64,
    /// The address of the kernarg segment.
    pub kernarg: u64,
    /// Called when a wave interrupts the host (`s_sendmsg`), as it does after it has written a signal.
    pub on_message: fn(),
    /// Ends the dispatch, as when the queue is destroyed. It takes the place of the machine's own
    /// [`interrupt`](MachineConfig::interrupt).
    pub stop: Interrupt,
}

/// Interrupts the host, which serves what it finds.
struct Interrupting(fn());

impl Host for Interrupting {
    fn serve(&self) {
        (self.0)();
    }
}

/// Whether SRAM-ECC is on: as the code says, or else the device. gfx942 and gfx950 always have it, gfx11 never.
fn has_sram_ecc(code: &TargetId, target: Target, device: bool) -> bool {
    match (target, code.sramecc) {
        (Target::Gfx942 | Target::Gfx950, _) => true,
        (Target::Gfx11 | Target::Gfx115 | Target::Gfx12 | Target::Gfx103, _) => false,
        (Target::Gfx90a, FeatureSetting::On) => true,
        (Target::Gfx90a, FeatureSetting::Off) => false,
        (Target::Gfx90a, FeatureSetting::Any | FeatureSetting::Unsupported) => device,
    }
}

/// Returns the number of lanes of a kernel's waves. Only RDNA has waves of 32.
pub(super) fn lanes_of_waves(k: &KernelSignature, target: Target) -> Result<u32> {
    match (k.descriptor.wave32(), target.is_rdna()) {
        (false, _) => Ok(LANES as u32),
        (true, true) => Ok(32),
        (true, false) => Err(invalid(
            k,
            format!("it is compiled for waves of 32 lanes; those of {} have 64", target.processor()),
        )),
    }
}

fn invalid(k: &KernelSignature, reason: String) -> Error {
    Error::InvalidLaunch { kernel: k.name.clone(), reason }
}

/// Checks the sizes of the grid and of the workgroups. Returns the number of waves of a whole workgroup. Each has `lanes`.
fn check_dims(k: &KernelSignature, d: &Dispatch<'_>, remainder: [u32; 3], lanes: u32) -> Result<u32> {
    let size = d.block.iter().try_fold(1u32, |n, b| n.checked_mul(*b)).unwrap_or(u32::MAX);
    if size == 0 || size > MAX_BLOCK {
        return Err(invalid(k, format!("a block of {:?} work-items; 1 to {MAX_BLOCK} are allowed", d.block)));
    }
    if (0..3).any(|n| d.grid[n].checked_mul(d.block[n]).is_none()) {
        return Err(invalid(
            k,
            format!("a grid of {:?} x {:?} work-items is above 2^32 - 1", d.grid, d.block),
        ));
    }
    if (0..3).any(|n| remainder[n] >= d.block[n]) {
        return Err(invalid(
            k,
            format!("partial workgroups of {remainder:?} work-items, and whole ones of {:?}", d.block),
        ));
    }
    Ok(size.div_ceil(lanes))
}

/// Returns the bytes of a workgroup's LDS: whole dwords, because compilers replace an atomic on the last byte or half with one on
/// its dword.
fn lds_bytes(k: &KernelSignature, d: &Dispatch<'_>, target: Target, config: &MachineConfig) -> Result<u32> {
    // Code for a generic processor runs on devices with more LDS than its own target has.
    let most = config.lds_bytes.unwrap_or(max_lds(target));
    let bytes =
        k.group_segment_fixed_size.checked_add(d.dynamic_lds).and_then(|b| b.checked_next_multiple_of(4));
    bytes.filter(|bytes| *bytes <= most).ok_or_else(|| {
        invalid(
            k,
            format!(
                "{} bytes of static and {} of dynamic LDS; at most {most} in all are allowed",
                k.group_segment_fixed_size, d.dynamic_lds
            ),
        )
    })
}

/// The private memory of each lane.
struct PrivateMemory {
    bytes: u32,
    /// The bytes of it that are for a dynamic stack.
    dynamic_stack: u32,
}

impl PrivateMemory {
    fn of(k: &KernelSignature, config: &MachineConfig, lanes: u32) -> Result<PrivateMemory> {
        let most = MAX_WAVE_SCRATCH / lanes;
        let is_dynamic = k.uses_dynamic_stack || k.descriptor.uses_dynamic_stack();
        let dynamic_stack = if is_dynamic { config.dynamic_stack } else { 0 };
        let bytes = k
            .private_segment_fixed_size
            .checked_add(dynamic_stack)
            .and_then(|b| b.checked_next_multiple_of(16))
            .filter(|bytes| *bytes <= most);
        let bytes = bytes.ok_or_else(|| {
            invalid(
                k,
                format!(
                    "{} bytes of private memory and {dynamic_stack} of dynamic stack for each work-item; at most \
                     {most} are allowed",
                    k.private_segment_fixed_size
                ),
            )
        })?;
        Ok(PrivateMemory { bytes, dynamic_stack })
    }
}

/// The guest addresses that hidden arguments have: of what a dispatch's own memory has behind the kernarg segment, and of the device's
/// heap. 0 is what the kernel does not ask for.
struct Layout {
    hostcall: u64,
    printf: u64,
    heap: u64,
}

/// Where a kernel finds its packet, queue and arguments.
#[derive(Clone, Copy)]
struct Places {
    packet: u64,
    queue: u64,
    kernarg: u64,
}

/// The memory that a dispatch has for itself, with the buffers through which the kernel calls the host.
struct OwnMemory {
    block: Arc<DispatchMemory>,
    places: Places,
    host: Option<Arc<dyn Host>>,
    printf: Option<Print>,
}

impl OwnMemory {
    /// None: what the kernel gets is in the memory of the queue.
    fn of_queue(at: &QueuePacket) -> Result<OwnMemory> {
        let QueuePacket { packet, queue, kernarg, on_message, .. } = *at;
        Ok(OwnMemory {
            block: Arc::new(DispatchMemory::new(BLOCK_BASE, 0)?),
            places: Places { packet, queue, kernarg },
            host: Some(Arc::new(Interrupting(on_message))),
            printf: None,
        })
    }

    /// The memory with all that the kernel gets. `waves` is the number of waves of a whole workgroup.
    fn filled(
        program: &program::Inner,
        k: &KernelSignature,
        d: &Dispatch<'_>,
        remainder: [u32; 3],
        [waves, lds, scratch]: [u32; 3],
        (space, printer): (&Arc<AddressSpace>, &Printer),
    ) -> Result<OwnMemory> {
        let hidden = k.hidden_args();
        let asks = |kind| hidden.iter().any(|arg| arg.kind == ValueKind::Hidden(kind));
        // Compilers load kernel arguments with wide loads, which may extend past the end.
        let kernarg_len = u64::from(k.kernarg_size).next_multiple_of(256) + 256;
        let hostcall_at = KERNARG + kernarg_len;
        let all_waves = d.grid.iter().fold(u64::from(waves), |n, g| n.saturating_mul((*g).into()));
        let calls_host = asks(HiddenArg::HostcallBuffer);
        let printf_at = hostcall_at + if calls_host { services::hostcall_bytes(all_waves) } else { 0 };
        let prints = asks(HiddenArg::PrintfBuffer);
        let printf_len = if prints { PRINTF_BYTES } else { 0 };
        let heap = if asks(HiddenArg::HeapV1) { space.device_heap()? } else { 0 };
        let layout = Layout { hostcall: hostcall_at, printf: printf_at, heap };
        let mut block = DispatchMemory::new(BLOCK_BASE, printf_at - BLOCK_BASE + printf_len)?;
        let bytes = block.bytes_mut();
        put(bytes, KERNARG, d.kernarg);
        write_hidden(hidden, d, remainder, &layout, bytes);
        write_packet(program, k, d, remainder, [lds, scratch], bytes);
        let block = Arc::new(block);
        let printf = prints.then(|| services::printing(&block, printf_at, program.object(), printer.clone()));
        let host =
            calls_host.then(|| services::hostcalls(&block, hostcall_at, all_waves, space, printer.clone()));
        let places = Places { packet: PACKET, queue: QUEUE, kernarg: KERNARG };
        Ok(OwnMemory { block, places, host, printf })
    }

    /// A dword of this memory, or of the machine's.
    fn load(&self, space: &AddressSpace, address: u64) -> Option<u32> {
        self.block.range().load_u32(address).or_else(|| {
            let mut dword = [0; 4];
            space.read(address, &mut dword).is_ok().then(|| u32::from_le_bytes(dword))
        })
    }
}

/// Returns the index of the kernel's first instruction.
pub(super) fn entry(program: &program::Inner, code: &Code, k: &KernelSignature) -> Result<u32> {
    let kd = &k.descriptor;
    let start = code.index_of(program.guest(kd.entry));
    let start = match kd.preload_length() {
        0 => start,
        _ => start.and_then(|_| code.index_of(program.guest(kd.entry) + PRELOAD_PROLOGUE)),
    };
    start.ok_or_else(|| {
        invalid(
            k,
            format!(
                "no instruction starts at its entry, {:#x}; compilers generate no code for a kernel that is excluded on a \
                 target",
                kd.entry
            ),
        )
    })
}

/// Returns the last dword of the buffer descriptor of private memory, whose swizzle is an index stride of as many elements as a wave has
/// lanes, with add_tid_enable (CDNA2 ISA, "Buffer resource descriptor"). On gfx10 it also has what ROCR writes in
/// `AqlQueue::FillBufRsrcWord3_Gfx10`: the components in their order, the format of 32 bits, `RESOURCE_LEVEL`, and no check of offsets.
fn scratch_word3(target: Target, lanes: u32) -> u64 {
    let swizzle = 1 << 23 | if lanes == 32 { 2 } else { 3 } << 21;
    swizzle | if target.is_gfx10() { 0x2101_4fac } else { 1 << 19 }
}

/// Returns the MODE with which each wave begins.
fn mode(kd: &KernelDescriptor, target: Target) -> Mode {
    let register = u32::from(kd.float_mode().bits()) | u32::from(kd.fp16_overflow()) << 23;
    match target.is_gfx12() {
        true => Mode::of_gfx12(register),
        false => Mode(register | u32::from(kd.dx10_clamp()) << 8 | u32::from(kd.ieee()) << 9),
    }
}

/// The SGPRs with which each wave begins.
struct UserSgprs {
    values: [u32; MOST_USER_SGPRS],
    count: usize,
}

/// The most user SGPRs that a kernel's descriptor can count.
const MOST_USER_SGPRS: usize = 32;

impl UserSgprs {
    /// Those that a descriptor asks for beyond the most are not among them.
    fn push(&mut self, values: impl IntoIterator<Item = u32>) {
        for value in values {
            if let Some(slot) = self.values.get_mut(self.count) {
                *slot = value;
                self.count += 1;
            }
        }
    }
}

/// Returns the SGPRs with which each wave begins. `load` reads a dword of the kernarg segment.
fn user_sgprs(
    kd: &KernelDescriptor,
    (target, lanes): (Target, u32),
    scratch: u32,
    places: Places,
    load: impl Fn(u64) -> Option<u32>,
) -> UserSgprs {
    let mut sgprs = UserSgprs { values: [0; MOST_USER_SGPRS], count: 0 };
    let mut push64 = |v: u64| sgprs.push([v as u32, (v >> 32) as u32]);
    if kd.private_segment_buffer() {
        push64(SCRATCH_BASE | 1 << 63);
        // num_records in bytes for all lanes.
        push64(u64::from(scratch * lanes) | scratch_word3(target, lanes) << 32);
    }
    for (enabled, value) in [
        (kd.dispatch_ptr(), places.packet),
        (kd.queue_ptr(), places.queue),
        (kd.kernarg_segment_ptr(), places.kernarg),
        (kd.dispatch_id(), 0),
        (kd.flat_scratch_init(), SCRATCH_BASE),
    ] {
        if enabled {
            push64(value);
        }
    }
    if kd.private_segment_size_sgpr() {
        sgprs.push([scratch]);
    }
    for n in 0..kd.preload_length() {
        let offset = u64::from(kd.preload_offset() + n) * 4;
        sgprs.push([load(places.kernarg + offset).unwrap_or(0)]);
    }
    // Those that the descriptor counts beyond what it asks for are 0, and fewer may be counted.
    let count = (kd.user_sgpr_count() as usize).min(MOST_USER_SGPRS);
    sgprs.values[count..].fill(0);
    UserSgprs { count, ..sgprs }
}

/// The initial state that all waves of a dispatch share.
pub(crate) struct DispatchSetup {
    pub(crate) decoded: Arc<program::Decoded>,
    pub(crate) block: Arc<DispatchMemory>,
    /// Serves the kernel's calls to the host.
    pub(crate) host: Option<Arc<dyn Host>>,
    /// Ends the dispatch from another thread.
    pub(crate) interrupt: Interrupt,
    pub(crate) printf: Option<Print>,
    /// The index of the first instruction.
    entry: u32,
    user_sgprs: UserSgprs,
    /// Which workgroup ids are in SGPRs, after the user SGPRs.
    ids: [bool; 3],
    /// Whether workgroup ids, and the wave's number, are in registers of the trap handler (LLVM, `FeatureArchitectedSGPRs`).
    ids_in_ttmp: bool,
    workgroup_info: bool,
    wave_offset: bool,
    mode: Mode,
    /// See [`Wave::d16_kept`].
    d16_kept: u32,
    /// The vector registers that the kernel has.
    pub(crate) vectors: VectorCount,
    grid: [u32; 3],
    block_size: [u32; 3],
    /// The work-items of the last workgroup along each axis; 0 for as many as the others have.
    remainder: [u32; 3],
    /// The work-items of each kind of workgroup, by the axes along which it is partial: x is bit 0.
    items: Arc<[WorkItems]>,
    /// Whether the address of private memory is in the SGPRs of `FLAT_SCRATCH`. gfx11, which also has architected flat scratch,
    /// has it in registers that only `s_getreg` reads.
    flat_scratch: bool,
    /// Whether the SGPR with the workgroup's size has the wave's number, too.
    wave_number: bool,
    /// How many registers work-items have for their ids: v0 alone, with 10 bits for each axis, or on gfx10 one for each axis (LLVM,
    /// `FeaturePackedTID`).
    id_registers: u16,
    /// The size of the workgroup's LDS in bytes.
    pub(crate) lds: u32,
    /// The number of these bytes that are dynamic LDS.
    pub(crate) dynamic_lds: u32,
    /// The size of each lane's private memory in bytes.
    pub(crate) scratch: u32,
    /// The number of these bytes that are for a dynamic stack.
    pub(crate) dynamic_stack: u32,
}

/// The work-items of a workgroup.
pub(crate) struct WorkItems {
    count: u32,
    /// The ids of each wave, as v0 has them.
    pub(crate) waves: Box<[Lanes]>,
}

impl DispatchSetup {
    /// `at` is where the kernel finds what it gets; `None` if the dispatch has memory of its own for that.
    pub(crate) fn new(
        program: &program::Inner,
        config: &MachineConfig,
        space: &Arc<AddressSpace>,
        d: &Dispatch<'_>,
        remainder: [u32; 3],
        at: Option<&QueuePacket>,
    ) -> Result<DispatchSetup> {
        let kernels = program.object().kernels();
        let Some(k) = kernels.get(d.kernel) else {
            let text = format!("kernel number {} of a program with {} kernels", d.kernel, kernels.len());
            return Err(Error::InvalidArgument(text));
        };
        let (kd, target) = (&k.descriptor, program.target());
        let lanes = lanes_of_waves(k, target)?;
        let waves = check_dims(k, d, remainder, lanes)?;
        let lds = lds_bytes(k, d, target, config)?;
        if d.kernarg.len() > k.kernarg_size as usize {
            return Err(invalid(
                k,
                format!("{} bytes of arguments; the kernarg segment has {}", d.kernarg.len(), k.kernarg_size),
            ));
        }
        let private = PrivateMemory::of(k, config, lanes)?;
        let memory = match at {
            Some(at) => OwnMemory::of_queue(at)?,
            None => {
                let to = (space, &config.printer);
                OwnMemory::filled(program, k, d, remainder, [waves, lds, private.bytes], to)?
            }
        };
        let decoded = Arc::clone(program.decoded(d.kernel)?);
        Ok(DispatchSetup {
            entry: entry(program, &decoded.code, k)?,
            decoded,
            user_sgprs: user_sgprs(kd, (target, lanes), private.bytes, memory.places, |address| {
                memory.load(space, address)
            }),
            block: memory.block,
            host: memory.host,
            interrupt: at.map_or(&config.interrupt, |at| &at.stop).clone(),
            printf: memory.printf,
            ids: match target.is_gfx12() {
                true => [false; 3],
                false => [kd.enable_workgroup_id_x(), kd.enable_workgroup_id_y(), kd.enable_workgroup_id_z()],
            },
            ids_in_ttmp: target.is_gfx12(),
            workgroup_info: kd.enable_workgroup_info(),
            // Architected flat scratch needs no offset.
            wave_offset: kd.enable_private_segment() && matches!(target, Target::Gfx90a | Target::Gfx103),
            mode: mode(kd, target),
            d16_kept: if has_sram_ecc(program.object().target(), target, config.sram_ecc) { 0 } else { !0 },
            vectors: vectors(kd, target),
            grid: d.grid,
            block_size: d.block,
            remainder,
            items: program.items(Shape {
                block: d.block,
                remainder,
                lanes,
                mask: match kd.enable_vgpr_workitem_id() {
                    WorkitemIds::X => 0x3ff,
                    WorkitemIds::XY => 0xf_ffff,
                    WorkitemIds::XYZ | WorkitemIds::Undefined => 0x3fff_ffff,
                },
            }),
            flat_scratch: target.has_gfx942_instructions(),
            wave_number: target != Target::Gfx90a,
            id_registers: match (target.is_gfx10(), kd.enable_vgpr_workitem_id()) {
                (false, _) | (_, WorkitemIds::X) => 1,
                (true, WorkitemIds::XY) => 2,
                (true, WorkitemIds::XYZ | WorkitemIds::Undefined) => 3,
            },
            lds,
            dynamic_lds: d.dynamic_lds,
            scratch: private.bytes,
            dynamic_stack: private.dynamic_stack,
        })
    }

    /// The work-items of a workgroup.
    pub(crate) fn items_of(&self, workgroup: [u32; 3]) -> &WorkItems {
        let partial = |n: &usize| self.remainder[*n] > 0 && workgroup[*n] + 1 == self.grid[*n];
        let kind: usize = (0..3).filter(partial).map(|n| 1 << n).sum();
        &self.items[kind]
    }

    /// The number of waves of all workgroups.
    pub(crate) fn all_waves(&self) -> u64 {
        all_waves(&self.items, self.grid, self.remainder)
    }

    /// The number of lanes of each wave.
    pub(crate) fn wave_lanes(&self) -> u32 {
        if self.decoded.code.wave32 { 32 } else { LANES as u32 }
    }

    /// Returns how many workgroups and waves of the kernel a compute unit holds at once; `None` if its limits are not
    /// known.
    pub(crate) fn occupancy(&self, program: &program::Inner, kernel: usize) -> Option<Occupancy> {
        let kernel = program.object().kernels().get(kernel)?;
        let block = self.block_size.iter().product();
        let dynamic = self.lds.saturating_sub(kernel.group_segment_fixed_size);
        occupancy::of(program.object().target().processor.name(), kernel, block, dynamic)
            .ok()?
            .first()
            .copied()
    }

    /// The bytes of LDS that a workgroup can access: with [`Bounds::Pages`] whole granules, which the hardware allocates and checks
    /// ([`LdsCapacity`]: 512 bytes, on gfx950 1,280 and on gfx11 1,024).
    pub(crate) fn accessible_lds(&self, bounds: Bounds) -> u32 {
        match bounds {
            Bounds::Pages if self.lds > 0 => LdsCapacity::of(self.decoded.code.target.processor())
                .map_or(self.lds, |capacity| capacity.taken(self.lds.into()) as u32),
            _ => self.lds,
        }
    }

    /// Sets a wave to its state at the kernel's entry.
    pub(crate) fn init_wave(&self, w: &mut Wave, id: u32, workgroup: [u32; 3]) {
        if w.pool_of != self.decoded.code.id {
            w.pool_of = self.decoded.code.id;
            let pool = &self.decoded.code.pool;
            w.r.s[usize::from(POOL)..usize::from(POOL) + pool.len()].copy_from_slice(pool);
        }
        w.r.s[..usize::from(POOL)].fill(0);
        let lanes = self.wave_lanes();
        let [mut vgprs, agprs] = self.vectors.rows();
        // The first ones get ids.
        vgprs.start = vgprs.end.min(self.id_registers.into());
        for rows in [vgprs, agprs].into_iter().filter(|rows| !rows.is_empty()) {
            match lanes {
                // As bytes, which is one call.
                64 => bytemuck::cast_slice_mut::<Lanes, u8>(&mut w.r.v[rows]).fill(0),
                _ => w.r.v[rows].iter_mut().for_each(|row| row.0[..CHUNKS / 2].fill([0; CHUNK])),
            }
        }
        let items = self.items_of(workgroup);
        let ids = &items.waves[id as usize];
        match self.id_registers {
            1 => *w.v_mut(0) = *ids,
            registers => (0..registers).for_each(|n| {
                *w.v_mut(n) = Lanes(ids.0.map(|chunk| chunk.map(|id| id >> (10 * n) & 0x3ff)));
            }),
        }
        w.scratch.reset(self.scratch);
        // A wave of an earlier workgroup may have signalled.
        w.signalled = None;
        w.id = id;
        w.next = self.entry;
        w.mode = self.mode;
        w.trapsts = 0;
        w.count = 0;
        w.wait = None;
        w.signalled = None;
        w.d16_kept = self.d16_kept;

        let UserSgprs { values, count } = &self.user_sgprs;
        // What is behind them is written next, or 0.
        w.r.s[..MOST_USER_SGPRS].copy_from_slice(values);
        let mut at = *count as u16;
        let mut push = |w: &mut Wave, value: u32| {
            w.set_s32(at, value);
            at += 1;
        };
        for n in 0..3 {
            if self.ids[n] {
                push(w, workgroup[n]);
            }
        }
        if self.workgroup_info {
            // TG_SIZE. Bit 31 is set in the first wave of the workgroup. gfx942 also gives the wave's number (CDNA3 ISA,
            // 3.13), and so does gfx11 (Mesa's ac_nir.c takes `load_subgroup_id` from these bits from GFX10.3 on); LLVM's
            // AMDGPUUsage has zeros there.
            let number = if self.wave_number { id << 20 } else { 0 };
            push(w, items.waves.len() as u32 | number | u32::from(id == 0) << 31);
        }
        if self.wave_offset {
            // Each wave has a private memory of its own, which begins at the base.
            push(w, 0);
        }
        if self.ids_in_ttmp {
            use crate::state::wave::sreg::{TTMP7, TTMP8, TTMP9};
            let [x, y, z] = workgroup;
            w.set_s32(TTMP9, x);
            w.set_s32(TTMP7, y | z << 16);
            // The wave's number (LLVM, `SITargetLowering::lowerWaveID`).
            w.set_s32(TTMP8, id << 25);
        }
        if self.flat_scratch {
            w.set_s64(crate::state::wave::sreg::FLAT_SCRATCH, SCRATCH_BASE);
        }

        w.all = u64::MAX >> (LANES as u32 - lanes);
        let active = items.count - (id * lanes).min(items.count);
        w.set_exec(if active >= lanes { w.all } else { (1 << active) - 1 });
    }
}

/// What the work-items of a dispatch's workgroups depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    block: [u32; 3],
    remainder: [u32; 3],
    /// The number of lanes of a wave.
    lanes: u32,
    /// The bits of v0 in which the kernel gets ids.
    mask: u32,
}

/// Returns the work-items of each kind of workgroup: whole ones alone, or all combinations of axes. A kind that there is not
/// has none.
pub(super) fn kinds_of_workgroups(Shape { block, remainder, lanes, mask }: Shape) -> Arc<[WorkItems]> {
    let kinds = if remainder == [0; 3] { 1 } else { 8 };
    let of_kind = |kind: usize| {
        let size = std::array::from_fn(|n| if kind >> n & 1 == 1 { remainder[n] } else { block[n] });
        WorkItems { count: size.iter().product(), waves: item_ids(size, lanes, mask) }
    };
    (0..kinds).map(of_kind).collect()
}

/// The number of waves of all workgroups of a grid, by their kinds.
fn all_waves(items: &[WorkItems], grid: [u32; 3], remainder: [u32; 3]) -> u64 {
    let of_kind = |(kind, items): (usize, &WorkItems)| {
        let workgroups = (0..3).map(|n| match (kind >> n & 1 == 1, remainder[n] > 0) {
            (false, has_partial) => u64::from(grid[n].saturating_sub(has_partial.into())),
            (true, _) => grid[n].min(1).into(),
        });
        workgroups.fold(items.waves.len() as u64, u64::saturating_mul)
    };
    items.iter().enumerate().map(of_kind).sum()
}

/// Returns what v0 has at the start of each wave of a workgroup: the ids along x, y and z, in 10 bits each, of which those
/// of `mask` are kept. Each wave has `lanes`. Lanes without a work-item have 0.
fn item_ids(block: [u32; 3], lanes: u32, mask: u32) -> Box<[Lanes]> {
    let [bx, by, bz] = block;
    let mut waves = vec![Lanes::ZERO; (bx * by * bz).div_ceil(lanes) as usize].into_boxed_slice();
    let mut lanes = waves.iter_mut().flat_map(|wave| &mut wave.flat_mut()[..lanes as usize]);
    for row in 0..by * bz {
        let (y, z) = (row % by, row / by);
        for (x, lane) in (0..bx).zip(&mut lanes) {
            *lane = (x | y << 10 | z << 20) & mask;
        }
    }
    waves
}

/// Returns the vector registers that a kernel has.
fn vectors(kd: &KernelDescriptor, target: Target) -> VectorCount {
    if target.is_rdna() {
        return VectorCount { vgprs: kd.vgprs(false).min(256) as u16, agprs: 0 };
    }
    let (total, accum) = (kd.vgprs(true).min(512) as u16, kd.accum_offset().min(256) as u16);
    VectorCount { vgprs: total.min(accum), agprs: total.saturating_sub(accum) }
}

/// Writes to an address of a dispatch's own memory, of which `bytes` are the bytes. What is not all inside is not written.
fn put(bytes: &mut [u8], address: u64, data: &[u8]) {
    let at = (address - BLOCK_BASE) as usize;
    if let Some(to) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..data.len())) {
        to.copy_from_slice(data);
    }
}

/// Writes the hidden arguments that the metadata lists.
fn write_hidden(
    hidden: &[ArgSignature],
    d: &Dispatch<'_>,
    remainder: [u32; 3],
    layout: &Layout,
    block: &mut [u8],
) {
    // Partial workgroups are not among them.
    let blocks = |n: usize| u64::from(d.grid[n] - u32::from(remainder[n] > 0 && d.grid[n] > 0));
    let dims = (1..=3).rev().find(|n| d.grid[n - 1] > 1 || d.block[n - 1] > 1).unwrap_or(1);
    for arg in hidden {
        let ValueKind::Hidden(hidden) = arg.kind else { continue };
        let value: u64 = match hidden {
            HiddenArg::BlockCountX => blocks(0),
            HiddenArg::BlockCountY => blocks(1),
            HiddenArg::BlockCountZ => blocks(2),
            HiddenArg::GroupSizeX => d.block[0].into(),
            HiddenArg::GroupSizeY => d.block[1].into(),
            HiddenArg::GroupSizeZ => d.block[2].into(),
            HiddenArg::RemainderX => remainder[0].into(),
            HiddenArg::RemainderY => remainder[1].into(),
            HiddenArg::RemainderZ => remainder[2].into(),
            HiddenArg::GridDims => dims as u64,
            HiddenArg::DynamicLdsSize => d.dynamic_lds.into(),
            HiddenArg::PrivateBase => PRIVATE_BASE_HI.into(),
            HiddenArg::SharedBase => SHARED_BASE_HI.into(),
            HiddenArg::QueuePtr => QUEUE,
            HiddenArg::HostcallBuffer => layout.hostcall,
            HiddenArg::PrintfBuffer => layout.printf,
            HiddenArg::HeapV1 => layout.heap,
            // What clr writes for a launch on one device.
            HiddenArg::MultigridSyncArg => d.cooperative.into(),
            // Offsets are 0 in HIP; there is no device queue.
            _ => 0,
        };
        let bytes = value.to_le_bytes();
        let len = (arg.size as usize).min(bytes.len());
        put(block, KERNARG + u64::from(arg.offset), &bytes[..len]);
    }
}

/// Writes the AQL kernel dispatch packet, and the fields of `amd_queue_t` that kernels read.
fn write_packet(
    program: &program::Inner,
    k: &KernelSignature,
    d: &Dispatch<'_>,
    remainder: [u32; 3],
    [lds, scratch]: [u32; 2],
    block: &mut [u8],
) {
    let mut packet = [0; 64];
    let mut field = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
    // HSA_PACKET_TYPE_KERNEL_DISPATCH, and the number of dimensions.
    field(0, &2u16.to_le_bytes());
    field(2, &3u16.to_le_bytes());
    for n in 0..3 {
        field(4 + 2 * n, &(d.block[n] as u16).to_le_bytes());
        let missing = if remainder[n] > 0 { d.block[n] - remainder[n] } else { 0 };
        field(12 + 4 * n, &d.grid[n].wrapping_mul(d.block[n]).wrapping_sub(missing).to_le_bytes());
    }
    field(24, &scratch.to_le_bytes());
    field(28, &lds.to_le_bytes());
    field(32, &program.guest(k.descriptor.address).to_le_bytes());
    field(40, &KERNARG.to_le_bytes());
    put(block, PACKET, &packet);
    // amd_queue_t: group_segment_aperture_base_hi, private_segment_aperture_base_hi.
    put(block, QUEUE + 0x40, &SHARED_BASE_HI.to_le_bytes());
    put(block, QUEUE + 0x44, &PRIVATE_BASE_HI.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_partial_workgroups_are_counted() {
        let waves = |grid, block, remainder| {
            all_waves(&kinds_of_workgroups(Shape { block, remainder, lanes: 64, mask: !0 }), grid, remainder)
        };
        assert_eq!(waves([3, 2, 1], [128, 1, 1], [0; 3]), 12);
        // Two of 128, one of 44.
        assert_eq!(waves([3, 1, 1], [128, 1, 1], [44, 0, 0]), 5);
        // 64 x 4: four of 4 waves; 1 x 4: two of 1; 64 x 3: two of 3; 1 x 3: one of 1.
        assert_eq!(waves([3, 3, 1], [64, 4, 1], [1, 3, 0]), 4 * 4 + 2 + 2 * 3 + 1);
        assert_eq!(waves([0, 1, 1], [64, 1, 1], [0; 3]), 0);
    }
}
