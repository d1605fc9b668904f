//! The barrier of a workgroup on gfx12, whose waves signal that they have arrived and wait for the others in two instructions.

/// The waves that have signalled since the barrier was last met.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SplitBarrier {
    /// The waves that have not ended.
    waves: u32,
    signalled: u32,
    /// How often the barrier was met.
    phase: u32,
}

impl SplitBarrier {
    /// Returns the barrier of a workgroup that begins.
    pub(crate) fn of(waves: u32) -> SplitBarrier {
        SplitBarrier { waves, signalled: 0, phase: 0 }
    }

    /// Counts a wave that has arrived. Returns the phase in which it did, and whether it is the first one.
    pub(crate) fn signal(&mut self) -> (u32, bool) {
        let (phase, is_first) = (self.phase, self.signalled == 0);
        self.signalled += 1;
        self.meet();
        (phase, is_first)
    }

    /// Removes a wave that has ended, which may have signalled in a phase.
    pub(crate) fn leave(&mut self, signalled: Option<u32>) {
        self.waves = self.waves.saturating_sub(1);
        if signalled == Some(self.phase) {
            self.signalled = self.signalled.saturating_sub(1);
        }
        self.meet();
    }

    /// Returns whether a wave that signalled in a phase continues.
    pub(crate) fn is_met(&self, signalled: Option<u32>) -> bool {
        signalled != Some(self.phase)
    }

    /// Returns how often the barrier was met.
    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    fn meet(&mut self) {
        if self.signalled > 0 && self.signalled >= self.waves {
            self.phase += 1;
            self.signalled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_met_when_all_waves_that_have_not_ended_signalled() {
        let mut barrier = SplitBarrier::of(3);
        assert_eq!(barrier.signal(), (0, true));
        assert_eq!(barrier.signal(), (0, false));
        assert!(!barrier.is_met(Some(0)));
        barrier.leave(None);
        assert!(barrier.is_met(Some(0)) && barrier.phase() == 1);
        assert_eq!(barrier.signal(), (1, true));
        // A wave that has signalled and ends is not waited for.
        barrier.leave(Some(1));
        assert!(!barrier.is_met(Some(1)));
        assert_eq!(barrier.signal(), (1, true));
        assert!(barrier.is_met(Some(1)));
    }
}
