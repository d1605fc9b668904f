//! `hiplaunch man`: prints the manual pages, in roff.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::manual;
use super::output::Output;
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// Print the manual page of hiplaunch, or of one of its commands.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The command whose page is printed: `run`, or `trace run`.
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Write the pages of all commands into this folder: hiplaunch.1, hiplaunch-run.1 and so on.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let mut whole = manual::command();
    whole.build();
    if let Some(folder) = &args.folder {
        let mut pages = vec![&whole];
        while let Some(command) = pages.pop() {
            let man = Man::new(command.clone());
            let mut file = WholeFile::create(&folder.join(man.get_filename()))?;
            file.write_all(&page(command)?)?;
            file.finish()?;
            pages.extend(command.get_subcommands());
        }
        return Ok(CommandOutcome::Passed);
    }
    let mut command = &whole;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let has: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            CommandError::Unusable(format!("no command `{name}`; `{}` has {has}", command.get_name()))
        })?;
    }
    out.writer().write_all(&page(command)?)?;
    Ok(CommandOutcome::Passed)
}

/// Returns the manual page of a command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = concat!("hiplaunch ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version).manual("hiplaunch");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    let name = command.get_name();
    if let Some(help) = command.get_after_help().filter(|_| name != "hiplaunch") {
        // The help has a command line, and below it, indented further, what it does.
        roff.control("SH", ["EXAMPLES"]);
        for line in help.to_string().lines().filter(|line| line.starts_with(' ')) {
            match line.starts_with("   ") {
                false => roff.control("TP", []).text([bold(line.trim())]),
                true => roff.text([roman(line.trim())]),
            };
        }
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (status, says) in manual::EXIT_STATUS {
        roff.control("TP", []).text([bold(status.to_string())]).text([roman(says)]);
    }
    if name == "hiplaunch" {
        roff.control("SH", ["ENVIRONMENT"]);
        for (variable, meaning) in manual::environment() {
            roff.control("TP", []).text([bold(variable)]).text([roman(meaning)]);
        }
    }
    roff.to_writer(&mut page)?;
    Ok(page)
}
