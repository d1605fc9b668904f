"""The exception of a kernel that failed."""

import hiplaunch


class KernelFault(hiplaunch.DeviceLostError, RuntimeError):
    """A kernel failed: an access outside of memory, a failed assertion, or a defect that the sanitizer found.

    It is a RuntimeError, too, as the errors of torch's devices are. `report` is that of DeviceLostError. On the emulator, the
    next launch works.
    """

    def __init__(self, text, report=None):
        # With one argument, as exceptions come from other processes; the report follows then.
        super().__init__(text)
        self.report = report


KernelFault.__module__ = "hiplaunch.triton"
