//! The field at step 0, a function of the place in the field alone.

use std::f64::consts::PI;

use crate::domain::{Block, Domain};

/// Which field it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Initial {
    /// A hot and a warm disc in the cold.
    Discs,
    /// The lowest mode of the domain, which decays by the same factor in each step.
    Sine,
}

impl Initial {
    /// The cells of a block, row by row.
    pub(crate) fn cells(self, domain: &Domain, block: &Block) -> Vec<f64> {
        let rows = block.y..block.y + block.height;
        rows.flat_map(|y| (block.x..block.x + block.width).map(move |x| self.cell(domain, x, y))).collect()
    }

    fn cell(self, domain: &Domain, x: usize, y: usize) -> f64 {
        // The walls, which are cold, are half a cell's width outside: at 0 and 1.
        let u = (x + 1) as f64 / (domain.width + 1) as f64;
        let v = (y + 1) as f64 / (domain.height + 1) as f64;
        let inside = |x: f64, y: f64, radius: f64| (u - x) * (u - x) + (v - y) * (v - y) < radius * radius;
        match self {
            Initial::Sine => (PI * u).sin() * (PI * v).sin(),
            Initial::Discs if inside(0.34, 0.38, 0.21) => 1.0,
            Initial::Discs if inside(0.71, 0.66, 0.13) => 0.6,
            Initial::Discs => 0.0,
        }
    }

    /// The factor by which a step multiplies [`Initial::Sine`]: the eigenvalue of the explicit five-point step,
    /// `1 - 4 r (sin^2(pi / 2(w+1)) + sin^2(pi / 2(h+1)))`.
    #[cfg(test)]
    pub(crate) fn sine_decay(width: usize, height: usize, diffusion: f64) -> f64 {
        let part = |cells: usize| (PI / (2 * (cells + 1)) as f64).sin().powi(2);
        1.0 - 4.0 * diffusion * (part(width) + part(height))
    }
}
