//! The circumstances of a run: machine, driver, device and date.

use std::fs;

use jiff::Timestamp;

use super::results::About;
use crate::session::CommandSession;

/// The circumstances that must be equal for two results to be comparable.
pub(super) const COMPARABLE: [&str; 4] = ["device", "driver", "processor", "build"];

pub(super) fn about(session: &CommandSession, options: &str) -> About {
    let info = session.launcher.driver().info();
    let properties = session.device.properties();
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push((name.to_owned(), text));
    line("date", Timestamp::now().strftime("%F %H:%M UTC").to_string());
    line("hiplaunch", format!("{} ({})", env!("CARGO_PKG_VERSION"), options));
    line(
        "build",
        if cfg!(debug_assertions) { "debug: its times mean nothing" } else { "release" }.to_owned(),
    );
    line("driver", format!("{} {}, {}", info.name, info.version, info.source));
    line(
        "device",
        format!(
            "{}, {}, {} compute units, {}",
            properties.name,
            properties.target.short(),
            properties.compute_units,
            properties.pci_bus_id
        ),
    );
    line("processor", processor());
    line("system", system());
    line("load", load());
    About {
        lines,
        emulated: info.name.ends_with("emulated"),
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
