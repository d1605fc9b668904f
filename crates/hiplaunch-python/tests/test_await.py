"""Awaiting tickets."""

import asyncio

import numpy
import pytest

import hiplaunch
from hiplaunch import InOut, Out


def test_await_returns_the_outputs(launcher, code):
    iota = launcher.register(code("vector"), "iota_u32")

    async def main():
        ticket = iota[1, 64](Out(256), 3, 64)
        [got] = await ticket
        assert list(memoryview(got).cast("I")) == list(range(3, 67))
        assert (await ticket)[0] is got  # Done already.
        array = numpy.zeros(4, "u4")
        [result] = await iota[1, 4](InOut(array), 5, 4)
        assert result is array and array.tolist() == [5, 6, 7, 8]

    asyncio.run(main())


def test_many_tickets_at_once(one, code):
    iota = one.register(code("vector"), "iota_u32")
    streams = [one.stream() for _ in range(4)]

    async def main():
        tickets = [iota.launch(1, 64, Out(256), n, 64, stream=streams[n % 4]) for n in range(200)]

        async def wait(ticket):
            return await ticket

        results = await asyncio.gather(*map(wait, tickets))
        assert [memoryview(got).cast("I")[0] for [got] in results] == list(range(200))

    asyncio.run(main())


def test_two_tasks_await_one_ticket(one, code):
    spin = one.register(code("probe"), "spin")

    async def main():
        ticket = spin[1, 1](300000, Out(4))

        async def wait():
            return await ticket

        first, second = await asyncio.gather(wait(), wait())
        assert first is second

    asyncio.run(main())


def test_the_loop_runs_meanwhile(one, code):
    spin = one.register(code("probe"), "spin")

    async def main():
        turns = 0
        task = asyncio.ensure_future(asyncio.wait_for(asyncio.shield(wait(spin[1, 1](2000000, Out(4)))), 120))
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        assert len(await task) == 1
        return turns

    async def wait(ticket):
        return await ticket

    assert asyncio.run(main()) > 2


def test_cancellation(one, code):
    spin = one.register(code("probe"), "spin")

    async def main():
        ticket = spin[1, 1](1000000, Out(4))

        async def wait():
            return await ticket

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The launch runs all the same.
        assert len(await ticket) == 1

    asyncio.run(main())


@pytest.mark.emulator
def test_the_loop_ends_before_the_launch(one, code):
    ticket = one.register(code("probe"), "spin")[1, 1](2000000, Out(4))

    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.ensure_future(wait()), 0.001)

    async def wait():
        return await ticket

    asyncio.run(main())
    assert len(ticket.result()) == 1


@pytest.mark.emulator
def test_a_fault_is_raised_by_each_await(one, code):
    trap = one.register(code("probe"), "trap_kernel")

    async def main():
        ticket = trap.launch(1, 1)
        for _ in range(2):
            with pytest.raises(hiplaunch.DeviceLostError) as caught:
                await ticket
            assert caught.value.report["device"] == 0

    asyncio.run(main())
