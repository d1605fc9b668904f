//! Valid scripts, and one script for each error.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A folder with a code object's file, `x.bin` of 12 bytes, and an empty `e.bin`.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("hiplaunch-script-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("k.co"), b"no ELF, and not read here").unwrap();
        fs::write(path.join("x.bin"), [1; 12]).unwrap();
        fs::write(path.join("e.bin"), []).unwrap();
        Folder(path)
    }

    fn read(&self, text: &str) -> Result<Script> {
        let path = self.0.join("s.launch.toml");
        fs::write(&path, text).unwrap();
        Script::read(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const HEAD: &str = "version = 1\ncode_object = \"k.co\"\n";
const X: &str = "[[buffers]]\nname = \"x\"\nfile = \"x.bin\"\n";
const LAUNCH: &str = "[[launches]]\nkernel = \"k\"\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n";

fn args(folder: &Folder, args: &str) -> Result<Vec<Argument>> {
    let script = folder.read(&format!("{HEAD}{X}{LAUNCH}args = [ {args} ]\n"))?;
    Ok(script.launches[0].args.clone())
}

#[test]
fn a_script_with_everything() {
    let folder = Folder::new();
    let text = format!(
        "{HEAD}description = \"d\"\n{X}[[buffers]]\nname = \"y\"\nbytes = 12\nfill = 90\n{LAUNCH}lds = 64\n\
         args = [ {{ f32 = 2.0 }}, {{ buffer = \"y\", offset = 4 }}, {{ null = true }}, {{ bytes = \"0aFf\" }} ]\n\
         [[expect]]\nbuffer = \"y\"\nfile = \"x.bin\"\ndtype = \"i32\"\nrtol = 1\natol = 1e-6\n"
    );
    let script = folder.read(&text).unwrap();
    assert_eq!((script.description(), script.launches(), script.buffer_bytes()), ("d", 1, 24));
    assert_eq!(script.code_object(), folder.0.join("k.co"));
    assert_eq!(script.buffers[1], Buffer { name: "y".into(), bytes: 12, contents: Contents::Fill(90) });
    let launch = &script.launches[0];
    assert_eq!(launch.dims, LaunchDims::linear(1, 64).with_lds(64));
    assert_eq!(
        launch.args,
        [
            Argument::Scalar { bits: 0x4000_0000, size: 4 },
            Argument::Buffer { index: 1, offset: 4 },
            Argument::Null,
            Argument::Bytes(vec![10, 255]),
        ]
    );
    let Expectation { buffer, dtype, rtol, atol, .. } = script.expectations[0];
    assert_eq!((buffer, dtype, rtol, atol), (1, Dtype::I32, 1.0, 1e-6));
}

#[test]
fn scalars_of_every_type() {
    let folder = Folder::new();
    for (text, bits, size) in [
        ("{ i8 = -1 }", 0xff, 1),
        ("{ u8 = 255 }", 0xff, 1),
        ("{ i16 = -32768 }", 0x8000, 2),
        ("{ u16 = 0xbeef }", 0xbeef, 2),
        ("{ i32 = -2 }", 0xffff_fffe, 4),
        ("{ u32 = 4_294_967_295 }", 0xffff_ffff, 4),
        ("{ i64 = -9223372036854775808 }", 1 << 63, 8),
        ("{ u64 = 18446744073709551615 }", u64::MAX, 8),
        ("{ f16 = 1 }", 0x3c00, 2),
        ("{ bf16 = 1.0 }", 0x3f80, 2),
        ("{ f32 = 16777216 }", 0x4b80_0000, 4),
        ("{ f32 = inf }", 0x7f80_0000, 4),
        ("{ f64 = -0.0 }", 1 << 63, 8),
        ("{ f64 = 1_0.0e-1 }", 1.0f64.to_bits(), 8),
    ] {
        assert_eq!(args(&folder, text).unwrap(), [Argument::Scalar { bits, size }], "{text}");
    }
    let [Argument::Scalar { bits, size: 4 }] = args(&folder, "{ f32 = nan }").unwrap()[..] else { panic!() };
    assert!(f32::from_bits(bits as u32).is_nan());
}

/// Every message names the script, the line, the key and what to do.
#[test]
fn what_is_wrong_is_named() {
    let folder = Folder::new();
    let launch = format!("{LAUNCH}args = []\n");
    let expect = |text: &str| format!("{HEAD}{X}{launch}[[expect]]\nbuffer = \"x\"\n{text}");
    let head = |text: &str| format!("{text}\n{launch}");
    let buffers = |text: &str| format!("{HEAD}[[buffers]]\n{text}\n{launch}");
    let launches = |text: &str| format!("{HEAD}[[launches]]\n{text}");
    let over = (MAX_BUFFER_BYTES + 1).to_string();
    let whole = "dtype = \"i32\"\nfile = \"x.bin\"\n";
    for (text, line, key, words) in [
        (head("code_object = \"k.co\""), 1, "version", "is missing"),
        (head("version = 2\ncode_object = \"k.co\""), 1, "version", "reads version 1"),
        (head("version = \"1\""), 1, "version", "write an integer"),
        (head("version = 1\ncode_objekt = \"k.co\""), 2, "code_objekt", "one of `version`"),
        (head("version = 1"), 1, "code_object", "is missing"),
        (head("version = 1\ncode_object = \"none.co\""), 2, "code_object", "none.co"),
        (head("version = 1\ncode_object = \".\""), 2, "code_object", "no regular file"),
        (head("version = 1\ncode_object = \"/k.co\""), 2, "code_object", "relative to the script"),
        (HEAD.to_owned(), 1, "launches", "is missing"),
        (format!("{HEAD}launches = []"), 3, "launches", "at least one"),
        (format!("{HEAD}launches = 3"), 3, "launches", "is an integer; write a list of tables"),
        (buffers("bytes = 4"), 3, "buffers[0].name", "is missing"),
        (buffers("name = \"x\""), 3, "buffers[0]", "give the buffer a `file`"),
        (buffers("name = \"x\"\nbytes = 0"), 5, "buffers[0].bytes", "null = true"),
        (buffers("name = \"x\"\nfile = \"e.bin\""), 5, "buffers[0].file", "null = true"),
        (buffers("name = \"x\"\nbytes = -1"), 5, "buffers[0].bytes", "out of range"),
        (buffers(&format!("name = \"x\"\nbytes = {over}")), 5, "buffers[0].bytes", "all together"),
        (buffers("name = \"x\"\nbytes = 99999999999999999999"), 5, "buffers[0].bytes", "out of range"),
        (buffers("name = \"x\"\nbytes = 4\nfill = 256"), 6, "buffers[0].fill", "0 to 255"),
        (buffers("name = \"x\"\nfile = \"x.bin\"\nfill = 1"), 6, "buffers[0].fill", "remove `fill`"),
        (buffers("name = \"x\"\nfile = \"x.bin\"\nbytes = 12"), 6, "buffers[0].bytes", "remove one"),
        (format!("{HEAD}{X}{X}{launch}"), 7, "buffers[1].name", "twice"),
        (launches("grid = [1, 1, 1]"), 3, "launches[0].kernel", "is missing"),
        (launches("kernel = \"k\"\ngrid = [1, 1]"), 5, "launches[0].grid", "three"),
        (launches("kernel = \"k\"\ngrid = [1, 1, -1]"), 5, "launches[0].grid[2]", "out of range"),
        (launches("kernel = \"k\"\ngrid = [1, 1.5, 1]"), 5, "launches[0].grid[1]", "is a float"),
        (format!("{HEAD}{LAUNCH}lds = 4294967296"), 7, "launches[0].lds", "out of range"),
        (format!("{HEAD}{LAUNCH}"), 3, "launches[0].args", "is missing"),
        (expect("file = \"x.bin\""), 11, "expect[0].dtype", "is missing"),
        (expect("file = \"k.co\""), 13, "expect[0].file", "compared whole"),
        (expect("file = \"x.bin\"\ndtype = \"f8\""), 14, "expect[0].dtype", "one of `bytes`"),
        (expect("file = \"x.bin\"\ndtype = \"f64\""), 14, "expect[0].dtype", "no whole number"),
        (expect(&format!("{whole}rtol = -1.0")), 15, "expect[0].rtol", "not negative"),
        (expect(&format!("{whole}atol = nan")), 15, "expect[0].atol", "not negative"),
        (expect("file = \"x.bin\"\ndtype = \"bytes\"\natol = 1"), 15, "expect[0].atol", "dtype u8"),
        (expect(&format!("{whole}tol = 1")), 15, "expect[0].tol", "unknown key"),
    ] {
        let error = folder.read(&text).expect_err(&text);
        let message = error.to_string();
        assert!(message.contains(&format!("s.launch.toml:{line}: `{key}`: ")), "{message}\n{text}");
        assert!(message.contains(words), "{message}\n{text}");
    }
}

#[test]
fn arguments_that_are_wrong() {
    let folder = Folder::new();
    for (text, words) in [
        ("{}", "one form"),
        ("{ i32 = 1, f32 = 1.0 }", "one form"),
        ("{ i32 = 1, offset = 0 }", "unknown key"),
        ("{ int = 1 }", "unknown key"),
        ("3", "write a table"),
        ("{ i8 = 128 }", "-128 to 127"),
        ("{ u32 = -1 }", "0 to 4294967295"),
        ("{ i32 = 1.0 }", "is a float; write an integer"),
        ("{ u64 = 18446744073709551616 }", "out of range"),
        ("{ f32 = 16777217 }", "no exact value in f32"),
        ("{ f64 = 9007199254740993 }", "no exact value in f64"),
        ("{ f16 = 2049 }", "no exact value in f16"),
        ("{ f16 = 1e6 }", "what f16 can hold"),
        ("{ f32 = \"1\" }", "write a number"),
        ("{ null = false }", "null = true"),
        ("{ null = 1 }", "write a boolean"),
        ("{ bytes = \"\" }", "no bytes"),
        ("{ bytes = \"abc\" }", "odd"),
        ("{ bytes = \"zz\" }", "hexadecimal"),
        ("{ bytes = [1] }", "write a string"),
        ("{ buffer = \"z\" }", "there is no buffer `z`; add it under [[buffers]], or use one of `x`"),
        ("{ buffer = \"x\", offset = 12 }", "past the end"),
        ("{ buffer = \"x\", offset = -1 }", "out of range"),
        ("{ buffer = \"x\", f32 = 1.0 }", "unknown key"),
    ] {
        let message = args(&folder, text).expect_err(text).to_string();
        assert!(message.contains("launches[0].args[0]") && message.contains(words), "{message}\n{text}");
    }
}

#[test]
fn files_that_are_no_scripts() {
    let folder = Folder::new();
    let message = folder.read("version = 1\nversion = 1\n").unwrap_err().to_string();
    assert!(message.contains("s.launch.toml:2:") && message.contains("duplicate"), "{message}");
    let missing = Script::read(folder.0.join("none.launch.toml")).unwrap_err();
    assert!(matches!(missing, ScriptError::Read { .. }), "{missing}");
    let message = Script::read(&folder.0).unwrap_err().to_string();
    assert!(message.contains("is a directory"), "{message}");
    fs::write(folder.0.join("b.launch.toml"), [0xff, 0xfe]).unwrap();
    let message = Script::read(folder.0.join("b.launch.toml")).unwrap_err().to_string();
    assert!(message.contains("no UTF-8"), "{message}");
    // The parser limits nesting before the stack overflows.
    let deep = format!("version = 1\nx = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(folder.read(&deep), Err(ScriptError::Toml { .. })));
}
