"""Pagers that are no links: submit buttons, links that a script turns into a form, and the request behind "load more"."""

import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urldefrag, urlsplit

from upwell.answers.pager import PLAIN_NUMBER, NextPage, following_number
from upwell.answers.phrases import ARROW, MORE, MORE_RESULTS, NEXT, PREVIOUS
from upwell.page.tree import TagTree

__all__ = ["load_more", "next_button"]

Pairs = tuple[tuple[str, str], ...]
NOT_SENT = frozenset(("submit", "image", "reset", "button", "file"))
# What a script does when a pager link is clicked: ASP.NET's event, or a field that is set before the form is sent.
BACK = re.compile(rf"(?:{PREVIOUS.pattern}|\s*[←«‹<◀◄❮⟨|]+\s*)$", re.I)
EVENT = re.compile(r"__doPostBack\(\s*['\"]([^'\"]*)['\"]\s*,\s*['\"]([^'\"]*)['\"]")
SETS = re.compile(r"([\w$:-]+)(?:['\"]\])?\.value\s*=\s*['\"]?([\w$-]+)['\"]?")
REQUEST = re.compile(
    r"(?:data|hx|ng|v|up)?-?(?:next|load|more|ajax|remote|fetch|get|page)?-?(?:url|href|src|get|link|next|action|endpoint)"
)
ENDLESS = re.compile(
    r"load[-_]?more|show[-_]?more|more[-_]?(?:results|button|btn)|infinite|next[-_]?page|view[-_]?more", re.I
)
ON_SIGHT = re.compile(r"revealed|intersect", re.I)


def next_button(tree: TagTree, query: str = "") -> NextPage | None:
    """What a browser would send when the button or scripted link for the next page is pressed; with the query in it, where that is known."""
    for form in map(int, tree.rows("form")):
        inside = range(form, int(tree.end[form]))
        if any(tree.name(i) == "input" and _type(tree, i) == "password" for i in inside):
            continue
        pressed = _pressed(tree, form)
        step = _sent(tree, form, pressed) if pressed is not None else None
        if step is not None and (
            not query or query.strip().lower() in " ".join([step.url, *(v for _, v in step.fields)]).lower()
        ):
            return step
    return _scripted(tree)


def _type(tree: TagTree, row: int) -> str:
    return (tree.attr(row, "type") or ("submit" if tree.name(row) == "button" else "text")).lower()


def _label(tree: TagTree, row: int) -> str:
    said = tree.text(row) if tree.name(row) != "input" else tree.attr(row, "value") or tree.attr(row, "alt") or ""
    return " ".join(said.split()) or (tree.attr(row, "title") or tree.attr(row, "aria-label") or "").strip()


def _says_next(text: str) -> bool:
    return bool(text) and bool(NEXT.fullmatch(text) or ARROW.fullmatch(text) or MORE_RESULTS.fullmatch(text))


def _pressed(tree: TagTree, form: int) -> int | None:
    """The button of a form that leads on: it says so, or has the number after that of the page shown."""
    buttons = [
        row
        for row in range(form, int(tree.end[form]))
        if tree.name(row) in ("input", "button") and _type(tree, row) in ("submit", "image")
    ]
    able = [row for row in buttons if tree.attr(row, "disabled") is None]
    beside = any(BACK.match(text) or PLAIN_NUMBER.fullmatch(text) for row in buttons if (text := _label(tree, row)))
    for row in able:
        text, named = _label(tree, row), f"{tree.attr(row, 'name') or ''} {tree.attr(row, 'class') or ''}"
        # an arrow alone may be any "go": it is a pager's where there is a way back or a number beside it, or its name says so
        if _says_next(text) and (not ARROW.fullmatch(text) or beside or "next" in named.lower()):
            return row
    numbered = {int(n[1]): row for row in able if (n := re.fullmatch(r"\D*(\d{1,4})\D*", _label(tree, row)))}
    off = [
        int(n[1]) for row in buttons if row not in able and (n := re.fullmatch(r"\D*(\d{1,4})\D*", _label(tree, row)))
    ]
    after = [n + 1 for n in off if n + 1 in numbered] or [2] * (
        not off and 1 not in numbered and {2, 3} <= set(numbered)
    )
    return numbered[after[0]] if after else None


def _sent(tree: TagTree, form: int, button: int | None, changed: dict[str, str] | None = None) -> NextPage:
    """What a form sends untouched, with the button that was pressed and the fields that a script changed."""
    changed = changed or {}
    fields = [(name, changed.pop(name, value)) for name, value in _untouched(tree, form)]
    fields += changed.items()
    said = {
        name: (tree.attr(button, f"form{name}") if button is not None else None) or tree.attr(form, name) or ""
        for name in ("action", "method")
    }
    if button is not None and (name := tree.attr(button, "name")):
        if _type(tree, button) == "image":
            fields += [(f"{name}.x", "0"), (f"{name}.y", "0")]
        else:
            fields.append((name, tree.attr(button, "value") or ""))
    method: Literal["GET", "POST"] = "POST" if said["method"].strip().lower() == "post" else "GET"
    return NextPage(
        method=method, url=tree.resolve(said["action"] or tree.url) or tree.url, fields=tuple(fields), via="button"
    )


def _untouched(tree: TagTree, form: int) -> Iterator[tuple[str, str]]:
    """The fields that a browser sends of a form that nobody touched (HTML standard §4.10.22.4), without its buttons."""
    for row in range(form + 1, int(tree.end[form])):
        kind, name = tree.name(row), tree.attr(row, "name")
        if not name or kind not in ("input", "select", "textarea") or tree.attr(row, "disabled") is not None:
            continue
        if kind == "textarea":
            yield name, tree.text(row)
        elif kind == "select":
            options = [i for i in range(row + 1, int(tree.end[row])) if tree.name(i) == "option"]
            chosen = [i for i in options if tree.attr(i, "selected") is not None]
            if not chosen and tree.attr(row, "multiple") is None:
                chosen = options[:1]
            for i in chosen if tree.attr(row, "multiple") is not None else chosen[-1:]:
                said = tree.attr(i, "value")
                yield name, said if said is not None else " ".join(tree.text(i).split())
        elif _type(tree, row) in ("checkbox", "radio"):
            if tree.attr(row, "checked") is not None:
                yield name, tree.attr(row, "value") or "on"
        elif _type(tree, row) not in NOT_SENT:
            yield name, tree.attr(row, "value") or ""


def _scripted(tree: TagTree) -> NextPage | None:
    """A pager link whose script only fills in a form and sends it."""
    forms = [int(row) for row in tree.rows("form")]
    found: list[tuple[str, int, dict[str, str]]] = []
    for row in map(int, tree.rows("a", "button", "input")):
        script = f"{tree.attr(row, 'href') or ''} {tree.attr(row, 'onclick') or ''}"
        if "submit" not in script and "__doPostBack" not in script:
            continue
        event = EVENT.search(script)
        sets = (
            {"__EVENTTARGET": event[1], "__EVENTARGUMENT": event[2]}
            if event
            else {n: v for n, v in SETS.findall(script) if n != "this"}
        )
        if sets and (event or "submit" in script):
            found.append((_label(tree, row), row, sets))
    wanted = next((f for f in found if _says_next(f[0])), None)
    if wanted is None:
        numbered = following_number(
            tree, [(int(n[1]), row) for text, row, _ in found if (n := PLAIN_NUMBER.fullmatch(text)) and n[1].isdigit()]
        )
        wanted = next((f for f in found if f[1] == numbered), None)
    if wanted is None or not forms:
        return None
    _, row, sets = wanted
    around = [form for form in forms if form < row < tree.end[form]]
    named = [form for form in forms if {name for name, _ in _untouched(tree, form)} & set(sets)]
    form = (around or named or forms)[0]
    return _sent(tree, form, None, sets)


def load_more(tree: TagTree) -> NextPage | None:
    """The request behind "load more" or an endless list, where it is an ordinary address in an attribute."""
    host = (urlsplit(tree.url).hostname or "").removeprefix("www.")
    for row, attributes in tree.attributes.items():
        said = " ".join(attributes.get(name) or "" for name in ("class", "id", "rel", "aria-label"))
        on_sight = bool(ON_SIGHT.search(attributes.get("hx-trigger") or ""))
        speaks = bool(ENDLESS.search(said)) or on_sight
        if not speaks and tree.name(row) in ("a", "button", "div", "span") and tree.chars[row] <= 40:
            text = " ".join(tree.text(row).split())
            speaks = bool(text) and bool(MORE.fullmatch(text) or NEXT.fullmatch(text))
        if not speaks:
            continue
        for name, value in attributes.items():
            if (
                not value
                or name in ("href", "src", "action")
                or not REQUEST.fullmatch(name)
                or not _like_address(value)
            ):
                continue
            url = tree.resolve(value)
            if (
                url
                and urldefrag(url)[0] != urldefrag(tree.url)[0]
                and (urlsplit(url).hostname or "").removeprefix("www.") in (host, "")
            ):
                return NextPage(url=urldefrag(url)[0], via="more")
    return None


def _like_address(value: str) -> bool:
    return (
        value.startswith(("/", "?", "http://", "https://", "./", "../"))
        and " " not in value.strip()
        and "{" not in value
    )
