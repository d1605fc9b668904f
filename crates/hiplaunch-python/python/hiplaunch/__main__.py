"""The command line: `python -m hiplaunch`, or `hiplaunch`."""

import os
import signal
import sys
from typing import NoReturn

from ._native import command_line


def main(program: str = "hiplaunch") -> NoReturn:
    """Runs the command line of this process, and exits with its status."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # Standard streams that are closed are opened, as the numbers would name other files that are opened later.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.argv[1:2] == ["fleet"]:
        from .fleet._command import main as fleet

        fleet(sys.argv[2:], program)
    # Ctrl-C ends the process at once: Python's handler would wait for the command. A program that `exec` runs gets no
    # signal that Python ignores for itself.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    sys.exit(command_line([program, *sys.argv[1:]], os.path.dirname(os.path.abspath(__file__))))


if __name__ == "__main__":
    main("python -m hiplaunch")
