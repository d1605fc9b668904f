"""Attributes of others' modules and classes that are replaced for a time."""

import importlib.abc
import importlib.util
import sys

_MISSING = object()


class Replacements:
    """Replaced attributes, which `undo` sets back."""

    def __init__(self):
        self._originals = []
        self._imports = None

    def set(self, owner, name, value):
        """Sets an attribute until `undo`."""
        # A class's attribute is taken as it is stored there, not as it is bound; one that is inherited is deleted again.
        original = vars(owner).get(name, _MISSING)
        self._originals.append((owner, name, original))
        setattr(owner, name, value)

    def when_imported(self, name, replace):
        """Calls `replace` with a module: at once if it is imported already, else when it is."""
        if name in sys.modules:
            replace(sys.modules[name])
            return
        if self._imports is None:
            self._imports = _Imports()
            sys.meta_path.insert(0, self._imports)
        self._imports.waiting[name] = replace

    def undo(self):
        """Sets all attributes back."""
        if self._imports is not None:
            sys.meta_path.remove(self._imports)
            self._imports = None
        while self._originals:
            owner, name, original = self._originals.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


class _Imports(importlib.abc.MetaPathFinder):
    """Finds the modules that are waited for, as the finders behind it do."""

    def __init__(self):
        self.waiting = {}

    def find_spec(self, fullname, path, target=None):
        replace = self.waiting.pop(fullname, None)
        if replace is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, replace)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module as another loader does, and replaces attributes then."""

    def __init__(self, loader, replace):
        self._loader = loader
        self._replace = replace

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._replace(module)
