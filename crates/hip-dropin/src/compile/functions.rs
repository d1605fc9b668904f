//! The functions that compile.

use std::ffi::c_int;
use std::sync::{Arc, LazyLock, Mutex};

use code_object::{Processor, TargetId};

use super::program::{Changing, Compiled, Program, compiler_for};
use super::{RtcResult, RtcStatus, unusable};
use crate::abi::c_caller::{Handle, In, Out, StaticText, Text};
use crate::process::objects::Objects;

/// A `hiprtcProgram` of a caller.
pub(crate) type ProgramHandle = Handle<Program>;

/// The name of a source without one, which is also comgr's.
const UNNAMED: &str = "CompileSource";

/// The live programs.
static PROGRAMS: LazyLock<Objects<Program>> = LazyLock::new(Objects::default);

pub(crate) fn program(handle: ProgramHandle) -> RtcResult<Arc<Program>> {
    PROGRAMS.get(handle.0).ok_or(RtcStatus::INVALID_PROGRAM)
}

/// A text of the caller. What is not UTF-8 in it, such as an old comment, becomes U+FFFD.
fn text(text: Text) -> RtcResult<String> {
    text.get().map(|text| text.to_string_lossy().into_owned()).map_err(|_| RtcStatus::INVALID_INPUT)
}

/// An array of texts of the caller.
pub(crate) fn texts(array: In<Text>, count: c_int) -> RtcResult<Vec<String>> {
    let count = usize::try_from(count).map_err(|_| RtcStatus::INVALID_INPUT)?;
    let array = array.array(count).map_err(|_| RtcStatus::INVALID_INPUT)?;
    array.into_iter().map(text).collect()
}

fn set<T>(out: Out<T>, value: T) -> RtcResult {
    out.set(value).map_err(|_| RtcStatus::INVALID_INPUT)
}

pub(crate) fn hiprtcCreateProgram(
    handle: Out<ProgramHandle>,
    source: Text,
    name: Text,
    header_count: c_int,
    headers: In<Text>,
    header_names: In<Text>,
) -> RtcResult {
    if handle.is_null() {
        return Err(RtcStatus::INVALID_PROGRAM);
    }
    let source = text(source)?;
    let (texts, names) = (texts(headers, header_count)?, texts(header_names, header_count)?);
    // clr refuses empty texts and names (hiprtcInternal.cpp).
    if source.is_empty() || texts.iter().chain(&names).any(String::is_empty) {
        return Err(RtcStatus::INVALID_INPUT);
    }
    // The first to say that there is no compiler.
    let any = TargetId::new(Processor::Gfx90a);
    compiler_for(&any).function("hiprtcCreateProgram").map_err(|error| unusable(&error))?;
    let name = text(name).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| UNNAMED.to_owned());
    let headers = names.into_iter().zip(texts).collect();
    let program = Program { name, source, headers, changing: Mutex::new(Changing::default()) };
    set(handle, Handle::new(PROGRAMS.add(program)))
}

pub(crate) fn hiprtcDestroyProgram(handle: Out<ProgramHandle>) -> RtcResult {
    let program = handle.get().map_err(|_| RtcStatus::INVALID_INPUT)?;
    PROGRAMS.remove(program.0).ok_or(RtcStatus::INVALID_PROGRAM)?;
    set(handle, Handle::NULL)
}

pub(crate) fn hiprtcAddNameExpression(handle: ProgramHandle, expression: Text) -> RtcResult {
    let expression = text(expression)?;
    if expression.is_empty() {
        return Err(RtcStatus::INVALID_INPUT);
    }
    program(handle)?.lock().expressions.push(expression);
    Ok(())
}

pub(crate) fn hiprtcGetLoweredName(
    handle: ProgramHandle,
    expression: Text,
    name: Out<StaticText>,
) -> RtcResult {
    let program = program(handle)?;
    let changing = program.lock();
    let found = changing.compiled.lowered_name(&text(expression)?);
    // The text lives until the program is compiled again or destroyed, as hiprtc's does.
    set(name, StaticText::borrowed(found.ok_or(RtcStatus::NAME_EXPRESSION_NOT_VALID)?))
}

pub(crate) fn compile_program(handle: ProgramHandle, options: In<Text>, count: c_int) -> RtcResult {
    program(handle)?.compile(texts(options, count)?)
}

/// Writes the length of a part of the result.
pub(crate) fn size(
    handle: ProgramHandle,
    out: Out<usize>,
    part: impl FnOnce(&Compiled) -> RtcResult<&[u8]>,
) -> RtcResult {
    set(out, part(&program(handle)?.lock().compiled)?.len())
}

/// Copies a part of the result to the caller's memory, which has room for it.
pub(crate) fn copy(
    handle: ProgramHandle,
    out: Out<u8>,
    part: impl FnOnce(&Compiled) -> RtcResult<&[u8]>,
) -> RtcResult {
    let program = program(handle)?;
    let changing = program.lock();
    let bytes = part(&changing.compiled)?;
    out.set_array(bytes.iter().copied(), bytes.len()).map_err(|_| RtcStatus::INVALID_INPUT)
}

pub(crate) fn log(compiled: &Compiled) -> RtcResult<&[u8]> {
    Ok(compiled.log.as_bytes())
}

pub(crate) fn code(compiled: &Compiled) -> RtcResult<&[u8]> {
    Ok(&compiled.code)
}

pub(crate) fn bitcode(compiled: &Compiled) -> RtcResult<&[u8]> {
    if compiled.bitcode.is_empty() { Err(RtcStatus::INVALID_PROGRAM) } else { Ok(&compiled.bitcode) }
}
