//! The guide's five steps: every file that it shows is an example's, word for word, and every command prints what it
//! shows. The Python package's tests run the program in Python.
//!
//! Without a compiler for the kernel, the test is skipped and prints why; with `HIPLAUNCH_TEST_HIPRTC=1`, it fails.

use std::path::PathBuf;
use std::process::{Command, Output};

use code_object::{Processor, TargetId};
use hiplaunch::Compiler;
use hiplaunch::compile::DiskCache;
use hiplaunch_testing::c_library;

fn example(name: &str) -> String {
    let folder = hiplaunch_testing::root().join("examples/histogram");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Reads a page of docs/.
fn page(name: &str) -> String {
    std::fs::read_to_string(hiplaunch_testing::root().join("docs").join(name)).unwrap()
}

#[test]
fn the_guide_shows_the_examples_files() {
    let files = [
        ("own-kernel.md", "cpp", "histogram.hip"),
        ("own-kernel.md", "toml", "histogram.launch.toml"),
        ("own-kernel.md", "rust", "main.rs"),
        ("c.md", "c", "histogram.c"),
        ("python.md", "python", "histogram.py"),
    ];
    for (chapter, language, name) in files {
        let file = example(name);
        let shown = file.split_once("//!").map_or(&*file, |(_, rest)| rest.split_once("\n\n").unwrap().1);
        assert!(
            page(chapter).contains(&format!("```{language}\n{shown}```")),
            "{chapter}: {name} is another one"
        );
    }
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command in the folder. Returns `None` if its program does not exist.
fn run(folder: &Folder, command: &mut Command) -> Option<String> {
    let emulated = command.current_dir(&folder.0).env("HIPLAUNCH_BACKEND", "emulator");
    let Output { status, stdout, stderr } = match emulated.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: {command:?}: {error}");
            return None;
        }
        Err(error) => panic!("{command:?}: {error}"),
    };
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&stderr));
    Some(said)
}

#[test]
fn the_guides_steps_have_the_shown_results() {
    let folder = std::env::temp_dir().join(format!("hiplaunch-own-kernel-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let folder = Folder(folder);
    let at = |name: &str| folder.0.join(name);

    // hiprtc contains HIP's header.
    let compiler = Compiler::new(&TargetId::new(Processor::Gfx90a)).header("hip/hip_runtime.h", "");
    let compiler = compiler.cache(&DiskCache::off());
    match compiler.compile(&example("histogram.hip")) {
        Ok(code) => std::fs::write(at("histogram.co"), code.elf()).unwrap(),
        Err(error) if std::env::var_os("HIPLAUNCH_TEST_HIPRTC").is_some_and(|v| v == "1") => {
            panic!("{error}")
        }
        Err(error) => return println!("skipped: {error}"),
    }
    for name in ["histogram.launch.toml", "histogram.c"] {
        std::fs::write(at(name), example(name)).unwrap();
    }

    let hiplaunch = || Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    let seen = run(&folder, hiplaunch().args(["inspect", "histogram.co"])).unwrap();
    let steps = page("own-kernel.md");
    let report = steps.split("$ hiplaunch inspect histogram.co\n").nth(1).unwrap();
    // Compares all but what depends on the compiler: the bundle, and the numbers of bytes and registers.
    let shown = report.lines().take_while(|line| !line.starts_with("    ..."));
    let same = ["  kernel ", "    arguments", "      ", "    kernarg", "    memory", "    block"];
    let same = shown.filter(|line| same.iter().any(|start| line.starts_with(start)));
    let same: Vec<&str> = same.inspect(|line| assert!(seen.contains(line), "{line}\n{seen}")).collect();
    assert!(same.len() > 7, "{same:?}");

    let x: Vec<u8> = (0..4000).flat_map(|i| ((i % 10) as f32).to_le_bytes()).collect();
    std::fs::write(at("x.bin"), x).unwrap();
    std::fs::write(at("counts.bin"), [400u32; 10].map(u32::to_le_bytes).concat()).unwrap();
    let passed = run(&folder, hiplaunch().args(["run", "--validate", "histogram.launch.toml"])).unwrap();
    assert!(passed.contains("1 passed, 0 failed"), "{passed}");

    let counts = ["400"; 10].join(", ");
    let library = c_library::folder();
    let root = hiplaunch_testing::root();
    let mut compile = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "histogram.c", "-o", "histogram", "-I"]);
    compile.arg(root.join("hip")).arg("-L").arg(&library).arg("-lhiplaunch");
    if run(&folder, compile.arg(format!("-Wl,-rpath,{}", library.display()))).is_some() {
        assert_eq!(run(&folder, &mut Command::new(at("histogram"))).unwrap(), format!("{counts}\n"));
    }
    // The guide's CMake project, with the library installed as the guide says.
    let shown = page("c.md");
    let project = shown.split("```cmake\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(at("CMakeLists.txt"), project).unwrap();
    let mut install = Command::new("bash");
    install.arg(root.join("hip/install.sh")).arg("--prefix").arg(at("prefix")).arg("--from").arg(&library);
    if run(&folder, &mut install).is_some()
        && run(&folder, Command::new("cmake").args(["-B", "build", "-DCMAKE_PREFIX_PATH=prefix"])).is_some()
    {
        run(&folder, Command::new("cmake").args(["--build", "build"])).unwrap();
        let said = run(&folder, &mut Command::new(at("build/histogram"))).unwrap();
        assert_eq!(said, format!("{counts}\n"));
    }
    // The Rust program is an example. Cargo builds it with the tests if it builds all of them.
    let program = library.with_file_name("examples").join("histogram");
    match program.is_file() {
        true => assert_eq!(run(&folder, &mut Command::new(program)).unwrap(), format!("[{counts}]\n")),
        false => println!("skipped: the Rust program, as this build has no examples"),
    }
}
