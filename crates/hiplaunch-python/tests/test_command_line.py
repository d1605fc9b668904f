"""`python -m hiplaunch`, and `hiplaunch exec` with programs that use the package."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-m", "hiplaunch"]
DEMO = ["demo", "--backend", "emulator", "--launches", "20", "--only", "block/hiplaunch"]

# Where a shell runs these tests in the background, Ctrl-C is ignored, and so it would be in the programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run(*arguments, **options):
    options = {"capture_output": True, "text": True, "cwd": ROOT, "timeout": 300, **options}
    return subprocess.run([*COMMAND, *arguments], **options)


def test_commands_run():
    assert run("--version").stdout.startswith("hiplaunch ")
    demo = run(*DEMO)
    assert demo.returncode == 0, demo.stderr
    kernels = run("inspect", "hip/vector.hipfb")
    assert kernels.returncode == 0 and "saxpy" in kernels.stdout


def test_the_console_script_is_the_same():
    script = shutil.which("hiplaunch", path=os.path.dirname(sys.executable))
    if script is None:
        pytest.skip("the package is not installed")
    said = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=300)
    assert said.returncode == 0 and said.stdout == run("--version").stdout
    usage = subprocess.run([script, "no-command"], capture_output=True, text=True, timeout=300).stderr
    assert "Usage: hiplaunch " in usage


def test_the_usage_names_the_program():
    usage = run("no-command")
    assert usage.returncode == 2
    assert "Usage: python -m hiplaunch " in usage.stderr


def test_exit_statuses():
    assert run("info").returncode == 0
    assert run("run", "no.launch.toml").returncode == 2
    with subprocess.Popen([*COMMAND, "man"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as unread:
        unread.stdout.close()
        assert "hiplaunch:" in unread.stderr.read().decode()
        assert unread.wait(300) == 3


@pytest.mark.skipif(os.name != "posix", reason="descriptors of POSIX")
@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"]])
def test_standard_streams_may_be_closed(arguments):
    for numbers in ["0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"]:
        line = f'exec "$@" {numbers}'
        ended = subprocess.run(["sh", "-c", line, "sh", *COMMAND, *arguments], cwd=ROOT, timeout=300)
        assert ended.returncode == 0, numbers


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_command():
    process = subprocess.Popen(
        [*COMMAND, "bench", "--backend", "emulator"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT


# A program whose own HIP, and whose launcher, are the one library of exec.
SHARED = """
import ctypes, sys
import hiplaunch

hip = ctypes.CDLL("libamdhip64.so")
count = ctypes.c_int()
assert hip.hipGetDeviceCount(ctypes.byref(count)) == 0

launcher = hiplaunch.Launcher()
assert launcher.backend == "hip", launcher
assert len(launcher.devices) == count.value == 2

address = ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(address), 4000) == 0
ones = (ctypes.c_float * 1000)(*[1.0] * 1000)
assert hip.hipMemcpy(address, ones, 4000, 1) == 0
saxpy = launcher.register(sys.argv[1], "saxpy")
x = (ctypes.c_float * 1000)(*range(1000))
saxpy[4, 256](2.0, hiplaunch.In(x), address.value, 1000)
launcher.synchronize()
assert hip.hipMemcpy(ones, address, 4000, 2) == 0
assert list(ones) == [2 * i + 1 for i in range(1000)]
print("shared")

with hiplaunch.Launcher("emulator") as own:
    assert own.backend == "emulator" and len(own.devices) == 2
    y = (ctypes.c_float * 1000)(*[1.0] * 1000)
    own.register(sys.argv[1], "saxpy")[4, 256](2.0, hiplaunch.In(x), hiplaunch.InOut(y), 1000).result()
    assert list(y) == [2 * i + 1 for i in range(1000)]
print("own")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="exec is for Linux")
def test_exec_and_the_package_share_a_library():
    program = ["--", sys.executable, "-c", SHARED, "hip/vector.hipfb"]
    # The driver is known for what it says, so what the environment asks the tests for is not for the program.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HIPLAUNCH_")}
    ran = run("exec", "--devices", "2", "--count", *program, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "shared\nown\n"
    # The launch went through the library: it counts the program's calls.
    assert re.search(r"hiplaunch: +[0-9]+ hipModuleLaunch\w+", ran.stderr), ran.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="exec is for Linux")
def test_exec_has_the_programs_status_and_signals():
    assert run("exec", "--", "sh", "-c", "exit 7").returncode == 7
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert run("exec", "--", sys.executable, "-c", script).stdout == "True\n"
    ignored = run("exec", "--", "sh", "-c", "grep SigIgn /proc/self/status").stdout
    # As if the shell had been started without it: whoever runs the tests may ignore signals, as nohup does.
    assert ignored == subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, text=True).stdout
