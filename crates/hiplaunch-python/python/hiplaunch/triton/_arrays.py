"""numpy arrays as arguments of Triton kernels, and addresses of tensors in memory that kernels read."""

import functools

# The names of numpy's types.
_NAMES = {}


class Array:
    """A numpy array as Triton's compiler wants arguments that are pointers: with a type and an address."""

    __slots__ = ("array", "dtype")

    def __init__(self, array):
        if not array.dtype.isnative:
            raise ValueError(f"an array of {array.dtype} has the other byte order; convert it first")
        self.array = array
        # Triton takes the name of a type from its text, which is the same as of torch's types, and remembers it by the type's hash.
        # That is the same for most of ml_dtypes' types of one byte, but not for their names.
        self.dtype = _NAMES.get(array.dtype)
        if self.dtype is None:
            self.dtype = _NAMES[array.dtype] = str(array.dtype)

    def data_ptr(self):
        """Returns the address of the first element."""
        return self.array.__array_interface__["data"][0]


def accept_arrays(replacements):
    """Makes kernels of Triton accept numpy arrays."""
    import numpy
    from triton.runtime.jit import JITFunction

    run = JITFunction.run

    def wrapped(value):
        return Array(value) if isinstance(value, numpy.ndarray) else value

    @functools.wraps(run)
    def run_with_arrays(self, *args, **kwargs):
        if any(isinstance(arg, numpy.ndarray) for arg in args):
            args = tuple(wrapped(arg) for arg in args)
        if any(isinstance(arg, numpy.ndarray) for arg in kwargs.values()):
            kwargs = {name: wrapped(arg) for name, arg in kwargs.items()}
        return run(self, *args, **kwargs)

    replacements.set(JITFunction, "run", run_with_arrays)


def register_on_data_ptr(replacements, driver):
    """Makes the memory of a tensor accessible to kernels as soon as its address is taken.

    Kernels can read addresses from memory, as those of a group of matrices. Such tensors are arguments of no launch.
    """
    try:
        import torch
    except ModuleNotFoundError:
        return  # programs that use numpy's arrays only

    data_ptr = torch.Tensor.data_ptr

    @functools.wraps(data_ptr)
    def data_ptr_of_registered(self):
        if self.device.type in ("cpu", "cuda") and self.layout is torch.strided:
            driver.session.ranges.add_tensor(self)
        return data_ptr(self)

    replacements.set(torch.Tensor, "data_ptr", data_ptr_of_registered)
