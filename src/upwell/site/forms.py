"""What each form of a page is for: search, or something that must never be submitted.

A form is judged by what a person sees of it (labels, button, placeholder) and what its author called things (names, ids,
action), in several languages. Every piece of evidence adds to or takes from a sum; the weights are whole or half points.
"""

import math
import re

from upwell.model import Field, Form, FormKind
from upwell.page import form_data
from upwell.page.tree import TagTree

__all__ = ["find"]

TEXT_TYPES = frozenset(("text", "search", "", "url", "tel", "email", "number"))

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


def _judge(tree: TagTree, index: int, row: int) -> Form:
    fields = form_data.read_fields(tree, row)
    method, action, enctype = form_data.form_target(tree, row, form_data.default_button(fields))
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
        charset=form_data.form_charset(tree, row),
        enctype=enctype,
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
