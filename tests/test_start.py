"""Starting is cheap: importing Upwell or its command line loads no heavy library. Values copied for that reason are correct."""

import copy
import json
import re
import subprocess
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import upwell
from upwell import cli
from upwell.cli import options
from upwell.lazy import late_pattern
from upwell.native import compiled
from upwell.offline import blocks, extract
from upwell.papers import thor as clusters
from upwell.papers import yuan as select
from upwell.papers import yuan as snapshot
from upwell.table import writers as records

HEAVY = (
    "numpy",
    "scipy",
    "pyarrow",
    "duckdb",
    "aiohttp",
    "playwright",
    "jinja2",
    "rich.progress",
    "wordfreq",
    "upwell.demo",
)


def python(code: str) -> str:
    """Run code in a new process and return its output."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", ["upwell", "upwell.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    """The test looks at loaded modules, because times depend on the load of the machine."""
    loaded = json.loads(python(f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"))
    assert set(HEAVY) & set(loaded) == set()


def test_a_verb_loads_only_what_it_needs(tmp_path: Path) -> None:
    """Reading the forms of a saved page needs numpy, and no other heavy library."""
    (tmp_path / "page.html").write_text("<form action=/find><input name=q><button>Search</button></form>")
    run = f"import json, sys; sys.argv[1:] = ['forms', '{tmp_path}/page.html']; from upwell.cli import app; "
    printed = python(run + "app(standalone_mode=False); print(json.dumps(list(sys.modules)))").splitlines()
    assert printed[0].startswith("form 0: search")
    assert set(HEAVY) & set(json.loads(printed[-1])) == {"numpy"}


def test_verbs_remain_functions_after_importing_packages_of_the_same_name() -> None:
    """`upwell.harvest`, `.extract` and `.demo` are functions also after the subpackages of the same names were loaded."""
    code = "import upwell; upwell.Plan; import upwell.content.main_content, upwell.harvest.loop, upwell.demo.site; "
    assert python(code + "print(callable(upwell.harvest), callable(upwell.extract), callable(upwell.demo))") == (
        "True True True\n"
    )


def test_every_public_name_can_be_imported_and_no_other() -> None:
    """Names in `__all__` are loaded on first use; an unknown name raises AttributeError."""
    assert set(upwell.__all__) <= set(dir(upwell))
    assert {name for name in upwell.__all__ if getattr(upwell, name, None) is None} == set()
    with pytest.raises(AttributeError, match="no attribute 'harvester'"):
        getattr(upwell, "harvester")  # noqa: B009 # mypy knows that it is not there


def test_version() -> None:
    """`upwell --version` prints the installed version, and whether the native code is active."""
    native = "active" if compiled is not None else "missing"
    assert python("import sys; sys.argv[1:] = ['--version']; from upwell.cli import main; main()") == (
        f"upwell {version('upwell')} (native code {native})\n"
    )


def test_the_version_warns_if_the_compiled_module_is_missing() -> None:
    """On stderr, with what to do; stdout has the version."""
    block = "import sys; sys.modules['upwell.native._native'] = None; sys.argv[1:] = ['--version']; "
    code = block + "from upwell.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"upwell {version('upwell')} (native code missing)\n"
    assert "WARNING: the compiled module is missing" in done.stderr
    assert "pip install --force-reinstall upwell" in done.stderr


def test_choices_and_defaults_are_those_of_the_defining_modules() -> None:
    """The command line has copies, because importing the defining modules would load heavy libraries."""
    assert options.SIGNATURES == clusters.SIGNATURES
    assert options.FORMATS == records.FORMATS
    verbs = get_command(cli.app)
    assert isinstance(verbs, TyperGroup)
    written = {param.name: param.default for param in verbs.commands["cluster"].params}
    meant = {name: value for name, value in asdict(clusters.ClusterParams()).items() if name in written}
    assert len(meant) == 7
    assert {name: written[name] for name in meant} == meant
    named = {
        (verb, option.name): str(getattr(option, "help", ""))
        for verb in verbs.commands
        for option in verbs.commands[verb].params
    }
    assert all(method in named["queries", "method"] for method in select.SELECTION_METHODS)
    assert all(sampling in named["queries", "sampling"] for sampling in snapshot.SAMPLINGS)
    assert all(method in named["extract", "method"] for method in extract.METHODS)
    assert all(method in named["blocks", "method"] for method in blocks.METHODS)


def test_a_late_pattern_is_a_pattern() -> None:
    """It is compiled on first use, once."""
    late = late_pattern(r"(\d+) km", re.I)
    assert "search" not in vars(late)
    assert late.pattern == r"(\d+) km"
    assert [late.sub("far", "3 KM"), *late.findall("3 km, 4 Km")] == ["far", "3", "4"]
    assert late.search is late.search
    assert late.flags == re.compile(late.pattern, re.I).flags
    assert copy.copy(late).fullmatch("5 km") is not None
