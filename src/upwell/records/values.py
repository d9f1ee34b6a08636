"""Determine the types of columns, and convert texts to typed values.

integer, decimal    12,345 · 3.5 · 12 %
price               number with a currency: 9,99 € · US$ 1,200.00
date                2004-02-01 · 1 Feb 2004 · 01.02.2004 · Thu, 14 Jul 2016
datetime            date with a time: 2004-02-01 08:52 · Thu, 14 Jul 2016 08:52:10 GMT
boolean             yes · no
url, image          URL; URL of a picture
text                everything else
"""

import datetime
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from upwell.lazy import late_pattern
from upwell.page.tokens import MARKS

if TYPE_CHECKING:
    from price_parser import Price

__all__ = [
    "BOOLEANS",
    "MAX_PARSED_CHARS",
    "DateReader",
    "ValueType",
    "column_type",
    "date_reader",
    "lossless_value",
    "parse_value",
    "split_unit",
]

# Dates. The whole column determines the order of day and month, and whether there are times.

Order = Literal["DMY", "MDY", "YMD"]
ORDERS: tuple[Order, ...] = ("DMY", "MDY", "YMD")
TIME = late_pattern(
    r"[T\s,;(]+(?:at\s+|um\s+|à\s+)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]\.?m\.?)?\s*(Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2})?\)?\s*$",
    re.I,
)
NUMBERS = late_pattern(r"(\d{1,4})([-/.])\s?(\d{1,2})\2\s?(\d{1,4})\.?$")
# Chinese, Japanese and Korean dates, optionally followed by a weekday. Years may count from the beginning of an era, whose first year is 元.
CHINESE = late_pattern(
    r"([^\W\d_]{2})?\s?(\d{1,4}|元)\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]?(?:\s?\(?[^\W\d_]{1,3}\)?)?$"
)
# Year before the first year of each era: of Japanese emperors, and of the Republic of China.
ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911, "民国": 1911, "": 0}
CHINESE_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
CHINESE_NUMBER = late_pattern("(?<![〇零一二三四五六七八九十])[〇零一二三四五六七八九十]++(?=[年月日])")
# Characters of a date in words: day, month name and year, perhaps a weekday, "г.", "de".
WORDED = late_pattern(r"[^\W\d_]|[\s,.'’-]|\d")
CHARACTER_MARKS = late_pattern(f"[{MARKS}]")
MAX_WORDS = 7  # of a date in words
YEAR_DIGITS = 4
THAI = late_pattern("[\u0e00-\u0e7f]")
BUDDHIST_YEARS = 543  # difference of the Thai calendar to the Common Era
BUDDHIST_SIGN = late_pattern(r"พ\.?ศ\.?")
FIRST_YEAR = 1600  # earlier years in non-European digits belong to another calendar
MAX_CHARS = 50  # of a date
NOON = 12
FIRST_OF_1900S = 69  # POSIX strptime, %y: 69 to 99 are 1969 to 1999
MAX_ERA = 200  # years of an era; larger numbers are years of the Common Era


class DateReader(NamedTuple):
    """Format of the dates of a column."""

    order: Order
    has_time: bool

    def read(self, text: str) -> datetime.date | datetime.datetime | None:
        """Return the date of a text, with time if the column has times; None if the text is not in this format."""
        if len(text) > MAX_CHARS:
            return None
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


def date_reader(texts: Collection[str]) -> DateReader | None:
    """Return the format of a column of dates; None if a text is not a date, or if the order of day and month is ambiguous.

    >>> date_reader(["03/04/2005", "25/04/2005"]), date_reader(["03/04/2005", "05/04/2005"])
    (DateReader(order='DMY', has_time=False), None)
    >>> date_reader(["11/17/26 05:30"]).read("11/17/26 05:30").isoformat(), date_reader(["1.2.10"])
    ('2026-11-17T05:30:00', None)
    >>> date_reader(["2004-02-01T10:30:00Z"]).read("2004-02-01T10:30:00Z").isoformat()
    '2004-02-01T10:30:00+00:00'
    """
    if not texts or any(len(text) > MAX_CHARS or not any(map(str.isnumeric, text)) for text in texts):
        return None
    first_day = _split(next(iter(texts)))[0]
    if all(_day(first_day, order) is None for order in ORDERS):  # fast exit for most columns of numbers
        return None
    parts = [_split(text) for text in texts]
    has_time = parts[0][1] is not None
    if any((time is not None) != has_time for _, time in parts):
        return None
    orders = [order for order in ORDERS if all(_day(day, order) is not None for day, _ in parts)]
    if not orders:
        return None
    order = orders[0]
    if len(orders) > 1 and any(_day(day, order) != _day(day, orders[1]) for day, _ in parts):
        return None
    reader = DateReader(order, has_time)
    return reader if all(reader.read(text) is not None for text in texts) else None


def _split(text: str) -> tuple[str, tuple[int, int, int, str | None, str | None] | None]:
    """Split a text into date and time: hour, minute, second, am or pm, zone."""
    text = text.strip()
    time = TIME.search(text)
    if time is None:
        return text, None
    return text[: time.start()].strip(), (int(time[1]), int(time[2]), int(time[3] or 0), time[4], time[5])


def _zone(name: str | None) -> datetime.tzinfo | None:
    """Return the time zone of an offset or of universal time; names of other zones are ambiguous."""
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
    """Replace digits of other scripts by European digits."""
    text = CHINESE_NUMBER.sub(lambda number: str(_chinese_number(number[0])), text)
    return re.sub(r"\d", lambda digit: str(int(digit[0])), text)


def _chinese_number(text: str) -> int:
    """Return the value of a Chinese number up to 99, or of a sequence of digits.

    >>> _chinese_number("二十"), _chinese_number("十三"), _chinese_number("二〇二四")
    (20, 13, 2024)
    """
    tens, ten, ones = text.translate(CHINESE_DIGITS).partition("十")
    return int(tens) if not ten else 10 * int(tens or 1) + int(ones or 0)


def _may_be_worded(text: str) -> bool:
    """Return True if a text is a few words with a day and a year, and perhaps the month as a number."""
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
    import dateparser  # imported late: it takes a third of a second, and most runs have no dates in words

    is_thai = THAI.search(text) is not None
    moment = dateparser.parse(BUDDHIST_SIGN.sub("", text), settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    if moment is None:
        return None
    return _date(str(moment.year - BUDDHIST_YEARS * is_thai), str(moment.month), str(moment.day))


# Types and values.

ValueType = Literal["text", "integer", "decimal", "price", "date", "datetime", "boolean", "url", "image"]
Value = str | int | float | dict[str, str | float | None] | None

# In the order in which they are tried: integers are decimals, too.
TYPES: tuple[ValueType, ...] = ("integer", "decimal", "price", "date", "image", "url")
MIN_TYPE_SHARE = 0.8  # share of the texts of a column that have its type; the others may be exceptions ("n/a", "free")
MAX_VALUE_CHARS = 40  # text of a number, price or date
MAX_PARSED_CHARS = (
    200  # safety limit: a longer text in a column of numbers, prices or dates is running text, and is not parsed
)

INTEGER = late_pattern(r"[-+]?(?:\d{1,3}(?:[,.\u00a0\u202f ']\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+)")
DECIMAL = late_pattern(
    r"[-+]?(?:\d{1,3}(?:[,\u00a0\u202f ']\d{3})+|\d{1,3}(?:\.\d{3})+(?=,)|\d*)[,.]\d+\s*%?|[-+]?\d+\s*%"
)
CURRENCY = late_pattern(
    r"(?:[$€£¥\u20a0-\u20bf฿]|(?<=\d)\s?(?:円|元|원|руб\b|грн\b)|\b(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|RUB|INR|BRL|CNY|Rs\.?|kr\.?|zł)(?![A-Za-z]))",
    re.I,
)
MONTH = r"(?:jan|feb|fe[́v]|m[aäå]r|a[pv]r|ma[iyj]|juin|jun|juil|jul|aug|ago|ao[uû]|se[pt]|set|o[ck]t|out|nov|d[eé][cz])[a-zäéûç]*\.?"
DATE = late_pattern(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:\d{{4}}|\d{{2}})(?!\d)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?[\s-]+(?:de\s+)?{MONTH}[\s,-]+(?:de\s+)?(?:\d{{4}}|\d{{2}})(?!\d)"
    rf"|{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}",
    re.I,
)
NO_DIGITS = late_pattern(r"[^\d+-]")  # separators of an integer
ADDRESS = late_pattern(r"(?:https?://|www\.)\S+$", re.I)
PICTURE = late_pattern(r"\.(?:jpe?g|png|gif|webp|svg|avif)(?:\?\S*)?$", re.I)

ARABIC_SIGNS = str.maketrans("٬٫٪", ",.%")
# Texts that would lose information as values (`column_type(…, lossless=True)`).
LEADING_ZERO = late_pattern(r"\s*[-+]?0\d")  # a code, which would lose the zero
MAX_DIGITS = 15  # a longer number is an identifier that does not fit into a float
UNIT = late_pattern(
    r"([-+]?\d[\d.,'\u00a0\u202f]*)(?:\s+([^\W\d_][^\s\d]{0,11})|([kmcgMGT]?[bBgmlW]|[kM]?Hz|mm|km|kg|dpi|px|°C|°F))"
)
NO_UNITS = {"st", "nd", "rd", "th", "am", "pm"}
# Pairs of texts for true and false.
BOOLEANS = {
    ("yes", "no"), ("true", "false"), ("on", "off"), ("y", "n"), ("✓", "✗"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"),
    ("sim", "não"), ("да", "нет"), ("是", "否"), ("はい", "いいえ"), ("예", "아니오"), ("نعم", "لا"),
}  # fmt: skip


def column_type(texts: Collection[str], *, lossless: bool = False) -> ValueType:
    """Return the type of most texts of a column; empty texts are ignored.

    With `lossless`, every text must be replaceable by its value without loss, as in tables that store only values. Without it, exceptions are
    allowed, because the texts are kept in addition to the values.

    >>> column_type(["3", "12,345"]), column_type(["$3", "4.50 €"]), column_type(["1 Feb 2004", "2 Feb 2004"])
    ('integer', 'price', 'date')
    >>> column_type(["1999", "n/a", "x"]), column_type(["007", "118"]), column_type(["007", "118"], lossless=True)
    ('text', 'integer', 'text')
    """
    texts = [text for text in texts if text]
    if lossless:
        if len({text.strip().lower() for text in texts[:100]}) <= 2:  # fast exit for most columns
            distinct = {text.strip().lower() for text in texts}
            if any(distinct == set(pair) for pair in BOOLEANS):
                return "boolean"
        if (dates := date_reader(texts)) is not None:
            return "datetime" if dates.has_time else "date"
        if any(map(_is_not_numeric, texts)) and not _may_be_urls(texts):
            return "text"  # fast exit for most columns
    types: list[ValueType] = []
    untyped = 0
    for text in texts:
        types.append(_text_type(text))
        untyped += types[-1] == "text"
        if untyped > (1 - MIN_TYPE_SHARE) * len(texts) + 1:  # no type can reach its share any more
            return "text"
    for candidate in TYPES if types else ():
        count = sum(kind == candidate or (candidate == "decimal" and kind == "integer") for kind in types)
        if count >= MIN_TYPE_SHARE * len(types) and (
            not lossless
            or all(
                _is_lossless(text, candidate, is_read=kind == candidate)
                for text, kind in zip(texts, types, strict=True)
            )
        ):
            return candidate
    return "text"


def _is_not_numeric(text: str) -> bool:
    """Return True if a text cannot be a number, a price ("free" is a price) or a date."""
    return text.isascii() and not any(map(str.isdigit, text)) and "free" not in text.lower()


def _may_be_urls(texts: Sequence[str]) -> bool:
    """Return True if enough texts may be URLs for a column of URLs."""
    return sum("/" in text or "www." in text.lower() or not text.isascii() for text in texts) >= MIN_TYPE_SHARE * len(
        texts
    )


def lossless_value(text: str, kind: ValueType) -> Value:
    """Convert a text to a value; return the text itself if the value would lose information.

    >>> lossless_value("12,345", "integer"), lossless_value("007", "integer"), lossless_value("n/a", "integer")
    (12345, '007', 'n/a')
    """
    return parse_value(text, kind) if _is_lossless(text, kind) else text


def _is_lossless(text: str, kind: ValueType, *, is_read: bool = False) -> bool:
    """Return True if the value of a text has all its information; `is_read`: the text is known to have this type."""
    if kind in ("url", "image"):
        return True
    if kind == "date":
        return False  # columns whose dates can be converted without loss are recognised by `date_reader`
    is_code = kind != "price" and LEADING_ZERO.match(text) is not None
    is_id = len(text) > MAX_DIGITS and sum(c.isdigit() for c in text) > MAX_DIGITS
    is_integer = is_read and kind == "integer"
    return not is_code and not is_id and (is_integer or parse_value(text, kind) is not None)


def _with_ascii_digits(text: str) -> str:
    """Replace digits and number signs of other scripts by European ones.

    >>> _with_ascii_digits("١٬٢٣٤٫٥"), _with_ascii_digits("￥１，２３４")
    ('1,234.5', '¥1,234')
    """
    if text.isascii():
        return text.strip()
    text = unicodedata.normalize("NFKC", text).translate(ARABIC_SIGNS)
    return re.sub(r"\d", lambda digit: str(int(digit[0])), text).strip()


@lru_cache(maxsize=10_000)
def _text_type(text: str) -> ValueType:
    text = _with_ascii_digits(text)
    if len(text) <= MAX_VALUE_CHARS:
        if INTEGER.fullmatch(text):
            return "integer"
        if DECIMAL.fullmatch(text):
            return "decimal"
        if DATE.search(text):
            return "date"
        if CURRENCY.search(text) and any(c.isdigit() for c in text):
            return "price"
    if ADDRESS.match(text) or (text.startswith("/") and " " not in text and len(text) > 1):
        return "image" if PICTURE.search(text) else "url"
    return "text"


def parse_value(text: str, kind: ValueType) -> Value:
    """Convert a text to a value: a number, `{"amount","currency"}` or an ISO date; None if it is not of this type.

    >>> parse_value("12,345", "integer"), parse_value("9,99 €", "price"), parse_value("3 Feb 2004", "date")
    (12345, {'amount': 9.99, 'currency': '€'}, '2004-02-03')
    >>> parse_value("n/a", "integer")
    """
    if kind in ("integer", "decimal", "price", "date") and len(text) > MAX_PARSED_CHARS:
        return None
    if kind == "integer":
        if not INTEGER.fullmatch(_with_ascii_digits(text)):
            return None
        return int(text) if text.isdecimal() else int(NO_DIGITS.sub("", text))
    if kind == "decimal":
        return _number(_with_ascii_digits(text)) if _text_type(text) in ("decimal", "integer") else None
    if kind == "price":
        price = _price(_with_ascii_digits(text))
        if price.amount is None:
            return None
        return {"amount": float(price.amount), "currency": price.currency}
    if kind == "date":
        return _iso_date(text)
    return text or None


def _price(text: str) -> "Price":
    from price_parser import Price  # imported late: it takes 15 ms, and many sources have neither prices nor decimals

    return Price.fromstring(text)


def _number(text: str) -> float | None:
    amount = _price(text.replace("%", "")).amount
    sign = -1 if text.strip().startswith("-") else 1
    return sign * float(amount) if amount is not None else None


@lru_cache(maxsize=10_000)
def _iso_date(text: str) -> str | None:
    date = DATE.search(text)
    if date is None:
        return None
    import dateparser  # imported late: it takes a third of a second, and most runs have no dates in words

    moment = dateparser.parse(date[0], settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    return moment.date().isoformat() if moment else None


def split_unit(text: str) -> tuple[str, str] | None:
    """Split a text that is a number and a unit.

    >>> split_unit("12.5 km"), split_unit("300 KB"), split_unit("1st"), split_unit("12 Main Street")
    (('12.5', 'km'), ('300', 'KB'), None, None)
    """
    match = UNIT.fullmatch(text.strip()) if len(text) <= MAX_PARSED_CHARS else None
    unit = (match[2] or match[3]) if match else ""
    return (match[1], unit) if match and unit and unit.lower() not in NO_UNITS else None
