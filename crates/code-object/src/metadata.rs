//! Reads the `NT_AMDGPU_METADATA` note from MessagePack into kernel signatures, and checks each for what launchers rely
//! on.
//!
//! The keys and their types are those of LLVM AMDGPU usage, "Code Object V3 Metadata" to "Code Object V5 Metadata";
//! V6's is V5's. The document is read in one pass, and unknown keys are skipped.
//!
//! Kernels written in assembly state their metadata themselves, often V3's in newer files. Loaders read the file's
//! version and target from the ELF header, so `amdhsa.target` and a newer `amdhsa.version` are optional.

use crate::descriptor::KernelDescriptor;
use crate::error::{Error, Result};
use crate::limits::{MAX_KERNARG_ALIGN, MAX_KERNARG_SIZE, MAX_WORKGROUP_SIZE};
use crate::msgpack::Reader;
use crate::signature::{Access, AddressSpace, ArgSignature, KernelKind, KernelSignature, ValueKind};

/// The contents of the note.
#[derive(Debug)]
pub(crate) struct Metadata {
    /// `amdhsa.version`: major, minor.
    pub(crate) version: [u32; 2],
    /// `amdhsa.target`, as text. V3 has none.
    pub(crate) target: Option<String>,
    /// The kernels, with descriptors that are not read yet.
    pub(crate) kernels: Vec<KernelSignature>,
    /// `amdhsa.printf`: see [`CodeObject::printf_formats`](crate::CodeObject::printf_formats).
    pub(crate) printf_formats: Vec<Box<[u8]>>,
}

/// Sets a value. A key that occurs twice is an error.
fn set<T>(slot: &mut Option<T>, value: T, reader: &Reader<'_>, key: &str) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(reader.error(format!("the key {key} comes twice"))),
    }
}

/// Returns the value of a required key.
fn need<T>(slot: Option<T>, reader: &Reader<'_>, key: &str) -> Result<T> {
    slot.ok_or_else(|| reader.error(format!("the key {key} is missing")))
}

/// Reads an array of exactly `N` integers.
fn integers<const N: usize>(reader: &mut Reader<'_>, key: &str) -> Result<[u32; N]> {
    let count = reader.array(key)?;
    if count as usize != N {
        return Err(reader.error(format!("{key} has {count} items, not {N}")));
    }
    let mut values = [0; N];
    for value in &mut values {
        *value = reader.u32(key)?;
    }
    Ok(values)
}

/// Reads a string.
fn text(reader: &mut Reader<'_>, key: &str) -> Result<String> {
    reader.string(key).map(str::to_owned)
}

/// Returns a function that reads an array. No capacity is reserved, because the count may be false.
fn list<T>(item: fn(&mut Reader<'_>) -> Result<T>) -> impl Fn(&mut Reader<'_>, &str) -> Result<Vec<T>> {
    move |reader, key| (0..reader.array(key)?).map(|_| item(reader)).collect()
}

/// Returns a function that reads a string that must be one of a set.
fn named<T>(from_name: fn(&str) -> Option<T>) -> impl Fn(&mut Reader<'_>, &str) -> Result<T> {
    move |reader, key| {
        let text = reader.string(key)?;
        from_name(text).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            reader.error(format!("unknown {key} `{shown}`"))
        })
    }
}

/// Reads the texts of `amdhsa.printf`.
fn formats(reader: &mut Reader<'_>, key: &str) -> Result<Vec<Box<[u8]>>> {
    let mut list: Vec<Box<[u8]>> = Vec::new();
    for _ in 0..reader.array(key)? {
        let text = reader.text(key)?;
        // Each format has at least two numbers and two colons. A hostile list of empty strings would take much memory.
        if text.len() >= 4 {
            list.push(text.into());
        }
    }
    Ok(list)
}

/// Declares the keys of a map: a struct of the values that were read, and the function that reads it. A row is a key, its field
/// and the field's type, and the function that reads the value. Unknown keys are skipped.
macro_rules! keys {
    ($($Keys:ident = $what:literal { $($key:literal $field:ident: $Type:ty = $read:expr;)* })*) => {$(
        #[derive(Default)]
        struct $Keys {
            $($field: Option<$Type>,)*
        }

        impl $Keys {
            fn read(reader: &mut Reader<'_>) -> Result<$Keys> {
                let mut keys = $Keys::default();
                for _ in 0..reader.map($what)? {
                    match reader.string(concat!("a key of ", $what))? {
                        $($key => {
                            let value = $read(reader, $key)?;
                            set(&mut keys.$field, value, reader, $key)?;
                        })*
                        _ => reader.skip()?,
                    }
                }
                Ok(keys)
            }
        }
    )*};
}

keys! {
    NoteKeys = "the metadata" {
        "amdhsa.version" version: [u32; 2] = integers::<2>;
        "amdhsa.target" target: String = text;
        "amdhsa.kernels" kernels: Vec<KernelSignature> = list(kernel);
        "amdhsa.printf" printf_formats: Vec<Box<[u8]>> = formats;
    }
    KernelKeys = "a kernel" {
        ".name" name: String = text;
        ".symbol" symbol: String = text;
        ".kernarg_segment_size" kernarg_size: u32 = Reader::u32;
        ".kernarg_segment_align" kernarg_align: u32 = Reader::u32;
        ".group_segment_fixed_size" group_segment_fixed_size: u32 = Reader::u32;
        ".private_segment_fixed_size" private_segment_fixed_size: u32 = Reader::u32;
        ".max_flat_workgroup_size" max_flat_workgroup_size: u32 = Reader::u32;
        ".reqd_workgroup_size" reqd_workgroup_size: [u32; 3] = integers::<3>;
        ".workgroup_size_hint" workgroup_size_hint: [u32; 3] = integers::<3>;
        ".wavefront_size" wavefront_size: u32 = Reader::u32;
        ".sgpr_count" sgpr_count: u32 = Reader::u32;
        ".vgpr_count" vgpr_count: u32 = Reader::u32;
        ".agpr_count" agpr_count: u32 = Reader::u32;
        ".sgpr_spill_count" sgpr_spill_count: u32 = Reader::u32;
        ".vgpr_spill_count" vgpr_spill_count: u32 = Reader::u32;
        ".uses_dynamic_stack" uses_dynamic_stack: bool = Reader::boolean;
        ".uniform_work_group_size" uniform_work_group_size: bool = Reader::boolean;
        ".workgroup_processor_mode" workgroup_processor_mode: bool = Reader::boolean;
        ".kind" kind: KernelKind = named(KernelKind::from_name);
        ".language" language: String = text;
        ".language_version" language_version: [u32; 2] = integers::<2>;
        ".args" args: Vec<ArgSignature> = list(argument);
    }
    ArgKeys = "an argument" {
        ".name" name: String = text;
        ".type_name" type_name: String = text;
        ".offset" offset: u32 = Reader::u32;
        ".size" size: u32 = Reader::u32;
        ".value_kind" kind: ValueKind = named(ValueKind::from_name);
        ".address_space" address_space: AddressSpace = named(AddressSpace::from_name);
        ".access" access: Access = named(Access::from_name);
        ".actual_access" actual_access: Access = named(Access::from_name);
        ".pointee_align" pointee_align: u32 = Reader::u32;
        ".is_const" is_const: bool = Reader::boolean;
        ".is_restrict" is_restrict: bool = Reader::boolean;
        ".is_volatile" is_volatile: bool = Reader::boolean;
        ".is_pipe" is_pipe: bool = Reader::boolean;
    }
}

/// Reads the descriptor of the note.
pub(crate) fn read(note: &[u8]) -> Result<Metadata> {
    let reader = &mut Reader::new(note);
    let keys = NoteKeys::read(reader)?;
    Ok(Metadata {
        version: need(keys.version, reader, "amdhsa.version")?,
        target: keys.target,
        kernels: need(keys.kernels, reader, "amdhsa.kernels")?,
        printf_formats: keys.printf_formats.unwrap_or_default(),
    })
}

/// Reads one element of `amdhsa.kernels`.
fn kernel(reader: &mut Reader<'_>) -> Result<KernelSignature> {
    let keys = KernelKeys::read(reader)?;
    let kernel = KernelSignature {
        name: need(keys.name, reader, ".name")?,
        symbol: need(keys.symbol, reader, ".symbol")?,
        kernarg_size: need(keys.kernarg_size, reader, ".kernarg_segment_size")?,
        kernarg_align: need(keys.kernarg_align, reader, ".kernarg_segment_align")?,
        group_segment_fixed_size: need(keys.group_segment_fixed_size, reader, ".group_segment_fixed_size")?,
        private_segment_fixed_size: need(
            keys.private_segment_fixed_size,
            reader,
            ".private_segment_fixed_size",
        )?,
        max_flat_workgroup_size: need(keys.max_flat_workgroup_size, reader, ".max_flat_workgroup_size")?,
        reqd_workgroup_size: keys.reqd_workgroup_size,
        workgroup_size_hint: keys.workgroup_size_hint,
        wavefront_size: need(keys.wavefront_size, reader, ".wavefront_size")?,
        sgpr_count: need(keys.sgpr_count, reader, ".sgpr_count")?,
        vgpr_count: need(keys.vgpr_count, reader, ".vgpr_count")?,
        agpr_count: keys.agpr_count.unwrap_or(0),
        sgpr_spill_count: keys.sgpr_spill_count.unwrap_or(0),
        vgpr_spill_count: keys.vgpr_spill_count.unwrap_or(0),
        uses_dynamic_stack: keys.uses_dynamic_stack.unwrap_or(false),
        uniform_work_group_size: keys.uniform_work_group_size.unwrap_or(false),
        workgroup_processor_mode: keys.workgroup_processor_mode.unwrap_or(false),
        kind: keys.kind.unwrap_or_default(),
        language: keys.language,
        language_version: keys.language_version,
        args: keys.args.unwrap_or_default(),
        descriptor: KernelDescriptor::UNREAD,
    };
    check(&kernel)?;
    Ok(kernel)
}

/// Reads one element of `.args`.
fn argument(reader: &mut Reader<'_>) -> Result<ArgSignature> {
    let keys = ArgKeys::read(reader)?;
    Ok(ArgSignature {
        name: keys.name,
        type_name: keys.type_name,
        offset: need(keys.offset, reader, ".offset")?,
        size: need(keys.size, reader, ".size")?,
        kind: need(keys.kind, reader, ".value_kind")?,
        address_space: keys.address_space,
        access: keys.access,
        actual_access: keys.actual_access,
        pointee_align: keys.pointee_align,
        is_const: keys.is_const.unwrap_or(false),
        is_restrict: keys.is_restrict.unwrap_or(false),
        is_volatile: keys.is_volatile.unwrap_or(false),
        is_pipe: keys.is_pipe.unwrap_or(false),
    })
}

/// Checks what launchers rely on.
fn check(kernel: &KernelSignature) -> Result<()> {
    let bad = |reason: String| Error::BadKernel { kernel: kernel.name.clone(), reason };
    if kernel.kernarg_size > MAX_KERNARG_SIZE {
        let size = kernel.kernarg_size;
        return Err(bad(format!("a kernarg segment of {size} bytes; the limit is {MAX_KERNARG_SIZE}")));
    }
    if !kernel.kernarg_align.is_power_of_two() || kernel.kernarg_align > MAX_KERNARG_ALIGN {
        let align = kernel.kernarg_align;
        return Err(bad(format!(
            "a kernarg alignment of {align}, which isn't a power of two up to {MAX_KERNARG_ALIGN}"
        )));
    }
    if !(1..=MAX_WORKGROUP_SIZE).contains(&kernel.max_flat_workgroup_size) {
        let size = kernel.max_flat_workgroup_size;
        return Err(bad(format!("a workgroup limit of {size} work-items, not 1 to {MAX_WORKGROUP_SIZE}")));
    }
    if let Some(size @ [x, y, z]) = kernel.reqd_workgroup_size {
        let items = u128::from(x) * u128::from(y) * u128::from(z);
        if items == 0 || items > kernel.max_flat_workgroup_size.into() {
            let limit = kernel.max_flat_workgroup_size;
            return Err(bad(format!("a required workgroup size of {size:?}, not 1 to {limit} work-items")));
        }
    }
    if kernel.wavefront_size != 32 && kernel.wavefront_size != 64 {
        return Err(bad(format!("a wavefront size of {}, neither 32 nor 64", kernel.wavefront_size)));
    }
    check_args(kernel)
}

/// Checks that the arguments are inside the kernarg segment and don't overlap, and that hidden ones are last and have
/// the right sizes. A launcher can then write them without checks.
fn check_args(kernel: &KernelSignature) -> Result<()> {
    for (index, arg) in kernel.args.iter().enumerate() {
        if arg.offset.checked_add(arg.size).is_none_or(|end| end > kernel.kernarg_size) {
            return Err(Error::ArgumentOutOfBounds {
                kernel: kernel.name.clone(),
                index,
                offset: arg.offset,
                size: arg.size,
                kernarg_size: kernel.kernarg_size,
            });
        }
        let bad = |reason| Err(Error::BadKernel { kernel: kernel.name.clone(), reason });
        match arg.kind {
            ValueKind::Hidden(hidden) if hidden.size().is_some_and(|size| size != arg.size) => {
                return bad(format!("argument {index}, {}, has {} bytes", hidden.name(), arg.size));
            }
            ValueKind::Hidden(_) => {}
            _ if index > 0 && kernel.args[index - 1].kind.is_hidden() => {
                return bad(format!("argument {index} is explicit but comes after a hidden one"));
            }
            _ => {}
        }
    }
    let mut order: Vec<usize> = (0..kernel.args.len()).filter(|&i| kernel.args[i].size > 0).collect();
    order.sort_by_key(|&i| kernel.args[i].offset);
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if kernel.args[first].end() > kernel.args[second].offset {
            return Err(Error::ArgumentsOverlap { kernel: kernel.name.clone(), first, second });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::HiddenArg;

    /// A MessagePack document to write.
    #[derive(Clone)]
    enum Value {
        Int(u32),
        Text(&'static str),
        List(Vec<Value>),
        Map(Vec<(&'static str, Value)>),
    }
    use Value::{Int, List, Map, Text};

    impl Value {
        fn write(&self, out: &mut Vec<u8>) {
            let head = |out: &mut Vec<u8>, kind: u8, value: usize| {
                out.push(kind);
                out.extend(u32::try_from(value).unwrap().to_be_bytes());
            };
            match self {
                Int(value) => head(out, 0xce, *value as usize),
                Text(text) => {
                    head(out, 0xdb, text.len());
                    out.extend(text.as_bytes());
                }
                List(items) => {
                    head(out, 0xdd, items.len());
                    items.iter().for_each(|item| item.write(out));
                }
                Map(entries) => {
                    head(out, 0xdf, entries.len());
                    for (key, value) in entries {
                        Text(key).write(out);
                        value.write(out);
                    }
                }
            }
        }
    }

    fn argument(offset: u32, size: u32, kind: &'static str) -> Value {
        Map(vec![(".offset", Int(offset)), (".size", Int(size)), (".value_kind", Text(kind))])
    }

    /// A kernel's entries, with some replaced or added.
    fn kernel_with(changes: &[(&'static str, Value)]) -> Value {
        let mut entries = vec![
            (".name", Text("k")),
            (".symbol", Text("k.kd")),
            (".kernarg_segment_size", Int(64)),
            (".kernarg_segment_align", Int(8)),
            (".group_segment_fixed_size", Int(16)),
            (".private_segment_fixed_size", Int(32)),
            (".max_flat_workgroup_size", Int(256)),
            (".wavefront_size", Int(64)),
            (".sgpr_count", Int(10)),
            (".vgpr_count", Int(20)),
        ];
        for (key, value) in changes {
            entries.retain(|(other, _)| other != key);
            entries.push((key, value.clone()));
        }
        Map(entries)
    }

    fn document(kernels: Vec<Value>) -> Vec<u8> {
        let mut note = Vec::new();
        let version = List(vec![Int(1), Int(2)]);
        let entries = vec![
            ("amdhsa.version", version),
            ("amdhsa.target", Text("amdgcn-amd-amdhsa--gfx90a")),
            ("amdhsa.printf", List(vec![Text("ignored")])),
            ("amdhsa.kernels", List(kernels)),
        ];
        Map(entries).write(&mut note);
        note
    }

    fn read_kernel(changes: &[(&'static str, Value)]) -> Result<KernelSignature> {
        Ok(read(&document(vec![kernel_with(changes)]))?.kernels.remove(0))
    }

    fn with_args(args: Vec<Value>) -> Result<KernelSignature> {
        read_kernel(&[(".args", List(args))])
    }

    fn message(result: Result<KernelSignature>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_kernel_with_only_the_required_keys() {
        let metadata = read(&document(vec![kernel_with(&[])])).unwrap();
        assert_eq!(
            (metadata.version, metadata.target.as_deref()),
            ([1, 2], Some("amdgcn-amd-amdhsa--gfx90a"))
        );
        let kernel = &metadata.kernels[0];
        assert_eq!((kernel.agpr_count, kernel.kind, kernel.args.len()), (0, KernelKind::Normal, 0));
        assert_eq!((kernel.group_segment_fixed_size, kernel.private_segment_fixed_size), (16, 32));
    }

    #[test]
    fn every_required_key_is_missed() {
        let Map(entries) = kernel_with(&[]) else { unreachable!() };
        for (i, (key, _)) in entries.iter().enumerate() {
            let mut fewer = entries.clone();
            fewer.remove(i);
            let error = read(&document(vec![Map(fewer)])).unwrap_err();
            assert!(error.to_string().ends_with(&format!("the key {key} is missing")), "{error}");
        }
        for (i, key) in [".offset", ".size", ".value_kind"].into_iter().enumerate() {
            let Map(mut entries) = argument(0, 8, "pipe") else { unreachable!() };
            entries.remove(i);
            assert!(message(with_args(vec![Map(entries)])).ends_with(&format!("the key {key} is missing")));
        }
    }

    #[test]
    fn keys_that_come_twice() {
        let Map(mut entries) = kernel_with(&[]) else { unreachable!() };
        entries.push((".name", Text("k")));
        let error = read(&document(vec![Map(entries)])).unwrap_err();
        assert!(error.to_string().ends_with("the key .name comes twice"), "{error}");
    }

    #[test]
    fn kinds_of_kernel() {
        for (text, kind) in
            [("normal", KernelKind::Normal), ("init", KernelKind::Init), ("fini", KernelKind::Fini)]
        {
            assert_eq!(read_kernel(&[(".kind", Text(text))]).unwrap().kind, kind);
        }
        assert!(message(read_kernel(&[(".kind", Text("odd"))])).ends_with("unknown .kind `odd`"));
    }

    #[test]
    fn unknown_keys_are_stepped_over() {
        let deep = List(vec![Map(vec![("a", List(vec![])), ("b", Text("c"))]), Int(1)]);
        assert!(read_kernel(&[(".future", deep)]).is_ok());
    }

    #[test]
    fn values_out_of_range() {
        let sizes = |values: [u32; 3]| List(values.into_iter().map(Int).collect());
        for (key, value, expected) in [
            (".kernarg_segment_size", Int(MAX_KERNARG_SIZE + 1), "the limit is 65536"),
            (".kernarg_segment_align", Int(0), "isn't a power of two up to 4096"),
            (".kernarg_segment_align", Int(24), "isn't a power of two up to 4096"),
            (".kernarg_segment_align", Int(8192), "isn't a power of two up to 4096"),
            (".max_flat_workgroup_size", Int(0), "not 1 to 1024"),
            (".max_flat_workgroup_size", Int(1025), "not 1 to 1024"),
            (".wavefront_size", Int(16), "neither 32 nor 64"),
            (".reqd_workgroup_size", sizes([0, 1, 1]), "not 1 to 256 work-items"),
            (".reqd_workgroup_size", sizes([16, 16, 2]), "not 1 to 256 work-items"),
            (".reqd_workgroup_size", sizes([u32::MAX; 3]), "not 1 to 256 work-items"),
            (".reqd_workgroup_size", List(vec![Int(1)]), ".reqd_workgroup_size has 1 items, not 3"),
            (".sgpr_count", Text("many"), ".sgpr_count is not an unsigned integer"),
            (".args", Map(vec![]), ".args is not an array"),
        ] {
            let message = message(read_kernel(&[(key, value)]));
            assert!(message.ends_with(expected), "{message}");
        }
        assert_eq!(
            read_kernel(&[(".reqd_workgroup_size", sizes([16, 8, 2]))]).unwrap().reqd_workgroup_size,
            Some([16, 8, 2])
        );
    }

    #[test]
    fn arguments_outside_the_kernarg_segment() {
        for (offset, size) in [(60, 8), (64, 1), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)] {
            let error = with_args(vec![argument(0, 8, "global_buffer"), argument(offset, size, "by_value")]);
            let kernel = "k".to_owned();
            let expected = Error::ArgumentOutOfBounds { kernel, index: 1, offset, size, kernarg_size: 64 };
            assert_eq!(error.unwrap_err(), expected);
            assert!(!expected.to_string().is_empty());
        }
        assert!(with_args(vec![argument(0, 64, "by_value")]).is_ok());
    }

    #[test]
    fn arguments_that_overlap() {
        let error = with_args(vec![
            argument(16, 8, "global_buffer"),
            argument(0, 4, "by_value"),
            argument(20, 8, "by_value"),
        ]);
        assert_eq!(error.unwrap_err(), Error::ArgumentsOverlap { kernel: "k".into(), first: 0, second: 2 });
        // Arguments that are not in the order of their offsets, and an empty one inside another, are valid.
        let kernel = with_args(vec![
            argument(16, 8, "global_buffer"),
            argument(0, 4, "by_value"),
            argument(18, 0, "by_value"),
        ]);
        assert_eq!(kernel.unwrap().explicit_size(), 24);
    }

    #[test]
    fn hidden_arguments() {
        let kernel = with_args(vec![
            argument(0, 8, "global_buffer"),
            argument(8, 4, "hidden_block_count_x"),
            argument(12, 2, "hidden_group_size_x"),
            argument(16, 32, "hidden_of_the_future"),
            argument(48, 8, "hidden_none"),
        ])
        .unwrap();
        let kinds: Vec<_> = kernel.hidden_args().iter().map(|arg| arg.kind).collect();
        let expected = [HiddenArg::BlockCountX, HiddenArg::GroupSizeX, HiddenArg::Unknown, HiddenArg::None]
            .map(ValueKind::Hidden);
        assert_eq!(kinds, expected);
        assert_eq!(kernel.hidden_arg(HiddenArg::GroupSizeX).unwrap().offset, 12);

        let wrong_size = with_args(vec![argument(0, 8, "hidden_group_size_x")]);
        assert!(message(wrong_size).ends_with("argument 0, hidden_group_size_x, has 8 bytes"));
        let wrong_order = with_args(vec![argument(0, 8, "hidden_none"), argument(8, 8, "global_buffer")]);
        assert!(message(wrong_order).ends_with("argument 1 is explicit but comes after a hidden one"));
        assert!(
            message(with_args(vec![argument(0, 8, "by_magic")])).ends_with("unknown .value_kind `by_magic`")
        );
    }

    #[test]
    fn cut_short_at_every_byte() {
        let note = document(vec![kernel_with(&[(".args", List(vec![argument(0, 8, "pipe")]))])]);
        assert!(read(&note).is_ok());
        for len in 0..note.len() {
            assert!(matches!(read(&note[..len]), Err(Error::BadMetadata { .. })), "{len}");
        }
    }
}
