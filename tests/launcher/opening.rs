//! Opening a launcher: which driver it gets, and the options of the emulator.

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::emulated::EmulatorOptions;
use hiplaunch::{Backend, Error, Launcher};

fn gfx942() -> EmulatorOptions {
    EmulatorOptions { target: "gfx942".parse().unwrap(), devices: 2, ..EmulatorOptions::default() }
}

fn processors(launcher: &Launcher) -> Vec<String> {
    launcher.devices().iter().map(|d| d.properties().target.processor.to_string()).collect()
}

#[test]
fn the_emulator_has_the_target_and_devices_of_its_options() {
    let builder = || Launcher::builder().backend(Backend::Emulator);
    assert_eq!(processors(&builder().emulator(gfx942()).build().unwrap()), ["gfx942"; 2]);
    assert!(processors(&builder().build().unwrap()).iter().all(|processor| processor == "gfx90a"));
}

/// The program asks for a GPU if there is one, else for an emulated gfx942.
#[test]
fn options_of_the_emulator_are_used_where_no_gpu_is_found() {
    let launcher = Launcher::builder().emulator(gfx942()).validate(false).build().unwrap();
    if launcher.driver().info().name == "hip" {
        println!("skipped: there is a GPU");
        return;
    }
    assert_eq!(processors(&launcher), ["gfx942"; 2]);
}

#[test]
fn options_that_no_emulator_can_have_are_refused_with_or_without_a_gpu() {
    for options in [
        EmulatorOptions { target: "gfx1010".parse().unwrap(), ..EmulatorOptions::default() },
        EmulatorOptions { devices: 1000, ..EmulatorOptions::default() },
    ] {
        for backend in [Backend::Auto, Backend::Emulator] {
            let error = Launcher::builder().backend(backend).emulator(options.clone()).build().unwrap_err();
            assert_eq!(error.code(), Some(ErrorCode::INVALID_VALUE), "{error}");
        }
    }
}

#[test]
fn options_of_the_emulator_are_refused_with_the_backend_hip() {
    let error = Launcher::builder().backend(Backend::Hip).emulator(gfx942()).build().unwrap_err();
    assert!(matches!(&error, Error::Invalid { .. }), "{error}");
}
