"""Defer work to its first use, so that importing a module is cheap: attributes of modules (PEP 562) and regular expressions."""

import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, cast

__all__ = ["late_pattern", "lazily"]


def lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for a module; `homes` maps each name to the module that defines it."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[module], name, value)  # from now on an ordinary attribute
        return value

    return load


def late_pattern(text: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use: a long one takes a millisecond, and no run uses all.

    If `text` is a function, it is called at the first use, so that word lists are read only when they are needed.
    """
    return cast(re.Pattern[str], _LatePattern(text, flags))


class _LatePattern:
    """Regular expression that takes over the methods of the compiled one at their first use, so that later calls are as fast."""

    def __init__(self, text: str | Callable[[], str], flags: int) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def pattern(self) -> str:
        """Text of the expression."""
        return self._text if isinstance(self._text, str) else self._text()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # pickle and copy look for special methods
        value = getattr(re.compile(self.pattern, self._flags), name)  # `re` caches compiled expressions
        setattr(self, name, value)
        return value
