"""Launching: dimensions, arguments of every type, streams, events, tickets."""

import ctypes
import struct
import threading

import numpy
import pytest

import hiplaunch
from hiplaunch import In, InOut, Out


def test_saxpy_with_arrays_of_the_host(launcher, code):
    saxpy = launcher.register(code("vector"), "saxpy")
    x, y = numpy.arange(1000, dtype="f4"), numpy.ones(1000, dtype="f4")
    ticket = saxpy[4, 256](2.0, In(x), InOut(y), 1000)
    [result] = ticket.result()
    assert result is y
    assert numpy.array_equal(y, 2 * numpy.arange(1000, dtype="f4") + 1)
    assert ticket.result() is ticket.result()


def test_saxpy_with_buffers(launcher, code):
    saxpy = launcher.register(code("vector"), "saxpy")
    x, y = launcher.buffer(numpy.arange(1000, dtype="f4")), launcher.buffer(numpy.ones(1000, dtype="f4"))
    assert saxpy[4, 256](2.0, x, y, 1000) is None
    assert numpy.array_equal(
        numpy.frombuffer(y.tobytes(), "f4"), 2 * numpy.arange(1000, dtype="f4") + 1
    )


def test_out_makes_bytes(launcher, code):
    iota = launcher.register(code("vector"), "iota_u32")
    [got] = iota[1, 64](Out(256), 7, 64).result()
    assert isinstance(got, bytes)
    assert list(memoryview(got).cast("I")) == list(range(7, 71))


@pytest.mark.parametrize("grid, block", [(6, 4), ((6,), (4,)), ((3, 2), (2, 2)), ((3, 2, 1), (2, 1, 2))])
def test_dimensions(one, code, grid, block):
    count = one.register(code("probe"), "atomic_count")
    counter = one.buffer(numpy.zeros(1, "u4"))
    count[grid, block](counter)
    assert numpy.frombuffer(counter.tobytes(), "u4")[0] == 24


@pytest.mark.parametrize("grid, block", [((), 1), ((1, 1, 1, 1), 1), ("x", 1), (1.5, 1), (None, 1)])
def test_wrong_dimensions(one, code, grid, block):
    kernel = one.register(code("probe"), "no_args")
    with pytest.raises(TypeError):
        kernel[grid, block]()


@pytest.mark.parametrize("grid, block", [(1, 0), (1, 2048), (1, (64, 64))])
def test_dimensions_that_do_not_fit(one, code, grid, block):
    kernel = one.register(code("probe"), "no_args")
    with pytest.raises(hiplaunch.LaunchError) as caught:
        kernel[grid, block]()
    assert caught.value.kernel == "no_args"


def test_a_grid_of_nothing(one, code):
    counter = one.buffer(numpy.zeros(1, "u4"))
    one.register(code("probe"), "atomic_count")[0, 64](counter)
    assert counter.tobytes() == bytes(4)


def test_negative_dimension(one, code):
    with pytest.raises(ValueError):
        one.register(code("probe"), "no_args")[-1, 1]


class Triple(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int), ("c", ctypes.c_int)]


def mixed(kernel):
    """The sizes of the value parameters of args_mixed, in order."""
    return [p["size"] for p in kernel.parameters if p["kind"] == "value"]


def test_structs_of_struct_ctypes_and_numpy_are_the_same(launcher, code):
    kernel = launcher.register(code("probe"), "args_mixed")
    triple = next(p["size"] for p in kernel.parameters if p["size"] not in (1, 2, 4, 8))
    assert triple == 12
    record = numpy.dtype([("a", "i4"), ("b", "i4"), ("c", "i4")])
    structs = [
        struct.pack("<3i", 1, -2, 3),
        Triple(1, -2, 3),
        numpy.array([(1, -2, 3)], record)[0],
        numpy.array([1, -2, 3], "i4"),
        bytearray(struct.pack("<3i", 1, -2, 3)),
    ]
    results = []
    for value in structs:
        args, outs = [], 0
        for index, p in enumerate(kernel.parameters):
            if p["kind"] == "ptr":
                args.append(Out(256))
                outs += 1
            elif p["size"] == 12:
                args.append(value)
            else:
                # The order of types is that of the kernel: char, short, int, long, float, double.
                args.append({4: 5.5, 5: 6.5}.get(index, index + 1))
        assert outs
        results.append([bytes(out) for out in kernel[1, 1](*args).result()])
    assert any(any(out) for out in results[0])
    assert all(result == results[0] for result in results)


def test_struct_of_the_wrong_size(one, code):
    kernel = one.register(code("probe"), "args_mixed")
    args = [0.0 if p["size"] in (4, 8) else 0 for p in kernel.parameters]
    at = next(i for i, p in enumerate(kernel.parameters) if p["size"] == 12)
    args = [None if p["kind"] == "ptr" else a for a, p in zip(args, kernel.parameters)]
    args[at] = bytes(11)
    with pytest.raises(TypeError, match="11 bytes for a value of 12 bytes"):
        kernel[1, 1](*args)


def test_numbers_of_numpy(launcher, code):
    fill = launcher.register(code("vector"), "fill_u32")
    out = launcher.empty(4, "uint32")
    for value in (numpy.uint32(9), numpy.int32(9), numpy.int64(9), numpy.uint8(9), True + 8):
        fill[1, 4](out, value, numpy.int32(4))
        assert numpy.frombuffer(out.tobytes(), "u4").tolist() == [9] * 4


def test_integers_that_do_not_fit(one, code):
    fill = one.register(code("vector"), "fill_u32")
    out = one.empty(4, "uint32")
    fill[1, 4](out, 2**32 - 1, 4)
    fill[1, 4](out, -1, 4)
    for wrong in (2**32, -(2**31) - 1, 2**64, 10**30):
        with pytest.raises(OverflowError, match="fill_u32"):
            fill[1, 4](out, wrong, 4)


def test_signature_converts(launcher, code):
    fill = launcher.register(code("vector"), "fill_u32", signature="ptr, u32, i32")
    out = launcher.empty(4, "uint32")
    fill[1, 4](out, 2**32 - 1, 4)
    with pytest.raises(OverflowError, match="without a sign"):
        fill[1, 4](out, -1, 4)
    with pytest.raises(TypeError):
        fill[1, 4](out, 1.5, 4)
    scale = launcher.register(code("vector"), "vscale", signature="f32, ptr, ptr, i32")
    x = launcher.buffer(numpy.arange(4, dtype="f4"))
    scale[1, 4](3, x, x, 4)  # An int for an f32.
    assert numpy.frombuffer(x.tobytes(), "f4").tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize(
    "signature", ["ptr, u32", "ptr, u64, i32", "u32, u32, i32", "ptr, f8, i32", "ptr, q32, i32", "ptr, ptr, i32"]
)
def test_wrong_signature(one, code, signature):
    with pytest.raises(ValueError, match="signature of `fill_u32`"):
        one.register(code("vector"), "fill_u32", signature=signature)


def test_without_signature_an_int_is_an_integer(one, code):
    # The code object does not say that the parameter is a float: 1 is the integer 1, which is a tiny float.
    scale = one.register(code("vector"), "vscale")
    x = one.buffer(numpy.ones(4, "f4"))
    scale[1, 4](1, x, x, 4)
    assert numpy.frombuffer(x.tobytes(), "u4").tolist() == [1] * 4


def test_packed_arguments(launcher, code):
    fill = launcher.register(code("vector"), "fill_u32")
    out = launcher.empty(4, "uint32")
    fill.launch(1, 4, packed=struct.pack("<QIi", out.address, 5, 4)).result()
    assert numpy.frombuffer(out.tobytes(), "u4").tolist() == [5] * 4
    with pytest.raises(TypeError):
        fill.launch(1, 4, out, packed=b"")
    with pytest.raises(hiplaunch.LaunchError):
        fill.launch(1, 4, packed=b"123")


def test_into(launcher, code):
    add = launcher.register(code("vector"), "vadd_f32")
    x, y = (launcher.buffer(numpy.arange(8, dtype="f4")) for _ in range(2))
    out = launcher.empty(8, "float32")
    add.launch(1, 8, x, y, hiplaunch.DESTINATION, 8, into=out).result()
    assert numpy.frombuffer(out.tobytes(), "f4").tolist() == [2 * i for i in range(8)]
    with pytest.raises(hiplaunch.LaunchError):  # The destination overlaps an argument.
        add.launch(1, 8, x, y, hiplaunch.DESTINATION, 8, into=x)
    with pytest.raises(hiplaunch.LaunchError):  # No destination for the marker.
        add.launch(1, 8, x, y, hiplaunch.DESTINATION, 8)


def test_dynamic_lds(launcher, code):
    reverse = launcher.register(code("probe"), "dynamic_lds_reverse")
    x = numpy.arange(64, dtype="f4")
    [got] = reverse.launch(1, 64, In(x), Out(256), 64, lds=256).result()
    assert numpy.array_equal(numpy.frombuffer(got, "f4"), x[::-1])


@pytest.mark.emulator
def test_cooperative(launcher, code):
    stencil = launcher.register(code("probe"), "no_args")
    stencil.launch(4, 64, cooperative=True).result()
    with pytest.raises(hiplaunch.LaunchError):
        stencil.launch(100000, 1024, cooperative=True)


def test_parameters_and_attributes(launcher, code):
    saxpy = launcher.register(code("vector"), "saxpy")
    assert [(p["offset"], p["size"], p["kind"]) for p in saxpy.parameters] == [
        (0, 4, "value"),
        (8, 8, "ptr"),
        (16, 8, "ptr"),
        (24, 4, "value"),
    ]
    attributes = saxpy.attributes()
    assert attributes["wavefront_size"] == 64 and attributes["vgprs"] > 0


def test_the_number_of_arguments(one, code):
    with pytest.raises(TypeError, match="takes 4 arguments"):
        one.register(code("vector"), "saxpy")[1, 1](1.0)


def test_modules(one, code):
    module = one.load(code("vector"))
    assert "saxpy" in module.kernels and len(module.kernels) == 5
    assert module.kernel("saxpy").name == "saxpy"
    with open(code("vector"), "rb") as file:
        assert one.register(file.read(), "saxpy").name == "saxpy"
    with pytest.raises(ValueError, match="5 kernels"):
        one.register(code("vector"))


def test_streams_and_events(launcher, code):
    iota = launcher.register(code("vector"), "iota_u32")
    first, second = launcher.stream(), launcher.stream(priority=0)
    assert first != second and first == first and len({first, second}) == 2
    begin, end = launcher.event(), launcher.event()
    out, copy = launcher.empty(256, "uint32", stream=first), launcher.empty(256, "uint32", stream=second)
    begin.record(first)
    iota[4, 64, first](out, 5, 256)
    end.record(first)
    second.wait(end)
    copy.copy_from(out, stream=second)
    assert numpy.array_equal(numpy.frombuffer(copy.tobytes(stream=second), "u4"), numpy.arange(5, 261))
    end.synchronize()
    assert end.reached and begin.elapsed_ms(end) >= 0
    first.synchronize()
    assert first.idle


def test_adopted_stream(launcher, code):
    owner = launcher.stream()
    adopted = launcher.stream_from_raw(owner.raw)
    iota = launcher.register(code("vector"), "iota_u32")
    [got] = iota.launch(1, 64, Out(256), 0, 64, stream=adopted).result()
    assert list(memoryview(got).cast("I")) == list(range(64))
    null = launcher.stream_from_raw(0)
    [got] = iota.launch(1, 64, Out(256), 1, 64, stream=null).result()
    assert list(memoryview(got).cast("I")) == list(range(1, 65))


def test_devices(code):
    with hiplaunch.Launcher("emulator", target="gfx942", devices=2) as launcher:
        assert [device.ordinal for device in launcher.devices] == [0, 1]
        assert launcher.devices[0].target.startswith("gfx942")
        assert launcher.devices[0].properties["wavefront_size"] == 64
        stream = launcher.stream(1)
        iota = launcher.register(code("vector"), "iota_u32")
        out = launcher.empty(4, "uint32", stream=stream)
        assert stream.device == out.device == 1
        iota[1, 4, stream](out, 3, 4)
        assert numpy.frombuffer(out.tobytes(), "u4").tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("name", ["float32", "f4", "<f4", numpy.float32, numpy.dtype("f4")])
def test_element_types(one, name):
    buffer = one.empty((2, 3), name)
    assert (buffer.shape, buffer.dtype, buffer.nbytes, len(buffer)) == ((2, 3), "float32", 24, 2)


@pytest.mark.parametrize("name, error", [("float33", ValueError), ("", ValueError), (">f4", ValueError), (5, TypeError)])
def test_unknown_element_type(one, name, error):
    with pytest.raises(error):
        one.empty(4, name)


@pytest.mark.parametrize("dtype", ["u1", "i1", "?", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"])
def test_buffers_keep_shape_and_type(one, dtype):
    array = numpy.arange(6).astype(dtype).reshape(2, 3)
    buffer = one.buffer(array)
    assert buffer.shape == (2, 3) and numpy.dtype(buffer.dtype) == array.dtype
    back = numpy.empty_like(array)
    buffer.copy_to(back)
    assert numpy.array_equal(back, array)


def test_fill_and_copy(one):
    a, b = one.empty(100), one.empty(100)
    a.fill(7)
    b.copy_from(a)
    assert b.tobytes() == bytes([7]) * 100
    b.copy_from(bytes(range(100)))
    assert b.tobytes() == bytes(range(100))
    with pytest.raises(ValueError, match="99 bytes"):
        b.copy_from(bytes(99))
    with pytest.raises(ValueError):
        b.copy_to(bytearray(99))


def test_copies_of_a_part(one):
    a = one.buffer(bytes(100))
    a.copy_from(b"abc", offset=97)
    a.copy_from(one.buffer(b"xy"), offset=0)
    part = bytearray(5)
    a.copy_to(part, offset=95)
    assert part == b"\0\0abc" and a.tobytes()[:3] == b"xy\0"
    for offset in (98, 2**63):
        with pytest.raises(ValueError):
            a.copy_from(b"abc", offset=offset)
        with pytest.raises(ValueError):
            a.copy_to(bytearray(3), offset=offset)
    with pytest.raises(OverflowError):
        a.copy_from(b"abc", offset=-1)


def test_parts_share_memory(launcher, code):
    whole = launcher.buffer(numpy.arange(256, dtype="f4"))
    part = whole.part(512, 256).part(128, 128)
    assert (part.shape, part.dtype, part.nbytes, part.address) == ((128,), "uint8", 128, whole.address + 640)
    launcher.register(code("vector"), "vscale")[1, 64](2.0, part, part, 32)
    expected = numpy.arange(256, dtype="f4")
    expected[160:192] *= 2
    assert whole.tobytes() == expected.tobytes()
    part.copy_from(bytes(128))
    whole.close()
    assert part.tobytes() == bytes(128)
    for offset, nbytes in ((128, 1), (0, 129), (2**63, 2**63)):
        with pytest.raises(ValueError, match="not in a buffer of 128 bytes"):
            part.part(offset, nbytes)
    assert part.part(128, 0).tobytes() == b""
    part.close()
    with pytest.raises(hiplaunch.ClosedError):
        part.part(0, 1)


@pytest.mark.emulator
def test_parts_of_an_array_of_the_host(one):
    array = numpy.arange(64, dtype="u1")
    part = one.from_dlpack(array).part(16, 8)
    assert part.tobytes() == bytes(range(16, 24))
    numpy.asarray(part)[:] = 7
    assert array.tolist() == [*range(16), *[7] * 8, *range(24, 64)]


def test_empty_buffer(one):
    buffer = one.empty(0, "float32")
    assert buffer.tobytes() == b"" and len(buffer) == 0


def test_eight_threads_on_streams_of_their_own(launcher, code):
    iota = launcher.register(code("vector"), "iota_u32")
    tickets, errors = [None] * 8, []

    def work(number):
        try:
            stream = launcher.stream()
            for turn in range(50):
                ticket = iota.launch(1, 64, Out(256), 1000 * number + turn, 64, stream=stream)
                if turn % 2:
                    [got] = ticket.result()
                    assert memoryview(got).cast("I")[63] == 1000 * number + turn + 63
            tickets[number] = iota.launch(1, 64, Out(256), number, 64, stream=stream)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for number, ticket in enumerate(tickets):
        assert memoryview(ticket.result()[0]).cast("I")[0] == number


def test_callbacks(one, code):
    spin = one.register(code("probe"), "spin")
    ticket = spin[1, 1](200000, Out(4))
    called = [threading.Event() for _ in range(3)]
    for event in called:
        ticket.add_done_callback(event.set)
    assert all(event.wait(60) for event in called)
    assert ticket.done
    late = threading.Event()
    ticket.add_done_callback(late.set)
    assert late.is_set()
    ticket.result()


def test_noop(noop, code):
    saxpy = noop.register(code("vector"), "saxpy")
    x = noop.empty(1000, "float32")
    assert noop.backend == "noop"
    assert saxpy[4, 256](2.0, x, x, 1000) is None
    assert saxpy.launch(4, 256, 2.0, x, x, 1000).result() == []


def test_validation(code):
    with hiplaunch.Launcher("emulator", validate=True) as launcher:
        launcher.register(code("probe"), "no_args")[1, 1]()
        launcher.synchronize()
        assert launcher.violations() == []
    with hiplaunch.Launcher("emulator", validate=False) as launcher, pytest.raises(ValueError):
        launcher.violations()


def test_layers_do_not_change_what_a_launcher_is(launcher):
    target = None if launcher.backend == "hip" else launcher.devices[0].target
    settings = {} if target is None else {"target": target}
    with hiplaunch.Launcher(launcher.backend, validate=True, **settings) as validated:
        assert validated.backend == launcher.backend
        devices = [one.empty(4, "f4").__dlpack_device__() for one in (launcher, validated)]
        assert devices[0] == devices[1]
