//! Values in memory for which streams wait, and which they write (HIP's stream memory operations).

/// The width of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueWidth {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    Bits64,
}

impl ValueWidth {
    /// Returns the width in bytes. A value's address is a multiple of it.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            ValueWidth::Bits32 => 4,
            ValueWidth::Bits64 => 8,
        }
    }
}

/// What a wait compares with the value in memory. The numbers are HIP's flags of `hipStreamWaitValue64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Comparison {
    /// The masked value is at least as large (`hipStreamWaitValueGte`). For values below 2^63, or 2^31 of 32 bits: AMD compares
    /// larger ones in one way by the hardware's packets, and in another by its kernels.
    AtLeast = 0,
    /// The masked value is equal (`hipStreamWaitValueEq`).
    Equal = 1,
    /// The masked value has any of the bits (`hipStreamWaitValueAnd`).
    AnyBit = 2,
    /// Within the mask, some bit is in neither of the two (`hipStreamWaitValueNor`). HIP 7.2's kernel takes bits beyond the mask for
    /// such ones, so that only the full mask means the same everywhere.
    NotAllBits = 3,
}

impl Comparison {
    /// Returns the comparison with these flags of HIP's; `None` for others.
    pub const fn from_flags(flags: u32) -> Option<Comparison> {
        match flags {
            0 => Some(Comparison::AtLeast),
            1 => Some(Comparison::Equal),
            2 => Some(Comparison::AnyBit),
            3 => Some(Comparison::NotAllBits),
            _ => None,
        }
    }
}

/// The condition for which a [wait](super::Work::WaitValue) waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitCondition {
    /// How the two are compared.
    pub comparison: Comparison,
    /// What the value in memory is compared with.
    pub value: u64,
    /// The bits of the value in memory that count. Those beyond the value's width do not matter.
    pub mask: u64,
}

impl WaitCondition {
    /// The condition that all bits of the value in memory compare so with `value`.
    pub const fn new(comparison: Comparison, value: u64) -> WaitCondition {
        WaitCondition { comparison, value, mask: u64::MAX }
    }

    /// Returns whether the condition holds for a value in memory of this width.
    pub const fn holds(&self, width: ValueWidth, memory: u64) -> bool {
        let bits = u64::MAX >> (64 - 8 * width.bytes());
        let WaitCondition { comparison, value, mask } = *self;
        let (value, mask) = (value & bits, mask & bits);
        let seen = memory & mask;
        match comparison {
            Comparison::AtLeast => seen as i64 >= value as i64,
            Comparison::Equal => seen == value,
            Comparison::AnyBit => seen & value != 0,
            Comparison::NotAllBits => !(seen | value) & mask != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_hides_bits_of_the_memory() {
        let holds = |comparison, value, mask, memory| {
            WaitCondition { comparison, value, mask }.holds(ValueWidth::Bits64, memory)
        };
        assert!(holds(Comparison::AtLeast, 5, u64::MAX, 6) && !holds(Comparison::AtLeast, 5, u64::MAX, 4));
        assert!(!holds(Comparison::AtLeast, 5, 3, 6));
        assert!(holds(Comparison::Equal, 2, 3, 6) && !holds(Comparison::Equal, 6, 3, 6));
        assert!(holds(Comparison::AnyBit, 6, 2, 2) && !holds(Comparison::AnyBit, 6, 4, 2));
        assert!(holds(Comparison::NotAllBits, 1, 3, 1) && !holds(Comparison::NotAllBits, 1, 3, 2));
    }

    #[test]
    fn bits_beyond_the_width_do_not_count() {
        let all = WaitCondition::new(Comparison::NotAllBits, 0xffff_ffff);
        assert!(all.holds(ValueWidth::Bits64, 0xffff_ffff) && !all.holds(ValueWidth::Bits32, 0xffff_ffff));
        assert!(WaitCondition::new(Comparison::Equal, 1 << 32 | 7).holds(ValueWidth::Bits32, 7));
    }
}
