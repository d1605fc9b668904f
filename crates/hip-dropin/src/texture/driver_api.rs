//! Textures of HIP's driver API, whose structures name formats and flags where the runtime's have channels and modes.

pub(crate) use super::destroy;
use super::{create, get};
use crate::abi::{
    Address, DriverResource, HIP_RESOURCE_DESC, HIP_RESOURCE_VIEW_DESC, HIP_TEXTURE_DESC, HipResult, In, Out,
    Resource, Status, hipChannelFormatDesc, hipResourceDesc, hipResourceViewDesc, hipTextureDesc,
};
use crate::memory::array::{channels_of, format_of, format_of_channels, number_of};
use crate::process::Process;

// The flags of textures (HIP_TRSF_...).
pub(super) const READ_AS_INTEGER: u32 = 1;
pub(super) const NORMALIZED_COORDINATES: u32 = 2;
pub(super) const SRGB: u32 = 0x10;

/// The type of resource that has a format is from this one on: linear and pitched memory.
const WITH_FORMAT: i32 = 2;
const PITCHED: i32 = 3;

const NO_CHANNELS: hipChannelFormatDesc = hipChannelFormatDesc { x: 0, y: 0, z: 0, w: 0, f: 0 };

fn resource_of_driver(desc: &HIP_RESOURCE_DESC) -> HipResult<hipResourceDesc> {
    let DriverResource { start, format, channels, width, height, pitch, .. } = desc.res;
    let (mut res, has_format) =
        (Resource { start, desc: NO_CHANNELS, width: 0, height: 0, pitch: 0 }, desc.resType >= WITH_FORMAT);
    if has_format {
        res = Resource { desc: channels_of(format_of(format, channels)?), width, ..res };
    }
    if desc.resType == PITCHED {
        res = Resource { height, pitch, ..res };
    }
    Ok(hipResourceDesc { resType: desc.resType, res })
}

fn resource_to_driver(desc: &hipResourceDesc) -> HIP_RESOURCE_DESC {
    let Resource { start, desc: channels, width, height, pitch } = desc.res;
    let format = if desc.resType >= WITH_FORMAT { format_of_channels(channels).ok() } else { None };
    let res = DriverResource {
        start,
        format: format.map_or(0, number_of),
        channels: format.map_or(0, |format| format.components),
        width,
        height,
        pitch,
        reserved: [0; 11],
    };
    HIP_RESOURCE_DESC { resType: desc.resType, res, flags: 0 }
}

fn texture_of_driver(desc: &HIP_TEXTURE_DESC) -> hipTextureDesc {
    let has = |flag: u32| i32::from(desc.flags & flag != 0);
    hipTextureDesc {
        addressMode: desc.addressMode,
        filterMode: desc.filterMode,
        readMode: 1 - has(READ_AS_INTEGER),
        sRGB: has(SRGB),
        borderColor: desc.borderColor,
        normalizedCoords: has(NORMALIZED_COORDINATES),
        maxAnisotropy: desc.maxAnisotropy,
        mipmapFilterMode: desc.mipmapFilterMode,
        mipmapLevelBias: desc.mipmapLevelBias,
        minMipmapLevelClamp: desc.minMipmapLevelClamp,
        maxMipmapLevelClamp: desc.maxMipmapLevelClamp,
    }
}

/// The flags of a texture that reads so.
pub(super) fn flags(read_mode: i32, is_normalized: bool, is_srgb: bool) -> u32 {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    flag(read_mode == 0, READ_AS_INTEGER) | flag(is_normalized, NORMALIZED_COORDINATES) | flag(is_srgb, SRGB)
}

fn texture_to_driver(desc: &hipTextureDesc) -> HIP_TEXTURE_DESC {
    HIP_TEXTURE_DESC {
        addressMode: desc.addressMode,
        filterMode: desc.filterMode,
        flags: flags(desc.readMode, desc.normalizedCoords != 0, desc.sRGB != 0),
        maxAnisotropy: desc.maxAnisotropy,
        mipmapFilterMode: desc.mipmapFilterMode,
        mipmapLevelBias: desc.mipmapLevelBias,
        minMipmapLevelClamp: desc.minMipmapLevelClamp,
        maxMipmapLevelClamp: desc.maxMipmapLevelClamp,
        borderColor: desc.borderColor,
        reserved: [0; 12],
    }
}

/// The two structures of views have the same fields; the driver's has reserved ones behind them.
macro_rules! view {
    ($to:ident, $from:expr, $($more:tt)*) => {
        $to {
            format: $from.format,
            width: $from.width,
            height: $from.height,
            depth: $from.depth,
            firstMipmapLevel: $from.firstMipmapLevel,
            lastMipmapLevel: $from.lastMipmapLevel,
            firstLayer: $from.firstLayer,
            lastLayer: $from.lastLayer,
            $($more)*
        }
    };
}

pub(crate) fn hipTexObjectCreate(
    process: &Process,
    object: Out<Address>,
    resource: In<HIP_RESOURCE_DESC>,
    texture: In<HIP_TEXTURE_DESC>,
    view: In<HIP_RESOURCE_VIEW_DESC>,
) -> HipResult {
    object.check()?;
    let (resource, texture) = (resource_of_driver(&resource.get()?)?, texture_of_driver(&texture.get()?));
    let view = match view.is_null() {
        true => None,
        false => {
            let given = view.get()?;
            Some(view!(hipResourceViewDesc, given,))
        }
    };
    object.set(create(process, resource, texture, view)?)
}

pub(crate) fn hipTexObjectGetResourceDesc(
    process: &Process,
    desc: Out<HIP_RESOURCE_DESC>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| resource_to_driver(&object.resource))
}

pub(crate) fn hipTexObjectGetTextureDesc(
    process: &Process,
    desc: Out<HIP_TEXTURE_DESC>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| texture_to_driver(&object.texture))
}

pub(crate) fn hipTexObjectGetResourceViewDesc(
    process: &Process,
    desc: Out<HIP_RESOURCE_VIEW_DESC>,
    object: Address,
) -> HipResult {
    get(process, desc, object, |object| view!(HIP_RESOURCE_VIEW_DESC, object.view, reserved: [0; 16],))
}

/// The channels of a format that the driver API names.
pub(super) fn channels(format: i32, components: i32) -> HipResult<hipChannelFormatDesc> {
    let components = u32::try_from(components).map_err(|_| Status::INVALID_VALUE)?;
    Ok(channels_of(format_of(format, components)?))
}
