"""Kernels as decorated functions, as users of numba know them: a small package over hiplaunch.

`@hip` takes the HIP C++ of a kernel from the function's docstring, or a compiled code object, and gives a kernel that is launched as
`kernel[grid, block](...)`. Arrays of numpy are copied to the device and, where the parameter is not const, back; Buffers stay where
they are. Each kernel is compiled when it is first launched, for the device's target.

    pip install hiplaunch numpy
    HIPLAUNCH_EMULATOR_TARGET=gfx90a python examples/python/hosts/decorated_kernels.py
"""

import functools
import inspect
import re
import sys
from pathlib import Path

import numpy

import hiplaunch

# The types of parameters by their names in HIP C++, for conversions of numbers.
TYPES = {"float": "f32", "double": "f64", "int": "i32", "unsigned": "u32", "long": "i64", "char": "i8", "short": "i16"}


@functools.cache
def launcher():
    return hiplaunch.Launcher()


class Kernel:
    """A kernel that is compiled when it is first launched."""

    def __init__(self, name, parameters, code):
        self.name, self.parameters, self.code = name, parameters, code

    @functools.cached_property
    def kernel(self):
        code = self.code
        if code is None:
            raise TypeError(f"{self.name} has no code: write HIP C++ in its docstring, or give @hip a code object")
        if isinstance(code, str):
            code = hiplaunch.compile(code, target=launcher().devices[0], name=f"{self.name}.hip")
        signature = ", ".join("ptr" if "*" in p else TYPES[p.split()[0]] for p in self.parameters)
        return launcher().register(code, self.name, signature=signature)

    def __getitem__(self, key):
        bound = self.kernel[key]

        def launch(*arguments):
            converted = []
            for argument, parameter in zip(arguments, self.parameters):
                if isinstance(argument, numpy.ndarray):
                    wrap = hiplaunch.In if "const" in parameter else hiplaunch.InOut
                    argument = wrap(argument)
                converted.append(argument)
            ticket = bound(*converted)
            return ticket.result() if ticket else None

        return launch


def hip(code=None):
    """Makes a kernel of a function whose annotations are the types of its parameters in HIP C++. `code` is the path of a code object,
    or its bytes; without it the docstring is the kernel's body."""

    def decorate(function):
        types = [f"{annotation}" for annotation in inspect.get_annotations(function).values()]
        names = list(inspect.signature(function).parameters)
        given = code
        if given is None and function.__doc__:
            listed = ", ".join(f"{type} {name}" for type, name in zip(types, names))
            given = f'extern "C" __global__ void {function.__name__}({listed}) {{\n{function.__doc__}\n}}\n'
        return Kernel(function.__name__, types, given)

    return decorate


@hip()
def clamp(x: "const float*", y: "float*", low: "float", high: "float", n: "int"):
    """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fminf(fmaxf(x[i], low), high);
    """


@hip(Path(__file__).resolve().parents[3] / "hip" / "vector.hipfb")
def saxpy(a: "float", x: "const float*", y: "float*", n: "int"): ...


def main():
    x, y = numpy.linspace(-2, 2, 1000, dtype="f4"), numpy.ones(1000, "f4")
    # A compiled object: numbers are converted as the annotations say.
    saxpy[4, 256](2, x, y, 1000)
    assert numpy.allclose(y, 2 * x + 1)
    print(f"saxpy on {launcher()}: y[0] = {y[0]}")
    # Device memory stays where it is between launches.
    there = launcher().buffer(y)
    saxpy[4, 256](1, launcher().buffer(x), there, 1000)
    assert numpy.allclose(numpy.frombuffer(there.tobytes(), "f4"), 3 * x + 1)
    # HIP C++ in the docstring.
    clamp[4, 256](x, y, -1, 1, 1000)
    assert numpy.array_equal(y, numpy.clip(x, -1, 1))
    print(f"clamp: {y.min()} to {y.max()}")


if __name__ == "__main__":
    try:
        main()
    except hiplaunch.CompileError as error:
        sys.exit(f"{re.sub(chr(10), ' ', str(error))}")
