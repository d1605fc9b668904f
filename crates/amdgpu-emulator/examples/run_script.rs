//! Runs launch scripts (`NAME.launch.toml`) on the emulator without hiplaunch, for work on the emulator itself.
//!
//! `run_script [--code-object FILE | --suffix .gfx90a.O0.co] [--threads N] [--level portable|avx2|avx512] [--sanitize]
//! [--hazards] [--late] SCRIPT...`

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use amdgpu_emulator::{Dispatch, Machine, MachineConfig, SimdLevel};
use code_object::CodeObject;
use toml::{Table, Value};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut config = MachineConfig::default();
    let (mut code_object, mut suffix, mut scripts) = (None, None, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--code-object" => code_object = args.next(),
            "--suffix" => suffix = args.next(),
            "--threads" => config.threads = args.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            "--sanitize" => config.sanitize = true,
            "--hazards" => config.hazards = true,
            "--late" => config.late_results = true,
            "--level" => {
                config.level = match args.next().as_deref() {
                    Some("portable") => SimdLevel::Portable,
                    Some("avx512") => SimdLevel::Avx512,
                    _ => SimdLevel::Avx2,
                }
            }
            _ => scripts.push(arg),
        }
    }
    let mut failed = 0;
    for script in &scripts {
        match run(Path::new(script), &config, code_object.as_deref(), suffix.as_deref()) {
            Ok(summary) => println!("ok   {script}: {summary}"),
            Err(e) => {
                failed += 1;
                println!("FAIL {script}: {e}");
            }
        }
    }
    println!("{} of {} passed", scripts.len() - failed, scripts.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn text<'a>(table: &'a Table, key: &str) -> Result<&'a str> {
    table.get(key).and_then(Value::as_str).ok_or_else(|| format!("no string `{key}`").into())
}

fn tables<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn run(
    path: &Path,
    config: &MachineConfig,
    code_object: Option<&str>,
    suffix: Option<&str>,
) -> Result<String> {
    let script: Table = fs::read_to_string(path)?.parse()?;
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = dir.join(text(&script, "code_object")?);
    if let Some(other) = code_object {
        file = other.into();
    }
    if let Some(suffix) = suffix {
        file = file.to_string_lossy().replace(".gfx90a.co", suffix).into();
    }
    let object = CodeObject::parse(&fs::read(&file)?)?;
    let machine = Machine::new(config.clone())?;
    let memory = machine.memory();
    let program = machine.load(&object)?;
    let mut buffers: Vec<(String, u64, usize)> = Vec::new();
    for b in tables(&script, "buffers") {
        let bytes = match b.get("file").and_then(Value::as_str) {
            Some(name) => fs::read(dir.join(name))?,
            None => {
                let size = b.get("bytes").and_then(Value::as_integer).unwrap_or(0) as usize;
                vec![b.get("fill").and_then(Value::as_integer).unwrap_or(0) as u8; size]
            }
        };
        let address = memory.alloc(bytes.len() as u64, 0)?;
        memory.write(address, &bytes)?;
        buffers.push((text(b, "name")?.into(), address, bytes.len()));
    }
    let find = |name: &str| buffers.iter().find(|b| b.0 == name).ok_or_else(|| format!("no buffer {name}"));
    let start = Instant::now();
    let mut instructions = 0;
    for l in tables(&script, "launches") {
        let name = text(l, "kernel")?;
        let kernel = program.kernel_index(name).ok_or_else(|| format!("no kernel {name}"))?;
        let dims = |key: &str| -> [u32; 3] {
            let mut out = [1; 3];
            let list = l.get(key).and_then(Value::as_array).into_iter().flatten();
            for (o, v) in out.iter_mut().zip(list) {
                *o = v.as_integer().unwrap_or(1) as u32;
            }
            out
        };
        let mut kernarg = Vec::new();
        let args: Vec<&Table> = tables(l, "args").collect();
        for (arg, signature) in args.iter().zip(program.kernels()[kernel].explicit_args()) {
            let bytes: Vec<u8> = if let Some(name) = arg.get("buffer").and_then(Value::as_str) {
                let offset = arg.get("offset").and_then(Value::as_integer).unwrap_or(0) as u64;
                (find(name)?.1 + offset).to_le_bytes().into()
            } else {
                immediate(arg)?
            };
            kernarg.resize(signature.offset as usize, 0);
            kernarg.extend(bytes);
        }
        let stats = machine.dispatch(
            &program,
            &Dispatch {
                cooperative: false,
                kernel,
                grid: dims("grid"),
                block: dims("block"),
                dynamic_lds: l.get("lds").and_then(Value::as_integer).unwrap_or(0) as u32,
                kernarg: &kernarg,
            },
        )?;
        instructions += stats.wave_instructions;
    }
    let seconds = start.elapsed().as_secs_f64();
    check(&script, dir, &machine, find)?;
    Ok(format!("{instructions} wave instructions, {:.1} M/s", instructions as f64 / seconds / 1e6))
}

/// Compares buffers with what the script expects; `find` returns a buffer's name, address and size.
fn check<'a>(
    script: &Table,
    dir: &Path,
    machine: &Machine,
    find: impl Fn(&str) -> std::result::Result<&'a (String, u64, usize), String>,
) -> Result<()> {
    for e in tables(script, "expect") {
        let (_, address, len) = find(text(e, "buffer")?)?;
        let mut got = vec![0; *len];
        machine.memory().read(*address, &mut got)?;
        let want = fs::read(dir.join(text(e, "file")?))?;
        let number = |key: &str| e.get(key).and_then(|v| v.as_float().or(v.as_integer().map(|i| i as f64)));
        compare(text(e, "dtype")?, &got, &want, number("rtol").unwrap_or(0.0), number("atol").unwrap_or(0.0))
            .map_err(|m| format!("{}: {m}", text(e, "buffer").unwrap_or("?")))?;
    }
    Ok(())
}

fn immediate(arg: &Table) -> Result<Vec<u8>> {
    let (kind, value) = arg.iter().next().ok_or("an empty argument")?;
    let float = value.as_float().or(value.as_integer().map(|i| i as f64)).unwrap_or(0.0);
    let int = value.as_integer().unwrap_or(0);
    Ok(match kind.as_str() {
        "i8" | "u8" => (int as u8).to_le_bytes().into(),
        "i16" | "u16" => (int as u16).to_le_bytes().into(),
        "i32" | "u32" => (int as u32).to_le_bytes().into(),
        "i64" | "u64" => int.to_le_bytes().into(),
        "f16" => half::f16::from_f64(float).to_le_bytes().into(),
        "bf16" => half::bf16::from_f64(float).to_le_bytes().into(),
        "f32" => (float as f32).to_le_bytes().into(),
        "f64" => float.to_le_bytes().into(),
        "null" => vec![0; 8],
        "bytes" => {
            let hex = value.as_str().unwrap_or("");
            (0..hex.len() / 2)
                .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16))
                .collect::<std::result::Result<_, _>>()?
        }
        _ => return Err(format!("argument kind {kind}").into()),
    })
}

fn compare(dtype: &str, got: &[u8], want: &[u8], rtol: f64, atol: f64) -> Result<()> {
    if got.len() != want.len() {
        return Err(format!("{} bytes, expected {}", got.len(), want.len()).into());
    }
    let size = match dtype {
        "u8" | "i8" | "bytes" => 1,
        "u16" | "i16" | "f16" | "bf16" => 2,
        "u32" | "i32" | "f32" => 4,
        _ => 8,
    };
    let value = |b: &[u8]| -> f64 {
        match dtype {
            "f16" => half::f16::from_le_bytes([b[0], b[1]]).to_f64(),
            "bf16" => half::bf16::from_le_bytes([b[0], b[1]]).to_f64(),
            "f32" => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            "f64" => f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            signed if signed.starts_with('i') => {
                let mut wide = [if b[b.len() - 1] >> 7 == 1 { 0xff } else { 0 }; 8];
                wide[..b.len()].copy_from_slice(b);
                i64::from_le_bytes(wide) as f64
            }
            _ => {
                let mut wide = [0; 8];
                wide[..b.len()].copy_from_slice(b);
                u64::from_le_bytes(wide) as f64
            }
        }
    };
    let float = dtype.starts_with('f') || dtype == "bf16";
    let mut bad = Vec::new();
    let mut count = 0;
    for (n, (g, w)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        let same = g == w
            || (float || atol + rtol > 0.0) && {
                let (g, w) = (value(g), value(w));
                g == w || g.is_nan() && w.is_nan() || (g - w).abs() <= atol + rtol * w.abs()
            };
        if !same {
            count += 1;
            if bad.len() < 4 {
                let show = |b: &[u8]| if float { format!("{:e}", value(b)) } else { format!("{b:02x?}") };
                bad.push(format!("[{n}] {} expected {}", show(g), show(w)));
            }
        }
    }
    if count == 0 {
        Ok(())
    } else {
        Err(format!("{count} of {} differ: {}", got.len() / size, bad.join(", ")).into())
    }
}
