"""The `upwell` command as a person starts it, run in this process: it saves the second that loading it takes each time."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from upwell.cli import main

__all__ = ["Done", "upwell"]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def upwell(*arguments: str, cwd: Path, **environment: str) -> Done:
    """Runs a command in a folder, with variables besides those of this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    variables = {"COLUMNS": "200", **environment}
    with (
        patch.dict(os.environ, variables),
        patch.object(sys, "argv", ["upwell", *arguments]),
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())
