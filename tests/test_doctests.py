"""The examples in docstrings are correct."""

import doctest
import importlib
import pkgutil

import pytest

import upwell

MODULES = sorted(m.name for m in pkgutil.walk_packages(upwell.__path__, "upwell.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_doctests_of_a_module_pass(name: str) -> None:
    """Run the doctests of each module."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
