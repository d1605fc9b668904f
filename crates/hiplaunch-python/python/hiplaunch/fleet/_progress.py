"""A progress bar on stderr: tqdm's if it is installed, else a line that is written over. Nothing if stderr is no terminal."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, TextIO


class Progress:
    """Counts results."""

    def __init__(self, count: int, what: str, out: TextIO) -> None:
        self._count, self._what, self._out = count, what, out
        self._done = self._wrong = 0
        self._drawn = 0.0
        self._bar: Any = None
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        if self._terminal:
            try:
                self._bar = importlib.import_module("tqdm").tqdm(total=count, unit="", desc=what, leave=False)
            except ImportError:
                pass

    def step(self, good: bool) -> None:
        """Counts one result."""
        self._done += 1
        self._wrong += not good
        if self._bar is not None:
            self._bar.update()
            if self._wrong:
                self._bar.set_postfix(wrong=self._wrong, refresh=False)
        elif self._terminal and time.monotonic() - self._drawn > 0.1:
            self._drawn = time.monotonic()
            sys.stderr.write(f"\r\x1b[K{self._what} {self._done}/{self._count}, {self._wrong} wrong")
            sys.stderr.flush()

    def line(self, text: str) -> None:
        """Prints a line, without the bar in between."""
        if self._bar is not None:
            self._bar.write(text, file=self._out)
            return
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        print(text, file=self._out, flush=True)

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
        elif self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
