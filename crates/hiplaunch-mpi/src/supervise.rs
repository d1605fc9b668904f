//! Names a rank that a signal ends. Open MPI's `mpirun` does; MPICH's names the first process of the machine instead.

use std::ffi::{CStr, c_int};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use hiplaunch::driver::stderr_line;

/// Variables with the rank, of process managers.
const VARIABLES: [&str; 5] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"];

/// The variable by which the supervisor tells the rank's process its number.
const SUPERVISOR: &str = "HIPLAUNCH_MPI_SUPERVISOR";

/// Signals that a process manager sends to end a program.
const ENDING: [c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// In the supervisor: the rank's process. In the rank's process: the supervisor's.
static OTHER: AtomicI32 = AtomicI32::new(0);
/// The signal that the supervisor was asked to end with.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// What the rank's process says when its supervisor was killed.
static ORPHANED: OnceLock<String> = OnceLock::new();

/// Has the program run in a second process, and says on stderr which rank it was if a signal ends that process:
///
/// ```text
/// rank 2 on node17 was ended by signal 9
/// ```
///
/// To be called at the beginning of `main`, before MPI is initialized. It starts the program again, with the same arguments, and
/// returns there. In the first process, the supervisor, it does not return: it waits, passes on SIGTERM, SIGINT, SIGHUP and SIGQUIT,
/// and ends with the program's exit status, or with 128 and the signal's number. If the supervisor is killed, the program ends, too,
/// and says so. A process that no process manager has started goes on as it is.
///
/// # Errors
/// The system refuses a process. This one may go on as the rank, then.
pub fn supervise() -> io::Result<()> {
    let Some(rank) = VARIABLES.iter().find_map(|name| std::env::var(name).ok()) else { return Ok(()) };
    let name = format!("rank {rank} on {}", host());
    // SAFETY: a plain query.
    let parent = unsafe { libc::getppid() };
    if std::env::var(SUPERVISOR).is_ok_and(|id| id == parent.to_string()) {
        ORPHANED.get_or_init(|| format!("{name} was ended, because its supervisor was killed\n"));
        OTHER.store(parent, Ordering::Relaxed);
        handle(libc::SIGTERM, on_orphaned)?;
        // SAFETY: asks for a signal when the supervisor ends. It may have ended before, which the parent's number tells.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() != parent {
                libc::raise(libc::SIGTERM);
            }
        }
        return Ok(());
    }
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(called) = arguments.next() {
        command.arg0(called);
    }
    let mut child = command.args(arguments).env(SUPERVISOR, std::process::id().to_string()).spawn()?;
    OTHER.store(child.id() as libc::pid_t, Ordering::Relaxed);
    for signal in ENDING {
        // Without it the signal ends the supervisor, and so the rank.
        let _ = handle(signal, on_ending);
    }
    let status = child.wait().unwrap_or_else(|error| {
        stderr_line(format_args!("{name}: how it ended can't be known: {error}"));
        std::process::exit(1)
    });
    let Some(signal) = status.signal() else { std::process::exit(status.code().unwrap_or(1)) };
    // What this process passed on is no news.
    if ASKED.load(Ordering::Relaxed) == 0 {
        stderr_line(format_args!("{name} was ended by signal {signal}"));
    }
    std::process::exit(128 + signal)
}

fn handle(signal: c_int, handler: extern "C" fn(c_int)) -> io::Result<()> {
    // SAFETY: both handlers call only what POSIX allows in a handler. All zeros is a valid structure without flags.
    let set = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// In the supervisor: passes the signal on.
extern "C" fn on_ending(signal: c_int) {
    ASKED.store(signal, Ordering::Relaxed);
    // SAFETY: allowed in a handler (signal-safety(7)).
    unsafe { libc::kill(OTHER.load(Ordering::Relaxed), signal) };
}

/// In the rank's process, on SIGTERM: says it if the supervisor is gone, and ends as SIGTERM does.
extern "C" fn on_orphaned(signal: c_int) {
    // SAFETY: allowed in a handler. The text was made before the handler, so to get it is a load.
    unsafe {
        if libc::getppid() != OTHER.load(Ordering::Relaxed)
            && let Some(text) = ORPHANED.get()
        {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// The name of this machine.
fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the array has one byte more than is written, so the name ends with a zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name)
        .map_or_else(|_| "this machine".into(), |n| n.to_string_lossy().into_owned())
}
