"""Read HTML forms and encode them as a browser does: controls, entry list, request.

control      input, select, textarea or button; belongs to at most one form
entry list   names and values that a form sends, in document order (HTML standard §4.10.22.4)
button       submit button that is pressed; it sends its own value and may override the target of the form
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal
from urllib.parse import quote_plus, unquote, urldefrag, urlsplit, urlunsplit

import numpy as np
from w3lib.encoding import resolve_encoding

from upwell.lexicon.phrases import SEARCH_WORDS
from upwell.page.charset import is_unicode
from upwell.page.tree import TagTree
from upwell.types import Field, LinkContext, Request
from upwell.urls.acting import acting_evidence, acting_hits

__all__ = [
    "BUTTON_TYPES",
    "button_label",
    "choose_everything",
    "choose_required",
    "control_type",
    "controls",
    "default_button",
    "entry_list",
    "form_charset",
    "form_context",
    "form_request",
    "form_target",
    "is_disabled",
    "read_fields",
    "text_around_controls",
]

Entry = tuple[str, str]  # name, value
INPUT_TYPES = (
    "text", "search", "url", "tel", "email", "number", "password", "hidden", "checkbox", "radio", "submit", "image", "reset",
    "button", "file", "date", "month", "week", "time", "datetime-local", "range", "color",
)  # fmt: skip
BUTTON_TYPES = ("submit", "image")
NEVER_SENT = ("submit", "button", "image", "reset", "file")  # unless a submit button is pressed
MAX_OPTIONS = 5000  # safety limit: options of a select that are read; longer lists are made to waste time
MAX_CHOSEN = 500  # safety limit: values of one field that are sent together; most servers refuse a URL with more
MAX_FORM_TEXT_CHARS = 300  # length of a form's text up to which acting words in it count
MAX_LABEL_CHARS = 500  # characters of a label that are read
BOUNDARY = "----UpwellFormBoundary7MA4YWxkTrZu0gW"  # any text that occurs in no field (RFC 7578 §4.1)


def controls(tree: TagTree, form: int) -> Iterator[int]:
    """Yield the rows of the controls that belong to a form: inside it, or anywhere with its id in their `form` attribute.

    The parser empties a form that begins between table rows, though its controls still belong to it (HTML standard,
    form element pointer); such a form owns the controls up to the end of the table or the next form.
    """
    by_form: dict[int, list[int]] | None = tree.__dict__.get("_controls")
    if by_form is None:  # computed once for all forms of a page
        by_form = tree.__dict__["_controls"] = _controls_by_form(tree)
    yield from by_form.get(form, ())


def _controls_by_form(tree: TagTree) -> dict[int, list[int]]:
    forms = [int(row) for row in tree.rows("form")]
    by_id = {form_id: row for row in reversed(forms) if (form_id := tree.attr(row, "id"))}
    by_form: dict[int, list[int]] = {}
    current = -1  # index of the last form that begins before the row
    end = 0  # end of that form
    for row in map(int, tree.rows("input", "select", "textarea", "button")):
        while current + 1 < len(forms) and forms[current + 1] < row:
            current += 1
            end = _form_end(tree, forms[current], forms[current + 1] if current + 1 < len(forms) else len(tree))
        owner = tree.attr(row, "form")
        form = by_id.get(owner) if owner is not None else forms[current] if current >= 0 and row < end else None
        if form is not None:
            by_form.setdefault(form, []).append(row)
    return by_form


def _form_end(tree: TagTree, form: int, next_form: int) -> int:
    """Return one past the last row that belongs to a form."""
    parent = int(tree.parent[form])
    if tree.nodes[form] == 1 and parent >= 0 and tree.name(parent) in ("table", "tbody", "tr"):
        table = next((row for row in tree.ancestors(form) if tree.name(row) == "table"), parent)
        return min(int(tree.end[table]), next_form)
    return int(tree.end[form])


def _inside(tree: TagTree, row: int, *names: str) -> list[int]:
    """Return the rows with these tag names inside a row."""
    rows = tree.rows(*names)
    return [int(inner) for inner in rows[np.searchsorted(rows, row + 1) : np.searchsorted(rows, tree.end[row])]]


def text_around_controls(tree: TagTree, form: int, *without: str) -> str:
    """Return the visible text of a form without the options of its selects, and without elements of further names."""
    skipped = {
        i
        for row in _inside(tree, form, "select", "textarea", "datalist", *without)
        for i in range(int(tree.text_at[row]), int(tree.text_end[row]))
    }
    chunks = range(int(tree.text_at[form]), int(tree.text_end[form]))
    return " ".join(tree.chunks[i] for i in chunks if i not in skipped)


def button_label(tree: TagTree, row: int) -> str:
    """Return the visible label of a button."""
    labels = [tree.attr(row, name) or "" for name in ("value", "alt", "title", "aria-label")]
    return " ".join(filter(None, [*labels, " ".join(tree.text(row).split())]))


def control_type(tree: TagTree, row: int) -> str:
    """Return the type of a control: an unknown input type is text, a button without a type submits."""
    return _control_type(tree.name(row), tree.attr(row, "type") or "")


def _control_type(tag: str, declared: str) -> str:
    if tag == "input":
        return declared.lower() if declared.lower() in INPUT_TYPES else "text"
    if tag == "button":
        return declared.lower() if declared.lower() in ("reset", "button") else "submit"
    return tag


def is_disabled(tree: TagTree, row: int) -> bool:
    """Return True if a control is disabled, itself or by an enclosing fieldset (unless it is inside the fieldset's legend)."""
    if tree.attr(row, "disabled") is not None:
        return True
    if not len(tree.rows("fieldset")):
        return False
    in_legend = False
    for above in tree.ancestors(row):
        if tree.name(above) == "fieldset":
            if tree.attr(above, "disabled") is not None and not in_legend:
                return True
            in_legend = False
        in_legend = in_legend or tree.name(above) == "legend"
    return False


def read_fields(tree: TagTree, form: int) -> tuple[Field, ...]:
    """Return the controls of a form, each with the values that a browser sends by default."""
    labels = _labels(tree)
    fields = []
    for row in controls(tree, form):
        own = {name: value or "" for name, value in tree.attributes.get(row, {}).items()}  # all at once is faster
        kind = _control_type(tree.name(row), own.get("type", ""))
        words = [own.get(name, "") for name in ("placeholder", "title", "aria-label", "id", "class")]
        words.append(labels.get(own.get("id", ""), ""))
        if kind in ("submit", "button", "image"):
            words += [own.get("value", ""), own.get("alt", ""), tree.text(row)]
        preset, choices = ((), ()) if is_disabled(tree, row) else _values(tree, row, kind, own)
        fields.append(
            Field(
                row=row,
                name=own.get("name", ""),
                type=kind,
                preset=preset,
                choices=choices,
                words=" ".join(filter(None, words)),
                is_required=bool(preset or choices) and "required" in own,
                min_chars=int(least) if (least := own.get("minlength", "")[:9]).isdecimal() else 0,
            )
        )
    return tuple(fields)


def _labels(tree: TagTree) -> dict[str, str]:
    """Return the text of each control's label by the control's id; computed once for all forms of a page."""
    labels: dict[str, str] | None = tree.__dict__.get("_labels")
    if labels is None:
        rows = ((tree.attr(row, "for"), int(row)) for row in tree.rows("label"))
        labels = tree.__dict__["_labels"] = {target: tree.text(row)[:MAX_LABEL_CHARS] for target, row in rows if target}
    return labels


def _values(tree: TagTree, row: int, kind: str, own: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values that a control sends by default, and all its possible values (of a submit button: its own value)."""
    if kind == "select":
        return _options(tree, row)
    if kind == "textarea":
        return (tree.text(row),), ()
    if kind in BUTTON_TYPES:  # Chromium sends the default label of an input without a value
        return (), (own.get("value", "Submit" if tree.name(row) == "input" else ""),)
    if kind in NEVER_SENT:
        return (), ()
    if kind in ("checkbox", "radio"):
        choices = (own.get("value", "on"),)
        return choices if "checked" in own else (), choices
    return (own.get("value", ""),), ()


def _options(tree: TagTree, select: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values that a select sends by default (the selected ones, else the first), and all that may be chosen.

    Options that act ("Delete all") are left out.
    """
    values: list[str] = []
    acting: set[str] = set()
    selected: list[str] = []
    for row in _inside(tree, select, "option")[:MAX_OPTIONS]:
        if tree.attr(row, "disabled") is None:
            value = tree.attr(row, "value")
            label = " ".join(tree.text(int(row)).split())
            values.append(value if value is not None else label)
            if _option_acts(label):
                acting.add(values[-1])
            if tree.attr(row, "selected") is not None:
                selected.append(values[-1])
    if tree.attr(select, "multiple") is None:
        if not selected and (tree.attr(select, "size") or "1") in ("", "0", "1"):
            selected = values[:1]
        selected = selected[-1:]
    return tuple(selected), tuple(value for value in values if value not in acting)


def _option_acts(label: str) -> bool:
    """Return True if an option acts ("Delete all"); a noun alone ("book", "report") is a value."""
    request = Request(url="", context=LinkContext(label=label))
    return bool(acting_evidence(request)) and not all(hit.feature.endswith("noun") for hit in acting_hits(request))


def choose_required(tree: TagTree, fields: Sequence[Field]) -> list[Field]:
    """Choose values for required fields (HTML standard §4.10.21): the first, or all if several may be chosen.

    Required text fields are left unchanged: only the text of the query field is known.
    """
    is_open = [field.is_required and not any(field.preset) for field in fields]
    groups = {field.name for field in fields if field.type == "radio" and any(field.preset)}
    filled = []
    for field, must_be_chosen in zip(fields, is_open, strict=True):
        if must_be_chosen and field.type in ("select", "checkbox"):
            field = _chosen(tree, field)
        elif must_be_chosen and field.type == "radio" and field.name not in groups:
            groups.add(field.name)
            field = _chosen(tree, field)
        filled.append(field)
    return filled


def choose_everything(tree: TagTree, fields: Sequence[Field]) -> list[Field]:
    """Choose all values of multiple selects and checkbox groups with nothing chosen: some sources then search nothing."""
    checkboxes = Counter(field.name for field in fields if field.type == "checkbox")
    chosen = {field.name for field in fields if field.preset}
    return [
        _chosen(tree, field)
        if field.name not in chosen
        and ((field.type == "select" and tree.attr(field.row, "multiple") is not None) or checkboxes[field.name] > 1)
        else field
        for field in fields
    ]


def _chosen(tree: TagTree, field: Field) -> Field:
    values = tuple(dict.fromkeys(value for value in field.choices if value))[:MAX_CHOSEN]
    return replace(field, preset=values if tree.attr(field.row, "multiple") is not None else values[:1])


def default_button(fields: Iterable[Field]) -> Field | None:
    """Return the button that Enter in a text field presses: the first that is enabled."""
    return next((field for field in fields if field.type in BUTTON_TYPES and field.choices), None)


def form_target(tree: TagTree, form: int, button: Field | None) -> tuple[Literal["GET", "POST"], str, str]:
    """Return method, URL and encoding with which a button sends a form; the encoding is "" if it is the default."""
    target = {
        name: (tree.attr(button.row, f"form{name}") if button else None) or tree.attr(form, name) or ""
        for name in ("method", "action", "enctype")
    }
    url = tree.resolve(target["action"] or tree.url) or tree.url
    if target["method"].strip().lower() != "post":
        return "GET", url, ""
    enctype = target["enctype"].strip().lower()
    return "POST", url, enctype if enctype in ("multipart/form-data", "text/plain") else ""


def form_context(tree: TagTree, form: int, button: int | None, url: str) -> LinkContext:
    """Return what a page says about a form and the button that sends it to `url`."""
    marks = [
        tree.attr(row, name) or "" for row in (form, button) if row is not None for name in ("id", "class", "name")
    ]
    click = (tree.attr(button, "onclick") or "") if button is not None else tree.attr(form, "onsubmit") or ""
    label = " ".join((button_label(tree, button) if button is not None else "").split())
    path = urlsplit(url).path
    searches = bool(SEARCH_WORDS.search(f"{unquote(path)} {label}"))
    # beside a button that searches, other buttons and links ("Clear") are not pressed: they are requests of their own
    text = text_around_controls(tree, form, *(("a", "button") if searches else ()))
    return LinkContext(
        label=label,
        marks=tuple(filter(None, [*marks, click])),
        around=text if len(text) <= MAX_FORM_TEXT_CHARS else "",  # in a longer text the form encloses the whole page
        is_button=True,
        charset=tree.charset,
        # a page that is sent to its own address repeats the search that it shows
        is_search=searches or path == urlsplit(tree.url).path,
    )


def form_charset(tree: TagTree, form: int) -> str:
    """Return the charset in which a form is sent: its own, else that of the page (UTF-16 as UTF-8, ASCII as windows-1252)."""
    declared = (tree.attr(form, "accept-charset") or "").split(",")[0].split()
    if declared and _is_charset(declared[0]):
        return resolve_encoding(declared[0]) or declared[0].lower()
    if tree.charset == "ascii":
        return "windows-1252"
    return "utf-8" if is_unicode(tree.charset) else tree.charset


def _is_charset(name: str) -> bool:
    try:
        "".encode(name, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        return False
    return True


def entry_list(fields: Iterable[Field], button: Field | None, charset: str) -> tuple[Entry, ...]:
    """Return the names and values that a form sends when a button is pressed (HTML standard §4.10.22.4)."""
    entries: list[Entry] = []
    for field in fields:
        if field.type in BUTTON_TYPES:
            if button is None or field.row != button.row:
                continue
            if field.type == "image":
                prefix = f"{field.name}." if field.name else ""
                entries += [(f"{prefix}x", "0"), (f"{prefix}y", "0")]
            elif field.name:
                entries.append((field.name, field.choices[0]))
        elif field.name == "_charset_" and field.type == "hidden":
            entries.append((field.name, charset.upper()))
        elif field.name:
            entries += [(field.name, value) for value in field.preset]
    return tuple(entries)


def form_request(
    method: Literal["GET", "POST"],
    url: str,
    entries: Sequence[Entry],
    *,
    charset: str = "utf-8",
    enctype: str = "",
    query: str = "",
) -> Request:
    """Build the request that sends an entry list; characters outside the charset become references, as in a browser.

    >>> form_request("GET", "http://x/find?old=1", [("q", "two words"), ("n", "20")]).url
    'http://x/find?q=two+words&n=20'
    """
    target = urldefrag(url)[0]
    if method == "POST":
        body, content_type = _body(entries, charset, enctype)
        return Request(url=target, method="POST", body=body, content_type=content_type, query=query)
    return Request(url=urlunsplit(urlsplit(target)._replace(query=_urlencoded(entries, charset))), query=query)


def _body(entries: Sequence[Entry], charset: str, enctype: str) -> tuple[bytes, str]:
    """Return body and content type of a POST (HTML standard §4.10.22.7 and §4.10.22.8)."""
    if enctype == "multipart/form-data":
        parts = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n{_crlf(value)}\r\n'
            for name, value in entries
        ]
        text = "".join(parts) + f"--{BOUNDARY}--\r\n"
        return text.encode(charset, "xmlcharrefreplace"), f"multipart/form-data; boundary={BOUNDARY}"
    if enctype == "text/plain":
        text = "".join(f"{_crlf(name)}={_crlf(value)}\r\n" for name, value in entries)
        return text.encode(charset, "xmlcharrefreplace"), "text/plain"
    return _urlencoded(entries, charset).encode("ascii"), "application/x-www-form-urlencoded"


def _urlencoded(entries: Sequence[Entry], charset: str) -> str:
    return "&".join(f"{_encoded(name, charset)}={_encoded(value, charset)}" for name, value in entries)


def _encoded(text: str, charset: str) -> str:
    """Encode text as application/x-www-form-urlencoded (URL standard §5.2): newlines as CRLF, space as plus, `*-._` unchanged."""
    return quote_plus(_crlf(text).encode(charset, "xmlcharrefreplace"), safe="*").replace("~", "%7E")


def _crlf(text: str) -> str:
    return re.sub(r"\r\n|\r|\n", "\r\n", text)


def _quoted(name: str) -> str:
    return _crlf(name).replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
