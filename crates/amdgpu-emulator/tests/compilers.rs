//! Tests of kernels that were not compiled from HIP: OpenCL, Triton, hand-written LLVM IR, code for a family of
//! processors (tests/data/compilers, where build.sh builds them).

mod common;

use std::sync::{Arc, Mutex};

use amdgpu_emulator::{Dispatch, Machine, MachineConfig, Printer, PrintfStream};
use code_object::CodeObject;
use common::{Arg, Rig, U32, U64, threads};

const OPENCL: &[u8] = include_bytes!("data/compilers/opencl.gfx90a.co");
const BUFFERED: &[u8] = include_bytes!("data/compilers/buffered.gfx942.co");
const GENERIC: &[u8] = include_bytes!("data/compilers/generic.co");
const TRITON: [(&str, &[u8]); 2] = [
    ("gfx942 -O3", include_bytes!("data/compilers/triton.gfx942.co")),
    ("gfx90a -O0", include_bytes!("data/compilers/triton.gfx90a.O0.co")),
];
const TRITON_GRID: [(&str, &[u8]); 2] = [
    ("gfx942 -O3", include_bytes!("data/compilers/triton_grid.gfx942.co")),
    ("gfx90a -O0", include_bytes!("data/compilers/triton_grid.gfx90a.O0.co")),
];
const WAVE: [(&str, &[u8]); 2] = [
    ("gfx90a, LLVM 15, -O2", include_bytes!("data/compilers/wave.gfx90a.co")),
    ("gfx942, LLVM 22, GlobalISel -O0", include_bytes!("data/compilers/wave.gfx942.co")),
];
const SCALED: &[u8] = include_bytes!("data/compilers/scaled.gfx950.co");
const UNREACHABLE: &[u8] = include_bytes!("data/compilers/unreachable.gfx942.co");
const BYTES: &[u8] = include_bytes!("data/compilers/bytes.gfx90a.co");

fn rig_of(config: MachineConfig, name: &'static str, object: &[u8]) -> Rig {
    let machine = Machine::new(config).unwrap();
    let program = machine.load(&CodeObject::parse(object).unwrap()).unwrap();
    Rig { machine, program, name }
}

/// Products of fp8 and fp4 with scales, as compilers encode them. The matrices are filled by row and column.
#[test]
fn scaled_matrices() {
    // E4M3 with exponents near 1, and E2M1.
    let fp8 = |row: usize, k: usize| ((row * 37 + k * 11) % 24 + 0x2c) as u8 | ((row ^ k) as u8 & 1) << 7;
    let fp4 = |k: usize, column: usize| ((column * 5 + k * 3) % 16) as u8;
    let scale = |n: usize, block: usize| (125 + (n + block) % 5) as u32;
    let e4m3 = |code: u8| {
        let size = f64::from(8 + (code & 7)) * 2f64.powi(i32::from(code >> 3 & 15) - 10);
        if code >> 7 != 0 { -size } else { size }
    };
    let e2m1 = |code: u8| {
        let size = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)];
        if code >> 3 != 0 { -size } else { size }
    };
    let [mut a, mut b] = [(); 2].map(|()| vec![0u32; 64 * 8]);
    let [mut a_scale, mut b_scale] = [(); 2].map(|()| vec![0xffff_ffffu32; 64]);
    for n in 0..16 {
        for k in 0..128 {
            // Bytes are in runs of 16, nibbles in runs of 32.
            let (byte, lane) = (k / 64 * 16 + k % 16, k / 16 % 4 * 16 + n);
            a[lane * 8 + byte / 4] |= u32::from(fp8(n, k)) << (8 * (byte % 4));
            let (nibble, lane) = (k % 32, k / 32 * 16 + n);
            b[lane * 8 + nibble / 8] |= u32::from(fp4(k, n)) << (4 * (nibble % 8));
        }
        for block in 0..4 {
            a_scale[block * 16 + n] = 0xff00_ffff | scale(n, block) << 16;
            b_scale[block * 16 + n] = 0xffff_00ff | scale(n + 3, block) << 8;
        }
    }
    let rig = rig_of(threads(1), "scaled", SCALED);
    let d = rig.words(&[0; 256]);
    let args = [a, b, a_scale, b_scale].map(|words| U64(rig.words(&words)));
    let [a, b, a_scale, b_scale] = args;
    rig.run("scaled", 1, 64, &[a, b, a_scale, b_scale, U64(d)]);
    let d = rig.read(d, 256);
    for row in 0..16 {
        for column in 0..16 {
            let products = (0..128).map(|k| {
                let scales = (scale(row, k / 32) + scale(column + 3, k / 32)) as i32 - 254;
                e4m3(fp8(row, k)) * e2m1(fp4(k, column)) * 2f64.powi(scales)
            });
            let want = 2.0 * products.sum::<f64>();
            let got = f32::from_bits(d[(row / 4 * 16 + column) * 4 + row % 4]);
            assert!((f64::from(got) - want).abs() < 1e-3, "({row}, {column}): {got}, not {want}");
        }
    }
}

/// A kernel without code doesn't affect other kernels, even if its address is after the last instruction.
#[test]
fn kernels_without_code() {
    let rig = rig_of(threads(1), "unreachable", UNREACHABLE);
    let out = rig.words(&[0]);
    rig.run("some", 1, 1, &[U64(out)]);
    assert_eq!(rig.read(out, 1), [7]);
    let dispatch = Dispatch {
        cooperative: false,
        kernel: rig.program.kernel_index("none").unwrap(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_lds: 0,
        kernarg: &out.to_le_bytes(),
    };
    let error = rig.machine.dispatch(&rig.program, &dispatch).unwrap_err().to_string();
    assert!(error.contains("no instruction starts at its entry, 0x2400"), "{error}");
}

/// Returns the text that a kernel prints, and the streams.
fn printed(
    object: &[u8],
    kernel: &str,
    grid: u32,
    block: u32,
    args: impl Fn(&Rig) -> Vec<Arg>,
) -> Vec<(PrintfStream, String)> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let mut config = threads(2);
    config.printer = Printer::new(move |stream, text| {
        sink.lock().unwrap().push((stream, String::from_utf8_lossy(text).into_owned()));
    });
    let rig = rig_of(config, "printing", object);
    rig.run(kernel, grid, block, &args(&rig));
    std::mem::take(&mut *lines.lock().unwrap())
}

#[test]
fn opencl_printf() {
    let lines = printed(OPENCL, "print", 3, 70, |_| vec![U32(5)]);
    let text = "item:5 \"a:b\"  7.50 1,-2,3,5 a,14,1e 0x104 42949672960 1.250000,-2.500000\n";
    assert_eq!(lines.len(), 2 * 210);
    assert_eq!(lines.iter().filter(|(_, line)| line == text).count(), 210);
    assert_eq!(lines.iter().filter(|(_, line)| line == "no arguments, 100%\n").count(), 210);
    assert!(lines.iter().all(|(stream, _)| *stream == PrintfStream::Stdout));
}

/// If the buffer is full, later records are dropped, and no others.
#[test]
fn a_full_printf_buffer_drops_records() {
    let lines = printed(OPENCL, "print", 300, 256, |_| vec![U32(5)]);
    // Records have 68 or 4 bytes. The first record that doesn't fit is the last one.
    let long = lines.iter().filter(|(_, line)| line.starts_with("item:5 ")).count();
    let bytes = 4 * lines.len() + 64 * long;
    assert!(((4 << 20) - 8 - 68..=(4 << 20) - 8).contains(&bytes), "{bytes} of {} records", lines.len());
}

#[test]
fn hip_printf_with_a_buffer() {
    let lines = printed(BUFFERED, "print", 1, 1, |rig| {
        let mut format = b"my format %d\n\0".to_vec();
        format.resize(16, 0);
        let words: Vec<u32> = format.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        vec![U32(5), U64(rig.words(&words))]
    });
    let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(lines, ["5 odd 2.500 5497558138880 x|\n", "plain\n", "my format 5\n"]);
}

/// Local arrays as arguments are offsets in dynamic LDS.
#[test]
fn opencl_local_arguments() {
    let rig = rig_of(threads(1), "opencl", OPENCL);
    let (count, items) = (180u32, 256u32);
    let data: Vec<u32> = (0..items).map(|i| i * i % 1000).collect();
    let (input, out) = (rig.words(&data), rig.words(&[7; 256]));
    let args = [U64(input), U32(0), U64(out), U32(256), U32(count)];
    rig.launch("reverse", [4, 1, 1], [64, 1, 1], 256 + 64 * 16, &args).unwrap();
    let expected: Vec<u32> = (0..items)
        .map(|i| {
            let from = i / 64 * 64 + 63 - i % 64;
            let value = if from < count { data[from as usize] } else { 0 };
            if i < count { value + 3 + 1 } else { 7 }
        })
        .collect();
    assert_eq!(rig.read(out, 256), expected);
}

#[test]
fn generic_target_runs_as_gfx942() {
    let rig = rig_of(threads(1), "gfx9-4-generic", GENERIC);
    let out = rig.words(&[7; 128]);
    rig.run("mixed", 2, 64, &[U64(out), U32(100)]);
    let expected: Vec<u32> = (0..128)
        .map(|i| {
            // k * i is at index (3 * k + i) % 8, so index s has k = 3 * (s - i) % 8.
            let slot = |s: u32| (3 * (s + 128 - i) % 8) * i;
            let call = if i % 2 == 0 { i + 1 } else { 2 * i };
            if i < 100 { 3 + 3 * i + call + slot(i) + slot(i + 3) } else { 7 }
        })
        .collect();
    assert_eq!(rig.read(out, 128), expected);
}

#[test]
fn triton_softmax() {
    const ROWS: usize = 5;
    const COLUMNS: usize = 200;
    let value = |row: usize, column: usize| ((row * 37 + column * 101) % 64) as f32 / 8.0 - 4.0;
    for (name, object) in TRITON {
        let rig = rig_of(threads(2), name, object);
        let cells: Vec<u32> = (0..ROWS * 256).map(|n| value(n / 256, n % 256).to_bits()).collect();
        let (input, out) = (rig.words(&cells), rig.words(&[0x5a5a_5a5a; ROWS * 260]));
        let args = [U64(out), U64(input), U32(256), U32(260), U32(COLUMNS as u32), U64(0), U64(0)];
        rig.launch("softmax_kernel_0d1d2d34", [ROWS as u32, 1, 1], [256, 1, 1], 16, &args).unwrap();
        let got = rig.read(out, ROWS * 260);
        for row in 0..ROWS {
            let sum: f64 = (0..COLUMNS).map(|c| f64::from(value(row, c)).exp()).sum();
            for column in 0..260 {
                let got = got[row * 260 + column];
                if column >= COLUMNS {
                    assert_eq!(got, 0x5a5a_5a5a, "{name}: {row}, {column}");
                    continue;
                }
                let want = f64::from(value(row, column)).exp() / sum;
                let error = (f64::from(f32::from_bits(got)) - want).abs() / want;
                assert!(error < 2e-6, "{name}: {row}, {column}: {error}");
            }
        }
    }
}

#[test]
fn triton_matmul() {
    const M: usize = 48;
    const N: usize = 32;
    const K: usize = 64;
    // Multiples of 1/16, for which sums of products are exact.
    let a = |m: usize, k: usize| (m * 7 + k * 3) as i32 % 31 - 15;
    let b = |n: usize, k: usize| (n * 5 + k * 11) as i32 % 29 - 14;
    let halves = |rows: usize, f: &dyn Fn(usize, usize) -> i32| -> Vec<u32> {
        let half = |row, k| u32::from(half::f16::from_f32(f(row, k) as f32 / 16.0).to_bits());
        (0..rows * K / 2)
            .map(|n| (n * 2 / K, n * 2 % K))
            .map(|(row, k)| half(row, k) | half(row, k + 1) << 16)
            .collect()
    };
    for (name, object) in TRITON {
        let rig = rig_of(threads(2), name, object);
        let (left, right) = (rig.words(&halves(M, &a)), rig.words(&halves(N, &b)));
        let out = rig.words(&[0; M * N]);
        let args = [U64(left), U64(right), U64(out), U32(2 * K as u32), U32(N as u32)];
        rig.launch("matmul_kernel", [M as u32 / 16, N as u32 / 16, 1], [64, 1, 1], 2048, &args).unwrap();
        let expected: Vec<u32> = (0..M * N)
            .map(|cell| (0..K).map(|k| a(cell / N, k) * b(cell % N, k)).sum::<i32>())
            .map(|sum| (sum as f32 / 256.0).to_bits())
            .collect();
        assert_eq!(rig.read(out, M * N), expected, "{name}");
    }
}

/// Runs a kernel of wave.ll on 64 numbers, and returns its two buffers.
fn wave(name: &'static str, object: &[u8], kernel: &str, input: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let rig = rig_of(threads(1), name, object);
    let (data, out) = (rig.words(input), rig.words(&[0x5a5a_5a5a; 64]));
    rig.run(kernel, 1, 64, &[U64(data), U64(out)]);
    (rig.read(data, 64), rig.read(out, 64))
}

fn numbers() -> Vec<u32> {
    (1..=64u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 7).collect()
}

#[test]
fn whole_wave_mode() {
    let input = numbers();
    let mut sum = 0u32;
    let expected: Vec<u32> = input
        .iter()
        .map(|x| {
            sum = sum.wrapping_add(if x % 2 == 1 { *x } else { 7 });
            if x % 2 == 1 { sum } else { u32::MAX }
        })
        .collect();
    for (name, object) in WAVE {
        assert_eq!(wave(name, object, "whole_wave", &input).1, expected, "{name}");
    }
}

#[test]
fn divergent_calls_and_recursion() {
    let input = numbers();
    let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13];
    let expected: Vec<u32> = input
        .iter()
        .map(|&x| {
            let y = match x % 4 {
                0 => x.wrapping_add(1),
                1 => x.wrapping_mul(3),
                2 => x ^ 85,
                _ => x >> 3,
            };
            y.wrapping_add(fibonacci[x as usize % 8])
        })
        .collect();
    for (name, object) in WAVE {
        assert_eq!(wave(name, object, "calls", &input).1, expected, "{name}");
    }
}

#[test]
fn buffer_accesses_past_the_end_are_dropped() {
    for (name, object) in WAVE {
        let (loaded, stored) = wave(name, object, "buffer", &numbers());
        let stores: Vec<u32> = (0..64).map(|n| if n < 32 { n } else { 0x5a5a_5a5a }).collect();
        let loads: Vec<u32> = (0..64).map(|n| if n < 31 { n + 1 } else { 0 }).collect();
        assert_eq!((loaded, stored), (loads, stores), "{name}");
    }
}

#[test]
fn atomics_of_all_kinds_update_memory() {
    let input = numbers();
    let negative = input.iter().filter(|x| **x >> 31 == 1).count() as u32;
    for (name, object) in WAVE {
        let out = wave(name, object, "cells", &input).1;
        let bytes: Vec<u8> = out[..16].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, (0..64).collect::<Vec<u8>>(), "{name}");
        // Lanes with positive numbers add the count to a word of 0x5a5a5a5a, the others to the counter, which is the
        // count.
        assert_eq!(out[16], 0x5a5a_5a5a + negative * (64 - negative), "{name}");
        assert_eq!(out[17], negative + negative * negative, "{name}");
        assert!(out[18..].iter().all(|word| *word == 0x5a5a_5a5a), "{name}");
    }
}

/// Loops of dword loads and `cmpswap` may access the last bytes of LDS and of a buffer, whose lengths are not multiples
/// of 4.
#[test]
fn atomics_on_the_last_byte_and_half() {
    let rig = rig_of(threads(2), "bytes", BYTES);
    let memory = rig.machine.memory();
    let (out, halves) = (memory.alloc(70, 0).unwrap(), memory.alloc(6, 0).unwrap());
    memory.write(halves, &[1, 0, 2, 0, 3, 0]).unwrap();
    rig.run("bytes_and_halves", 2, 70, &[U64(out), U64(halves)]);
    let (mut bytes, mut words) = ([0; 70], [0; 6]);
    memory.read(out, &mut bytes).unwrap();
    memory.read(halves, &mut words).unwrap();
    assert_eq!(bytes, [210; 70]);
    assert_eq!(words, [1, 0, 2, 0, (3 + 700 - 512) as u8, 2]);
}

/// Each of four steps adds the two neighbours of every element in a ring, which a workgroup's neighbours write.
#[test]
fn a_grid_barrier_of_triton() {
    const N: usize = 700;
    const STEPS: u32 = 4;
    let mut expected: Vec<u32> = (0..N as u32).map(|n| n * n % 17).collect();
    let start = expected.clone();
    for _ in 0..STEPS {
        expected = (0..N).map(|i| expected[(i + N - 1) % N].wrapping_add(expected[(i + 1) % N])).collect();
    }
    for (name, object) in TRITON_GRID {
        for threads in [threads(1), threads(2)] {
            let rig = rig_of(threads, name, object);
            let (a, b, barrier) = (rig.words(&start), rig.words(&[0; N]), rig.words(&[0]));
            let args = [U64(a), U64(b), U64(barrier), U32(N as u32), U32(STEPS), U64(0), U64(0)];
            let groups = N.div_ceil(128) as u32;
            rig.run_cooperative("grid_stencil", groups, 128, 4, &args);
            assert_eq!(rig.read(a, N), expected, "{name}");
            assert_eq!(rig.read(barrier, 1), [groups * STEPS], "{name}");
        }
    }
}
