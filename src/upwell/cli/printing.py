"""How the command line prints: results on stdout, for people or as JSON, and what people should know on stderr."""

import json
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upwell.results import VerbResult

__all__ = ["as_json_text", "print_result", "printable", "printable_json", "warn"]

# --- Texts of sites as a terminal may show them: signs that steer a terminal, or turn the direction of writing, are made visible.

# C0 and C1 controls, line ends, marks that turn or hide what is written (Unicode TR 36 §2.10).
STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """A line with every steering sign replaced.

    >>> printable("a\\x1b[31mred\\u202e\\x9b2J")
    'a\ufffd[31mred\ufffd\ufffd2J'
    """
    return STEERING.sub("\ufffd", text.replace("\r\n", " ").replace("\n", " "))


def printable_json(text: str) -> str:
    r"""JSON with every steering sign escaped: it reads the same.

    >>> printable_json('{"a": "\x9b2J"}')
    '{"a": "\\u009b2J"}'
    """
    return STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


# --- (main part)


def print_result(result: "VerbResult", as_json: bool) -> None:
    """What a verb returned."""
    from upwell.cli.display import lines

    for line in [as_json_text(result.as_dict())] if as_json else map(printable, lines(result)):
        print(line)


def as_json_text(value: object) -> str:
    """A value as JSON on one line."""
    return printable_json(json.dumps(value, ensure_ascii=False))


def warn(message: str) -> None:
    """A sentence on stderr."""
    print(f"upwell: {printable(message)}", file=sys.stderr)
