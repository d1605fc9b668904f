//! Fences, which order streams and tell the host what has finished, and windows that measure work of the device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cubecl_common::profile::{Instant, ProfileDuration, ProfileTicks};
use cubecl_environment::backtrace::BackTrace;
use cubecl_server::memory_management::drop_queue;
use cubecl_server::server::{ProfileError, ProfilingToken, ServerError};
use hiplaunch::{Device, Event, EventOptions, Stream};

use crate::error::Failure;

/// Events of a device that nobody waits for, to be recorded again.
#[derive(Clone, Debug)]
pub(crate) struct EventPool {
    device: Device,
    options: EventOptions,
    free: Arc<Mutex<Vec<Event>>>,
}

/// An event of a pool, which takes it back.
#[derive(Debug)]
struct PooledEvent {
    pool: EventPool,
    event: Option<Event>,
}

impl EventPool {
    pub(crate) fn new(device: &Device, options: EventOptions) -> EventPool {
        EventPool { device: device.clone(), options, free: Arc::default() }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, stream: &Stream) -> hiplaunch::Result<PooledEvent> {
        let free = self.free().pop();
        let event = free.map_or_else(|| Event::new(&self.device, self.options), Ok)?;
        event.record(stream)?;
        Ok(PooledEvent { pool: self.clone(), event: Some(event) })
    }
}

impl PooledEvent {
    fn with<T>(&self, f: impl FnOnce(&Event) -> hiplaunch::Result<T>) -> Result<Option<T>, Failure> {
        Ok(self.event.as_ref().map(f).transpose()?)
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        self.pool.free().extend(self.event.take());
    }
}

/// A position on a stream. It is reached once all work that was enqueued before has finished.
#[derive(Debug)]
pub struct Fence(Result<Option<PooledEvent>, ServerError>);

impl Fence {
    /// Marks the position after all work on `stream`. If no event can be recorded, it waits for the stream.
    pub(crate) fn on(stream: &Stream, events: &EventPool) -> Fence {
        Fence(match events.record(stream) {
            Ok(event) => Ok(Some(event)),
            Err(error) => {
                log::warn!("no event could be recorded, waiting for the stream instead: {error}");
                stream.synchronize().map(|()| None).map_err(|error| Failure::from(error).into())
            }
        })
    }

    /// Waits on the host until it is reached.
    pub(crate) fn wait_on_host(self) -> Result<(), ServerError> {
        if let Some(event) = self.0? {
            event.with(Event::synchronize)?;
        }
        Ok(())
    }

    /// Makes `stream` wait until it is reached.
    pub(crate) fn wait_on(self, stream: &Stream) -> Result<(), ServerError> {
        if let Some(event) = self.0? {
            event.with(|event| event.wait_on(stream))?;
        }
        Ok(())
    }
}

impl drop_queue::Fence for Fence {
    fn wait(self) -> Result<(), ServerError> {
        self.wait_on_host()
    }
}

/// The open windows in which the device's work is measured.
#[derive(Debug)]
pub(crate) struct Profiler {
    events: EventPool,
    open: HashMap<ProfilingToken, Result<Window, ProfileError>>,
    next: u64,
}

#[derive(Debug)]
struct Window {
    start: PooledEvent,
    opened: Instant,
}

impl Profiler {
    pub(crate) fn new(device: &Device) -> Profiler {
        let events = EventPool::new(device, EventOptions { timing: true });
        Profiler { events, open: HashMap::new(), next: 0 }
    }

    /// Opens a window at the present position of a stream.
    pub(crate) fn start(&mut self, stream: &Stream) -> Result<ProfilingToken, ServerError> {
        let start = self.events.record(stream).map_err(Failure::from)?;
        let token = ProfilingToken { id: self.next };
        self.next += 1;
        self.open.insert(token, Ok(Window { start, opened: Instant::now() }));
        Ok(token)
    }

    /// Closes a window at the present position of a stream. What is returned waits for the work in it.
    pub(crate) fn stop(
        &mut self,
        stream: &Stream,
        token: ProfilingToken,
    ) -> Result<ProfileDuration, ProfileError> {
        let not_open = || ProfileError::NotRegistered { backtrace: BackTrace::capture() };
        let Window { start, opened } = self.open.remove(&token).ok_or_else(not_open)??;
        let end = self.events.record(stream).map_err(|error| {
            let error = ServerError::from(Failure::from(error));
            ProfileError::from(&error)
        })?;
        Ok(ProfileDuration::new_device_time_maybe(async move {
            match elapsed(&start, &end) {
                // The device's clock can't be placed on the host's; the window opened about when the host asked for it.
                Ok(duration) => Some(ProfileTicks::from_start_end(opened, opened + duration)),
                Err(error) => {
                    log::error!("a window could not be measured: {}", ServerError::from(error));
                    None
                }
            }
        }))
    }

    /// Forgets a window.
    pub(crate) fn abandon(&mut self, token: ProfilingToken) {
        self.open.remove(&token);
    }

    /// Invalidates the open windows, because work failed. Otherwise work that failed would be measured as fast.
    pub(crate) fn fail(&mut self, error: &ServerError) {
        for window in self.open.values_mut() {
            *window = Err(error.into());
        }
    }
}

fn elapsed(start: &PooledEvent, end: &PooledEvent) -> Result<Duration, Failure> {
    end.with(Event::synchronize)?;
    let ms = start.with(|start| end.event.as_ref().map(|end| start.elapsed_ms(end)).transpose())?;
    Ok(Duration::from_secs_f32(ms.flatten().unwrap_or_default().max(0.0) / 1000.0))
}
