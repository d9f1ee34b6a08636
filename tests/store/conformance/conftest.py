"""Locations of a state: each test of the suite runs with all of them."""

from pathlib import Path

import pytest

from tests.postgres import postgres_server
from upwell.store.location import PostgresLocation

__all__ = ["postgres_server"]

Place = Path | PostgresLocation


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return the location of a state: a file, or a site of a database with other sites."""
    if request.param == "sqlite":
        return tmp_path / "state.sqlite"
    server = request.getfixturevalue("postgres_server")
    return PostgresLocation(server.address("conformance"), request.node.nodeid)
