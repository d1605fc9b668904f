//! Whether output has colours: what `--color` says, else the environment, else whether it goes to a terminal.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

/// What `--color` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// As the environment and the terminal say.
    #[default]
    Auto,
    /// Also where it is no terminal.
    Always,
    /// None.
    Never,
}

/// The command line's choice.
static CHOSEN: OnceLock<Colour> = OnceLock::new();

impl Colour {
    /// What arguments ask for that are not parsed yet: help and errors of the parser have colours, too.
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

    /// For the parser's own output.
    pub(crate) fn for_clap(self) -> clap::ColorChoice {
        match self {
            Colour::Auto => clap::ColorChoice::Auto,
            Colour::Always => clap::ColorChoice::Always,
            Colour::Never => clap::ColorChoice::Never,
        }
    }

    /// Makes it the choice of everything that is written from now on; the first one stays.
    pub(crate) fn choose(self) {
        CHOSEN.get_or_init(|| self);
    }

    /// `variable` reads the environment. <https://no-color.org> and <https://bixense.com/clicolors> say what is asked.
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

/// Whether what is written to a terminal, or to something else, has colours.
pub(crate) fn wanted(terminal: bool) -> bool {
    CHOSEN.get().copied().unwrap_or_default().wanted(terminal, |name| std::env::var_os(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_then_the_environment_then_the_terminal() {
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
