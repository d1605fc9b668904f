//! The launcher that all devices of the runtime belong to.

use std::sync::OnceLock;

use hiplaunch::Launcher;

static LAUNCHER: OnceLock<Launcher> = OnceLock::new();

/// Makes the runtime use a launcher that the program opened, for example one on the emulator with options, or one with
/// layers over its driver. Call it before the first [`client`](cubecl_core::Runtime::client).
///
/// # Errors
/// Returns the launcher if the runtime has one already.
pub fn set_launcher(launcher: Launcher) -> Result<(), Launcher> {
    LAUNCHER.set(launcher)
}

/// Returns the launcher of the runtime. If the program has set none, it is opened now, as [`Launcher::new`] does: on
/// the GPUs of the machine, else on the emulator.
///
/// # Errors
/// The errors of [`Launcher::new`].
pub fn launcher() -> hiplaunch::Result<&'static Launcher> {
    if let Some(launcher) = LAUNCHER.get() {
        return Ok(launcher);
    }
    let opened = Launcher::new()?;
    // Another thread may have been first; its launcher is used then.
    Ok(LAUNCHER.get_or_init(|| opened))
}
