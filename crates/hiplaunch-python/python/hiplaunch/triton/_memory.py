"""Host memory that kernels on the emulator access: arrays and tensors, without copies.

The emulator's device memory is host memory. The whole storage of an array is registered with the launcher, so that a
kernel has the array at its own address, and an access outside of the storage is a fault. A registration ends when its
storage is freed, before a kernel can run on memory that was allocated again at the same address.
"""

import weakref


def _in_words(start, nbytes):
    # An atomic operation on two bytes accesses the four that they are in, of which the machine has all if it has one.
    return (start & ~3, (start + nbytes + 3) & ~3) if nbytes else (start, start)


def _storage_bounds(storage):
    return _in_words(storage.data_ptr(), storage.nbytes())


def _array_bounds(array):
    start = array.__array_interface__["data"][0]
    if array.flags.forc or not array.size:
        return _in_words(start, array.nbytes)
    steps = [stride * (size - 1) for stride, size in zip(array.strides, array.shape)]
    low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    return _in_words(start + low, high - low + array.itemsize)


class _Owner:
    """A weak reference to an object that owns memory, and where the memory was when it was registered."""

    __slots__ = ("bounds", "bounds_of", "reference")

    def __init__(self, owner, bounds_of, died):
        self.reference = weakref.ref(owner, died)
        self.bounds_of = bounds_of
        self.bounds = bounds_of(owner)

    def is_current(self):
        """Whether the owner is alive, and its memory is where it was: a storage can be resized in place."""
        owner = self.reference()
        return owner is not None and self.bounds_of(owner) == self.bounds


class _Range:
    """A registered range of addresses, and the owners of its memory."""

    __slots__ = ("memory", "owners", "start", "stop")

    def __init__(self, start, stop, owners, memory):
        self.start = start
        self.stop = stop
        self.owners = owners
        self.memory = memory


class HostRanges:
    """The registrations of one launcher."""

    def __init__(self, launcher):
        self._launcher = launcher
        self._ranges = {}
        self._some_died = False

    def add_tensor(self, tensor):
        """Registers the storage of a tensor of torch, of the CPU or of the emulated device, whose memory is the host's."""
        self._add(tensor.untyped_storage(), _storage_bounds)

    def add_array(self, array):
        """Registers the memory of a numpy array: that of the array whose view this is, if it is one."""
        while type(array.base) is type(array):
            array = array.base
        if hasattr(array.base, "untyped_storage"):
            self.add_tensor(array.base)
        else:
            self._add(array, _array_bounds)

    def drop_dead(self):
        """Ends the registrations whose memory was freed. No kernel may run between that and this."""
        if self._some_died:
            # Owners can die while this runs. So the flag is cleared first.
            self._some_died = False
            for range_ in list(self._ranges.values()):
                if any(owner.reference() is None for owner in range_.owners):
                    self._drop(range_)

    def close(self):
        """Ends all registrations."""
        for range_ in list(self._ranges.values()):
            self._drop(range_)

    def _add(self, owner, bounds_of):
        start, stop = bounds_of(owner)
        if start == stop:
            return
        self.drop_dead()
        range_ = self._ranges.get(start)
        if range_ is not None and range_.stop == stop and any(o.reference() is owner for o in range_.owners):
            return
        # Two objects can own parts of the same memory, as an array and the tensor that was made of it. Their memory is
        # one registration, which ends when one of them dies; the other is registered again when it is used.
        owners = [_Owner(owner, bounds_of, self._note_death)]
        for range_ in [r for r in self._ranges.values() if r.start < stop and start < r.stop]:
            current = [o for o in range_.owners if o.is_current()]
            if len(current) == len(range_.owners) and range_.start <= start and stop <= range_.stop:
                range_.owners += owners
                return
            self._drop(range_)
            owners += current
        start = min(o.bounds[0] for o in owners)
        stop = max(o.bounds[1] for o in owners)
        self._ranges[start] = _Range(start, stop, owners, self._launcher.register_host(start, stop - start))

    def _note_death(self, _):
        self._some_died = True

    def _drop(self, range_):
        del self._ranges[range_.start]
        range_.memory.close()
