//! The layouts of structures against HIP's headers, which a C++ compiler reads.
//!
//! `HIP_HEADERS` lists further include folders, separated by colons, such as those of HIP 6 and 7.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use hip_dropin::{StructLayout, layouts};

/// The structures that HIP 5 does not have.
const SINCE_HIP_6: [&str; 1] = ["hipMemAllocNodeParams"];
/// The structures that later versions keep to themselves.
const UNTIL_HIP_5: [&str; 2] = ["hipArray", "hipMipmappedArray"];

/// A C++ program that fails to compile unless the layouts are those of the headers.
fn checks(layouts: &[StructLayout], major: u32) -> String {
    let mut text =
        String::from("#define __HIP_PLATFORM_AMD__\n#include <hip/hip_runtime_api.h>\n#include <cstddef>\n");
    for layout in layouts {
        if (major < 6 && SINCE_HIP_6.contains(&layout.name))
            || (major >= 6 && UNTIL_HIP_5.contains(&layout.name))
        {
            continue;
        }
        // The headers have the layout of their own version under one name.
        let name = match (layout.name, major) {
            ("hipDeviceProp_tR0000", 0..=5) | ("hipDeviceProp_tR0600", 6..) => "hipDeviceProp_t",
            ("HIP_MEMCPY3D_R5", 0..=5) | ("HIP_MEMCPY3D", 6..) => "HIP_MEMCPY3D",
            ("hipDeviceProp_tR0000" | "hipDeviceProp_tR0600" | "HIP_MEMCPY3D_R5" | "HIP_MEMCPY3D", _) => {
                continue;
            }
            (name, _) => name,
        };
        writeln!(text, "static_assert(sizeof({name}) == {}, \"size of {name}\");", layout.bytes).unwrap();
        for (field, offset) in &layout.fields {
            let field = match (layout.name, *field) {
                ("hipPointerAttribute_t", "memoryType") if major >= 6 => "type",
                (_, field) => field.trim_start_matches("r#"),
            };
            // Later versions divided the reserved bytes.
            if (layout.name, field) == ("hipMemPoolProps", "reserved") {
                continue;
            }
            writeln!(text, "static_assert(offsetof({name}, {field}) == {offset}, \"{name}.{field}\");")
                .unwrap();
        }
    }
    text
}

/// The major version of the headers in a folder.
fn major(include: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(include.join("hip/hip_version.h")).ok()?;
    let line = text.lines().find(|line| line.contains("#define HIP_VERSION_MAJOR"))?;
    line.split_whitespace().last()?.parse().ok()
}

#[test]
fn structures_are_laid_out_as_the_headers_say() {
    let given = std::env::var("HIP_HEADERS").unwrap_or_default();
    let folders = ["/usr/include", "/opt/rocm/include"].into_iter().chain(given.split(':'));
    let mut checked = 0;
    for include in folders.filter(|folder| !folder.is_empty()).map(Path::new) {
        let Some(major) = major(include) else { continue };
        let folder = std::env::temp_dir().join(format!("hip-dropin-layouts-{}-{major}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("layouts.cpp");
        std::fs::write(&source, checks(&layouts(), major)).unwrap();
        let compiled = Command::new("c++")
            .args(["-std=c++17", "-w", "-fsyntax-only", "-I"])
            .args([include, &source])
            .output()
            .expect("a C++ compiler");
        std::fs::remove_dir_all(&folder).unwrap();
        let errors = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "headers of HIP {major} in {}:\n{errors}", include.display());
        println!("headers of HIP {major} in {}", include.display());
        checked += 1;
    }
    if checked == 0 {
        println!("skipped: no headers of HIP in /usr/include, /opt/rocm/include or HIP_HEADERS");
    }
}
