"""`python -m upwell.web.child`: one harvest in a process of its own, as a job on stdin says; what happens goes to `events.jsonl`."""

import json
import sys
from typing import Any

from upwell import api
from upwell.errors import UpwellError
from upwell.harvest.plan import Plan
from upwell.net.manners import Manners

__all__ = ["main"]


def main() -> int:
    """Runs the job; the exit code is that of the command line."""
    job: dict[str, Any] = json.load(sys.stdin)
    try:
        api.harvest(job["url"], out=job["out"], plan=Plan(**job["plan"]), manners=Manners(**job["manners"]))
    except UpwellError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
