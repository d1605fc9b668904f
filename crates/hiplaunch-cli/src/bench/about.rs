//! The circumstances of a run: machine, driver, device and date.

use std::fs;

use hip_driver::DeviceProperties;
use jiff::Timestamp;

use super::results::About;
use crate::session::CommandSession;

/// The circumstances that must be equal for two results to be comparable.
pub(super) const COMPARABLE: [&str; 4] = ["device", "driver", "processor", "build"];

pub(super) fn about(session: &CommandSession, options: &str) -> About {
    let info = session.launcher.driver().info();
    let DeviceProperties { name, target, compute_units, pci_bus_id, .. } = session.device.properties();
    let build = if cfg!(debug_assertions) { "debug: its times mean nothing" } else { "release" };
    let lines = [
        ("date", Timestamp::now().strftime("%F %H:%M UTC").to_string()),
        ("hiplaunch", format!("{} ({options})", env!("CARGO_PKG_VERSION"))),
        ("build", build.to_owned()),
        ("driver", format!("{} {}, {}", info.name, info.version, info.source)),
        ("device", format!("{name}, {}, {compute_units} compute units, {pci_bus_id}", target.short())),
        ("processor", processor()),
        ("system", system()),
        ("load", load()),
    ];
    About {
        lines: lines.map(|(name, text)| (name.to_owned(), text)).into(),
        emulated: session.is_emulated(),
        validated: session.launcher.validation().is_some(),
    }
}

fn processor() -> String {
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    format!("{model}, {threads} threads for this process")
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned()
}

/// Describes how busy the machine was before the run.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match text.split(' ').next().and_then(|load| load.parse::<f64>().ok()) {
        Some(load) => format!("{load:.1} before the run (mean of a minute; runnable threads)"),
        None => "not known".to_owned(),
    }
}
