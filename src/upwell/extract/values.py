"""What a text means: the type of a column, and a text as a value of that type.

integer, decimal    12,345 · 3.5 · 12 %
price               a number with a currency: 9,99 € · US$ 1,200.00
date                2004-02-01 · 1 Feb 2004 · 01.02.2004 · Thu, 14 Jul 2016
datetime            a date with a time: 2004-02-01 08:52 · Thu, 14 Jul 2016 08:52:10 GMT
boolean             yes · no
url, image          an address; the address of a picture
text                everything else
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from upwell.extract.dates import reader_of
from upwell.lazy import late_pattern

if TYPE_CHECKING:
    from price_parser import Price

__all__ = ["BOOLEANS", "Type", "column_type", "lossless_value", "parse_value", "split_unit"]

Type = Literal["text", "integer", "decimal", "price", "date", "datetime", "boolean", "url", "image"]
Value = str | int | float | dict[str, str | float | None] | None

# In the order in which they are tried: a column of integers is one of decimals, too.
TYPES: tuple[Type, ...] = ("integer", "decimal", "price", "date", "image", "url")
# Share of the texts of a column that must be of its type; the others may be slips of the page ("n/a", "free").
MIN_TYPE_SHARE = 0.8
MAX_VALUE_CHARS = 40  # characters of a number, a price or a date, with what stands around it

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
NO_DIGITS = late_pattern(r"[^\d+-]")  # between those of an integer
ADDRESS = late_pattern(r"(?:https?://|www\.)\S+$", re.I)
PICTURE = late_pattern(r"\.(?:jpe?g|png|gif|webp|svg|avif)(?:\?\S*)?$", re.I)

ARABIC_SIGNS = str.maketrans("٬٫٪", ",.%")
# What a value must not lose (`column_type(…, lossless=True)`).
LEADING_ZERO = late_pattern(r"\s*[-+]?0\d")  # a code: as a number it would lose the zero
MAX_DIGITS = 15  # a longer number is an id, and no float holds it
UNIT = late_pattern(
    r"([-+]?\d[\d.,'\u00a0\u202f]*)(?:\s+([^\W\d_][^\s\d]{0,11})|([kmcgMGT]?[bBgmlW]|[kM]?Hz|mm|km|kg|dpi|px|°C|°F))"
)
NO_UNITS = {"st", "nd", "rd", "th", "am", "pm"}
# What two texts of a column say yes and no with.
BOOLEANS = {
    ("yes", "no"), ("true", "false"), ("on", "off"), ("y", "n"), ("✓", "✗"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"),
    ("sim", "não"), ("да", "нет"), ("是", "否"), ("はい", "いいえ"), ("예", "아니오"), ("نعم", "لا"),
}  # fmt: skip


def column_type(texts: Collection[str], *, lossless: bool = False) -> Type:
    """The type that most of the texts of a column have; empty texts do not count.

    With `lossless` a type counts only if every text can be replaced by its value and nothing is lost: so a table is typed that has
    no other place for the texts. Without it slips are allowed, because the texts stay beside the values.

    >>> column_type(["3", "12,345"]), column_type(["$3", "4.50 €"]), column_type(["1 Feb 2004", "2 Feb 2004"])
    ('integer', 'price', 'date')
    >>> column_type(["1999", "n/a", "x"]), column_type(["007", "118"]), column_type(["007", "118"], lossless=True)
    ('text', 'integer', 'text')
    """
    texts = [text for text in texts if text]
    if lossless:
        if len({text.strip().lower() for text in texts[:100]}) <= 2:  # in most columns the first texts tell
            found = {text.strip().lower() for text in texts}
            if any(found == set(pair) for pair in BOOLEANS):
                return "boolean"
        if (dates := reader_of(texts)) is not None:
            return "datetime" if dates.has_time else "date"
        if any(map(_is_no_number, texts)) and not _may_be_addresses(texts):
            return "text"  # as most columns are
    types: list[Type] = []
    others = 0
    for text in texts:
        types.append(_text_type(text))
        others += types[-1] == "text"
        if others > (1 - MIN_TYPE_SHARE) * len(texts) + 1:  # too many already, whatever follows
            return "text"
    for candidate in TYPES if types else ():
        count = sum(kind == candidate or (candidate == "decimal" and kind == "integer") for kind in types)
        if count >= MIN_TYPE_SHARE * len(types) and (
            not lossless
            or all(
                _loses_nothing(text, candidate, is_read=kind == candidate)
                for text, kind in zip(texts, types, strict=True)
            )
        ):
            return candidate
    return "text"


def _is_no_number(text: str) -> bool:
    """Whether a text cannot be read as a number, a price ("free" is one) or a date."""
    return text.isascii() and not any(map(str.isdigit, text)) and "free" not in text.lower()


def _may_be_addresses(texts: Sequence[str]) -> bool:
    """Whether so many texts may be addresses that the column is one of them."""
    return sum("/" in text or "www." in text.lower() or not text.isascii() for text in texts) >= MIN_TYPE_SHARE * len(
        texts
    )


def lossless_value(text: str, kind: Type) -> Value:
    """A text as a value, or the text itself where the value would lose something.

    >>> lossless_value("12,345", "integer"), lossless_value("007", "integer"), lossless_value("n/a", "integer")
    (12345, '007', 'n/a')
    """
    return parse_value(text, kind) if _loses_nothing(text, kind) else text


def _loses_nothing(text: str, kind: Type, *, is_read: bool = False) -> bool:
    """Whether the value of a text says all that the text says; `is_read` where it is known to be of this type."""
    if kind in ("url", "image"):
        return True
    if kind == "date":
        return False  # `reader_of` would have read it
    is_code = kind != "price" and LEADING_ZERO.match(text) is not None
    is_id = len(text) > MAX_DIGITS and sum(c.isdigit() for c in text) > MAX_DIGITS
    is_integer = is_read and kind == "integer"
    return not is_code and not is_id and (is_integer or parse_value(text, kind) is not None)


def _plain(text: str) -> str:
    """A text with the digits and signs that European numbers are written with.

    >>> _plain("١٬٢٣٤٫٥"), _plain("￥１，２３４")
    ('1,234.5', '¥1,234')
    """
    if text.isascii():
        return text.strip()
    text = unicodedata.normalize("NFKC", text).translate(ARABIC_SIGNS)
    return re.sub(r"\d", lambda digit: str(int(digit[0])), text).strip()


@lru_cache(maxsize=10_000)
def _text_type(text: str) -> Type:
    text = _plain(text)
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


def parse_value(text: str, kind: Type) -> Value:
    """A text as a value: a number, `{"amount","currency"}`, an ISO date; None where it is none.

    >>> parse_value("12,345", "integer"), parse_value("9,99 €", "price"), parse_value("3 Feb 2004", "date")
    (12345, {'amount': 9.99, 'currency': '€'}, '2004-02-03')
    >>> parse_value("n/a", "integer")
    """
    if kind == "integer":
        if not INTEGER.fullmatch(_plain(text)):
            return None
        return int(text) if text.isdecimal() else int(NO_DIGITS.sub("", text))
    if kind == "decimal":
        return _number(_plain(text)) if _text_type(text) in ("decimal", "integer") else None
    if kind == "price":
        price = _price(_plain(text))
        if price.amount is None:
            return None
        return {"amount": float(price.amount), "currency": price.currency}
    if kind == "date":
        return _iso_date(text)
    return text or None


def _price(text: str) -> "Price":
    from price_parser import Price  # here, because it takes 15 ms and many sources have neither prices nor fractions

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
    import dateparser  # here, because it takes a third of a second and most runs have no dates to read

    moment = dateparser.parse(date[0], settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    return moment.date().isoformat() if moment else None


def split_unit(text: str) -> tuple[str, str] | None:
    """The number and the unit of a text that is just these.

    >>> split_unit("12.5 km"), split_unit("300 KB"), split_unit("1st"), split_unit("12 Main Street")
    (('12.5', 'km'), ('300', 'KB'), None, None)
    """
    found = UNIT.fullmatch(text.strip())
    unit = (found[2] or found[3]) if found else ""
    return (found[1], unit) if found and unit and unit.lower() not in NO_UNITS else None
