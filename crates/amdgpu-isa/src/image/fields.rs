//! The fields of the descriptors in SGPRs, for each generation of instructions.
//!
//! The sources are the documents of the instruction sets: Vega, 8.2.5 to 8.2.7, and CDNA 2 the same; RDNA 2, 8.2; RDNA 3, 10.5 and 9.6;
//! RDNA 4, 10. What they leave open is as in Mesa (`ac_descriptors.c`) and in ROCm's runtime (`image_manager_*.cpp`).

use crate::target::Generation;

/// Where a field is: the dword, the first bit and the number of bits of each part, the part with the lowest bits first.
type Parts = &'static [(usize, u32, u32)];

fn set(parts: Parts, words: &mut [u32], value: u64) {
    let mut rest = value;
    for (word, first, bits) in parts {
        let mask = (1u64 << bits) - 1;
        words[*word] = words[*word] & !((mask as u32) << first) | ((rest & mask) as u32) << first;
        rest >>= bits;
    }
}

fn get(parts: Parts, words: &[u32]) -> u64 {
    let (mut value, mut at) = (0, 0);
    for (word, first, bits) in parts {
        value |= (u64::from(words[*word] >> first) & ((1 << bits) - 1)) << at;
        at += bits;
    }
    value
}

/// Makes an enumeration of fields of its rows: the name, and the parts on gfx9, gfx10.3, gfx11 and gfx12. A field that a generation
/// does not have has no parts: it is 0, and setting it does nothing.
macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $($parts:tt),*;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$field_doc])* $field,)* }

        impl $name {
            fn parts(self, generation: Generation) -> Parts {
                let parts: [Parts; 4] = match self { $($name::$field => [$(&$parts),*],)* };
                parts[generation as usize]
            }

            /// Writes the field to a descriptor. Bits that it has no room for are lost.
            ///
            /// # Panics
            /// If `words` are fewer than a descriptor has.
            pub fn set(self, generation: Generation, words: &mut [u32], value: u64) {
                set(self.parts(generation), words, value);
            }

            /// Reads the field of a descriptor.
            ///
            /// # Panics
            /// If `words` are fewer than a descriptor has.
            pub fn get(self, generation: Generation, words: &[u32]) -> u64 {
                get(self.parts(generation), words)
            }
        }
    };
}

fields! {
    /// The fields of an image's descriptor of eight dwords (T#).
    ImageField {
        /// The address of the first texel, divided by 256.
        Base: [(0, 0, 32), (1, 0, 8)], [(0, 0, 32), (1, 0, 8)], [(0, 0, 32), (1, 0, 8)], [(0, 0, 32), (1, 0, 8)];
        /// The format's number ([`TexelFormat::image_number`](super::TexelFormat::image_number)).
        Format: [(1, 20, 6), (1, 26, 4)], [(1, 20, 9)], [(1, 20, 8)], [(1, 17, 8)];
        /// The texels of a row of level 0, less one.
        Width: [(2, 0, 14)], [(1, 30, 2), (2, 0, 12)], [(1, 30, 2), (2, 0, 12)], [(1, 30, 2), (2, 0, 14)];
        /// The rows of level 0, less one.
        Height: [(2, 14, 14)], [(2, 14, 14)], [(2, 14, 14)], [(2, 14, 16)];
        /// 1 on gfx10.
        ResourceLevel: [], [(2, 31, 1)], [], [];
        /// What a load gives for x, y, z and w, three bits each: 0 and 1 for the constants, 4 to 7 for a component.
        Select: [(3, 0, 12)], [(3, 0, 12)], [(3, 0, 12)], [(3, 0, 12)];
        /// The first level that instructions see.
        BaseLevel: [(3, 12, 4)], [(3, 12, 4)], [(3, 12, 4)], [(1, 25, 5)];
        /// The last level that instructions see.
        LastLevel: [(3, 16, 4)], [(3, 16, 4)], [(3, 16, 4)], [(3, 15, 5)];
        /// The number of levels in memory, less one.
        MaxMip: [(5, 28, 4)], [(5, 4, 4)], [(1, 16, 4)], [(1, 12, 5)];
        /// How the texels are arranged: 0 for rows.
        SwizzleMode: [(3, 20, 5)], [(3, 20, 5)], [(3, 20, 5)], [(3, 20, 5)];
        /// The type: 8 to 13 for one, two and three dimensions, cubes, and arrays of one and two dimensions.
        Type: [(3, 28, 4)], [(3, 28, 4)], [(3, 28, 4)], [(3, 28, 4)];
        /// The last slice: the depth less one, or the last layer. From gfx10.3 on, one and two dimensions have their pitch there.
        Depth: [(4, 0, 13)], [(4, 0, 13)], [(4, 0, 13)], [(4, 0, 14)];
        /// The texels from a row to the next one, less one: of any image on gfx9, later of one and two dimensions.
        Pitch: [(4, 13, 16)], [(4, 0, 14)], [(4, 0, 14)], [(4, 0, 16)];
        /// The first layer.
        BaseArray: [(5, 0, 13)], [(4, 16, 13)], [(4, 16, 13)], [(4, 16, 14)];
        /// An image with three dimensions begins with the first layer, as arrays do.
        BeginsWithLayer: [], [(5, 0, 1)], [(5, 0, 1)], [(5, 4, 1)];
        /// The least level that samplers read, in 256ths.
        MinLod: [(1, 8, 12)], [(1, 8, 12)], [(5, 27, 5), (6, 0, 7)], [(5, 26, 6), (6, 0, 7)];
        /// The texels are compressed.
        Compression: [(6, 21, 1)], [(6, 21, 1)], [(6, 21, 1)], [(6, 21, 1)];
        /// The order of a border's components.
        BorderOrder: [(4, 29, 3)], [(3, 25, 3)], [(3, 25, 3)], [(3, 25, 3)];
    }
}

fields! {
    /// The fields of a sampler's descriptor of four dwords (S#).
    SamplerField {
        /// What coordinates outside the image are, horizontally: 0 wrap, 1 mirror, 2 the last texel, 6 the border.
        ClampX: [(0, 0, 3)], [(0, 0, 3)], [(0, 0, 3)], [(0, 0, 3)];
        /// The same vertically.
        ClampY: [(0, 3, 3)], [(0, 3, 3)], [(0, 3, 3)], [(0, 3, 3)];
        /// The same in the third dimension.
        ClampZ: [(0, 6, 3)], [(0, 6, 3)], [(0, 6, 3)], [(0, 6, 3)];
        /// Coordinates are in texels.
        ForceUnnormalized: [(0, 15, 1)], [(0, 15, 1)], [(0, 15, 1)], [(0, 15, 1)];
        /// The smallest level, in 256ths.
        MinLod: [(1, 0, 12)], [(1, 0, 12)], [(1, 0, 12)], [(1, 0, 13)];
        /// The largest level, in 256ths.
        MaxLod: [(1, 12, 12)], [(1, 12, 12)], [(1, 12, 12)], [(1, 13, 13)];
        /// What is added to levels, in 256ths, signed.
        LodBias: [(2, 0, 14)], [(2, 0, 14)], [(2, 0, 14)], [(2, 0, 14)];
        /// The filter for magnifying: 0 the nearest texel, 1 linear.
        MagFilter: [(2, 20, 2)], [(2, 20, 2)], [(2, 20, 2)], [(2, 20, 2)];
        /// The same for minifying.
        MinFilter: [(2, 22, 2)], [(2, 22, 2)], [(2, 22, 2)], [(2, 22, 2)];
        /// The filter in the third dimension: 0 as the others, 1 the nearest texel, 2 linear.
        ZFilter: [(2, 24, 2)], [(2, 24, 2)], [(2, 24, 2)], [(2, 24, 2)];
        /// Between levels: 0 the base level alone, 1 the nearest one, 2 linear.
        MipFilter: [(2, 26, 2)], [(2, 26, 2)], [(2, 26, 2)], [(2, 26, 2)];
        /// The border's colour: 0 transparent black, 1 opaque black, 2 opaque white, 3 from memory.
        BorderColor: [(3, 30, 2)], [(3, 30, 2)], [(3, 30, 2)], [(3, 30, 2)];
    }
}

fields! {
    /// The fields of a buffer's descriptor of four dwords (V#), as far as a buffer of texels needs them.
    BufferField {
        /// The address of the first byte.
        Base: [(0, 0, 32), (1, 0, 16)], [(0, 0, 32), (1, 0, 16)], [(0, 0, 32), (1, 0, 16)], [(0, 0, 32), (1, 0, 16)];
        /// The bytes from a record to the next one.
        Stride: [(1, 16, 14)], [(1, 16, 14)], [(1, 16, 14)], [(1, 16, 14)];
        /// How many records there are.
        Records: [(2, 0, 32)], [(2, 0, 32)], [(2, 0, 32)], [(2, 0, 32)];
        /// As [`ImageField::Select`].
        Select: [(3, 0, 12)], [(3, 0, 12)], [(3, 0, 12)], [(3, 0, 12)];
        /// The format's number ([`TexelFormat::buffer_number`](super::TexelFormat::buffer_number)).
        Format: [(3, 15, 4), (3, 12, 3)], [(3, 12, 7)], [(3, 12, 6)], [(3, 12, 6)];
        /// 1 on gfx10.
        ResourceLevel: [], [(3, 24, 1)], [], [];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Generation; 4] = [Generation::Gfx9, Generation::Gfx10, Generation::Gfx11, Generation::Gfx12];

    #[test]
    fn a_field_is_read_as_it_was_written_and_leaves_others_alone() {
        for generation in ALL {
            let mut words = [0; 8];
            ImageField::Base.set(generation, &mut words, 0xab_1234_5678);
            ImageField::Width.set(generation, &mut words, 16383);
            ImageField::Height.set(generation, &mut words, 9);
            ImageField::LastLevel.set(generation, &mut words, 11);
            ImageField::Type.set(generation, &mut words, 9);
            assert_eq!(words[0], 0x1234_5678);
            assert_eq!(words[1] & 0xff, 0xab);
            let get = |field: ImageField| field.get(generation, &words);
            assert_eq!(get(ImageField::Base), 0xab_1234_5678, "{generation:?}");
            assert_eq!(get(ImageField::Width), 16383, "{generation:?}");
            assert_eq!((get(ImageField::Height), get(ImageField::LastLevel)), (9, 11), "{generation:?}");
            assert_eq!((get(ImageField::Type), get(ImageField::BaseLevel)), (9, 0), "{generation:?}");
            ImageField::Width.set(generation, &mut words, 0);
            assert_eq!(ImageField::Height.get(generation, &words), 9);
        }
    }

    #[test]
    fn what_a_generation_has_not_is_nothing() {
        let mut words = [0; 8];
        ImageField::ResourceLevel.set(Generation::Gfx11, &mut words, 1);
        assert_eq!(words, [0; 8]);
        ImageField::ResourceLevel.set(Generation::Gfx10, &mut words, 1);
        assert_eq!(words[2], 1 << 31);
    }
}
