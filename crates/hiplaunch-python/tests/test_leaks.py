"""Memory stays flat, and a launch without a ticket makes no objects."""

import gc
import resource
import sys

import numpy
import pytest

import hiplaunch
from hiplaunch import In, InOut, Out


def resident():
    """The resident memory of the process in KiB, now."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() // 1024
    except FileNotFoundError:
        pytest.skip("this system does not tell the resident memory")


def growth(turn, times):
    """Runs `turn` twice with a number of times, the first to fill caches, and returns how much memory (KiB) and how many blocks of
    Python's the second added."""
    turn(times)
    gc.collect()
    memory, blocks = resident(), sys.getallocatedblocks()
    turn(times)
    gc.collect()
    return resident() - memory, sys.getallocatedblocks() - blocks


def test_a_launch_without_a_ticket_makes_no_objects(noop, code):
    bound = noop.register(code("vector"), "saxpy")[4, 256]
    x, y = noop.empty(1000, "float32"), noop.empty(1000, "float32")
    a, n = 2.0, 1000

    def launch(times):
        for _ in range(times):
            bound(a, x, y, n)

    launch(1000)
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        launch(1000)
        after = sys.getallocatedblocks()
    finally:
        gc.enable()
    # The numbers themselves: `before`, and those of `range`.
    assert after - before <= 2


def test_a_million_launches(noop, code):
    bound = noop.register(code("vector"), "saxpy")[4, 256]
    x, y = noop.empty(1000, "float32"), noop.empty(1000, "float32")

    def launch(times):
        for _ in range(times):
            bound(2.0, x, y, 1000)

    memory, blocks = growth(launch, 1_000_000)
    assert memory < 1024 and blocks < 50


def test_a_hundred_thousand_tickets(noop, code):
    bound = noop.register(code("vector"), "saxpy")[4, 256]
    x, y = bytes(64), numpy.zeros(16, "f4")

    def launch(times):
        for _ in range(times):
            bound(2.0, In(x), InOut(y), 16).result()

    memory, blocks = growth(launch, 100_000)
    assert memory < 2048 and blocks < 50


def test_tickets_on_the_emulator(one, code):
    saxpy = one.register(code("vector"), "saxpy")
    x, y = numpy.ones(16, "f4"), numpy.zeros(16, "f4")

    def launch(times):
        for turn in range(times):
            ticket = saxpy[1, 16](2.0, In(x), InOut(y), 16)
            if turn % 3 == 0:
                ticket.result()
            elif turn % 3 == 1:
                ticket.add_done_callback(list)
            else:
                saxpy.launch(1, 16, 2.0, In(x), Out(64), 16)
        one.synchronize()

    memory, blocks = growth(launch, 10_000)
    assert memory < 4096 and blocks < 200


@pytest.mark.parametrize(
    "what",
    ["buffers", "dlpack", "adopted", "registered", "pinned", "graphs", "streams", "kernels", "errors", "snapshots"],
)
def test_objects(one, code, what):
    data, path = numpy.zeros(1024, "f4"), code("vector")

    def graph():
        graph = one.graph()
        value = graph.buffer(one.buffer(data))
        graph.fill(value, 1)
        graph.read(value)
        return graph.compile().submit().result()

    def error():
        with pytest.raises(ValueError):
            In(data[::2])

    def stream():
        return one.event().record(one.stream())

    make = {
        "buffers": lambda: one.buffer(data).tobytes(),
        "dlpack": lambda: (numpy.from_dlpack(one.buffer(data)), one.buffer(data).__dlpack__(), numpy.asarray(one.buffer(data))),
        "adopted": lambda: numpy.from_dlpack(one.from_dlpack(data)),
        "registered": lambda: one.register_host(data),
        "pinned": lambda: numpy.asarray(one.pinned(1024)),
        "graphs": graph,
        "streams": stream,
        "kernels": lambda: one.register(path, "saxpy")[1, 1](1.0, None, None, 0),
        "errors": error,
        "snapshots": lambda: one.devices[0].pool_snapshot().to_json(),
    }[what]

    def turn(times):
        for _ in range(times):
            make()
        one.synchronize()

    memory, blocks = growth(turn, 300)
    assert memory < 8192 and blocks < 200


def test_launchers(code):
    def turn(times):
        for _ in range(times):
            with hiplaunch.Launcher("emulator") as launcher:
                launcher.register(code("vector"), "iota_u32")[1, 64](Out(256), 1, 64).result()

    memory, blocks = growth(turn, 20)
    assert memory < 16384 and blocks < 200
