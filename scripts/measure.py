#!/usr/bin/env python3
"""Prints how large the project is, for this checkout beside the commit 344af06 or another one.

    scripts/measure.py [--base REVISION] [--build-times]

- lines by crate, without tests: every line of the .rs files under src/ and in build.rs, less modules behind
  `#[cfg(test)]`, files that such a module is in, and files called tests.rs or *_tests.rs. At 344af06 most crates were
  folders of one package; they are counted under the crate that their code is in now.
- public items by crate: lines of the same that begin with `pub fn`, `pub struct`, `pub enum`, `pub trait`, `pub type`,
  `pub const`, `pub static`, `pub mod`, `pub use`, `pub union` or `pub macro`, also `pub unsafe fn` and the like. It is an
  approximation: an item may be public in a private module, and one `pub use` may name many.
- methods of trait Driver.
- files outside tests that the last commit whose subject ends with `host_register, host_unregister` touches.
- packages that the package hiplaunch depends on with its default features, itself among them.
- with --build-times, seconds of a cold `cargo build --release` of the command line, in a target directory of its own.

It needs git, cargo and Python 3.9, and the history of the project.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASE = "344af06"

# Where the folders of the one package are now; the first that matches counts.
MOVED = [
    ("src/driver/timeline/chrome.rs", "hiplaunch-reports"),
    ("src/lds/svg.rs", "hiplaunch-reports"),
    ("src/memory/pool/picture.rs", "hiplaunch-reports"),
    ("src/offsets/picture.rs", "hiplaunch-reports"),
    ("src/cli", "hiplaunch-cli"),
    ("src/script", "hiplaunch-cli"),
    ("src/main.rs", "hiplaunch-cli"),
    ("src/capi", "hiplaunch-capi"),
    ("src/compile", "hip-driver"),
    ("src/library.rs", "hip-driver"),
    ("src/driver/emulated", "hip-driver-emulated"),
    ("src/driver/validation", "hip-driver-layers"),
    ("src/driver/timeline", "hip-driver-layers"),
    ("src/driver/backend", "hiplaunch"),
    ("src/driver", "hip-driver"),
    ("src/offsets", "offset-planner"),
    ("src/lds", "lds-layout"),
    ("src/tensor", "hiplaunch-tensor"),
    ("src/svg.rs", "hiplaunch-reports"),
]

ITEM = re.compile(
    r"^\s*pub (?:(?:async|const|unsafe|extern \"[^\"]*\") )*(?:fn|struct|enum|trait|type|const|static|mod|use|union|macro)\b"
)


def run(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_test(path):
    """Whether a file has nothing but tests, by its path."""
    parts = path.parts
    if path.name == "tests.rs" or path.name.endswith("_tests.rs"):
        return True
    return any(part in ("tests", "benches", "examples", "fuzz") or part.endswith("_tests") for part in parts[:-1])


def without_tests(path):
    """The lines of a file outside `#[cfg(test)]` modules, and the names of such modules in files of their own."""
    lines, modules, kept, i = path.read_text(encoding="utf-8").splitlines(), [], [], 0
    while i < len(lines):
        match = re.match(r"^(\s*)#\[cfg\((?:all\()?test\b.*\)\]$", lines[i])
        if not match:
            kept.append(lines[i])
            i += 1
            continue
        j = i + 1
        while j < len(lines) and re.match(r"^\s*(#\[|//)", lines[j]):
            j += 1
        head = lines[j] if j < len(lines) else ""
        own_file = re.match(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", head)
        if own_file:
            modules.append(own_file.group(1))
            i = j + 1
        elif head.rstrip().endswith("{"):
            # rustfmt closes a block at the indentation of its first line.
            end = match.group(1) + "}"
            while j < len(lines) and lines[j].rstrip() != end:
                j += 1
            i = j + 1
        else:
            i = j + 1
    return kept, modules


def sources(root):
    """(crate, path, lines without tests) of each source file."""
    found = []
    packages = [(root, "hiplaunch")] + [
        (p.parent, p.parent.name) for p in sorted(root.glob("crates/*/Cargo.toml"))
    ]
    split = (root / "crates/hiplaunch-cli").is_dir()
    for folder, name in packages:
        files = sorted((folder / "src").rglob("*.rs"))
        files += [f for f in [folder / "build.rs"] if f.is_file()]
        kept, dropped = {}, set()
        for path in files:
            short = path.relative_to(folder)
            if is_test(short):
                continue
            lines, modules = without_tests(path)
            kept[path] = lines
            home = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
            for module in modules:
                dropped.update([home / f"{module}.rs", home / module])
        for path, lines in kept.items():
            if path in dropped or any(parent in dropped for parent in path.parents):
                continue
            short = path.relative_to(root).as_posix()
            crate = name
            if not split and name == "hiplaunch":
                crate = next((to for at, to in MOVED if short == at or short.startswith(at + "/") or short == at + ".rs"), name)
            found.append((crate, path, lines))
    return found


def by_crate(files, count):
    sums = {}
    for crate, _, lines in files:
        sums[crate] = sums.get(crate, 0) + count(lines)
    return sums


def driver_methods(files):
    for _, _, lines in files:
        text = "\n".join(lines)
        start = re.search(r"^pub trait Driver\b", text, re.M)
        if start:
            body = text[start.end() : text.index("\n}", start.end())]
            return len(re.findall(r"^    (?:unsafe )?fn ", body, re.M))
    return None


def host_register(revision):
    commit = run("git", "log", "-1", "--format=%H", "--grep=host_register, host_unregister$", "--extended-regexp", revision).strip()
    if not commit:
        return None
    touched = run("git", "show", "--format=", "--name-only", commit).split()
    return sum(1 for path in touched if not is_test(Path(path)) and path.endswith((".rs", ".h", ".toml")))


def dependencies(root):
    tree = run("cargo", "tree", "--locked", "-p", "hiplaunch", "-e", "normal", "--prefix", "none", cwd=root)
    return len({line.replace(" (*)", "") for line in tree.splitlines() if line})


def build_time(root):
    package = ["-p", "hiplaunch-cli"] if (root / "crates/hiplaunch-cli").is_dir() else []
    with tempfile.TemporaryDirectory() as target:
        start = time.monotonic()
        environment = dict(os.environ, CARGO_TARGET_DIR=target)
        command = ["cargo", "build", "--locked", "--release", "--bin", "hiplaunch"] + package
        subprocess.run(command, cwd=root, check=True, env=environment, stdout=sys.stderr)
        return round(time.monotonic() - start)


def measure(root, revision, build_times):
    files = sources(root)
    figures = {
        "lines": by_crate(files, len),
        "items": by_crate(files, lambda lines: sum(1 for line in lines if ITEM.match(line))),
        "methods of trait Driver": driver_methods(files),
        "files of the commit host_register": host_register(revision),
        "packages of hiplaunch by default": dependencies(root),
    }
    if build_times:
        figures["seconds of a cold release build"] = build_time(root)
    return figures


def row(name, before, after):
    shown = ["-" if n is None else f"{n:,}" for n in (before, after)]
    change = f"{(after - before) / before:+.1%}" if before and after is not None else ""
    print(f"{name:36}{shown[0]:>10}{shown[1]:>10}{change:>10}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=BASE, help="the commit to compare with (%(default)s)")
    parser.add_argument("--build-times", action="store_true", help="build both, cold, which takes minutes")
    args = parser.parse_args()
    root = Path(run("git", "rev-parse", "--show-toplevel", cwd=Path(__file__).parent).strip())
    os.chdir(root)
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.Popen(["git", "archive", args.base], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f"no commit {args.base} here")
        before = measure(Path(folder), args.base, args.build_times)
    after = measure(root, "HEAD", args.build_times)
    print(f"{'':36}{args.base[:9]:>10}{'now':>10}{'':>10}")
    for kind, title in [("lines", "lines without tests"), ("items", "public items")]:
        print(f"\n{title}")
        for crate in sorted(before[kind].keys() | after[kind].keys()):
            row("  " + crate, before[kind].get(crate), after[kind].get(crate))
        row("  all", sum(before[kind].values()), sum(after[kind].values()))
    print()
    for name in [n for n in after if n not in ("lines", "items")]:
        row(name, before[name], after[name])


if __name__ == "__main__":
    main()
