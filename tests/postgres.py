"""A PostgreSQL server for the whole session; if it is not installed, its tests are skipped, and in CI they fail."""

import os
from collections.abc import Iterator

import pytest
from benchmarks.reliability.postgres_server import NotInstalled, PostgresServer

__all__ = ["postgres_server"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Run Debian's server on a socket in a temporary folder."""
    try:
        server = PostgresServer()
    except NotInstalled as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    with server:
        yield server
