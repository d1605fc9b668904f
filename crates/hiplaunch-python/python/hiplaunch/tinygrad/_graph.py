"""A batch of a TinyJit as graphs of hiplaunch: one for each device, submitted at once."""

from tinygrad.device import Device, MultiBuffer
from tinygrad.engine.jit import GraphRunner
from tinygrad.engine.realize import _resolve, get_call_arg_uops
from tinygrad.uop.ops import Ops


class _Recording:
    """The part of a batch that is on one device."""

    def __init__(self, device):
        self.device = device
        self.graph = device.launcher.graph(device.device_id)
        self.compiled = None
        # Memory that the batch has for itself, by its place, and memory that each call brings, by its name and lane.
        self._own, self.inputs = {}, {}

    def value(self, uop, lane, buffer, is_input):
        """The graph's value of an argument."""
        if is_input:
            if (uop, lane) not in self.inputs:
                self.inputs[uop, lane] = self._add(buffer)
            return self.inputs[uop, lane]
        place = id(buffer.base), buffer.offset, buffer.nbytes
        if place not in self._own:
            self._own[place] = self._add(buffer)
        return self._own[place]

    def _add(self, buffer):
        return self.graph.buffer(buffer.get_buf(self.device.device))

    def compile(self):
        self.compiled = self.graph.compile(self.device.stream)
        self.graph = None


class Graph(GraphRunner):
    """Runs a batch of kernels, and of copies within a device."""

    def __init__(self, linear, input_uops=()):
        super().__init__(linear, input_uops)
        self._recordings = {}
        # For each call with variables: its recording, its node, and the parameter that the first of them is.
        self._nodes = {}
        calls = iter(self.linear.src)
        for number, (lane, ast, buffers, device_vars) in enumerate(self.calls):
            if lane == 0:  # Each call has a lane for each of its devices.
                uops = get_call_arg_uops(next(calls))
                are_inputs = [_resolve(uop, input_uops) is not uop for uop in uops]
            recording = self._on(buffers[0].device)
            values = [recording.value(uop, lane, *rest) for uop, *rest in zip(uops, buffers, are_inputs)]
            if ast.op is Ops.COPY:
                recording.graph.copy(values[1], values[0])
            else:
                self._nodes[number] = self._launch(recording, number, ast.arg, values, device_vars)
        for recording in self._recordings.values():
            recording.compile()

    def _on(self, device):
        if device not in self._recordings:
            self._recordings[device] = _Recording(Device[device])
        return self._recordings[device]

    def _launch(self, recording, number, info, values, device_vars):
        # What a kernel writes, it may write in part.
        arguments = [values[i] if i in info.outs else values[i].read_only for i in info.globals]
        # `__call__` sets the variables of the batch.
        arguments += [device_vars.get(variable.expr, 0) for variable in info.vars]
        grid, block = info.launch_dims({})
        node = recording.graph.launch(self.runtimes[number].kernel, grid, block or (1, 1, 1), *arguments)
        return recording, node, len(info.globals)

    def __call__(self, input_uops, var_vals, wait=False):
        for recording in self._recordings.values():
            for (uop, lane), value in recording.inputs.items():
                buffer = _resolve(uop, input_uops).buffer
                buffer = buffer.bufs[lane] if isinstance(buffer, MultiBuffer) else buffer
                recording.compiled.set_buffer(value, buffer.get_buf(recording.device.device))
        for number, index, value in self.updated_vars(var_vals):
            recording, node, first = self._nodes[number]
            recording.compiled.set_scalar(node, first + index, value)
        if not wait:
            self._submit()
            return None
        first, *others = (recording.device for recording in self._recordings.values())

        def enqueue():
            self._submit()
            for other in others:
                first.wait_for(other)

        return first.timed(enqueue)

    def _submit(self):
        for recording in self._recordings.values():
            recording.compiled.submit()

    @staticmethod
    def supports_uop(batch_devs, new_call):
        devices = GraphRunner._all_devs(batch_devs, new_call)
        if any(device.graph is not Graph for device in devices):
            return False
        ast, arguments = new_call.src[0], get_call_arg_uops(new_call)
        if ast.op is Ops.COPY:
            return all(argument.device == arguments[0].device for argument in arguments)
        # The dimensions of a recorded launch stay.
        return ast.op is Ops.PROGRAM and all(isinstance(n, int) for n in (*ast.arg.global_size, *(ast.arg.local_size or ())))
