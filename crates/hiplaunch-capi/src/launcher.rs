//! Launchers: opening, devices, counters, closing.

use std::ffi::c_char;
use std::mem::{MaybeUninit, offset_of};

use hip_driver_layers::timeline::{Timeline, TimelineOptions};
use hiplaunch::backend::Backend;
use hiplaunch::graph::GraphCounts;
use hiplaunch::launcher::{Launcher, LauncherBuilder};
use hiplaunch::memory::{PoolBackend, PoolOptions};

use super::buffers::BUFFERS;
use super::capture::CAPTURED_GRAPHS;
use super::compiled_graph::COMPILED_GRAPHS;
use super::events::EVENTS;
use super::graph::GRAPHS;
use super::handles::{Found, Kind, Owner, Table};
use super::input::{Versioned, enumeration, enumerator, fill, text, versioned, wanted};
use super::kernels::KERNELS;
use super::memory::PINNED;
use super::modules::MODULES;
use super::status::{Failure, Result, call, hiplaunch_status};
use super::streams::STREAMS;
use super::text::{hiplaunch_text, new_text};
use super::tickets::TICKETS;
use super::views::VIEWS;

/// A driver and its devices, with the kernels that are registered on them. Most other objects are opened from a
/// launcher, and are closed with it.
pub struct hiplaunch_launcher {
    _opaque: (),
}

/// A launcher, and its timeline if it was opened with one.
struct LauncherObject {
    launcher: Launcher,
    timeline: Option<Timeline>,
}

static LAUNCHERS: Table<LauncherObject> = Table::new(Kind::Launcher);

/// Which driver to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_backend {
    /// HIP if its library loads and finds a device, else the emulator. The environment variable HIPLAUNCH_BACKEND
    /// overrides it.
    Auto = 0,
    /// AMD GPUs through libamdhip64, which is loaded at run time.
    Hip = 1,
    /// The embedded emulator of gfx90a, gfx942, gfx950 and gfx11.
    Emulator = 2,
    /// AMD GPUs through libhsa-runtime64, with no HIP between. No GPU has confirmed it yet; AUTO never chooses it.
    Hsa = 3,
}
enumeration!(hiplaunch_backend: Auto, Hip, Emulator, Hsa);

/// A setting whose default is in the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_switch {
    /// As the environment says.
    Default = 0,
    /// Off.
    Off = 1,
    /// On.
    On = 2,
}
enumeration!(hiplaunch_switch: Default, Off, On);

/// Where device memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_pool_backend {
    /// As HIPLAUNCH_POOL in the environment says; caching if it says nothing.
    Default = 0,
    /// hipMalloc for pool segments, which the pool divides into pool blocks and keeps.
    Caching = 1,
    /// hipMallocAsync for every pool block.
    StreamOrdered = 2,
    /// hipMalloc and hipFree for every pool block.
    Plain = 3,
}
enumeration!(hiplaunch_pool_backend: Default, Caching, StreamOrdered, Plain);

/// Options of hiplaunch_open. Set struct_size to sizeof(hiplaunch_options); zero in any other field is its default.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_options {
    /// sizeof(hiplaunch_options).
    pub struct_size: usize,
    /// A hiplaunch_backend.
    pub backend: u32,
    /// A hiplaunch_switch for the validation layer, which checks lifetimes and the order of work, and counts driver
    /// calls. The default is off, unless HIPLAUNCH_VALIDATE=1 is in the environment.
    pub validate: u32,
    /// The number of bytes of a staging buffer of each stream's staging ring; 0 for 256 KiB.
    pub staging_buffer_bytes: usize,
    /// The greatest number of staging buffers of a ring, each of which is allocated when it is first needed; 0 for 4.
    pub max_staging_buffers: usize,
    /// A hiplaunch_pool_backend.
    pub pool: u32,
    /// 1 to record a timeline (hiplaunch_timeline_json), else 0.
    pub timeline: u32,
    /// The cap of each device's pool: the greatest number of bytes that it takes from the driver; 0 for no cap.
    pub pool_cap: u64,
    /// The number of bytes above which a pool returns cached segments to the driver; 0 for never.
    pub pool_soft_target: u64,
    /// Settings of the emulator, if the emulator is opened, such as "target=gfx942,devices=2"; docs/drivers.md lists them. What it
    /// does not name, HIPLAUNCH_EMULATOR_TARGET and the like of the environment decide. With HIPLAUNCH_BACKEND_AUTO and
    /// "target=gfx942" the launcher has a GPU if there is one, else an emulated gfx942. Must be null with
    /// HIPLAUNCH_BACKEND_HIP. The text is copied.
    pub emulator: *const c_char,
}

// SAFETY: integers and a pointer.
unsafe impl Versioned for hiplaunch_options {
    const NAME: &'static str = "hiplaunch_options";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_options>()];
}

/// Opens a driver with all of its devices. A null `options` means the defaults.
///
/// Ownership: the caller closes the launcher (hiplaunch_close). Threads: any. Errors: HIPLAUNCH_STATUS_NO_DRIVER, whose
/// message lists what was tried; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_INVALID_ARGUMENT;
/// HIPLAUNCH_STATUS_UNSUPPORTED for settings of the emulator in a build without it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_open(
    options: *const hiplaunch_options,
    launcher: Option<&mut MaybeUninit<*mut hiplaunch_launcher>>,
) -> hiplaunch_status {
    call("hiplaunch_open", || {
        let launcher = wanted(launcher, "launcher")?;
        let (mut builder, timeline) = match options.is_null() {
            true => (Launcher::builder(), None),
            false => {
                // SAFETY: the caller's promise for options.
                let options = unsafe { versioned(options, "options") }?;
                let timeline = match options.timeline {
                    0 => None,
                    1 => Some(Timeline::new(TimelineOptions::default())),
                    n => return Err(Failure::invalid(format!("`timeline` is {n}; it is 0 or 1"))),
                };
                (builder(&options)?, timeline)
            }
        };
        if let Some(timeline) = &timeline {
            builder = builder.timeline(timeline);
        }
        launcher.write(adopt(builder.build()?, timeline)?);
        Ok(())
    })
}

fn builder(options: &hiplaunch_options) -> Result<LauncherBuilder> {
    let backend = match enumerator::<hiplaunch_backend>(options.backend)? {
        hiplaunch_backend::Auto => Backend::Auto,
        hiplaunch_backend::Hip => Backend::Hip,
        hiplaunch_backend::Emulator => Backend::Emulator,
        hiplaunch_backend::Hsa => Backend::Hsa,
    };
    let mut builder = Launcher::builder().backend(backend);
    match enumerator(options.validate)? {
        hiplaunch_switch::Default => {}
        hiplaunch_switch::Off => builder = builder.validate(false),
        hiplaunch_switch::On => builder = builder.validate(true),
    }
    let or = |given: usize, default: usize| if given == 0 { default } else { given };
    builder =
        builder.staging_ring(or(options.staging_buffer_bytes, 256 << 10), or(options.max_staging_buffers, 4));
    let pool = match enumerator(options.pool)? {
        hiplaunch_pool_backend::Default => PoolOptions::from_env()?.backend,
        hiplaunch_pool_backend::Caching => PoolBackend::Caching,
        hiplaunch_pool_backend::StreamOrdered => PoolBackend::StreamOrdered,
        hiplaunch_pool_backend::Plain => PoolBackend::Plain,
    };
    let limit = |bytes: u64| (bytes != 0).then_some(bytes);
    builder = builder.pool(PoolOptions {
        backend: pool,
        cap: limit(options.pool_cap),
        soft_target: limit(options.pool_soft_target),
    });
    if options.emulator.is_null() {
        return Ok(builder);
    }
    // SAFETY: the caller's promise for texts.
    let settings = unsafe { text(options.emulator, "emulator") }?;
    if Backend::OF_GPUS.contains(&backend) {
        return Err(Failure::invalid(
            "`emulator` is not for HIPLAUNCH_BACKEND_HIP and HIPLAUNCH_BACKEND_HSA; use HIPLAUNCH_BACKEND_AUTO for a GPU if there is one, else the emulator",
        ));
    }
    emulator(builder, settings)
}

#[cfg(feature = "emulator")]
fn emulator(builder: LauncherBuilder, settings: &str) -> Result<LauncherBuilder> {
    let mut options = hip_driver_emulated::EmulatorOptions::from_env().map_err(hiplaunch::Error::from)?;
    options.set_all(settings).map_err(hiplaunch::Error::from)?;
    Ok(builder.emulator(options))
}

#[cfg(not(feature = "emulator"))]
fn emulator(_: LauncherBuilder, _: &str) -> Result<LauncherBuilder> {
    Err(Failure::new(
        hiplaunch_status::Unsupported,
        "this build has no emulator; build the library with the feature `emulator`",
    ))
}

/// Passes a launcher to C: returns a handle for it, which [`hiplaunch_close`] closes.
///
/// # Errors
/// Returns [`hiplaunch_status::InvalidArgument`] if 2^24 launchers are open.
pub fn hiplaunch_adopt(launcher: Launcher) -> std::result::Result<*mut hiplaunch_launcher, hiplaunch_status> {
    let mut handle = std::ptr::null_mut();
    match call("hiplaunch_adopt", || adopt(launcher, None).map(|h| handle = h)) {
        hiplaunch_status::Ok => Ok(handle),
        status => Err(status),
    }
}

fn adopt(launcher: Launcher, timeline: Option<Timeline>) -> Result<*mut hiplaunch_launcher> {
    LAUNCHERS.insert(Owner::NONE, LauncherObject { launcher, timeline })
}

/// Returns a launcher, and itself as the owner of the objects that are opened from it.
#[inline]
pub(super) fn launcher_of(handle: *const hiplaunch_launcher) -> Result<Found<Launcher>> {
    let launcher = LAUNCHERS.look(handle, |found| found.value.launcher.clone())?;
    Ok(Found { owner: Owner(handle.addr() as u64), value: launcher })
}

/// Returns the timeline of a launcher that was opened with one.
pub(super) fn timeline_of(handle: *const hiplaunch_launcher) -> Result<Option<Timeline>> {
    LAUNCHERS.look(handle, |found| found.value.timeline.clone())
}

/// Returns the launcher that owns an object.
pub(super) fn launcher_that_owns(owner: Owner) -> Result<Launcher> {
    let handle: *const hiplaunch_launcher = std::ptr::without_provenance(owner.0 as usize);
    Ok(launcher_of(handle)?.value)
}

/// Adds a new object of a launcher and returns its handle, unless the launcher was closed meanwhile.
#[inline]
pub(super) fn insert_in<T, H>(table: &Table<T>, owner: Owner, value: T) -> Result<*mut H> {
    let handle: *mut H = table.insert(owner, value)?;
    // hiplaunch_close first closes the launcher's handle and then searches the tables for its objects. So either it
    // finds this object, or this function sees that the launcher was closed.
    let launcher: *const hiplaunch_launcher = std::ptr::without_provenance(owner.0 as usize);
    if !LAUNCHERS.is_live(launcher) {
        drop(table.take(handle));
        return Err(Failure::handle("the launcher was closed meanwhile"));
    }
    Ok(handle)
}

/// Closes a launcher and everything that was opened from it: tickets, graphs, views, buffers, events, kernels, streams
/// and modules. Their handles are refused from now on. Waits for the streams' work, and for calls on
/// other threads that use these objects.
///
/// Ownership: results that hiplaunch_ticket_output returned become invalid. LDS layouts, compiled code and texts belong
/// to no launcher and stay. Threads: any; calls on other threads complete, and the objects that they open are closed,
/// too. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also if the launcher was closed already.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_close(launcher: *mut hiplaunch_launcher) -> hiplaunch_status {
    call("hiplaunch_close", || {
        let value = LAUNCHERS.take(launcher)?.value.launcher;
        let owner = Owner(launcher.addr() as u64);
        // Streams are dropped late: dropping a stream waits for its work, which may use the other objects.
        drop(TICKETS.take_all(owner));
        drop(GRAPHS.take_all(owner));
        drop(COMPILED_GRAPHS.take_all(owner));
        drop(CAPTURED_GRAPHS.take_all(owner));
        drop(VIEWS.take_all(owner));
        drop(BUFFERS.take_all(owner));
        drop(PINNED.take_all(owner));
        drop(EVENTS.take_all(owner));
        for kernel in KERNELS.take_all(owner) {
            // The kernel was registered with this launcher, and its handle is known only here: this can't fail.
            let _ = kernel.unregister(&value);
        }
        let streams = STREAMS.take_all(owner);
        // No launch uses a stream any more. Launches that ran meanwhile may have added tickets.
        drop(TICKETS.take_all(owner));
        drop(streams);
        // No copy is in flight any more that uses a module's global variable.
        drop(MODULES.take_all(owner));
        drop(value);
        Ok(())
    })
}

/// The number of devices of a launcher. Their ordinals count from 0.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_device_count(
    launcher: *const hiplaunch_launcher,
    count: Option<&mut MaybeUninit<u32>>,
) -> hiplaunch_status {
    call("hiplaunch_device_count", || {
        let count = wanted(count, "count")?;
        count.write(launcher_of(launcher)?.value.devices().len() as u32);
        Ok(())
    })
}

/// Properties of a device, and limits of launches on it. Texts are UTF-8, cut to the size of their arrays, and end with
/// a NUL.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_device_properties {
    /// sizeof(hiplaunch_device_properties), set by the caller.
    pub struct_size: usize,
    /// The marketing name.
    pub name: [c_char; 256],
    /// The target for which code objects are compiled, with its settings: "gfx90a:sramecc+:xnack-".
    pub target: [c_char; 64],
    /// The processor of the target: "gfx90a".
    pub processor: [c_char; 32],
    /// The PCI address, or "emulated".
    pub pci_bus_id: [c_char; 32],
    /// The number of bytes of device memory.
    pub total_memory: u64,
    /// The number of compute units.
    pub compute_units: u32,
    /// The number of work-items of a wavefront.
    pub wavefront_size: u32,
    /// The greatest number of work-items of a workgroup.
    pub max_threads_per_block: u32,
    /// The greatest number of bytes of LDS of a workgroup, static and dynamic together.
    pub max_lds_per_block: u32,
    /// The greatest number of work-items of a workgroup in x, y and z.
    pub max_block: [u32; 3],
    /// The greatest number of workgroups of a grid in x, y and z.
    pub max_grid: [u32; 3],
    /// The core clock in kHz; 0 if it is not known.
    pub clock_khz: u32,
    /// Whether the device is lost after a fault: 0 or 1.
    pub is_lost: u32,
    /// Memory clock in kHz, with two transfers in a cycle; 0 when not known.
    pub memory_clock_khz: u32,
    /// Width of the memory bus in bits; 0 when not known.
    pub memory_bus_bits: u32,
    /// Bytes of L2 cache, of one die where each of several has one; 0 when not known.
    pub l2_bytes: u32,
    /// The 32-bit registers that the work-items of a workgroup share; 0 when not known.
    pub registers_per_block: u32,
    /// Whether the PCI address that follows is one: 0 or 1.
    pub has_pci_address: u32,
    /// Domain, bus, device and function of the PCI address.
    pub pci_address: [u32; 4],
    /// Zero.
    pub reserved: u32,
}

// SAFETY: integers; the first version ended behind `is_lost`.
unsafe impl Versioned for hiplaunch_device_properties {
    const NAME: &'static str = "hiplaunch_device_properties";
    const SIZES: &'static [usize] = &[
        offset_of!(hiplaunch_device_properties, memory_clock_khz),
        size_of::<hiplaunch_device_properties>(),
    ];
}

/// Returns a text as an array, cut at a character's boundary, with a NUL at its end.
fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut end = text.len().min(N.saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(text[..end].bytes()) {
        *to = from as c_char;
    }
    array
}

/// Fills `properties`, whose struct_size the caller has set, with the properties of a device.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not
/// exist; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_device_properties(
    launcher: *const hiplaunch_launcher,
    device: u32,
    properties: *mut hiplaunch_device_properties,
) -> hiplaunch_status {
    call("hiplaunch_get_device_properties", || {
        let launcher = launcher_of(launcher)?.value;
        let device = launcher.device(device)?;
        let p = device.properties();
        let pci = p.pci_address();
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(properties, "properties", |struct_size| {
                Ok(hiplaunch_device_properties {
                    struct_size,
                    name: array(&p.name),
                    target: array(&p.target.short()),
                    processor: array(&p.target.processor.to_string()),
                    pci_bus_id: array(&p.pci_bus_id),
                    total_memory: p.total_memory,
                    compute_units: p.compute_units,
                    wavefront_size: p.wavefront_size,
                    max_threads_per_block: p.max_threads_per_block,
                    max_lds_per_block: p.max_lds_per_block,
                    max_block: p.max_block,
                    max_grid: p.max_grid,
                    clock_khz: p.clock_khz,
                    is_lost: u32::from(device.fault().is_some()),
                    memory_clock_khz: p.memory_clock_khz.unwrap_or(0),
                    memory_bus_bits: p.memory_bus_bits.unwrap_or(0),
                    l2_bytes: p.l2_bytes.unwrap_or(0),
                    registers_per_block: p.registers_per_block.unwrap_or(0),
                    has_pci_address: u32::from(pci.is_some()),
                    pci_address: pci.map_or([0; 4], |pci| {
                        [pci.domain, pci.bus.into(), pci.device.into(), pci.function.into()]
                    }),
                    reserved: 0,
                })
            })
        }
    })
}

/// Describes the driver of a launcher in one line. A further line for each driver that was tried before says why it was
/// not taken.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_describe_driver(
    launcher: *const hiplaunch_launcher,
    text: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_describe_driver", || {
        let text = wanted(text, "text")?;
        let launcher = launcher_of(launcher)?.value;
        let info = launcher.driver().info();
        let mut lines = format!("{} {} ({})", info.name, info.version, info.source);
        for line in launcher.tried() {
            lines.push_str("\nnot taken: ");
            lines.push_str(line);
        }
        text.write(new_text(lines)?);
        Ok(())
    })
}

/// Counters of a launcher.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_counters {
    /// sizeof(hiplaunch_counters), set by the caller.
    pub struct_size: usize,
    /// The number of registered kernels.
    pub kernels: u64,
    /// The number of cached graph programs.
    pub graph_programs: u64,
    /// The number of computed graphs whose graph program was cached.
    pub graph_hits: u64,
    /// The number of computed graphs that were planned.
    pub graph_misses: u64,
    /// The number of bytes of device memory that the pools of all devices hold from the driver.
    pub device_bytes: u64,
    /// The number of bytes of pinned host memory, for all devices.
    pub pinned_bytes: u64,
    /// Whether the validation layer is on: 0 or 1. Without it, the fields that follow are 0.
    pub validated: u64,
    /// The number of driver calls that use a device.
    pub driver_calls: u64,
    /// The number of violations that the validation layer found.
    pub violations: u64,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_counters {
    const NAME: &'static str = "hiplaunch_counters";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_counters>()];
}

/// Fills `counters`, whose struct_size the caller has set, with the counters of a launcher.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_counters(
    launcher: *const hiplaunch_launcher,
    counters: *mut hiplaunch_counters,
) -> hiplaunch_status {
    call("hiplaunch_get_counters", || {
        let launcher = launcher_of(launcher)?.value;
        let GraphCounts { kept: programs, hits, misses } = launcher.graph_counts();
        let layer = launcher.validation();
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(counters, "counters", |struct_size| {
                Ok(hiplaunch_counters {
                    struct_size,
                    kernels: launcher.registered() as u64,
                    graph_programs: programs as u64,
                    graph_hits: hits,
                    graph_misses: misses,
                    device_bytes: launcher.devices().iter().map(|d| d.held_bytes()).sum(),
                    pinned_bytes: launcher.devices().iter().map(|d| d.held_pinned_bytes()).sum(),
                    validated: u64::from(layer.is_some()),
                    driver_calls: layer.map_or(0, |l| l.counts().device_calls()),
                    violations: layer.map_or(0, |l| l.violations().len() as u64),
                })
            })
        }
    })
}

/// The number of calls of one driver function, by HIP's name: "hipMalloc", "hipModuleLaunchKernel".
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT without the validation
/// layer, or for a name that is no driver call; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_count_driver_calls(
    launcher: *const hiplaunch_launcher,
    name: *const c_char,
    count: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    use hip_driver_layers::validation::Counted;
    call("hiplaunch_count_driver_calls", || {
        let count = wanted(count, "count")?;
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        let launcher = launcher_of(launcher)?.value;
        let Some(layer) = launcher.validation() else {
            return Err(Failure::invalid("the validation layer is off; open the launcher with it"));
        };
        let Some(counted) = Counted::all().find(|counted| counted.name() == name) else {
            return Err(Failure::invalid(format!("`{name}` is no driver call that is counted")));
        };
        count.write(layer.counts().get(counted));
        Ok(())
    })
}

/// Returns the violations that the validation layer found since the last call, one in each line. The text is empty if
/// there are none or the layer is off.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_take_violations(
    launcher: *const hiplaunch_launcher,
    text: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_take_violations", || {
        let text = wanted(text, "text")?;
        let launcher = launcher_of(launcher)?.value;
        let found = launcher.validation().map(|layer| layer.take_violations()).unwrap_or_default();
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        text.write(new_text(lines.join("\n"))?);
        Ok(())
    })
}
