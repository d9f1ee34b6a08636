"""Classify the forms of a page: search forms, and others that must never be submitted.

The evidence is the visible text of a form (labels, button, placeholder) and the identifiers in its markup (names, ids, action), in several
languages. Each piece of evidence adds to or subtracts from a sum; the weights are small round numbers.
"""

import math
import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from upwell.lazy import late_pattern
from upwell.lexicon.phrases import SEARCH_WORDS
from upwell.page import form_encoding as form_data
from upwell.page.tree import TagTree
from upwell.types import Field, Form, FormKind
from upwell.urls.acting import acting_evidence

__all__ = ["SEARCH_WORDS", "asks_for_password", "find", "may_be_sent"]

TEXT_TYPES = ("text", "search", "url", "tel", "email", "number")

# Names of text fields for a query.
QUERY_NAMES = late_pattern(
    r"^(?:q|s|k|kw|qs|qt|qry|query|search\w*|keywords?|words?|term|terms|text|p|find|wd|w|st|ss|sq|as_q|Ntt)$", re.I
)
LOGIN_WORDS = late_pattern(
    r"log.?in\b|sign.?in\b|anmeld|einlog|connexion|iniciar|acced|entrar|войти|вход|登录|登入|ログイン", re.I
)
REGISTER_WORDS = late_pattern(r"regist|sign.?up\b|join|create.{0,12}account|inscri|регистр|注册|登録", re.I)
RECOVER_WORDS = late_pattern(r"forgot|recover|reset.{0,12}pass|lost.{0,12}pass|vergessen|oubli|olvid|восстанов", re.I)
MAILING_WORDS = late_pattern(
    r"newsletter|subscri|mailing|e-?mail.{0,12}(?:list|updates|alerts)|abonn|boletín|подпис|订阅", re.I
)
CONTACT_WORDS = late_pattern(
    r"contact|message|feedback|comment|enquir|inquir|kontakt|nachricht|kommentar|сообщ|留言", re.I
)
ORDER_WORDS = late_pattern(
    r"add.{0,8}(?:cart|bag|basket)|checkout|\bcart\b|\bbuy\b|quantity|\bqty\b|warenkorb|panier|carrito|корзин|购物车|donat|vote|poll",
    re.I,
)
REGISTRATION_SCORE, LOGIN_SCORE = 0.9, 0.95  # scores of forms with a password field
MIN_SEARCH_SCORE = 0.5  # score from which a form is a search form
MIN_POST_SCORE = 0.8  # score from which a search form is submitted by POST, which may change something
UNSURE_POST_SCORE = 0.79  # highest score of a POST form without a search word in its address or button


def find(tree: TagTree) -> tuple[Form, ...]:
    """Return the forms of a page in document order, classified."""
    return tuple(_classify(tree, index, int(row)) for index, row in enumerate(tree.rows("form")))


def _classify(tree: TagTree, index: int, row: int) -> Form:
    fields = form_data.read_fields(tree, row)
    method, action, enctype = form_data.form_target(tree, row, form_data.default_button(fields))
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    query_field = max(text_fields, key=_query_field_score, default=None)
    attributes = [tree.attr(row, name) or "" for name in ("id", "class", "name", "role", "aria-label")]
    target = urlsplit(action)
    identifiers = " ".join([*attributes, unquote(target.path), target.query])  # no host: it may be research.example
    other, acts = _kind_but_search(identifiers, tree.text(row), fields), tuple[str, ...]()
    if "password" in [field.type for field in fields]:
        kind, score = other, REGISTRATION_SCORE if other == "registration" else LOGIN_SCORE
    else:
        acts = _acting_words(tree, row, method, action, fields)
        score = _search_score(identifiers, tree.text(row), method, fields, query_field, other, bool(acts))
        kind = "search"
        if score < MIN_SEARCH_SCORE or not fields:
            kind, score = other, 1 - score
        elif method == "POST" and not SEARCH_WORDS.search(
            f"{unquote(target.path)} {target.query} {_button_words(fields)}"
        ):
            score = min(score, UNSURE_POST_SCORE)
    return Form(
        index=index,
        kind=kind,
        score=round(score, 3),
        query_field=query_field.name or None if query_field is not None and kind == "search" else None,
        method=method,
        action=action,
        fields=fields,
        charset=form_data.form_charset(tree, row),
        enctype=enctype,
        acts=acts,
    )


def asks_for_password(tree: TagTree) -> bool:
    """Return True if a page has a password field."""
    return any((tree.attr(int(row), "type") or "").lower() == "password" for row in tree.rows("input"))


def may_be_sent(form: Form) -> bool:
    """Return True if a form may be submitted without being named by the user: a search form without acting words, certain if by POST."""
    return form.kind == "search" and not form.acts and (form.method == "GET" or form.score >= MIN_POST_SCORE)


def _acting_words(tree: TagTree, row: int, method: str, action: str, fields: tuple[Field, ...]) -> tuple[str, ...]:
    """Return evidence that submitting a form with its first button changes something, in the data sent and in the visible text."""
    button = form_data.default_button(fields)
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


def _kind_but_search(identifiers: str, text: str, fields: tuple[Field, ...]) -> FormKind:
    """Return the kind of a form that is not a search form; the first matching rule decides.

    `identifiers` are the form's id, class, action and the like, `text` is its visible text.
    """
    types = [field.type for field in fields]
    names = " ".join(field.name for field in fields)
    words = " ".join(field.words for field in fields)
    everything = f"{identifiers} {names} {words} {text[:500]}"
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    if "password" in types:
        asks_more = REGISTER_WORDS.search(everything) and len(text_fields) > 2
        return "registration" if types.count("password") > 1 or asks_more else "login"
    if "textarea" in types or CONTACT_WORDS.search(f"{identifiers} {names}"):
        return "contact"
    if RECOVER_WORDS.search(everything):
        return "password recovery"
    if MAILING_WORDS.search(everything):
        return "mailing list"
    if ORDER_WORDS.search(f"{identifiers} {names} {words}"):
        return "order"
    if REGISTER_WORDS.search(f"{identifiers} {words}"):
        return "registration"
    return "login" if LOGIN_WORDS.search(f"{identifiers} {words}") else "other"


def _search_score(
    identifiers: str,
    text: str,
    method: str,
    fields: tuple[Field, ...],
    query_field: Field | None,
    other: FormKind,
    acts: bool,
) -> float:
    """Return the probability that a form is a search form: the logistic function of the sum of the evidence."""
    types = [field.type for field in fields]
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    button_words = _button_words(fields)
    evidence = (
        2.0 * bool(SEARCH_WORDS.search(identifiers))
        + 1.5 * bool(SEARCH_WORDS.search(button_words))
        + 1.0 * bool(SEARCH_WORDS.search(text[:300]))
        + (max(_query_field_score(query_field), -1.0) if query_field else -1.5)
        + 0.5 * (method == "GET")
        - 0.5 * (method == "POST")
        - 2.0 * (other != "other")
        - 2.0 * ("textarea" in types)
        - 1.5 * acts
        - 1.5 * any(field.type == "email" or re.search("e-?mail", field.name, re.I) for field in fields)
        - 1.0 * (not fields)
        - 0.3 * max(0, len(text_fields) - 3)
        + (0.5 if "select" in types and not text_fields else 0.0)
        - 1.5
    )
    return 1 / (1 + math.exp(-evidence))


def _button_words(fields: tuple[Field, ...]) -> str:
    return " ".join(field.words for field in fields if field.type in ("submit", "button", "image"))


def _query_field_score(field: Field) -> float:
    """Score how much a text field looks like the query field; the first of equals wins."""
    return (
        2.0 * bool(QUERY_NAMES.match(field.name))
        + 2.0 * bool(SEARCH_WORDS.search(field.name))
        + 2.0 * (field.type == "search")
        + 1.0 * bool(SEARCH_WORDS.search(field.words))
        - 3.0 * (field.type in ("email", "tel", "number"))
        - 4.0 * (not field.name)
    )
