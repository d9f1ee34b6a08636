"""The request that a filled search form sends, exactly as a browser would send it."""

import re
from urllib.parse import quote_plus, urldefrag, urlsplit, urlunsplit

from upwell.model import Form, Request, Template
from upwell.page.tree import TagTree
from upwell.site import forms

__all__ = ["fill", "find", "of_form"]


def find(tree: TagTree) -> tuple[Template, ...]:
    """Every way to ask that the page itself offers, best first."""
    found = [of_form(form, tree) for form in forms.find(tree) if form.kind == "search" and form.query_field]
    return tuple(sorted(found, key=lambda template: -template.score))


def of_form(form: Form, tree: TagTree) -> Template:
    """A search form as a template: defaults kept, the query field empty, the first named submit button pressed."""
    fields: list[tuple[str, str]] = []
    for field in form.fields:
        if field.name == form.query_field and ("", "") not in fields and field.type not in ("hidden", "select"):
            fields.append((field.name, ""))
        elif field.value is not None and field.name:
            fields.append((field.name, field.value))
    row = int(tree.rows("form")[form.index])
    charset = (tree.attr(row, "accept-charset") or "").split(",")[0].split()
    return Template(
        method=form.method,
        url=form.action,
        query_field=form.query_field or "",
        fields=tuple(fields),
        charset=charset[0].lower() if charset else _page_charset(tree),
        score=form.score,
        via="form",
    )


def fill(template: Template, query: str) -> Request:
    """The request for a query; what the form's charset cannot write becomes a character reference, as in a browser.

    >>> fill(Template(method="GET", url="http://x/find?old=1", query_field="q", fields=(("q", ""), ("n", "20"))), "two words")
    Request(url='http://x/find?q=two+words&n=20', method='GET', body=b'', content_type='')
    """
    pairs = [(name, query if name == template.query_field else value) for name, value in template.fields]
    if template.query_field not in dict(template.fields):
        pairs.append((template.query_field, query))
    encoded = "&".join(f"{_encode(name, template.charset)}={_encode(value, template.charset)}" for name, value in pairs)
    target = urldefrag(template.url)[0]
    if template.method == "POST":
        return Request(
            url=target, method="POST", body=encoded.encode("ascii"), content_type="application/x-www-form-urlencoded"
        )
    return Request(url=urlunsplit(urlsplit(target)._replace(query=encoded)))


def _encode(text: str, charset: str) -> str:
    """application/x-www-form-urlencoded (URL standard §5.2): newlines as CRLF, space as plus, `*-._` left alone."""
    newlines = re.sub(r"\r\n|\r|\n", "\r\n", text)
    return quote_plus(newlines.encode(charset, "xmlcharrefreplace"), safe="*").replace("~", "%7E")


def _page_charset(tree: TagTree) -> str:
    """A form without accept-charset is sent in the page's own encoding, UTF-16 and pure ASCII pages in UTF-8 and windows-1252."""
    if tree.charset in ("str", "binary") or tree.charset.startswith("utf"):
        return "utf-8"
    return "windows-1252" if tree.charset == "ascii" else tree.charset
