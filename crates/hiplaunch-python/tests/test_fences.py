"""Fences, and values that streams write and wait for."""

import asyncio
import struct
import threading

import pytest

import hiplaunch

pytestmark = pytest.mark.emulator


@pytest.fixture
def standing(one):
    """A stream that stands still until the value that is returned with it is written on another stream."""
    stream, value = one.stream(), one.buffer(bytes(16))
    one.synchronize()
    value.wait_value(1, offset=8, stream=stream)
    yield stream, value
    value.write_value(1, offset=8)


def test_a_fence_is_waited_for_and_polled(standing):
    stream, value = standing
    fence = stream.fence()
    assert not fence.done
    for timeout in [0, 0.002]:
        with pytest.raises(TimeoutError):
            fence.result(timeout)
    threading.Timer(0.01, lambda: value.write_value(1, offset=8)).start()
    assert fence.result() is None
    assert fence.done and fence.result(0) is None
    for wrong in [-1, float("nan"), "soon"]:
        with pytest.raises((ValueError, TypeError)):
            fence.result(wrong)


def test_await_leaves_the_loop_running(standing):
    stream, value = standing

    async def main():
        fence = stream.fence()
        waiting = [asyncio.ensure_future(asyncio.wait_for(fence, 60)) for _ in range(2)]
        for _ in range(5):
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in waiting)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.fence(), 0.005)
        value.write_value(1, offset=8)
        assert await asyncio.gather(*waiting) == [None, None]
        assert await fence is None

    asyncio.run(main())


def test_functions_are_called_once_it_is_reached(standing):
    stream, value = standing
    fence, called = stream.fence(), [threading.Event(), threading.Event()]
    for event in called:
        fence.add_done_callback(event.set)
    dropped = stream.fence()
    dropped.add_done_callback(called[0].set)
    del dropped
    assert not any(event.is_set() for event in called)
    value.write_value(1, offset=8)
    assert all(event.wait(60) for event in called)
    third = threading.Event()
    fence.add_done_callback(third.set)
    assert third.wait(60)


def test_a_lost_device_ends_the_wait(one, code):
    store = one.register(code("probe"), "oob_store")
    stream = one.stream()
    store.launch(1, 64, one.buffer(bytes(256)), 1 << 40, stream=stream)
    with pytest.raises(hiplaunch.DeviceLostError):
        stream.fence().result()


def test_values_order_streams(one):
    first, second = one.stream(), one.stream()
    value, data = one.buffer(bytes(24)), one.buffer(bytes(64))
    one.synchronize()
    for n in range(1, 5):
        value.wait_value(n, offset=16, stream=second)
        data.fill(n, stream=first)
        value.write_value(n, offset=16, stream=first)
        assert data.tobytes(stream=second) == bytes([n]) * 64
        value.write_value(n << 40, stream=second)
        value.wait_value(n << 40, comparison="==", stream=first)
    value.wait_value(4, comparison="&", mask=7, offset=16)
    value.wait_value(1, comparison="~|", mask=3, offset=8)
    one.synchronize()
    assert struct.unpack("3Q", value.tobytes()) == (4 << 40, 0, 4)


def test_what_is_no_value(one):
    value = one.buffer(bytes(16))
    for wrong in [{"offset": 4}, {"offset": 16}, {"offset": 9}]:
        with pytest.raises((ValueError, hiplaunch.Error)):
            value.write_value(1, **wrong)
        with pytest.raises((ValueError, hiplaunch.Error)):
            value.wait_value(1, **wrong)
    with pytest.raises(ValueError):
        value.wait_value(1, comparison="<")
    with pytest.raises((OverflowError, TypeError)):
        value.write_value(-1)
    with pytest.raises((ValueError, hiplaunch.Error)):
        one.empty(0, "u1").write_value(1)
    value.close()
    with pytest.raises(hiplaunch.ClosedError):
        value.write_value(1)
