#!/bin/sh
# Runs tests that others wrote: tinygrad's own, on the device HIPLAUNCH. See README.md.
#
#   tests/tinygrad/run.sh CHECKOUT all [PYTEST-OPTIONS]     its suites of operations, graphs, schedules and several devices
#   tests/tinygrad/run.sh CHECKOUT ci [PYTEST-OPTIONS]      what CI runs: at most 3 minutes on two cores
#   tests/tinygrad/run.sh CHECKOUT instructions [PYTEST-OPTIONS]    its tests of single instructions of RDNA3, on TARGET gfx1100 or another
#   tests/tinygrad/run.sh CHECKOUT FILE... [PYTEST-OPTIONS] these of its files, such as test/backend/test_ops.py
#
# CHECKOUT is tinygrad's repository at the version that is installed. PYTHON is the interpreter that has tinygrad, torch, pytest,
# pytest-xdist, hypothesis and hiplaunch (default: python3); TARGET is gfx942 (default), gfx90a or gfx950; RENDERER is LLVM (default)
# or HIP. LLVM_PATH names a libLLVM that tinygrad does not find. CC is the C compiler of tinygrad's device CPU (default: clang).
set -eu

checkout=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
target=${TARGET:-gfx942}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Beside the checkout's own tinygrad, its tests would not find the one that is installed.
ln -s "$checkout/test" "$checkout/extra" "$checkout/examples" "$work/"
version=$("$python" -c 'import importlib.metadata as m; print(*m.version("tinygrad").split(".")[:2], sep=".")')
export PYTHONPATH="$here/..${PYTHONPATH:+:$PYTHONPATH}"
export DEV="HIPLAUNCH:${RENDERER:-LLVM}:$target;CPU" HIPLAUNCH_BACKEND=emulator HIPLAUNCH_EMULATOR_DEVICES=8
# Compiled in each process, which has a worker for each core already; and not taken from what another version compiled.
export PARALLEL=0 CACHEDB="$work/cache.db"

tests() {
    cd "$work"
    "$python" -m pytest -p selection --list "$here/list.tsv" --tested "$version" "$target" -p no:cacheprovider --rootdir "$work" \
        -W ignore -n 2 -q --tb=line -rfEX "$@"
}

several="test/backend/test_jit.py test/backend/test_multitensor.py test/backend/test_schedule.py"
operations="matmul or softmax or cumsum or gather or einsum or conv1d or clip"
case $1 in
all)
    shift
    tests test/backend/test_ops.py $several test/unit/test_jit.py test/unit/test_jit_cases.py test/unit/test_jit_footguns.py \
        test/unit/test_multitensor.py "$@"
    ;;
ci)
    shift
    tests $several "$@"
    # The operations are compared with torch.
    ! "$python" -c 'import torch' 2>/dev/null || tests test/backend/test_ops.py -k "$operations" "$@"
    ;;
instructions)
    shift
    # With the checkout's own tinygrad, whose assembler these tests are for.
    ln -s "$checkout/tinygrad" "$work/"
    export PYTHONPATH="$here:$work:$PYTHONPATH" HIPLAUNCH_EMULATOR_TARGET="${TARGET:-gfx1100}"
    tests -p instructions test/amd/hw --ignore=test/amd/hw/test_cdna_sdwa.py --ignore=test/amd/hw/test_cdna_vop3.py \
        --ignore=test/amd/hw/test_rdna4_permlane_var.py "$@"
    ;;
*) tests "$@" ;;
esac
