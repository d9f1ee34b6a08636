"""Printing: results on stdout, as lines or as JSON, and messages on stderr."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upwell.results import VerbResult

__all__ = ["as_json_text", "print_result", "printable", "printable_json", "shortened", "table_lines", "warn"]

MAX_CELL = 50  # characters of a value in a table
GAP = "  "  # between two columns of a table

# C0 and C1 control characters, line separators, and marks that reorder or hide text (Unicode TR 36 §2.10): a text of a site could
# use them to control the terminal or to show something else than it says.
CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Return a text as one line, with U+FFFD in place of every control character.

    >>> printable("a\\x1b[31mred\\u202e\\x9b2J")
    'a\ufffd[31mred\ufffd\ufffd2J'
    """
    return CONTROL_CHARACTERS.sub("\ufffd", text.replace("\r\n", " ").replace("\n", " "))


def printable_json(text: str) -> str:
    r"""Return JSON with every control character escaped; it stands for the same value.

    >>> printable_json('{"a": "\x9b2J"}')
    '{"a": "\\u009b2J"}'
    """
    return CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_result(result: "VerbResult", as_json: bool) -> None:
    """Print what a verb returned, for people or as JSON."""
    from upwell.cli.display import lines

    for line in [as_json_text(result.as_dict())] if as_json else map(printable, lines(result)):
        print(line)


def as_json_text(value: object) -> str:
    """Return a value as one line of JSON."""
    return printable_json(json.dumps(value, ensure_ascii=False))


def warn(message: str) -> None:
    """Print a message on stderr."""
    print(f"upwell: {printable(message)}", file=sys.stderr)


def table_lines(names: Sequence[str], rows: Sequence[Sequence[object]], max_width: int = 0) -> Iterator[str]:
    """Yield a table as lines of aligned columns, numbers to the right; "…" stands for columns that exceed the width.

    >>> list(table_lines(["city", "people"], [["Lima", 9], ["Cusco", 10]]))
    ['city   people', '-----  ------', 'Lima        9', 'Cusco      10']
    >>> list(table_lines(["city", "people"], [["Lima", 9]], 10))
    ['city  …', '----', 'Lima']
    """
    columns = []
    for number, name in enumerate(names):
        values = [row[number] for row in rows]
        cells = [name, *(shortened(value, MAX_CELL) for value in values)]
        width = max(map(len, cells))
        is_numeric = all(isinstance(value, int | float) for value in values if value is not None)
        cells.insert(1, "-" * width)
        columns.append([cell.rjust(width) if is_numeric else cell.ljust(width) for cell in cells])
    if max_width and len(GAP.join(column[0] for column in columns)) > max_width:
        columns.append(["…", *[""] * (len(rows) + 1)])
        while len(columns) > 2 and len(GAP.join(column[0] for column in columns)) > max_width:
            del columns[-2]
    for line in zip(*columns, strict=True):
        yield printable(GAP.join(line).rstrip())


def shortened(value: object, length: int) -> str:
    """Return a value as text on one line of at most this length."""
    text = "" if value is None else "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
