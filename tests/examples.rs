//! Every example runs and finds its own results right, on the driver that is there.

#[path = "../examples/01_first_launch.rs"]
mod first_launch;

#[path = "../examples/02_argument_block.rs"]
mod argument_block;

#[path = "../examples/03_async_tickets.rs"]
mod async_tickets;

#[path = "../examples/04_threads_and_streams.rs"]
mod threads_and_streams;

#[path = "../examples/05_replace.rs"]
mod replace;

#[path = "../examples/06_memory.rs"]
mod memory;

#[path = "../examples/07_pool.rs"]
mod pool;

#[path = "../examples/08_timeline.rs"]
mod timeline;

#[path = "../examples/09_graph.rs"]
mod graph;

#[path = "../examples/10_compile.rs"]
mod compile;

#[path = "../examples/lds_layout.rs"]
mod lds_layout;

#[path = "../examples/lazy_chain.rs"]
mod lazy_chain;

#[path = "../examples/jit.rs"]
mod jit;

/// Every example is run here and listed for its readers.
#[test]
fn every_example_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (list, this) = (include_str!("../examples/README.md"), include_str!("examples.rs"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".rs") {
            assert!(list.contains(&format!("]({name}) |")), "examples/README.md does not list {name}");
            assert!(this.contains(&format!("\"../examples/{name}\"")), "{name} is not run here");
        }
    }
}
