//! The machine, the driver, the device and when: what figures mean nothing without.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use super::results::About;
use crate::cli::session::Session;

/// What of it must be equal for two results to be comparable.
pub(super) const COMPARABLE: [&str; 4] = ["device", "driver", "processor", "build"];

pub(super) fn about(session: &Session, options: &str) -> About {
    let info = session.launcher.driver().info();
    let properties = session.device.properties();
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push((name.to_owned(), text));
    line("date", date());
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

/// `2026-11-21 22:45 UTC`.
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86400);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600 % 24, seconds / 60 % 60)
}

/// Year, month and day, so many days after 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
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

/// How busy the machine was before the run.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match text.split(' ').next().and_then(|load| load.parse::<f64>().ok()) {
        Some(load) => format!("{load:.1} before the run (mean of a minute; runnable threads)"),
        None => "not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
        assert_eq!(civil(20_818), (2026, 12, 31));
        assert_eq!(civil(20_819), (2027, 1, 1));
    }
}
