"""Find the controls of a form that narrow its answers, and fill them in: selects, radio buttons, check boxes, and ranges of numbers or dates.

A form of a register has several of them and often no box for words. `choose/region_candidates.py` decides which values are asked.
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from upwell.lazy import late_pattern
from upwell.lexicon import argument_names as names
from upwell.lexicon.vocabulary import alternatives, fold_accents
from upwell.page import form_encoding as form_data
from upwell.page.tree import TagTree
from upwell.types import Field, FilterKind, Form, FormFilter, FormInterface, LinkContext, Request

__all__ = ["fill_region", "filters_of", "only_changes_display"]

# Names of a form's language setting. In a URL it may filter records, but in a form it changes the language of the site and so every link.
LANGUAGE_NAMES = ("lang", "language")
RANGE_ENDS = tuple(late_pattern(partial(alternatives, meaning), re.I) for meaning in ("range_start", "range_end"))
WORD = re.compile(r"[^\W\d_]+")
CAMEL_CASE = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")
# How a form says in which order it expects day, month and year: "dd/mm/aaaa", "TT.MM.JJJJ", "yyyy-mm-dd".
DATE_HINT = re.compile(
    r"(?<!\w)(?:(?P<day>[dtjgpдη]{2})(?P<a>[./-])(?:mm|мм|μμ|kk)(?P=a)[yajгrεn]{4}|(?P<us>mm)(?P<b>[./-])dd(?P=b)yyyy|"
    r"[yajг]{4}(?P<c>[./-])(?:mm|мм)(?P=c)[dtjgд]{2})(?!\w)",
    re.I,
)
# Names of text fields for the least and the most of an amount; they are alike in most languages.
LEAST, MOST = (
    re.compile(rf"(?:.*[^a-z])?{end}(?:[^a-z]|$|im)|.*[a-z]{end.capitalize()}", re.S) for end in ("min", "max")
)
ISO_DATE = "%Y-%m-%d"
MAX_HINT_CHARS = 4000  # characters of a form's text in which the format of dates is looked for
MAX_LABEL_CHARS = 200  # characters of a label in which the words for the ends of a range are looked for
MAX_VALUES = 1000  # values of a select; a longer list names the records themselves
TYPED_RANGES: Mapping[str, FilterKind] = {"number": "number", "range": "number", "date": "date"}


def filters_of(form: Form, tree: TagTree, query_field: str = "") -> tuple[FormFilter, ...]:
    """Return the controls of a form that narrow its answers, in document order, without the field for the query."""
    fields = [field for field in form.fields if field.name and field.name != query_field]
    return (*_choices(fields, tree), *_ranges(form, fields, tree))


def _choices(fields: Sequence[Field], tree: TagTree) -> Iterator[FormFilter]:
    """Yield selects, and groups of radio buttons or check boxes, that have several values and do more than change the display."""
    boxes: dict[str, list[str]] = {}
    preset = {field.name for field in fields if field.type == "checkbox" and field.preset}
    for field in fields:
        if field.type == "checkbox" and field.name not in preset:  # with none checked, a group narrows nothing
            boxes.setdefault(field.name, []).extend(field.choices)
    for name, values in boxes.items():
        if 1 < len(set(values)) <= MAX_VALUES and not only_changes_display(name, values):
            yield FormFilter((name,), "choice", tuple(dict.fromkeys(values)), "", is_optional=True)
    radios: dict[str, list[str]] = {}
    for field in fields:
        if field.type == "radio":
            radios.setdefault(field.name, []).extend(field.choices)
    for name, values in radios.items():
        narrowing = [value for value in dict.fromkeys(values) if value.lower() not in names.ANY_VALUES]
        if len(narrowing) > 1 and not only_changes_display(name, values):
            is_optional = len(narrowing) < len(set(values))
            of_any = next((value for value in values if value not in narrowing), "")
            yield FormFilter((name,), "choice", tuple(narrowing), of_any, is_optional)
    for field in fields:
        if field.type != "select" or not 1 < len(field.choices) <= MAX_VALUES:
            continue
        any_value = _any_value(field, tree)
        narrowing = [value for value in dict.fromkeys(field.choices) if value != any_value]
        if len(narrowing) > (any_value is None) and not only_changes_display(field.name, field.choices):
            yield FormFilter((field.name,), "choice", tuple(narrowing), any_value or "", any_value is not None)


def _any_value(field: Field, tree: TagTree) -> str | None:
    """Return the value of a select that narrows nothing: an empty one, or the first if its label says so; None if there is none."""
    if "" in field.choices:
        return ""
    first = field.choices[0]
    row = next((int(row) for row in tree.rows("option") if field.row < row < tree.end[field.row]), None)
    label = " ".join(tree.text(row).split()) if row is not None else first
    return first if first.lower() in names.ANY_VALUES or names.ANY_LABEL.fullmatch(label) else None


def _ranges(form: Form, fields: Sequence[Field], tree: TagTree) -> Iterator[FormFilter]:
    """Yield pairs of neighbouring fields that are the two ends of a range."""
    typed = [field for field in fields if field.type in (*TYPED_RANGES, "text")]
    text_format = None
    at = 0
    while at + 1 < len(typed):
        low, high = typed[at : at + 2]
        at += 1
        kind = TYPED_RANGES.get(low.type)
        if low.type != high.type or not _are_ends(low, high, is_typed=kind is not None):
            continue
        if kind is None and _are_amounts(low, high):
            kind = "number"
        if kind is None:
            if text_format is None:
                text_format = _date_format(form, tree)
            if not text_format:
                continue
        date_format = "" if kind == "number" else ISO_DATE if kind else text_format or ""
        yield FormFilter((low.name, high.name), kind or "date", format=date_format)
        at += 1


def _are_ends(low: Field, high: Field, *, is_typed: bool) -> bool:
    """Return True if two fields are named as lower and upper end; of typed fields one such name is enough."""
    if low.name == high.name:
        return False
    is_start, is_end = (
        any(end.fullmatch(word) for word in _name_words(field))
        for field, end in zip((low, high), RANGE_ENDS, strict=True)
    )
    return (is_start or is_end) if is_typed else (is_start and is_end)


def _are_amounts(low: Field, high: Field) -> bool:
    """Return True if two text fields are named as minimum and maximum and ask for no date: they take numbers."""
    are_named = LEAST.match(fold_accents(low.name)) and MOST.match(fold_accents(high.name))
    return bool(are_named) and not DATE_HINT.search(f"{low.words} {high.words}"[:MAX_HINT_CHARS])


def _name_words(field: Field) -> list[str]:
    text = CAMEL_CASE.sub(" ", f"{field.name} {field.words[:MAX_LABEL_CHARS]}")
    return [word.lower() for word in WORD.findall(text)]


def _date_format(form: Form, tree: TagTree) -> str:
    """Return the format of dates that a form asks for in its texts and placeholders; "" if it does not say."""
    hints = " ".join(field.words for field in form.fields)
    row = int(tree.rows("form")[form.index])
    match = DATE_HINT.search(f"{hints} {form_data.text_around_controls(tree, row)}"[:MAX_HINT_CHARS])
    if match is None:
        return ""
    if match["day"]:
        return f"%d{match['a']}%m{match['a']}%Y"
    return f"%m{match['b']}%d{match['b']}%Y" if match["us"] else f"%Y{match['c']}%m{match['c']}%d"


def only_changes_display(name: str, values: Sequence[str]) -> bool:
    """Return True if a setting changes how records are shown (order, page, layout, language), not which.

    >>> only_changes_display("sort_by", ["title", "date"]), only_changes_display("show", ["10", "50", "all"])
    (True, True)
    >>> only_changes_display("show", ["open", "closed"]), only_changes_display("category", ["book", "film"])
    (False, False)
    """
    word = names.undecorated(name)
    selecting = [value for value in values if value.lower() not in names.ANY_VALUES]
    if names.SORT.fullmatch(word) or names.DISPLAY.fullmatch(word) or word in LANGUAGE_NAMES:
        return True
    if names.PAGE.fullmatch(word) or names.PAGE_SIZE.fullmatch(word):
        return all(value.isdecimal() for value in selecting)
    return bool(names.MAYBE_SORT.fullmatch(word)) and all(names.SORT_CODE.fullmatch(value) for value in selecting)


def fill_region(interface: FormInterface, settings: Sequence[tuple[str, str]]) -> Request:
    """Return the request with these values of filters; all other filters narrow nothing, and the field for the query is empty.

    Dates are given as ISO dates and written as the form expects them.
    """
    formats = {name: each.format for each in interface.filters for name in each.names if each.format}
    values = {each.names[0]: each.any_value for each in interface.filters if each.is_optional}
    values |= {name: "" for each in interface.filters if each.kind != "choice" for name in each.names}
    values |= {name: _written(value, formats.get(name, "")) for name, value in settings}
    if interface.query_field not in values:
        values[interface.query_field] = ""
    waiting = dict(values)
    entries = [(name, waiting.pop(name)) if name in waiting else (name, value) for name, value in interface.fields]
    entries += [(name, value) for name, value in waiting.items() if value]
    request = form_data.form_request(
        interface.method, interface.url, entries, charset=interface.charset, enctype=interface.enctype
    )
    context = LinkContext(is_search=interface.via == "form", query_fields=(interface.query_field,))
    return Request(
        url=request.url,
        method=request.method,
        body=request.body,
        content_type=request.content_type,
        headers=interface.headers,
        context=context,
        reuses=not interface.tokens,
    )


def _written(value: str, date_format: str) -> str:
    return datetime.date.fromisoformat(value).strftime(date_format) if date_format and value else value
