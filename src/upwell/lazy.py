"""Create module attributes (PEP 562) and regular expressions on first use, so that importing a module is cheap."""

import re
import sys
from collections.abc import Callable, Mapping
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


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled on first use: a long one takes a millisecond, and no run uses all of them."""
    return cast(re.Pattern[str], _LatePattern(text, flags))


class _LatePattern:
    """Proxy that takes over each attribute of the compiled expression on first use, so that later calls have no overhead."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # looked up by pickle and copy
        value = getattr(re.compile(self.pattern, self._flags), name)  # cached by `re`
        setattr(self, name, value)
        return value
