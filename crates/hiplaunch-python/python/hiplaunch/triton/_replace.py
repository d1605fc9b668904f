"""Attributes of others' modules and classes that are replaced for a time."""

_MISSING = object()


class Replacements:
    """Replaced attributes, which `undo` sets back."""

    def __init__(self):
        self._originals = []

    def set(self, owner, name, value):
        """Sets an attribute until `undo`."""
        # A class's attribute is taken as it is stored there, not as it is bound; one that is inherited is deleted again.
        original = vars(owner).get(name, _MISSING)
        self._originals.append((owner, name, original))
        setattr(owner, name, value)

    def undo(self):
        """Sets all attributes back."""
        while self._originals:
            owner, name, original = self._originals.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
