"""Memory that other libraries use without a copy: DLPack and the array interfaces."""

import ctypes
import gc
import weakref

import numpy
import pytest

import hiplaunch


def test_numpy_uses_device_memory_of_the_emulator_in_place(launcher, code):
    out = launcher.empty((4, 16), "uint32")
    iota = launcher.register(code("vector"), "iota_u32")
    iota[1, 64](out, 3, 64)
    array = numpy.asarray(out)
    assert array.dtype == "u4" and array.shape == (4, 16)
    assert numpy.array_equal(array.ravel(), numpy.arange(3, 67))
    # It is the same memory, in both directions.
    array[0, 0] = 77
    assert numpy.frombuffer(out.tobytes(), "u4")[0] == 77
    out.fill(0)
    launcher.synchronize()
    assert not array.any()


def test_from_dlpack_is_the_same_memory(launcher, code):
    buffer = launcher.buffer(numpy.arange(6, dtype="f4").reshape(2, 3))
    assert buffer.__dlpack_device__() == (1, 0)
    array = numpy.from_dlpack(buffer)
    assert array.dtype == "f4" and array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array.ctypes.data == numpy.asarray(buffer).ctypes.data
    scale = launcher.register(code("vector"), "vscale")
    scale[1, 6](2.0, buffer, buffer, 6)
    launcher.synchronize()
    assert array.tolist() == [[0, 2, 4], [6, 8, 10]]


def capsule_name(capsule):
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(capsule)


def test_versions_of_capsules(one):
    buffer = one.empty(4, "float32")
    assert capsule_name(buffer.__dlpack__()) == b"dltensor"
    assert capsule_name(buffer.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert capsule_name(buffer.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert capsule_name(buffer.__dlpack__(max_version=(2, 0))) == b"dltensor_versioned"


class Old:
    """An array whose library knows DLPack as it was before version 1."""

    def __init__(self, inner):
        self.inner = inner

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.inner.__dlpack__(stream=stream)


def test_a_library_of_before_version_1(one):
    array = numpy.arange(4, dtype="i4")
    buffer = one.from_dlpack(Old(array))
    assert numpy.asarray(buffer).tolist() == [0, 1, 2, 3]
    assert numpy.from_dlpack(Old(one.buffer(array))).tolist() == [0, 1, 2, 3]


def test_what_dlpack_refuses(one):
    buffer = one.empty(4, "float32")
    for keywords in ({"copy": True}, {"dl_device": (10, 0)}, {"stream": 5}):
        with pytest.raises(BufferError):
            buffer.__dlpack__(**keywords)


def test_capsules_that_nobody_takes_free_the_memory(one):
    def in_use():
        return one.devices[0].pool_snapshot().counters["in_use"]

    before = in_use()
    for version in (None, (1, 0)):
        buffer = one.empty(1 << 20)
        capsule = buffer.__dlpack__(max_version=version)
        buffer.close()
        assert in_use() > before  # The capsule keeps it.
        del capsule
        assert in_use() == before


def test_arrays_keep_the_memory(one):
    def in_use():
        return one.devices[0].pool_snapshot().counters["in_use"]

    before = in_use()
    buffer = one.buffer(numpy.arange(1000, dtype="f4"))
    array, other, view = numpy.from_dlpack(buffer), numpy.asarray(buffer), buffer.memoryview()
    buffer.close()
    one.empty(4000).fill(1)
    one.synchronize()
    assert array[999] == other[999] == 999 and view.cast("f")[999] == 999
    del buffer, other, array
    assert in_use() > before and view.cast("f")[998] == 998
    del view
    gc.collect()
    assert in_use() == before


def test_arrays_may_be_used_after_the_launcher(code):
    launcher = hiplaunch.Launcher("emulator")
    buffer = launcher.buffer(numpy.arange(1000, dtype="f4"))
    array, view = numpy.asarray(buffer), numpy.from_dlpack(buffer)
    launcher.close()
    del launcher, buffer
    gc.collect()
    array[999] = 7
    assert view[999] == 7
    del array
    gc.collect()
    assert view[999] == 7 and view[998] == 998


def test_from_dlpack_adopts_arrays_of_the_host(launcher, code):
    array = numpy.arange(64, dtype="u4")
    buffer = launcher.from_dlpack(array)
    assert (buffer.shape, buffer.dtype) == ((64,), "uint32")
    launcher.register(code("vector"), "iota_u32")[1, 64](buffer, 100, 64)
    launcher.synchronize()
    assert numpy.array_equal(array, numpy.arange(100, 164))  # Written in place.
    assert numpy.asarray(buffer).ctypes.data == array.ctypes.data
    buffer.close()
    with pytest.raises(hiplaunch.ClosedError):
        buffer.tobytes()


def test_adopted_arrays_are_returned(one):
    class Owner(numpy.ndarray):
        pass

    array = numpy.zeros(64, "u4").view(Owner)
    alive = weakref.ref(array)
    buffer = one.from_dlpack(array)
    del array
    gc.collect()
    assert alive() is not None
    other = numpy.from_dlpack(buffer)  # It keeps the array, too.
    buffer.close()
    assert alive() is not None
    del other, buffer
    gc.collect()
    assert alive() is None


def test_an_adopted_array_in_flight(one, code):
    array = numpy.zeros(1, "u4")
    buffer = one.from_dlpack(array)
    one.register(code("probe"), "spin")[1, 1](1000000, buffer)
    buffer.close()  # Waits for the kernel.
    assert array[0] != 0


def test_there_and_back(one, code):
    first = one.buffer(numpy.arange(4, dtype="u4"))
    second = one.from_dlpack(first)
    one.register(code("vector"), "iota_u32")[1, 4](second, 5, 4)
    assert numpy.frombuffer(first.tobytes(), "u4").tolist() == [5, 6, 7, 8]


def test_pinned_arrays_come_back(one, code):
    pinned = one.pinned(4, "uint32")
    buffer = one.from_dlpack(numpy.asarray(pinned))
    one.register(code("vector"), "iota_u32")[1, 4](buffer, 5, 4)
    one.synchronize()
    assert numpy.asarray(pinned).tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize("dtype", ["u1", "i1", "?", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"])
def test_every_element_type_both_ways(one, dtype):
    array = numpy.arange(6).astype(dtype).reshape(2, 3)
    assert numpy.array_equal(numpy.from_dlpack(one.buffer(array)), array)
    assert numpy.array_equal(numpy.asarray(one.buffer(array)), array)
    adopted = one.from_dlpack(array)
    assert (adopted.shape, numpy.dtype(adopted.dtype)) == (array.shape, array.dtype)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 4, 1)])
def test_shapes(one, shape):
    buffer = one.empty(shape, "float32")
    assert numpy.from_dlpack(buffer).shape == shape
    assert numpy.asarray(buffer).shape == shape
    assert one.from_dlpack(numpy.zeros(shape, "f4")).shape == shape


def test_arrays_that_can_not_be_adopted(one):
    with pytest.raises(ValueError, match="not contiguous"):
        one.from_dlpack(numpy.arange(10)[::2])
    with pytest.raises(ValueError, match="not contiguous"):
        one.from_dlpack(numpy.arange(6).reshape(2, 3).T)
    array = numpy.arange(4)
    array.flags.writeable = False
    # Before version 1 of DLPack, numpy refuses it itself.
    with pytest.raises((ValueError, BufferError), match="read-?only"):
        one.from_dlpack(array)
    with pytest.raises(AttributeError):
        one.from_dlpack([1, 2])

    class Elsewhere(Old):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        one.from_dlpack(Elsewhere(numpy.arange(4)))

    class Wrong(Old):
        def __dlpack__(self, **_):
            return 5

    with pytest.raises(TypeError, match="capsule"):
        one.from_dlpack(Wrong(numpy.arange(4)))


def test_a_capsule_is_taken_once(one):
    class Twice(Old):
        def __dlpack__(self, **_):
            return self.capsule

    source = Twice(one.buffer(numpy.arange(4)))
    source.capsule = source.inner.__dlpack__()
    one.from_dlpack(source)
    with pytest.raises(TypeError, match="unused"):
        one.from_dlpack(source)


def test_no_gpu_interfaces_on_the_emulator(one):
    buffer = one.empty(4)
    assert not hasattr(buffer, "__cuda_array_interface__")
    assert not hasattr(buffer, "__hip_array_interface__")


def test_noop_memory_is_nobody_s(noop):
    buffer = noop.empty(4)
    assert not hasattr(buffer, "__array_interface__")
    with pytest.raises(BufferError):
        buffer.__dlpack__()
    with pytest.raises(TypeError, match="copy_to"):
        numpy.asarray(buffer)


def test_the_sanitizer_takes_what_the_host_may_have_written_for_written(code):
    with hiplaunch.Launcher("emulator", sanitize=True) as launcher:
        scale = launcher.register(code("vector"), "vscale")
        x, y = launcher.empty(64, "float32"), launcher.empty(64, "float32")
        numpy.asarray(x)[:] = 3
        scale[1, 64](2.0, x, y, 64)
        assert numpy.asarray(y).tolist() == [6.0] * 64
    launcher = hiplaunch.Launcher("emulator", sanitize=True)
    scale = launcher.register(code("vector"), "vscale")
    scale[1, 64](2.0, launcher.empty(64, "float32"), launcher.empty(64, "float32"), 64)
    with pytest.raises(hiplaunch.DeviceLostError):
        launcher.close()


def test_pinned_arrays(launcher, code):
    pinned = launcher.pinned((4, 16), "uint32")
    assert (pinned.shape, pinned.dtype, pinned.nbytes, len(pinned)) == ((4, 16), "uint32", 256, 4)
    array = numpy.asarray(pinned)
    assert array.shape == (4, 16) and not array.any()
    launcher.register(code("vector"), "iota_u32")[1, 64](pinned, 9, 64)
    launcher.synchronize()
    assert numpy.array_equal(array.ravel(), numpy.arange(9, 73))
    assert pinned.memoryview().cast("I")[1] == 10
    assert numpy.array_equal(numpy.from_dlpack(pinned), array)
    assert launcher.pinned(100).shape == (100,)


def test_pinned_arrays_outlive_close(one):
    pinned = one.pinned(1000, "float32")
    array, view = numpy.asarray(pinned), numpy.from_dlpack(pinned)
    pinned.close()
    array[:] = 5
    assert view[999] == 5
    del pinned, array
    gc.collect()
    assert view[0] == 5
    memory = one.pinned(4)
    memory.close()
    with pytest.raises(hiplaunch.ClosedError):
        memory.memoryview()


def test_registered_arrays(launcher, code):
    array = numpy.zeros((8, 8), "u4")
    iota = launcher.register(code("vector"), "iota_u32")
    with launcher.register_host(array) as memory:
        assert (memory.shape, memory.dtype) == ((8, 8), "uint32")
        assert memory.host_address == array.ctypes.data
        iota[1, 64](memory, 1, 64)
    # Closing waited for the kernel.
    assert numpy.array_equal(array.ravel(), numpy.arange(1, 65))
    with pytest.raises(hiplaunch.ClosedError):
        iota[1, 64](memory, 1, 64)


def test_registered_bytearrays_and_addresses(one, code):
    iota = one.register(code("vector"), "iota_u32")
    data = bytearray(256)
    with one.register_host(data) as memory:
        iota[1, 64](memory, 1, 64)
        with pytest.raises(BufferError):
            data.append(1)  # It can't be moved meanwhile.
    assert list(memoryview(data).cast("I")) == list(range(1, 65))
    data.append(1)
    array = (ctypes.c_uint32 * 64)()
    with one.register_host(ctypes.addressof(array), 256) as memory:
        iota[1, 64](memory, 2, 64)
    assert list(array) == list(range(2, 66))


def test_read_only_arrays_are_not_registered(one):
    with pytest.raises(ValueError, match="read-only"):
        one.register_host(bytes(100))
    with pytest.raises(ValueError, match="not contiguous"):
        one.register_host(numpy.arange(10)[::2])
