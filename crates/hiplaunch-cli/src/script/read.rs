//! Reads a script. Unknown keys, wrong types, values out of range, missing files and sizes that disagree are errors.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::error::{ScriptError, ScriptProblem, position, unreadable};
use super::table::{Node, Source, Table};
use super::{
    Argument, Buffer, Contents, Dtype, Expectation, Launch, MAX_BUFFER_BYTES, MAX_SCRIPT_BYTES, Script,
    VERSION,
};
use hiplaunch::launcher::LaunchDims;

type Result<T> = std::result::Result<T, ScriptError>;

/// The forms of an argument. Its key says which form it has.
const FORMS: &[&str] = &[
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "buffer", "null",
    "bytes",
];

pub(super) fn read(path: &Path) -> Result<Script> {
    let text = text_of(path)?;
    let document = DeTable::parse(&text).map_err(|error| {
        let (line, column) = position(&text, error.span().map_or(0, |span| span.start));
        ScriptError::Toml { file: path.to_owned(), line, column, message: error.message().to_owned() }
    })?;
    let root = Table::root(Source { file: path, text: &text }, document.get_ref());
    version(&root)?;
    root.only(&["version", "description", "code_object", "buffers", "launches", "expect"])?;

    let folder = path.parent().unwrap_or(Path::new(""));
    let description = match root.get("description") {
        Some(node) => node.text()?.to_owned(),
        None => String::new(),
    };
    let (code_object, _) = file(folder, &root.need("code_object")?)?;
    let (buffers, names) = buffers(folder, &root)?;

    let launches = root.need("launches")?;
    let launches = launches.elements("a list of tables, [[launches]]")?;
    if launches.is_empty() {
        let expected = "at least one".to_owned();
        return Err(root.need("launches")?.error(ScriptProblem::Length { expected, got: 0 }));
    }
    let launches =
        launches.iter().map(|node| launch(&node.table()?, &buffers, &names)).collect::<Result<Vec<_>>>()?;
    let expectations = root
        .tables("expect")?
        .iter()
        .map(|table| expectation(folder, table, &buffers, &names))
        .collect::<Result<Vec<_>>>()?;
    Ok(Script { path: path.to_owned(), description, code_object, buffers, launches, expectations })
}

fn text_of(path: &Path) -> Result<String> {
    let not_text = |problem| ScriptError::NotText { file: path.to_owned(), problem };
    let file = File::open(path).map_err(|e| unreadable(path, e))?;
    if file.metadata().map_err(|e| unreadable(path, e))?.is_dir() {
        return Err(not_text("is a directory; name a script in it, NAME.launch.toml"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, e))?;
    if bytes.len() as u64 > MAX_SCRIPT_BYTES {
        return Err(not_text(
            "is longer than the 16 MiB that a script may have; put data into files of their own",
        ));
    }
    String::from_utf8(bytes).map_err(|_| not_text("is no UTF-8 text; a launch script is a TOML file"))
}

/// Checks the version. This comes first, because another version may have other keys.
fn version(root: &Table<'_>) -> Result<()> {
    let node = root.need("version")?;
    match node.integer(i128::MIN, i128::MAX)? {
        version if version == i128::from(VERSION) => Ok(()),
        version => Err(node.error(ScriptProblem::Version { got: version.to_string() })),
    }
}

/// Returns the path of a file, which is relative to the script, and its size in bytes.
fn file(folder: &Path, node: &Node<'_>) -> Result<(PathBuf, u64)> {
    let name = Path::new(node.text()?);
    if name.is_absolute() || name.has_root() {
        return Err(node.error(ScriptProblem::AbsolutePath));
    }
    let path = folder.join(name);
    let refuse = |reason: String| Err(node.error(ScriptProblem::File { path: path.clone(), reason }));
    match fs::metadata(&path) {
        Ok(data) if data.is_file() => Ok((path, data.len())),
        Ok(_) => refuse("is no regular file".to_owned()),
        Err(error) => refuse(error.to_string()),
    }
}

type Names<'a> = HashMap<&'a str, usize>;

fn buffers<'a>(folder: &Path, root: &Table<'a>) -> Result<(Vec<Buffer>, Names<'a>)> {
    let (mut buffers, mut names, mut total) = (Vec::new(), Names::new(), 0u64);
    for table in root.tables("buffers")? {
        table.only(&["name", "file", "bytes", "fill"])?;
        let name = table.need("name")?;
        if names.insert(name.text()?, buffers.len()).is_some() {
            return Err(name.error(ScriptProblem::Duplicate { name: name.text()?.to_owned() }));
        }
        let (size, bytes, contents) = match (table.get("file"), table.get("bytes")) {
            (Some(node), None) => {
                if let Some(fill) = table.get("fill") {
                    let expected =
                        "is for a buffer of a given size; remove `fill`, or replace `file` by `bytes`";
                    return Err(fill.error(ScriptProblem::Either { expected }));
                }
                let (path, bytes) = file(folder, &node)?;
                (node, bytes, Contents::File(path))
            }
            (None, Some(node)) => {
                let bytes = node.integer(0, i64::MAX.into())? as u64;
                let fill = match table.get("fill") {
                    Some(fill) => fill.integer(0, 255)? as u8,
                    None => 0,
                };
                (node, bytes, Contents::Fill(fill))
            }
            (Some(_), Some(bytes)) => {
                let expected = "the buffer has a `file`, too, which sets its size; remove one of the two";
                return Err(bytes.error(ScriptProblem::Either { expected }));
            }
            (None, None) => {
                let expected = "give the buffer a `file`, or `bytes` for its size";
                return Err(table.error(ScriptProblem::Either { expected }));
            }
        };
        if bytes == 0 {
            return Err(size.error(ScriptProblem::Empty));
        }
        total = total.saturating_add(bytes);
        match usize::try_from(bytes) {
            Ok(bytes) if total <= MAX_BUFFER_BYTES => {
                buffers.push(Buffer { name: name.text()?.to_owned(), bytes, contents });
            }
            _ => return Err(size.error(ScriptProblem::TooLarge { bytes: total, limit: MAX_BUFFER_BYTES })),
        }
    }
    Ok((buffers, names))
}

/// Returns the index of the buffer with a name.
fn buffer(node: &Node<'_>, buffers: &[Buffer], names: &Names<'_>) -> Result<usize> {
    let name = node.text()?;
    names.get(name).copied().ok_or_else(|| {
        let known = buffers.iter().map(|b| b.name.clone()).collect();
        node.error(ScriptProblem::NoBuffer { name: name.to_owned(), known })
    })
}

fn launch(table: &Table<'_>, buffers: &[Buffer], names: &Names<'_>) -> Result<Launch> {
    table.only(&["kernel", "grid", "block", "lds", "args"])?;
    let kernel = table.need("kernel")?.text()?.to_owned();
    let mut dims = LaunchDims::new(three(&table.need("grid")?)?, three(&table.need("block")?)?);
    if let Some(lds) = table.get("lds") {
        dims = dims.with_lds(lds.integer(0, u32::MAX.into())? as u32);
    }
    let args = table.need("args")?;
    let args = args
        .elements("a list of arguments")?
        .iter()
        .map(|node| argument(&node.table()?, buffers, names))
        .collect::<Result<Vec<_>>>()?;
    Ok(Launch { kernel, dims, args })
}

/// Reads three numbers for grid or block. The launch checks the device's limits.
fn three(node: &Node<'_>) -> Result<[u32; 3]> {
    let elements = node.elements("a list of three integers")?;
    let [x, y, z] = &elements[..] else {
        let expected = "three, for x, y and z".to_owned();
        return Err(node.error(ScriptProblem::Length { expected, got: elements.len() }));
    };
    let axis = |node: &Node<'_>| node.integer(0, u32::MAX.into()).map(|n| n as u32);
    Ok([axis(x)?, axis(y)?, axis(z)?])
}

fn argument(table: &Table<'_>, buffers: &[Buffer], names: &Names<'_>) -> Result<Argument> {
    if let Some(node) = table.get("buffer") {
        table.only(&["buffer", "offset"])?;
        let index = buffer(&node, buffers, names)?;
        let Some(at) = table.get("offset") else { return Ok(Argument::Buffer { index, offset: 0 }) };
        let offset = at.integer(0, i64::MAX.into())? as u64;
        let Buffer { name, bytes, .. } = &buffers[index];
        if offset >= *bytes as u64 {
            return Err(at.error(ScriptProblem::Offset { offset, buffer: name.clone(), bytes: *bytes }));
        }
        return Ok(Argument::Buffer { index, offset });
    }
    table.only(FORMS)?;
    let mut keys = table.keys();
    let (Some(form), None) = (keys.next(), keys.next()) else {
        let expected = "an argument has one form, such as { i32 = 1 } or { buffer = \"name\", offset = 0 }";
        return Err(table.error(ScriptProblem::Either { expected }));
    };
    let node = table.need(form)?;
    match form {
        "null" if node.boolean()? => Ok(Argument::Null),
        "null" => Err(node.error(ScriptProblem::NullNotTrue)),
        "bytes" => {
            hex(node.text()?).map(Argument::Bytes).map_err(|reason| node.error(ScriptProblem::Hex { reason }))
        }
        _ => scalar(&node, form),
    }
}

fn scalar(node: &Node<'_>, form: &str) -> Result<Argument> {
    let Some(dtype) = Dtype::named(form) else {
        return Err(node.error(ScriptProblem::Unknown { known: FORMS }));
    };
    let size = dtype.size() as u8;
    if let Some((low, high)) = dtype.integers() {
        let value = node.integer(low, high)?;
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        return Ok(Argument::Scalar { bits: value as u64 & mask, size });
    }
    let value = node.float()?;
    let (bits, rounded) = dtype.float_bits(value);
    if rounded.is_infinite() && value.is_finite() {
        let allowed = format!("what {form} can hold, or inf");
        return Err(node.error(ScriptProblem::Range { got: node.written(), allowed }));
    }
    if node.is_integer() && rounded != value {
        return Err(node.error(ScriptProblem::Inexact { got: node.written(), dtype: dtype.name() }));
    }
    Ok(Argument::Scalar { bits, size })
}

fn hex(text: &str) -> std::result::Result<Vec<u8>, &'static str> {
    if text.is_empty() {
        return Err("there are no bytes");
    }
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("there are other characters than hexadecimal digits");
    }
    if !text.len().is_multiple_of(2) {
        return Err("the number of digits is odd");
    }
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or_default() as u8;
    Ok(text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

fn expectation(
    folder: &Path,
    table: &Table<'_>,
    buffers: &[Buffer],
    names: &Names<'_>,
) -> Result<Expectation> {
    table.only(&["buffer", "file", "dtype", "rtol", "atol"])?;
    let index = buffer(&table.need("buffer")?, buffers, names)?;
    let node = table.need("file")?;
    let (path, size) = file(folder, &node)?;
    let bytes = buffers[index].bytes;
    if size != bytes as u64 {
        return Err(node.error(ScriptProblem::Size { file: size, buffer: bytes }));
    }
    let node = table.need("dtype")?;
    let Some(dtype) = Dtype::named(node.text()?) else {
        return Err(node.error(ScriptProblem::Word { got: node.text()?.to_owned(), allowed: Dtype::NAMES }));
    };
    if !bytes.is_multiple_of(dtype.size()) {
        return Err(node.error(ScriptProblem::Elements {
            bytes,
            dtype: dtype.name(),
            element: dtype.size(),
        }));
    }
    let tolerance = |key: &str| -> Result<f64> {
        let Some(node) = table.get(key) else { return Ok(0.0) };
        let value = node.float()?;
        if !(value >= 0.0 && value.is_finite()) {
            let allowed = "a finite number that is not negative".to_owned();
            return Err(node.error(ScriptProblem::Range { got: node.written(), allowed }));
        }
        if value > 0.0 && dtype == Dtype::Bytes {
            return Err(node.error(ScriptProblem::ToleranceOnBytes));
        }
        Ok(value)
    };
    Ok(Expectation { buffer: index, file: path, dtype, rtol: tolerance("rtol")?, atol: tolerance("atol")? })
}

#[cfg(test)]
mod tests;
