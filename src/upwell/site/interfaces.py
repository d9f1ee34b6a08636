"""The request that a filled search form sends, exactly as a browser would send it."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, urldefrag, urlsplit

from upwell.model import AddressInterface, Field, Form, FormInterface, JsonInterface, Request, SearchInterface
from upwell.page import form_data
from upwell.page.tree import TagTree
from upwell.site import declared, forms

__all__ = ["fill", "find", "informative", "of_form", "refresh", "same_interface", "same_request", "settings", "texts"]

# Hidden fields that a site checks and that grow old; by their names, or by a value that nobody wrote by hand.
TOKEN_NAME = re.compile(
    r"token|csrf|xsrf|nonce|authenticity|viewstate|eventvalidation|form_?build_?id|session|sessid", re.I
)
TOKEN_VALUE = re.compile(r"(?=.*\d)(?=.*[a-z])[0-9a-z+/=_-]{20,}", re.I)
INFORMATIVE = (
    0.25  # Madhavan et al. 2008 §4: a template whose answers have fewer distinct signatures than this share is not
)
FREE = ("text", "search")


def find(tree: TagTree) -> tuple[SearchInterface, ...]:
    """Every way to ask that the page itself offers, best first: what it declares, then its search forms by their score."""
    judged = sorted((form for form in forms.find(tree) if form.kind == "search"), key=lambda form: -form.score)
    found: list[SearchInterface] = list(declared.actions(tree))
    for form in judged:
        template = of_form(form, tree)
        if template is not None and not any(same_request(template, known) for known in found):
            found.append(template)
    return tuple(found)


def same_request(one: SearchInterface, other: SearchInterface) -> bool:
    """Whether two templates send the same thing."""
    return fill(one, "query") == fill(other, "query")


def same_interface(one: SearchInterface, other: SearchInterface | None) -> bool:
    """Whether two interfaces are the same but for the values of their tokens."""
    return other is not None and _without_tokens(one) == _without_tokens(other)


def _without_tokens(interface: SearchInterface) -> tuple[object, ...]:
    url = interface.url.rstrip("/")
    match interface:
        case FormInterface():
            fixed = frozenset((name, value) for name, value in interface.fields if name not in interface.tokens)
            return interface.method, url, interface.query_field, fixed
        case AddressInterface():
            return interface.method, url, frozenset(interface.fields)
        case JsonInterface():
            return url, interface.body


def of_form(form: Form, tree: TagTree, field: str = "") -> FormInterface | None:
    """A search form as a template: defaults kept, the query field empty, the first submit button pressed.

    `field` names another text field to ask with. A form without text field is asked through its select (or radio) with the
    most values (Entity §3: 3 % of sites); None where it has nothing that can be varied.
    """
    name = field or form.query_field or ""
    choices: tuple[str, ...] = ()
    if not name:
        name, choices = max(settings(form), key=lambda one: len(one[1]), default=("", ()))
        if not name:
            return None
    fields = _with_query_field(form.fields, name)
    return FormInterface(
        method=form.method,
        url=form.action,
        query_field=name,
        fields=form_data.entry_list(fields, form_data.default_button(fields), form.charset),
        charset=form.charset,
        score=form.score,
        via="form",
        page=tree.url,
        tokens=tuple(dict.fromkeys(f.name for f in form.fields if _is_token(f))),
        choices=choices,
        enctype=form.enctype,
    )


def _with_query_field(fields: Iterable[Field], name: str) -> list[Field]:
    """The fields of a form with the first that is shown under this name empty, so that a query can be put in it."""
    emptied: list[Field] = []
    is_empty = False
    for field in fields:
        if field.name == name and field.type not in ("hidden", "submit", "image"):
            if not is_empty:
                field, is_empty = replace(field, preset=("",)), True
            elif field.type == "radio":
                field = replace(field, preset=())
        emptied.append(field)
    return emptied


def settings(form: Form) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What can be set besides text: selects and radios with their values (an empty one means "any"), checkboxes left out."""
    found: dict[str, tuple[str, ...]] = {}
    for field in form.fields:
        if field.type == "select" and field.name and len(field.choices) > 1:
            found[field.name] = tuple(dict.fromkeys(field.choices))
        elif field.type == "radio" and field.name:
            found[field.name] = (*found.get(field.name, ()), *field.choices)
    return tuple((name, values) for name, values in found.items() if len(values) > 1)


def texts(form: Form) -> tuple[str, ...]:
    """The names of the fields that take free text, the likeliest first."""
    names = [f.name for f in form.fields if f.type in FREE and f.name]
    first = [form.query_field] if form.query_field in names else []
    return tuple(dict.fromkeys([*first, *names]))


def informative(signatures: Iterable[object]) -> bool:
    """Whether the answers of a template's values tell apart what the source holds (Madhavan et al. 2008 §4).

    >>> informative(["a", "b", "a", "c"]), informative(["same"] * 10)
    (True, False)
    """
    seen = list(signatures)
    return len(set(seen)) > 1 and len(set(seen)) / len(seen) >= INFORMATIVE


def refresh(template: FormInterface, tree: TagTree) -> FormInterface | None:
    """The template with the tokens of another page of the site, or None where that page does not have the form."""
    for form in forms.find(tree):
        fresh = of_form(form, tree, template.query_field) if form.method == template.method else None
        if fresh is None or urlsplit(fresh.url).path != urlsplit(template.url).path:
            continue
        now = dict(fresh.fields)
        if template.query_field in now and all(name in now for name in template.tokens):
            fields = tuple((name, now[name] if name in template.tokens else value) for name, value in template.fields)
            return replace(template, fields=fields)
    return None


def fill(interface: SearchInterface, query: str) -> Request:
    """The request for a query; what the form's charset cannot write becomes a character reference, as in a browser.

    >>> ask = FormInterface(method="GET", url="http://x/find?old=1", query_field="q", fields=(("q", ""), ("n", "20")))
    >>> fill(ask, "two words").url
    'http://x/find?q=two+words&n=20'
    >>> fill(AddressInterface(url="http://x/find/{query}"), "two words").url
    'http://x/find/two%20words'
    """
    match interface:
        case JsonInterface():
            body = interface.body.replace("{query}", json.dumps(query)[1:-1]).encode()
            return Request(url=interface.url, method="POST", body=body, content_type="application/json", query=query)
        case AddressInterface():
            url = urldefrag(interface.url)[0].replace("{query}", quote(query, safe=""))
            return (
                form_data.form_request("POST", url, interface.fields, query=query)
                if interface.method == "POST"
                else Request(url=url, query=query)
            )
        case FormInterface():
            entries = [(name, query if name == interface.query_field else value) for name, value in interface.fields]
            if interface.query_field not in dict(interface.fields):
                entries.append((interface.query_field, query))
            return form_data.form_request(
                interface.method,
                interface.url,
                entries,
                charset=interface.charset,
                enctype=interface.enctype,
                query=query,
            )


def _is_token(field: Field) -> bool:
    return field.type == "hidden" and bool(
        TOKEN_NAME.search(field.name) or TOKEN_VALUE.fullmatch("".join(field.preset))
    )
