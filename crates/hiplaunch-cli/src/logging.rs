//! The log on stderr: one line for each record, filtered by level and by the start of the target.

use std::sync::OnceLock;
use std::time::Instant;

use hip_driver::stderr_line;
use log::{LevelFilter, Log, Metadata, Record};

use super::progress;

struct Logger {
    start: Instant,
    default: LevelFilter,
    /// Targets with a level of their own, as in `warn,hip_driver=debug`.
    targets: Vec<(String, LevelFilter)>,
}

/// Starts logging at the level of the environment or of `-v`, whichever is more.
pub(crate) fn start(verbose: u8) {
    let variable = ["HIPLAUNCH_LOG", "RUST_LOG"].into_iter().find_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    let (mut default, mut targets, mut wrong) = (LevelFilter::Warn, Vec::new(), None);
    if let Some((name, value)) = variable {
        match filters(&value) {
            Ok(parsed) => (default, targets) = parsed,
            Err(word) => {
                wrong =
                    Some(format!("{name}: `{word}` is no level: use off, error, warn, info, debug or trace"))
            }
        }
    }
    default = default.max(match verbose {
        0 => LevelFilter::Off,
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    });
    let most = targets.iter().map(|(_, level)| *level).fold(default, Ord::max);
    static LOGGER: OnceLock<Logger> = OnceLock::new();
    let logger = LOGGER.get_or_init(|| Logger { start: Instant::now(), default, targets });
    if log::set_logger(logger).is_ok() {
        log::set_max_level(most);
    }
    if let Some(message) = wrong {
        log::warn!("{message}");
    }
}

type Filters = (LevelFilter, Vec<(String, LevelFilter)>);

/// Reads `level` and `target=level`, separated by commas. The error is the first word that is neither.
fn filters(text: &str) -> Result<Filters, String> {
    let (mut default, mut targets) = (LevelFilter::Warn, Vec::new());
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (target, level) = match word.split_once('=') {
            Some((target, level)) => (Some(target.trim()), level.trim()),
            None => (None, word),
        };
        let level = level.parse().map_err(|_| word.to_owned())?;
        match target {
            Some(target) => targets.push((target.to_owned(), level)),
            None => default = level,
        }
    }
    Ok((default, targets))
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let own = self.targets.iter().filter(|(target, _)| metadata.target().starts_with(target.as_str()));
        let level = own.max_by_key(|(target, _)| target.len()).map_or(self.default, |(_, level)| *level);
        metadata.level() <= level
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let seconds = self.start.elapsed().as_secs_f64();
            progress::aside(|| {
                stderr_line(format_args!(
                    "[{seconds:9.3}s {:5} {}] {}",
                    record.level(),
                    record.target(),
                    record.args()
                ));
            });
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets() {
        assert_eq!(filters("debug"), Ok((LevelFilter::Debug, vec![])));
        let own = vec![("hip_driver".to_owned(), LevelFilter::Trace)];
        assert_eq!(filters("info, hip_driver=trace"), Ok((LevelFilter::Info, own)));
        assert_eq!(filters("loud"), Err("loud".to_owned()));
    }

    #[test]
    fn the_longest_target_decides() {
        let (default, targets) = filters("warn,a=trace,a::b=off").unwrap();
        let logger = Logger { start: Instant::now(), default, targets };
        let shown = |target, level| logger.enabled(&Metadata::builder().target(target).level(level).build());
        assert!(shown("a::c", log::Level::Trace));
        assert!(!shown("a::b", log::Level::Error));
        assert!(shown("x", log::Level::Warn) && !shown("x", log::Level::Info));
    }
}
