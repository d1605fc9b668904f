//! A launch on a captured stream: it becomes a node of the graph, with the arguments that it has now.
//!
//! Host data can't be captured: the staging ring and the device scratch, in which it travels, are used again by later
//! launches, and results belong to one launch.

use std::sync::Arc;

use crate::error::{Error, LaunchProblem};
use crate::stream::{EnqueueState, StreamState};

use super::args::BufferArg;
use super::description::Launch;
use super::image::ImageSizes;
use super::launch::{DeferredDrops, KernelRef, LaunchFailure, StagedImage, pack, submit};

/// Enqueues a launch on a stream, which is locked, and on which nothing else may be enqueued, as `error` says: one
/// that is captured takes it. What is put into `drops` is to be dropped once the lock is released.
#[cold]
pub(super) fn enqueue(
    kernel_ref: KernelRef<'_>,
    stream_state: &Arc<StreamState>,
    launch: &Launch<'_>,
    EnqueueState { kernels, .. }: &mut EnqueueState,
    drops: &mut Option<DeferredDrops>,
    error: Error,
) -> Result<(), Box<LaunchFailure>> {
    if !matches!(error, Error::Captured { .. }) {
        return Err(error.into());
    }
    let on_stream = kernels.find(kernel_ref, stream_state, drops)?;
    let memory = &mut on_stream.memory;
    let Some(kernel) = &on_stream.kernel else {
        return Err(Error::StaleHandle(kernel_ref.handle().0).into());
    };
    let dims = kernel.with_checked_dims(launch.dims)?;
    if launch.cooperative {
        return Err(kernel.refuse(LaunchProblem::Captured("a cooperative launch")).into());
    }
    let mut image = ImageSizes::default();
    pack(kernel, stream_state, &mut memory.kernarg, launch, &mut image)?;
    if !image.is_empty() {
        let what = "a launch with host data or results; pass values and device buffers";
        return Err(kernel.refuse(LaunchProblem::Captured(what)).into());
    }
    // Nothing is copied, so no position on the stream is needed.
    submit(
        kernel,
        stream_state,
        launch,
        &dims,
        &image,
        memory,
        &StagedImage::NONE,
        stream_state.progress().completed(),
    )
    .map_err(|failure| Box::new(LaunchFailure::Failed(failure.failure, kernel.name.clone())))?;
    let mut kept = stream_state.captured();
    kept.module(kernel.module());
    launch.arguments.buffers().filter_map(BufferArg::block).for_each(|block| kept.block(block));
    if let Some(block) = launch.destination.and_then(|destination| destination.buffer.block()) {
        kept.block(block);
    }
    Ok(())
}
