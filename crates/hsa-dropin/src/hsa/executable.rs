//! Code: readers of code objects, executables that load them for agents, and their symbols.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::{Arc, PoisonError, RwLock};

use amdgpu_emulator::LoadedProgram;
use code_object::{CodeObject, KernelSignature};
use handle_table::{Owner, Table};

use super::agent::{Agent, NEAR};
use super::devices::Devices;
use super::runtime::machine;
use super::status::Status;
use super::value::{Place, Value};
use super::{Data, iterate};
use crate::abi::{Array, Ignored, Out, Text};

/// A `hsa_code_object_reader_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Reader(u64);

/// A `hsa_executable_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Executable(pub(super) u64);

/// A `hsa_loaded_code_object_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Loaded(pub(super) u64);

/// A `hsa_executable_symbol_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Symbol(u64);

pub(crate) type SymbolCallback = Option<unsafe extern "C" fn(Executable, Symbol, Data) -> Status>;
pub(crate) type AgentSymbolCallback = Option<unsafe extern "C" fn(Executable, Agent, Symbol, Data) -> Status>;

/// An executable.
struct Contents {
    profile: u32,
    rounding: u32,
    is_frozen: bool,
    loaded: Vec<Loaded>,
    /// Name, agent and handle of each symbol.
    symbols: Vec<(Box<str>, Agent, Symbol)>,
}

/// A code object that an executable has loaded.
pub(super) struct LoadedObject {
    pub(super) executable: Executable,
    pub(super) agent: Agent,
    pub(super) code: Arc<[u8]>,
    pub(super) program: LoadedProgram,
}

/// A symbol: a kernel, or a variable of a device.
struct SymbolInfo {
    agent: Agent,
    name: Box<str>,
    what: What,
}

enum What {
    Kernel { object: u64, signature: Box<KernelSignature> },
    Variable { address: u64, bytes: u64 },
}

static READERS: Table<Arc<[u8]>> = Table::new(1);
static EXECUTABLES: Table<Contents> = Table::new(2);
pub(super) static LOADED: Table<LoadedObject> = Table::new(3);
static SYMBOLS: Table<SymbolInfo> = Table::new(4);

/// Where a kernel is that a packet names: by its agent and the address of its descriptor.
type Kernels = HashMap<(u64, u64), (LoadedProgram, usize)>;
static KERNELS: RwLock<Option<Kernels>> = RwLock::new(None);

/// The kernel of an agent with a descriptor at an address.
pub(super) fn kernel(agent: Agent, object: u64) -> Option<(LoadedProgram, usize)> {
    let kernels = KERNELS.read().unwrap_or_else(PoisonError::into_inner);
    kernels.as_ref()?.get(&(agent.0, object)).cloned()
}

fn kernels<T>(change: impl FnOnce(&mut Kernels) -> T) -> T {
    change(KERNELS.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl LoadedObject {
    /// The addresses at which agents have it.
    pub(super) fn addresses(&self) -> Range<u64> {
        self.program.addresses()
    }
}

/// The code objects of all executables.
pub(super) fn all_loaded() -> Vec<Loaded> {
    LOADED_HANDLES.read().unwrap_or_else(PoisonError::into_inner).clone()
}

static LOADED_HANDLES: RwLock<Vec<Loaded>> = RwLock::new(Vec::new());

fn new_reader(code: Arc<[u8]>, reader: Out<Reader>) -> Result<(), Status> {
    if reader.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    reader.set(Reader(READERS.insert(Owner::NONE, code).map_err(|_| Status::OUT_OF_RESOURCES)?))
}

/// The bytes are copied.
pub(crate) fn hsa_code_object_reader_create_from_memory(
    code: Array<u8>,
    bytes: usize,
    reader: Out<Reader>,
) -> Result<(), Status> {
    machine()?;
    if bytes == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    new_reader(code.get::<Status>(bytes)?.into(), reader)
}

/// Reads all of a file that the program has opened, which stays open.
fn read(file: RawFd, from: u64, bytes: Option<u64>) -> Result<Arc<[u8]>, Status> {
    if file < 0 {
        return Err(Status::INVALID_FILE);
    }
    // SAFETY: the program's file, which it keeps open during the call; it is not closed here.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    let mut code = Vec::new();
    let read = file.stream_position().and_then(|before| {
        file.seek(SeekFrom::Start(from))?;
        (&mut *file).take(bytes.unwrap_or(u64::MAX)).read_to_end(&mut code)?;
        file.seek(SeekFrom::Start(before))
    });
    match read {
        Ok(_) if !code.is_empty() => Ok(code.into()),
        _ => Err(Status::INVALID_FILE),
    }
}

pub(crate) fn hsa_code_object_reader_create_from_file(file: i32, reader: Out<Reader>) -> Result<(), Status> {
    machine()?;
    new_reader(read(file, 0, None)?, reader)
}

/// A part of a file.
pub(super) fn reader_of_part(
    file: i32,
    offset: usize,
    bytes: usize,
    reader: Out<Reader>,
) -> Result<(), Status> {
    machine()?;
    new_reader(read(file, offset as u64, Some(bytes as u64))?, reader)
}

pub(crate) fn hsa_code_object_reader_destroy(reader: Reader) -> Result<(), Status> {
    READERS.discard(reader.0).map_err(|_| Status::INVALID_CODE_OBJECT_READER)
}

/// `HSA_EXECUTABLE_STATE_FROZEN`.
const FROZEN: u32 = 1;

fn create(profile: u32, rounding: u32, is_frozen: bool, executable: Out<Executable>) -> Result<(), Status> {
    machine()?;
    if profile > 1 || rounding > NEAR || executable.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let contents = Contents { profile, rounding, is_frozen, loaded: Vec::new(), symbols: Vec::new() };
    let handle = EXECUTABLES.insert(Owner::NONE, contents).map_err(|_| Status::OUT_OF_RESOURCES)?;
    executable.set(Executable(handle))
}

pub(crate) fn hsa_executable_create(
    profile: u32,
    state: u32,
    _options: Ignored,
    executable: Out<Executable>,
) -> Result<(), Status> {
    create(profile, 0, state == FROZEN, executable)
}

pub(crate) fn hsa_executable_create_alt(
    profile: u32,
    rounding: u32,
    _options: Ignored,
    executable: Out<Executable>,
) -> Result<(), Status> {
    create(profile, rounding, false, executable)
}

/// A kernel that runs keeps its code until it has ended.
pub(crate) fn hsa_executable_destroy(executable: Executable) -> Result<(), Status> {
    let taken = EXECUTABLES.take(executable.0).map_err(|_| Status::INVALID_EXECUTABLE)?.value;
    SYMBOLS.take_all(Owner(executable.0));
    let mut handles = LOADED_HANDLES.write().unwrap_or_else(PoisonError::into_inner);
    handles.retain(|one| !taken.loaded.contains(one));
    drop(handles);
    for loaded in LOADED.take_all(Owner(executable.0)) {
        let addresses = loaded.addresses();
        kernels(|all| {
            all.retain(|(agent, object), _| *agent != loaded.agent.0 || !addresses.contains(object))
        });
    }
    Ok(())
}

/// Changes an executable that is not frozen.
fn change<T>(
    executable: Executable,
    change: impl FnOnce(&mut Contents) -> Result<T, Status>,
) -> Result<T, Status> {
    let changed = EXECUTABLES.with(executable.0, |found| {
        if found.value.is_frozen { Err(Status::FROZEN_EXECUTABLE) } else { change(&mut found.value) }
    });
    changed.map_err(|_| Status::INVALID_EXECUTABLE)?
}

/// Looks at an executable.
fn look<T>(executable: Executable, look: impl FnOnce(&Contents) -> T) -> Result<T, Status> {
    EXECUTABLES.look(executable.0, |found| look(&found.value)).map_err(|_| Status::INVALID_EXECUTABLE)
}

/// What stderr says of code that can't be loaded.
fn refuse(status: Status, reason: &dyn std::fmt::Display) -> Status {
    hip_driver::stderr_line(format_args!("hiplaunch: HSA: a code object is refused: {reason}"));
    status
}

pub(crate) fn hsa_executable_load_agent_code_object(
    executable: Executable,
    agent: Agent,
    reader: Reader,
    _options: Ignored,
    loaded: Out<Loaded>,
) -> Result<(), Status> {
    let target = machine()?.properties.target.clone();
    let device = Devices::get()?.device(agent)?;
    let code = READERS.get(reader.0).map_err(|_| Status::INVALID_CODE_OBJECT_READER)?.value;
    let object = CodeObject::from_any(&code, &target).map_err(|error| {
        let status = match error {
            code_object::Error::NoMatchingTarget { .. } => Status::INCOMPATIBLE_ARGUMENTS,
            _ => Status::INVALID_CODE_OBJECT,
        };
        refuse(status, &error)
    })?;
    change(executable, |contents| {
        let program = device.machine.load(&object).map_err(|error| {
            let status = match error {
                amdgpu_emulator::Error::OutOfMemory { .. } => Status::OUT_OF_RESOURCES,
                _ => Status::INVALID_CODE_OBJECT,
            };
            refuse(status, &error)
        })?;
        let symbols = symbols(executable, agent, &program)?;
        let value = LoadedObject { executable, agent, code: Arc::clone(&code), program: program.clone() };
        let handle = LOADED.insert(Owner(executable.0), value).map_err(|_| Status::OUT_OF_RESOURCES)?;
        kernels(|all| {
            for kernel in 0..program.kernels().len() {
                let object = program.kernel_object(kernel).unwrap_or(0);
                all.insert((agent.0, object), (program.clone(), kernel));
            }
        });
        LOADED_HANDLES.write().unwrap_or_else(PoisonError::into_inner).push(Loaded(handle));
        contents.symbols.extend(symbols);
        contents.loaded.push(Loaded(handle));
        if loaded.is_null() { Ok(()) } else { loaded.set(Loaded(handle)) }
    })
}

/// Makes the symbols of a code object.
fn symbols(
    executable: Executable,
    agent: Agent,
    program: &LoadedProgram,
) -> Result<Vec<(Box<str>, Agent, Symbol)>, Status> {
    let kernels = program.kernels().iter().enumerate().map(|(index, kernel)| {
        let object = program.kernel_object(index).unwrap_or(0);
        (kernel.symbol.as_str(), What::Kernel { object, signature: Box::new(kernel.clone()) })
    });
    let globals = program.code_object().globals().iter().filter_map(|global| {
        let (address, bytes) = program.global(&global.name)?;
        Some((global.name.as_str(), What::Variable { address, bytes }))
    });
    let all = kernels.chain(globals).map(|(name, what)| {
        let info = SymbolInfo { agent, name: name.into(), what };
        let handle = SYMBOLS.insert(Owner(executable.0), info).map_err(|_| Status::OUT_OF_RESOURCES)?;
        Ok((name.into(), agent, Symbol(handle)))
    });
    all.collect()
}

pub(crate) fn hsa_executable_freeze(executable: Executable, _options: Ignored) -> Result<(), Status> {
    change(executable, |contents| {
        contents.is_frozen = true;
        Ok(())
    })
}

/// What can't be loaded was refused before.
pub(crate) fn hsa_executable_validate(executable: Executable, result: Out<u32>) -> Result<(), Status> {
    look(executable, |_| ())?;
    result.set(0)
}

pub(crate) fn hsa_executable_validate_alt(
    executable: Executable,
    _options: Ignored,
    result: Out<u32>,
) -> Result<(), Status> {
    hsa_executable_validate(executable, result)
}

pub(crate) fn hsa_executable_get_info(
    executable: Executable,
    attribute: u32,
    value: Place,
) -> Result<(), Status> {
    let found = look(executable, |contents| match attribute {
        1 => Some(contents.profile),
        2 => Some(contents.is_frozen.into()),
        3 => Some(contents.rounding),
        _ => None,
    })?;
    Value::from(found.ok_or(Status::INVALID_ARGUMENT)?).write(value)
}

fn find(executable: Executable, name: Text, agent: Option<Agent>, symbol: Out<Symbol>) -> Result<(), Status> {
    let name = name.get::<Status>()?;
    let found = look(executable, |contents| {
        let is_it = |(of, on, _): &&(Box<str>, Agent, Symbol)| {
            **of == *name && agent.is_none_or(|agent| *on == agent)
        };
        contents.symbols.iter().find(is_it).map(|(_, _, symbol)| *symbol)
    })?;
    symbol.set(found.ok_or(Status::INVALID_SYMBOL_NAME)?)
}

pub(crate) fn hsa_executable_get_symbol_by_name(
    executable: Executable,
    name: Text,
    agent: Array<Agent>,
    symbol: Out<Symbol>,
) -> Result<(), Status> {
    find(executable, name, agent.value(), symbol)
}

/// The form of HSA 1.0. No module has a name.
pub(crate) fn hsa_executable_get_symbol(
    executable: Executable,
    _module: Ignored,
    name: Text,
    agent: Agent,
    _convention: i32,
    symbol: Out<Symbol>,
) -> Result<(), Status> {
    find(executable, name, Some(agent), symbol)
}

/// The symbols of an agent, or all.
fn symbols_of(executable: Executable, agent: Option<Agent>) -> Result<Vec<Symbol>, Status> {
    look(executable, |contents| {
        let of_agent = contents.symbols.iter().filter(|(_, on, _)| agent.is_none_or(|agent| *on == agent));
        of_agent.map(|(_, _, symbol)| *symbol).collect()
    })
}

pub(crate) fn hsa_executable_iterate_symbols(
    executable: Executable,
    callback: SymbolCallback,
    data: Data,
) -> Result<(), Status> {
    let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
    // SAFETY: the caller's function, with the data that it passed for it.
    iterate(symbols_of(executable, None)?, |symbol| unsafe { callback(executable, symbol, data) })
}

pub(crate) fn hsa_executable_iterate_agent_symbols(
    executable: Executable,
    agent: Agent,
    callback: AgentSymbolCallback,
    data: Data,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
    // SAFETY: as above.
    iterate(symbols_of(executable, Some(agent))?, |symbol| unsafe {
        callback(executable, agent, symbol, data)
    })
}

/// No symbol is of all agents.
pub(crate) fn hsa_executable_iterate_program_symbols(
    executable: Executable,
    callback: SymbolCallback,
    _data: Data,
) -> Result<(), Status> {
    callback.ok_or(Status::INVALID_ARGUMENT)?;
    look(executable, |_| ())
}

pub(crate) fn hsa_executable_symbol_get_info(
    symbol: Symbol,
    attribute: u32,
    value: Place,
) -> Result<(), Status> {
    let found = SYMBOLS.look(symbol.0, |found| found.value.attribute(attribute));
    found.map_err(|_| Status::INVALID_EXECUTABLE_SYMBOL)?.ok_or(Status::INVALID_ARGUMENT)?.write(value)
}

impl SymbolInfo {
    /// An attribute of `hsa_executable_symbol_info_t`, if the symbol has it.
    fn attribute(&self, attribute: u32) -> Option<Value> {
        let of_all = match attribute {
            // `HSA_SYMBOL_KIND_VARIABLE` and `_KERNEL`.
            0 => u32::from(matches!(self.what, What::Kernel { .. })).into(),
            1 => (self.name.len() as u32).into(),
            2 => Value::characters(&self.name),
            // No module.
            3 => 0_u32.into(),
            4 => Value::bytes(0),
            20 => self.agent.0.into(),
            // `HSA_SYMBOL_LINKAGE_PROGRAM`.
            5 => 1_u32.into(),
            17 => true.into(),
            _ => return self.attribute_of_kind(attribute),
        };
        Some(of_all)
    }

    fn attribute_of_kind(&self, attribute: u32) -> Option<Value> {
        Some(match (&self.what, attribute) {
            (What::Variable { address, .. }, 21) => (*address).into(),
            // `HSA_VARIABLE_ALLOCATION_AGENT`, `HSA_VARIABLE_SEGMENT_GLOBAL`, an unknown alignment.
            (What::Variable { .. }, 6..=8) => 0_u32.into(),
            (What::Variable { bytes, .. }, 9) => (*bytes as u32).into(),
            (What::Variable { .. }, 10) => false.into(),
            (What::Kernel { object, .. }, 22) => (*object).into(),
            (What::Kernel { signature, .. }, 11) => signature.kernarg_size.into(),
            // At least that of HSA's specification.
            (What::Kernel { signature, .. }, 12) => signature.kernarg_align.max(16).into(),
            (What::Kernel { signature, .. }, 13) => signature.group_segment_fixed_size.into(),
            (What::Kernel { signature, .. }, 14) => signature.private_segment_fixed_size.into(),
            (What::Kernel { signature, .. }, 15) => {
                (signature.uses_dynamic_stack || signature.descriptor.uses_dynamic_stack()).into()
            }
            // A calling convention.
            (What::Kernel { .. }, 18) => 0_u32.into(),
            _ => return None,
        })
    }
}

/// A definition is for a variable that code leaves open; such code is refused when it is loaded, so that a definition has no effect.
pub(crate) fn hsa_executable_agent_global_variable_define(
    executable: Executable,
    agent: Agent,
    name: Text,
    address: u64,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    name.get::<Status>()?;
    change(executable, |_| if address == 0 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) })
}
