"""`python -m upwell.web.query_process`: one SQL query of a model in its own process, with hard limits on memory and time.

A query is program code of a stranger. DuckDB's own memory limit does not cover every value that a query creates, and not every function can
be interrupted, so the process as a whole is limited and is killed when its time is over.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from upwell.errors import UpwellError, WrongUsage

__all__ = ["main", "run_query"]

MAX_PROCESS_BYTES = 4_000_000_000  # address space of the process, most of it libraries; safety limit
MAX_SECONDS = 30.0  # safety limit


async def run_query(folder: Path, query: str, limit: int, offset: int) -> dict[str, Any]:
    """Return columns and rows of a query over the harvests of a folder, at most `limit` rows and one to see whether there are more."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "upwell.web.query_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    job = json.dumps({"folder": str(folder), "query": query, "limit": limit, "offset": offset}).encode()
    try:
        out, _ = await asyncio.wait_for(process.communicate(job), MAX_SECONDS)
    except TimeoutError:
        raise WrongUsage(f"the query took longer than {MAX_SECONDS:.0f} s and was stopped; make it simpler") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not out:  # killed, or out of memory while the error was written
        raise WrongUsage("the query needed too much memory and was stopped; select fewer columns or rows")
    result: dict[str, Any] = json.loads(out)
    if "error" in result:
        raise WrongUsage(result["error"])
    return result


def main() -> int:
    """Run the query given as JSON on stdin and write its rows, or its error, as JSON to stdout."""
    job: dict[str, Any] = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_PROCESS_BYTES, MAX_PROCESS_BYTES))
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
