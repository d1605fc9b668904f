"""A batch of a TinyJit: compiled graphs of hiplaunch, one for each device between copies from one device to another."""

from tinygrad.device import Device, MultiBuffer
from tinygrad.engine.jit import MultiGraphRunner
from tinygrad.engine.realize import _resolve, get_call_arg_uops
from tinygrad.uop.ops import Ops


class _Argument:
    """Memory that a call gets: always the same, or what each run of the batch brings, which `uop` names."""

    def __init__(self, uop, lane, buffer, inputs):
        self.buffer, self._uop, self._lane = buffer, uop, lane
        self.is_input = _resolve(uop, inputs) is not uop
        # Arguments with the same key are the same memory.
        self.key = (uop, lane) if self.is_input else (id(buffer.base), buffer.offset, buffer.nbytes)

    def memory(self, inputs):
        """The memory in a run with these inputs."""
        buffer = self.buffer
        if self.is_input:
            buffer = _resolve(self._uop, inputs).buffer
            buffer = buffer.bufs[self._lane] if isinstance(buffer, MultiBuffer) else buffer
        return buffer.get_buf(self.buffer.device)


class _Copy:
    """A copy from one device to another."""

    def __init__(self, target, source):
        self._target, self._source = target, source

    def submit(self, inputs):
        target, source = self._target.buffer, self._source.buffer
        to, of = Device[target.device], Device[source.device]
        to.allocator._transfer(self._target.memory(inputs), self._source.memory(inputs), target.nbytes, of, to)


class _Work:
    """Kernels and copies of one device, as a graph."""

    def __init__(self, device):
        self._device, self._compiled = device, None
        self._graph = device.launcher.graph(device.device_id)
        self._values, self._inputs = {}, []

    def value(self, argument):
        """The graph's value of an argument."""
        if argument.key not in self._values:
            value = self._graph.buffer(argument.buffer.get_buf(self._device.device))
            self._values[argument.key] = value
            if argument.is_input:
                self._inputs.append((argument, value))
        return self._values[argument.key]

    def copy(self, target, source):
        self._graph.copy(self.value(source), self.value(target))

    def launch(self, kernel, info, arguments, variables):
        """Records a launch, and returns its node."""
        values = [self.value(argument) for argument in arguments]
        # What a kernel writes, it may write in part.
        values = [values[i] if i in info.outs else values[i].read_only for i in info.globals]
        grid, block = info.launch_dims({})
        return self._graph.launch(kernel, grid, block or (1, 1, 1), *values, *variables)

    def compile(self):
        self._compiled = self._graph.compile(self._device.stream)

    def set_scalar(self, node, parameter, number):
        self._compiled.set_scalar(node, parameter, number)

    def submit(self, inputs):
        for argument, value in self._inputs:
            self._compiled.set_buffer(value, argument.memory(inputs))
        self._compiled.submit()


class Graph(MultiGraphRunner):
    """Runs a batch of kernels and copies."""

    def __init__(self, linear, input_uops=()):
        super().__init__(linear, input_uops)
        self._steps, self._open = [], {}
        names = dict.fromkeys(buffer.device for _, _, buffers, _ in self.calls for buffer in buffers)
        self._devices = [Device[name] for name in names]
        # For each launch: its work, its node, and the number of the parameter that is the first variable.
        self._launches = {}
        calls = iter(self.linear.src)
        for number, (lane, ast, buffers, device_vars) in enumerate(self.calls):
            if lane == 0:  # A call has a lane for each of its devices.
                uops = get_call_arg_uops(next(calls))
            arguments = [_Argument(uop, lane, buffer, input_uops) for uop, buffer in zip(uops, buffers)]
            if ast.op is Ops.PROGRAM:
                work, info = self._on(buffers[0].device), ast.arg
                # Those of the batch are set before it is submitted.
                variables = [device_vars.get(variable.expr, 0) for variable in info.vars]
                node = work.launch(self.runtimes[number].kernel, info, arguments, variables)
                self._launches[number] = work, node, len(info.globals)
            elif buffers[0].device == buffers[1].device:
                self._on(buffers[0].device).copy(*arguments)
            else:
                for buffer in buffers:
                    self._close(buffer.device)
                self._steps.append(_Copy(*arguments))
        for device in list(self._open):
            self._close(device)

    def _on(self, name):
        """The work of a device since the last copy to or from another one."""
        if name not in self._open:
            self._open[name] = _Work(Device[name])
            self._steps.append(self._open[name])
        return self._open[name]

    def _close(self, name):
        if name in self._open:
            self._open.pop(name).compile()

    def __call__(self, input_uops, var_vals, wait=False):
        for number, index, value in self.updated_vars(var_vals):
            work, node, first = self._launches[number]
            work.set_scalar(node, first + index, value)
        if wait:
            return self._devices[0].timed(lambda: self._submit_and_join(input_uops))
        for step in self._steps:
            step.submit(input_uops)

    def _submit_and_join(self, inputs):
        first, *others = self._devices
        for step in self._steps:
            step.submit(inputs)
        for device in others:
            first.wait_for(device)

    @staticmethod
    def supports_uop(batch_devs, new_call):
        if any(device.graph is not Graph for device in MultiGraphRunner._all_devs(batch_devs, new_call)):
            return False
        ast = new_call.src[0]
        if ast.op is Ops.COPY:
            return True
        # The dimensions of a recorded launch stay.
        return ast.op is Ops.PROGRAM and all(isinstance(n, int) for n in (*ast.arg.global_size, *(ast.arg.local_size or ())))
