//! Arrays: memory of a device that is an image, and mipmapped arrays, which are several levels of one.
//!
//! A handle is the address of the structure that programs for HIP 5 can read, with which each of them begins. Where the elements lie is
//! [`ImageSize`]'s: kernels read them through textures and surfaces.

use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_isa::image::{Numbers, TexelFormat};
use amdgpu_isa::image_layout::{ImageLevel, ImageSize};
use hip_driver::DeviceId;

use crate::abi::version::Version;
use crate::abi::{
    Address, Array, HIP_ARRAY_DESCRIPTOR, HIP_ARRAY3D_DESCRIPTOR, HipResult, In, MipmappedArray, Out, Status,
    hipArray, hipChannelFormatDesc, hipExtent, hipMipmappedArray,
};
use crate::memory;
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind};
use crate::memory::pool;
use crate::process::objects::Objects;
use crate::process::{Process, thread};

/// The most elements in a direction of one and two dimensions (clr, for GPUs of gfx9).
pub(crate) const SIDE: i32 = 16384;
/// The same for three dimensions.
pub(crate) const SIDE_3D: i32 = 2048;
/// The most layers (ROCr, `GetImageInfoMaxDimension`).
const LAYERS: usize = 8192;

// The flags of arrays (hipArrayLayered and so on).
const LAYERED: u32 = 1;
const SURFACE: u32 = 2;
const CUBEMAP: u32 = 4;
const GATHER: u32 = 8;

/// The formats of elements: the number of `hipArray_Format`, the bits of a channel, and what they are.
const FORMATS: [(i32, u32, Numbers); 8] = [
    (0x01, 8, Numbers::Uint),
    (0x02, 16, Numbers::Uint),
    (0x03, 32, Numbers::Uint),
    (0x08, 8, Numbers::Sint),
    (0x09, 16, Numbers::Sint),
    (0x0a, 32, Numbers::Sint),
    (0x10, 16, Numbers::Float),
    (0x20, 32, Numbers::Float),
];

/// `hipChannelFormatKind`: signed, unsigned, float.
const KINDS: [Numbers; 3] = [Numbers::Sint, Numbers::Uint, Numbers::Float];

/// The format that a `hipArray_Format` and a number of channels are.
pub(crate) fn format_of(format: i32, channels: u32) -> HipResult<TexelFormat> {
    let (_, bits, numbers) =
        *FORMATS.iter().find(|(number, ..)| *number == format).ok_or(Status::INVALID_VALUE)?;
    match channels {
        1 | 2 | 4 => Ok(TexelFormat { bits, components: channels, numbers }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The format that a description of channels is. All channels have the same size, and none follows one that is not there.
pub(crate) fn format_of_channels(desc: hipChannelFormatDesc) -> HipResult<TexelFormat> {
    let channels = [desc.x, desc.y, desc.z, desc.w];
    let count = channels.iter().take_while(|bits| **bits != 0).count();
    let same = channels.iter().enumerate().all(|(n, bits)| *bits == if n < count { desc.x } else { 0 });
    let numbers =
        usize::try_from(desc.f).ok().and_then(|kind| KINDS.get(kind)).ok_or(Status::INVALID_VALUE)?;
    let row = FORMATS.iter().find(|(_, bits, kind)| *bits as i32 == desc.x && kind == numbers);
    match row {
        Some((number, ..)) if same => format_of(*number, count as u32),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The `hipArray_Format` of a format.
pub(crate) fn number_of(format: TexelFormat) -> i32 {
    let row = FORMATS.iter().find(|(_, bits, kind)| (*bits, *kind) == (format.bits, format.numbers));
    row.map_or(0, |(number, ..)| *number)
}

/// The description of a format's channels.
pub(crate) fn channels_of(format: TexelFormat) -> hipChannelFormatDesc {
    let bits = |channel: u32| if channel < format.components { format.bits as i32 } else { 0 };
    let kind = KINDS.iter().position(|kind| *kind == format.numbers).unwrap_or(3);
    hipChannelFormatDesc { x: bits(0), y: bits(1), z: bits(2), w: bits(3), f: kind as i32 }
}

/// How elements are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geometry {
    One,
    Two,
    Three,
    OneLayered,
    TwoLayered,
}

/// What a program asks for: the extent in elements, which is 0 in a direction that an array does not have.
#[derive(Clone, Copy)]
pub(crate) struct Description {
    width: usize,
    height: usize,
    depth: usize,
    pub(crate) format: TexelFormat,
    flags: u32,
}

impl Description {
    pub(crate) fn new(
        desc: In<hipChannelFormatDesc>,
        extent: hipExtent,
        flags: u32,
    ) -> HipResult<Description> {
        let format = format_of_channels(desc.get()?)?;
        Ok(Description { width: extent.width, height: extent.height, depth: extent.depth, format, flags })
    }

    pub(crate) fn of_driver(desc: &HIP_ARRAY3D_DESCRIPTOR) -> HipResult<Description> {
        let format = format_of(desc.Format, desc.NumChannels)?;
        let HIP_ARRAY3D_DESCRIPTOR { Width, Height, Depth, Flags, .. } = *desc;
        Ok(Description { width: Width, height: Height, depth: Depth, format, flags: Flags })
    }

    pub(crate) fn of_driver_2d(desc: &HIP_ARRAY_DESCRIPTOR) -> HipResult<Description> {
        let format = format_of(desc.Format, desc.NumChannels)?;
        Ok(Description { width: desc.Width, height: desc.Height, depth: 0, format, flags: 0 })
    }

    /// Checks flags and extent as clr does (`ihipArrayCreate`): it has no cubes. What HIP 5 does not support are flags for what its arrays
    /// can do anyway; later versions take them, and only rectangles for gathers.
    fn check(&self, version: Version) -> HipResult<Geometry> {
        if self.flags & CUBEMAP != 0 || self.flags & !(LAYERED | SURFACE | GATHER) != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let gathers = self.flags & GATHER != 0;
        if version == Version::Hip5 && (gathers || self.flags & SURFACE != 0) {
            return Err(Status::NOT_SUPPORTED);
        }
        let geometry = match (self.flags & LAYERED != 0, self.height != 0, self.depth != 0) {
            (false, false, false) => Geometry::One,
            (false, true, false) => Geometry::Two,
            (false, true, true) => Geometry::Three,
            (true, false, true) => Geometry::OneLayered,
            (true, true, true) => Geometry::TwoLayered,
            (false, false, true) | (true, _, false) => return Err(Status::INVALID_VALUE),
        };
        if gathers && geometry != Geometry::Two {
            return Err(Status::INVALID_VALUE);
        }
        let (side, depth) = match geometry {
            Geometry::Three => (SIDE_3D as usize, SIDE_3D as usize),
            _ => (SIDE as usize, LAYERS),
        };
        let fits = self.width != 0 && self.width <= side && self.height <= side && self.depth <= depth;
        if fits { Ok(geometry) } else { Err(Status::INVALID_VALUE) }
    }

    /// The size of the image. The extent was checked.
    fn size(&self, geometry: Geometry) -> ImageSize {
        let at_least_one = |extent: usize| extent.max(1) as u32;
        ImageSize {
            width: at_least_one(self.width),
            height: at_least_one(self.height),
            slices: at_least_one(self.depth),
            has_depth: geometry == Geometry::Three,
            texel: self.format.bytes(),
        }
    }
}

/// How many levels an image has down to one element.
fn most_levels(size: &ImageSize) -> u32 {
    let depth = if size.has_depth { size.slices } else { 1 };
    u32::BITS - size.width.max(size.height).max(depth).leading_zeros()
}

/// An array: an image of its own, or a level of a mipmapped array.
#[repr(C)]
pub(crate) struct ArrayObject {
    /// What programs for HIP 5 see.
    header: hipArray,
    pub(crate) base: Address,
    pub(crate) device: DeviceId,
    pub(crate) format: TexelFormat,
    pub(crate) geometry: Geometry,
    pub(crate) size: ImageSize,
    /// Where the elements are. Its offset is 0: `base` is that of the level.
    pub(crate) level: ImageLevel,
    flags: u32,
    /// It is a level of a mipmapped array, which has the memory.
    is_level: bool,
}

/// A mipmapped array.
#[repr(C)]
pub(crate) struct MipmappedObject {
    /// What programs for HIP 5 see.
    _header: hipMipmappedArray,
    pub(crate) base: Address,
    pub(crate) device: DeviceId,
    pub(crate) format: TexelFormat,
    pub(crate) geometry: Geometry,
    pub(crate) size: ImageSize,
    pub(crate) levels: u32,
    flags: u32,
    /// The handles of the levels that the program asked for.
    arrays: Mutex<Vec<(u32, Array)>>,
}

static ARRAYS: Objects<ArrayObject> = Objects::new();
static MIPMAPPED: Objects<MipmappedObject> = Objects::new();

/// Returns a live array.
pub(crate) fn array(handle: Array) -> HipResult<Arc<ArrayObject>> {
    ARRAYS.expect(handle, if handle == 0 { Status::INVALID_VALUE } else { Status::INVALID_HANDLE })
}

/// What functions that only read a handle return for a null one: HIP 6 made it an invalid handle.
fn null_handle() -> Status {
    if Version::current() == Version::Hip5 { Status::INVALID_VALUE } else { Status::INVALID_HANDLE }
}

/// Returns a live mipmapped array.
pub(crate) fn mipmapped(handle: MipmappedArray) -> HipResult<Arc<MipmappedObject>> {
    MIPMAPPED.expect(handle, if handle == 0 { Status::INVALID_VALUE } else { Status::INVALID_HANDLE })
}

/// `hipMemoryTypeArray`, which HIP 6 numbered anew.
pub(crate) fn memory_type() -> i32 {
    if Version::current() == Version::Hip5 { 2 } else { 10 }
}

/// Whether an address is an array's handle.
pub(crate) fn is_handle(address: Address) -> bool {
    ARRAYS.with(address.0, |_| ()).is_some()
}

impl ArrayObject {
    fn new(
        (base, device): (Address, DeviceId),
        (format, geometry, flags): (TexelFormat, Geometry, u32),
        level: ImageLevel,
        is_level: bool,
    ) -> ArrayObject {
        let [width, height, depth] = match geometry {
            Geometry::One => [level.width, 0, 0],
            Geometry::Two => [level.width, level.height, 0],
            Geometry::OneLayered => [level.width, 0, level.slices],
            Geometry::Three | Geometry::TwoLayered => [level.width, level.height, level.slices],
        };
        ArrayObject {
            header: hipArray {
                data: base,
                desc: channels_of(format),
                r#type: 0,
                width,
                height,
                depth,
                Format: number_of(format),
                NumChannels: format.components,
                isDrv: false,
                textureType: 0,
            },
            base,
            device,
            format,
            geometry,
            size: ImageSize {
                width: level.width,
                height: level.height,
                slices: level.slices,
                has_depth: geometry == Geometry::Three,
                texel: format.bytes(),
            },
            level: ImageLevel { offset: 0, ..level },
            flags,
            is_level,
        }
    }

    /// The extent that the program asked for.
    fn extent(&self) -> hipExtent {
        let hipArray { width, height, depth, .. } = self.header;
        hipExtent { width: width as usize, height: height as usize, depth: depth as usize }
    }
}

/// Allocates the memory of an image on the current device.
fn allocate(process: &Process, size: &ImageSize, levels: u32) -> HipResult<(Address, DeviceId)> {
    process.captures_allow()?;
    let device = thread::device();
    // They end where one more would begin.
    let bytes = size.level(levels).offset as usize;
    let ptr = pool::with_memory_of(process, device, || process.driver.malloc(device, bytes))?;
    ALLOCATIONS.insert(Allocation::device(ptr, bytes, device, Kind::Image));
    Ok((Address(ptr.0), device))
}

/// Frees the memory of an image, behind the work of the device.
fn free(process: &Process, base: Address) -> HipResult {
    let found = ALLOCATIONS.take(base.0, |kind| kind == Kind::Image).ok_or(Status::INVALID_VALUE)?;
    memory::free(process, &found)
}

/// Makes an array.
pub(crate) fn create(
    process: &Process,
    array: Out<Array>,
    description: impl FnOnce() -> HipResult<Description>,
) -> HipResult {
    array.check()?;
    let description = description()?;
    let geometry = description.check(Version::current())?;
    let size = description.size(geometry);
    let place = allocate(process, &size, 1)?;
    let kind = (description.format, geometry, description.flags);
    array.set(ARRAYS.add(ArrayObject::new(place, kind, size.level(0), false)))
}

/// Frees an array. That of a level is the mipmapped array's, as in clr.
pub(crate) fn destroy(process: &Process, handle: Array) -> HipResult {
    process.captures_allow()?;
    if handle == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if ARRAYS.with(handle, |array| array.is_level).unwrap_or(true) {
        return Err(Status::CONTEXT_IS_DESTROYED);
    }
    let array = ARRAYS.remove(handle).ok_or(Status::CONTEXT_IS_DESTROYED)?;
    free(process, array.base)
}

/// Makes a mipmapped array.
pub(crate) fn create_mipmapped(
    process: &Process,
    array: Out<MipmappedArray>,
    levels: u32,
    description: impl FnOnce() -> HipResult<Description>,
) -> HipResult {
    array.check()?;
    let description = description()?;
    let geometry = description.check(Version::current())?;
    let size = description.size(geometry);
    let levels = levels.max(1);
    if levels > most_levels(&size) {
        return Err(Status::INVALID_VALUE);
    }
    let (base, device) = allocate(process, &size, levels)?;
    let Description { format, flags, width, height, depth } = description;
    let header = hipMipmappedArray {
        data: base,
        desc: channels_of(format),
        r#type: 0,
        width: width as u32,
        height: height as u32,
        depth: depth as u32,
        min_mipmap_level: 0,
        max_mipmap_level: levels,
        flags,
        format: number_of(format),
    };
    let arrays = Mutex::default();
    let object =
        MipmappedObject { _header: header, base, device, format, geometry, size, levels, flags, arrays };
    array.set(MIPMAPPED.add(object))
}

/// Frees a mipmapped array with its levels.
pub(crate) fn destroy_mipmapped(process: &Process, handle: MipmappedArray) -> HipResult {
    process.captures_allow()?;
    if handle == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let object = MIPMAPPED.remove(handle).ok_or(Status::CONTEXT_IS_DESTROYED)?;
    for (_, level) in std::mem::take(&mut *object.arrays.lock().unwrap_or_else(PoisonError::into_inner)) {
        ARRAYS.remove(level);
    }
    free(process, object.base)
}

/// Writes the array of a level, which is the same in each call.
pub(crate) fn get_level(out: Out<Array>, handle: MipmappedArray, level: u32) -> HipResult {
    out.check()?;
    let object = mipmapped(handle).map_err(|status| if handle == 0 { null_handle() } else { status })?;
    if level >= object.levels {
        return Err(Status::INVALID_VALUE);
    }
    let mut arrays = object.arrays.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = arrays.iter().find(|(number, _)| *number == level) {
        return out.set(*known);
    }
    let place = object.size.level(level);
    let base = object.base.offset(place.offset as usize);
    let kind = (object.format, object.geometry, object.flags);
    let array = ARRAYS.add(ArrayObject::new((base, object.device), kind, place, true));
    arrays.push((level, array));
    out.set(array)
}

pub(crate) fn hipArrayGetInfo(
    desc: Out<hipChannelFormatDesc>,
    extent: Out<hipExtent>,
    flags: Out<u32>,
    handle: Array,
) -> HipResult {
    let array = ARRAYS.expect(handle, Status::INVALID_HANDLE)?;
    desc.set_if_wanted(array.header.desc);
    extent.set_if_wanted(array.extent());
    flags.set_if_wanted(array.flags);
    Ok(())
}

pub(crate) fn hipArrayGetDescriptor(to: Out<HIP_ARRAY_DESCRIPTOR>, handle: Array) -> HipResult {
    to.check()?;
    let array = ARRAYS.expect(handle, Status::INVALID_HANDLE)?;
    let hipExtent { width, height, .. } = array.extent();
    let hipArray { Format, NumChannels, .. } = array.header;
    to.set(HIP_ARRAY_DESCRIPTOR { Width: width, Height: height, Format, NumChannels })
}

pub(crate) fn hipArray3DGetDescriptor(to: Out<HIP_ARRAY3D_DESCRIPTOR>, handle: Array) -> HipResult {
    to.check()?;
    let array = ARRAYS.expect(handle, Status::INVALID_HANDLE)?;
    let hipExtent { width, height, depth } = array.extent();
    let hipArray { Format, NumChannels, .. } = array.header;
    let flags = array.flags;
    to.set(HIP_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format,
        NumChannels,
        Flags: flags,
    })
}

pub(crate) fn hipGetChannelDesc(desc: Out<hipChannelFormatDesc>, handle: Array) -> HipResult {
    desc.check()?;
    let otherwise = if handle == 0 { null_handle() } else { Status::INVALID_HANDLE };
    desc.set(ARRAYS.expect(handle, otherwise)?.header.desc)
}

pub(crate) fn hipDeviceGetTexture1DLinearMaxWidth(
    process: &Process,
    width: Out<usize>,
    desc: In<hipChannelFormatDesc>,
    device: i32,
) -> HipResult {
    width.check()?;
    let format = format_of_channels(desc.get()?)?;
    process.device(device)?;
    width.set(LINEAR as usize / format.bytes() as usize)
}

/// The most bytes of a texture over linear memory (clr: 16 times ROCr's texels, as far as an `int` goes).
pub(crate) const LINEAR: i32 = i32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_of_one_size_and_without_gaps() {
        let desc = |bits: [i32; 4], f| {
            let [x, y, z, w] = bits;
            format_of_channels(hipChannelFormatDesc { x, y, z, w, f })
        };
        let known = desc([16, 16, 0, 0], 2).unwrap();
        assert_eq!(known, TexelFormat { bits: 16, components: 2, numbers: Numbers::Float });
        assert_eq!((number_of(known), known.bytes()), (0x10, 4));
        let back = channels_of(known);
        assert_eq!((back.x, back.y, back.z, back.w, back.f), (16, 16, 0, 0, 2));
        for (bits, kind) in [
            ([0; 4], 0),
            ([8, 8, 8, 0], 0),
            ([8, 0, 8, 0], 0),
            ([0, 8, 0, 0], 0),
            ([8, 16, 0, 0], 1),
            ([8, 0, 0, 0], 2),
            ([10; 4], 1),
            ([-1; 4], 1),
            ([32, 0, 0, 0], 3),
            ([32, 0, 0, 0], -1),
        ] {
            assert_eq!(desc(bits, kind), Err(Status::INVALID_VALUE), "{bits:?} {kind}");
        }
    }

    #[test]
    fn extents_and_flags_are_those_of_some_array() {
        let format = TexelFormat { bits: 32, components: 1, numbers: Numbers::Float };
        let check = |width, height, depth, flags| {
            Description { width, height, depth, format, flags }.check(Version::Hip7)
        };
        assert_eq!(check(4, 0, 0, 0), Ok(Geometry::One));
        assert_eq!(check(4, 4, 0, 0), Ok(Geometry::Two));
        assert_eq!(check(4, 4, 4, 0), Ok(Geometry::Three));
        assert_eq!(check(4, 0, 4, LAYERED), Ok(Geometry::OneLayered));
        assert_eq!(check(4, 4, 4, LAYERED), Ok(Geometry::TwoLayered));
        assert_eq!(check(16384, 16384, 0, 0), Ok(Geometry::Two));
        for (width, height, depth, flags) in [
            (0, 4, 0, 0),
            (4, 0, 4, 0),
            (4, 4, 0, LAYERED),
            (16385, 0, 0, 0),
            (4, 4, 2049, 0),
            (4, 4, 4, CUBEMAP),
            (4, 4, 4, 0xdead_beef),
            (usize::MAX, usize::MAX, 0, 0),
        ] {
            assert_eq!(check(width, height, depth, flags), Err(Status::INVALID_VALUE));
        }
        // The status codes are those of AMD's 7.2.4 and 5.2.3 over the software agent.
        assert_eq!(check(4, 4, 0, SURFACE | GATHER), Ok(Geometry::Two));
        assert_eq!(check(4, 4, 4, SURFACE | LAYERED), Ok(Geometry::TwoLayered));
        assert_eq!(check(4, 4, 4, GATHER), Err(Status::INVALID_VALUE));
        let surface = Description { width: 4, height: 4, depth: 0, format, flags: SURFACE };
        assert_eq!(surface.check(Version::Hip5), Err(Status::NOT_SUPPORTED));
    }
}
