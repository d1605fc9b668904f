//! Textures and surfaces: memory that kernels read, with the descriptors of an image and of a sampler.

pub(crate) mod descriptor;
pub(crate) mod driver_api;
pub(crate) mod reference;

use std::sync::Arc;

use amdgpu_isa::Generation;
use amdgpu_isa::image::{Numbers, TexelFormat};
use amdgpu_isa::image_layout::ImageSize;

use crate::abi::{
    Address, HipResult, In, Out, Resource, Status, hipResourceDesc, hipResourceViewDesc, hipTextureDesc,
};
use crate::memory;
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind, Place};
use crate::memory::array::{self, Geometry, LINEAR, SIDE};
use crate::process::objects::Objects;
use crate::process::{Process, thread};
use descriptor::{IMAGE, Image, SAMPLER};

// hipResourceType.
const ARRAY: i32 = 0;
const MIPMAPPED: i32 = 1;
const LINEAR_MEMORY: i32 = 2;
const PITCHED: i32 = 3;

/// What memory of textures begins at multiples of, and their pitches, in bytes.
pub(super) const ALIGNMENT: u64 = 256;

/// A texture or a surface. Its handle is the address that kernels get.
struct Object {
    resource: hipResourceDesc,
    texture: hipTextureDesc,
    view: hipResourceViewDesc,
    /// Where the host has the dwords.
    host: u64,
}

static TEXTURES: Objects<Object> = Objects::new();
static SURFACES: Objects<Object> = Objects::new();

/// The current device's generation. Fails with `NOT_SUPPORTED` if the device has no image instructions.
pub(super) fn generation(process: &Process) -> HipResult<Generation> {
    descriptor::generation(&process.current().properties.target.processor).ok_or(Status::NOT_SUPPORTED)
}

/// Puts dwords where kernels and the host can read them, and adds the object.
fn add(
    process: &Process,
    objects: &Objects<Object>,
    words: &[u32],
    object: impl FnOnce(u64) -> Object,
) -> HipResult<Address> {
    let device = thread::device();
    let bytes = size_of_val(words);
    let pinned = process.driver.host_malloc(device, bytes)?;
    // SAFETY: the memory was just allocated with so many bytes, and nothing else knows it.
    unsafe { words.as_ptr().cast::<u8>().copy_to_nonoverlapping(pinned.host.as_ptr().cast(), bytes) };
    let allocation = Allocation::host(pinned, device, Kind::Image, 0);
    ALLOCATIONS.insert(allocation);
    objects.insert(pinned.device.0, object(allocation.base));
    Ok(Address(pinned.device.0))
}

/// Frees an object behind the work of the device. A null one is none.
fn remove(process: &Process, objects: &Objects<Object>, handle: Address) -> HipResult {
    if handle.is_null() {
        return Ok(());
    }
    let object = objects.remove(handle.0).ok_or(Status::INVALID_VALUE)?;
    let found = ALLOCATIONS.take(object.host, |kind| kind == Kind::Image).ok_or(Status::INVALID_VALUE)?;
    memory::free(process, &found)
}

/// The format that kernels see: with `hipReadModeNormalizedFloat`, integers of 8 and 16 bits are from 0 or -1 to 1; and with sRGB, four such
/// bytes are not linear. Other components stay as they are.
fn seen(format: TexelFormat, texture: &hipTextureDesc) -> HipResult<TexelFormat> {
    let numbers = match (format.numbers, texture.readMode, format.bits) {
        (_, 0, _) | (Numbers::Float, 1, _) | (_, 1, 32) => format.numbers,
        (Numbers::Uint, 1, _) => Numbers::Unorm,
        (_, 1, _) => Numbers::Snorm,
        _ => return Err(Status::INVALID_VALUE),
    };
    match (texture.sRGB, format.components, numbers, format.bits) {
        (1, 4, Numbers::Unorm, 8) => Ok(TexelFormat { numbers: Numbers::Srgb, ..format }),
        (1, 4, ..) => Err(Status::INVALID_VALUE),
        _ => Ok(TexelFormat { numbers, ..format }),
    }
}

/// `hipResourceViewFormat`, one less: unsigned and signed integers of 8, 16 and 32 bits, halves and floats, of 1, 2 and 4 components.
const VIEWS: [(u32, Numbers); 8] = [
    (8, Numbers::Uint),
    (8, Numbers::Sint),
    (16, Numbers::Uint),
    (16, Numbers::Sint),
    (32, Numbers::Uint),
    (32, Numbers::Sint),
    (16, Numbers::Float),
    (32, Numbers::Float),
];

/// The number of a format among those of views.
pub(super) fn view_format(format: TexelFormat) -> i32 {
    let row = VIEWS.iter().position(|row| *row == (format.bits, format.numbers)).unwrap_or(0);
    1 + 3 * row as i32 + format.components.ilog2() as i32
}

/// The format of a view of an array. It has the size of the array's own.
fn viewed(own: TexelFormat, view: Option<&hipResourceViewDesc>) -> HipResult<TexelFormat> {
    let Some(number) = view.map(|view| view.format).filter(|number| *number != 0) else { return Ok(own) };
    let at = usize::try_from(number - 1).map_err(|_| Status::INVALID_VALUE)?;
    let (bits, numbers) = *VIEWS.get(at / 3).ok_or(Status::INVALID_VALUE)?;
    let format = TexelFormat { bits, components: 1 << (at % 3), numbers };
    if format.bytes() == own.bytes() { Ok(format) } else { Err(Status::INVALID_VALUE) }
}

/// Checks that memory of a texture begins where it may, and is in an allocation.
fn check_memory(process: &Process, start: Address, bytes: usize) -> HipResult {
    if start.is_null() || !start.0.is_multiple_of(ALIGNMENT) || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    match process.place(start, bytes)? {
        Place::Pageable => Err(Status::INVALID_VALUE),
        Place::Pinned(_) | Place::Device(_) => Ok(()),
    }
}

/// The dwords of the image that a texture reads.
fn image(
    process: &Process,
    generation: Generation,
    resource: &hipResourceDesc,
    texture: &hipTextureDesc,
    view: Option<&hipResourceViewDesc>,
) -> HipResult<[u32; IMAGE]> {
    let Resource { start, desc, width, height, pitch } = resource.res;
    match resource.resType {
        ARRAY => {
            let array = array::array(start.0)?;
            let format = seen(viewed(array.format, view)?, texture)?;
            Image::of_array(&array, format).dwords(generation)
        }
        MIPMAPPED => {
            let mipmapped = array::mipmapped(start.0)?;
            let format = seen(viewed(mipmapped.format, view)?, texture)?;
            let last = mipmapped.levels - 1;
            let seen = match view {
                Some(view) if view.lastMipmapLevel != 0 => [view.firstMipmapLevel, view.lastMipmapLevel],
                _ => [0, last],
            };
            if seen[0] > seen[1] || seen[1] > last {
                return Err(Status::INVALID_VALUE);
            }
            let pitch = mipmapped.size.level(0).row;
            let (base, size, levels) = (mipmapped.base.0, mipmapped.size, mipmapped.levels);
            let geometry = mipmapped.geometry;
            Image { base, format, geometry, size, pitch, levels, seen }.dwords(generation)
        }
        LINEAR_MEMORY => {
            let format = seen(array::format_of_channels(desc)?, texture)?;
            if width >= LINEAR as usize {
                return Err(Status::INVALID_VALUE);
            }
            check_memory(process, start, width)?;
            descriptor::buffer(generation, start.0, format, width / format.bytes() as usize)
        }
        PITCHED => {
            let format = seen(array::format_of_channels(desc)?, texture)?;
            // clr's comparisons exclude the limits.
            let fits = (1..SIDE as usize).contains(&width) && (1..SIDE as usize).contains(&height);
            let row = width.saturating_mul(format.bytes() as usize);
            if !fits || row > pitch || !(pitch as u64).is_multiple_of(ALIGNMENT) {
                return Err(Status::INVALID_VALUE);
            }
            check_memory(process, start, pitch.saturating_mul(height - 1).saturating_add(row))?;
            let (width, height) = (width as u32, height as u32);
            let size = ImageSize { width, height, slices: 1, has_depth: false, texel: format.bytes() };
            let (geometry, pitch) = (Geometry::Two, pitch as u64);
            Image { base: start.0, format, geometry, size, pitch, levels: 1, seen: [0, 0] }.dwords(generation)
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Makes a texture. What it checks, and what is not supported, is as in clr, which has no mipmapped arrays on Linux.
pub(super) fn create(
    process: &Process,
    resource: hipResourceDesc,
    texture: hipTextureDesc,
    view: Option<hipResourceViewDesc>,
) -> HipResult<Address> {
    let generation = generation(process)?;
    let is_mipmapped = resource.resType == MIPMAPPED;
    let of_array = is_mipmapped || resource.resType == ARRAY;
    if (view.is_some() && !of_array)
        || (of_array && resource.res.start.is_null())
        || (is_mipmapped && texture.normalizedCoords == 0)
    {
        return Err(Status::INVALID_VALUE);
    }
    let clamps = [texture.minMipmapLevelClamp, texture.maxMipmapLevelClamp];
    if texture.maxAnisotropy != 0 || texture.mipmapLevelBias != 0.0 || (!is_mipmapped && clamps != [0.0, 0.0])
    {
        return Err(Status::NOT_SUPPORTED);
    }
    let mut words = [0; IMAGE + SAMPLER];
    words[..IMAGE].copy_from_slice(&image(process, generation, &resource, &texture, view.as_ref())?);
    words[IMAGE..].copy_from_slice(&descriptor::sampler(generation, &texture, is_mipmapped)?);
    let view = view.unwrap_or(NO_VIEW);
    add(process, &TEXTURES, &words, |host| Object { resource, texture, view, host })
}

/// The view of a texture that was given none.
const NO_VIEW: hipResourceViewDesc = hipResourceViewDesc {
    format: 0,
    width: 0,
    height: 0,
    depth: 0,
    firstMipmapLevel: 0,
    lastMipmapLevel: 0,
    firstLayer: 0,
    lastLayer: 0,
};

pub(crate) fn hipCreateTextureObject(
    process: &Process,
    object: Out<Address>,
    resource: In<hipResourceDesc>,
    texture: In<hipTextureDesc>,
    view: In<hipResourceViewDesc>,
) -> HipResult {
    generation(process)?;
    object.check()?;
    let view = if view.is_null() { None } else { Some(view.get()?) };
    object.set(create(process, resource.get()?, texture.get()?, view)?)
}

/// Frees a texture.
pub(crate) fn destroy(process: &Process, object: Address) -> HipResult {
    remove(process, &TEXTURES, object)
}

/// Writes what a texture was made of.
fn get<T>(process: &Process, to: Out<T>, object: Address, read: impl FnOnce(&Object) -> T) -> HipResult {
    to.check()?;
    let object = known(object)?;
    generation(process)?;
    to.set(read(&object))
}

fn known(object: Address) -> HipResult<Arc<Object>> {
    TEXTURES.expect(object.0, Status::INVALID_VALUE)
}

pub(crate) fn hipGetTextureObjectResourceDesc(
    process: &Process,
    desc: Out<hipResourceDesc>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| object.resource)
}

pub(crate) fn hipGetTextureObjectTextureDesc(
    process: &Process,
    desc: Out<hipTextureDesc>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| object.texture)
}

pub(crate) fn hipGetTextureObjectResourceViewDesc(
    process: &Process,
    desc: Out<hipResourceViewDesc>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| object.view)
}

pub(crate) fn hipCreateSurfaceObject(
    process: &Process,
    object: Out<Address>,
    resource: In<hipResourceDesc>,
) -> HipResult {
    let generation = generation(process)?;
    object.check()?;
    let resource = resource.get()?;
    if resource.resType != ARRAY || resource.res.start.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let array = array::array(resource.res.start.0)?;
    let words = Image::of_array(&array, array.format).dwords(generation)?;
    let made = |host| Object { resource, texture: NO_TEXTURE, view: NO_VIEW, host };
    object.set(add(process, &SURFACES, &words, made)?)
}

/// The texture of a surface, which has none.
const NO_TEXTURE: hipTextureDesc = hipTextureDesc {
    addressMode: [0; 3],
    filterMode: 0,
    readMode: 0,
    sRGB: 0,
    borderColor: [0.0; 4],
    normalizedCoords: 0,
    maxAnisotropy: 0,
    mipmapFilterMode: 0,
    mipmapLevelBias: 0.0,
    minMipmapLevelClamp: 0.0,
    maxMipmapLevelClamp: 0.0,
};

pub(crate) fn hipDestroySurfaceObject(process: &Process, object: Address) -> HipResult {
    remove(process, &SURFACES, object)
}
