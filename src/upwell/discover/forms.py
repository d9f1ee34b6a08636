"""Classify the forms of a page: search forms, and others that must never be submitted.

Three fitted judgements: `search_form` decides whether a form is a search form, `form_kind` compares the other kinds (both `FORM_FEATURES`),
`query_field` compares the text fields of a search form (`FIELD_FEATURES`). `python -m benchmarks.fit NAME` fits them. The evidence is the
visible text of a form (labels, buttons, placeholders), the identifiers in its markup (names, ids, action), in the languages of
`lexicon/*.toml`, and its fields.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.judge.judgement import load_judgement
from upwell.lazy import late_pattern
from upwell.lexicon.phrases import SEARCH_WORDS
from upwell.lexicon.vocabulary import alternatives
from upwell.page import form_encoding as form_data
from upwell.page.tree import TagTree
from upwell.types import Field, Form, FormKind
from upwell.urls.acting import acting_evidence

__all__ = [
    "FIELD_FEATURES",
    "FORM_FEATURES",
    "MEANINGS",
    "SEARCH_WORDS",
    "TEXT_TYPES",
    "asks_for_password",
    "field_features",
    "find",
    "form_features",
    "may_be_sent",
    "search_button",
]

TEXT_TYPES = ("text", "search", "url", "tel", "email", "number")
PASSWORD_KINDS = ("login", "registration")  # kinds of a form with a password field
QUERY_TYPES = ("text", "search")  # of text fields whose name tells that they take a query
CHOICE_TYPES = ("select", "checkbox", "radio")
MEANINGS = (
    "search", "filter", "clear_form", "log_in", "register", "recover_password", "mailing_list", "contact", "order", "period",
)  # fmt: skip
WORDS = {meaning: late_pattern(partial(alternatives, meaning), re.I) for meaning in MEANINGS}
# Names of text fields, which are English on sites of all languages: for a query, and for personal data.
QUERY_NAMES = late_pattern(
    r"^(?:q|s|k|kw|qs|qt|qry|query|search\w*|keywords?|words?|term|terms|text|p|find|wd|w|st|ss|sq|as_q|Ntt)$", re.I
)
PERSONAL_NAMES = late_pattern(
    r"e-?mail|user|login|phone|tel\b|(?:first|last|full|nick)_?name|fname|lname|pass|address|zip|postal|city|captcha|subject|url\b|website",
    re.I,
)
RANGE_NAMES = late_pattern(r"date|from|to$|until|min|max|year|month|day|price|range|lat|lon|radius|num|qty|count", re.I)
SORT_NAMES = late_pattern(r"sort|order|per_?page|limit|view|display|filter|cat(?:egor)?|type", re.I)
MIN_SEARCH_SCORE = 0.5  # score from which a form is a search form
MAX_FORMS = 1000  # safety limit: forms of a page; a list of products may have one for each
MIN_POST_SCORE = 0.8  # score from which a search form is submitted by POST, which may change something
UNSURE_POST_SCORE = 0.79  # highest score of a POST form without a search word in its identifiers or button
MAX_WORDS_CHARS = 500  # characters of a form's visible text in which words are looked for
MAX_OWN_TEXT_CHARS = 2000  # a form with a longer text encloses the whole page
PLACES = ("button", "identifiers", "names", "labels", "text")
FORM_FEATURES = (
    "constant",
    *(f"{meaning} in {place}" for meaning in MEANINGS for place in PLACES),
    *(f"{meaning}" for meaning in MEANINGS),  # anywhere
    "role search",
    "search type",  # a field of type search
    "query name",
    "personal name",
    "range name",  # date, from, to, minimum …
    "sort name",
    "get",
    "post",
    "no text field",
    "one text field",
    "two text fields",
    "text fields beyond three",
    "only choices",  # selects, checkboxes or radio buttons, and no text field
    "selects",  # logarithm of their number
    "checkboxes",
    "textarea",
    "one password",
    "two passwords",
    "email field",
    "only an email field",
    "file",
    "number field",
    "no named text field",
    "no field",
    "no button",
    "two buttons",
    "only buttons",
    "view state",  # ASP.NET: the form may enclose the whole page
    "acts",
    # conjunctions
    "one text field and search word",
    "one text field, get, no other word",
    "choices and search word",
    "choices and filter word",
    "choices with get",
    "ranges and choices",
)
FIELD_FEATURES = (
    "query name",
    "search in name",
    "search in label",
    "search type",
    "email, telephone or number",
    "personal name",
    "range name",
    "period in label",
    "only text field",
    "first text field",
    "position",
    "followed by a button",
    "is preset",
)


def find(tree: TagTree) -> tuple[Form, ...]:
    """Return the forms of a page in document order, classified; those after the first MAX_FORMS are left out."""
    return tuple(_classify(tree, index, int(row)) for index, row in enumerate(tree.rows("form")[:MAX_FORMS]))


def _classify(tree: TagTree, index: int, row: int) -> Form:
    fields = form_data.read_fields(tree, row)
    method, action, enctype = form_data.form_target(tree, row, search_button(fields))
    has_password = any(field.type == "password" for field in fields)
    acts = () if has_password else _acting_words(tree, row, method, action, fields)
    features = form_features(tree, row, method, action, fields, bool(acts))
    kind: FormKind = "search"
    score = float(load_judgement("search_form").probability(features)[0])
    if has_password:  # never a search form, whatever else it has
        kind, score = _other_kind(features, PASSWORD_KINDS)
    elif score < MIN_SEARCH_SCORE or not fields:
        kind, score = _other_kind(features)[0], 1 - score
    elif method == "POST" and not _names_search(action, fields):
        score = min(score, UNSURE_POST_SCORE)
    return Form(
        index=index,
        kind=kind,
        score=round(score, 3),
        query_field=_query_field(fields) if kind == "search" else None,
        method=method,
        action=action,
        fields=fields,
        charset=form_data.form_charset(tree, row),
        enctype=enctype,
        acts=acts,
    )


def _other_kind(features: NDArray[np.float64], among: Sequence[str] = ()) -> tuple[FormKind, float]:
    """Return the kind of a form that is not a search form, and its probability among these kinds (none given: among all)."""
    judgement = load_judgement("form_kind")
    probability = dict(zip(judgement.outputs, judgement.probability(features)[0].tolist(), strict=True))
    possible = {kind: probability[kind] for kind in among or judgement.outputs}
    kind = max(possible, key=possible.__getitem__)
    return cast(FormKind, kind), possible[kind] / sum(possible.values())


def _identifiers(tree: TagTree, row: int, action: str) -> str:
    """Return id, class, name, role, label and target of a form; without the host, which may be research.example."""
    target = urlsplit(action)
    attributes = [tree.attr(row, name) or "" for name in ("id", "class", "name", "role", "aria-label")]
    return " ".join([*attributes, unquote(target.path), target.query])


def _names_search(action: str, fields: tuple[Field, ...]) -> bool:
    """Return True if the address or a button of a form has a word for "search"."""
    target = urlsplit(action)
    return bool(SEARCH_WORDS.search(f"{unquote(target.path)} {target.query} {_button_words(fields)}"))


def _query_field(fields: tuple[Field, ...]) -> str | None:
    """Return the name of the text field that takes the query; None if there is none, or all take something else."""
    names = [field.name for field in fields if field.type in TEXT_TYPES and field.name]
    if not names:
        return None
    judgement = load_judgement("query_field")
    evidence = judgement.evidence(field_features(fields))
    best = int(evidence.argmax())
    return names[best] if evidence[best] >= judgement.threshold else None


def search_button(fields: Iterable[Field]) -> Field | None:
    """Return the button that sends a search: the first that does not clear the form."""
    buttons = [field for field in fields if field.type in form_data.BUTTON_TYPES and field.choices]
    return next((button for button in buttons if not _has_word("clear_form", button.words)), None) or next(
        iter(buttons), None
    )


def asks_for_password(tree: TagTree) -> bool:
    """Return True if a page has a password field."""
    return any((tree.attr(int(row), "type") or "").lower() == "password" for row in tree.rows("input"))


def may_be_sent(form: Form) -> bool:
    """Return True if a form may be submitted without being named by the user: a search form without acting words, certain if by POST."""
    return form.kind == "search" and not form.acts and (form.method == "GET" or form.score >= MIN_POST_SCORE)


def _acting_words(tree: TagTree, row: int, method: str, action: str, fields: tuple[Field, ...]) -> tuple[str, ...]:
    """Return evidence that submitting a form with its first button changes something, in the data sent and in the visible text."""
    button = search_button(fields)
    own_action = form_data.form_target(tree, row, None)[1]
    is_own_page = method == "GET" and urlsplit(action).path == urlsplit(tree.url).path  # it was fetched before
    entries = form_data.entry_list(fields, button, "utf-8")
    names = [(button.name, "")] if button is not None else []
    request = form_data.form_request("POST", "" if is_own_page else action, [*entries, *names])
    context = form_data.form_context(tree, row, button.row if button is not None else None, action)
    evidence = list(acting_evidence(replace(request, method="GET", context=context)))
    evidence += [
        f"{field.name} is preset to a value that acts"
        for field in fields
        if field.type == "select" and not set(field.preset) <= set(field.choices)
    ]
    if method == "POST" and urlsplit(action).path != urlsplit(own_action).path:
        evidence.append("its button posts to another address")
    return tuple(dict.fromkeys(evidence))


def form_features(
    tree: TagTree, row: int, method: str, action: str, fields: tuple[Field, ...], acts: bool
) -> NDArray[np.float64]:
    """Return the features of a form as one row; columns as `FORM_FEATURES`."""
    types = [field.type for field in fields]
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    visible = [field for field in fields if field.type != "hidden"]
    buttons = [field for field in fields if field.type in form_data.BUTTON_TYPES]
    text = tree.text(row) if tree.chars_of(row) <= MAX_OWN_TEXT_CHARS else ""
    texts = {
        "button": _button_words(fields),
        "identifiers": _identifiers(tree, row, action),
        "names": " ".join(field.name for field in visible),
        "labels": " ".join(field.words for field in visible if field.type not in form_data.BUTTON_TYPES),
        "text": text[:MAX_WORDS_CHARS],
    }
    everything = "\n".join(texts.values())
    found = {
        meaning: {place: is_anywhere and _has_word(meaning, text) for place, text in texts.items()}
        for meaning in MEANINGS
        for is_anywhere in (_has_word(meaning, everything),)
    }
    anywhere = {meaning: any(places.values()) for meaning, places in found.items()}
    choices = sum(kind in CHOICE_TYPES for kind in types)
    emails = sum(field.type == "email" or bool(re.search("e-?mail", field.name, re.I)) for field in text_fields)
    ranges = sum(bool(RANGE_NAMES.search(field.name)) for field in visible)
    passwords, is_get = types.count("password"), method == "GET"
    has_search = any(found["search"][place] for place in ("button", "identifiers", "names", "labels"))
    other_words = any(
        anywhere[name] for name in ("log_in", "register", "recover_password", "mailing_list", "contact", "order")
    )
    only_choices = choices > 0 and not text_fields and "textarea" not in types
    values = [
        1.0,
        *(found[meaning][place] for meaning in MEANINGS for place in PLACES),
        *(anywhere[meaning] for meaning in MEANINGS),
        "search" in (tree.attr(row, "role") or "").lower(),
        "search" in types,
        any(QUERY_NAMES.match(field.name) for field in text_fields if field.type in QUERY_TYPES),
        any(PERSONAL_NAMES.search(field.name) for field in visible),
        ranges > 0,
        any(SORT_NAMES.search(field.name) for field in visible if field.type in CHOICE_TYPES),
        is_get,
        not is_get,
        not text_fields,
        len(text_fields) == 1,
        len(text_fields) == 2,
        math.log1p(max(0, len(text_fields) - 3)),
        only_choices,
        math.log1p(types.count("select")),
        math.log1p(types.count("checkbox") + types.count("radio")),
        "textarea" in types,
        passwords == 1,
        passwords > 1,
        emails > 0,
        emails > 0 and len(text_fields) == 1,
        "file" in types,
        "number" in types or "range" in types or "date" in types,
        bool(text_fields) and not any(field.name for field in text_fields),
        not visible,
        not buttons,
        len(buttons) > 1,
        bool(visible) and len(buttons) == len(visible),
        any(field.name == "__VIEWSTATE" for field in fields),
        acts,
        len(text_fields) == 1 and has_search,
        len(text_fields) == 1 and is_get and not other_words and not emails,
        only_choices and has_search,
        only_choices and found["filter"]["button"],
        only_choices and is_get,
        ranges > 0 and choices > 0,
    ]
    return np.array([values], np.float64)


def field_features(fields: tuple[Field, ...]) -> NDArray[np.float64]:
    """Return the features of the text fields of a form that have a name, one row each; columns as `FIELD_FEATURES`."""
    at = [position for position, field in enumerate(fields) if field.type in TEXT_TYPES and field.name]
    rows = []
    for number, position in enumerate(at):
        field = fields[position]
        following = fields[position + 1].type if position + 1 < len(fields) else ""
        rows.append(
            [
                field.type in QUERY_TYPES and bool(QUERY_NAMES.match(field.name)),
                _has_word("search", field.name),
                _has_word("search", field.words),
                field.type == "search",
                field.type in ("email", "tel", "number"),
                bool(PERSONAL_NAMES.search(field.name)),
                bool(RANGE_NAMES.search(field.name)),
                _has_word("period", field.words),
                len(at) == 1,
                number == 0,
                math.log1p(number),
                following in form_data.BUTTON_TYPES,
                any(field.preset),
            ]
        )
    return np.array(rows, np.float64).reshape(len(rows), len(FIELD_FEATURES))


def _has_word(meaning: str, text: str) -> bool:
    return bool(text) and WORDS[meaning].search(text) is not None


def _button_words(fields: tuple[Field, ...]) -> str:
    return " ".join(field.words for field in fields if field.type in ("submit", "button", "image"))
