//! The 64-byte kernel descriptor: the state that the hardware sets up before a kernel's first instruction.

/// Which work-item ids a wavefront gets in its first VGPRs (`ENABLE_VGPR_WORKITEM_ID`). On gfx90a, gfx942, gfx950 and gfx11
/// they are packed into v0 as `x | y << 10 | z << 20` (LLVM AMDGPU usage, "Processors": "Packed work-item IDs").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkitemIds {
    /// x alone.
    X,
    /// x and y.
    XY,
    /// x, y and z.
    XYZ,
    /// The reserved encoding; hardware behaviour is undefined.
    Undefined,
}

/// The float mode that a wavefront starts in (`FLOAT_MODE`, the MODE register's bits 7:0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatMode {
    /// Rounding of f32: 0 to nearest even, 1 to +infinity, 2 to -infinity, 3 to zero.
    pub round_32: u8,
    /// Rounding of f16 and f64, as for f32.
    pub round_16_64: u8,
    /// Denormals of f32: 0 flush source and destination, 1 flush destination, 2 flush source, 3 keep.
    pub denorm_32: u8,
    /// Denormals of f16 and f64, as for f32.
    pub denorm_16_64: u8,
}

impl FloatMode {
    /// The MODE register's low 8 bits.
    pub fn bits(self) -> u8 {
        self.round_32 | self.round_16_64 << 2 | self.denorm_32 << 4 | self.denorm_16_64 << 6
    }
}

/// A kernel descriptor (LLVM AMDGPU usage, "Kernel Descriptor for GFX6-GFX12"). The raw words are fields, their
/// bits methods. A method whose bits mean something on some processors alone says on which; on others its result means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelDescriptor {
    /// ELF virtual address of the descriptor; loaded, this is the kernel object of an AQL packet. 64-byte aligned.
    pub address: u64,
    /// ELF virtual address of the first instruction. 256-byte aligned and in an executable segment.
    pub entry: u64,
    /// Static LDS of a workgroup, in bytes.
    pub group_segment_size: u32,
    /// Private memory (scratch) of a work-item, in bytes.
    pub private_segment_size: u32,
    /// Size of the kernarg segment in bytes; old compilers leave it 0, so prefer the metadata's.
    pub kernarg_size: u32,
    /// `COMPUTE_PGM_RSRC1`.
    pub compute_pgm_rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2`.
    pub compute_pgm_rsrc2: u32,
    /// `COMPUTE_PGM_RSRC3`.
    pub compute_pgm_rsrc3: u32,
    /// `KERNEL_CODE_PROPERTIES`: which user SGPRs are set up, and more.
    pub kernel_code_properties: u16,
    /// `KERNARG_PRELOAD`: which kernarg dwords are loaded into user SGPRs.
    pub kernarg_preload: u16,
}

/// Returns the bits `low..low + width` of a word.
fn bits(word: u32, low: u32, width: u32) -> u32 {
    word >> low & ((1 << width) - 1)
}

/// Declares methods of [`KernelDescriptor`] that return bits of a word, each with the word, the first bit and the number of bits.
macro_rules! bit_fields {
    ($($(#[$doc:meta])* $name:ident: $Type:tt = $word:ident, $at:literal, $width:literal;)*) => {
        impl KernelDescriptor {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> $Type {
                    bit_fields!($Type bits(self.$word.into(), $at, $width))
                }
            )*
        }
    };
    (bool $bits:expr) => { $bits != 0 };
    (u32 $bits:expr) => { $bits };
    (u8 $bits:expr) => { $bits as u8 };
}

bit_fields! {
    // COMPUTE_PGM_RSRC1
    /// `GRANULATED_WORKITEM_VGPR_COUNT`, as encoded; see [`vgprs`](Self::vgprs).
    granulated_vgpr_count: u32 = compute_pgm_rsrc1, 0, 6;
    /// `GRANULATED_WAVEFRONT_SGPR_COUNT`, as encoded; see [`sgprs`](Self::sgprs).
    granulated_sgpr_count: u32 = compute_pgm_rsrc1, 6, 4;
    /// Whether NaNs are clamped to zero by the clamp modifier (`ENABLE_DX10_CLAMP`; to gfx11).
    dx10_clamp: bool = compute_pgm_rsrc1, 21, 1;
    /// Whether signalling NaNs are quieted (`ENABLE_IEEE_MODE`; to gfx11).
    ieee: bool = compute_pgm_rsrc1, 23, 1;
    /// Whether f16 overflow is clamped to the largest number (`FP16_OVFL`).
    fp16_overflow: bool = compute_pgm_rsrc1, 26, 1;
    /// Whether a workgroup is on a workgroup processor, which is two compute units, not on one of them (`WGP_MODE`; gfx10 on).
    wgp_mode: bool = compute_pgm_rsrc1, 29, 1;
    /// Whether the counters of waits report that accesses of each kind are done in the order of their instructions
    /// (`MEM_ORDERED`; gfx10 on).
    mem_ordered: bool = compute_pgm_rsrc1, 30, 1;
    /// Whether the oldest wave goes first, so that every wave goes on (`FWD_PROGRESS`; gfx10 on).
    fwd_progress: bool = compute_pgm_rsrc1, 31, 1;

    // COMPUTE_PGM_RSRC2
    /// Whether scratch is set up; without architected flat scratch, which gfx942, gfx950 and gfx11 have, the wave gets an
    /// SGPR with its offset.
    enable_private_segment: bool = compute_pgm_rsrc2, 0, 1;
    /// User SGPRs that are set up, preloaded kernargs included.
    user_sgpr_count: u32 = compute_pgm_rsrc2, 1, 5;
    /// Whether an SGPR with the workgroup's x follows the user SGPRs.
    enable_workgroup_id_x: bool = compute_pgm_rsrc2, 7, 1;
    /// Whether an SGPR with the workgroup's y follows.
    enable_workgroup_id_y: bool = compute_pgm_rsrc2, 8, 1;
    /// Whether an SGPR with the workgroup's z follows.
    enable_workgroup_id_z: bool = compute_pgm_rsrc2, 9, 1;
    /// Whether an SGPR with the workgroup info follows.
    enable_workgroup_info: bool = compute_pgm_rsrc2, 10, 1;
    /// Exceptions that are enabled (`ENABLE_EXCEPTION_*`): bits 6:0 are invalid, denormal source, division by zero,
    /// overflow, underflow, inexact, integer division by zero.
    exceptions: u8 = compute_pgm_rsrc2, 24, 7;

    // COMPUTE_PGM_RSRC3
    /// Whether the waves of a workgroup may be on different compute units (`TG_SPLIT`; gfx90a, gfx942, gfx950); such a
    /// kernel has no LDS.
    tg_split: bool = compute_pgm_rsrc3, 16, 1;
    /// Blocks of eight VGPRs that the halves of a wave of 64 share (`SHARED_VGPR_COUNT`; gfx10 and gfx11).
    shared_vgpr_count: u32 = compute_pgm_rsrc3, 0, 4;
    /// Instructions to prefetch from the entry on, in units of 128 bytes (`INST_PREF_SIZE`; gfx11).
    inst_pref_size: u32 = compute_pgm_rsrc3, 4, 6;
    /// Whether a wave traps before its first instruction (`TRAP_ON_START`; gfx11). 0 in files.
    trap_on_start: bool = compute_pgm_rsrc3, 10, 1;
    /// Whether a wave traps after its last instruction (`TRAP_ON_END`; gfx11). 0 in files.
    trap_on_end: bool = compute_pgm_rsrc3, 11, 1;
    /// Whether the kernel has image instructions (`IMAGE_OP`; gfx11).
    image_op: bool = compute_pgm_rsrc3, 31, 1;

    // KERNARG_PRELOAD
    /// Dwords of the kernarg segment that are loaded into user SGPRs, after all others (gfx90a, gfx942, gfx950; 0 on gfx11). If there are any, the
    /// kernel's code starts with 256 bytes that load them with instructions, for firmware that can't; hardware
    /// that preloads starts after these, at [`entry`](Self::entry)` + 256`.
    preload_length: u32 = kernarg_preload, 0, 7;
    /// Where preloading starts in the kernarg segment, in dwords.
    preload_offset: u32 = kernarg_preload, 7, 9;

    // KERNEL_CODE_PROPERTIES
    /// 4 user SGPRs with the scratch buffer's descriptor (not with architected flat scratch).
    private_segment_buffer: bool = kernel_code_properties, 0, 1;
    /// 2 user SGPRs with the address of the AQL packet.
    dispatch_ptr: bool = kernel_code_properties, 1, 1;
    /// 2 user SGPRs with the address of the queue.
    queue_ptr: bool = kernel_code_properties, 2, 1;
    /// 2 user SGPRs with the address of the kernarg segment.
    kernarg_segment_ptr: bool = kernel_code_properties, 3, 1;
    /// 2 user SGPRs with the dispatch's id.
    dispatch_id: bool = kernel_code_properties, 4, 1;
    /// 2 user SGPRs that initialize flat scratch (not with architected flat scratch).
    flat_scratch_init: bool = kernel_code_properties, 5, 1;
    /// 1 user SGPR with the scratch size of a work-item, in bytes.
    private_segment_size_sgpr: bool = kernel_code_properties, 6, 1;
    /// Whether a wavefront has 32 lanes (gfx10 on), not 64.
    wave32: bool = kernel_code_properties, 10, 1;
    /// Whether the scratch need isn't known when the kernel is compiled.
    uses_dynamic_stack: bool = kernel_code_properties, 11, 1;
}

impl KernelDescriptor {
    /// Size of a descriptor, in bytes.
    pub const SIZE: usize = 64;

    /// A placeholder until the descriptor is read.
    pub(crate) const UNREAD: KernelDescriptor = KernelDescriptor {
        address: 0,
        entry: 0,
        group_segment_size: 0,
        private_segment_size: 0,
        kernarg_size: 0,
        compute_pgm_rsrc1: 0,
        compute_pgm_rsrc2: 0,
        compute_pgm_rsrc3: 0,
        kernel_code_properties: 0,
        kernarg_preload: 0,
    };

    /// Reads a descriptor at `address`. `None` if the entry point's address overflows.
    pub(crate) fn read(data: &[u8; Self::SIZE], address: u64) -> Option<KernelDescriptor> {
        let word = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([data[at], data[at + 1]]);
        let entry_offset = u64::from(word(16)) | u64::from(word(20)) << 32;
        Some(KernelDescriptor {
            address,
            entry: address.checked_add_signed(entry_offset as i64)?,
            group_segment_size: word(0),
            private_segment_size: word(4),
            kernarg_size: word(8),
            compute_pgm_rsrc3: word(44),
            compute_pgm_rsrc1: word(48),
            compute_pgm_rsrc2: word(52),
            kernel_code_properties: half(56),
            kernarg_preload: half(58),
        })
    }

    /// Vector registers that a work-item has. `is_unified` says whether the processor has one file for arch VGPRs and
    /// accumulation registers ([`occupancy::is_unified`](crate::occupancy::is_unified)); then both are counted.
    ///
    /// The unit is 8 with a unified file and in waves of 32, and otherwise 4. The hardware may allocate more: gfx1100 does
    /// in units of 24 or 12 ([`VectorFile`](crate::occupancy::VectorFile)).
    pub fn vgprs(&self, is_unified: bool) -> u32 {
        (self.granulated_vgpr_count() + 1) * if is_unified || self.wave32() { 8 } else { 4 }
    }

    /// Scalar registers allocated to a wavefront. On gfx9, to which `is_gfx9` refers, these are units of 16, encoded as
    /// twice their number less 2. From gfx10 on the field is 0, and every wave has 128.
    pub fn sgprs(&self, is_gfx9: bool) -> u32 {
        if is_gfx9 { (self.granulated_sgpr_count() / 2 + 1) * 16 } else { 128 }
    }

    /// The float mode at the start.
    pub fn float_mode(&self) -> FloatMode {
        let field = |low| bits(self.compute_pgm_rsrc1, low, 2) as u8;
        FloatMode {
            round_32: field(12),
            round_16_64: field(14),
            denorm_32: field(16),
            denorm_16_64: field(18),
        }
    }

    /// Which work-item ids are set up.
    pub fn enable_vgpr_workitem_id(&self) -> WorkitemIds {
        match bits(self.compute_pgm_rsrc2, 11, 2) {
            0 => WorkitemIds::X,
            1 => WorkitemIds::XY,
            2 => WorkitemIds::XYZ,
            _ => WorkitemIds::Undefined,
        }
    }

    /// LDS of a workgroup, in bytes: another name for [`group_segment_size`](Self::group_segment_size). (The field
    /// of `COMPUTE_PGM_RSRC2` is 0 in the file; the command processor fills it from the packet.)
    pub fn lds_size(&self) -> u32 {
        self.group_segment_size
    }

    /// First accumulation register in the unified vector register file: a multiple of 4, up to 256 (`ACCUM_OFFSET`; gfx90a,
    /// gfx942, gfx950). Processors without a unified file have other fields in these bits.
    pub fn accum_offset(&self) -> u32 {
        (bits(self.compute_pgm_rsrc3, 0, 6) + 1) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LLVM AMDGPU usage, "compute_pgm_rsrc1": `GRANULATED_WORKITEM_VGPR_COUNT`, `GRANULATED_WAVEFRONT_SGPR_COUNT`.
    #[test]
    fn registers_are_counted_as_the_processor_does() {
        let mut kd = KernelDescriptor { compute_pgm_rsrc1: 2 << 6 | 5, ..KernelDescriptor::UNREAD };
        assert_eq!((kd.vgprs(true), kd.vgprs(false)), (48, 24));
        assert_eq!((kd.sgprs(true), kd.sgprs(false)), (32, 128));
        kd.kernel_code_properties = 1 << 10;
        assert_eq!((kd.wave32(), kd.vgprs(false)), (true, 48));
    }

    /// LLVM AMDGPU usage, "compute_pgm_rsrc1" and "compute_pgm_rsrc3 for GFX10-GFX11".
    #[test]
    fn fields_of_gfx11_are_read() {
        let kd = KernelDescriptor {
            compute_pgm_rsrc1: 0b101 << 29,
            compute_pgm_rsrc3: 1 << 31 | 1 << 11 | 3 << 4 | 2,
            ..KernelDescriptor::UNREAD
        };
        assert_eq!((kd.wgp_mode(), kd.mem_ordered(), kd.fwd_progress()), (true, false, true));
        assert_eq!((kd.shared_vgpr_count(), kd.inst_pref_size(), kd.image_op()), (2, 3, true));
        assert_eq!((kd.trap_on_start(), kd.trap_on_end()), (false, true));
    }
}
