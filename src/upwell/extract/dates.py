"""Dates of a column: the whole column decides whether days or months come first, and whether there are times."""

import datetime
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple

from upwell.lazy import late_pattern
from upwell.page.terms import MARKS

__all__ = ["DateReader", "reader_of"]

Order = Literal["DMY", "MDY", "YMD"]
ORDERS: tuple[Order, ...] = ("DMY", "MDY", "YMD")
TIME = late_pattern(
    r"[T\s,;(]+(?:at\s+|um\s+|à\s+)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]\.?m\.?)?\s*(Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2})?\)?\s*$",
    re.I,
)
NUMBERS = late_pattern(r"(\d{1,4})([-/.])\s?(\d{1,2})\2\s?(\d{1,4})\.?$")
# With a day of the week after it, in brackets or not. Years may count from the beginning of an era; its first year has a name.
CHINESE = late_pattern(
    r"([^\W\d_]{2})?\s?(\d{1,4}|元)\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]?(?:\s?\(?[^\W\d_]{1,3}\)?)?$"
)
# The year before the first of each era: of Japanese emperors, and of the Republic of China.
ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911, "民国": 1911, "": 0}
CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
CHINESE_NUMBER = late_pattern("[〇零一二三四五六七八九十]+(?=[年月日])")
# Words with a day and a year: the month by name, and perhaps the day of the week, "г.", "de".
WORDED = late_pattern(r"[^\W\d_]|[\s,.'’-]|\d")
CHARACTER_MARKS = late_pattern(f"[{MARKS}]")
MAX_WORDS = 7
YEAR_DIGITS = 4
THAI = late_pattern("[\u0e00-\u0e7f]")
BUDDHIST_YEARS = 543  # the Thai calendar is ahead
BUDDHIST_SIGN = late_pattern(r"พ\.?ศ\.?")
FIRST_YEAR = 1600  # an earlier one in digits that are not European counts in another calendar
MAX_CHARS = 50
NOON = 12
FIRST_OF_1900S = 69  # POSIX strptime, %y: 69 to 99 are 1969 to 1999
MAX_ERA = 200  # years of an era; a larger number is a year of the Common Era


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
    if not texts or any(len(text) > MAX_CHARS or not any(map(str.isnumeric, text)) for text in texts):
        return None
    one_day = _split(next(iter(texts)))[0]
    if all(_day(one_day, order) is None for order in ORDERS):  # as in most columns of numbers
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
    plain = text if text.isascii() else _with_plain_numbers(text)
    if match := CHINESE.match(plain):
        era = ERAS.get(match[1] or "")
        year = 1 if match[2] == "元" else int(match[2])
        return _date(str(era + year), match[3], match[4]) if era is not None and (match[1] or year > MAX_ERA) else None
    if match := NUMBERS.match(plain):
        first, second, third = match[1], match[3], match[4]
        if len(first) == YEAR_DIGITS:
            return _date(first, second, third) if plain == text or int(first) >= FIRST_YEAR else None
        if len(third) == 2 and match[2] == "/":  # "1.2.10" may be a version
            third = ("20" if int(third) < FIRST_OF_1900S else "19") + third
        if len(third) != YEAR_DIGITS or order == "YMD":
            return None
        return _date(third, second, first) if order == "DMY" else _date(third, first, second)
    return _named(plain) if _may_be_worded(plain) else None


def _with_plain_numbers(text: str) -> str:
    """A text with European digits, whatever its script writes."""
    text = CHINESE_NUMBER.sub(lambda number: str(_chinese_number(number[0])), text)
    return re.sub(r"\d", lambda digit: str(int(digit[0])), text)


def _chinese_number(text: str) -> int:
    """The value of a number up to 99, or of digits in a row.

    >>> _chinese_number("二十"), _chinese_number("十三"), _chinese_number("二〇二四")
    (20, 13, 2024)
    """
    tens, ten, ones = text.translate(CHINESE_DIGITS).partition("十")
    return int(tens) if not ten else 10 * int(tens or 1) + int(ones or 0)


def _may_be_worded(text: str) -> bool:
    """Whether a text is a few words with a day and a year, and perhaps the month as a number."""
    numbers = sorted(map(len, re.findall(r"\d+", text)))
    is_date = len(numbers) in (2, 3) and numbers[-1] == YEAR_DIGITS and numbers[-2] <= 2
    letters = CHARACTER_MARKS.sub("", text)
    return is_date and 2 < len(text.split()) + text.count("-") <= MAX_WORDS and not WORDED.sub("", letters)


def _date(year: str, month: str, day: str) -> datetime.date | None:
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


@lru_cache(maxsize=20_000)
def _named(text: str) -> datetime.date | None:
    import dateparser  # here, because it takes a third of a second and most runs have no dates to read

    is_thai = THAI.search(text) is not None
    moment = dateparser.parse(BUDDHIST_SIGN.sub("", text), settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    if moment is None:
        return None
    return _date(str(moment.year - BUDDHIST_YEARS * is_thai), str(moment.month), str(moment.day))
