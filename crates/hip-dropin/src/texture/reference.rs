//! Texture references: variables of the host and of the device. Binding one makes a texture, whose handle is written to both.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::driver_api::{self, NORMALIZED_COORDINATES, READ_AS_INTEGER, SRGB, channels};
use super::{
    ALIGNMENT, ARRAY, LINEAR_MEMORY, MIPMAPPED, PITCHED, create, destroy, generation, known, view_format,
};
use crate::abi::{
    Address, Array, HIP_ARRAY_DESCRIPTOR, HipResult, In, MipmappedArray, Out, Resource, Status, Text,
    hipChannelFormatDesc, hipResourceDesc, hipResourceViewDesc, hipTextureDesc, textureReference,
};
use crate::copy;
use crate::kernel::fat_binary;
use crate::kernel::module::{self, ModuleHandle};
use crate::memory::array;
use crate::process::{Process, thread};
use crate::stream::Target;

/// `HIP_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: u32 = 1;

/// A reference of a module: memory of the host for it, and the variable on the device.
struct OfModule {
    memory: Box<textureReference>,
    variable: Address,
}

/// The references of modules, by the module and the name. Their memory is never freed: programs keep its address.
static OF_MODULES: LazyLock<Mutex<HashMap<(u64, CString), OfModule>>> = LazyLock::new(Mutex::default);

/// Where the program's references are on the current device.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Owner {
    /// In what the program registered.
    Program,
    /// In a module.
    Module,
}

fn variable(process: &Process, reference: Out<textureReference>, owner: Owner) -> HipResult<Address> {
    let address = reference.address();
    if owner == Owner::Program {
        return fat_binary::variable(process, thread::device(), address).map(|(variable, _)| variable);
    }
    let all = OF_MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = all.values().find(|one| std::ptr::from_ref(&*one.memory).addr() as u64 == address.0);
    found.map(|one| one.variable).ok_or(Status::NOT_FOUND)
}

/// The texture that a reference is.
fn texture(reference: &textureReference) -> hipTextureDesc {
    hipTextureDesc {
        addressMode: reference.addressMode,
        filterMode: reference.filterMode,
        readMode: reference.readMode,
        sRGB: reference.sRGB,
        borderColor: [0.0; 4],
        normalizedCoords: reference.normalized,
        maxAnisotropy: reference.maxAnisotropy,
        mipmapFilterMode: reference.mipmapFilterMode,
        mipmapLevelBias: reference.mipmapLevelBias,
        minMipmapLevelClamp: reference.minMipmapLevelClamp,
        maxMipmapLevelClamp: reference.maxMipmapLevelClamp,
    }
}

/// Binds a reference: frees the texture that it was, makes the new one, and copies the reference to the device.
fn bind(
    process: &Process,
    reference: Out<textureReference>,
    owner: Owner,
    resource: HipResult<hipResourceDesc>,
    view: Option<hipResourceViewDesc>,
) -> HipResult {
    let mut bound = reference.get()?;
    let variable = variable(process, reference, owner)?;
    generation(process)?;
    destroy(process, bound.textureObject)?;
    bound.textureObject = Address::NULL;
    reference.set(bound)?;
    bound.textureObject = create(process, resource?, texture(&bound), view)?;
    reference.set(bound)?;
    let queue = Target::BLOCKING.queue(process)?;
    copy::copy(
        process,
        variable,
        reference.address(),
        size_of::<textureReference>(),
        copy::HOST_TO_DEVICE,
        queue,
    )
}

/// The part of an address in front of which memory of textures may begin. Fails if the program does not ask for it where it is not 0.
fn aligned(offset: Out<usize>, start: Address) -> HipResult<Address> {
    if start.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let beyond = start.0 % ALIGNMENT;
    if beyond != 0 {
        offset.check()?;
    }
    offset.set_if_wanted(beyond as usize);
    Ok(Address(start.0 - beyond))
}

/// Binds linear memory.
pub(crate) fn bind_linear(
    process: &Process,
    owner: Owner,
    (offset, reference): (Out<usize>, Out<textureReference>),
    start: Address,
    desc: HipResult<hipChannelFormatDesc>,
    bytes: usize,
) -> HipResult {
    let resource = || {
        let (desc, start) = (desc?, aligned(offset, start)?);
        let res = Resource { start, desc, width: bytes, height: 0, pitch: 0 };
        Ok(hipResourceDesc { resType: LINEAR_MEMORY, res })
    };
    bind(process, reference, owner, resource(), None)
}

/// Binds rows.
pub(crate) fn bind_rows(
    process: &Process,
    owner: Owner,
    (offset, reference): (Out<usize>, Out<textureReference>),
    start: Address,
    desc: HipResult<hipChannelFormatDesc>,
    (width, height, pitch): (usize, usize, usize),
) -> HipResult {
    let resource = || {
        let (desc, start) = (desc?, aligned(offset, start)?);
        Ok(hipResourceDesc { resType: PITCHED, res: Resource { start, desc, width, height, pitch } })
    };
    bind(process, reference, owner, resource(), None)
}

/// A view with another format.
fn view(desc: hipChannelFormatDesc) -> HipResult<hipResourceViewDesc> {
    let format = view_format(array::format_of_channels(desc)?);
    Ok(hipResourceViewDesc { format, ..super::NO_VIEW })
}

/// Binds an array, or a mipmapped one.
fn bind_array(
    process: &Process,
    owner: Owner,
    reference: Out<textureReference>,
    (kind, array): (i32, u64),
    desc: HipResult<hipChannelFormatDesc>,
) -> HipResult {
    reference.check()?;
    let desc = desc?;
    if array == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let res = Resource { start: Address(array), desc, width: 0, height: 0, pitch: 0 };
    bind(process, reference, owner, Ok(hipResourceDesc { resType: kind, res }), Some(view(desc)?))
}

pub(crate) fn hipBindTextureToArray(
    process: &Process,
    reference: Out<textureReference>,
    array: Array,
    desc: In<hipChannelFormatDesc>,
) -> HipResult {
    bind_array(process, Owner::Program, reference, (ARRAY, array), desc.get())
}

pub(crate) fn hipBindTextureToMipmappedArray(
    process: &Process,
    reference: Out<textureReference>,
    array: MipmappedArray,
    desc: In<hipChannelFormatDesc>,
) -> HipResult {
    bind_array(process, Owner::Program, reference, (MIPMAPPED, array), desc.get())
}

/// Binds an array to a reference of a module, with the format of the reference.
pub(crate) fn set_array(
    process: &Process,
    reference: Out<textureReference>,
    is_mipmapped: bool,
    array: u64,
    flags: u32,
) -> HipResult {
    if flags != OVERRIDE_FORMAT {
        return Err(Status::INVALID_VALUE);
    }
    let kind = if is_mipmapped { MIPMAPPED } else { ARRAY };
    bind_array(process, Owner::Module, reference, (kind, array), own_channels(reference))
}

/// The channels of the format that a reference has.
pub(crate) fn own_channels(reference: Out<textureReference>) -> HipResult<hipChannelFormatDesc> {
    let reference = reference.get()?;
    channels(reference.format, reference.numChannels)
}

pub(crate) fn hipTexRefSetAddress2D(
    process: &Process,
    reference: Out<textureReference>,
    desc: In<HIP_ARRAY_DESCRIPTOR>,
    start: Address,
    pitch: usize,
) -> HipResult {
    let desc = desc.get()?;
    let extent = (desc.Width, desc.Height, pitch);
    let channels = channels(desc.Format, desc.NumChannels as i32);
    bind_rows(process, Owner::Module, (Address::NULL.out(), reference), start, channels, extent)
}

pub(crate) fn hipUnbindTexture(process: &Process, reference: Out<textureReference>) -> HipResult {
    let mut bound = reference.get()?;
    generation(process)?;
    destroy(process, bound.textureObject)?;
    bound.textureObject = Address::NULL;
    reference.set(bound)
}

pub(crate) fn hipModuleGetTexRef(
    process: &Process,
    reference: Out<Address>,
    handle: ModuleHandle,
    name: Text,
) -> HipResult {
    reference.check()?;
    let name = name.get()?;
    let (variable, _) = module::global(process, handle, name)?;
    let mut all = OF_MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let one = all.entry((handle.0, name.to_owned())).or_insert_with(|| {
        // SAFETY: the structure has only numbers, for which zero bits are values.
        OfModule { memory: Box::new(unsafe { std::mem::zeroed() }), variable }
    });
    one.variable = variable;
    reference.set(Address(std::ptr::from_mut(&mut *one.memory).expose_provenance() as u64))
}

/// Changes a reference. Binding it is what makes the change count.
pub(crate) fn set(
    process: &Process,
    reference: Out<textureReference>,
    change: impl FnOnce(&mut textureReference),
) -> HipResult {
    let mut changed = reference.get()?;
    generation(process)?;
    change(&mut changed);
    reference.set(changed)
}

/// Writes what a reference says.
pub(crate) fn get<T>(
    process: &Process,
    to: Out<T>,
    reference: Out<textureReference>,
    read: impl FnOnce(&textureReference) -> T,
) -> HipResult {
    to.check()?;
    let reference = reference.get()?;
    generation(process)?;
    to.set(read(&reference))
}

/// Sets the mode of a direction.
pub(crate) fn set_address_mode(
    process: &Process,
    reference: Out<textureReference>,
    direction: i32,
    mode: i32,
) -> HipResult {
    let direction = usize::try_from(direction).ok().filter(|n| *n < 3).ok_or(Status::INVALID_VALUE)?;
    set(process, reference, |reference| reference.addressMode[direction] = mode)
}

/// Writes the mode of a direction. As in clr, that of the third can't be asked for.
pub(crate) fn get_address_mode(
    process: &Process,
    mode: Out<i32>,
    reference: Out<textureReference>,
    direction: i32,
) -> HipResult {
    let direction = usize::try_from(direction).ok().filter(|n| *n < 2).ok_or(Status::INVALID_VALUE)?;
    get(process, mode, reference, |reference| reference.addressMode[direction])
}

/// Sets what the flags of the driver API say.
pub(crate) fn set_flags(reference: &mut textureReference, flags: u32) {
    let has = |flag: u32| i32::from(flags & flag != 0);
    reference.readMode = 1 - has(READ_AS_INTEGER);
    reference.normalized = has(NORMALIZED_COORDINATES);
    reference.sRGB = has(SRGB);
}

/// The flags of the driver API.
pub(crate) fn flags(reference: &textureReference) -> u32 {
    driver_api::flags(reference.readMode, reference.normalized == 1, reference.sRGB == 1)
}

/// Writes the array or the address to which a reference is bound, if it is of one of these kinds.
fn get_bound(to: Out<u64>, reference: Out<textureReference>, kinds: &[i32]) -> HipResult {
    to.check()?;
    let resource = known(reference.get()?.textureObject)?.resource;
    if !kinds.contains(&resource.resType) {
        return Err(Status::INVALID_VALUE);
    }
    to.set(resource.res.start.0)
}

pub(crate) fn hipTexRefGetAddress(to: Out<u64>, reference: Out<textureReference>) -> HipResult {
    get_bound(to, reference, &[LINEAR_MEMORY, PITCHED])
}

pub(crate) fn hipTexRefGetArray(to: Out<u64>, reference: Out<textureReference>) -> HipResult {
    get_bound(to, reference, &[ARRAY])
}

pub(crate) fn hipTexRefGetMipMappedArray(to: Out<u64>, reference: Out<textureReference>) -> HipResult {
    get_bound(to, reference, &[MIPMAPPED])
}
