"""Shared fixtures: a demo site that runs for the whole session."""

import os
import signal
import tempfile
from collections.abc import Iterator
from types import FrameType

import hypothesis
import pytest

from upwell.demo import Running, serve
from upwell.many_sites import RunOptions

# No test asserts seconds: a busy machine must not make it fail.
hypothesis.settings.register_profile("upwell", deadline=None)
hypothesis.settings.load_profile("upwell")


OWN_PROCESS = os.getpid()
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(
    prefix="upwell-state-"
)  # of all processes that tests start; not the user's own


def end_session(number: int, _: FrameType | None) -> None:
    """End all tests. Otherwise a harvest inside a test would handle SIGTERM (as sent by `timeout`), and the test would fail instead."""
    if os.getpid() == OWN_PROCESS:
        pytest.exit("ended by SIGTERM", returncode=128 + number)
    signal.signal(number, signal.SIG_DFL)  # a forked process
    os.kill(os.getpid(), number)


def pytest_runtest_setup() -> None:
    """Install the handler before each test, because the command line sets its own; harvests leave a handled signal alone."""
    signal.signal(signal.SIGTERM, end_session)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Harvest in the process of the tests, unless a test names an engine: a new process needs a second, and the tests have threads."""
    monkeypatch.setitem(RunOptions.__init__.__kwdefaults__ or {}, "engine", "inline")


@pytest.fixture(scope="session")
def demo() -> Iterator[Running]:
    """Serve the demo site with its defaults; its `received` list grows during the session."""
    with serve() as site:
        yield site
