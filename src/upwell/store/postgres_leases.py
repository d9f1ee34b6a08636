"""When each host may be asked next, for many machines: a row a host, by the clock of the database."""

import psycopg

from upwell.store.postgres_server import Server

__all__ = ["PostgresLeases"]

# What lies further ahead was written before the clock was set.
TAKE = """
INSERT INTO paces AS pace VALUES (%(host)s, clock_timestamp() + %(gap)s * interval '1 second')
ON CONFLICT (host) DO UPDATE SET next_start = clock_timestamp() + %(gap)s * interval '1 second'
WHERE pace.next_start <= clock_timestamp() OR pace.next_start > clock_timestamp() + interval '1 hour'
RETURNING next_start
"""
WAIT = "SELECT extract(epoch FROM next_start - clock_timestamp())::float8 FROM paces WHERE host = %s"
EXTEND = """
INSERT INTO paces AS pace VALUES (%(host)s, clock_timestamp() + %(seconds)s * interval '1 second')
ON CONFLICT (host) DO UPDATE SET next_start = greatest(pace.next_start, clock_timestamp() + %(seconds)s * interval '1 second')
"""


class PostgresLeases:
    """The leases of hosts in a database: all machines that keep their state there keep one rate a host."""

    is_remote = True

    def __init__(self, server: Server) -> None:
        self._server = server

    def take(self, host: str, gap: float) -> float:
        """Takes the lease if the host may be asked now: nobody else may for `gap` seconds. Else the seconds to wait."""

        def take(db: psycopg.Connection) -> float:
            if db.execute(TAKE, {"host": host, "gap": gap}).fetchone() is not None:
                return 0.0
            found = db.execute(WAIT, (host,)).fetchone()
            return max(0.001, float(found[0])) if found else 0.001  # it is free by now: ask again

        return self._server.ask(take)

    def extend(self, host: str, seconds: float) -> None:
        """Has everybody leave the host alone for so many seconds from now."""
        self._server.ask(lambda db: db.execute(EXTEND, {"host": host, "seconds": seconds}))
