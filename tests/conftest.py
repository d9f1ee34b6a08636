"""What several tests need: a demo site that runs for the whole session."""

from collections.abc import Iterator

import hypothesis
import pytest

from upwell.demo import Running, serve

# A busy machine is no failure: nothing is asserted on seconds.
hypothesis.settings.register_profile("upwell", deadline=None)
hypothesis.settings.load_profile("upwell")


@pytest.fixture(scope="session")
def demo() -> Iterator[Running]:
    """The demo site with its defaults; its `received` list grows over the session."""
    with serve() as site:
        yield site
