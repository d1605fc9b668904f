//! The cache on disk: code objects by everything that decides what they are, in one folder that processes share.
//!
//! A file is written under another name and then renamed, so that nobody ever finds half of one; a digest tells when the
//! disk lost some of it all the same, so that nothing is flushed to the disk here. What can't be written is not kept: the
//! compile's result is there anyway.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use super::digest::Digest;
use super::entry::{Entry, decode, encode};

/// Names the folder of the cache on disk that every compiler uses unless it is given another; `off` for none.
pub const CACHE_VARIABLE: &str = "HIPLAUNCH_CACHE_DIR";

/// Most bytes that a cache keeps, where nothing else is said: some ten thousand kernels.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// What the names of entries end with.
const ENTRY: &str = "hlco";
/// What the names of files end with that are being written.
const UNFINISHED: &str = "tmp";
/// A file that has been unfinished for so long is one that a process left behind when it ended.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Compiled kernels on disk. Cheap to clone; any number of processes and threads may use the same folder.
///
/// Entries are trusted as compiled code is: the folder is made for its owner alone, and one that others can write to
/// should not be used. When the entries take more than the limit, those go that were used longest ago.
#[derive(Clone, Debug)]
pub struct DiskCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` where nothing is kept.
    folder: Option<PathBuf>,
    limit: u64,
    counts: Counts,
    /// Files written by this process so far, for their names.
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

/// What a cache did in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Compiles that were not needed, as the result was there.
    pub hits: u64,
    /// Compiles whose result was not there, or not whole.
    pub misses: u64,
    /// Entries that were found to be damaged; they are removed.
    pub corrupt: u64,
    /// Results that were written.
    pub stored: u64,
    /// Results that could not be written.
    pub failed: u64,
    /// Entries that were removed, as all of them took more than the limit.
    pub evicted: u64,
}

impl DiskCache {
    /// A cache in that folder, which is made when something is first kept, of at most [`DEFAULT_LIMIT`] bytes.
    pub fn new(folder: impl AsRef<Path>) -> DiskCache {
        DiskCache::with_limit(folder, DEFAULT_LIMIT)
    }

    /// The same with another limit in bytes.
    pub fn with_limit(folder: impl AsRef<Path>, limit: u64) -> DiskCache {
        let folder = folder.as_ref();
        // A program that changes its directory later keeps its cache.
        DiskCache::of(Some(std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf())), limit)
    }

    /// No cache: every source is compiled.
    pub fn off() -> DiskCache {
        DiskCache::of(None, 0)
    }

    /// The process's cache, which compilers use unless told otherwise: in [`CACHE_VARIABLE`]'s folder, else in `hiplaunch`
    /// below the platform's folder for caches (`$XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches`; `%LOCALAPPDATA%`). The
    /// environment is read once.
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

    /// Its folder; `None` where nothing is kept.
    pub fn folder(&self) -> Option<&Path> {
        self.0.folder.as_deref()
    }

    /// What it did so far, through every clone of this value.
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

    /// What `read` makes of a key's entry; one that it refuses counts as damaged. Counts a hit; a miss is counted by
    /// [`miss`](DiskCache::miss), as who compiles may look twice.
    pub(super) fn get<T>(&self, key: &Digest, read: impl FnOnce(Entry) -> Result<T, String>) -> Option<T> {
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
                // Its time says when it was used last. Where that can't be set, it goes sooner.
                let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Some(found)
            }
            Err(why) => {
                count(&self.0.counts.corrupt);
                log::warn!("{} is damaged ({why}): removed, and compiled again", path.display());
                // What can't be removed is written over.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Counts a result that has to be made.
    pub(super) fn miss(&self) {
        count(&self.0.counts.misses);
    }

    /// Keeps an entry, if that can be done, and lets others go for it.
    pub(super) fn put(&self, key: &Digest, entry: &Entry) {
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

    /// Writes a file whole or not at all.
    fn write(&self, folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        make(folder)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // The time, as processes in other containers may have the same number.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = self.0.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{stem}.{}-{now}-{number}.{UNFINISHED}", std::process::id()));
        let mut file = File::create_new(&unfinished)?;
        let written = file.write_all(bytes);
        // Closed before it is renamed, as Windows wants it.
        drop(file);
        written.and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| {
            // An error here has no news: the one that led here is told.
            let _ = fs::remove_file(&unfinished);
        })
    }

    /// Removes the entries used longest ago until the rest is within the limit, and what dead processes left. Others may do
    /// the same meanwhile: what is gone is gone.
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

    /// Once a cache: a folder that is full or read-only is that for every kernel.
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

/// A file's bytes. One that is larger than any entry is read as cut, and found to be damaged.
fn bytes_of(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // What is no file, a pipe for one, might never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.max(DEFAULT_LIMIT)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a folder, for its owner alone.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Where the process's cache is, from its environment.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // As XDG's specification has it: a relative path is none.
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
