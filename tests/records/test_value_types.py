"""Which texts are numbers, prices and dates, and which only look like them."""

import datetime

import pytest

from upwell.records.values import column_type, date_reader, lossless_value, parse_value


@pytest.mark.parametrize(("odd", "kind"), [(1, "integer"), (3, "text"), (5, "text")])
def test_a_column_may_have_a_few_slips(odd: int, kind: str) -> None:
    assert column_type(["n/a"] * odd + [str(i) for i in range(10 - odd)]) == kind


def test_a_column_with_more_slips_than_half_of_its_type_is_text() -> None:
    assert column_type(["none"] * 45 + [str(i) for i in range(55)]) == "text"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("about 12.50 € for each of the children", "price"),
        ("12.50 € " + "for each of the children of the town " * 2, "text"),
    ],
)
def test_a_price_stands_in_a_short_text(text: str, kind: str) -> None:
    assert column_type([text] * 5) == kind


@pytest.mark.parametrize(("digits", "is_number"), [(12, True), (18, False)])
def test_a_long_number_is_an_id(digits: int, is_number: bool) -> None:
    text = "123456789123456789"[:digits]
    assert (lossless_value(text, "integer") == int(text)) is is_number


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("11/17/68", datetime.date(2068, 11, 17)),
        ("11/17/70", datetime.date(1970, 11, 17)),
        ("11/17/40", datetime.date(2040, 11, 17)),
        ("令和6年3月4日", datetime.date(2024, 3, 4)),
        ("150年3月4日", None),  # a year without an era
        ("320年3月4日", datetime.date(320, 3, 4)),
        ("十二年三月四日", None),
        ("二〇二四年十二月二十日", datetime.date(2024, 12, 20)),
        ("１４０２/０３/０４", None),  # another calendar
        ("１８０２/０３/０４", datetime.date(1802, 3, 4)),
        ("Monday, 4 March 2024", datetime.date(2024, 3, 4)),
        ("on the 4 of the month March in 2024", None),
        ("4 March 24", None),
    ],
)
def test_days(text: str, day: datetime.date | None) -> None:
    reader = date_reader([text])
    assert (reader.read(text) if reader else None) == day


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-01 01:30 pm", "2024-02-01T13:30:00"),
        ("2024-02-01 12:30 am", "2024-02-01T00:30:00"),
        ("2024-02-01 12:30 pm", "2024-02-01T12:30:00"),
        ("2024-02-01T10:30:00+05:30", "2024-02-01T10:30:00+05:30"),
    ],
)
def test_moments(text: str, moment: str) -> None:
    reader = date_reader([text])
    assert reader is not None
    read = reader.read(text)
    assert read is not None
    assert read.isoformat() == moment


@pytest.mark.parametrize(("padding", "is_date"), [(14, True), (60, False)])
def test_a_date_stands_in_a_short_text(padding: int, is_date: bool) -> None:
    assert (date_reader([f"2024-02-01{' ' * padding}10:30:00"]) is not None) is is_date


def test_values_of_a_type() -> None:
    assert parse_value("1,234", "integer") == 1234
    assert parse_value("free", "integer") is None
