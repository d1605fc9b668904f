#!/usr/bin/env bash
# Installs the C library: header, libhiplaunch.so.VERSION with the links that programs and linkers look for,
# libhiplaunch.a and the files for pkg-config and CMake.
#
#   hip/install.sh [--prefix DIR] [--from DIR]
#
#   --prefix DIR  where to: DIR/include, DIR/lib, DIR/lib/pkgconfig, DIR/lib/cmake (default: /usr/local). DESTDIR goes before it.
#   --from DIR    where the built libraries are; without it, they are built: cargo build --release -p libhiplaunch
set -euo pipefail

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }
fail() {
  echo "install.sh: $*" >&2
  exit 2
}

prefix=/usr/local from=
while (($#)); do
  case $1 in
    --prefix | --from)
      [[ -n ${2:-} ]] || fail "$1 needs a folder"
      [[ $1 == --prefix ]] && prefix=$2 || from=$2
      shift 2
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) fail "unknown argument $1; see --help" ;;
  esac
done
[[ $prefix == /* ]] || fail "--prefix $prefix is not absolute"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -z $from ]]; then
  cargo build --release --package libhiplaunch --manifest-path "$root/Cargo.toml"
  from=${CARGO_TARGET_DIR:-$root/target}/release
fi
for library in libhiplaunch.so libhiplaunch.a; do
  [[ -f $from/$library ]] || fail "no $library in $from: cargo build --release -p libhiplaunch makes it"
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
[[ -n $version ]] || fail "no version in $root/Cargo.toml"

to=${DESTDIR:-}$prefix
install -d "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/hiplaunch"
install -m 644 "$root/hip/hiplaunch.h" "$to/include/"
# The loader looks for the soname, the linker for the plain name; both lead to the one file.
soname=$(sed -n 's/^const SONAME: &str = "\(.*\)";/\1/p' "$root/crates/libhiplaunch/build.rs")
[[ $soname == libhiplaunch.so.* ]] || fail "no soname in $root/crates/libhiplaunch/build.rs"
file=libhiplaunch.so.$version
[[ $version == "${soname##*.so.}".* ]] || file=$soname.$version
install -m 755 "$from/libhiplaunch.so" "$to/lib/$file"
ln -sf "$file" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libhiplaunch.so"
install -m 644 "$from/libhiplaunch.a" "$to/lib/"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" "$root/hip/hiplaunch.pc.in" >"$to/lib/pkgconfig/hiplaunch.pc"
chmod 644 "$to/lib/pkgconfig/hiplaunch.pc"
# CMake wants the libraries of a static link as a list of names.
private=$(sed -n 's/^Libs.private: //p' "$root/hip/hiplaunch.pc.in" | sed 's/-l//g; s/ /;/g')
for config in hiplaunch-config.cmake hiplaunch-config-version.cmake; do
  sed "s|@VERSION@|$version|; s|@FILE@|$file|; s|@SONAME@|$soname|; s|@PRIVATE_LIBRARIES@|$private|" "$root/hip/$config.in" \
    >"$to/lib/cmake/hiplaunch/$config"
  chmod 644 "$to/lib/cmake/hiplaunch/$config"
done
echo "installed hiplaunch $version in $to"
