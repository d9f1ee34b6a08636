"""Check values that come from a file against the types that the code declares for them."""

import types
from collections import Counter
from collections.abc import Callable, Container
from functools import cache
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

__all__ = ["fits"]

Check = Callable[[Any], bool]
PLAIN_TYPES = frozenset((type(None), bool, int, float, str, bytes))
_NUMBERS: dict[type, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
    bool: (bool, np.bool_),
}


@cache
def fits(hint: Any) -> Check:
    """Return a function that returns True for values of a declared type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return lambda value: True
    if hint is None or hint is type(None):
        return lambda value: value is None
    if origin is Literal:
        return lambda value: type(value) in (str, int, bool) and value in arguments
    if origin is Union or origin is types.UnionType:
        alternatives = [fits(argument) for argument in arguments]
        return lambda value: any(each(value) for each in alternatives)
    if origin is np.ndarray:
        dtype = np.dtype(get_args(arguments[1])[0])
        return lambda value: type(value) is np.ndarray and value.dtype == dtype and value.ndim == 1
    if is_typeddict(hint):
        entries = {name: fits(each) for name, each in get_type_hints(hint).items()}
        extras = get_type_hints(hint, include_extras=True)  # `__required_keys__` is wrong if annotations are postponed
        required = {name for name, each in extras.items() if get_origin(each) is not NotRequired}
        return lambda value: (
            isinstance(value, dict)
            and value.keys() >= required
            and all(entries[name](each) for name, each in value.items() if name in entries)
        )
    if origin is None:
        kinds = _NUMBERS.get(hint, (hint,))
        return lambda value: isinstance(value, kinds)
    if origin is tuple and arguments[-1:] != (...,):
        parts = [fits(argument) for argument in arguments]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(each(part) for each, part in zip(parts, value, strict=True))
        )
    if len(arguments) == 2 and arguments[1] is not ...:
        keys, values = _all_fit(arguments[0]), _all_fit(arguments[1])
        return lambda value: isinstance(value, origin) and keys(value) and values(value.values())
    if issubclass(origin, Counter):
        keys, values = _all_fit(arguments[0]), _all_fit(int)
        return lambda value: isinstance(value, Counter) and keys(value) and values(value.values())
    if origin is Container:  # a `KeySet`, which cannot list its keys, or a collection
        return lambda value: isinstance(value, Container)
    items = _all_fit(arguments[0])
    return lambda value: isinstance(value, origin) and not isinstance(value, str) and items(value)


def _all_fit(hint: Any) -> Check:
    """Return a function that returns True if all of some values are of a declared type; for plain types in one call."""
    one_fits = fits(hint)
    if hint in PLAIN_TYPES:
        exact = frozenset((hint,)).issuperset
        return lambda values: exact(map(type, values)) or all(map(one_fits, values))
    return lambda values: all(map(one_fits, values))
