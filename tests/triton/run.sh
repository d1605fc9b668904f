#!/bin/sh
# Runs tests that others wrote: Triton's own, over hiplaunch. See README.md.
#
#   tests/triton/run.sh CHECKOUT core [PYTEST-OPTIONS]        test_core.py
#   tests/triton/run.sh CHECKOUT others [PYTEST-OPTIONS]      eight more of its suites
#   tests/triton/run.sh CHECKOUT tutorials                    tutorials 01 to 08
#   tests/triton/run.sh CHECKOUT ci                           what CI runs: at most 5 minutes on two cores
#
# CHECKOUT is Triton's repository at the version that is installed. PYTHON is the interpreter that has triton, torch, pytest,
# pytest-xdist and hiplaunch (default: python3); TARGET is gfx942 (default), gfx90a, gfx1100, gfx1151 or gfx1201.
set -eu

checkout=$(cd "$1" && pwd)
what=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
target=${TARGET:-gfx942}
export PYTHONPATH="$here/..${PYTHONPATH:+:$PYTHONPATH}"
version=$("$python" -c 'import triton; print(*triton.__version__.split(".")[:2], sep=".")')
selection="-p selection --list $here/list.tsv --tested $version $target"

tests() {
    cd "$checkout/python/test/unit"
    "$python" -m pytest -p hiplaunch.triton.pytest --hiplaunch-target="$target" $selection -p no:cacheprovider \
        --rootdir "$checkout" --confcutdir "$checkout" -W ignore -n 2 -q --tb=line -rfEX "$@"
}

# The suites that this version has.
others() {
    cd "$checkout/python/test/unit"
    for name in standard libdevice conversions random mxfp pipeliner matmul subprocess; do
        test ! -e "language/test_$name.py" || echo "language/test_$name.py"
    done
    echo test_debug.py
}

case $what in
core) tests language/test_core.py "$@" ;;
others) tests $(others) "$@" ;;
ci) tests language/test_core.py $(others) --sample 1 "$@" ;;
tutorials)
    failed=0
    for number in 01 02 03 04 05 07 08; do
        for tutorial in "$checkout"/python/tutorials/$number-*.py; do
            if "$python" -m hiplaunch.triton --target "$target" "$here/without_benchmarks.py" "$tutorial" > "/tmp/tutorial.$$" 2>&1; then
                echo "pass $(basename "$tutorial")"
            else
                failed=1
                tail -5 "/tmp/tutorial.$$"
                echo "FAIL $(basename "$tutorial")"
            fi
        done
    done
    rm -f "/tmp/tutorial.$$"
    # The sixth has a test in place of a program, whose forward pass alone is skipped by itself. The smallest of its sizes takes two
    # minutes.
    cd "$checkout/python/tutorials"
    "$python" -m pytest -p hiplaunch.triton.pytest --hiplaunch-target="$target" $selection -p no:cacheprovider -W ignore \
        -q --tb=line -k 'not fwd and 128-2-1 and fp16' 06-fused-attention.py
    exit $failed
    ;;
*)
    echo "unknown: $what; see the head of this file" >&2
    exit 2
    ;;
esac
