//! `hiplaunch info`: shows the drivers, what was tried to find them, and their devices.

use hip_driver::{Capabilities, Capability, DeviceId, DeviceProperties, Driver, DriverInfo};
use hip_driver_amd::{HipDriver, Symbol};
use hiplaunch::Backend;
use hiplaunch::backend;
use hiplaunch::driver::hsa::HsaDriver;
use serde_json::{Value, json};

use super::output::{Output, Style, bytes, grouped, wrapped};
use super::{CommandError, CommandOutcome};

/// Show the drivers, what was tried to find them, their devices, and what they can do.
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,

    /// List every HIP symbol, not only the missing ones.
    #[arg(long)]
    symbols: bool,
}

/// One driver, or why there is none.
struct Found {
    backend: Backend,
    driver: Result<Opened, String>,
}

struct Opened {
    info: DriverInfo,
    capabilities: Capabilities,
    symbols: Vec<Symbol>,
    devices: Result<Vec<(DeviceProperties, Option<u64>)>, String>,
}

impl Opened {
    fn new(driver: &dyn Driver, symbols: Vec<Symbol>) -> Opened {
        let devices = driver.device_count().and_then(|count| {
            (0..count)
                .map(|i| {
                    let free = driver.mem_info(DeviceId(i)).ok().map(|info| info.free);
                    Ok((driver.device_properties(DeviceId(i))?, free))
                })
                .collect()
        });
        Opened {
            info: driver.info(),
            capabilities: driver.capabilities(),
            symbols,
            devices: devices.map_err(|error| error.to_string()),
        }
    }
}

pub(crate) fn run(args: &InfoArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let hip = HipDriver::load()
        .map(|driver| Opened::new(&*driver, driver.symbols().collect()))
        .map_err(|error| error.to_string());
    let hsa = HsaDriver::load()
        .map(|driver| Opened::new(&*driver.shared(), Vec::new()))
        .map_err(|error| error.to_string());
    let drivers = [
        Found { backend: Backend::Hip, driver: hip },
        Found { backend: Backend::Hsa, driver: hsa },
        Found { backend: Backend::Emulator, driver: emulator() },
    ];
    let auto =
        backend::open(Backend::Auto, Some(false)).map(|o| (o.backend, o.tried)).map_err(|e| e.to_string());
    if args.json {
        let auto = match &auto {
            Ok((backend, tried)) => json!({ "backend": backend.to_string(), "tried": tried }),
            Err(error) => json!({ "error": error }),
        };
        let drivers: Vec<Value> = drivers.iter().map(to_json).collect();
        out.json(&json!({ "version": env!("CARGO_PKG_VERSION"), "auto": auto, "drivers": drivers }))?;
    } else {
        out.line(format_args!("hiplaunch {}", env!("CARGO_PKG_VERSION")))?;
        match &auto {
            Ok((backend, _)) => out.line(format_args!("--backend auto chooses: {backend}"))?,
            Err(error) => out.line(format_args!("--backend auto: {error}"))?,
        }
        for found in &drivers {
            show(found, args, out)?;
        }
    }
    Ok(if auto.is_ok() { CommandOutcome::Passed } else { CommandOutcome::Unusable })
}

#[cfg(feature = "emulator")]
fn emulator() -> Result<Opened, String> {
    use hip_driver_emulated::{EmulatedDriver, EmulatorOptions};
    let driver =
        EmulatorOptions::from_env().and_then(EmulatedDriver::new).map_err(|error| error.to_string())?;
    Ok(Opened::new(&*driver, Vec::new()))
}

#[cfg(not(feature = "emulator"))]
fn emulator() -> Result<Opened, String> {
    Err("not in this build; build with the feature `emulator`".to_owned())
}

fn show(found: &Found, args: &InfoArgs, out: &mut Output) -> Result<(), CommandError> {
    out.line("")?;
    out.line(out.styled(Style::Strong, &format!("driver {}", found.backend)))?;
    let opened = match &found.driver {
        Ok(opened) => opened,
        Err(error) => {
            for line in error.lines() {
                out.line(format_args!("  {line}"))?;
            }
            return Ok(());
        }
    };
    out.line(format_args!("  version        {}", opened.info.version))?;
    out.line(format_args!("  from           {}", opened.info.source))?;
    let (present, absent): (Vec<Capability>, Vec<Capability>) =
        Capability::ALL.into_iter().partition(|c| opened.capabilities.has(*c));
    list(out, "can", &present.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>())?;
    if !absent.is_empty() {
        list(out, "cannot", &absent.iter().map(|c| capability(*c)).collect::<Vec<_>>())?;
    }
    if !opened.symbols.is_empty() {
        let absent: Vec<&Symbol> = opened.symbols.iter().filter(|s| !s.present).collect();
        let have = opened.symbols.len() - absent.len();
        out.line(format_args!("  symbols        {have} of {} present", opened.symbols.len()))?;
        let shown = opened.symbols.iter().filter(|s| args.symbols || !s.present);
        for symbol in shown {
            let need = if symbol.required { "required" } else { "optional" };
            let state = if symbol.present { "present" } else { "absent" };
            let since = symbol.since.map(|v| format!("  since HIP {v}")).unwrap_or_default();
            let line = format!("                 {:48} {need} {state}{since}", symbol.name);
            out.line(out.styled(if symbol.present { Style::Plain } else { Style::Faint }, &line))?;
        }
    }
    match &opened.devices {
        Ok(devices) if devices.is_empty() => out.line("  devices        none")?,
        Ok(devices) => {
            for (i, (device, free)) in devices.iter().enumerate() {
                show_device(i, device, *free, out)?;
            }
        }
        Err(error) => out.line(format_args!("  devices        {error}"))?,
    }
    Ok(())
}

fn show_device(
    index: usize,
    device: &DeviceProperties,
    free: Option<u64>,
    out: &mut Output,
) -> Result<(), CommandError> {
    let free = free.map(|free| format!(", {} free", bytes(free))).unwrap_or_default();
    let [bx, by, bz] = device.max_block;
    let [gx, gy, gz] = device.max_grid;
    out.line(out.styled(Style::Strong, &format!("  device {index}       {}", device.name)))?;
    out.line(format_args!("    target       {}", device.target.short()))?;
    out.line(format_args!("    PCI          {}", device.pci_bus_id))?;
    out.line(format_args!("    memory       {}{free}", bytes(device.total_memory)))?;
    out.line(format_args!(
        "    compute      {} units, wavefronts of {}, {} MHz",
        device.compute_units,
        device.wavefront_size,
        device.clock_khz / 1000
    ))?;
    if let (Some(khz), Some(bits)) = (device.memory_clock_khz, device.memory_bus_bits) {
        out.line(format_args!("    memory bus   {bits} bits at {} MHz", khz / 1000))?;
    }
    if let Some(l2) = device.l2_bytes {
        out.line(format_args!("    L2 cache     {}", bytes(l2.into())))?;
    }
    if let Some(registers) = device.registers_per_block {
        out.line(format_args!("    registers    {} for a workgroup", grouped(registers.into())))?;
    }
    out.line(format_args!(
        "    workgroup    at most {} work-items ({bx} x {by} x {bz}), {} of LDS",
        device.max_threads_per_block,
        bytes(device.max_lds_per_block.into())
    ))?;
    out.line(format_args!("    grid         at most {gx} x {gy} x {gz} workgroups"))?;
    Ok(())
}

fn capability(capability: Capability) -> String {
    match capability.since() {
        Some(version) => format!("{capability:?} (HIP {version})"),
        None => format!("{capability:?}"),
    }
}

/// Prints capabilities after a label.
fn list(out: &mut Output, label: &str, capabilities: &[String]) -> std::io::Result<()> {
    let lines = wrapped(&format!("  {label:14} "), capabilities.join(",\n").lines(), " ");
    lines.iter().try_for_each(|line| out.line(line))
}

fn to_json(found: &Found) -> Value {
    let opened = match &found.driver {
        Ok(opened) => opened,
        Err(error) => {
            return json!({ "backend": found.backend.to_string(), "available": false, "error": error });
        }
    };
    let capabilities: serde_json::Map<String, Value> =
        Capability::ALL.iter().map(|c| (format!("{c:?}"), json!(opened.capabilities.has(*c)))).collect();
    let symbols: Vec<Value> = opened
        .symbols
        .iter()
        .map(|s| {
            json!({
                "name": s.name,
                "required": s.required,
                "present": s.present,
                "since": s.since,
                "capability": s.capability.map(|c| format!("{c:?}")),
            })
        })
        .collect();
    let mut value = json!({
        "backend": found.backend.to_string(),
        "available": opened.devices.as_ref().is_ok_and(|devices| !devices.is_empty()),
        "name": opened.info.name,
        "version": opened.info.version,
        "source": opened.info.source,
        "capabilities": capabilities,
        "symbols": symbols,
    });
    match &opened.devices {
        Ok(devices) => {
            value["devices"] = devices
                .iter()
                .map(|(d, free)| {
                    json!({
                        "name": d.name,
                        "target": d.target.short(),
                        "pci_bus_id": d.pci_bus_id,
                        "total_memory_bytes": d.total_memory,
                        "free_memory_bytes": free,
                        "compute_units": d.compute_units,
                        "wavefront_size": d.wavefront_size,
                        "pci_address": d.pci_address().map(|pci| {
                            [pci.domain, pci.bus.into(), pci.device.into(), pci.function.into()]
                        }),
                        "clock_khz": d.clock_khz,
                        "memory_clock_khz": d.memory_clock_khz,
                        "memory_bus_bits": d.memory_bus_bits,
                        "l2_bytes": d.l2_bytes,
                        "registers_per_workgroup": d.registers_per_block,
                        "max_work_items_per_workgroup": d.max_threads_per_block,
                        "max_workgroup": d.max_block,
                        "max_grid_workgroups": d.max_grid,
                        "max_lds_bytes": d.max_lds_per_block,
                    })
                })
                .collect();
        }
        Err(error) => value["error"] = json!(error),
    }
    value
}
