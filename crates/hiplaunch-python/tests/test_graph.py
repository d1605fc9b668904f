"""Graphs: recording, submitting, binding other buffers and numbers."""

import numpy
import pytest

import hiplaunch


@pytest.fixture
def scale(launcher, code):
    return launcher.register(code("vector"), "vscale")


def test_a_graph_is_submitted_many_times(launcher, scale):
    x = launcher.buffer(numpy.arange(256, dtype="f4"))
    graph = launcher.graph()
    value, between, out = graph.buffer(x), graph.temporary(256, "float32"), graph.temporary(1024)
    first = graph.launch(scale, 4, 64, 2.0, value.read_only, between.write_only, 256)
    graph.launch(scale, 4, 64, 10.0, between.read_only, out.write_only, 256)
    graph.read(out)
    assert len(graph) == 3
    compiled = graph.compile()
    for _ in range(3):
        [got] = compiled.submit().result()
        assert numpy.array_equal(numpy.frombuffer(got, "f4"), 20 * numpy.arange(256, dtype="f4"))
    compiled.set_scalar(first, 0, 3.0)
    [got] = compiled.submit().result()
    assert numpy.array_equal(numpy.frombuffer(got, "f4"), 30 * numpy.arange(256, dtype="f4"))
    compiled.set_buffer(value, launcher.buffer(numpy.ones(256, "f4")))
    [got] = compiled.submit().result()
    assert numpy.frombuffer(got, "f4").tolist() == [30.0] * 256


def test_read_into_an_array(launcher, scale):
    graph = launcher.graph()
    value = graph.buffer(launcher.buffer(numpy.ones(64, "f4")))
    array = numpy.zeros(64, "f4")
    graph.read(value, into=array)
    with pytest.raises(ValueError):
        graph.read(value, into=numpy.zeros(63, "f4"))
    [got] = graph.compile().submit().result()
    assert got is array and array.tolist() == [1.0] * 64


def test_copies_fills_and_parts(launcher):
    buffer = launcher.empty(256)
    graph = launcher.graph()
    value, other = graph.buffer(buffer), graph.temporary(64)
    graph.fill(value, 1)
    graph.fill_words(other, 0x04030201)
    graph.copy(other, value.part(64, 64))
    graph.compile(launcher.stream()).submit().result()
    assert buffer.tobytes() == bytes([1]) * 64 + bytes([1, 2, 3, 4]) * 16 + bytes([1]) * 128
    with pytest.raises(hiplaunch.GraphError):
        value.part(200, 100)


def test_a_part_of_a_buffer_takes_the_place_of_another(launcher, scale):
    x = launcher.buffer(numpy.arange(256, dtype="f4"))
    graph = launcher.graph()
    value, out = graph.buffer(x.part(0, 256)), graph.temporary(256)
    graph.launch(scale, 1, 64, 2.0, value.read_only, out.write_only, 64)
    graph.read(out)
    compiled = graph.compile()
    for start in (0, 64, 192):
        compiled.set_buffer(value, x.part(4 * start, 256))
        [got] = compiled.submit().result()
        assert numpy.array_equal(numpy.frombuffer(got, "f4"), 2 * numpy.arange(start, start + 64, dtype="f4"))


def test_one_call_submits_a_graph_that_stays_the_same(code):
    with hiplaunch.Launcher("emulator", timeline=True) as launcher:
        launcher.set_graph_break_even(4)
        scale = launcher.register(code("vector"), "vscale")
        buffers = [launcher.buffer(numpy.full(64, number, "f4")) for number in (1, 2)]
        graph = launcher.graph()
        value, outs = graph.buffer(buffers[0]), [graph.temporary(256) for _ in range(4)]
        for source, out in zip([value, *outs], outs):
            graph.launch(scale, 1, 64, 2.0, source.read_only, out.write_only, 64)
        graph.read(outs[-1])
        compiled = graph.compile()

        def results(count):
            return [numpy.frombuffer(compiled.submit().result()[0], "f4")[0] for _ in range(count)]

        assert results(4) == [16.0] * 4
        compiled.set_buffer(value, buffers[1])
        assert results(3) == [32.0] * 3
        assert "hipGraphLaunch" in launcher.timeline.to_json()


def test_streams_and_order(launcher, scale):
    graph = launcher.graph(streams=4)
    outs = [launcher.empty(256) for _ in range(4)]
    nodes = [graph.fill(graph.buffer(out), n) for n, out in enumerate(outs)]
    graph.order(nodes[0], nodes[3])
    with pytest.raises(hiplaunch.GraphError):
        graph.order(nodes[3], nodes[0])
    graph.compile().submit().result()
    assert [out.tobytes() for out in outs] == [bytes([n]) * 256 for n in range(4)]


def test_buffers_may_be_closed_and_kernels_dropped(one, code):
    scale = one.register(code("vector"), "vscale")
    x = one.buffer(numpy.ones(64, "f4"))
    graph = one.graph()
    value, out = graph.buffer(x), graph.temporary(64, "float32")
    graph.launch(scale, 1, 64, 2.0, value.read_only, out.write_only, 64)
    graph.read(out)
    x.close()
    del x, scale
    compiled = graph.compile()
    assert numpy.frombuffer(compiled.submit().result()[0], "f4").tolist() == [2.0] * 64


def test_adopted_arrays_in_graphs(one, code):
    scale = one.register(code("vector"), "vscale")
    arrays = [numpy.full(64, n, "f4") for n in (1, 2)]
    buffers = [one.from_dlpack(array) for array in arrays]
    graph = one.graph()
    value = graph.buffer(buffers[0])
    out = graph.temporary(64, "float32")
    graph.launch(scale, 1, 64, 3.0, value.read_only, out.write_only, 64)
    graph.copy(out, value)
    compiled = graph.compile()
    compiled.submit().result()
    compiled.set_buffer(value, buffers[1])
    del buffers
    compiled.submit().result()
    assert [array[0] for array in arrays] == [3, 6]


def test_what_graphs_refuse(one, code):
    scale = one.register(code("vector"), "vscale")
    buffer = one.empty(64, "float32")
    graph, other = one.graph(), one.graph()
    value = graph.buffer(buffer)
    with pytest.raises(TypeError, match="GraphValue"):
        graph.launch(scale, 1, 64, 1.0, buffer, value, 64)
    with pytest.raises(TypeError, match="takes 4 arguments"):
        graph.launch(scale, 1, 64, 1.0)
    with pytest.raises(TypeError, match="argument 0"):
        graph.launch(scale, 1, 64, "x", value, value, 64)
    with pytest.raises(hiplaunch.GraphError) as caught:
        other.launch(scale, 1, 64, 1.0, value, value, 64)
    assert caught.value.node == 0
    unwritten = one.graph()
    unwritten.read(unwritten.temporary(64))
    with pytest.raises(hiplaunch.GraphError, match="no node before wrote"):
        unwritten.compile()
    node = graph.launch(scale, 1, 64, 1.0, value, graph.temporary(256).write_only, 64)
    compiled = graph.compile()
    with pytest.raises(hiplaunch.GraphError, match="compiled"):
        graph.fill(value, 0)
    with pytest.raises(hiplaunch.GraphError):
        compiled.set_buffer(value, one.empty(65, "float32"))
    with pytest.raises(hiplaunch.GraphError):
        compiled.set_scalar(node + 1, 0, 1.0)
    with pytest.raises(hiplaunch.GraphError):
        compiled.set_scalar(node, 4, 1.0)
    with pytest.raises(TypeError):
        compiled.set_scalar(node, 1, 1.0)
    with hiplaunch.Launcher("emulator") as second:
        with pytest.raises(hiplaunch.GraphError, match="another launcher"):
            compiled.set_buffer(value, second.empty(64, "float32"))
        with pytest.raises(hiplaunch.GraphError, match="another launcher"):
            second.graph().buffer(buffer)
    one.close()
    with pytest.raises(hiplaunch.ClosedError):
        compiled.submit()


@pytest.mark.emulator
def test_a_fault_in_a_graph(one, code):
    store = one.register(code("probe"), "oob_store")
    graph = one.graph()
    graph.launch(store, 1, 1, graph.buffer(one.empty(256)), 1 << 40)
    compiled = graph.compile()
    with pytest.raises(hiplaunch.DeviceLostError):
        compiled.submit().result()
    with pytest.raises(hiplaunch.DeviceLostError):
        compiled.submit()
