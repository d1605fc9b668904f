# What the steps share. A step is run in any folder, and works in the project's.
set -euo pipefail
ci=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$ci/.."
target=${CARGO_TARGET_DIR:-$PWD/target}

# A step that is run alone has a folder of its own.
if [[ -z ${CI_WORK:-} ]]; then
  CI_WORK=$(mktemp -d)
  export CI_WORK
  trap 'rm -rf "$CI_WORK"' EXIT
fi

step() { # step COMMAND...: prints it, runs it and says how long it took
  local began=$SECONDS
  printf '\n== %s\n' "$*"
  "$@"
  printf -- '-- %d s\n' $((SECONDS - began))
}
left_out() { printf '\n== left out: %s\n' "$*"; }

installed() { # installed PACKAGE...: whether Debian's packages are here
  dpkg -s "$@" >/dev/null 2>&1
}

# A test that skips for want of hiprtc fails where it is installed.
if installed libamdhip64-5 libhiprtc-builtins5 libamd-comgr2; then
  export HIPLAUNCH_TEST_HIPRTC=1
fi

# tool CRATE: whether the program of that name is here, or can be installed from crates.io; unoptimised, as it runs once.
# Kept between runs: building them takes minutes.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/hiplaunch-ci
PATH=$PATH:$tools/bin
tool() {
  command -v "$1" >/dev/null && return
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_TARGET_DIR=$tools \
    cargo install --quiet --locked --root "$tools" "$@" && rm -rf "$tools/release"
}

# What steps run optimised. Which packages a command names decides the features of what they share, so all steps name the same
# ones: the emulator takes minutes to compile. With the Python package, they are those with which the wheel is built.
hiplaunch=$target/release/hiplaunch
examples=$target/release/examples
release() {
  local names=(jit lds_layout lazy_chain run_script differential disassemble)
  step cargo build --release -p hiplaunch -p hiplaunch-cli -p libhiplaunch -p amdgpu-emulator -p amdgpu-isa -p lds-layout \
    -p hiplaunch-tensor -p hiplaunch-python --lib --bins "${names[@]/#/--example=}"
}

# tinygrad_tests CHECKOUT TESTS...: tinygrad's own tests, on the Python that has the package and tinygrad.
tinygrad_tests() {
  local llvm
  llvm=$(find /usr/lib -name 'libLLVM.so.22*' -o -name 'libLLVM-22.so*' | head -n 1)
  if installed clang-22 lld-22 && [[ -n $llvm ]]; then
    step env PYTHON="$python" LLVM_PATH="$llvm" CC=clang-22 timeout 240 tests/tinygrad/run.sh "$@"
  else
    left_out "tinygrad's own tests: no clang-22, lld-22 and libLLVM 22, which compile for gfx942"
  fi
}

# The Python of a fresh environment with the package; steps/python makes it.
python=$CI_WORK/python/bin/python
python_package() { # whether it is here; fails if its tests fail
  if [[ ! -e $CI_WORK/python.done ]]; then "$ci/steps/python" || exit 1; fi
  [[ -d $CI_WORK/wheel ]]
}

# Tests as programs: the binary of each of tests/NAME.rs or tests/NAME/, whichever package they are in.
declare -A suite_binary suite_folder
find_suites() { # find_suites NAME...: builds them
  local name folder binary
  while read -r name folder binary; do
    suite_binary[$name]=$binary suite_folder[$name]=$folder
  done < <(cargo test --workspace --no-run --message-format json-render-diagnostics "${@/#/--test=}" |
    sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"kind":\["test"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*|\2 \1 \3|p')
  for name in "$@"; do [[ -n ${suite_binary[$name]:-} ]] || { echo "no tests $name"; return 1; }; done
}
suite() { # suite NAME ON ARGUMENT...: ON is a function that runs a command, and gives up what hangs
  local name=$1 on=$2
  (cd "${suite_folder[$name]}" && CARGO_MANIFEST_DIR=$PWD $on "${suite_binary[$name]}" "${@:3}")
}
