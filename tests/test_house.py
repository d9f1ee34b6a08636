"""The rules of the house that import-linter cannot see."""

import ast
import importlib
import pkgutil
from pathlib import Path

import upwell

SOURCE = Path(upwell.__file__).parent


def trees() -> list[tuple[str, ast.Module]]:
    return [(p.relative_to(SOURCE).as_posix(), ast.parse(p.read_text())) for p in sorted(SOURCE.rglob("*.py"))]


def test_async_lives_where_it_may() -> None:
    """Only net/, engines/, the loop and its refresh, together/ask and enrich, offline/crawl, aio, the demo and the page in the browser contain `async def`."""
    found = {name for name, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    of_harvest = ("loop.py", "refresh.py", "harvest_folder.py", "site_work.py")
    assert all(
        name.startswith(("net/", "engines/", "demo/", "web/"))
        or name
        in (
            *(f"harvest/{module}" for module in of_harvest),
            "offline/crawl.py",
            "combine/ask.py",
            "combine/enrich.py",
            "aio.py",
            "many_sites.py",
            "scrapy.py",
        )
        for name in found
    )


def test_print_lives_in_the_command_line() -> None:
    """Nothing but the command line prints."""
    calls = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {name.split("/")[0] for name in calls} == {"cli"}


def test_every_module_says_what_it_is_and_exports_what_exists() -> None:
    """A docstring everywhere; `__all__` names only what is there."""
    for found in pkgutil.walk_packages(upwell.__path__, "upwell."):
        module = importlib.import_module(found.name)
        assert module.__doc__, found.name
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{found.name}.{name}"


def test_the_public_surface() -> None:
    """What people import is exactly what `upwell.__all__` says."""
    assert len(upwell.__all__) == len(set(upwell.__all__)) <= 37
    for name in upwell.__all__:
        assert hasattr(upwell, name)
