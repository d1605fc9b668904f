//! Tests of the cache on disk, without a compiler.

use std::sync::atomic::AtomicU32;

use super::*;
use crate::digest::digest;

/// A new folder for one test, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hiplaunch-cache-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Folder(folder)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn entry(bytes: usize) -> Entry {
    Entry { log: "a warning".to_owned(), code: vec![7; bytes], ..Entry::default() }
}

fn get(cache: &DiskCache, key: &Digest) -> Option<Entry> {
    cache.get(key, Ok)
}

#[test]
fn an_entry_is_found_by_another_cache_in_the_same_folder() {
    let folder = Folder::new();
    let (one, other) = (DiskCache::new(&folder.0), DiskCache::new(&folder.0));
    let key = digest(b"a");
    assert_eq!(get(&one, &key), None);
    one.put(&key, &entry(100));
    assert_eq!(get(&other, &key), Some(entry(100)));
    assert_eq!(get(&other, &digest(b"b")), None);
    assert_eq!(one.counters(), CacheCounters { stored: 1, ..Default::default() });
    assert_eq!(other.clone().counters(), CacheCounters { hits: 1, ..Default::default() });
    assert_eq!(folder.files(), [format!("{}.hlco", key.hex())]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&folder.0).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_damaged_entry_is_removed_and_counted() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let key = digest(b"a");
    cache.put(&key, &entry(100));
    let path = cache.path(&key).unwrap();
    let good = fs::read(&path).unwrap();
    for bad in [&good[..good.len() / 2], b"", &[&good[..], b"more"].concat(), &vec![0; good.len()]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(get(&cache, &key), None);
        assert!(!path.exists());
    }
    // Another key's entry under this name.
    cache.put(&digest(b"b"), &entry(100));
    fs::rename(cache.path(&digest(b"b")).unwrap(), &path).unwrap();
    assert_eq!(get(&cache, &key), None);
    assert_eq!(cache.counters(), CacheCounters { stored: 2, corrupt: 5, ..Default::default() });
    cache.put(&key, &entry(100));
    assert_eq!(get(&cache, &key), Some(entry(100)));
    // Undamaged, but the caller cannot read it.
    assert_eq!(cache.get(&key, |_| Err::<(), _>("no code object".to_owned())), None);
    assert!(!path.exists());
    assert_eq!((cache.counters().corrupt, cache.counters().hits), (6, 1));
}

#[test]
fn the_least_recently_used_entries_are_evicted_at_the_limit() {
    let folder = Folder::new();
    let size = encode(&digest(b""), &entry(1000)).len() as u64;
    let cache = DiskCache::with_limit(&folder.0, 3 * size);
    let keys: Vec<_> = (0..5u8).map(|i| digest(&[i])).collect();
    let long_ago = |key: &Digest, seconds: u64| {
        let file = File::options().write(true).open(cache.path(key).unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for (i, key) in keys[..3].iter().enumerate() {
        cache.put(key, &entry(1000));
        long_ago(key, 100 - i as u64);
    }
    // The oldest is used, which makes it the newest.
    assert!(get(&cache, &keys[0]).is_some());
    cache.put(&keys[3], &entry(1000));
    let there = |key: &Digest| cache.path(key).unwrap().exists();
    assert_eq!(keys.iter().map(there).collect::<Vec<_>>(), [true, false, true, true, false]);
    assert_eq!(cache.counters().evicted, 1);
    // A small one needs space too. One larger than the limit is not stored and evicts nothing.
    cache.put(&keys[4], &entry(10));
    assert_eq!(keys.iter().map(there).collect::<Vec<_>>(), [true, false, false, true, true]);
    cache.put(&keys[1], &entry(4000));
    assert_eq!(keys.iter().map(there).collect::<Vec<_>>(), [true, false, false, true, true]);
}

#[test]
fn files_of_dead_processes_are_removed_and_others_kept() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    fs::create_dir_all(&folder.0).unwrap();
    let age = |name: &str, seconds: u64| {
        let file = File::create(folder.0.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    age("old.tmp", 7200);
    age("fresh.tmp", 5);
    age("README", 100_000);
    let key = digest(b"a");
    cache.put(&key, &entry(10));
    let mut expected = vec!["README".to_owned(), format!("{}.hlco", key.hex()), "fresh.tmp".to_owned()];
    expected.sort();
    assert_eq!(folder.files(), expected);
}

#[test]
fn an_unusable_folder_stores_nothing_and_is_no_error() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("file");
    fs::write(&file, b"").unwrap();
    // There can be no folder below a file.
    let cache = DiskCache::new(file.join("cache"));
    cache.put(&digest(b"a"), &entry(10));
    cache.put(&digest(b"b"), &entry(10));
    assert_eq!(get(&cache, &digest(b"a")), None);
    assert_eq!(cache.counters(), CacheCounters { failed: 2, ..Default::default() });
    // A folder at the entry's path: it can be neither read nor replaced, and no unfinished file is left.
    let cache = DiskCache::new(&folder.0);
    let key = digest(b"c");
    fs::create_dir_all(cache.path(&key).unwrap().join("inside")).unwrap();
    assert_eq!(get(&cache, &key), None);
    cache.put(&key, &entry(10));
    assert_eq!(cache.counters(), CacheCounters { failed: 1, ..Default::default() });
    assert_eq!(folder.files().iter().filter(|name| name.ends_with("tmp")).count(), 0);
}

#[test]
fn a_cache_that_is_off_stores_nothing() {
    let cache = DiskCache::off();
    cache.put(&digest(b"a"), &entry(10));
    assert_eq!((get(&cache, &digest(b"a")), cache.folder()), (None, None));
    assert_eq!(cache.counters(), CacheCounters::default());
}

#[test]
fn threads_that_write_the_same_entry_leave_one() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let key = digest(b"a");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    cache.put(&key, &entry(5000));
                    assert_eq!(get(&cache, &key), Some(entry(5000)));
                }
            });
        }
    });
    let counters = cache.counters();
    assert_eq!((counters.stored, counters.hits, counters.corrupt, counters.failed), (400, 400, 0, 0));
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn the_folder_is_that_of_the_variable_or_of_the_platform() {
    let of = |set: &[(&str, &str)]| {
        place(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[(CACHE_VARIABLE, "off"), ("HOME", "/home/me")]), None);
    assert_eq!(of(&[(CACHE_VARIABLE, "/there"), ("HOME", "/home/me")]), Some("/there".into()));
    if cfg!(all(unix, not(target_os = "macos"))) {
        let home = Some(PathBuf::from("/home/me/.cache/hiplaunch"));
        assert_eq!(of(&[("HOME", "/home/me")]), home);
        assert_eq!(of(&[(CACHE_VARIABLE, ""), ("HOME", "/home/me")]), home);
        assert_eq!(of(&[("XDG_CACHE_HOME", "relative"), ("HOME", "/home/me")]), home);
        assert_eq!(of(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/home/me")]), Some("/c/hiplaunch".into()));
    }
}
