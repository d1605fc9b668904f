//! Writes pictures as SVG, and documents as JSON, of hiplaunch's objects.
//!
//! | function | of |
//! |---|---|
//! | [`pool_json`], [`pool_svg`] | the [snapshot](hiplaunch::memory::PoolSnapshot) of a memory pool |
//! | [`plan_svg`] | a [plan](offset_planner::Plan) of memory offsets |
//! | [`lds_svg`] | a [layout](lds_layout::LdsLayout) of a kernel's LDS |
//! | [`write_chrome_trace`] | a [timeline](hip_driver_layers::timeline), as a trace that <https://ui.perfetto.dev> opens |
//! | [`rank_trace`], [`write_rank_traces`] | the timelines of several processes, as one trace |
//!
//! [`style`] has the colours that all pictures use.

mod canvas;
mod chrome;
mod lds;
mod plan;
mod pool_json;
mod pool_svg;
#[cfg(test)]
mod sample;
pub mod style;

pub use chrome::{Rank, rank_trace, write_chrome_trace, write_rank_traces};
pub use lds::lds_svg;
pub use plan::plan_svg;
pub use pool_json::pool_json;
pub use pool_svg::pool_svg;
