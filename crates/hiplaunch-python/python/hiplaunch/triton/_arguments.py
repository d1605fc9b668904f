"""How the arguments of a Triton kernel become the bytes that a launch passes."""

import ctypes
import struct

# The types of floating-point arguments. The sizes of all others are in the code object.
_FLOATS = {"fp16": "e", "bf16": "bf16", "fp32": "f", "f32": "f", "fp64": "d"}


def _descriptor_values(descriptor):
    """Returns the arguments that AMD's compiler expects for a tensor descriptor."""
    try:
        from triton.backends.driver import decompose_descriptor
    except ImportError:
        pass
    else:
        return decompose_descriptor(descriptor)
    place = [*descriptor.shape, *descriptor.strides]
    padding = [descriptor.padding == "nan"] if hasattr(descriptor, "padding") else []
    return [descriptor.base, *place, *padding, *place]


def _is_descriptor(type_):
    return isinstance(type_, str) and type_.startswith("tensordesc")


def flatten(types, values, output):
    """Appends (type, value) of each argument that the kernel has: tuples and descriptors taken apart, no constants."""
    for type_, value in zip(types, values):
        if isinstance(type_, tuple):
            flatten(type_, value, output)
        elif _is_descriptor(type_):
            base, *others = _descriptor_values(value)
            output.append(("*", base))
            output += [("int", other) for other in others]
        elif type_ != "constexpr":
            output.append((type_, value))


def native_slots(types, parameters):
    """Returns, for each argument, its (offset, size, type) for a native launcher, or None for a constant; or None for all, if
    some are not plain."""
    plain = [type_ for type_ in types if type_ != "constexpr"]
    if any(isinstance(type_, tuple) or _is_descriptor(type_) for type_ in plain):
        return None
    names = {"f32": "fp32", "fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "fp64": "fp64"}
    places = iter(parameters)
    slots = []
    for type_ in types:
        if type_ == "constexpr":
            slots.append(None)
        else:
            place = next(places)
            slots.append((place["offset"], place["size"], "*" if type_[0] == "*" else names.get(type_, "int")))
    return slots


def _bits_of_float(value, code):
    if code == "e":
        return struct.pack("<e", value)
    if code == "d":
        return struct.pack("<d", value)
    # ctypes rounds what is too large to infinity, as C does. Triton's launchers cut bf16 off.
    bits = bytes(ctypes.c_float(value))
    return bits[2:] if code == "bf16" else bits


class Packer:
    """Packs arguments for one kernel, whose parameters are known from its code object.

    `parameters` are those of the kernel, with `offset` and `size`. `address_of` turns an object into the address that the
    kernel gets.
    """

    def __init__(self, parameters, address_of):
        self._places = [(parameter["offset"], parameter["size"]) for parameter in parameters]
        self._address_of = address_of
        self._size = max((offset + size for offset, size in self._places), default=0)

    def pack(self, types_and_values, scratch):
        """Returns the bytes of the arguments, and of as many addresses of `scratch` as the kernel has parameters left."""
        count = len(types_and_values)
        if not count <= len(self._places) <= count + len(scratch):
            raise TypeError(
                f"the kernel has {len(self._places)} parameters, and Triton passes {count}; this version of Triton "
                "passes arguments in a way that hiplaunch.triton does not know"
            )
        packed = bytearray(self._size)
        arguments = [*types_and_values, *(("*", value) for value in scratch)]
        for (offset, size), (type_, value) in zip(self._places, arguments):
            packed[offset : offset + size] = self._bytes_of(type_, value, size)
        return bytes(packed)

    def _bytes_of(self, type_, value, size):
        if type_[0] == "*":
            return self._address_of(value).to_bytes(size, "little")
        code = _FLOATS.get(type_)
        if code is not None:
            return _bits_of_float(value, code)
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
