"""Activates hiplaunch in a Python program, once it has imported Triton. hiplaunch.triton._programs puts this on the path."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


def _import_next_sitecustomize():
    # This module hides another one of its name.
    here = os.path.dirname(__file__)
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


class _Loader(importlib.abc.Loader):
    """Loads Triton as its own loader does, and activates hiplaunch then."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        sys.meta_path.remove(_FINDER)
        from hiplaunch.triton import _programs

        _programs.activate()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds Triton. torch asks for it, too, and does not import it then."""

    def __init__(self):
        self._asks_others = False

    def find_spec(self, fullname, path, target=None):
        if fullname != "triton" or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = importlib.util.find_spec("triton")
        finally:
            self._asks_others = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


_FINDER = _Finder()
sys.meta_path.insert(0, _FINDER)
_import_next_sitecustomize()
