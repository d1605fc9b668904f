//! Runs C and C++ programs with the C library, compiled by the system's compilers, on the emulator.
//!
//! A skipped test prints why. With `HIPLAUNCH_MEMCHECK` set, the programs run under valgrind's memcheck, too.

#![cfg(target_os = "linux")]

use hiplaunch_testing::c_library;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WARNINGS: [&str; 5] = ["-g", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The further libraries that a program with the static library links: `Libs.private` of hip/hiplaunch.pc.in.
fn private_libraries() -> Vec<String> {
    let pc = std::fs::read_to_string(root().join("hip/hiplaunch.pc.in")).unwrap();
    let line = pc.lines().find_map(|line| line.strip_prefix("Libs.private:")).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

fn root() -> &'static Path {
    hiplaunch_testing::root()
}

/// The folder of the libraries.
fn libraries() -> PathBuf {
    c_library::folder()
}

/// Returns the tool that an environment variable or the default names. If it does not run, prints why and returns
/// `None`.
fn tool(variable: &str, default: &str) -> Option<String> {
    let name =
        std::env::var(variable).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| default.to_owned());
    match Command::new(&name).arg("--version").output() {
        Ok(output) if output.status.success() => Some(name),
        Ok(output) => {
            println!("skipped: `{name} --version` says {}", output.status);
            None
        }
        Err(error) => {
            println!("skipped: no `{name}` ({error}); set {variable}");
            None
        }
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

enum Linked {
    Shared,
    Static,
}

/// Compiles a program of tests/programs and runs it, and again under memcheck if `HIPLAUNCH_MEMCHECK` is set, unless it
/// is a C program compiled as C++, which does what it does in C.
fn program(source: &str, compiler: &str, standard: &str, linked: Linked) {
    let folder = libraries();
    let suffix = if matches!(linked, Linked::Static) { "static" } else { "shared" };
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{source}-{standard}-{suffix}"));
    let mut compile = Command::new(compiler);
    compile.arg(format!("-std={standard}")).args(WARNINGS).arg("-I").arg(root().join("hip"));
    compile
        .arg(root().join("crates/libhiplaunch/tests/programs").join(source))
        .arg("-o")
        .arg(&binary)
        .arg("-pthread");
    match linked {
        Linked::Shared => {
            compile.arg("-L").arg(&folder).arg("-lhiplaunch");
            compile.arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        Linked::Static => {
            compile.arg(folder.join("libhiplaunch.a")).args(private_libraries());
        }
    }
    run(&mut compile);
    let kernels = root().join("hip");
    let said = run(Command::new(&binary).arg(&kernels));
    assert!(String::from_utf8_lossy(&said.stdout).contains("all is well"), "{said:?}");
    let twice = source.ends_with(".c") && standard.starts_with("c++");
    if std::env::var_os("HIPLAUNCH_MEMCHECK").is_some()
        && !twice
        && let Some(valgrind) = tool("VALGRIND", "valgrind")
    {
        let mut memcheck = Command::new(valgrind);
        memcheck.args(["-q", "--error-exitcode=99", "--leak-check=full"]);
        memcheck.args(["--show-leak-kinds=definite,indirect,possible"]);
        memcheck.args(["--errors-for-leak-kinds=definite,indirect,possible"]);
        let suppressions = root().join("crates/libhiplaunch/tests/programs/memcheck.supp");
        memcheck.arg(format!("--suppressions={}", suppressions.display()));
        run(memcheck.arg(&binary).arg(&kernels));
    }
    std::fs::remove_file(&binary).unwrap();
}

#[test]
fn launches_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("launch.c", &cc, "c99", Linked::Shared);
}

#[test]
fn launches_from_c_with_the_static_library() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("launch.c", &cc, "c11", Linked::Static);
}

#[test]
fn a_file_of_c_or_cpp_may_include_the_header_twice() {
    let (Some(cc), Some(cxx)) = (tool("CC", "cc"), tool("CXX", "c++")) else { return };
    program("twice.c", &cc, "c99", Linked::Shared);
    program("twice.c", &cxx, "c++17", Linked::Shared);
}

#[test]
fn bad_input_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("bad_input.c", &cc, "c99", Linked::Shared);
}

#[test]
fn graphs_layouts_and_plans_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("plans.c", &cc, "c11", Linked::Shared);
}

#[test]
fn compiled_graphs_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("rebinding.c", &cc, "c99", Linked::Shared);
}

#[test]
fn modules_and_replaced_kernels_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("modules.c", &cc, "c99", Linked::Shared);
}

#[test]
fn llvm_ir_compiled_and_launched_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("compiling.c", &cc, "c99", Linked::Shared);
}

#[test]
fn the_headers_functions_and_the_order_of_outputs_from_c_and_cpp() {
    let (Some(cc), Some(cxx)) = (tool("CC", "cc"), tool("CXX", "c++")) else { return };
    program("helpers.c", &cc, "c99", Linked::Shared);
    program("helpers.c", &cxx, "c++17", Linked::Shared);
}

#[test]
fn streams_of_others_and_cooperative_launches_from_c() {
    let Some(cc) = tool("CC", "cc") else { return };
    program("others.c", &cc, "c99", Linked::Shared);
}

#[test]
fn threads_from_cpp() {
    let Some(cxx) = tool("CXX", "c++") else { return };
    program("threads.cpp", &cxx, "c++17", Linked::Shared);
}

/// hip/install.sh installs everything so that pkg-config finds it.
#[test]
fn installed_and_found_by_pkg_config() {
    let (Some(cc), Some(pkg_config)) = (tool("CC", "cc"), tool("PKG_CONFIG", "pkg-config")) else { return };
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prefix-{}", std::process::id()));
    let script = root().join("hip/install.sh");
    run(Command::new("bash").arg(&script).arg("--prefix").arg(&prefix).arg("--from").arg(libraries()));
    let found = run(Command::new(pkg_config)
        .args(["--cflags", "--libs", "hiplaunch"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let flags = String::from_utf8(found.stdout).unwrap();
    let binary = prefix.join("launch");
    let mut compile = Command::new(cc);
    compile
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/launch.c"))
        .arg("-o")
        .arg(&binary)
        .args(flags.split_whitespace());
    run(&mut compile);
    run(Command::new(&binary).arg(root().join("hip")).env("LD_LIBRARY_PATH", prefix.join("lib")));
    // The name of the file begins with the soname.
    let (number, version) =
        (c_library::SONAME.trim_start_matches("libhiplaunch.so."), env!("CARGO_PKG_VERSION"));
    let version = match version.starts_with(&format!("{number}.")) {
        true => format!("libhiplaunch.so.{version}"),
        false => format!("{}.{version}", c_library::SONAME),
    };
    let leads_to = |name: &str| std::fs::read_link(prefix.join("lib").join(name)).unwrap();
    assert_eq!(leads_to("libhiplaunch.so"), Path::new(c_library::SONAME));
    assert_eq!(leads_to(c_library::SONAME), Path::new(&version));
    assert!(needs(&binary).contains(&c_library::SONAME.to_owned()), "{:?}", needs(&binary));
    let refused = Command::new("bash").arg(&script).args(["--prefix", "relative"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    std::fs::remove_dir_all(&prefix).unwrap();
}

/// hip/install.sh installs everything so that CMake finds it, also after the installation was moved.
#[test]
fn installed_and_found_by_cmake() {
    let (Some(cc), Some(cmake)) = (tool("CC", "cc"), tool("CMAKE", "cmake")) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cmake-{}", std::process::id()));
    let (installed, prefix) = (folder.join("installed"), folder.join("moved"));
    let script = root().join("hip/install.sh");
    run(Command::new("bash").arg(&script).arg("--prefix").arg(&installed).arg("--from").arg(libraries()));
    std::fs::rename(&installed, &prefix).unwrap();
    let project = |version: &str| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/launch.c");
        let text = format!(
            "cmake_minimum_required(VERSION 3.15)\nproject(launch C)\nfind_package(hiplaunch {version} REQUIRED)\n\
             find_package(Threads REQUIRED)\n\
             add_executable(shared {source})\ntarget_link_libraries(shared PRIVATE hiplaunch::hiplaunch Threads::Threads)\n\
             add_executable(static {source})\ntarget_link_libraries(static PRIVATE hiplaunch::static Threads::Threads)\n",
            source = source.display()
        );
        std::fs::write(folder.join("CMakeLists.txt"), text).unwrap();
        let mut configure = Command::new(&cmake);
        configure.arg("-S").arg(&folder).arg("-B").arg(folder.join("build"));
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        configure.arg(format!("-DCMAKE_C_COMPILER={cc}"));
        configure
    };
    for (version, found) in [("", true), ("0", true), (env!("CARGO_PKG_VERSION"), true), ("999.0", false)] {
        let output = project(version).output().unwrap();
        assert_eq!(output.status.success(), found, "{version}: {}", String::from_utf8_lossy(&output.stderr));
    }
    run(&mut project(""));
    run(Command::new(&cmake).arg("--build").arg(folder.join("build")));
    for program in ["shared", "static"] {
        let binary = folder.join("build").join(program);
        let said = run(Command::new(&binary).arg(root().join("hip")));
        assert!(String::from_utf8_lossy(&said.stdout).contains("all is well"), "{program}: {said:?}");
        assert_eq!(needs(&binary).contains(&c_library::SONAME.to_owned()), program == "shared", "{program}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Returns the texts of a tag, such as DT_NEEDED, in an ELF file's dynamic section.
fn dynamic_texts(file: &Path, tag: object::elf::DynamicTag) -> Vec<String> {
    use object::elf::{FileHeader64, SHT_DYNAMIC};
    use object::read::elf::{Dyn, FileHeader, SectionHeader};
    let bytes = std::fs::read(file).unwrap();
    let elf = FileHeader64::<object::Endianness>::parse(&*bytes).unwrap();
    let endian = elf.endian().unwrap();
    let sections = elf.sections(endian, &*bytes).unwrap();
    let (_, dynamic) = sections.iter().enumerate().find(|(_, s)| s.sh_type(endian) == SHT_DYNAMIC).unwrap();
    let (entries, strings) = dynamic.dynamic(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, strings).unwrap();
    let its = entries.iter().filter(|entry| entry.d_tag(endian) == tag);
    its.map(|entry| String::from_utf8(entry.string(endian, strings).unwrap().to_vec()).unwrap()).collect()
}

fn needs(file: &Path) -> Vec<String> {
    dynamic_texts(file, object::elf::DT_NEEDED)
}

/// The library has the soname with which programs are linked.
#[test]
fn the_shared_library_has_its_soname() {
    assert_eq!(
        dynamic_texts(&libraries().join("libhiplaunch.so"), object::elf::DT_SONAME),
        [c_library::SONAME]
    );
}

/// The exported names all have the prefix, so they can't conflict with a program's names.
#[test]
fn the_shared_library_exports_only_names_with_the_prefix() {
    let Some(nm) = tool("NM", "nm") else { return };
    let said = run(Command::new(nm).args(["-D", "--defined-only"]).arg(libraries().join("libhiplaunch.so")));
    let text = String::from_utf8(said.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(names.len() > 60, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("hiplaunch_")), "{names:?}");
}

/// The example in C++ compiles LLVM IR, or says which compiler is missing.
#[test]
fn the_example_of_llvm_ir() {
    let Some(cxx) = tool("CXX", "c++") else { return };
    let (folder, binary) = (libraries(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi-example-llvm-ir"));
    let mut compile = Command::new(cxx);
    compile.args(["-std=c++17", "-O1", "-pthread"]).args(WARNINGS).arg("-I").arg(root().join("hip"));
    compile.arg(root().join("examples/c/llvm_ir.cpp")).arg("-o").arg(&binary);
    compile.arg("-L").arg(&folder).arg("-lhiplaunch");
    run(compile.arg(format!("-Wl,-rpath,{}", folder.display())));
    let said = run(Command::new(&binary).env("HIPLAUNCH_BACKEND", "emulator"));
    let text = String::from_utf8_lossy(&said.stdout);
    let has_run = text.contains("of 5 kernels one after the other") && text.contains("wrong.ll:2");
    assert!(has_run || text.contains("install"), "{text}");
    println!("{text}");
    std::fs::remove_file(&binary).unwrap();
}

/// The examples in C run, and report an error in their argument.
#[test]
fn the_c_examples() {
    let Some(cc) = tool("CC", "cc") else { return };
    let folder = libraries();
    for (name, says) in [("saxpy", "y[999] = 5"), ("rebind", "10000 submissions")] {
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-example-{name}"));
        let mut compile = Command::new(&cc);
        compile.arg("-std=c99").args(WARNINGS).arg("-I").arg(root().join("hip"));
        compile.arg(root().join("examples/c").join(name).with_extension("c")).arg("-o").arg(&binary);
        compile.arg("-L").arg(&folder).arg("-lhiplaunch");
        run(compile.arg(format!("-Wl,-rpath,{}", folder.display())));
        let emulated = [("HIPLAUNCH_BACKEND", "emulator")];
        let said = run(Command::new(&binary).arg(root().join("hip/vector.hipfb")).envs(emulated));
        assert!(String::from_utf8_lossy(&said.stdout).contains(says), "{said:?}");
        let refused = Command::new(&binary).arg("/nowhere").envs(emulated).output().unwrap();
        assert!(!refused.status.success() && !refused.stderr.is_empty(), "{refused:?}");
        std::fs::remove_file(&binary).unwrap();
    }
}
