//! Compares memory pools: this library's, the driver alone, and other designs.
//!
//! ```text
//! cargo bench --bench pool                        everything; minutes
//! cargo bench --bench pool -- --quick             fewer repeats
//! cargo bench --bench pool -- noop/random threads the workloads whose names have one of these words in them
//! cargo bench --bench pool -- --count=N           N pairs that hit, for an instruction counter
//! cargo test --bench pool                         every workload once, small
//! ```
//!
//! Times are measured over the driver itself. Device calls, memory and failures are counted in separate runs, by a
//! layer over the driver. The figures of the default pool have goals, in columns named "bar".

mod best_fit;
mod destinations;
mod hits;
mod launcher;
mod ledger;
mod machine;
mod measure;
mod naive;
mod options;
mod random;
mod subject;
mod threads;

use machine::Machine;
use options::Options;

fn main() -> Result<(), hiplaunch::Error> {
    let options = Options::from_args();
    if let Some(pairs) = options.count {
        return hits::count(pairs);
    }
    let scale = options.scale;
    for &machine in Machine::ALL {
        let wants = |workload: &str| options.wants(&format!("{}/{workload}", machine.name()));
        if wants("hit") {
            hits::run(machine, scale)?;
        }
        if wants("random") {
            random::run(machine, scale, 1)?;
        }
        if wants("multi-stream") {
            random::run(machine, scale, 4)?;
        }
        // Only counts are printed, which are the same on any driver.
        if machine == Machine::Noop && wants("limited") {
            random::run_limited(machine, scale)?;
        }
        if wants("launcher") {
            launcher::run(machine, scale)?;
        }
        if wants("threads") {
            threads::run(machine, scale)?;
        }
        if wants("destinations") {
            destinations::run(machine, scale)?;
        }
    }
    Ok(())
}
