"""Dates of a column: the whole column decides whether days or months come first, and whether there are times."""

import datetime
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = ["DateReader", "reader_of"]

Order = Literal["DMY", "MDY", "YMD"]
ORDERS: tuple[Order, ...] = ("DMY", "MDY", "YMD")
TIME = re.compile(
    r"[T\s,;(]+(?:at\s+|um\s+|à\s+)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]\.?m\.?)?\s*(Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2})?\)?\s*$",
    re.I,
)
NUMBERS = re.compile(r"(\d{1,4})([-/.])\s?(\d{1,2})\2\s?(\d{1,4})\.?$")
CHINESE = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]?$")
# The month by name, which may be preceded by the day of the week.
NAMED = re.compile(
    r"(?:[^\W\d]+\.?,?\s+)?(?:\d{1,2}(?:st|nd|rd|th|\.)?[\s-]+(?:de\s+|of\s+)?[^\W\d]+\.?,?[\s-]+(?:de\s+|of\s+)?\d{4}|[^\W\d]+\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4})$",
    re.I,
)
MAX_CHARS = 50
MAX_DAY = 31
MAX_MONTH = 12
NOON = 12
FIRST_OF_1900S = 69  # POSIX strptime, %y: 69 to 99 are 1969 to 1999


class DateReader(NamedTuple):
    """How the dates of a column are read."""

    order: Order
    has_time: bool

    def read(self, text: str) -> datetime.date | datetime.datetime | None:
        """The date, or the moment where the column has times; None for a text that is none."""
        day_text, time = _split(text)
        day = _day(day_text, self.order)
        if day is None or (time is not None) != self.has_time:
            return None
        if time is None:
            return day
        hour, minute, second, half, zone = time
        if half:
            hour = hour % NOON + NOON * half.lower().startswith("p")
        try:
            clock = datetime.time(hour, minute, second, tzinfo=_zone(zone))
        except ValueError:
            return None
        return datetime.datetime.combine(day, clock)


def reader_of(texts: Collection[str]) -> DateReader | None:
    """How to read a column in which every text is a date; None where some is none, or where nothing says which number is the month.

    >>> reader_of(["03/04/2005", "25/04/2005"]), reader_of(["03/04/2005", "05/04/2005"])
    (DateReader(order='DMY', has_time=False), None)
    >>> reader_of(["11/17/26 05:30"]).read("11/17/26 05:30").isoformat(), reader_of(["1.2.10"])
    ('2026-11-17T05:30:00', None)
    >>> reader_of(["2004-02-01T10:30:00Z"]).read("2004-02-01T10:30:00Z").isoformat()
    '2004-02-01T10:30:00+00:00'
    """
    if not texts or any(len(text) > MAX_CHARS or not any(map(str.isdigit, text)) for text in texts):
        return None
    parts = [_split(text) for text in texts]
    has_time = parts[0][1] is not None
    if any((time is not None) != has_time for _, time in parts):
        return None
    orders = [order for order in ORDERS if all(_day(day, order) is not None for day, _ in parts)]
    if not orders:
        return None
    first = orders[0]
    if len(orders) > 1 and any(_day(day, first) != _day(day, orders[1]) for day, _ in parts):
        return None
    reader = DateReader(first, has_time)
    return reader if all(reader.read(text) is not None for text in texts) else None


def _split(text: str) -> tuple[str, tuple[int, int, int, str | None, str | None] | None]:
    """The day and the time of a text."""
    text = text.strip()
    time = TIME.search(text)
    if time is None:
        return text, None
    return text[: time.start()].strip(), (int(time[1]), int(time[2]), int(time[3] or 0), time[4], time[5])


def _zone(name: str | None) -> datetime.tzinfo | None:
    """The time zone, where it is an offset or universal time; names of others mean different things."""
    if name and name.upper() in ("Z", "UTC", "GMT"):
        return datetime.UTC
    if name and name[0] in "+-":
        minutes = int(name[1:3]) * 60 + int(name[-2:])
        return datetime.timezone(datetime.timedelta(minutes=minutes if name[0] == "+" else -minutes))
    return None


def _day(text: str, order: Order) -> datetime.date | None:
    if match := CHINESE.match(text):
        return _date(match[1], match[2], match[3])
    if match := NUMBERS.match(text):
        first, second, third = match[1], match[3], match[4]
        if len(first) == 4:  # digits of a year
            return _date(first, second, third)
        if len(third) == 2 and match[2] == "/":  # "1.2.10" may be a version
            third = ("20" if int(third) < FIRST_OF_1900S else "19") + third
        if len(third) != 4 or order == "YMD":
            return None
        return _date(third, second, first) if order == "DMY" else _date(third, first, second)
    return _named(text) if NAMED.match(text) else None


def _date(year: str, month: str, day: str) -> datetime.date | None:
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


@lru_cache(maxsize=20_000)
def _named(text: str) -> datetime.date | None:
    import dateparser  # here, because it takes a third of a second and most runs have no dates to read

    moment = dateparser.parse(text, settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    return moment.date() if moment else None
