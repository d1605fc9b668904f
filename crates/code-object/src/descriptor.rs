//! The 64-byte kernel descriptor: the state that the hardware sets up before a kernel's first instruction.

/// Which work-item ids a wavefront gets in its first VGPRs (`ENABLE_VGPR_WORKITEM_ID`). On gfx90a and gfx942 they
/// are packed into v0 as `x | y << 10 | z << 20`.
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
/// bits methods. Where the meaning depends on the processor, it is gfx90a's and gfx942's.
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

    // COMPUTE_PGM_RSRC1

    /// `GRANULATED_WORKITEM_VGPR_COUNT`, as encoded.
    pub fn granulated_vgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 0, 6)
    }

    /// Vector registers allocated to a work-item, accumulation registers included, on a processor whose unified
    /// file is allocated in units of 8 (gfx90a, gfx942).
    pub fn vgprs(&self) -> u32 {
        (self.granulated_vgpr_count() + 1) * 8
    }

    /// `GRANULATED_WAVEFRONT_SGPR_COUNT`, as encoded.
    pub fn granulated_sgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 6, 4)
    }

    /// Scalar registers allocated to a wavefront on gfx9: units of 16, encoded as twice their number less 2.
    pub fn sgprs(&self) -> u32 {
        (self.granulated_sgpr_count() / 2 + 1) * 16
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

    /// Whether NaNs are clamped to zero by the clamp modifier (`ENABLE_DX10_CLAMP`).
    pub fn dx10_clamp(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 21, 1) != 0
    }

    /// Whether signalling NaNs are quieted (`ENABLE_IEEE_MODE`).
    pub fn ieee(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 23, 1) != 0
    }

    /// Whether f16 overflow is clamped to the largest number (`FP16_OVFL`).
    pub fn fp16_overflow(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 26, 1) != 0
    }

    // COMPUTE_PGM_RSRC2

    /// Whether scratch is set up; before architected flat scratch (gfx942) the wave gets a scratch offset SGPR.
    pub fn enable_private_segment(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 0, 1) != 0
    }

    /// User SGPRs that are set up, preloaded kernargs included.
    pub fn user_sgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc2, 1, 5)
    }

    /// Whether an SGPR with the workgroup's x follows the user SGPRs.
    pub fn enable_workgroup_id_x(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 7, 1) != 0
    }

    /// Whether an SGPR with the workgroup's y follows.
    pub fn enable_workgroup_id_y(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 8, 1) != 0
    }

    /// Whether an SGPR with the workgroup's z follows.
    pub fn enable_workgroup_id_z(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 9, 1) != 0
    }

    /// Whether an SGPR with the workgroup info follows.
    pub fn enable_workgroup_info(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 10, 1) != 0
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

    /// Exceptions that are enabled (`ENABLE_EXCEPTION_*`): bits 6:0 are invalid, denormal source, division by zero,
    /// overflow, underflow, inexact, integer division by zero.
    pub fn exceptions(&self) -> u8 {
        bits(self.compute_pgm_rsrc2, 24, 7) as u8
    }

    // COMPUTE_PGM_RSRC3 of gfx90a and gfx942

    /// First accumulation register in the unified vector register file: a multiple of 4, up to 256.
    pub fn accum_offset(&self) -> u32 {
        (bits(self.compute_pgm_rsrc3, 0, 6) + 1) * 4
    }

    /// Whether the waves of a workgroup may be on different compute units (`TG_SPLIT`); such a kernel has no LDS.
    pub fn tg_split(&self) -> bool {
        bits(self.compute_pgm_rsrc3, 16, 1) != 0
    }

    // KERNEL_CODE_PROPERTIES

    fn property(&self, bit: u32) -> bool {
        self.kernel_code_properties >> bit & 1 != 0
    }

    /// 4 user SGPRs with the scratch buffer's descriptor.
    pub fn private_segment_buffer(&self) -> bool {
        self.property(0)
    }

    /// 2 user SGPRs with the address of the AQL packet.
    pub fn dispatch_ptr(&self) -> bool {
        self.property(1)
    }

    /// 2 user SGPRs with the address of the queue.
    pub fn queue_ptr(&self) -> bool {
        self.property(2)
    }

    /// 2 user SGPRs with the address of the kernarg segment.
    pub fn kernarg_segment_ptr(&self) -> bool {
        self.property(3)
    }

    /// 2 user SGPRs with the dispatch's id.
    pub fn dispatch_id(&self) -> bool {
        self.property(4)
    }

    /// 2 user SGPRs that initialize flat scratch.
    pub fn flat_scratch_init(&self) -> bool {
        self.property(5)
    }

    /// 1 user SGPR with the scratch size of a work-item, in bytes.
    pub fn private_segment_size_sgpr(&self) -> bool {
        self.property(6)
    }

    /// Whether a wavefront has 32 lanes (gfx10 on), not 64.
    pub fn wave32(&self) -> bool {
        self.property(10)
    }

    /// Whether the scratch need isn't known when the kernel is compiled.
    pub fn uses_dynamic_stack(&self) -> bool {
        self.property(11)
    }

    // KERNARG_PRELOAD

    /// Dwords of the kernarg segment that are loaded into user SGPRs, after all others. If there are any, the
    /// kernel's code starts with 256 bytes that load them with instructions, for firmware that can't; hardware
    /// that preloads starts after these, at [`entry`](Self::entry)` + 256`.
    pub fn preload_length(&self) -> u32 {
        bits(self.kernarg_preload.into(), 0, 7)
    }

    /// Where preloading starts in the kernarg segment, in dwords.
    pub fn preload_offset(&self) -> u32 {
        bits(self.kernarg_preload.into(), 7, 9)
    }
}
