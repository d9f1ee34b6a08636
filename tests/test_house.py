"""Rules of the code that import-linter cannot check."""

import ast
import importlib
import pkgutil
from pathlib import Path

import upwell

SOURCE = Path(upwell.__file__).parent


def trees() -> list[tuple[str, ast.Module]]:
    return [(p.relative_to(SOURCE).as_posix(), ast.parse(p.read_text())) for p in sorted(SOURCE.rglob("*.py"))]


def test_async_functions_are_confined_to_some_modules() -> None:
    """`async def` occurs only in net/, engines/, demo/, web/ and the modules listed here."""
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


def test_only_the_command_line_prints() -> None:
    """No other package calls `print`."""
    calls = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {name.split("/")[0] for name in calls} == {"cli"}


def test_every_module_has_a_docstring_and_a_valid_all() -> None:
    """`__all__` contains only names that exist."""
    for found in pkgutil.walk_packages(upwell.__path__, "upwell."):
        module = importlib.import_module(found.name)
        assert module.__doc__, found.name
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{found.name}.{name}"


def test_every_public_name_can_be_imported() -> None:
    """`upwell.__all__` has no duplicates and only existing names."""
    assert len(upwell.__all__) == len(set(upwell.__all__)) <= 37
    for name in upwell.__all__:
        assert hasattr(upwell, name)
