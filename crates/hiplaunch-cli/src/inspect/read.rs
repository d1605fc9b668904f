//! Reads the code objects of a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use code_object::bundle::{self, BundleEntry};
use code_object::{CodeObject, Error, TargetId};

use super::fat;
use crate::advice;

/// The size in bytes of the longest file that is read.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// The number of bytes from which the kind of a file is found.
const START: u64 = 64;

/// How a file contains its code objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// The file is a code object.
    CodeObject,
    Bundle,
    CompressedBundle,
    /// The file is an ELF file for the host with bundles in it.
    Host,
}

impl Container {
    pub(super) fn name(self) -> &'static str {
        match self {
            Container::CodeObject => "code object",
            Container::Bundle => "offload bundle",
            Container::CompressedBundle => "compressed offload bundle",
            Container::Host => "host file with offload bundles",
        }
    }
}

/// The contents of a file.
pub(super) struct InspectedFile {
    pub(super) bytes: usize,
    pub(super) container: Container,
    pub(super) entries: Vec<Entry>,
}

/// One code object of a file, or a bundle entry without a code object.
pub(super) struct Entry {
    /// The id in the bundle.
    pub(super) id: Option<String>,
    pub(super) bytes: usize,
    /// The code object; `None` for the host's entry of a bundle, and for empty entries.
    pub(super) object: Result<Option<CodeObject>, Error>,
    /// The target in the id.
    labelled: Option<TargetId>,
}

impl Entry {
    /// The target: that of the code object, else that of the bundle's id.
    pub(super) fn target(&self) -> Option<&TargetId> {
        match &self.object {
            Ok(Some(object)) => Some(object.target()),
            _ => self.labelled.as_ref(),
        }
    }

    /// The entry's name in messages.
    pub(super) fn named(&self) -> String {
        match (&self.id, self.target()) {
            (Some(id), _) => id.clone(),
            (None, Some(target)) => target.short(),
            (None, None) => "the code object".to_owned(),
        }
    }

    fn of_bundle(entry: BundleEntry) -> Entry {
        let object = match entry.target {
            Some(_) if !entry.data.is_empty() => CodeObject::parse(&entry.data).map(Some),
            _ => Ok(None),
        };
        Entry { id: Some(entry.id), bytes: entry.data.len(), object, labelled: entry.target }
    }
}

/// Reads a file. The error names it and says what to do.
pub(super) fn file(path: &Path) -> Result<InspectedFile, String> {
    let (bytes, whole) = bytes(path).map_err(|error| advice::unreadable(path, &error))?;
    inspected(&bytes).map_err(|error| match error {
        Error::NotElf { start, .. } => {
            format!("{}: {}", path.display(), Error::NotElf { len: whole, start })
        }
        error => format!("{}: {error}", path.display()),
    })
}

/// Reads the bytes of a file, or only its start if that can't be the start of a code object. Also returns the length of
/// the file, as far as it is known.
fn bytes(path: &Path) -> io::Result<(Vec<u8>, usize)> {
    let (mut from, length): (Box<dyn Read>, u64) = match path.as_os_str() == "-" {
        true => (Box::new(io::stdin()), 0),
        false => {
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            (Box::new(file), length)
        }
    };
    let mut bytes = Vec::new();
    from.by_ref().take(START).read_to_end(&mut bytes)?;
    if bytes.starts_with(b"\x7fELF") || bundle::is_bundle(&bytes) {
        from.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let problem = format!("longer than {MAX_FILE_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
    }
    let whole = bytes.len().max(usize::try_from(length).unwrap_or(usize::MAX));
    Ok((bytes, whole))
}

fn inspected(bytes: &[u8]) -> Result<InspectedFile, Error> {
    let of_bundle = |bundle: &[u8]| -> Result<Vec<Entry>, Error> {
        Ok(bundle::entries(bundle)?.into_iter().map(Entry::of_bundle).collect())
    };
    let (container, entries) = if bundle::is_bundle(bytes) {
        let compressed = bundle::is_compressed(bytes);
        (if compressed { Container::CompressedBundle } else { Container::Bundle }, of_bundle(bytes)?)
    } else {
        match CodeObject::parse(bytes) {
            Ok(object) => {
                let entry = Entry { id: None, bytes: bytes.len(), object: Ok(Some(object)), labelled: None };
                (Container::CodeObject, vec![entry])
            }
            Err(error @ Error::WrongMachine { .. }) => {
                let bundles = fat::bundles(bytes).ok_or(error)?;
                let mut entries = Vec::new();
                for bundle in bundles {
                    entries.extend(of_bundle(bundle)?);
                }
                (Container::Host, entries)
            }
            Err(error) => return Err(error),
        }
    };
    Ok(InspectedFile { bytes: bytes.len(), container, entries })
}
