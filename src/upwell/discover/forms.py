"""What each form of a page is for: search, or something that must never be submitted.

A form is judged by what a person sees of it (labels, button, placeholder) and what its author called things (names, ids,
action), in several languages. Every piece of evidence adds to or takes from a sum; the weights are small round numbers.
"""

import math
import re
from urllib.parse import unquote, urlsplit

from upwell.lazy import late_pattern
from upwell.page import form_encoding as form_data
from upwell.page.tree import TagTree
from upwell.types import Field, Form, FormKind
from upwell.urls.acting import acting_words_in_fields, acting_words_in_label, acting_words_in_text, acting_words_in_url

__all__ = ["SEARCH_WORDS", "asks_for_password", "find", "may_be_sent"]

TEXT_TYPES = ("text", "search", "url", "tel", "email", "number")

# Words for searching in the languages of the web, as they stand on buttons and in names. "research" is no search.
SEARCH_WORDS = late_pattern(
    r"(?<!re)search|(?:ture|ware|tore|core|quare)search|find\b|finder|query|keyword|lookup|such(?:e|en|wort|begriff)|\bsuch|finden|recherch|cherch|trouver|busca|búsqueda|"
    r"buscador|cerca\b|cercar|ricerca|procura|pesquis|zoek|sök|søg|søk|haku\b|etsi\b|hae\b|hledat|hľada|szukaj|wyszuk|"
    r"keres|caut|arama?\b|\bara\b|поиск|найти|искать|пошук|търс|претра|αναζ|חיפוש|بحث|جستجو|検索|검색|搜索|搜尋|检索|查询|查詢|ค้นหา|"
    r"tìm kiếm|\bcari\b",
    re.I,
)
# Names of text fields that take a query.
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
REGISTRATION_SCORE, LOGIN_SCORE = 0.9, 0.95  # a password field leaves little doubt
MIN_SEARCH_SCORE = 0.5
MIN_POST_SCORE = 0.8  # a POST may change something: it is used only where it is quite sure that the form searches
UNSURE_POST_SCORE = 0.79  # of a posted form whose address and button do not speak of searching
MAX_FORM_TEXT_CHARS = 300  # of a form that are read as its own words


def find(tree: TagTree) -> tuple[Form, ...]:
    """All forms of a page in document order, each judged."""
    return tuple(_judge(tree, index, int(row)) for index, row in enumerate(tree.rows("form")))


def _judge(tree: TagTree, index: int, row: int) -> Form:
    fields = form_data.read_fields(tree, row)
    method, action, enctype = form_data.form_target(tree, row, form_data.default_button(fields))
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    query_field = max(text_fields, key=_query_likeness, default=None)
    own_words = [tree.attr(row, name) or "" for name in ("id", "class", "name", "role", "aria-label")]
    target = urlsplit(action)
    own = " ".join(
        [*own_words, unquote(target.path), target.query]
    )  # without the host: a site may be called research.example
    other, acts = _kind_but_search(own, tree.text(row), fields), tuple[str, ...]()
    if "password" in [field.type for field in fields]:
        kind, score = other, REGISTRATION_SCORE if other == "registration" else LOGIN_SCORE
    else:
        acts = _acting_words(tree, row, method, action, fields)
        kind, score = "search", _search_likeness(own, tree.text(row), method, fields, query_field, other, bool(acts))
        if score < MIN_SEARCH_SCORE or not fields:
            kind, score = other, 1 - score
        elif method == "POST" and not SEARCH_WORDS.search(f"{own} {_button_words(fields)}"):
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
    """Whether a page has a field for a password."""
    return any((tree.attr(int(row), "type") or "").lower() == "password" for row in tree.rows("input"))


def may_be_sent(form: Form) -> bool:
    """Whether a form may be sent without a person's word: it searches, surely so if it is posted, and nothing in it acts."""
    return form.kind == "search" and not form.acts and (form.method == "GET" or form.score >= MIN_POST_SCORE)


def _acting_words(tree: TagTree, row: int, method: str, action: str, fields: tuple[Field, ...]) -> tuple[str, ...]:
    """The words that say that sending a form with its first button changes something: of all that would be sent, and of what a person reads."""
    button = form_data.default_button(fields)
    own_action = form_data.form_target(tree, row, None)[1]
    is_own_page = method == "GET" and urlsplit(action).path == urlsplit(tree.url).path  # it was fetched already
    found = acting_words_in_url("" if is_own_page else action)
    found += acting_words_in_fields(form_data.entry_list(fields, button, "utf-8"))
    found += acting_words_in_text(
        " ".join(tree.attr(row, name) or "" for name in ("id", "class", "name", "aria-label"))
    )
    if button is not None:
        found += acting_words_in_label(form_data.button_label(tree, button.row)) + acting_words_in_fields(
            [(button.name, "")]
        )
    for field in fields:
        if field.type == "select" and not set(field.preset) <= set(field.choices):
            found.append(f"{field.name} is preset to what acts")
    text = form_data.text_around_controls(tree, row)
    if len(text) <= MAX_FORM_TEXT_CHARS:  # a longer one is a page that is one form
        found += acting_words_in_text(text)
    if method == "POST" and urlsplit(action).path != urlsplit(own_action).path:
        found.append("its button posts to another address")
    return tuple(dict.fromkeys(found))


def _kind_but_search(own: str, text: str, fields: tuple[Field, ...]) -> FormKind:
    """What a form is for if it is not for searching; the first rule that holds decides.

    `own` is what the form's author called it (id, class, action …), `text` what stands in it.
    """
    types = [field.type for field in fields]
    names = " ".join(field.name for field in fields)
    words = " ".join(field.words for field in fields)
    everything = f"{own} {names} {words} {text[:500]}"
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    if "password" in types:
        asks_more = REGISTER_WORDS.search(everything) and len(text_fields) > 2
        return "registration" if types.count("password") > 1 or asks_more else "login"
    if "textarea" in types or CONTACT_WORDS.search(f"{own} {names}"):
        return "contact"
    if RECOVER_WORDS.search(everything):
        return "password recovery"
    if MAILING_WORDS.search(everything):
        return "mailing list"
    if ORDER_WORDS.search(f"{own} {names} {words}"):
        return "order"
    if REGISTER_WORDS.search(f"{own} {words}"):
        return "registration"
    return "login" if LOGIN_WORDS.search(f"{own} {words}") else "other"


def _search_likeness(
    own: str, text: str, method: str, fields: tuple[Field, ...], query_field: Field | None, other: FormKind, acts: bool
) -> float:
    """How sure it is that a form searches: 0 … 1, the logistic function of the sum of all evidence."""
    types = [field.type for field in fields]
    text_fields = [field for field in fields if field.type in TEXT_TYPES]
    button_words = _button_words(fields)
    evidence = (
        2.0 * bool(SEARCH_WORDS.search(own))
        + 1.5 * bool(SEARCH_WORDS.search(button_words))
        + 1.0 * bool(SEARCH_WORDS.search(text[:300]))
        + (max(_query_likeness(query_field), -1.0) if query_field else -1.5)
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


def _query_likeness(field: Field) -> float:
    """How much a text field looks as if it took the query; the first of equals wins."""
    return (
        2.0 * bool(QUERY_NAMES.match(field.name))
        + 2.0 * bool(SEARCH_WORDS.search(field.name))
        + 2.0 * (field.type == "search")
        + 1.0 * bool(SEARCH_WORDS.search(field.words))
        - 3.0 * (field.type in ("email", "tel", "number"))
        - 4.0 * (not field.name)
    )
