//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::domain::MOST_CELLS;
use crate::initial::Initial;

/// Heat on a plate with cold walls: the 2-D heat equation in explicit steps, one rank a device.
#[derive(Clone, Debug, Parser)]
#[command(name = "heat")]
pub(crate) struct Options {
    /// The field in cells: WIDTHxHEIGHT, or one number for a square. A checkpoint's stands in the checkpoint
    #[arg(long, value_parser = size, default_value = "192", conflicts_with = "restart")]
    pub(crate) size: (usize, usize),
    /// Steps to make, after those of a checkpoint
    #[arg(long, default_value_t = 1000)]
    pub(crate) steps: u64,
    /// alpha dt / dx^2 of a step; above 0.25 the steps are not stable
    #[arg(long, value_parser = diffusion, default_value = "0.2", conflicts_with = "restart")]
    pub(crate) diffusion: f64,
    /// The field at step 0
    #[arg(long, value_enum, default_value = "discs", conflicts_with = "restart")]
    pub(crate) initial: Initial,
    /// Sum up changes and heat of all ranks after every so many steps, counted from step 0
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) report: u64,
    /// Write a checkpoint to this file at the end, and on the way with --every
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write the checkpoint also after every so many steps
    #[arg(long, value_name = "STEPS", requires = "checkpoint", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) every: Option<u64>,
    /// Go on from a checkpoint, with any number of ranks
    #[arg(long, value_name = "FILE")]
    pub(crate) restart: Option<PathBuf>,
    /// Write a picture of the field at the end: a PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) picture: Option<PathBuf>,
    /// Write a timeline of all ranks to this file on rank 0, as JSON that https://ui.perfetto.dev opens
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Print the report of the run as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let (width, height) = text.split_once('x').unwrap_or((text, text));
    let cells = |text: &str| match text.parse::<usize>() {
        Ok(cells @ 1..=MOST_CELLS) => Ok(cells),
        _ => Err(format!("{text:?} is no number of cells from 1 to {MOST_CELLS}")),
    };
    Ok((cells(width)?, cells(height)?))
}

fn diffusion(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 0.25 => Ok(value),
        _ => Err(format!("{text:?} is no number above 0 and up to 0.25")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let all = std::iter::once("heat").chain(arguments.iter().copied());
        Options::try_parse_from(all).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_squares_or_rectangles() {
        assert_eq!(parse(&["--size", "70"]).unwrap().size, (70, 70));
        assert_eq!(parse(&["--size", "70x33"]).unwrap().size, (70, 33));
        for bad in ["0", "70x", "x", "-1", "70x33x2", "1000001"] {
            assert!(parse(&["--size", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_would_not_be_stable_or_not_be_used_is_refused() {
        assert!(parse(&["--diffusion", "0.26"]).unwrap_err().contains("0.25"));
        assert!(parse(&["--diffusion", "NaN"]).is_err());
        assert!(parse(&["--every", "10"]).unwrap_err().contains("--checkpoint"));
        assert!(parse(&["--restart", "f", "--size", "70"]).is_err());
    }
}
