"""Programs that say device="cuda", on the emulator: torch's device "cuda" is its CPU, and torch.cuda is the emulated device.

What can't be mapped stays as it is, and torch raises an exception that says that it was not compiled with CUDA or finds no
driver.
"""

import threading

from ._device import DeviceInterface, Event, Stream

_FUNCTIONS = [name for name in vars(DeviceInterface) if not name.startswith("_") and name not in ("Stream", "Event")]


def is_cuda(device):
    """Whether torch takes `device` for one of CUDA."""
    if isinstance(device, str):
        return device.split(":")[0] == "cuda"
    # A number is the number of a device of CUDA.
    return getattr(device, "type", None) == "cuda" or type(device) is int


def is_device(value):
    """Whether the first argument of `Tensor.to` is a device."""
    import torch

    return isinstance(value, (str, torch.device)) or type(value) is int


def _copied(tensor, result):
    # Between a CPU and a GPU, this is always a copy. A program may change one of both.
    same = result is tensor or result.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return result.clone() if same else result


def _mode(torch):
    from torch.overrides import TorchFunctionMode

    tensor_class = torch.Tensor

    def to(function, args, kwargs):
        tensor, *others = args
        moved = "device" in kwargs or bool(others) and (is_device(others[0]) or isinstance(others[0], tensor_class))
        if others and is_cuda(others[0]):
            others[0] = "cpu"
        result = function(tensor, *others, **kwargs)
        return _copied(tensor, result) if moved else result

    def copy(function, args, kwargs):
        return args[0].clone()

    def as_tensor(function, args, kwargs):
        result = function(*args, **kwargs)
        return result.clone() if "device" in kwargs else result

    special = {
        tensor_class.to: to,
        tensor_class.cuda: copy,
        tensor_class.cpu: copy,
        tensor_class.pin_memory: copy,
        torch.as_tensor: as_tensor,
        torch.asarray: as_tensor,
        tensor_class.is_cuda.__get__: lambda function, args, kwargs: args[0].device.type == "cpu",
        tensor_class.get_device: lambda function, args, kwargs: 0,
        tensor_class.record_stream: lambda function, args, kwargs: None,
    }

    class CudaIsCpu(TorchFunctionMode):
        """Replaces the device "cuda" in the calls of torch's functions."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if kwargs.get("device") is not None and is_cuda(kwargs["device"]):
                kwargs["device"] = "cpu"
            if kwargs.get("pin_memory"):
                del kwargs["pin_memory"]
            handler = special.get(function)
            return function(*args, **kwargs) if handler is None else handler(function, args, kwargs)

    return CudaIsCpu()


def map_cuda(driver, replacements):
    """Maps torch's "cuda" to the CPU, in this thread and in threads that are started from now on."""
    import torch

    mode = _mode(torch)
    mode.__enter__()
    run = threading.Thread.run

    def run_mapped(self):
        with mode:
            run(self)

    replacements.set(threading.Thread, "run", run_mapped)
    for name in _FUNCTIONS:
        replacements.set(torch.cuda, name, getattr(driver.interface, name))
    replacements.set(torch.cuda, "Stream", Stream)
    replacements.set(torch.cuda, "ExternalStream", Stream)
    replacements.set(torch.cuda, "Event", Event)
    for name in ("manual_seed", "manual_seed_all"):
        replacements.set(torch.cuda, name, torch.default_generator.manual_seed)
    # Programs ask this for the kind of GPU.
    replacements.set(torch.version, "hip", "0.0.0")
    replacements.set(torch.version, "cuda", None)
    return mode
