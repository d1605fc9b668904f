//! The state of one wave: registers, EXEC mask, mode, and the position in the program.

use bytemuck::{Pod, Zeroable};

use crate::state::bytes::Bytes;
use crate::state::gws::GwsWait;

/// The most lanes of a wave: those of a wave of 64. In a wave of 32 the upper half is never active.
pub const LANES: usize = 64;
/// The number of lanes that executors process at a time: two AVX2 registers, or one of AVX-512.
pub(crate) const CHUNK: usize = 16;
/// The number of chunks of a vector register.
pub(crate) const CHUNKS: usize = LANES / CHUNK;

/// One vector register: a dword for each lane, in chunks.
#[repr(C, align(64))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct Lanes(pub(crate) [[u32; CHUNK]; CHUNKS]);

/// A value that begins at a cache line. Values that are written as vectors and read again at once must not cross cache
/// lines, which depends on where a thread's stack begins otherwise.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Aligned<T>(pub(crate) T);

impl<T> std::ops::Deref for Aligned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([[0; CHUNK]; CHUNKS]);

    /// Returns all lanes in order.
    #[inline(always)]
    pub(crate) fn flat(&self) -> &[u32; LANES] {
        bytemuck::must_cast_ref(&self.0)
    }

    /// Returns all lanes in order.
    #[inline(always)]
    pub(crate) fn flat_mut(&mut self) -> &mut [u32; LANES] {
        bytemuck::must_cast_mut(&mut self.0)
    }
}

/// The registers of a wave. The sizes are powers of two, so that a masked index needs no bounds check.
#[repr(C)]
#[derive(Zeroable)]
pub(crate) struct Regs {
    /// The vector registers: 0..256 are VGPRs, 256..512 AGPRs, and from [`TEMP`] on temporaries of
    /// [`crate::exec::modifiers`].
    pub(crate) v: [Lanes; VROWS],
    /// The scalar registers and constants: 0..128 as the hardware numbers them, 128..256 the hardware's constants and
    /// flags (SCC at 253), then the program's constant pool.
    pub(crate) s: [u32; SSLOTS],
}

impl Regs {
    /// Returns a vector register.
    #[inline(always)]
    pub(crate) fn v(&self, index: u16) -> &Lanes {
        &self.v[index as usize & (VROWS - 1)]
    }

    /// Returns a vector register.
    #[inline(always)]
    pub(crate) fn v_mut(&mut self, index: u16) -> &mut Lanes {
        &mut self.v[index as usize & (VROWS - 1)]
    }

    /// Returns a scalar or constant.
    #[inline(always)]
    pub(crate) fn s32(&self, index: u16) -> u32 {
        self.s[index as usize & (SSLOTS - 1)]
    }
}

/// The number of vector registers, including temporaries.
pub(crate) const VROWS: usize = 1024;
/// The index of the first AGPR.
pub(crate) const AGPR: u16 = 256;
/// The index of the first temporary vector register.
pub(crate) const TEMP: u16 = 512;
/// The number of scalar registers and constants.
pub(crate) const SSLOTS: usize = 4096;
/// The scalar index of the first constant of the program's pool.
pub(crate) const POOL: u16 = 256;

/// The scalar indices of registers that have a name.
pub(crate) mod sreg {
    pub(crate) const FLAT_SCRATCH: u16 = 102;
    pub(crate) const VCC: u16 = 106;
    /// Registers of the trap handler in which gfx12 has ids.
    pub(crate) const TTMP7: u16 = 115;
    pub(crate) const TTMP8: u16 = 116;
    pub(crate) const TTMP9: u16 = 117;
    pub(crate) const M0: u16 = 124;
    pub(crate) const EXEC: u16 = 126;
    pub(crate) const VCCZ: u16 = 251;
    /// The first of the registers to which results go that nothing reads.
    pub(crate) const NULL: u16 = 160;
    pub(crate) const EXECZ: u16 = 252;
    pub(crate) const SCC: u16 = 253;
}

/// The MODE register: rounding, denormals, DX10_CLAMP, IEEE (CDNA2 ISA, "Mode register").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Mode {
    /// Rounding to nearest even, denormals kept, DX10_CLAMP and IEEE.
    pub(crate) const DEFAULT: Mode = Mode(0x3f0);

    /// Returns the mode of gfx12 for what is in its register: clamping a NaN gives 0, and there is no IEEE mode.
    pub(crate) const fn of_gfx12(register: u32) -> Mode {
        Mode(register & Mode::GFX12 | Mode::PREFERS_NUMBERS | 1 << 8)
    }

    /// Returns whether all formats round to nearest even and keep denormals. Compilers set this mode, and the host's
    /// instructions compute in it.
    pub(crate) const fn is_default_float(self) -> bool {
        self.0 & 0xff == 0xf0
    }
    /// Returns the rounding of f32: 0 for nearest even, 1 up, 2 down, 3 towards zero.
    pub(crate) const fn round32(self) -> u32 {
        self.0 & 3
    }
    /// Returns the rounding of f64 and f16, as [`round32`](Self::round32) does.
    pub(crate) const fn round64(self) -> u32 {
        self.0 >> 2 & 3
    }
    /// Returns which denormals of f32 are kept: bit 0 for those of sources, bit 1 for those of results.
    pub(crate) const fn denorm32(self) -> u32 {
        self.0 >> 4 & 3
    }
    /// Returns which denormals of f64 and f16 are kept, as [`denorm32`](Self::denorm32) does.
    pub(crate) const fn denorm64(self) -> u32 {
        self.0 >> 6 & 3
    }
    /// Returns whether clamping a NaN gives 0.
    pub(crate) const fn dx10_clamp(self) -> bool {
        self.0 >> 8 & 1 != 0
    }
    /// Returns whether minimum, maximum and similar operations quiet signalling NaNs.
    pub(crate) const fn ieee(self) -> bool {
        self.0 >> 9 & 1 != 0
    }
    /// The bit which says that minima and maxima take a number before a signalling NaN, too, and quiet the NaN of two: gfx12's are
    /// minimumNumber and maximumNumber of IEEE 754-2019 (RDNA4 ISA, `V_MIN_NUM_F32`). No program sees this bit; gfx12 has neither it nor
    /// those of DX10_CLAMP and IEEE.
    pub(crate) const PREFERS_NUMBERS: u32 = 1 << 10;
    /// Returns whether minima and maxima are gfx12's.
    pub(crate) const fn prefers_numbers(self) -> bool {
        self.0 & Mode::PREFERS_NUMBERS != 0
    }
    /// The bits of gfx12's MODE that a program reads and writes here: roundings, denormals, FP16_OVFL and SCALAR_PREFETCH_EN (RDNA4 ISA,
    /// table 7). The only other one disables performance counters.
    pub(crate) const GFX12: u32 = 0x0180_00ff;
    /// Returns whether conversions to floats of 8 bits give the largest number instead of infinity or NaN.
    pub(crate) const fn fp16_ovfl(self) -> bool {
        self.0 >> 23 & 1 != 0
    }
    /// The bit that makes VALU instructions add M0's index to their vector registers.
    pub(crate) const GPR_IDX_EN: u32 = 1 << 27;
    /// The bit that makes vector instructions be skipped.
    pub(crate) const VSKIP: u32 = 1 << 28;
    /// Returns whether a mode is enabled that changes what vector instructions do.
    pub(crate) const fn alters(self) -> bool {
        self.0 & (Mode::GPR_IDX_EN | Mode::VSKIP) != 0
    }
    /// Returns the stack pointer of forks: the number of stack entries, each of four SGPRs.
    pub(crate) const fn csp(self) -> u32 {
        self.0 >> 29
    }
    /// Returns the mode with another stack pointer, of which the low three bits count.
    pub(crate) const fn with_csp(self, csp: u32) -> Mode {
        Mode(self.0 & !(7 << 29) | csp << 29)
    }
}

/// A wavefront.
pub(crate) struct Wave {
    pub(crate) r: Box<Regs>,
    /// The lanes that the wave has: all ones, or the low 32 bits in a wave of 32.
    pub(crate) all: u64,
    /// All ones in the lanes of `mask_exec`; see [`Wave::refresh_mask`].
    pub(crate) mask: Box<Lanes>,
    mask_exec: u64,
    /// The index of the next instruction. Up to date while the wave is not running, and after
    /// [`crate::exec::inst::Flow::Jump`].
    pub(crate) next: u32,
    pub(crate) mode: Mode,
    /// The register TRAPSTS, which only `s_setreg` changes.
    pub(crate) trapsts: u32,
    /// The number of the wave in its workgroup, from 0.
    pub(crate) id: u32,
    /// The number of instructions executed.
    pub(crate) count: u64,
    /// The number of the program whose constants `r.s` holds; 0 for none.
    pub(crate) pool_of: u64,
    pub(crate) scratch: Scratch,
    /// What the wave waits for, after [`crate::exec::inst::Flow::Wait`].
    pub(crate) wait: Option<GwsWait>,
    /// The phase of the workgroup's barrier in which the wave has signalled, on gfx12 ([`SplitBarrier`](super::barrier::SplitBarrier)).
    pub(crate) signalled: Option<u32>,
    /// What a load of 16 bits keeps of the other half of its register: all bits, or none where SRAM-ECC is on, as the register
    /// is then written whole. LLVM relies on it: `GCNSubtarget::d16PreservesUnusedBits`.
    pub(crate) d16_kept: u32,
}

/// The private memory of a wave's lanes. Their dwords are interleaved, so that the dwords at one offset are a row.
///
/// The dword at byte offset `o` of lane `l` is lane `l` of row `o / 4`.
#[derive(Default)]
pub(crate) struct Scratch {
    rows: Vec<Lanes>,
    /// The number of rows that the kernel has.
    len: usize,
    /// The number of rows, from the first on, that may have been written.
    touched: usize,
}

impl Scratch {
    /// Returns `N` dwords of all lanes, from byte offset `4 * row` on.
    #[inline(always)]
    pub(crate) fn rows<const N: usize>(&self, row: usize) -> Option<&[Lanes; N]> {
        self.rows[..self.len].get(row..)?.first_chunk()
    }

    /// Returns `N` dwords of all lanes for writing, from byte offset `4 * row` on.
    #[inline(always)]
    pub(crate) fn rows_mut<const N: usize>(&mut self, row: usize) -> Option<&mut [Lanes; N]> {
        self.touched = self.touched.max(row + N);
        self.rows[..self.len].get_mut(row..)?.first_chunk_mut()
    }

    /// Loads a lane's element at a byte offset; `None` if it is out of bounds.
    #[inline]
    pub(crate) fn load<E: Bytes>(&self, lane: usize, offset: u32) -> Option<E> {
        if !self.contains(offset, E::SIZE) {
            return None;
        }
        let at = offset as usize;
        let mut bytes = [0; 16];
        if at % 4 == 0 && E::SIZE % 4 == 0 {
            for (n, word) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate().take(E::SIZE / 4) {
                *word = self.rows[at / 4 + n].flat()[lane].to_le_bytes();
            }
        } else {
            for (n, byte) in bytes.iter_mut().enumerate().take(E::SIZE) {
                *byte = (self.rows[(at + n) / 4].flat()[lane] >> ((at + n) % 4 * 8)) as u8;
            }
        }
        Some(E::from_bytes(bytes))
    }

    /// Stores a lane's element at a byte offset; `None` if it is out of bounds.
    #[inline]
    pub(crate) fn store<E: Bytes>(&mut self, lane: usize, offset: u32, value: E) -> Option<()> {
        if !self.contains(offset, E::SIZE) {
            return None;
        }
        let at = offset as usize;
        self.touched = self.touched.max((at + E::SIZE).div_ceil(4));
        let bytes = value.to_bytes();
        if at % 4 == 0 && E::SIZE % 4 == 0 {
            for (n, word) in bytes.as_chunks::<4>().0.iter().enumerate().take(E::SIZE / 4) {
                self.rows[at / 4 + n].flat_mut()[lane] = u32::from_le_bytes(*word);
            }
        } else {
            for (n, byte) in bytes.iter().enumerate().take(E::SIZE) {
                let dword = &mut self.rows[(at + n) / 4].flat_mut()[lane];
                let shift = (at + n) % 4 * 8;
                *dword = *dword & !(0xff << shift) | u32::from(*byte) << shift;
            }
        }
        Some(())
    }

    /// Returns whether `size` bytes at byte offset `offset` are in bounds.
    #[inline(always)]
    pub(crate) fn contains(&self, offset: u32, size: usize) -> bool {
        offset as usize + size <= self.len * 4
    }

    /// Returns the dword at a byte offset of the whole wave's private memory. As on hardware, the dword of a lane is
    /// followed by that of the next lane.
    pub(crate) fn wave_dword(&mut self, offset: u64) -> Option<&mut u32> {
        let dword = usize::try_from(offset / 4).ok()?;
        let row = dword / LANES;
        let lanes = self.rows.get_mut(..self.len)?.get_mut(row)?;
        self.touched = self.touched.max(row + 1);
        lanes.flat_mut().get_mut(dword % LANES)
    }

    /// Sets the size to `bytes` for each lane (a multiple of 4), and zeroes them, so that results don't depend on what
    /// ran before.
    pub(crate) fn reset(&mut self, bytes: u32) {
        let touched = self.touched.min(self.len);
        self.rows[..touched].fill(Lanes::ZERO);
        self.touched = 0;
        self.len = bytes as usize / 4;
        if self.rows.len() < self.len {
            self.rows.resize(self.len, Lanes::ZERO);
        }
    }
}

impl Wave {
    pub(crate) fn new() -> Wave {
        Wave {
            r: bytemuck::zeroed_box(),
            all: !0,
            mask: Box::new(Lanes::ZERO),
            mask_exec: 0,
            next: 0,
            mode: Mode(0x3f0),
            trapsts: 0,
            id: 0,
            count: 0,
            pool_of: 0,
            scratch: Scratch::default(),
            wait: None,
            signalled: None,
            d16_kept: !0,
        }
    }

    /// Returns a vector register.
    #[inline(always)]
    pub(crate) fn v(&self, index: u16) -> &Lanes {
        self.r.v(index)
    }

    /// Returns a vector register.
    #[inline(always)]
    pub(crate) fn v_mut(&mut self, index: u16) -> &mut Lanes {
        self.r.v_mut(index)
    }

    /// Returns a 32-bit scalar or constant.
    #[inline(always)]
    pub(crate) fn s32(&self, index: u16) -> u32 {
        self.r.s32(index)
    }

    /// Returns a 64-bit scalar or constant.
    #[inline(always)]
    pub(crate) fn s64(&self, index: u16) -> u64 {
        u64::from(self.s32(index)) | u64::from(self.s32(index.wrapping_add(1))) << 32
    }

    #[inline(always)]
    pub(crate) fn set_s32(&mut self, index: u16, value: u32) {
        self.r.s[index as usize & (SSLOTS - 1)] = value;
    }

    #[inline(always)]
    pub(crate) fn set_s64(&mut self, index: u16, value: u64) {
        self.set_s32(index, value as u32);
        self.set_s32(index.wrapping_add(1), (value >> 32) as u32);
    }

    /// Returns the mask of active lanes.
    #[inline(always)]
    pub(crate) fn exec(&self) -> u64 {
        self.exec_pair() & self.all
    }

    /// Returns both registers of EXEC. In a wave of 32, the upper one says nothing of lanes, and can have any number.
    #[inline(always)]
    pub(crate) fn exec_pair(&self) -> u64 {
        // One load, unlike `s64`, because every vector instruction reads EXEC.
        let pair = [self.r.s[sreg::EXEC as usize], self.r.s[sreg::EXEC as usize + 1]];
        u64::from_le(bytemuck::must_cast(pair.map(u32::to_le)))
    }

    /// Returns whether it is a wave of 64 lanes; if not, it has 32.
    #[inline(always)]
    pub(crate) fn has_64_lanes(&self) -> bool {
        self.all >> 63 != 0
    }

    /// Returns the number of lanes that the wave has: 32 or 64.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> u32 {
        if self.has_64_lanes() { 64 } else { 32 }
    }

    /// Returns the numbers of the chunks of a vector register that the wave has: 4, or 2 in a wave of 32.
    #[inline(always)]
    pub(crate) fn chunks(&self) -> std::ops::Range<usize> {
        0..if self.has_64_lanes() { CHUNKS } else { CHUNKS / 2 }
    }

    /// Sets the mask of lanes at a scalar index. In a wave of 32 it is one register.
    #[inline(always)]
    pub(crate) fn set_mask(&mut self, index: u16, mask: u64) {
        self.set_s32(index, mask as u32);
        if self.has_64_lanes() {
            self.set_s32(index.wrapping_add(1), (mask >> 32) as u32);
        }
    }

    #[inline(always)]
    pub(crate) fn set_exec(&mut self, exec: u64) {
        self.set_s64(sreg::EXEC, exec);
    }

    #[inline(always)]
    pub(crate) fn vcc(&self) -> u64 {
        self.s64(sreg::VCC) & self.all
    }

    #[inline(always)]
    pub(crate) fn scc(&self) -> bool {
        self.s32(sreg::SCC) != 0
    }

    #[inline(always)]
    pub(crate) fn set_scc(&mut self, scc: bool) {
        self.set_s32(sreg::SCC, u32::from(scc));
    }

    /// Brings `mask` up to date: all ones in the lanes of `exec`, 0 in the others.
    #[inline(always)]
    pub(crate) fn refresh_mask(&mut self, exec: u64) {
        if self.mask_exec != exec {
            self.rebuild_mask(exec);
        }
    }

    /// Not inlined, so that the code is not in every executor.
    #[inline(never)]
    fn rebuild_mask(&mut self, exec: u64) {
        expand(exec, &mut self.mask);
        self.mask_exec = exec;
    }
}

/// The active lanes, of which there is at least one, as bits and as a mask.
pub(crate) struct Active<'a> {
    exec: u64,
    /// All ones in the lanes of `exec`. Not used if all lanes are active.
    mask: &'a Lanes,
}

impl<'a> Active<'a> {
    /// Returns the lanes of `exec`; `None` if there are none. `mask` may be overwritten.
    pub(crate) fn of(exec: u64, mask: &'a mut Lanes) -> Option<Active<'a>> {
        if exec != !0 {
            expand(exec, mask);
        }
        (exec != 0).then_some(Active { exec, mask })
    }

    #[inline(always)]
    pub(crate) fn exec(&self) -> u64 {
        self.exec
    }

    /// Returns whether all lanes are active.
    #[inline(always)]
    pub(crate) fn all(&self) -> bool {
        self.exec == !0
    }

    /// Returns the first active lane.
    #[inline(always)]
    pub(crate) fn first(&self) -> usize {
        self.exec.trailing_zeros() as usize & (LANES - 1)
    }

    /// Returns all ones if the lane is active, else 0. The result has no meaning if [all](Self::all) lanes are active.
    #[inline(always)]
    pub(crate) fn keep(&self, lane: usize) -> u32 {
        self.mask.flat()[lane]
    }
}

impl Wave {
    /// Returns the active lanes; `None` if there are none.
    #[inline(always)]
    pub(crate) fn active(&mut self) -> Option<Active<'_>> {
        let exec = self.exec();
        if exec != !0 {
            self.refresh_mask(exec);
        }
        (exec != 0).then_some(Active { exec, mask: &self.mask })
    }

    /// Returns `N` vector registers from `index` on; `None` if there are fewer.
    #[inline(always)]
    pub(crate) fn rows_mut<const N: usize>(&mut self, index: u16) -> Option<&mut [Lanes; N]> {
        self.r.v.get_mut(usize::from(index)..)?.first_chunk_mut()
    }

    /// Returns `N` vector registers from `index` on; `None` if there are fewer.
    #[inline(always)]
    pub(crate) fn rows<const N: usize>(&self, index: u16) -> Option<&[Lanes; N]> {
        self.r.v.get(usize::from(index)..)?.first_chunk()
    }
}

/// Sets each lane of `out` to all ones if its bit is set, else to 0.
#[inline(always)]
pub(crate) fn expand(bits: u64, out: &mut Lanes) {
    for (c, chunk) in out.0.iter_mut().enumerate() {
        *chunk = expanded(bits, c);
    }
}

/// Returns all ones for each lane of chunk `c` whose bit is set, else 0.
#[inline(always)]
pub(crate) fn expanded(bits: u64, c: usize) -> [u32; CHUNK] {
    let part = (bits >> (c * CHUNK)) as u32 & 0xffff;
    let mut out = [0; CHUNK];
    for (j, lane) in out.iter_mut().enumerate() {
        *lane = if part & 1 << j == 1 << j { !0 } else { 0 };
    }
    out
}

/// Returns the lanes of a mask, in order.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}
