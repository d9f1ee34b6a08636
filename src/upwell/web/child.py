"""`python -m upwell.web.child`: run one harvest in its own process, from a JSON job on stdin; progress goes to `events.jsonl`."""

import json
import sys
from typing import Any

from upwell import api
from upwell.choose.plan import Plan
from upwell.errors import UpwellError
from upwell.net.manners import Manners

__all__ = ["main"]


def main() -> int:
    """Run the job; return the exit code of the command line."""
    job: dict[str, Any] = json.load(sys.stdin)
    try:
        api.harvest(job["url"], out=job["out"], plan=Plan(**job["plan"]), manners=Manners(**job["manners"]))
    except UpwellError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
