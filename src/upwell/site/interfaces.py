"""The request that a filled search form sends, exactly as a browser would send it."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, quote_plus, urldefrag, urlsplit, urlunsplit

from upwell.model import AddressInterface, Field, Form, FormInterface, JsonInterface, Request, SearchInterface
from upwell.page.tree import TagTree
from upwell.site import declared, forms

__all__ = ["fill", "find", "informative", "of_form", "refresh", "same_interface", "same_request", "settings", "texts"]

BOUNDARY = "----UpwellFormBoundary7MA4YWxkTrZu0gW"  # any text that no field holds (RFC 7578 §4.1)
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
    row = int(tree.rows("form")[form.index])
    said = (tree.attr(row, "accept-charset") or "").split(",")[0].split()
    charset = said[0].lower() if said and _known(said[0]) else _page_charset(tree)
    return FormInterface(
        method=form.method,
        url=form.action,
        query_field=name,
        fields=_sent(form, name, charset),
        charset=charset,
        score=form.score,
        via="form",
        page=tree.url,
        tokens=tuple(dict.fromkeys(f.name for f in form.fields if _is_token(f))),
        choices=choices,
        enctype=form.enctype,
    )


def _sent(form: Form, query_field: str, charset: str) -> tuple[tuple[str, str], ...]:
    """Names and values in the order of the document (HTML standard §4.10.22.4, "constructing the entry list")."""
    pairs: list[tuple[str, str]] = []
    pressed = asked = False
    for field in form.fields:
        if field.type in ("submit", "image"):
            if field.values and not pressed:
                pressed = True
                if field.type == "image":
                    prefix = f"{field.name}." if field.name else ""
                    pairs += [(f"{prefix}x", "0"), (f"{prefix}y", "0")]
                elif field.name:
                    pairs.append((field.name, field.values[0]))
        elif field.name == query_field and not asked and field.type != "hidden":
            asked = True
            pairs.append((field.name, ""))
        elif field.name == query_field and asked and field.type == "radio":
            continue
        elif field.name == "_charset_" and field.type == "hidden":
            pairs.append((field.name, charset.upper()))
        elif field.value is not None and field.name:
            pairs.append((field.name, field.value))
    return tuple(pairs)


def settings(form: Form) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What can be set besides text: selects and radios with their values (an empty one means "any"), checkboxes left out."""
    found: dict[str, tuple[str, ...]] = {}
    for field in form.fields:
        if field.type == "select" and field.name and len(field.values) > 1:
            found[field.name] = tuple(dict.fromkeys(field.values))
        elif field.type == "radio" and field.name:
            found[field.name] = (*found.get(field.name, ()), *field.values)
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
    target = urldefrag(interface.url)[0]
    match interface:
        case JsonInterface():
            text = interface.body.replace("{query}", json.dumps(query)[1:-1])
            return Request(
                url=interface.url, method="POST", body=text.encode(), content_type="application/json", query=query
            )
        case AddressInterface():
            target, charset, enctype = target.replace("{query}", quote(query, safe="")), "utf-8", ""
            pairs = list(interface.fields)
        case FormInterface():
            charset, enctype = interface.charset, interface.enctype
            pairs = [(name, query if name == interface.query_field else value) for name, value in interface.fields]
            if interface.query_field not in dict(interface.fields):
                pairs.append((interface.query_field, query))
    if interface.method == "POST":
        body, kind = _body(pairs, charset, enctype)
        return Request(url=target, method="POST", body=body, content_type=kind, query=query)
    if isinstance(interface, FormInterface):
        target = urlunsplit(urlsplit(target)._replace(query=_urlencoded(pairs, charset)))
    return Request(url=target, query=query)


def _body(pairs: list[tuple[str, str]], charset: str, enctype: str) -> tuple[bytes, str]:
    """What a POST carries and its content type (HTML standard §4.10.22.7 and §4.10.22.8)."""
    if enctype == "multipart/form-data":
        pieces = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n{_crlf(value)}\r\n'
            for name, value in pairs
        ]
        text = "".join(pieces) + f"--{BOUNDARY}--\r\n"
        return text.encode(charset, "xmlcharrefreplace"), f"multipart/form-data; boundary={BOUNDARY}"
    if enctype == "text/plain":
        text = "".join(f"{_crlf(name)}={_crlf(value)}\r\n" for name, value in pairs)
        return text.encode(charset, "xmlcharrefreplace"), "text/plain"
    return _urlencoded(pairs, charset).encode("ascii"), "application/x-www-form-urlencoded"


def _urlencoded(pairs: list[tuple[str, str]], charset: str) -> str:
    return "&".join(f"{_encode(name, charset)}={_encode(value, charset)}" for name, value in pairs)


def _encode(text: str, charset: str) -> str:
    """application/x-www-form-urlencoded (URL standard §5.2): newlines as CRLF, space as plus, `*-._` left alone."""
    return quote_plus(_crlf(text).encode(charset, "xmlcharrefreplace"), safe="*").replace("~", "%7E")


def _crlf(text: str) -> str:
    return re.sub(r"\r\n|\r|\n", "\r\n", text)


def _quoted(name: str) -> str:
    return _crlf(name).replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _is_token(field: Field) -> bool:
    return field.type == "hidden" and bool(TOKEN_NAME.search(field.name) or TOKEN_VALUE.fullmatch(field.value or ""))


def _known(charset: str) -> bool:
    try:
        "".encode(charset)
    except LookupError:
        return False
    return True


def _page_charset(tree: TagTree) -> str:
    """A form without accept-charset is sent in the page's own encoding, UTF-16 and pure ASCII pages in UTF-8 and windows-1252."""
    if tree.charset in ("str", "binary") or tree.charset.startswith("utf"):
        return "utf-8"
    return "windows-1252" if tree.charset == "ascii" else tree.charset
