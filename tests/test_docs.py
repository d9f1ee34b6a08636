"""The documentation is true.

Every ```console block of README.md, CONTRIBUTING.md and docs/ is run by bash: a line that begins with `$ ` is a command, the lines below it are what
the command prints on stdout, or on stderr where it fails. Every ```python block is run too. The blocks of a page run in their order, in
one folder, beside a demo site that is http://127.0.0.1:8000/ on the page and has a free port here. Only ports may differ.
What cannot be run here is marked ```text; a block in any other shell language is an error.

`python -m tests.test_docs` writes the output of all commands anew, to be reviewed with `git diff`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest

from upwell.demo import serve

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LANGUAGES = {"console", "python", "text", "json"}
RUN = [page for page in PAGES if re.search(r"^```(console|python)$", page.read_text(), re.M)]
PORT = re.compile(r"(127\.0\.0\.1[:_])\d+")
MAX_README_LINES = 100


def transcript(page: Path, folder: Path) -> str:
    """The page, with the output of its commands as it is today."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "upwell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m upwell.cli "$@"\n')
    (commands / "upwell").chmod(0o755)
    place = folder / "here"
    place.mkdir()
    environment = {
        **os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1", "PATH": f"{commands}:{os.environ['PATH']}",
    }  # fmt: skip

    def ran(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment)

    with serve() as site:
        port = urlsplit(site.url).port

        def again(block: re.Match[str]) -> str:
            language, text = block[1], re.sub(r"(127\.0\.0\.1[:_])8000\b", rf"\g<1>{port}", block[2])
            if language == "python":
                done = ran(sys.executable, "-c", text)
                assert done.returncode == 0, done.stderr
            if language != "console":
                return block[0]
            shown = ""
            for entry in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command = entry.partition("\n")[0]
                done = ran("bash", "-c", command)
                shown += f"$ {command}\n{done.stderr if done.returncode else done.stdout}"
            shown = re.sub(rf"(127\.0\.0\.1[:_]){port}\b", r"\g<1>8000", shown)
            return block[0] if _without_ports(shown) == _without_ports(block[2]) else f"```console\n{shown}```"

        return FENCE.sub(again, page.read_text())


def _without_ports(text: str) -> str:
    return PORT.sub(r"\1PORT", text)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    """Every command and every Python example of the page, with its output."""
    assert transcript(page, tmp_path) == page.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_shell_block_escapes_the_test(name: str) -> None:
    """A code block is run, or says that it is mere text."""
    assert {block[1] for block in FENCE.finditer((ROOT / name).read_text())} <= LANGUAGES
    fences = re.findall(r"^ *```", (ROOT / name).read_text(), re.M)
    assert len(fences) == 2 * len(FENCE.findall((ROOT / name).read_text()))


if __name__ == "__main__":
    for found in RUN:
        with TemporaryDirectory() as scratch:
            found.write_text(transcript(found, Path(scratch)))
