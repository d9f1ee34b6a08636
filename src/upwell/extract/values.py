"""What a text means: the type of a column, and a text as a value of that type.

integer, decimal    12,345 · 3.5 · 12 %
price               a number with a currency: 9,99 € · US$ 1,200.00
date                2004-02-01 · 1 Feb 2004 · 01.02.2004 · Thu, 14 Jul 2016 08:52:10 GMT
url, image          an address; the address of a picture
text                everything else
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from price_parser import Price

__all__ = ["Type", "parsed", "type_of"]

Type = Literal["text", "integer", "decimal", "price", "date", "url", "image"]
Value = str | int | float | dict[str, str | float | None] | None

# Share of the texts of a column that must be of a type; the rest may be a slip of the page ("n/a", "free").
MOST = 0.8

INTEGER = re.compile(r"[-+]?(?:\d{1,3}(?:[,.\u00a0\u202f ']\d{3})+|\d+)")
DECIMAL = re.compile(
    r"[-+]?(?:\d{1,3}(?:[,\u00a0\u202f ']\d{3})+|\d{1,3}(?:\.\d{3})+(?=,)|\d*)[,.]\d+\s*%?|[-+]?\d+\s*%"
)
PRICE = re.compile(
    r"(?:[$€£¥₹₽₩₺₪฿]|\b(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|RUB|INR|BRL|CNY|Rs\.?|kr\.?|zł)(?![A-Za-z]))",
    re.I,
)
MONTH = r"(?:jan|feb|fe[́v]|m[aäå]r|a[pv]r|ma[iyj]|juin|jun|juil|jul|aug|ago|ao[uû]|se[pt]|set|o[ck]t|out|nov|d[eé][cz])[a-zäéûç]*\.?"
DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:\d{{4}}|\d{{2}})(?!\d)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?[\s-]+(?:de\s+)?{MONTH}[\s,-]+(?:de\s+)?(?:\d{{4}}|\d{{2}})(?!\d)"
    rf"|{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}",
    re.I,
)
LONGEST = 40  # characters that a number, a price or a date has at most, with what stands around it
ADDRESS = re.compile(r"(?:https?://|www\.)\S+$", re.I)
PICTURE = re.compile(r"\.(?:jpe?g|png|gif|webp|svg|avif)(?:\?\S*)?$", re.I)


def type_of(texts: Iterable[str]) -> Type:
    """The type that most of the texts of a column have.

    >>> type_of(["3", "12,345"]), type_of(["$3", "4.50 €"]), type_of(["1 Feb 2004", "2 Feb 2004"]), type_of(["1999", "n/a", "x"])
    ('integer', 'price', 'date', 'text')
    """
    known = [_one(text) for text in texts if text]
    if not known:
        return "text"
    for name in ("integer", "decimal", "price", "date", "image", "url"):
        if sum(k == name or (name == "decimal" and k == "integer") for k in known) >= MOST * len(known):
            return name
    return "text"


@lru_cache(maxsize=10_000)
def _one(text: str) -> Type:
    text = text.strip()
    if len(text) <= LONGEST:
        if INTEGER.fullmatch(text):
            return "integer"
        if DECIMAL.fullmatch(text):
            return "decimal"
        if DATE.search(text):
            return "date"
        if PRICE.search(text) and any(c.isdigit() for c in text):
            return "price"
    if ADDRESS.match(text) or (text.startswith("/") and " " not in text and len(text) > 1):
        return "image" if PICTURE.search(text) else "url"
    return "text"


def parsed(text: str, kind: Type) -> Value:
    """A text as a value: a number, `{"amount","currency"}`, an ISO date; None where it is none.

    >>> parsed("12,345", "integer"), parsed("9,99 €", "price"), parsed("3 Feb 2004", "date"), parsed("n/a", "integer")
    (12345, {'amount': 9.99, 'currency': '€'}, '2004-02-03', None)
    """
    if kind == "integer":
        return int(re.sub(r"[^\d+-]", "", text)) if INTEGER.fullmatch(text.strip()) else None
    if kind == "decimal":
        return _number(text) if _one(text) in ("decimal", "integer") else None
    if kind == "price":
        found = Price.fromstring(text)
        if found.amount is None:
            return None
        return {"amount": float(found.amount), "currency": found.currency}
    if kind == "date":
        return _date(text)
    return text or None


def _number(text: str) -> float | None:
    found = Price.fromstring(text.replace("%", ""))
    sign = -1 if text.strip().startswith("-") else 1
    return sign * float(found.amount) if found.amount is not None else None


@lru_cache(maxsize=10_000)
def _date(text: str) -> str | None:
    found = DATE.search(text)
    if found is None:
        return None
    import dateparser  # here, because it takes a third of a second and most runs have no dates to read

    moment = dateparser.parse(found[0], settings={"REQUIRE_PARTS": ["day", "month", "year"]})
    return moment.date().isoformat() if moment else None
