//! AMD's extension for tools and for HIP: where code is that was loaded (hsa_ven_amd_loader.h).

use super::agent::Agent;
use super::allocations::Allocation;
use super::executable::{self, Executable, LOADED, Loaded, LoadedObject, Reader};
use super::memory::COARSE_GRAINED;
use super::status::Status;
use super::value::{Place, Value};
use super::{Data, iterate};
use crate::abi::{Out, call};

/// `HSA_EXTENSION_AMD_LOADER`, and its newest version.
pub(super) const EXTENSION: u16 = 0x201;
pub(super) const VERSION: [u16; 2] = [1, 3];

/// A `hsa_ven_amd_loader_segment_descriptor_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Segment {
    agent: Agent,
    executable: Executable,
    storage: u32,
    code: u64,
    code_bytes: usize,
    offset: usize,
    address: u64,
    bytes: usize,
}

/// `HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY`.
const IN_MEMORY: u32 = 2;
/// `HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT`.
const OF_AGENT: u32 = 2;

type LoadedCallback = Option<unsafe extern "C" fn(Executable, Loaded, Data) -> Status>;
type ExecutableCallback = Option<unsafe extern "C" fn(Executable, Data) -> Status>;

/// What a code object that has an address is for.
fn at<T>(address: u64, found: impl Fn(&LoadedObject) -> T) -> Option<T> {
    executable::all_loaded().into_iter().find_map(|loaded| {
        let within = |one: &LoadedObject| one.addresses().contains(&address).then(|| found(one));
        LOADED.look(loaded.0, |one| within(&one.value)).ok().flatten()
    })
}

/// The memory of a loaded code object that has an address, and where it begins: as ROCr has it, an allocation of the agent's pool.
pub(super) fn allocation_at(address: u64) -> Option<(u64, Allocation)> {
    at(address, |loaded| {
        let addresses = loaded.addresses();
        let allocation = Allocation {
            bytes: addresses.end - addresses.start,
            host: addresses.start,
            is_locked: false,
            owner: loaded.agent,
            flags: COARSE_GRAINED,
            user_data: 0,
        };
        (addresses.start, allocation)
    })
}

/// The host has code at the addresses of agents.
extern "C" fn query_host_address(device: u64, host: Out<u64>) -> Status {
    call(|| host.set(at(device, |_| device).ok_or(Status::INVALID_ARGUMENT)?))
}

extern "C" fn query_segments(segments: Out<Segment>, count: Out<usize>) -> Status {
    call(|| {
        let room = count.get::<Status>()?;
        let all = executable::all_loaded();
        if segments.is_null() {
            return if room == 0 { count.set(all.len()) } else { Err(Status::INVALID_ARGUMENT) };
        }
        if room != all.len() {
            return Err(Status::INCOMPATIBLE_ARGUMENTS);
        }
        let segment = |loaded: Loaded| LOADED.look(loaded.0, |one| Segment::of(&one.value)).ok();
        segments.set_array(all.into_iter().filter_map(segment), room)
    })
}

impl Segment {
    fn of(loaded: &LoadedObject) -> Segment {
        let addresses = loaded.addresses();
        Segment {
            agent: loaded.agent,
            executable: loaded.executable,
            storage: IN_MEMORY,
            code: loaded.code.as_ptr() as u64,
            code_bytes: loaded.code.len(),
            offset: 0,
            address: addresses.start,
            bytes: (addresses.end - addresses.start) as usize,
        }
    }
}

extern "C" fn query_executable(device: u64, found: Out<Executable>) -> Status {
    call(|| found.set(at(device, |one| one.executable).ok_or(Status::INVALID_ARGUMENT)?))
}

extern "C" fn iterate_loaded(executable: Executable, callback: LoadedCallback, data: Data) -> Status {
    call(|| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let is_its =
            |one: &Loaded| LOADED.look(one.0, |found| found.value.executable == executable) == Ok(true);
        let all = executable::all_loaded().into_iter().filter(is_its);
        // SAFETY: the caller's function, with the data that it passed for it.
        iterate(all, |loaded| unsafe { callback(executable, loaded, data) })
    })
}

extern "C" fn loaded_info(loaded: Loaded, attribute: u32, value: Place) -> Status {
    call(|| {
        let found = LOADED.look(loaded.0, |one| info(&one.value, attribute));
        found.map_err(|_| Status::INVALID_CODE_OBJECT)?.ok_or(Status::INVALID_ARGUMENT)?.write(value)
    })
}

/// The attributes of `hsa_ven_amd_loader_loaded_code_object_info_t`.
fn info(loaded: &LoadedObject, attribute: u32) -> Option<Value> {
    let addresses = loaded.addresses();
    let code = loaded.code.as_ptr() as u64;
    let uri = format!("memory://{}#offset={code:#x}&size={}", std::process::id(), loaded.code.len());
    Some(match attribute {
        1 => loaded.executable.0.into(),
        2 => OF_AGENT.into(),
        3 => loaded.agent.0.into(),
        4 => IN_MEMORY.into(),
        5 => code.into(),
        6 => (loaded.code.len() as u64).into(),
        // No file.
        7 => u32::MAX.into(),
        // The difference of addresses, the first, and how many.
        8 => addresses.start.wrapping_sub(loaded.program.code_object().image_range().start).into(),
        9 => addresses.start.into(),
        10 => (addresses.end - addresses.start).into(),
        11 => (uri.len() as u32).into(),
        12 => Value::characters(&uri),
        _ => return None,
    })
}

extern "C" fn reader_of_part(file: i32, offset: usize, bytes: usize, reader: Out<Reader>) -> Status {
    call(|| executable::reader_of_part(file, offset, bytes, reader))
}

extern "C" fn iterate_executables(callback: ExecutableCallback, data: Data) -> Status {
    call(|| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let of = |loaded: Loaded| LOADED.look(loaded.0, |found| found.value.executable).ok();
        let mut all: Vec<Executable> = executable::all_loaded().into_iter().filter_map(of).collect();
        all.dedup();
        // SAFETY: the caller's function, with the data that it passed for it.
        iterate(all, |executable| unsafe { callback(executable, data) })
    })
}

/// Writes the addresses of the first functions, as many as `bytes` have room for.
pub(super) fn write_table(table: Out<u64>, bytes: usize) -> Result<(), Status> {
    let functions = [
        query_host_address as *const (),
        query_segments as *const (),
        query_executable as *const (),
        iterate_loaded as *const (),
        loaded_info as *const (),
        reader_of_part as *const (),
        iterate_executables as *const (),
    ];
    table.set_array(functions.map(|function| function.expose_provenance() as u64), bytes / size_of::<u64>())
}

/// How many functions a minor version has.
pub(super) fn functions_of(minor: u16) -> usize {
    match minor {
        0 => 3,
        1 => 5,
        2 => 6,
        _ => 7,
    }
}
