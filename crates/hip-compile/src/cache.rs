//! The cache on disk: code objects in one folder that processes share, under keys of everything that decides their
//! content.
//!
//! A file is written under another name and then renamed, so that no reader finds an incomplete one. Nothing is flushed
//! to the disk: if part of a file is lost there, its digest detects that. A failed write loses nothing but the cache
//! entry: the caller already has the compile's result.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use crate::digest::Digest;
use crate::entry::{Entry, decode, encode};

/// The environment variable that names the folder of the process's cache; `off` for no cache.
pub const CACHE_VARIABLE: &str = "HIPLAUNCH_CACHE_DIR";

/// The default limit of a cache in bytes: some ten thousand kernels.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// The extension of cache entries.
const ENTRY: &str = "hlco";
/// The extension of files that are being written.
const UNFINISHED: &str = "tmp";
/// The age from which an unfinished file counts as left behind by a process that ended.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Compiled kernels on disk. Clones are cheap, and any number of processes and threads may use the same folder.
///
/// Cache entries are trusted like compiled code: the folder is created for its owner alone, and a folder that others
/// can write to should not be used. When the cache entries exceed the limit, the least recently used are removed.
#[derive(Clone, Debug)]
pub struct DiskCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` if nothing is cached.
    folder: Option<PathBuf>,
    limit: u64,
    counts: Counts,
    /// The number of files that this process has written, for their names.
    written: AtomicU64,
    warned: AtomicBool,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    corrupt: AtomicU64,
    stored: AtomicU64,
    failed: AtomicU64,
    evicted: AtomicU64,
}

/// Counts of what a cache did in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Compiles that were unnecessary, as the result was in the cache.
    pub hits: u64,
    /// Compiles whose result was not in the cache, or damaged.
    pub misses: u64,
    /// Cache entries that were damaged, and therefore removed.
    pub corrupt: u64,
    /// Results that were written.
    pub stored: u64,
    /// Results that could not be written.
    pub failed: u64,
    /// Cache entries that were removed because the limit was exceeded.
    pub evicted: u64,
}

impl DiskCache {
    /// Creates a cache in a folder with a limit of [`DEFAULT_LIMIT`] bytes. The folder is created when something is
    /// stored.
    pub fn new(folder: impl AsRef<Path>) -> DiskCache {
        DiskCache::with_limit(folder, DEFAULT_LIMIT)
    }

    /// Creates a cache in a folder with a limit of `limit` bytes.
    pub fn with_limit(folder: impl AsRef<Path>, limit: u64) -> DiskCache {
        let folder = folder.as_ref();
        // Absolute, so that a program that changes its directory keeps its cache.
        DiskCache::of(Some(std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf())), limit)
    }

    /// Creates a cache that stores nothing: every source is compiled.
    pub fn off() -> DiskCache {
        DiskCache::of(None, 0)
    }

    /// Returns the process's cache, which is the default of compilers. Its folder is that of [`CACHE_VARIABLE`], else
    /// `hiplaunch` in the platform's folder for caches (`$XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches`;
    /// `%LOCALAPPDATA%`). The environment is read once.
    pub fn shared() -> DiskCache {
        static SHARED: OnceLock<DiskCache> = OnceLock::new();
        let shared = SHARED.get_or_init(|| match place(|name| std::env::var_os(name)) {
            Some(folder) => DiskCache::new(folder),
            None => DiskCache::off(),
        });
        shared.clone()
    }

    fn of(folder: Option<PathBuf>, limit: u64) -> DiskCache {
        let (counts, written, warned) = Default::default();
        DiskCache(Arc::new(Inner { folder, limit, counts, written, warned }))
    }

    /// Returns the folder; `None` if nothing is cached.
    pub fn folder(&self) -> Option<&Path> {
        self.0.folder.as_deref()
    }

    /// Returns what the cache did so far, through all clones of this value.
    pub fn counters(&self) -> CacheCounters {
        let c = &self.0.counts;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheCounters {
            hits: of(&c.hits),
            misses: of(&c.misses),
            corrupt: of(&c.corrupt),
            stored: of(&c.stored),
            failed: of(&c.failed),
            evicted: of(&c.evicted),
        }
    }

    /// Returns what `read` makes of a key's entry. An entry that `read` rejects counts as damaged. Counts a hit; the
    /// caller counts a miss with [`miss`](DiskCache::miss), as it may look twice.
    pub(crate) fn get<T>(&self, key: &Digest, read: impl FnOnce(Entry) -> Result<T, String>) -> Option<T> {
        let path = self.path(key)?;
        let bytes = match bytes_of(&path, self.0.limit) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => {
                self.warn("can't be read", &path, &e);
                return None;
            }
        };
        match decode(key, &bytes).map_err(str::to_owned).and_then(read) {
            Ok(found) => {
                count(&self.0.counts.hits);
                // The time of the file says when it was last used. If it can't be set, the file is evicted sooner.
                let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Some(found)
            }
            Err(why) => {
                count(&self.0.counts.corrupt);
                log::warn!("{} is damaged ({why}): removed, and compiled again", path.display());
                // A file that can't be removed is overwritten later.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Counts a result that must be compiled.
    pub(crate) fn miss(&self) {
        count(&self.0.counts.misses);
    }

    /// Stores an entry if possible, and evicts others to stay within the limit.
    pub(crate) fn put(&self, key: &Digest, entry: &Entry) {
        let (Some(folder), Some(path)) = (self.folder(), self.path(key)) else { return };
        let bytes = encode(key, entry);
        if bytes.len() as u64 > self.0.limit {
            log::debug!("{} bytes are over the limit of {}", bytes.len(), folder.display());
            return;
        }
        match self.write(folder, &path, &bytes) {
            Ok(()) => count(&self.0.counts.stored),
            Err(e) => {
                count(&self.0.counts.failed);
                self.warn("can't be written; what is compiled is not kept", &path, &e);
                return;
            }
        }
        if let Err(e) = self.evict(folder, &path) {
            self.warn("can't be listed; nothing is evicted", folder, &e);
        }
    }

    fn path(&self, key: &Digest) -> Option<PathBuf> {
        Some(self.folder()?.join(key.hex()).with_extension(ENTRY))
    }

    /// Writes a complete file or none.
    fn write(&self, folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        make(folder)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // The time, as processes in other containers may have the same process number.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = self.0.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{stem}.{}-{now}-{number}.{UNFINISHED}", std::process::id()));
        let mut file = File::create_new(&unfinished)?;
        let written = file.write_all(bytes);
        // Closed before it is renamed, as Windows requires.
        drop(file);
        written.and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| {
            // An error of this call is ignored: the error that led here is returned.
            let _ = fs::remove_file(&unfinished);
        })
    }

    /// Removes the least recently used entries until the rest is within the limit, and files that dead processes left.
    /// Other processes may do the same meanwhile, so a missing file is no error.
    fn evict(&self, folder: &Path, newest: &Path) -> io::Result<()> {
        let (mut entries, mut total) = (Vec::new(), 0u64);
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            let Ok(data) = path.symlink_metadata() else { continue };
            if !data.is_file() {
                continue;
            }
            let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let extension = path.extension().unwrap_or_default();
            if extension == UNFINISHED && used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(&path);
            } else if extension == ENTRY {
                total = total.saturating_add(data.len());
                entries.push((used, data.len(), path));
            }
        }
        if total <= self.0.limit {
            return Ok(());
        }
        entries.sort();
        for (_, bytes, path) in entries.iter().filter(|(_, _, path)| path != newest) {
            if fs::remove_file(path).is_ok() {
                count(&self.0.counts.evicted);
            }
            total = total.saturating_sub(*bytes);
            if total <= self.0.limit {
                break;
            }
        }
        Ok(())
    }

    /// Warns once for each cache: a folder that is full or read-only is so for every kernel.
    fn warn(&self, what: &str, path: &Path, error: &io::Error) {
        if self.0.warned.swap(true, Ordering::Relaxed) {
            log::debug!("cache of compiled kernels: {} {what}: {error}", path.display());
        } else {
            log::warn!(
                "cache of compiled kernels: {} {what}: {error}; {CACHE_VARIABLE} names another folder, or `off`",
                path.display()
            );
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Returns a file's bytes. A file that is larger than any entry is read in part, and so is found to be damaged.
fn bytes_of(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Reading what is not a regular file, such as a pipe, might never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.max(DEFAULT_LIMIT)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a folder for its owner alone.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the folder of the process's cache, from the environment.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // As XDG's specification says, a relative path is ignored.
    let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
    match path(CACHE_VARIABLE) {
        Some(off) if off.as_os_str() == "off" => return None,
        Some(folder) => return Some(folder),
        None => {}
    }
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("hiplaunch"))
}

#[cfg(test)]
mod tests;
