//! Random programs of valid instructions from the instruction table, which several waves run with LDS, private memory
//! and barriers.
//!
//! The programs have device memory, and host memory between canaries; registers have addresses, offsets and random
//! values. The results must be the same at every SIMD level. An instruction that faults is replaced, so that the
//! following ones are executed.

use std::ptr::NonNull;

use amdgpu_emulator::{Dispatch, DispatchStats, Error, SimdLevel};
use amdgpu_isa::{Encoding, Instructions, Target};
use arbitrary::{Result, Unstructured};
use code_object::CodeObject;

use crate::template::{assemble, machine};

/// The size of each buffer in bytes.
const BUFFER: usize = 1024;
/// The number of bytes before and after the host's buffer, which must not change.
const MARGIN: usize = 4096;
/// The value of these bytes.
const CANARY: u8 = 0xa5;
/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;
/// The largest number of faulting instructions that are replaced.
const REPAIRS: usize = 20;
/// The largest number of instructions of a program.
const LENGTH: usize = 60;

/// A dispatch of random instructions.
struct Stream {
    target: Target,
    /// Whether two threads run it. Results may then differ because of races.
    concurrent: bool,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
    /// For each pair of registers: the first register, the value, and the buffer whose address is added to the value.
    scalars: Vec<(u32, u64, Option<usize>)>,
    vectors: Vec<(u32, u64, Option<usize>)>,
    exec: u64,
    m0: u32,
    body: Vec<u32>,
}

/// The outcome of a dispatch.
#[derive(Debug, PartialEq)]
struct Outcome {
    result: std::result::Result<DispatchStats, String>,
    buffers: [Vec<u8>; 2],
    /// The dword of the code at which the faulting instruction begins, and its number of dwords.
    fault: Option<(usize, usize)>,
}

/// Generates a program from the bytes and runs it. Returns whether it changed memory.
pub fn stream(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    // When the bytes are used up, zeros follow, so this doesn't fail.
    let Ok(mut stream) = Stream::arbitrary(&mut u) else { return false };
    let mut changed = false;
    // Has the same address in all runs, as programs may compute with it.
    let mut host = vec![CANARY; MARGIN + BUFFER + MARGIN];
    for _ in 0..REPAIRS {
        let outcome = stream.run(SimdLevel::best(), &mut host);
        if !stream.concurrent {
            for level in
                SimdLevel::ALL.into_iter().filter(|level| level.is_available() && *level != SimdLevel::best())
            {
                stream.compare(level, &stream.run(level, &mut host), &outcome);
            }
        }
        changed |= outcome.buffers.iter().any(|buffer| *buffer != content());
        let Some((at, len)) = outcome.fault else { break };
        let Some(words) = stream.body.get_mut(at..at + len) else { break };
        words.fill(NOP);
    }
    changed
}

/// Returns the initial contents of the buffers.
fn content() -> Vec<u8> {
    (0..BUFFER).map(|n| (n * 7 / 4) as u8).collect()
}

impl Stream {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Stream> {
        let target = *u.choose(&Target::GFX9)?;
        let block = *u.choose(&[[64, 1, 1], [65, 1, 1], [8, 4, 2], [200, 1, 1], [1, 1, 1]])?;
        let mut stream = Stream {
            target,
            concurrent: u.ratio(1, 16)?,
            grid: *u.choose(&[[1, 1, 1], [2, 1, 1], [2, 2, 1]])?,
            block,
            dynamic_lds: u.int_in_range(0..=600)?,
            scalars: Vec::new(),
            vectors: Vec::new(),
            exec: if u.ratio(3, 4)? { !0 } else { u.arbitrary()? },
            m0: if u.ratio(1, 2)? { !0 } else { u.arbitrary()? },
            body: Vec::new(),
        };
        for n in 0..8 {
            // s[16:19] and s[20:23] are buffer descriptors (see `prologue`).
            stream.scalars.push((24 + 2 * n, value(u)?, u.choose(&[None, Some(0), Some(1)]).copied()?));
            stream.vectors.push((2 + 2 * n, value(u)?, u.choose(&[None, Some(0), Some(1)]).copied()?));
        }
        for _ in 0..u.int_in_range(1..=LENGTH)? {
            instruction(u, target, &mut stream.body)?;
        }
        Ok(stream)
    }

    /// Panics with the program unless both outcomes are the same.
    fn compare(&self, level: SimdLevel, narrow: &Outcome, wide: &Outcome) {
        if narrow == wide {
            return;
        }
        let differ = |n: usize| (0..BUFFER).find(|at| narrow.buffers[n][*at] != wide.buffers[n][*at]);
        let code: Vec<u8> = self.body.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program: Vec<String> =
            Instructions::new(self.target, &code, 0).map(|instruction| instruction.to_string()).collect();
        panic!(
            "{level:?} differs from the widest: {:?} and {:?}, first bytes {:?}, exec {:#x}, of\n{}",
            narrow.result,
            wide.result,
            [differ(0), differ(1)],
            self.exec,
            program.join("\n")
        );
    }

    /// Returns the code that sets the registers.
    fn prologue(&self, buffers: [u64; 2]) -> Vec<u32> {
        let mut code = Vec::new();
        let mut scalar = |register: u32, value: u32| code.extend([0xbe80_00ff | register << 16, value]);
        for (n, base) in (0..).zip(buffers) {
            // A raw buffer: stride 0, size in bytes, data format of 32 bits.
            let descriptor = [base as u32, (base >> 32) as u32, BUFFER as u32, 0x0002_7000];
            (16 + 4 * n..).zip(descriptor).for_each(|(register, word)| scalar(register, word));
        }
        for (register, value, buffer) in &self.scalars {
            let value = value.wrapping_add(buffer.map_or(0, |n| buffers[n]));
            scalar(*register, value as u32);
            scalar(register + 1, (value >> 32) as u32);
        }
        // v1 = 4 * (the lane's number); then each pair is a value plus that, or twice that.
        scalar(124, self.m0);
        code.extend([0xd28c_0001, 0x0001_00c1, 0xd28d_0001, 0x0002_02c1, 0x2402_0282]);
        for (register, value, buffer) in &self.vectors {
            let value = value.wrapping_add(buffer.map_or(0, |n| buffers[n]));
            // v_add_u32_e32 vN, literal, v1; v_mov_b32_e32 vN+1, literal.
            code.extend([0x6800_02ff | register << 17, value as u32]);
            code.extend([0x7e00_02ff | (register + 1) << 17, (value >> 32) as u32]);
        }
        for (register, value) in [(126, self.exec as u32), (127, (self.exec >> 32) as u32)] {
            code.extend([0xbe80_00ff | register << 16, value]);
        }
        code
    }

    fn run(&self, level: SimdLevel, host: &mut [u8]) -> Outcome {
        let content = content();
        host[MARGIN..MARGIN + BUFFER].copy_from_slice(&content);
        let machine = machine(level, 1 + usize::from(self.concurrent));
        let memory = machine.memory();
        let device = memory.alloc(BUFFER as u64, 0).expect("memory");
        memory.write(device, &content).expect("its buffer");
        let from = NonNull::new(host.as_mut_ptr()).expect("not null");
        // SAFETY: `from` points to the margin, the buffer and another margin.
        let start = unsafe { from.add(MARGIN) };
        // SAFETY: the buffer outlives the machine, and nothing else uses it until it is unmapped.
        let mapped = unsafe { memory.map_host(start, BUFFER as u64) }.expect("the host's buffer");

        let mut code = self.prologue([mapped, device]);
        let body = code.len();
        code.extend(&self.body);
        let object = CodeObject::parse(&assemble(self.target, &code)).expect("the template");
        let mut fault = None;
        let result = machine.load(&object).and_then(|program| {
            let kernarg = [mapped.to_le_bytes(), device.to_le_bytes(), 7u64.to_le_bytes()];
            let dispatch = Dispatch {
                cooperative: false,
                kernel: 0,
                grid: self.grid,
                block: self.block,
                dynamic_lds: self.dynamic_lds,
                kernarg: kernarg.as_flattened(),
            };
            let result = machine.dispatch(&program, &dispatch);
            if let Err(Error::Fault(report)) = &result {
                let entry = program.kernels()[0].descriptor.entry;
                let at = (report.pc.wrapping_sub(entry) / 4) as usize;
                let len = if report.raw[1] == 0 { 1 } else { 2 };
                fault = at.checked_sub(body).map(|at| (at, len));
            }
            result
        });
        if let Err(Error::Incomplete { .. }) = result {
            panic!("{result:?}");
        }
        let mut buffers = [vec![0; BUFFER], vec![0; BUFFER]];
        memory.read(mapped, &mut buffers[0]).expect("the host's buffer");
        memory.read(device, &mut buffers[1]).expect("its buffer");
        memory.unmap_host(mapped).expect("mapped");
        drop(machine);
        let margins = host[..MARGIN].iter().chain(&host[MARGIN + BUFFER..]);
        assert!(margins.copied().all(|byte| byte == CANARY), "memory outside of the device was written");
        let result = result.map_err(|error| error.to_string());
        Outcome { result, buffers, fault }
    }
}

/// Returns an offset or a random value.
fn value(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=7u8)? {
        0..=3 => u.int_in_range(0..=BUFFER as u64 - 256)? & !7,
        4 => u.int_in_range(0..=BUFFER as u64 + 16)?,
        5 => 0x3c00_3f80_3f80_0000 ^ u.int_in_range(0..=7)?,
        6 => u64::MAX - u.int_in_range(0..=300)?,
        _ => u.arbitrary()?,
    })
}

/// Appends a valid instruction, mostly with operands that have been set.
fn instruction(u: &mut Unstructured<'_>, target: Target, code: &mut Vec<u32>) -> Result<()> {
    let encoding = *u.choose(&Encoding::ALL)?;
    let opcodes: Vec<(u16, &str)> = encoding.opcodes(target).collect();
    if opcodes.is_empty() {
        return Ok(());
    }
    let (op, name) = *u.choose(&opcodes)?;
    let op = u32::from(op);
    // The host's clock differs from run to run.
    if name == "s_memrealtime" {
        return Ok(());
    }
    // Instructions that end the program, or for which a code object is rejected, are rare.
    if (name.starts_with("s_endpgm") || encoding == Encoding::Mimg) && !u.ratio(1, 16)? {
        return Ok(());
    }
    let (mut low, mut high): (u32, u32) = u.arbitrary()?;
    let plain = u.ratio(7, 8)?;
    // Even registers from v2 and s24 on hold values.
    let vector = |bits: u32| 2 + bits % 17;
    let scalar = |bits: u32| 24 + bits % 8 * 2;
    if plain {
        match encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => low &= 0x003f_3f3f,
            Encoding::Sopk => low &= 0x003f_ffff,
            // Short jumps forwards and backwards; few values of other immediates.
            Encoding::Sopp => low = u32::from((low % 16) as u16).wrapping_sub(4) & 0xffff,
            Encoding::Smem => {
                low = 0x0002_0000 | low & 0x1_0000 | (low & 0x38) << 6 | scalar(low) >> 1;
                high &= 0x0000_01fc;
            }
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => {
                low = low & 0x0006_0100 | vector(low) << 17 | vector(low >> 8) << 9 | vector(low >> 16);
                low |= 0x100;
            }
            // Modifiers are rare.
            Encoding::Vop3 | Encoding::Vop3p => {
                low &= if low & 7 == 0 { 0x0000_ff3f } else { 0x0000_003f };
                high &= if low & 7 == 0 { 0xffff_ffff } else { 0x07ff_ffff };
                high &= 0xfe7f_3f9f;
            }
            Encoding::Ds => {
                low &= 0x0000_01f8;
                high = vector(high)
                    | vector(high >> 8) << 8
                    | vector(high >> 16) << 16
                    | vector(high >> 24) << 24;
            }
            Encoding::Flat | Encoding::Global | Encoding::Scratch => {
                low &= 0x0001_00fc;
                let base = if high & 3 == 0 { scalar(high >> 16) } else { 0x7f };
                high = (vector(high) & !1) | vector(high >> 8) << 8 | base << 16 | vector(high >> 24) << 24;
            }
            Encoding::Mubuf | Encoding::Mtbuf => {
                low &= 0x03f8_70fc;
                let resource = 4 + (high >> 16 & 1);
                high = vector(high) | vector(high >> 8) << 8 | resource << 16 | 128 << 24;
            }
            Encoding::Mimg | Encoding::Vopd => {}
        }
    }
    code.push(encoding.first_dword(target, op, low));
    let long = !matches!(
        encoding,
        Encoding::Sop1
            | Encoding::Sop2
            | Encoding::Sopc
            | Encoding::Sopk
            | Encoding::Sopp
            | Encoding::Vop1
            | Encoding::Vop2
            | Encoding::Vopc
    );
    // Short encodings may have a literal, SDWA or DPP.
    if long || !plain {
        code.push(high);
    }
    Ok(())
}
