"""How the command line prints: results on stdout, for people or as JSON, and what people should know on stderr."""

import json
import sys
from typing import TYPE_CHECKING

from upwell.printable import printable, printable_json

if TYPE_CHECKING:
    from upwell.results import VerbResult

__all__ = ["as_json_text", "print_result", "warn"]


def print_result(result: "VerbResult", as_json: bool) -> None:
    """What a verb returned."""
    from upwell.display import lines

    for line in [as_json_text(result.as_dict())] if as_json else map(printable, lines(result)):
        print(line)


def as_json_text(value: object) -> str:
    """A value as JSON on one line."""
    return printable_json(json.dumps(value, ensure_ascii=False))


def warn(message: str) -> None:
    """A sentence on stderr."""
    print(f"upwell: {printable(message)}", file=sys.stderr)
