"""What a launch costs tinygrad, on its own device HIP and on HIPLAUNCH: python crates/hiplaunch-python/benches/tinygrad_launch.py

Calls of HIP are counted by `hiplaunch exec`, below both devices alike, and are those of 200 more replays divided by their launches.
Times are the host's, over drivers that do nothing: for HIP a libamdhip64 whose functions do nothing, for HIPLAUNCH the driver 'noop'.
The two take turns; the table has the fastest of the rounds. hiprtc, which it needs, compiles the kernels of both.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import launch

KERNELS, REPLAYS, ROUNDS = 10, 200, 7
CASES = {
    "program": "a program called by itself",
    "kernels": f"a TinyJit of {KERNELS} kernels, one by one (JIT=2)",
    "batch": "the same as a batch (JIT=1)",
}


def replays(case):
    """A function that launches a number of times, and how many launches each of them is."""
    from tinygrad import Device, Tensor, TinyJit
    from tinygrad.engine.realize import get_runtime
    from tinygrad.helpers import Context

    def chain(x):
        for _ in range(KERNELS):
            x = (x * 2 + 1).contiguous()
        return x.realize()

    step, x = TinyJit(chain), Tensor.empty(64).contiguous().realize()
    with Context(JIT=1 if case == "batch" else 2):
        for _ in range(3):
            step(x)
    if case != "program":
        return (lambda count: [step(x) for _ in range(count)]), KERNELS
    ast = step.captured.linear.src[0].src[0]
    program, memory = get_runtime(Device.DEFAULT, ast), x.uop.buffer._buf
    grid, block = ast.arg.launch_dims({})

    def call(count):
        for _ in range(count):
            program(*[memory] * len(ast.arg.globals), global_size=grid, local_size=block)

    return call, 1


def child(case, rounds):
    if os.environ["DEV"].startswith("HIPLAUNCH"):
        import hiplaunch
        import hiplaunch.tinygrad

        if "HIPLAUNCH_BACKEND" not in os.environ:
            hiplaunch.Launcher = functools.partial(hiplaunch.Launcher, "noop")
    else:
        import tinygrad.runtime.ops_hip
        from hiplaunch.tinygrad._renderers import HIPRenderer

        tinygrad.runtime.ops_hip.HIPRenderer = HIPRenderer
    from tinygrad import Device

    run, launches = replays(case)
    times = []
    for _ in range(rounds):
        Device[Device.DEFAULT].synchronize()
        began = time.perf_counter_ns()
        run(REPLAYS)
        times.append((time.perf_counter_ns() - began) / (REPLAYS * launches))
    print(json.dumps([min(times), launches]))


def run(command, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def calls(case, device, folder, **environment):
    """HIP calls of a launch."""
    counted = []
    for rounds in (1, 2):
        report = folder / "report.json"
        command = [sys.executable, "-m", "hiplaunch", "exec", "--count", "--json", str(report), "--"]
        # tinygrad looks for libamdhip64 in $ROCM_PATH/lib alone.
        command += ["sh", "-c", 'ln -sfn "${LD_LIBRARY_PATH%%:*}" "$ROCM_PATH/lib" && exec "$@"', "sh"]
        command += [sys.executable, __file__, case, str(rounds)]
        launches = run(command, DEV=device, ROCM_PATH=str(folder), **environment)[1]
        counted.append(sum(json.loads(report.read_text())["hip_calls"].values()))
    # Each round waits for the device once, which is no call of a launch, with a call that chooses it.
    return (counted[1] - counted[0]) / (REPLAYS * launches)


def main():
    if len(sys.argv) == 3:
        return child(sys.argv[1], int(sys.argv[2]))
    print("| launches | calls, HIP | calls, HIPLAUNCH | ns, HIP | ns, HIPLAUNCH |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        nothing, counting = pathlib.Path(folder, "nothing"), pathlib.Path(folder, "counting")
        (nothing / "lib").mkdir(parents=True)
        counting.mkdir()
        launch.do_nothing(nothing / "lib")
        ways = {"HIP:HIP:gfx90a": {"ROCM_PATH": str(nothing)}, "HIPLAUNCH:HIP:gfx90a": {}}
        for case, name in CASES.items():
            counted = [calls(case, "HIP:HIP:gfx90a", counting), calls(case, "HIPLAUNCH", counting, HIPLAUNCH_BACKEND="hip")]
            command = [sys.executable, __file__, case, str(ROUNDS)]
            times = [[run(command, DEV=device, **extra)[0] for device, extra in ways.items()] for _ in range(3)]
            fastest = map(min, zip(*times))
            print("|", " | ".join([name, *(f"{n:.2f}" for n in counted), *(f"{ns:.0f}" for ns in fastest)]), "|", flush=True)


if __name__ == "__main__":
    main()
