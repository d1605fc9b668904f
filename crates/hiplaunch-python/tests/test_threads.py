"""Objects of the package are used by several threads at the same time; without the GIL, too."""

import ctypes
import pathlib
import sys
import threading

import hiplaunch

HIP = pathlib.Path(__file__).resolve().parents[3] / "hip"
N = 256


def floats(values):
    return (ctypes.c_float * N)(*values)


def in_threads(work, count=8):
    """Runs work(index) in threads that begin together, and raises what one of them raised."""
    begin, errors = threading.Barrier(count), []

    def body(index):
        begin.wait()
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_the_module_leaves_the_gil_off():
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    built_without = "free-threading" in sys.version
    assert enabled != built_without


def test_one_kernel_on_streams_of_their_own():
    with hiplaunch.Launcher("emulator") as launcher:
        saxpy = launcher.register(HIP / "vector.hipfb", "saxpy")
        x = floats(range(N))

        def work(index):
            stream = launcher.stream()
            tickets = []
            for a in range(40):
                y = floats([index] * N)
                tickets.append((a, y, saxpy[4, 64, stream](float(a), hiplaunch.In(x), hiplaunch.InOut(y), N)))
            for a, y, ticket in tickets:
                ticket.result()
                assert list(y) == [a * i + index for i in range(N)]

        in_threads(work)


def test_one_ticket_is_read_by_all():
    with hiplaunch.Launcher("emulator") as launcher:
        saxpy = launcher.register(HIP / "vector.hipfb", "saxpy")
        for _ in range(50):
            y = floats([1] * N)
            ticket = saxpy[4, 64](2.0, hiplaunch.In(floats(range(N))), hiplaunch.InOut(y), N)
            results = []

            def work(_, ticket=ticket, results=results):
                results.append(ticket.result())

            in_threads(work, 4)
            assert results and all(result is results[0] for result in results)
            assert list(y) == [2 * i + 1 for i in range(N)]


def test_one_buffer_is_used_and_closed():
    with hiplaunch.Launcher("emulator") as launcher:
        saxpy = launcher.register(HIP / "vector.hipfb", "saxpy")
        for _ in range(20):
            x, y = launcher.buffer(floats(range(N))), launcher.buffer(floats([0] * N))

            def work(index, x=x, y=y):
                try:
                    for _ in range(20):
                        saxpy[4, 64](1.0, x, y, N)
                    if index == 0:
                        x.close()
                except hiplaunch.ClosedError:
                    pass

            in_threads(work, 4)
            y.tobytes()


def test_a_launcher_is_closed_while_it_is_used():
    for _ in range(10):
        launcher = hiplaunch.Launcher("emulator")
        saxpy = launcher.register(HIP / "vector.hipfb", "saxpy")

        def work(index, launcher=launcher, saxpy=saxpy):
            try:
                for a in range(50):
                    y = floats([1] * N)
                    saxpy[4, 64](float(a), hiplaunch.In(y), hiplaunch.InOut(y), N).result()
                    if index == 0 and a == 10:
                        launcher.close()
            except hiplaunch.ClosedError:
                pass

        in_threads(work, 4)
        assert launcher.closed
