"""The `upwell` command, run in this process to save the second that loading it takes each time."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from upwell.cli import main

__all__ = ["Done", "upwell"]


@dataclass(frozen=True)
class Done:
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


def upwell(*arguments: str, cwd: Path, **environment: str) -> Done:
    """Run a command in a folder, with additional environment variables; a harvest runs in this process, too."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as here, redirect_stdout(out), redirect_stderr(err):
        here.chdir(cwd)
        here.setattr(sys, "argv", ["upwell", *arguments])
        for name, value in {"COLUMNS": "200", "UPWELL_HARVEST_ENGINE": "inline", **environment}.items():
            here.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())
