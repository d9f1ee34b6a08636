"""Run `upwell serve` in its own process on a free port, and open its pages."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from tests.browser import browser


@dataclass(frozen=True, kw_only=True)
class Serving:
    url: str  # without the token
    token: str
    process: subprocess.Popen[str]


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Serving]:
    """Serve a folder; check that the server exits with 0."""
    command = [sys.executable, "-m", "upwell", "serve", str(folder), "--port", "0", "--rate", "0", "--json", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        said = json.loads(process.stdout.readline())
        yield Serving(url=said["url"].partition("?")[0], token=said["token"], process=process)
    finally:
        process.terminate()
        code = process.wait(40)
        process.stdout.close()
        process.stderr.close()
    assert code == 0


@contextmanager
def signed_in(pages: Serving) -> Iterator[Page]:
    """Open a browser page that has opened the printed address, which contains the token."""
    with browser() as page:
        page.goto(f"{pages.url}?token={pages.token}")
        yield page
