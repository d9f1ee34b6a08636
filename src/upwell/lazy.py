"""Names that a module loads when they are first used (PEP 562), so that importing it costs next to nothing."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazily"]


def lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for a module: `homes` says for each name which module defines it."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[module], name, value)  # from now on it is an ordinary attribute
        return value

    return load
