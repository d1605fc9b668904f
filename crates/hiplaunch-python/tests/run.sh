#!/usr/bin/env bash
# Builds the wheel, installs it for each Python that is named, and runs the package's tests there:
#
#     crates/hiplaunch-python/tests/run.sh [PYTHON...]
#
# Without arguments: the oldest and the newest Python here, from 3.9 on. Needs pip and what it fetches: maturin, numpy, pytest, mypy,
# and Ray if there is one for the Python.
# HIPLAUNCH_WHEEL_LIBRARIES may name a folder in which the libraries of `hiplaunch exec` are built already, and HIPLAUNCH_WHEEL_FOLDER
# one that keeps the wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

say() { printf '\n-- %s\n' "$*"; }

# The Pythons here, a line for each: its version, such as 3.13, and its program. Those that can't make environments are left out.
pythons() {
  local python
  for python in /usr/bin/python3 "$(command -v python3 || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
    [[ -x $python ]] || continue
    "$python" -c 'import ensurepip, sys, venv; sys.version_info >= (3, 9) and print("3.%d" % sys.version_info[1], sys.executable)' 2>/dev/null || true
  done | sort -t. -k2 -n -u
}
chosen=("$@")
if ((${#chosen[@]} == 0)); then
  mapfile -t chosen < <(pythons | sed -n '1p;$p' | cut -d' ' -f2 | uniq)
fi
if ((${#chosen[@]} == 0)); then
  echo "no Python of 3.9 or newer with venv and ensurepip" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "the wheel"
newest=${chosen[-1]}
"$newest" -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.13,<2'
"$work/build/bin/maturin" build --release --quiet --interpreter "$newest" --out "${HIPLAUNCH_WHEEL_FOLDER:=$work/wheel}"
wheel=("$HIPLAUNCH_WHEEL_FOLDER"/*.whl)
echo "$(basename "${wheel[0]}"): $(stat -c %s "${wheel[0]}") bytes"
# The emulator is in it three times: in the module, and in the libraries with HIP's and with HSA's functions.
if (($(stat -c %s "${wheel[0]}") > 19 << 20)); then
  echo "the wheel has more than 19 MiB" >&2
  exit 1
fi

for python in "${chosen[@]}"; do
  say "$("$python" --version): the package alone"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --no-index "${wheel[0]}"
  "$work/venv/bin/python" -m hiplaunch demo --backend emulator --launches 20
  say "$("$python" --version): tests"
  "$work/venv/bin/pip" install --quiet numpy pytest mypy
  # Fleets are tested with one Python, since Ray takes seconds to start.
  [[ $python != "$newest" ]] || "$work/venv/bin/pip" install --quiet ray || echo "pip can't fetch Ray: no tests of fleets"
  "$work/venv/bin/python" -m pytest --quiet -rs -p no:cacheprovider crates/hiplaunch-python/tests
  rm -rf "$work/venv"
done
