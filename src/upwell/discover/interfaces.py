"""Make search interfaces from the forms and declarations of a page, and fill queries into requests as a browser would send them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote, urldefrag, urlsplit

from upwell.discover import declared, forms
from upwell.discover.form_filters import filters_of
from upwell.lexicon.phrases import SEARCH_WORDS
from upwell.page import form_encoding as form_data
from upwell.page.tree import TagTree
from upwell.types import (
    AddressInterface,
    Field,
    Form,
    FormInterface,
    IndexInterface,
    JsonInterface,
    LinkContext,
    ListInterface,
    Request,
    SearchInterface,
    TypedInterface,
)
from upwell.urls.request_values import Place, Scalar, name_of, values, with_value

__all__ = [
    "are_informative",
    "fill",
    "find",
    "from_form",
    "of_chosen_form",
    "same_interface",
    "settings",
    "text_fields",
    "with_tokens_of",
]

# Hidden fields with a token that expires, recognized by name or by a value that looks random.
TOKEN_NAME = re.compile(
    r"token|csrf|xsrf|nonce|authenticity|viewstate|eventvalidation|form_?build_?id|session|sessid", re.I
)
TOKEN_VALUE = re.compile(r"(?=.*\d)(?=.*[a-z])[0-9a-z+/=_-]{20,}", re.I)
MIN_DISTINCT_SHARE = 0.25  # share of distinct answers from which a form is informative (Madhavan et al. 2008 §4)
NAMING_KEYS = ("name", "field", "key", "id")  # members of a JSON object whose text names the value beside them
FREE_TEXT_TYPES = ("text", "search")


def find(tree: TagTree) -> tuple[SearchInterface, ...]:
    """Return the search interfaces of a page, best first: those it declares, then its search forms by score."""
    offered: list[SearchInterface] = list(declared.search_actions(tree))
    requests = {fill(interface, "query") for interface in offered}
    for form in sorted(forms.find(tree), key=lambda form: -form.score):
        interface = from_form(form, tree) if forms.may_be_sent(form) else None
        if interface is not None and (request := fill(interface, "query")) not in requests:
            offered.append(interface)
            requests.add(request)
    return tuple(offered)


def same_interface(interface: SearchInterface, other: SearchInterface | None) -> bool:
    """Return True if two interfaces are equal except for the values of their tokens."""
    return other is not None and _without_tokens(interface) == _without_tokens(other)


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
        case TypedInterface() | IndexInterface() | ListInterface():
            return type(interface), url


def from_form(form: Form, tree: TagTree, field: str = "", *, everything_chosen: bool = False) -> FormInterface | None:
    """Return a search form as an interface: presets kept, required fields chosen, the query field empty, the first submit button clicked.

    `field` names another text field for the query. With `everything_chosen`, selects and groups of checkboxes in which nothing is chosen
    are set to all their values. A form without a text field for words (the ends of a range take none) is queried through the select (or
    radio buttons) with the most values (Entity §3: 3 % of sites); None if nothing can be varied.
    """
    in_ranges = {end for each in filters_of(form, tree) if each.kind != "choice" for end in each.names}
    name = field or ("" if form.query_field in in_ranges else form.query_field) or ""
    choices: tuple[str, ...] = ()
    if not name:
        name, choices = max(settings(form), key=lambda setting: len(setting[1]), default=("", ()))
        if not name:
            return None
    fields = _with_query_field(form_data.choose_required(tree, form.fields), name)
    if everything_chosen:
        fields = form_data.choose_everything(tree, fields)
    return FormInterface(
        filters=filters_of(form, tree, "" if choices else name),
        method=form.method,
        url=form.action,
        query_field=name,
        fields=form_data.entry_list(fields, forms.search_button(fields), form.charset),
        charset=form.charset,
        score=form.score,
        via="form",
        page=tree.url,
        tokens=tuple(dict.fromkeys(field.name for field in form.fields if _is_token(field))),
        choices=choices,
        enctype=form.enctype,
        min_chars=max((field.min_chars for field in form.fields if field.name == name), default=0),
    )


def of_chosen_form(form: Form, tree: TagTree) -> FormInterface | None:
    """Return a form that the user chose as an interface, whatever its kind."""
    field = form.query_field or next(iter(text_fields(form)), "")
    return from_form(form, tree, field)


def _with_query_field(fields: Iterable[Field], name: str) -> list[Field]:
    """Return the fields of a form with the first visible field of this name emptied for the query."""
    emptied: list[Field] = []
    is_emptied = False
    for field in fields:
        if field.name == name and field.type not in ("hidden", "submit", "image"):
            if not is_emptied:
                field, is_emptied = replace(field, preset=("",)), True
            elif field.type == "radio":
                field = replace(field, preset=())
        emptied.append(field)
    return emptied


def _is_token(field: Field) -> bool:
    return field.type == "hidden" and bool(
        TOKEN_NAME.search(field.name) or TOKEN_VALUE.fullmatch("".join(field.preset))
    )


def settings(form: Form) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names of selects and radio buttons with their values, if they have several."""
    values_of: dict[str, tuple[str, ...]] = {}
    for field in form.fields:
        if field.type == "select" and field.name and len(field.choices) > 1:
            values_of[field.name] = tuple(dict.fromkeys(field.choices))
        elif field.type == "radio" and field.name:
            values_of[field.name] = (*values_of.get(field.name, ()), *field.choices)
    return tuple((name, values) for name, values in values_of.items() if len(values) > 1)


def text_fields(form: Form) -> tuple[str, ...]:
    """Return the names of free-text fields, the likeliest query field first."""
    names = [field.name for field in form.fields if field.type in FREE_TEXT_TYPES and field.name]
    first = [form.query_field] if form.query_field in names else []
    return tuple(dict.fromkeys([*first, *names]))


def are_informative(signatures: Iterable[object]) -> bool:
    """Return True if the answers to different values of a form are distinct enough (Madhavan et al. 2008 §4).

    >>> are_informative(["a", "b", "a", "c"]), are_informative(["same"] * 10)
    (True, False)
    """
    answers = list(signatures)
    return len(set(answers)) > 1 and len(set(answers)) / len(answers) >= MIN_DISTINCT_SHARE


def with_tokens_of(tree: TagTree, interface: FormInterface) -> FormInterface | None:
    """Return the interface with the tokens of another page of the site; None if that page does not have the form."""
    for form in forms.find(tree):
        same_form = from_form(form, tree, interface.query_field) if form.method == interface.method else None
        if same_form is None or urlsplit(same_form.url).path != urlsplit(interface.url).path:
            continue
        value_of = dict(same_form.fields)
        if interface.query_field in value_of and all(name in value_of for name in interface.tokens):
            fields = tuple((n, value_of[n] if n in interface.tokens else value) for n, value in interface.fields)
            return replace(interface, fields=fields)
    return None


def fill(interface: SearchInterface, query: str) -> Request:
    """Return the request that sends a query to an interface.

    >>> form = FormInterface(method="GET", url="http://x/find?old=1", query_field="q", fields=(("q", ""), ("n", "20")))
    >>> fill(form, "two words").url
    'http://x/find?q=two+words&n=20'
    >>> fill(AddressInterface(url="http://x/find/{query}"), "two words").url
    'http://x/find/two%20words'
    """
    # its address or button said so when it was found, or the user named it; or the name of the value with the query says so
    is_named = _names_a_search(interface)
    is_typed = is_named and interface.via == "browser"
    is_search = interface.via == "form" or is_named
    query_fields = (interface.query_field,) if interface.query_field else None
    context = LinkContext(is_search=is_search, is_typed=is_typed, query_fields=query_fields)
    return replace(_filled(interface, query), headers=interface.headers, context=context)


def _names_a_search(interface: SearchInterface) -> bool:
    """Return True if the value of a JSON body with the query has a name about searching, as a key or beside it.

    Examples: `{"searchTerm": "{query}"}`, and `{"name": "q", "value": "{query}"}`.
    """
    if not isinstance(interface, JsonInterface):
        return False
    template = Request(url=interface.url, method="POST", body=interface.body.encode())
    by_place = dict(values(template))
    places = [place for place, value in by_place.items() if isinstance(value, str) and "{query}" in value]
    names = [(name_of(place), *_names_beside(by_place, place)) for place in places]
    return bool(names) and all(any(name == "q" or SEARCH_WORDS.search(name) for name in found) for found in names)


def _names_beside(by_place: Mapping[Place, Scalar], place: Place) -> list[str]:
    """Return the texts that name a value in the same JSON object."""
    siblings = (by_place.get((*place[:-1], f".{key}")) for key in NAMING_KEYS)
    return [text for text in siblings if isinstance(text, str) and "{query}" not in text]


def _filled(interface: SearchInterface, query: str) -> Request:
    match interface:
        case IndexInterface() | ListInterface():
            return Request(url=interface.url, reuses=True)
        case TypedInterface():
            return Request(url=interface.url, query=query)
        case JsonInterface():
            body, content_type = interface.body.encode(), interface.content_type
            return _with_query(
                Request(url=interface.url, method="POST", body=body, content_type=content_type, query=query)
            )
        case AddressInterface():
            url = interface.url
            if not interface.rendered:  # only a browser uses the fragment
                url = urldefrag(url)[0]
            if interface.method == "POST":
                return _with_query(form_data.form_request("POST", url, interface.fields, query=query))
            return _with_query(Request(url=url, query=query))
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


def _with_query(template: Request) -> Request:
    """Return a request with its query in place of each {query}, written as the values around it are: in JSON, encoded, or both."""
    query = template.query
    request = template
    for place, value in list(values(template)):
        is_plain = place[0] == "path" or (place[0] == "argument" and len(place) == 3)  # the rest stays as it is written
        if isinstance(value, str) and "{query}" in value and not is_plain:
            request = with_value(request, place, value.replace("{query}", query))
    return replace(request, url=request.url.replace("{query}", quote(query, safe="")))
