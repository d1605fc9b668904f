"""Bad input, a test each: an exception that says what is wrong, never a crash."""

import gc
import os

import numpy
import pytest

import hiplaunch
from hiplaunch import In, InOut, Out


@pytest.fixture
def saxpy(one, code):
    return one.register(code("vector"), "saxpy")


# Arrays.


def test_an_array_with_gaps(saxpy):
    x = numpy.ones(8, "f4")
    for wrap in (In, InOut, Out):
        with pytest.raises(ValueError, match="not contiguous"):
            wrap(x[::2])
        with pytest.raises(ValueError, match="not contiguous"):
            wrap(numpy.ones((4, 4), "f4").T)


def test_a_read_only_array(saxpy, one):
    x = numpy.ones(8, "f4")
    x.flags.writeable = False
    In(x)
    for wrap in (InOut, Out):
        with pytest.raises(ValueError, match="read-only"):
            wrap(x)
        with pytest.raises(ValueError, match="read-only"):
            wrap(b"bytes")
    with pytest.raises(ValueError, match="read-only"):
        one.buffer(x).copy_to(x)


def test_an_array_that_becomes_read_only(saxpy):
    x = numpy.ones(8, "f4")
    wrapped = InOut(x)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        saxpy[1, 8](1.0, In(x), wrapped, 8)


def test_an_array_that_becomes_read_only_while_in_flight(saxpy):
    x, y = numpy.ones(8, "f4"), numpy.ones(8, "f4")
    ticket = saxpy[1, 8](1.0, In(x), InOut(y), 8)
    y.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            ticket.result()
    assert y.tolist() == [1.0] * 8


@pytest.mark.parametrize("wrong", [None, 1.5, "text", [1, 2], {}, object()])
def test_what_is_no_array(one, wrong):
    with pytest.raises(TypeError):
        In(wrong)
    with pytest.raises(TypeError):
        one.buffer(wrong)
    with pytest.raises(TypeError):
        one.register_host(wrong)


def test_an_array_without_a_wrapper(saxpy):
    x = numpy.ones(8, "f4")
    with pytest.raises(TypeError, match=r"argument 1 \(x\)|argument 1") as caught:
        saxpy[1, 8](1.0, x, x, 8)
    assert "In, Out or InOut" in str(caught.value)


@pytest.mark.parametrize("index, wrong", [(0, "1"), (0, None), (0, object()), (1, 1.5), (1, "x"), (3, [1])])
def test_an_argument_of_the_wrong_kind(saxpy, one, index, wrong):
    x = one.empty(8, "float32")
    arguments = [1.0, x, x, 8]
    arguments[index] = wrong
    with pytest.raises((TypeError, ValueError), match=f"`saxpy`, argument {index}"):
        saxpy[1, 8](*arguments)


def test_negative_and_huge_sizes(one):
    for wrong in (-1, (2, -1)):
        with pytest.raises((OverflowError, TypeError, ValueError)):
            one.empty(wrong)
    for wrong in (1 << 63, (1 << 40, 1 << 40)):
        with pytest.raises((OverflowError, ValueError)):
            one.empty(wrong, "float64")
    with pytest.raises(hiplaunch.OutOfMemoryError):
        one.empty(1 << 50)


class Index:
    """An integer whose conversion fails."""

    def __index__(self):
        raise ZeroDivisionError("no number")


def test_an_exception_of_the_argument(saxpy, one):
    x = one.empty(8, "float32")
    with pytest.raises((ZeroDivisionError, TypeError)):
        saxpy[1, 8](1.0, x, x, Index())
    with pytest.raises((ZeroDivisionError, TypeError)):
        saxpy[Index(), 8]


# Freed, foreign and closed.


def test_a_buffer_that_is_freed_while_in_flight(launcher, code):
    bump = launcher.register(code("vector"), "iota_u32")
    spin = launcher.register(code("probe"), "spin")
    scratch = launcher.empty(4)
    for turn in range(20):
        out, copy = launcher.empty(256), launcher.empty(256)
        spin[1, 1](1000, scratch)
        bump[1, 64](out, turn, 64)
        copy.copy_from(out)
        out.close()
        assert numpy.frombuffer(copy.tobytes(), "u4")[63] == turn + 63
        with pytest.raises(hiplaunch.ClosedError):
            bump[1, 64](out, turn, 64)


def test_an_array_that_is_dropped_while_in_flight(launcher, code):
    saxpy = launcher.register(code("vector"), "saxpy")
    tickets = []
    for turn in range(20):
        x = numpy.full(1000, turn, "f4")
        tickets.append(saxpy[4, 256](2.0, In(x), InOut(numpy.ones(1000, "f4")), 1000))
        x[:] = -1  # The launch has copied it.
    gc.collect()
    for turn, ticket in enumerate(tickets):
        assert ticket.result()[0].tolist() == [2 * turn + 1] * 1000


def test_registered_memory_that_is_closed_while_in_flight(launcher, code):
    spin = launcher.register(code("probe"), "spin")
    array = numpy.zeros(1, "u4")
    memory = launcher.register_host(array)
    spin[1, 1](1000000, memory)
    memory.close()
    assert array[0] != 0


def test_a_buffer_of_another_device(code):
    with hiplaunch.Launcher("emulator", devices=2) as launcher:
        saxpy = launcher.register(code("vector"), "saxpy")
        there = launcher.empty(8, "float32", stream=launcher.stream(1))
        with pytest.raises(ValueError, match="the buffer is on device 1, the stream on device 0"):
            saxpy[1, 8](1.0, there, there, 8)
        graph = launcher.graph(0)
        with pytest.raises(hiplaunch.GraphError):
            graph.buffer(there)
        with pytest.raises(ValueError, match="device 2 of 2"):
            launcher.stream(2)


def test_objects_of_another_launcher(one, saxpy, code):
    with hiplaunch.Launcher("emulator") as other:
        x = other.empty(8, "float32")
        with pytest.raises(ValueError, match="another launcher"):
            saxpy[1, 8](1.0, x, x, 8)
        with pytest.raises(ValueError, match="another launcher"):
            saxpy[1, 8](1.0, other.pinned(32), None, 8)
        with pytest.raises(ValueError, match="another launcher"):
            saxpy[1, 8, other.stream()]
        with pytest.raises(ValueError, match="another launcher"):
            saxpy.launch(1, 8, 1.0, None, None, 0, stream=other.stream())
        with pytest.raises(ValueError, match="another launcher"):
            one.register(other.load(code("vector")), "saxpy")
        mine = one.empty(8, "float32")
        with pytest.raises((ValueError, hiplaunch.Error)):
            mine.copy_from(x)
        with pytest.raises((ValueError, hiplaunch.Error)):
            mine.fill(1, stream=other.stream())
        with pytest.raises((ValueError, hiplaunch.Error)):
            saxpy.launch(1, 8, 1.0, mine, hiplaunch.DESTINATION, 8, into=x)


def test_everything_after_close(one, saxpy, code):
    buffer, stream, event, memory = one.empty(8, "float32"), one.stream(), one.event(), one.pinned(8)
    bound, ticket, module = saxpy[1, 8], saxpy.launch(1, 8, 1.0, buffer, buffer, 8), one.load(code("probe"))
    device, graph = one.devices[0], one.graph()
    value = graph.buffer(buffer)
    one.close()
    one.close()
    assert one.closed
    uses = [
        lambda: bound(1.0, buffer, buffer, 8),
        lambda: saxpy[2, 8],
        lambda: saxpy.launch(1, 8, 1.0, buffer, buffer, 8),
        lambda: saxpy.attributes(),
        lambda: module.kernel("no_args"),
        lambda: ticket.result(),
        lambda: ticket.done,
        lambda: ticket.add_done_callback(print),
        lambda: buffer.tobytes(),
        lambda: buffer.copy_from(bytes(32)),
        lambda: buffer.fill(1),
        lambda: buffer.address,
        lambda: buffer.__dlpack__(),
        lambda: buffer.memoryview(),
        lambda: memory.address,
        lambda: memory.memoryview(),
        lambda: memory.__dlpack__(),
        lambda: stream.synchronize(),
        lambda: stream.wait(event),
        lambda: stream.raw,
        lambda: event.record(stream),
        lambda: event.synchronize(),
        lambda: device.synchronize(),
        lambda: device.properties,
        lambda: device.pool_snapshot(),
        lambda: graph.fill(value, 0),
        lambda: graph.compile(),
        lambda: one.stream(),
        lambda: one.empty(4),
        lambda: one.buffer(bytes(4)),
        lambda: one.pinned(4),
        lambda: one.graph(),
        lambda: one.register(code("vector"), "saxpy"),
        lambda: one.synchronize(),
        lambda: one.from_dlpack(numpy.zeros(4)),
        lambda: one.register_host(numpy.zeros(4)),
    ]
    for number, use in enumerate(uses):
        with pytest.raises(hiplaunch.ClosedError):
            use()
            pytest.fail(f"use {number}")
    for what in (one, buffer, stream, memory, saxpy, bound, module):
        assert repr(what)
    buffer.close()
    memory.close()


def test_close_in_one_thread_while_others_use_it(code):
    import threading

    launcher = hiplaunch.Launcher("emulator")
    iota = launcher.register(code("vector"), "iota_u32")
    failures = []

    def work():
        try:
            stream = launcher.stream()
            while True:
                iota.launch(1, 64, Out(256), 1, 64, stream=stream).result()
        except hiplaunch.ClosedError:
            pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    launcher.close()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failures


def test_close_of_a_buffer_while_others_copy_it(one):
    import threading

    data = bytes(16 << 20)
    for _ in range(5):
        buffer = one.buffer(data)

        def work():
            try:
                while True:
                    buffer.tobytes(stream=one.stream())
            except hiplaunch.ClosedError:
                pass

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        buffer.close()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


# Code.


def test_an_unknown_kernel(one, code):
    with pytest.raises(hiplaunch.CodeObjectError, match="no_such_kernel"):
        one.register(code("vector"), "no_such_kernel")[1, 1]()


@pytest.mark.parametrize("wrong", [b"", b"no code", b"\x7fELF" + bytes(100)])
def test_what_is_no_code(one, wrong):
    with pytest.raises(hiplaunch.CodeObjectError):
        one.register(wrong, "saxpy")


def test_code_that_was_cut(one, code):
    with open(code("vector"), "rb") as file:
        whole = file.read()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        with pytest.raises((hiplaunch.Error, ValueError)):
            one.register(whole[:length], "saxpy")[1, 1](1.0, None, None, 0)
            raise ValueError("the rest is not needed for this kernel")


def test_code_for_another_target(code):
    path = code("vector").replace(".hipfb", ".gfx942.co")
    with hiplaunch.Launcher("emulator", target="gfx90a") as launcher:
        with pytest.raises(hiplaunch.CodeObjectError, match="gfx942"):
            launcher.register(path, "saxpy")[1, 1](1.0, None, None, 0)


def test_a_file_that_is_not_there(one):
    with pytest.raises(FileNotFoundError, match="no/such/file.hipfb"):
        one.register("no/such/file.hipfb", "saxpy")
    for wrong in (None, 5, [1]):
        with pytest.raises(TypeError):
            one.load(wrong)


@pytest.mark.parametrize(
    "keywords",
    [
        {"backend": "cuda"},
        {"backend": "hip", "target": "gfx942"},
        {"target": "sm_80"},
        {"bounds": "loose"},
        {"fine_grained_atomics": "maybe"},
        {"time_budget": -1.0},
        {"time_budget": float("nan")},
    ],
)
def test_wrong_options(keywords):
    keywords.setdefault("backend", "emulator")
    with pytest.raises(ValueError):
        hiplaunch.Launcher(**keywords)


def test_a_keyword_that_is_no_setting():
    for keyword in ({"frobs": 1}, {"Target": "gfx942"}):
        with pytest.raises(TypeError, match="no keyword"):
            hiplaunch.Launcher("emulator", **keyword)
    with hiplaunch.Launcher("emulator", sanitize=None, pool_boundaries=False, threads=1, memory_bytes=1 << 30):
        pass


# Faults.


def test_a_fault_and_use_after_it(one, code):
    store, nothing = one.register(code("probe"), "oob_store"), one.register(code("probe"), "no_args")
    buffer = one.empty(256)
    ticket = store.launch(3, (64, 1), buffer, 1 << 40)
    with pytest.raises(hiplaunch.DeviceLostError) as caught:
        ticket.result()
    report = caught.value.report
    assert set(report) == {"device", "call", "code", "detail", "in_flight"}
    assert report["device"] == 0 and isinstance(report["code"], int) and "oob_store" in report["detail"]
    assert {"kernel", "stream", "position", "grid", "block", "lds"} == set(report["in_flight"][0])
    assert report["in_flight"][0]["kernel"] == "oob_store"
    assert tuple(report["in_flight"][0]["grid"]) == (3, 1, 1)
    uses = [lambda: nothing.launch(1, 1), one.synchronize, buffer.tobytes, lambda: one.empty(4), ticket.result]
    for use in uses:
        with pytest.raises(hiplaunch.DeviceLostError):
            use()
    assert ticket.done
    with pytest.raises(hiplaunch.DeviceLostError):
        one.close()
    one.close()  # It is raised once.
    with hiplaunch.Launcher("emulator") as other:
        other.register(code("probe"), "no_args")[1, 1]()


def test_a_fault_does_not_hide_the_exception_of_the_block(code):
    with pytest.raises(KeyError):
        with hiplaunch.Launcher("emulator") as launcher:
            launcher.register(code("probe"), "trap_kernel")[1, 1]()
            raise KeyError("x")
    with pytest.raises(hiplaunch.DeviceLostError):
        with hiplaunch.Launcher("emulator") as launcher:
            launcher.register(code("probe"), "trap_kernel")[1, 1]()


def test_a_kernel_without_an_end(code):
    launcher = hiplaunch.Launcher("emulator", time_budget=0.2)
    launcher.register(code("probe"), "spin")[1, 1](1 << 50, launcher.empty(4))
    with pytest.raises(hiplaunch.DeviceLostError):
        launcher.close()


@pytest.mark.parametrize("ended", [True, False])
def test_control_c_and_end_kernels_end_kernels_that_run(code, ended):
    launcher = hiplaunch.Launcher("emulator")
    with pytest.raises(KeyboardInterrupt), launcher:
        launcher.register(code("probe"), "spin")[1, 1](1 << 50, launcher.empty(4))
        if ended:
            launcher.end_kernels()
            with pytest.raises(hiplaunch.DeviceLostError, match="interrupted"):
                launcher.synchronize()
        raise KeyboardInterrupt
    assert launcher.closed


# The end of the interpreter.


def test_exit_with_work_in_flight(python, code):
    python(
        """
import hiplaunch, sys, numpy
launcher = hiplaunch.Launcher("emulator")
spin = launcher.register(sys.argv[1], "spin")
tickets = [spin[1, 1](2000000, hiplaunch.Out(4)) for _ in range(3)]
for ticket in tickets: ticket.add_done_callback(lambda: print("called"))
memory = launcher.register_host(numpy.zeros(1, "u4"))
spin[1, 1](2000000, memory)
""",
        code("probe"),
    )


def test_exit_while_threads_launch_and_wait(python, code):
    python(
        """
import hiplaunch, sys, threading, time
launcher = hiplaunch.Launcher("emulator")
spin = launcher.register(sys.argv[1], "spin")
def work():
    stream = launcher.stream()
    while True:
        spin.launch(1, 1, 10000, hiplaunch.Out(4), stream=stream).result()
for _ in range(4): threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""",
        code("probe"),
    )


def test_exit_while_callbacks_are_called(python, code):
    python(
        """
import hiplaunch, sys, time
launcher = hiplaunch.Launcher("emulator")
spin = launcher.register(sys.argv[1], "spin")
for _ in range(100): spin[1, 1](5000, hiplaunch.Out(4)).add_done_callback(lambda: time.sleep(0.001))
""",
        code("probe"),
    )


def test_exit_with_a_fault_in_flight(python, code):
    python(
        """
import hiplaunch, sys
launcher = hiplaunch.Launcher("emulator")
launcher.register(sys.argv[1], "trap_kernel")[1, 1]()
""",
        code("probe"),
    )


def test_exit_with_a_sleeping_asyncio_task(python, code):
    python(
        """
import hiplaunch, sys, asyncio
launcher = hiplaunch.Launcher("emulator")
spin = launcher.register(sys.argv[1], "spin")
async def wait(ticket): await ticket
async def main():
    task = asyncio.create_task(wait(spin[1, 1](3000000, hiplaunch.Out(4))))
    await asyncio.sleep(0.01)
asyncio.run(main())
""",
        code("probe"),
    )


def test_objects_are_dropped_in_any_order(python, code):
    # Each object is kept by a cycle, and the cycles are collected, or not, in another order each time.
    python(
        """
import hiplaunch, sys, gc, random, numpy
class Cycle:
    def __init__(self, held): self.held, self.me = held, self
for seed in range(20):
    launcher = hiplaunch.Launcher("emulator")
    iota = launcher.register(sys.argv[1], "iota_u32")
    buffer = launcher.empty(256)
    graph = launcher.graph()
    value = graph.buffer(buffer)
    graph.fill(value, 1)
    compiled = graph.compile()
    held = [launcher, iota, buffer, iota[1, 64], launcher.stream(), launcher.event(), launcher.pinned(64),
            launcher.register_host(numpy.zeros(4)), iota[1, 64](hiplaunch.Out(256), 1, 64), launcher.devices, compiled,
            compiled.submit(), numpy.from_dlpack(buffer), buffer.__dlpack__(), numpy.asarray(launcher.pinned(8)),
            launcher.from_dlpack(numpy.zeros(4)), launcher.load(sys.argv[1]), buffer.memoryview(), launcher.timeline]
    if seed % 2: launcher.close()
    del launcher, iota, buffer, graph, value, compiled
    random.Random(seed).shuffle(held)
    if seed < 15:
        while held: del held[0]
    held = [Cycle(one) for one in held]
    keep = globals().setdefault("keep", [])
    keep.extend(held if seed % 3 == 0 else ())
    del held
    if seed % 2: gc.collect()
""",
        code("vector"),
    )


# Forks.

FORK = """
import hiplaunch, sys, os, numpy, signal, gc
signal.alarm(60)
launcher = hiplaunch.Launcher("emulator")
iota = launcher.register(sys.argv[1], "iota_u32")
buffer = launcher.buffer(numpy.arange(4, dtype="u4"))
array, pinned = numpy.asarray(buffer), launcher.pinned(4)
ticket = iota[1, 64](hiplaunch.Out(256), 1, 64)
ticket.add_done_callback(lambda: None)
stream, graph, module = launcher.stream(), launcher.graph(), launcher.load(sys.argv[1])
adopted = launcher.from_dlpack(numpy.zeros(4))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_after_use(python, code):
    out = python(
        FORK
        + """
child = os.fork()
if not child:
    signal.alarm(30)
    uses = [lambda: iota[1, 64](buffer, 1, 4), lambda: iota[2, 64], lambda: ticket.result(), lambda: buffer.tobytes(), lambda: buffer.close(), lambda: pinned.close(),
            lambda: launcher.stream(), lambda: stream.synchronize(), lambda: graph.compile(), lambda: module.kernel("saxpy"),
            lambda: launcher.synchronize(), lambda: buffer.__dlpack__(), lambda: pinned.memoryview()]
    for use in uses:
        try: use()
        except hiplaunch.ForkedError as error: assert "fork" in str(error)
        else: print("no error"); os._exit(3)
    assert array[3] == 3 and repr(buffer)
    launcher.close()
    with hiplaunch.Launcher("emulator") as other:
        kernel = other.register(sys.argv[1], "iota_u32")
        [got] = kernel[1, 64](hiplaunch.Out(256), 5, 64).result()
        assert got[0] == 5
        import asyncio
        async def wait(): return await kernel[1, 64](hiplaunch.Out(256), 6, 64)
        assert asyncio.run(wait())[0][0] == 6
    print("child", flush=True)
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0 if hasattr(os, "waitstatus_to_exitcode") else status == 0, status
assert ticket.result()[0][0] == 1
print("parent")
""",
        code("vector"),
    )
    assert out.split() == ["child", "parent"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_multiprocessing_with_fork(python, code):
    out = python(
        FORK
        + """
import multiprocessing
def work(queue):
    try: launcher.stream()
    except hiplaunch.ForkedError as error: queue.put(str(error))
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=work, args=(queue,))
process.start()
assert "spawn" in queue.get()
process.join(30)
assert process.exitcode == 0, process.exitcode
print("done")
""",
        code("vector"),
    )
    assert out.split() == ["done"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_with_work_in_flight(python, code):
    python(
        """
import hiplaunch, sys, os, signal, gc, threading
signal.alarm(90)
launcher = hiplaunch.Launcher("emulator")
spin = launcher.register(sys.argv[1], "spin")
for turn in range(10):
    tickets = [spin[1, 1](50000, hiplaunch.Out(4)) for _ in range(4)]
    for ticket in tickets: ticket.add_done_callback(lambda: None)
    child = os.fork()
    if not child:
        signal.alarm(30)
        del tickets, ticket
        gc.collect()
        with hiplaunch.Launcher("emulator") as other:
            ticket = other.register(sys.argv[1], "spin")[1, 1](50000, hiplaunch.Out(4))
            called = threading.Event()
            ticket.add_done_callback(called.set)
            assert called.wait(20)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    for ticket in tickets: ticket.result()
""",
        code("probe"),
    )


