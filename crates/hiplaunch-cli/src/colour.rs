//! Whether output has colours: decided by `--color`, else by the environment, else by whether it is a terminal.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

/// The value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// Colours depend on the environment and the terminal.
    #[default]
    Auto,
    /// Colours, also without a terminal.
    Always,
    /// No colours.
    Never,
}

/// The command line's choice.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

impl Colour {
    /// Finds `--color` in arguments that are not parsed yet, for help and errors of the parser.
    pub(crate) fn asked_for(args: &[OsString]) -> Colour {
        let mut args = args.iter().skip(1).take_while(|arg| *arg != "--");
        let mut chosen = Colour::Auto;
        while let Some(arg) = args.next() {
            let word = match arg.to_str().and_then(|arg| arg.strip_prefix("--color")) {
                Some("") => args.next().map(OsString::as_os_str),
                Some(rest) => rest.strip_prefix('=').map(OsStr::new),
                None => None,
            };
            match word.and_then(OsStr::to_str) {
                Some("always") => chosen = Colour::Always,
                Some("never") => chosen = Colour::Never,
                Some("auto") => chosen = Colour::Auto,
                _ => {}
            }
        }
        chosen
    }

    /// Returns the choice for the parser's own output.
    pub(crate) fn for_clap(self) -> clap::ColorChoice {
        match self {
            Colour::Auto => clap::ColorChoice::Auto,
            Colour::Always => clap::ColorChoice::Always,
            Colour::Never => clap::ColorChoice::Never,
        }
    }

    /// Makes this the choice for all output from now on. Only the first call has an effect.
    pub(crate) fn choose(self) {
        CHOSEN.get_or_init(|| self);
    }

    /// Whether to use colours. `variable` reads the environment, whose variables <https://no-color.org> and
    /// <https://bixense.com/clicolors> define.
    fn wanted(self, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name| variable(name).filter(|value: &OsString| !value.is_empty());
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if set("NO_COLOR").is_some() => false,
            Colour::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Colour::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            Colour::Auto => terminal && set("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// Whether output has colours. `terminal` says whether it is a terminal.
pub(crate) fn wanted(terminal: bool) -> bool {
    CHOSEN.get().copied().unwrap_or_default().wanted(terminal, |name| std::env::var_os(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_decides_then_the_environment_then_the_terminal() {
        let auto = |terminal, set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            Colour::Auto.wanted(terminal, value)
        };
        assert!(auto(true, &[]) && !auto(false, &[]));
        assert!(auto(true, &[("NO_COLOR", "")]) && !auto(true, &[("NO_COLOR", "1")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]) && auto(true, &[("CLICOLOR", "1")]));
        assert!(!auto(true, &[("TERM", "dumb")]) && auto(true, &[("TERM", "xterm")]));
        assert!(Colour::Always.wanted(false, |_| Some("1".into())));
        assert!(!Colour::Never.wanted(true, |_| None));
    }

    #[test]
    fn the_option_is_found_before_it_is_parsed() {
        let asked = |args: &str| Colour::asked_for(&args.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("hiplaunch info"), Colour::Auto);
        assert_eq!(asked("hiplaunch --color never info"), Colour::Never);
        assert_eq!(asked("hiplaunch info --color=always"), Colour::Always);
        assert_eq!(asked("hiplaunch --color=always info --color auto"), Colour::Auto);
        assert_eq!(asked("hiplaunch info -- --color=always"), Colour::Auto);
        assert_eq!(asked("hiplaunch info --color"), Colour::Auto);
        assert_eq!(asked("hiplaunch info --colors=always --color=red"), Colour::Auto);
    }
}
