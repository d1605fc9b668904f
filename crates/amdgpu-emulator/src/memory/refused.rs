//! Accesses that the operating system refuses: a program may map the memory that it registers read-only, and later unmap it,
//! protect it, or shorten the file behind it; and a device may only read some of the memory that is mapped to reserved addresses. A
//! GPU reports a memory fault, and so does this emulator.
//!
//! A refused access raises SIGSEGV or SIGBUS in the thread that runs the wave. The handler finds out by the thread's [`Watch`]
//! that the address is in such memory, leaves the instruction out and records that. The interpreter asks [`refused`] after
//! each of the wave's instructions. Other signals go to the handler that was there before.
//!
//! Only on Linux with x86-64, where the instructions of [`raw`](super::raw) are known. Elsewhere the signal ends the process.

use super::guest_range::GuestRange;
use crate::report::access::AccessKind;

/// An access that the operating system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The guest address of the first refused byte.
    pub(crate) address: u64,
    /// A read or a write; an atomic writes.
    pub(crate) access: AccessKind,
}

pub(crate) use host::{Watch, refused};
pub(super) use host::{install, is_installed};

/// No access is refused.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
mod host {
    use std::marker::PhantomData;

    use super::{GuestRange, Refused};

    pub(crate) struct Watch<'a>(PhantomData<&'a [GuestRange]>);

    impl<'a> Watch<'a> {
        pub(crate) fn begin(_: &'a [GuestRange]) -> Watch<'a> {
            Watch(PhantomData)
        }

        pub(crate) fn end(self) -> Option<Refused> {
            None
        }
    }

    pub(crate) fn refused() -> Option<Refused> {
        None
    }

    pub(in crate::memory) fn install() {}

    pub(in crate::memory) fn is_installed() -> bool {
        false
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod host {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::marker::PhantomData;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering, Ordering::Relaxed, compiler_fence};

    use super::{AccessKind, GuestRange, Refused, instruction};

    /// The number of watches of all threads, so that the handler asks for a thread's own only where there is one.
    static WATCHES: AtomicUsize = AtomicUsize::new(0);
    /// The number of threads with a refused access that nobody has asked for.
    static PENDING: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        /// The ranges that the thread watches.
        static RANGES: Cell<(*const GuestRange, usize)> = const { Cell::new((ptr::null(), 0)) };
        static REFUSED: Cell<Option<Refused>> = const { Cell::new(None) };
    }

    /// Watches what this thread accesses, until it is dropped.
    pub(crate) struct Watch<'a> {
        /// What it took the place of.
        before: (*const GuestRange, usize),
        ranges: PhantomData<(&'a [GuestRange], *const ())>,
    }

    impl<'a> Watch<'a> {
        /// Watches accesses in these ranges.
        pub(crate) fn begin(ranges: &'a [GuestRange]) -> Watch<'a> {
            let before = RANGES.replace((ranges.as_ptr(), ranges.len()));
            WATCHES.fetch_add(1, Relaxed);
            // The handler runs on this thread, in the middle of what follows.
            compiler_fence(Ordering::SeqCst);
            Watch { before, ranges: PhantomData }
        }

        /// Returns the first access that was refused.
        pub(crate) fn end(self) -> Option<Refused> {
            compiler_fence(Ordering::SeqCst);
            refused()
        }
    }

    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            compiler_fence(Ordering::SeqCst);
            refused();
            WATCHES.fetch_sub(1, Relaxed);
            RANGES.set(self.before);
        }
    }

    /// Returns the first access of this thread that was refused since it was last asked.
    #[inline(always)]
    pub(crate) fn refused() -> Option<Refused> {
        if PENDING.load(Relaxed) == 0 { None } else { take() }
    }

    #[cold]
    fn take() -> Option<Refused> {
        let refused = REFUSED.take()?;
        PENDING.fetch_sub(1, Relaxed);
        Some(refused)
    }

    /// The handlers that were there before, of SIGSEGV and SIGBUS.
    static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

    /// Installs the handler, once in the process. A handler that the program installs later comes first.
    pub(in crate::memory) fn install() {
        PREVIOUS.get_or_init(|| {
            // SAFETY: zeros are a valid `sigaction`. The handler has the signature that SA_SIGINFO asks for, and calls nothing
            // that is not safe in a signal handler. The previous handlers are kept before it can ask for them: no address is
            // watched before this function has returned, and `pass_on` does without them.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(_, _, _) as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                [libc::SIGSEGV, libc::SIGBUS].map(|signal| {
                    let mut previous: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, &raw const action, &raw mut previous);
                    previous
                })
            }
        });
    }

    /// Returns whether any memory was registered, so that the handler is there.
    pub(in crate::memory) fn is_installed() -> bool {
        PREVIOUS.get().is_some()
    }

    extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel gives the handler both, and the context is that of a thread of this architecture.
        let (address, registers) = unsafe {
            ((*info).si_addr() as u64, &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs)
        };
        if WATCHES.load(Relaxed) > 0
            && let Some(address) = watched(address)
            && record(address, registers)
        {
            return;
        }
        // SAFETY: the kernel gave the handler these arguments.
        unsafe { pass_on(signal, info, context) }
    }

    /// The guest address of a watched address of the host.
    fn watched(address: u64) -> Option<u64> {
        let (ranges, len) = RANGES.get();
        // SAFETY: `Watch` has a borrow of the ranges and puts the previous ones back before that ends. Without a watch there
        // are none.
        let ranges = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(ranges, len) } };
        let offset = |range: &GuestRange| address.wrapping_sub(range.ptr.addr() as u64);
        let found = ranges.iter().find(|range| offset(range) < range.len)?;
        Some(found.base + offset(found))
    }

    /// Leaves the instruction out. Returns whether it is one of those that access guest memory.
    fn record(address: u64, registers: &mut [libc::greg_t]) -> bool {
        let at = registers[libc::REG_RIP as usize];
        // SAFETY: the processor was about to execute the bytes there.
        let Some(length) = (unsafe { instruction::length(at as *const u8) }) else { return false };
        registers[libc::REG_RIP as usize] = at + length as i64;
        // Bit 1 of a page fault's error code: the access was a write (Intel SDM, volume 3, 4.7).
        let is_write = registers[libc::REG_ERR as usize] & 2 != 0;
        let access = if is_write { AccessKind::Write } else { AccessKind::Read };
        if REFUSED.get().is_none() {
            REFUSED.set(Some(Refused { address, access }));
            PENDING.fetch_add(1, Relaxed);
        }
        true
    }

    /// Gives the signal to the handler that was there before.
    ///
    /// # Safety
    /// The arguments are those of a signal handler.
    unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let previous = PREVIOUS.get().map(|all| all[usize::from(signal == libc::SIGBUS)]);
        match previous {
            // SAFETY: the kernel would have called that handler with the arguments that its flags ask for.
            Some(previous) if previous.sa_sigaction > libc::SIG_IGN => unsafe {
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(previous.sa_sigaction);
                    handler(signal);
                }
            },
            // The instruction is executed again, and then the signal ends the process; so does one that another process sent.
            // SAFETY: `signal` and `raise` are safe in a handler.
            _ => unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            },
        }
    }
}

/// The instructions of [`raw`](super::raw) on x86-64.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod instruction {
    /// Returns the length in bytes of an instruction that accesses memory, if it is one of those that [`raw`](super::super::raw)
    /// uses: moves, `movzx`, `xchg`, `xadd`, `cmpxchg`, `movs`, `vmovdqa`, `vmovdqu` (Intel SDM, volume 2, chapter 2).
    ///
    /// # Safety
    /// There is a whole instruction at `code`.
    pub(super) unsafe fn length(code: *const u8) -> Option<usize> {
        // SAFETY: only bytes of the instruction are read, by its encoding.
        let byte = |at: usize| unsafe { *code.add(at) };
        let mut at = 0;
        // Operand size, repetition, lock; then REX.
        while matches!(byte(at), 0x66 | 0xf2 | 0xf3 | 0xf0) {
            at += 1;
        }
        if byte(at) & 0xf0 == 0x40 {
            at += 1;
        }
        match byte(at) {
            0xa4 | 0xa5 => return Some(at + 1),
            0x86..=0x8b => at += 1,
            0x0f if matches!(byte(at + 1), 0xb0 | 0xb1 | 0xb6 | 0xb7 | 0xc0 | 0xc1) => at += 2,
            // VEX with two bytes, and with three of the first map of opcodes.
            0xc5 if matches!(byte(at + 2), 0x6f | 0x7f) => at += 3,
            0xc4 if byte(at + 1) & 0x1f == 1 && matches!(byte(at + 3), 0x6f | 0x7f) => at += 4,
            _ => return None,
        }
        let (mode, memory) = (byte(at) >> 6, byte(at) & 7);
        at += 1;
        let mut displacement = match mode {
            0 if memory == 5 => 4,
            0 => 0,
            1 => 1,
            2 => 4,
            _ => return None,
        };
        if memory == 4 {
            if mode == 0 && byte(at) & 7 == 5 {
                displacement = 4;
            }
            at += 1;
        }
        Some(at + displacement)
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64", not(miri)))]
mod tests {
    use super::instruction::length;

    /// Encodings are those of LLVM 22's assembler, one of each kind and each form of an address.
    #[test]
    fn the_lengths_of_instructions_are_those_of_the_assembler() {
        let encodings: [(&str, &[u8]); 19] = [
            ("movzx eax, byte ptr [rdi]", &[0x0f, 0xb6, 0x07]),
            ("movzx r9d, word ptr [r12]", &[0x45, 0x0f, 0xb7, 0x0c, 0x24]),
            ("mov eax, dword ptr [rbp]", &[0x8b, 0x45, 0x00]),
            ("mov r10, qword ptr [r13 + 8]", &[0x4d, 0x8b, 0x55, 0x08]),
            ("mov byte ptr [rsp], cl", &[0x88, 0x0c, 0x24]),
            ("mov byte ptr [rsi + 4*rax + 512], sil", &[0x40, 0x88, 0xb4, 0x86, 0, 2, 0, 0]),
            ("mov word ptr [rax], bx", &[0x66, 0x89, 0x18]),
            ("mov dword ptr [r15 + 56], r8d", &[0x45, 0x89, 0x47, 0x38]),
            ("mov qword ptr [8*rax + 64], rdx", &[0x48, 0x89, 0x14, 0xc5, 0x40, 0, 0, 0]),
            ("mov rcx, qword ptr [rip + 16]", &[0x48, 0x8b, 0x0d, 0x10, 0, 0, 0]),
            ("lock cmpxchg dword ptr [rsi], r11d", &[0xf0, 0x44, 0x0f, 0xb1, 0x1e]),
            ("lock cmpxchg qword ptr [r8], rcx", &[0xf0, 0x49, 0x0f, 0xb1, 0x08]),
            ("lock xadd dword ptr [rdx], eax", &[0xf0, 0x0f, 0xc1, 0x02]),
            ("xchg qword ptr [r14], rax", &[0x49, 0x87, 0x06]),
            ("rep movsq", &[0xf3, 0x48, 0xa5]),
            ("vmovdqa xmm0, xmmword ptr [rax]", &[0xc5, 0xf9, 0x6f, 0x00]),
            ("vmovdqa xmmword ptr [r9], xmm12", &[0xc4, 0x41, 0x79, 0x7f, 0x21]),
            ("vmovdqu xmm1, xmmword ptr [rsi + 16]", &[0xc5, 0xfa, 0x6f, 0x4e, 0x10]),
            ("vmovdqu xmmword ptr [rdi + 48], xmm9", &[0xc5, 0x7a, 0x7f, 0x4f, 0x30]),
        ];
        for (text, encoding) in encodings {
            // SAFETY: it is a whole instruction.
            assert_eq!(unsafe { length(encoding.as_ptr()) }, Some(encoding.len()), "{text}");
        }
        // SAFETY: `mov eax, eax` and `ret` are whole instructions.
        assert_eq!(unsafe { (length([0x89, 0xc0].as_ptr()), length([0xc3].as_ptr())) }, (None, None));
    }
}
