//! A launch on a captured stream: it becomes a node of the graph, with the arguments that it has now.
//!
//! Host data can't be captured: the staging ring and the device scratch, in which it travels, are used again by later
//! launches, and results belong to one launch.

use std::sync::Arc;

use crate::code::LaunchDims;
use crate::error::{Error, LaunchProblem};
use crate::stream::{EnqueueState, StreamState};

use super::args::Arg;
use super::image::StagedImage;
use super::launch::{ArgumentSource, Callee, Later, Request, StagedLaunch, Stop, pack, submit};

/// Enqueues a launch on a stream, which is locked, and on which nothing else may be enqueued, as `error` says: one
/// that is captured takes it. What is put into `later` is to be dropped once the lock is released.
#[cold]
pub(super) fn enqueue(
    callee: Callee<'_>,
    stream_state: &Arc<StreamState>,
    request: Request<'_>,
    EnqueueState { kernels, .. }: &mut EnqueueState,
    later: &mut Option<Later>,
    error: Error,
) -> Result<(), Box<Stop>> {
    if !matches!(error, Error::Captured { .. }) {
        return Err(error.into());
    }
    let on_stream = kernels.find(callee, stream_state, later)?;
    let memory = &mut on_stream.memory;
    let Some(kernel) = &on_stream.kernel else { return Err(Error::StaleHandle(callee.handle().0).into()) };
    let asked = request.launch.dims;
    let dims = LaunchDims { dynamic_lds: kernel.with_layout(asked.dynamic_lds)?, ..asked };
    kernel.check_dims(&dims)?;
    if request.launch.cooperative {
        return Err(kernel.refuse(LaunchProblem::Captured("a cooperative launch")).into());
    }
    let mut image = StagedImage::default();
    pack(kernel, stream_state, &mut memory.kernarg, request, &mut image)?;
    if !image.is_empty() {
        let what = "a launch with host data or results; pass values and device buffers";
        return Err(kernel.refuse(LaunchProblem::Captured(what)).into());
    }
    // Nothing is copied, so no position on the stream is needed.
    submit(
        kernel,
        stream_state,
        request,
        &dims,
        &image,
        memory,
        &StagedLaunch::NONE,
        stream_state.progress().completed(),
    )
    .map_err(|failure| Box::new(Stop::Failed(failure.failed, kernel.name.clone())))?;
    let mut kept = stream_state.captured();
    kept.module(kernel.module());
    if let ArgumentSource::Args(args) = request.launch.source {
        let buffers = args.iter().filter_map(|arg| match arg {
            Arg::Buffer(buffer) => buffer.block(),
            _ => None,
        });
        buffers.for_each(|block| kept.block(block));
    }
    if let Some(block) = request.destination.and_then(|target| target.buffer.block()) {
        kept.block(block);
    }
    Ok(())
}
