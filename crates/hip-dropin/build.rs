//! Tells the package that links the library where the list of its functions is.

fn main() {
    println!("cargo::rerun-if-changed=hip.map");
    println!("cargo::metadata=map={}/hip.map", env!("CARGO_MANIFEST_DIR"));
}
