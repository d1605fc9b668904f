#!/usr/bin/env python3
"""Prints the size and the structure of the project, at a commit and in this checkout.

    scripts/structure.py [--base REVISION] [--functions] [--change REVISION ...]

By crate, and in all:

- lines: every line of the .rs files under src/ and of build.rs, less tests (modules behind `#[cfg(test)]`, and files and
  folders that are called tests or end with _tests).
- arrows up: pairs of modules of a crate of which the first uses the second, although it stands below it. The modules are
  put in the order that makes these fewest, as far as a search finds it: 0 means that no modules use each other, and each
  further arrow is part of a cycle. `src/a.rs` and `src/a/` are one module, and folders in them are not looked into.
- functions of more than 80 lines; --functions lists those of this checkout.
- public items: lines that begin with `pub fn`, `pub struct` and so on. It is an approximation: an item may be public in a
  private module, and one `pub use` may name many.

--change prints how many files outside tests a commit changes: what a typical change touches.

It needs git, Python 3.9 and the history of the project. A crate that was split is compared as it is: its lines are under
two names afterwards.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BASE = "6c598568"
LONG = 80
ITEM = re.compile(
    r"^\s*pub (?:(?:async|const|unsafe|extern \"[^\"]*\") )*(?:fn|struct|enum|trait|type|const|static|mod|use|union|macro)\b"
)
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern \"C\") )*fn (\w+)")


def git(*command):
    return subprocess.run(("git",) + command, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_test(path):
    """Whether a file has nothing but tests, by its path."""
    names = [*path.parts[:-1], path.stem]
    return any(name in ("tests", "benches", "examples", "fuzz", "testing") or name.endswith("_tests") for name in names)


def block_end(lines, start, indent):
    """The line after the item that begins at a line; rustfmt closes it at the indentation of its first line."""
    for i in range(start, len(lines)):
        if lines[i].startswith((indent + "}", indent + ");")) or (i == start and lines[i].rstrip().endswith(("}", ";"))):
            return i + 1
    return len(lines)


def without_tests(text):
    """The lines outside `#[cfg(test)]` items, and the names of test modules in files of their own."""
    lines, kept, modules, i = text.splitlines(), [], [], 0
    while i < len(lines):
        match = re.match(r"^(\s*)#\[cfg\((?:all\()?test\b.*\)\]$", lines[i])
        if not match:
            kept.append(lines[i])
            i += 1
            continue
        i += 1
        while i < len(lines) and re.match(r"^\s*(#\[|//)", lines[i]):
            i += 1
        own_file = re.match(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", lines[i]) if i < len(lines) else None
        if own_file:
            modules.append(own_file.group(1))
        i = block_end(lines, i, match.group(1))
    return kept, modules


def sources(package):
    """The source files of a package with their lines, without those of tests."""
    files, dropped = {}, set()
    for path in sorted((package / "src").rglob("*.rs")) + [f for f in [package / "build.rs"] if f.is_file()]:
        if is_test(path.relative_to(package)):
            continue
        files[path], modules = without_tests(path.read_text(encoding="utf-8"))
        home = path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")
        for module in modules:
            dropped.update([home / f"{module}.rs", home / module])
    return {path: lines for path, lines in files.items() if not dropped.intersection([path, *path.parents])}


def functions(lines):
    """The name and the number of lines of each function with a body."""
    for i, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match:
            continue
        # A signature over several lines ends with `{`, or with `;` if there is no body.
        head = i
        while head + 1 < len(lines) and not lines[head].rstrip().endswith(("{", "}", ";")):
            head += 1
        if lines[head].rstrip().endswith("{"):
            yield match.group(2), block_end(lines, head, match.group(1)) - i


def used_modules(path, lines, root):
    """The modules of the crate that a file names, by `crate::` or by `super::` up to the crate."""
    depth = len([part for part in path.relative_to(root).with_suffix("").parts if part != "mod"])
    code = "\n".join(line.split("//")[0] for line in lines)
    for prefix in ("crate::", "super::" * depth):
        for match in re.finditer(r"(?<![\w:])" + prefix + r"(\w+|\{)", code):
            if match.group(1) != "{":
                yield match.group(1)
                continue
            level, begins = 1, True
            for word in re.finditer(r"\w+|[^\w\s]", code[match.end() :]):
                word = word.group()
                if begins and level == 1 and word.isidentifier():
                    yield word
                level += {"{": 1, "}": -1}.get(word, 0)
                begins = word == ","
                if level == 0:
                    break


def arrows_up(files, package):
    """The fewest arrows between modules that run up, over the orders that a search tries."""
    root = package / "src"
    module = {path: path.relative_to(root).parts[0].removesuffix(".rs") for path in files if root in path.parents}
    modules, arrows = set(module.values()) - {"lib", "main"}, set()
    for path, own in module.items():
        arrows.update((own, other) for other in used_modules(path, files[path], root) if other != own and {own, other} <= modules)
    used = {m: {b for a, b in arrows if a == m} for m in modules}
    users = {m: {a for a, b in arrows if b == m} for m in modules}
    order = sorted(modules, key=lambda m: (len(users[m]) - len(used[m]), m))
    best = len(arrows) + 1
    while True:
        place = {m: i for i, m in enumerate(order)}
        count = sum(place[a] > place[b] for a, b in arrows)
        if count >= best:
            return best
        best = count
        for m in list(order):  # each goes where it has fewest arrows up, while the others stay
            others = [o for o in order if o != m]
            wrong = fewest = len(users[m])
            at = 0
            for i, other in enumerate(others, 1):
                wrong += (other in used[m]) - (other in users[m])
                if wrong < fewest:
                    fewest, at = wrong, i
            order = others[:at] + [m] + others[at:]


def measure(root):
    """The figures of each crate by their names, and all long functions."""
    packages = {"hiplaunch": root} | {p.parent.name: p.parent for p in sorted(root.glob("crates/*/Cargo.toml"))}
    figures, all_long = {}, []
    for name, package in packages.items():
        files = sources(package)
        long = [(n, f, path.relative_to(root)) for path, lines in files.items() for f, n in functions(lines) if n > LONG]
        figures[name] = {
            "lines": sum(map(len, files.values())),
            "arrows up": arrows_up(files, package),
            f"functions over {LONG} lines": len(long),
            "public items": sum(1 for lines in files.values() for line in lines if ITEM.match(line)),
        }
        all_long += long
    return figures, sorted(all_long, reverse=True)


def at_revision(revision):
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.Popen(["git", "archive", revision], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f"no commit {revision} here")
        return measure(Path(folder))


def print_row(name, before, after):
    shown = ["-" if n is None else f"{n:,}" for n in (before, after)]
    print(f"  {name:24}{shown[0]:>10}{shown[1]:>10}{(after or 0) - (before or 0):>+10,}")


def print_change(revision):
    changed = [path for path in map(Path, git("show", "--format=", "--name-only", revision).split()) if not is_test(path)]
    print(f"{git('show', '-s', '--format=%h %s', revision).strip()}: {len(changed)} files outside tests")
    for path in changed:
        print(f"  {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=BASE, help="the commit to compare with (%(default)s)")
    parser.add_argument("--functions", action="store_true", help=f"list the functions of more than {LONG} lines")
    parser.add_argument("--change", nargs="*", default=[], metavar="REVISION", help="commits whose changed files are listed")
    args = parser.parse_args()
    (before, _), (after, long) = at_revision(args.base), measure(Path(git("rev-parse", "--show-toplevel").strip()))
    crates = sorted(before.keys() | after.keys())
    for kind in after["hiplaunch"]:
        print(f"{kind:26}{args.base[:9]:>10}{'now':>10}")
        sides = [[side.get(crate, {}).get(kind) for side in (before, after)] for crate in crates]
        for crate, (old, new) in zip(crates, sides):
            if old or new:
                print_row(crate, old, new)
        print_row("all", *(sum(filter(None, column)) for column in zip(*sides)))
        print()
    if args.functions:
        print(f"functions over {LONG} lines")
        for lines, name, path in long:
            print(f"  {lines:>4}  {name:32} {path}")
        print()
    for revision in args.change:
        print_change(revision)


if __name__ == "__main__":
    main()
