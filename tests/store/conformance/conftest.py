"""The places in which a state is kept: each test of the suite runs in all of them."""

from pathlib import Path

import pytest

from tests.postgres import postgres_server
from upwell.store.location import PostgresLocation

__all__ = ["postgres_server"]

Place = Path | PostgresLocation


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where the state of a test is kept: a file, or a site of a database that has other sites too."""
    if request.param == "sqlite":
        return tmp_path / "state.sqlite"
    server = request.getfixturevalue("postgres_server")
    return PostgresLocation(server.address("conformance"), request.node.nodeid)
