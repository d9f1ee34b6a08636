"""What is made when it is first used, so that importing a module costs next to nothing: names of it (PEP 562), and regular expressions."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

__all__ = ["late_pattern", "lazily"]


def lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for a module: `homes` says for each name which module defines it."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[module], name, value)  # from now on it is an ordinary attribute
        return value

    return load


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when it is first used: a long one takes a millisecond, and no run uses all."""
    return cast(re.Pattern[str], _LatePattern(text, flags))


class _LatePattern:
    """Has the methods of the compiled expression from their first use on, so that each later call is as fast as one of its own."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # pickle and copy look for such
        value = getattr(re.compile(self.pattern, self._flags), name)  # which `re` keeps, or finds in its cache
        setattr(self, name, value)
        return value
