"""What each form of a page is for: search, or something that must never be submitted.

A form is judged by what a person sees of it (labels, button, placeholder) and what its author called things (names, ids,
action), in several languages. Every piece of evidence adds to or takes from a sum; the weights are whole or half points.
"""

import math
import re
from collections.abc import Iterator
from typing import Literal

from upwell.model import Field, Form, FormKind
from upwell.page.tree import TagTree

__all__ = ["find"]

TEXT_TYPES = frozenset(("text", "search", "", "url", "tel", "email", "number"))
CONTROLS = ("input", "select", "textarea", "button")

# Words for searching in the languages of the web, as they stand on buttons and in names; stems, matched at a word's beginning.
SEARCH = re.compile(
    r"search|find\b|finder|query|keyword|lookup|such(?:e|en|wort|begriff)|\bsuch|finden|recherch|cherch|trouver|busca|búsqueda|"
    r"buscador|cerca\b|cercar|ricerca|procura|pesquis|zoek|sök|søg|søk|haku\b|etsi\b|hae\b|hledat|hľada|szukaj|wyszuk|"
    r"keres|caut|arama?\b|\bara\b|поиск|найти|искать|пошук|търс|претра|αναζ|חיפוש|بحث|جستجو|検索|검색|搜索|搜尋|检索|查询|查詢|ค้นหา|"
    r"tìm kiếm|\bcari\b",
    re.I,
)
SEARCH_NAMES = re.compile(
    r"^(?:q|s|k|kw|qs|qt|qry|query|search\w*|keywords?|words?|term|terms|text|p|find|wd|w|st|ss|sq|as_q|Ntt)$", re.I
)
LOGIN = re.compile(
    r"log.?in\b|sign.?in\b|anmeld|einlog|connexion|iniciar|acced|entrar|войти|вход|登录|登入|ログイン", re.I
)
REGISTER = re.compile(r"regist|sign.?up\b|join|create.{0,12}account|inscri|регистр|注册|登録", re.I)
RECOVER = re.compile(r"forgot|recover|reset.{0,12}pass|lost.{0,12}pass|vergessen|oubli|olvid|восстанов", re.I)
MAILING = re.compile(
    r"newsletter|subscri|mailing|e-?mail.{0,12}(?:list|updates|alerts)|abonn|boletín|подпис|订阅", re.I
)
CONTACT = re.compile(r"contact|message|feedback|comment|enquir|inquir|kontakt|nachricht|kommentar|сообщ|留言", re.I)
ORDER = re.compile(
    r"add.{0,8}(?:cart|bag|basket)|checkout|\bcart\b|\bbuy\b|quantity|\bqty\b|warenkorb|panier|carrito|корзин|购物车|donat|vote|poll",
    re.I,
)


def find(tree: TagTree) -> tuple[Form, ...]:
    """All forms of a page in document order, each judged."""
    return tuple(_judge(tree, index, int(row)) for index, row in enumerate(tree.rows("form")))


def _controls(tree: TagTree, form: int) -> Iterator[int]:
    """The controls that belong to a form: inside it, or anywhere with its id in their `form` attribute.

    A form that begins between table rows is emptied by the parser, though its controls still belong to it (HTML standard,
    form element pointer); such a form owns the controls from itself to the end of the table or the next form.
    """
    identity = tree.attr(form, "id")
    first, last = form, int(tree.end[form])
    if (
        tree.nodes[form] == 1
        and tree.parent[form] >= 0
        and tree.name(int(tree.parent[form])) in ("table", "tbody", "tr")
    ):
        table = next((i for i in tree.ancestors(form) if tree.name(i) == "table"), int(tree.parent[form]))
        after = tree.rows("form")
        after = after[after > form]
        last = min(int(tree.end[table]), int(after[0]) if len(after) else len(tree))
    for row in tree.rows(*CONTROLS):
        owner = tree.attr(row, "form")
        if (owner == identity and identity) if owner is not None else first < row < last:
            yield int(row)


def _fields(tree: TagTree, form: int, rows: list[int]) -> tuple[Field, ...]:
    """The controls of a form with the value that a browser would send untouched."""
    labels = {tree.attr(row, "for"): tree.text(int(row)) for row in tree.rows("label") if tree.attr(row, "for")}
    found: list[Field] = []
    for row in rows:
        name, tag = tree.attr(row, "name") or "", tree.name(row)
        kind = (tree.attr(row, "type") or "").lower() if tag in ("input", "button") else tag
        if tag == "input" and kind not in INPUT_TYPES:
            kind = "text"
        if tag == "button":
            kind = kind if kind in ("reset", "button") else "submit"
        words = [tree.attr(row, a) or "" for a in ("placeholder", "title", "aria-label", "id", "class")]
        words.append(labels.get(tree.attr(row, "id"), ""))
        if kind in ("submit", "button", "image"):
            words += [tree.attr(row, "value") or "", tree.attr(row, "alt") or "", tree.text(row)]
        value: str | None = tree.attr(row, "value") or ""
        values: tuple[str, ...] = ()
        if kind in ("submit", "button", "image", "reset", "file"):
            value = None
        elif kind in ("checkbox", "radio"):
            on = tree.attr(row, "value")
            values = (on if on is not None else "on",)
            value = values[0] if tree.attr(row, "checked") is not None else None
        elif kind == "select":
            chosen, values = _options(tree, row)
            value = chosen[-1] if chosen else None
            if not _disabled(tree, row):
                found += [Field(name=name, type=kind, value=more, values=values) for more in chosen[:-1]]
        elif kind == "textarea":
            value = tree.text(row)
        if _disabled(tree, row):
            value, values = None, ()
        elif kind in ("submit", "image"):  # what it sends when it is pressed; Chromium sends the label that it shows
            said = tree.attr(row, "value")
            values = (said if said is not None else "Submit" if tag == "input" else "",)
        found.append(Field(name=name, type=kind, value=value, values=values, words=" ".join(filter(None, words))))
    return tuple(found)


def _submits(tree: TagTree, row: int) -> bool:
    """Whether a control is a button that sends the form."""
    kind = (tree.attr(row, "type") or "").lower()
    return (
        kind in ("submit", "image")
        if tree.name(row) == "input"
        else tree.name(row) == "button" and kind not in ("reset", "button")
    )


def _disabled(tree: TagTree, row: int) -> bool:
    """Whether a control is disabled, itself or by a fieldset around it (but not from inside the fieldset's legend)."""
    if tree.attr(row, "disabled") is not None:
        return True
    legend = False
    for above in tree.ancestors(row):
        if tree.name(above) == "fieldset":
            if tree.attr(above, "disabled") is not None and not legend:
                return True
            legend = False
        legend = legend or tree.name(above) == "legend"
    return False


INPUT_TYPES = frozenset(
    [
        "text",
        "search",
        "url",
        "tel",
        "email",
        "number",
        "password",
        "hidden",
        "checkbox",
        "radio",
        "submit",
        "image",
        "reset",
        "button",
        "file",
        "date",
        "month",
        "week",
        "time",
        "datetime-local",
        "range",
        "color",
    ]
)


def _options(tree: TagTree, select: int) -> tuple[list[str], tuple[str, ...]]:
    """What a select sends untouched (what is selected, else the first that can be), and all that it could send."""
    values, chosen = [], []
    for row in tree.rows("option"):
        if select < row < tree.end[select] and tree.attr(row, "disabled") is None:
            said = tree.attr(row, "value")
            values.append(said if said is not None else " ".join(tree.text(int(row)).split()))
            if tree.attr(row, "selected") is not None:
                chosen.append(values[-1])
    if tree.attr(select, "multiple") is not None:
        return chosen, tuple(values)
    if not chosen and (tree.attr(select, "size") or "1") in ("", "0", "1"):
        chosen = values[:1]
    return chosen[-1:], tuple(values)


def _judge(tree: TagTree, index: int, row: int) -> Form:
    rows = list(_controls(tree, row))
    fields = _fields(tree, row, rows)
    pressed = next((i for i in rows if _submits(tree, i) and not _disabled(tree, i)), row)
    said = {name: tree.attr(pressed, f"form{name}") or tree.attr(row, name) or "" for name in ("action", "method")}
    action = tree.resolve(said["action"] or tree.url or "") or tree.url
    method: Literal["GET", "POST"] = "POST" if said["method"].strip().lower() == "post" else "GET"
    enctype = (tree.attr(pressed, "formenctype") or tree.attr(row, "enctype") or "").strip().lower()
    texts = [f for f in fields if f.type in TEXT_TYPES]
    query = max(texts, key=_query_likeness, default=None)
    kind, score = _kind(tree, row, action, method, fields, texts, query)
    return Form(
        index=index,
        kind=kind,
        score=round(score, 3),
        query_field=query.name or None if query is not None and kind == "search" else None,
        method=method,
        action=action,
        fields=fields,
        enctype=enctype if method == "POST" and enctype in ("multipart/form-data", "text/plain") else "",
    )


def _query_likeness(field: Field) -> float:
    """How much a text field looks as if it took the query; the first of equals wins."""
    return (
        2.0 * bool(SEARCH_NAMES.match(field.name))
        + 2.0 * bool(SEARCH.search(field.name))
        + 2.0 * (field.type == "search")
        + 1.0 * bool(SEARCH.search(field.words))
        - 3.0 * (field.type in ("email", "tel", "number"))
        - 4.0 * (not field.name)
    )


def _kind(
    tree: TagTree,
    row: int,
    action: str,
    method: str,
    fields: tuple[Field, ...],
    texts: list[Field],
    query: Field | None,
) -> tuple[FormKind, float]:
    """Judges by evidence for searching against evidence for anything else; the kinds that are not search follow rules."""
    types = [f.type for f in fields]
    own = (
        " ".join(tree.attr(row, a) or "" for a in ("id", "class", "name", "role", "aria-label"))
        + " "
        + action.split("//")[-1]
    )
    names = " ".join(f.name for f in fields)
    words = " ".join(f.words for f in fields)
    seen = f"{own} {names} {words} {tree.text(row)[:500]}"
    other: FormKind = "other"
    if types.count("password") > 1 or ("password" in types and REGISTER.search(seen) and len(texts) > 2):
        return "registration", 0.9
    if "password" in types:
        return "login", 0.95
    if "textarea" in types or CONTACT.search(f"{own} {names}"):
        other = "contact"
    elif RECOVER.search(seen):
        other = "password recovery"
    elif MAILING.search(seen):
        other = "mailing list"
    elif ORDER.search(f"{own} {names} {words}"):
        other = "order"
    elif REGISTER.search(f"{own} {words}"):
        other = "registration"
    elif LOGIN.search(f"{own} {words}"):
        other = "login"
    submits = " ".join(f.words for f in fields if f.type in ("submit", "button", "image"))
    evidence = (
        2.0 * bool(SEARCH.search(own))
        + 1.5 * bool(SEARCH.search(submits))
        + 1.0 * bool(SEARCH.search(tree.text(row)[:300]))
        + (max(_query_likeness(query), -1.0) if query else -1.5)
        + 0.5 * (method == "GET")
        - 0.5 * (method == "POST")
        - 2.0 * (other != "other")
        - 2.0 * ("textarea" in types)
        - 1.5 * any(f.type == "email" or re.search("e-?mail", f.name, re.I) for f in fields)
        - 1.0 * (not fields)
        - 0.3 * max(0, len(texts) - 3)
        + (0.5 if "select" in types and not texts else 0.0)
        - 1.5
    )
    score = 1 / (1 + math.exp(-evidence))
    if score >= 0.5 and fields:
        return "search", score
    return other, 1 - score
