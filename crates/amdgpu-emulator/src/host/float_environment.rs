//! The host's floating-point environment while guest code runs.
//!
//! Executors compute with the host's instructions, which take rounding and the treatment of denormals from a register of the
//! thread (MXCSR, FPCR). A thread inherits it from the one that started it, and programs change it: by linking with
//! `-ffast-math`, `fesetround`, `feenableexcept`, `torch.set_flush_denormal`. A GPU has mode registers of its own.

/// Sets the environment that executors expect, round to nearest with denormals and without traps, until it is dropped.
#[derive(Debug)]
pub(crate) struct FloatEnvironment {
    before: u64,
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod host {
    use std::arch::asm;

    /// All exceptions masked, none raised.
    pub(super) const DEFAULT: u64 = 0x1f80;

    pub(super) fn get() -> u64 {
        let mut value = 0u32;
        // SAFETY: it writes the 4 bytes of `value`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value.into()
    }

    pub(super) fn set(value: u64) {
        let value = value as u32;
        // SAFETY: `value` is the default, or what the register had: no reserved bit is set. Rust's own code on this thread
        // runs with the default, or with what the program has chosen for it.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags, readonly))
        };
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod host {
    use std::arch::asm;

    pub(super) const DEFAULT: u64 = 0;

    pub(super) fn get() -> u64 {
        let value;
        // SAFETY: it only reads the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub(super) fn set(value: u64) {
        // SAFETY: `value` is the default, or what the register had.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod host {
    pub(super) const DEFAULT: u64 = 0;

    pub(super) fn get() -> u64 {
        DEFAULT
    }

    pub(super) fn set(_: u64) {}
}

impl FloatEnvironment {
    pub(crate) fn set() -> FloatEnvironment {
        let before = host::get();
        if before != host::DEFAULT {
            host::set(host::DEFAULT);
        }
        FloatEnvironment { before }
    }
}

impl Drop for FloatEnvironment {
    fn drop(&mut self) {
        host::set(self.before);
    }
}
