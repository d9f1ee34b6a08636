"""Chromium, for tests that compare with the behaviour of a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]


@contextmanager
def browser() -> Iterator[Page]:
    """Yield an empty page in the system's Chromium, without a window."""
    chromium = which("chromium")
    assert chromium, "the tests need Debian's chromium: run make setup"
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield running.new_page()
        finally:
            running.close()
