"""Rules of the code base that import-linter cannot check."""

import ast
import importlib
import pkgutil
from pathlib import Path

import upwell

SOURCE = Path(upwell.__file__).parent
ASYNC_PACKAGES = ("net/", "engines/", "demo/", "web/")
ASYNC_MODULES = {
    "aio.py",
    "many_sites.py",
    "scrapy.py",
    "combine/ask.py",
    "combine/check.py",
    "combine/enrich.py",
    "harvest/harvest_folder.py",
    "harvest/loop.py",
    "harvest/refresh.py",
    "harvest/site_work.py",
    "harvest/time_limit.py",
    "offline/crawl.py",
}


def trees() -> list[tuple[str, ast.Module]]:
    return [(p.relative_to(SOURCE).as_posix(), ast.parse(p.read_text())) for p in sorted(SOURCE.rglob("*.py"))]


def test_only_modules_that_wait_for_the_network_have_coroutines() -> None:
    """Everything else is plain functions and generators, which can be tested without an event loop."""
    names = {name for name, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    assert {name for name in names if not name.startswith(ASYNC_PACKAGES)} <= ASYNC_MODULES


def test_only_the_command_line_prints() -> None:
    """Other packages return values, raise errors or call an observer."""
    calls = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {name.split("/")[0] for name in calls} == {"cli"}


def test_every_module_has_a_docstring_and_exports_only_names_that_exist() -> None:
    """For all modules of the package."""
    for info in pkgutil.walk_packages(upwell.__path__, "upwell."):
        module = importlib.import_module(info.name)
        assert module.__doc__, info.name
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{info.name}.{name}"


def test_every_public_name_exists_and_is_listed_once() -> None:
    """What `upwell.__all__` lists can be imported."""
    assert len(upwell.__all__) == len(set(upwell.__all__))
    for name in upwell.__all__:
        assert hasattr(upwell, name)
