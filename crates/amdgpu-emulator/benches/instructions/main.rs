//! Measures each instruction of the instruction table on one thread, in million wave instructions per second:
//! `cargo bench -p amdgpu-emulator --bench instructions`.
//!
//! `... -- [--level portable|avx2|avx512] [--target gfx90a|gfx942|gfx950] [--exec HEX] [--mode HEX] [--ten] [TEXT...]`
//! measures the instructions whose names contain one of the texts, on the newest target that has them. The default
//! mode is HIP's: denormals are kept, and floats are rounded to the nearest. `--ten` prints only the ten slowest.
//!
//! An instruction is repeated in a loop. It reads registers that never change: finite floats near 1, random integers.
//! One that accesses memory does so in several patterns: at addresses beside each other, 4 bytes apart, scattered, and,
//! if it is an atomic, at one address for all lanes. After an instruction that writes EXEC, EXEC is set again, which is
//! measured too. Instructions that fault so are listed.

mod encode;

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use amdgpu_emulator::{Dispatch, Machine, MachineConfig, SimdLevel};
use amdgpu_exercise::assemble;
use amdgpu_isa::flags::MATRIX;
use amdgpu_isa::{Encoding, Row, Target, Ty};
use code_object::CodeObject;

use encode::{
    ADDRESS, BUFFER_AT, Case, DESCRIPTOR_AT, Pattern, SCALARS, SOURCES, cases, is_measured, stride,
};

/// The number of instructions in the loop.
const COPIES: usize = 48;
/// The shortest time of a launch in seconds, and the number of launches.
const LAUNCH: (f64, usize) = (5e-4, 9);
/// The size of the memory that instructions access in bytes, and the mask of scattered addresses in it.
const BUFFER: (u64, u32) = ((512 << 10) + 8192, 0x7_ffff);
/// The same for LDS.
const SHARED: (u32, u32) = (48 << 10, 0x7fff);
/// The mask of scattered addresses in private memory.
const PRIVATE: u32 = 0xef;
/// Scalar registers: the address of the contents of registers, and the number of rounds.
const CONTENTS_AT: u32 = 38;
const ROUNDS: u32 = 98;

/// A machine with memory.
struct Rig {
    machine: Machine,
    /// What instructions access.
    buffer: u64,
    /// The number of rounds, and from byte 256 on the contents of registers, each 64 dwords.
    contents: u64,
}

/// What the command line selects.
struct Selection {
    targets: Vec<Target>,
    exec: u64,
    mode: u32,
    only_ten: bool,
    texts: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config =
        MachineConfig { threads: 1, time_budget: Some(Duration::from_secs(10)), ..MachineConfig::default() };
    let selection = arguments(&mut config)?;
    let machine = Machine::new(config)?;
    let [buffer, contents] = [BUFFER.0, 64 << 10].map(|bytes| machine.memory().alloc(bytes, 0));
    let rig = Rig { buffer: buffer?, contents: contents?, machine };
    rig.machine.memory().fill(rig.buffer, &[0], BUFFER.0)?;
    println!("{:?}, one thread, million wave instructions/s", rig.machine.config().level);
    let (mut rates, mut faults, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for case in selection.targets.iter().flat_map(|target| of_target(*target, &mut seen)).collect::<Vec<_>>()
    {
        if !selection.texts.is_empty() && !selection.texts.iter().any(|text| case.name.contains(text)) {
            continue;
        }
        match rig.measure(&case, &selection) {
            Ok(rate) => rates.push((rate, case.name)),
            Err(error) => {
                let text = error.to_string();
                faults.push(format!("{}: {}", case.name, text.lines().next().unwrap_or_default()));
            }
        }
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let print =
        |rates: &[(f64, String)]| rates.iter().for_each(|(rate, name)| println!("{rate:9.2}  {name}"));
    if !selection.only_ten {
        print(&rates);
        faults.iter().for_each(|fault| println!("not measured: {fault}"));
        println!("the slowest:");
    }
    print(&rates[..rates.len().min(10)]);
    Ok(())
}

fn arguments(config: &mut MachineConfig) -> Result<Selection, Box<dyn Error>> {
    let mut targets = Target::GFX9.to_vec();
    targets.reverse();
    let mut selection = Selection { targets, exec: !0, mode: 0xf0, only_ten: false, texts: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--level" => {
                let name = value()?;
                let is_it = |level: &SimdLevel| format!("{level:?}").eq_ignore_ascii_case(&name);
                config.level = SimdLevel::ALL.into_iter().find(is_it).ok_or("no such level")?;
            }
            "--target" => {
                let name = value()?;
                selection.targets.retain(|target| format!("{target:?}").eq_ignore_ascii_case(&name));
            }
            "--exec" => selection.exec = u64::from_str_radix(&value()?, 16)?,
            "--mode" => selection.mode = u32::from_str_radix(&value()?, 16)?,
            "--ten" => selection.only_ten = true,
            // Cargo passes this argument.
            "--bench" => {}
            _ => selection.texts.push(arg),
        }
    }
    Ok(selection)
}

/// Returns the cases of the target's instructions that are not yet among those seen.
fn of_target(target: Target, seen: &mut BTreeSet<(&'static str, &'static str)>) -> Vec<Case> {
    let mut all = Vec::new();
    for encoding in Encoding::ALL {
        for row in encoding.rows().iter().filter(|row| row.opcode(target).is_some()) {
            if is_measured(encoding, row) && seen.insert((encoding.name(), row.name)) {
                all.extend(cases(encoding, row, target));
            }
        }
    }
    all
}

impl Rig {
    /// Returns the speed of an instruction in the fastest of several launches.
    fn measure(&self, case: &Case, selection: &Selection) -> Result<f64, Box<dyn Error>> {
        let (registers, images) = self.registers(case);
        let memory = self.machine.memory();
        memory.write(self.contents + 256, bytemuck::cast_slice(&images))?;
        let object = CodeObject::parse(&assemble(case.target, &self.code(case, &registers, selection)))?;
        let program = self.machine.load(&object)?;
        let dispatch = Dispatch {
            cooperative: false,
            kernel: 0,
            grid: [1, 1, 1],
            block: [64, 1, 1],
            dynamic_lds: SHARED.0,
            kernarg: &[],
        };
        let launch = |rounds: u32| -> Result<f64, Box<dyn Error>> {
            memory.write(self.contents, &rounds.to_le_bytes())?;
            let start = now();
            self.machine.dispatch(&program, &dispatch)?;
            Ok(now() - start)
        };
        let mut rounds = 8;
        let mut best = launch(rounds)?;
        while best < LAUNCH.0 / 2.0 && rounds < 1 << 20 {
            rounds = (f64::from(rounds) * (LAUNCH.0 / best).clamp(1.5, 16.0)) as u32;
            best = launch(rounds)?;
        }
        for _ in 1..LAUNCH.1 {
            best = best.min(launch(rounds)?);
        }
        Ok(f64::from(rounds) * COPIES as f64 / best / 1e6)
    }

    /// Returns the vector registers that the instruction reads, and their contents.
    fn registers(&self, case: &Case) -> (Vec<u32>, Vec<[u32; 64]>) {
        let (mut registers, mut images) = (Vec::new(), Vec::new());
        let mut random = 1_u64;
        for (slot, first) in SOURCES.into_iter().enumerate() {
            for n in 0..u32::from(case.row.src[slot].dwords()) {
                registers.push(first + n);
                images.push([0; 64].map(|_: u32| {
                    // splitmix64.
                    random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let z = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    content(case.row, slot, n, (z ^ z >> 27) as u32)
                }));
            }
        }
        if case.row.access().is_some() || case.encoding == Encoding::Ds {
            let offsets: [u32; 64] = std::array::from_fn(|lane| offset(case, lane as u32));
            let base = if case.encoding == Encoding::Flat { self.buffer } else { 0 };
            let addresses = offsets.map(|offset| base + u64::from(offset));
            registers.extend([ADDRESS, ADDRESS + 1]);
            images.extend([addresses.map(|at| at as u32), addresses.map(|at| (at >> 32) as u32)]);
        }
        (registers, images)
    }

    /// Returns the kernel's code, which loads registers and repeats the instruction.
    fn code(&self, case: &Case, registers: &[u32], selection: &Selection) -> Vec<u32> {
        // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), mode
        let mut code = vec![0xba00_3801, selection.mode];
        let mut set = |register: u32, value: u32| code.extend([0xbe80_00ff | register << 16, value]);
        // A raw buffer of four floats an element.
        let descriptor = [self.buffer as u32, (self.buffer >> 32) as u32, BUFFER.0 as u32, 0x0007_7fac];
        (DESCRIPTOR_AT..).zip(descriptor).for_each(|(register, word)| set(register, word));
        for (register, address) in [(BUFFER_AT, self.buffer), (CONTENTS_AT, self.contents)] {
            set(register, address as u32);
            set(register + 1, (address >> 32) as u32);
        }
        for register in SCALARS {
            set(register, 0x3f80_0000 + register);
            set(register + 1, 0x3ff0_0000 + register);
        }
        set(124, 0);
        // s_load_dword ROUNDS, s[CONTENTS_AT:], 0
        code.extend([0xc002_0000 | ROUNDS << 6 | CONTENTS_AT >> 1, 0]);
        // v1 = 4 * (the lane's number) + 256
        code.extend([0xd28c_0001, 0x0001_00c1, 0xd28d_0001, 0x0002_02c1, 0x2402_0282]);
        code.extend([0x6802_02ff, 256]);
        for (n, register) in (0..).zip(registers) {
            if n > 0 && n % 8 == 0 {
                // v_add_u32 v1, 2048, v1
                code.extend([0x6802_02ff, 2048]);
            }
            // global_load_dword
            let load = Encoding::Global.first_dword(Target::Gfx90a, 20, n % 8 * 256);
            code.extend([load, 1 | CONTENTS_AT << 16 | register << 24]);
        }
        for (register, value) in [(126, selection.exec as u32), (127, (selection.exec >> 32) as u32)] {
            code.extend([0xbe80_00ff | register << 16, value]);
        }
        let start = code.len();
        for _ in 0..COPIES {
            code.extend(&case.words);
        }
        // s_sub_u32 ROUNDS, ROUNDS, 1; s_cmp_lg_u32 ROUNDS, 0; s_cbranch_scc1 start
        code.extend([0x8080_8100 | ROUNDS << 16 | ROUNDS, 0xbf07_8000 | ROUNDS]);
        let back = start as i32 - (code.len() as i32 + 1);
        code.push(0xbf85_0000 | back as u32 & 0xffff);
        code
    }
}

/// Returns a dword of a source from random bits: finite and not denormal as a float.
fn content(row: &Row, slot: usize, dword: u32, bits: u32) -> u32 {
    let float = |ty| matches!(ty, Ty::F32 | Ty::F64 | Ty::P32);
    // The first source is positive. The exponent is from -3 to 2.
    let sign = if slot == 0 { 0 } else { bits & 0x8000_0000 };
    let wide =
        |bias: u32, shift: u32| (bias - 3 + bits % 6) << shift | (bits >> 7) & ((1 << shift) - 1) | sign;
    match row.src[slot] {
        Ty::F32 | Ty::P32 => wide(127, 23),
        Ty::F64 if dword == 1 => wide(1023, 20),
        Ty::F64 => bits,
        // An exponent or a class.
        Ty::B32 if float(row.dst) || slot > 0 && float(row.src[0]) => bits % 16,
        Ty::B32 | Ty::B64 if !row.is(MATRIX) => bits,
        Ty::I16 | Ty::P16I => bits,
        // Such a dword is finite and normal in each of the formats of 32, 16, 8, 6 and 4 bits.
        _ => 0x3c00_3c00 | bits & 0x033f_033f,
    }
}

/// Returns where a lane accesses memory, or the lane from which `ds_bpermute_b32` reads.
fn offset(case: &Case, lane: u32) -> u32 {
    let step = stride(case.row, case.pattern);
    let mask = match case.encoding {
        Encoding::Ds => SHARED.1,
        Encoding::Scratch => PRIVATE,
        _ => BUFFER.1,
    };
    match case.pattern {
        Pattern::Same => 0,
        Pattern::Scattered => {
            (lane.wrapping_mul(2_654_435_761) >> 12) & mask & !(step.next_power_of_two() - 1)
        }
        // Private memory is each lane's own.
        _ if case.encoding == Encoding::Scratch => 0,
        _ if case.row.access().is_none() => 4 * (lane ^ 21),
        _ => step * lane,
    }
}

/// Returns the CPU time of this thread in seconds on Linux, so that other processes don't matter; elsewhere that of a clock.
fn now() -> f64 {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_secs_f64()
    }
}
