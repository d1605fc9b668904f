//! The observers of a dispatch and of a workgroup. They pass each instruction on to the profile, the sanitizer and the
//! trace.

use std::sync::{Arc, Mutex};

use super::accesses::{self, AccessedBytes};
use super::class::{AddressingKind, Info};
use super::late::Late;
use super::lock::lock;
use super::profile::{Counter, Profile};
use super::sanitizer::{self, Sanitizer};
use super::trace::{Tracer, Tracing};
use crate::exec::inst::{Code, ExecContext, Inst, Observer};
use crate::report::defect::Defect;
use crate::state::wave::Wave;

/// Returns the information for observers about each instruction of a program, in the order of `Code::insts`.
pub(crate) fn infos(code: &Code) -> Arc<[Info]> {
    let mut infos: Vec<Info> = code.insts.iter().map(|i| Info::of_instruction(i, code)).collect();
    let mut loud = infos.len() as u32;
    for (at, info) in infos.iter_mut().enumerate().rev() {
        info.next_loud = loud;
        if !info.is_quiet {
            loud = at as u32;
        }
    }
    infos.into()
}

/// The observers of a dispatch.
pub(crate) struct Observers {
    infos: Arc<[Info]>,
    profile: Option<Mutex<Profile>>,
    sanitizer: Option<Arc<Sanitizer>>,
    tracing: Option<Arc<Tracing>>,
    late: bool,
}

impl Observers {
    /// Returns the observers of a dispatch of a program whose instructions are `infos`; `None` if the dispatch is not
    /// observed.
    pub(crate) fn new(
        infos: impl FnOnce() -> Arc<[Info]>,
        profile: bool,
        sanitizer: Option<Arc<Sanitizer>>,
        tracing: Option<Arc<Tracing>>,
        late: bool,
    ) -> Option<Observers> {
        let any = profile || sanitizer.is_some() || tracing.is_some() || late;
        let profile = profile.then(Mutex::default);
        any.then(|| Observers { infos: infos(), profile, sanitizer, tracing, late })
    }

    /// Returns the observer of a workgroup that begins, and has the given number of waves.
    pub(crate) fn begin(&self, number: u64, workgroup: [u32; 3], waves: usize) -> Box<WorkgroupObserver> {
        Box::new(WorkgroupObserver {
            infos: Arc::clone(&self.infos),
            accesses: Vec::new(),
            counter: self.profile.as_ref().map(|_| Counter::default()),
            sanitizer: self.sanitizer.as_ref().map(|shared| sanitizer::Local::new(shared, number, waves)),
            tracer: self.tracing.as_ref().and_then(|tracing| tracing.begin(workgroup)),
            late: self.late.then(|| Late::new(waves)),
        })
    }

    /// Adds the counts of a workgroup that has ended.
    pub(crate) fn end(&self, observer: WorkgroupObserver) {
        if let (Some(profile), Some(counter)) = (&self.profile, observer.counter) {
            lock(profile).merge(&counter.profile);
        }
    }

    /// Returns what the sanitizer has found, and removes it.
    pub(crate) fn defects(&self) -> Vec<Defect> {
        self.sanitizer.as_ref().map(|sanitizer| sanitizer.take()).unwrap_or_default()
    }

    /// Returns the counts of the workgroups that have ended; `None` if the dispatch is not profiled.
    pub(crate) fn profile(&self) -> Option<Profile> {
        self.profile.as_ref().map(|profile| lock(profile).clone())
    }
}

/// The observer of one workgroup.
pub(crate) struct WorkgroupObserver {
    infos: Arc<[Info]>,
    accesses: Vec<AccessedBytes>,
    counter: Option<Counter>,
    sanitizer: Option<sanitizer::Local>,
    tracer: Option<Tracer>,
    late: Option<Late>,
}

impl WorkgroupObserver {
    /// Called when all waves of the workgroup have met at a barrier or ended.
    pub(crate) fn barrier(&mut self) {
        if let Some(sanitizer) = &mut self.sanitizer {
            sanitizer.barrier();
        }
    }
}

impl Observer for WorkgroupObserver {
    fn before(&mut self, w: &mut Wave, cx: &mut ExecContext, at: usize, i: &Inst) -> usize {
        let mut next = at + 1;
        let Some(info) = self.infos.get(at).filter(|info| info.is_known) else { return next };
        self.accesses.clear();
        if let Some(late) = &mut self.late {
            late.deliver(w, cx, i, info);
        }
        let looked_at = self.counter.is_some() || self.sanitizer.is_some() || self.late.is_some();
        if looked_at && info.addressing != AddressingKind::None {
            accesses::find(w, i, info.addressing, &mut self.accesses);
        }
        if let Some(counter) = &mut self.counter {
            counter.count(w, i.row.name, info.class, info.addressing, &self.accesses, cx.code.target);
        }
        if let Some(sanitizer) = &mut self.sanitizer {
            sanitizer.see(w, cx, at, i, info, &self.accesses);
            if self.counter.is_none() && self.tracer.is_none() && self.late.is_none() {
                next = sanitizer.next(w, at, &self.infos);
            }
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.before(w, &cx.code, i);
        }
        if let Some(late) = &mut self.late {
            late.before(w, cx, i, info, &self.accesses);
        }
        next
    }

    fn after(&mut self, w: &mut Wave, cx: &mut ExecContext) {
        if let Some(late) = &mut self.late {
            late.after(w, cx);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.after(w);
        }
    }
}
