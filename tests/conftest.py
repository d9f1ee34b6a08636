"""What several tests need: a demo site that runs for the whole session."""

import os
import signal
from collections.abc import Iterator
from types import FrameType

import hypothesis
import pytest

from upwell.demo import Running, serve

# A busy machine is no failure: nothing is asserted on seconds.
hypothesis.settings.register_profile("upwell", deadline=None)
hypothesis.settings.load_profile("upwell")


OWN_PROCESS = os.getpid()


def end_session(number: int, _: FrameType | None) -> None:
    """Ends all tests: a harvest that runs in one would take SIGTERM (as `timeout` sends it) for its own, and the test would fail instead."""
    if os.getpid() == OWN_PROCESS:
        pytest.exit("ended by SIGTERM", returncode=128 + number)
    signal.signal(number, signal.SIG_DFL)  # a process that was forked
    os.kill(os.getpid(), number)


def pytest_runtest_setup() -> None:
    """Harvests leave a signal alone that somebody handles; before each test, because the command line sets a handler of its own."""
    signal.signal(signal.SIGTERM, end_session)


@pytest.fixture(scope="session")
def demo() -> Iterator[Running]:
    """The demo site with its defaults; its `received` list grows over the session."""
    with serve() as site:
        yield site
