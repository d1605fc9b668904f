//! `hiplaunch compile`. Without comgr and clang, what needs a compiler is skipped and prints why.

use std::fs;

use super::{Folder, data, hiplaunch};

#[test]
fn llvm_ir_and_assembly_become_a_code_object() {
    let folder = Folder::new();
    let out = folder.write("out.co", "before");
    let (status, said, err) = hiplaunch(&["compile", &data("twice.ll"), "-o", &out]);
    if err.contains("no usable compiler") {
        assert_eq!(status, 2);
        assert_eq!(fs::read(&out).unwrap(), b"before");
        return println!("skipped: {err}");
    }
    assert_eq!((status, err.as_str()), (0, ""), "{said}");
    assert!(said.starts_with(&out) && said.ends_with(" bytes for gfx90a, 1 kernel: twice\n"), "{said}");
    let (status, said, err) = hiplaunch(&["inspect", &out, "--target", "gfx90a"]);
    assert!(status == 0 && said.contains("twice"), "{said}{err}");
    // The kind by name, options of clang and of the linker, and two inputs.
    let text = folder.write("text", fs::read(data("twice.ll")).unwrap());
    let other = folder.write("other", "define void @other() {\n  ret void\n}\n");
    let options = ["--option", "-O1", "--option", "-Wl,--strip-all", "--device-libs"];
    let args = [&["compile", &text, &other, "--kind", "llvm-ir", "-o", &out], &options[..]].concat();
    let (status, said, err) = hiplaunch(&args);
    if err.contains("no usable device libraries") {
        return println!("skipped: {err}");
    }
    assert_eq!((status, err.as_str()), (0, ""), "{said}");
}

#[test]
fn what_cannot_be_compiled_is_said_and_nothing_is_written() {
    let folder = Folder::new();
    let out = folder.0.join("out.co");
    let out = out.to_str().unwrap();
    let bad = folder.write("bad.ll", "define void @f() {\n  rat void\n}\n");
    let theirs = folder.write("theirs.ll", "target triple = \"x86_64-pc-linux-gnu\"\n");
    let empty = folder.write("empty.bc", "");
    let text = folder.write("kernel.txt", "x");
    let nothing = folder.0.join("nothing.ll");
    for (file, parts) in [
        (bad.as_str(), &["bad.ll:2:3: error: "][..]),
        (&theirs, &["theirs.ll", "x86_64-pc-linux-gnu", "gfx90a"]),
        (&empty, &["empty.bc is empty"]),
        (&text, &["kernel.txt", "--kind"]),
        (nothing.to_str().unwrap(), &["nothing.ll: "]),
    ] {
        let (status, said, err) = hiplaunch(&["compile", file, "-o", out]);
        assert_eq!((status, said.as_str()), (2, ""), "{err}");
        match err.contains("no usable compiler") {
            true => println!("skipped: {err}"),
            false => assert!(parts.iter().all(|part| err.contains(part)), "{err}"),
        }
        assert!(!fs::exists(out).unwrap());
    }
    let (status, _, err) = hiplaunch(&["compile", "-o", out]);
    assert!(status == 2 && err.contains("FILE"), "{err}");
    let (status, _, err) = hiplaunch(&["compile", &bad, "-o", out, "--kind", "ptx"]);
    assert!(status == 2 && err.contains("llvm-ir, bitcode, assembly, relocatable"), "{err}");
    let (status, _, err) = hiplaunch(&["compile", &data("twice.ll"), "-o", "/nowhere/out.co"]);
    assert!(status == 3 && err.contains("/nowhere/out.co"), "{err}");
}
