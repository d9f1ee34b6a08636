"""`python -m upwell.web.query_process`: one SQL query of a model in its own process, with hard limits on memory and time.

A query is program code of a stranger. DuckDB's own memory limit does not cover every value that a query creates, and not every function can
be interrupted, so the process as a whole is limited and is killed when its time is over.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from upwell.errors import UpwellError, WrongUsage
from upwell.operating_system import limit_address_space

__all__ = ["kill_above", "main", "run_query"]

MAX_PROCESS_BYTES = 4_000_000_000  # address space of the process, most of it libraries; safety limit
MAX_SECONDS = 30.0  # safety limit
CHECK_SECONDS = 0.2  # between two looks at the memory of the process


async def run_query(folder: Path, query: str, limit: int, offset: int) -> dict[str, Any]:
    """Return columns and rows of a query over the harvests of a folder, at most `limit` rows and one to see whether there are more."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "upwell.web.query_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    watching = asyncio.create_task(kill_above(process, MAX_PROCESS_BYTES))
    job = json.dumps({"folder": str(folder), "query": query, "limit": limit, "offset": offset}).encode()
    try:
        out, _ = await asyncio.wait_for(process.communicate(job), MAX_SECONDS)
    except TimeoutError:
        raise WrongUsage(f"the query took longer than {MAX_SECONDS:.0f} s and was stopped; make it simpler") from None
    finally:
        watching.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not out:  # killed, or out of memory while the error was written
        raise WrongUsage("the query needed too much memory and was stopped; select fewer columns or rows")
    result: dict[str, Any] = json.loads(out)
    if "error" in result:
        raise WrongUsage(result["error"])
    return result


async def kill_above(process: asyncio.subprocess.Process, size: int) -> None:
    """Kill a process that takes more than `size` bytes of memory: macOS and Windows do not limit its address space."""
    import psutil

    with suppress(psutil.Error, ProcessLookupError):  # it has ended
        watched = psutil.Process(process.pid)
        while watched.memory_info().rss <= size:  # noqa: ASYNC110 # no event
            await asyncio.sleep(CHECK_SECONDS)
        process.kill()


def main() -> int:
    """Run the query given as JSON on stdin and write its rows, or its error, as JSON to stdout."""
    job: dict[str, Any] = json.load(sys.stdin)
    limit_address_space(MAX_PROCESS_BYTES)
    from upwell.combine.catalogue import Catalogue

    try:
        found = Catalogue(Path(job["folder"])).sql(job["query"])
        rows = found.first(job["limit"], job["offset"])
        result: dict[str, Any] = {"columns": found.columns, "rows": rows}
    except UpwellError as error:
        result = {"error": str(error)}
    except MemoryError:
        result = {"error": "the query needed too much memory and was stopped; select fewer columns or rows"}
    json.dump(result, sys.stdout, default=str)
    return 0


if __name__ == "__main__":
    sys.exit(main())
