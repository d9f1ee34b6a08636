"""Dates and numbers in many languages."""

import pytest

from upwell.records.values import column_type, date_reader, parse_value


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("平成31年4月30日", "2019-04-30"),
        ("令和元年5月1日", "2019-05-01"),
        ("平成二十年三月三日", "2008-03-03"),
        ("民國112年3月12日", "2023-03-12"),
        ("2020年3月12日(木)", "2020-03-12"),
        ("2020년 3월 12일 목요일", "2020-03-12"),
        ("12 марта 2020 г.", "2020-03-12"),
        ("١٢ مارس ٢٠٢٠", "2020-03-12"),
        ("१२ मार्च २०२०", "2020-03-12"),
        ("12 มีนาคม พ.ศ. 2563", "2020-03-12"),
        ("1er mars 2020", "2020-03-01"),
        ("2020. március 12.", "2020-03-12"),
        ("ngày 12 tháng 3 năm 2020", "2020-03-12"),
        ("۱۳۹۹/۱/۲۳", None),  # a year of the Persian calendar
        ("Volume 12, 2019", None),
        ("31年4月30日", None),  # the era is unknown
    ],
)
def test_dates_of_many_languages(text: str, day: str | None) -> None:
    """Eras, digits of other scripts, other calendars and words around a date; ambiguous dates are not read."""
    reader = date_reader([text])
    date = reader.read(text) if reader else None
    assert (date.isoformat() if date else None) == day


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("١٬٢٣٤", "integer", 1234),
        ("١٢٫٥", "decimal", 12.5),
        ("१२३", "integer", 123),
        ("１２３", "integer", 123),
        ("12,34,567", "integer", 1234567),
        ("12.345,67", "decimal", 12345.67),
        ("1,234円", "price", {"amount": 1234.0, "currency": "円"}),
        ("1 234 руб.", "price", {"amount": 1234.0, "currency": "руб."}),
    ],
)
def test_numbers_of_many_languages(text: str, kind: str, value: object) -> None:
    """Digits, thousands separators, decimal signs and currencies."""
    value_type = column_type([text, text], lossless=True)
    assert value_type == kind
    assert parse_value(text, value_type) == value
