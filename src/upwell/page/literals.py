"""Data that a response carries, as plain values: JSON, CSV, and what stands as a literal in a script, in the scripts of a page, or in XML."""

import csv
import html
import io
import json
import re
from collections import Counter
from collections.abc import Iterator

from upwell.page.packed import unpacked, unpacked_text

__all__ = ["values_in"]

MIN_CHARS = 200  # of a literal that is looked at; shorter ones hold no list of records
MIN_ELEMENTS = 3  # alike, that make a list of an XML document
MAX_NAMES_CHARS = 5000  # of the first line of a table
COLUMN_NAME = re.compile(r"[\w .:#/%()-]{1,80}")  # in the first line of a table
SCRIPT = re.compile(r"<script\b[^>]*>(.*?)</script\s*>", re.I | re.S)
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
# Where a literal of a script can begin: a value that is assigned, handed over, returned or exported.
BEGINNING = re.compile(r"""(?:^|[=(]|\breturn\b|\bdefault\b)\s*(?=[\[{'"`])""")
TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)"""
    r"""|(?P<number>-?\d[\w.+-]*|-?\.\d+)|(?P<name>[A-Za-z_$][\w$]*|![01])|(?P<sign>[\[\]{},:]))""",
    re.S,
)
ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2})|(\r?\n)|(.))", re.I | re.S)
PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
NAMED_VALUES = {"true": "true", "false": "false", "null": "null", "undefined": "null", "!0": "true", "!1": "false"}


def values_in(body: bytes | str) -> Iterator[object]:
    """The values that a response carries, in the order in which they stand there.

    >>> list(values_in('[{"a": 1}]')), next(values_in("var store = [{name: 'Lima, " + "x" * 200 + "'}];"))[0]["name"][:4]
    ([[{'a': 1}]], 'Lima')
    """
    text = (body if isinstance(body, str) else unpacked(body).decode("utf-8", "replace")).lstrip("\ufeff \t\r\n")
    if text[:1] in ("{", "["):
        try:
            yield json.loads(text)
            return
        except (ValueError, RecursionError):
            pass  # it may be a script
    if (table := _of_csv(text)) is not None:
        yield table
    elif not text.startswith("<"):
        yield from _of_script(text)
    elif re.match(r"<(?:!doctype html|html|!--)", text, re.I) or SCRIPT.search(text):
        for script in SCRIPT.findall(text):
            if len(script) >= MIN_CHARS:
                yield from values_in(script)
    else:
        yield from _of_xml(text)


def _of_csv(text: str) -> list[dict[str, str]] | None:
    """The rows of a table in which values are parted by signs (RFC 4180), by the names in its first line; None where it is none.

    >>> _of_csv("id;name\\n1;Lima\\n2;'a'\\n3;Bern")[1], _of_csv("a, b\\rc")
    ({'id': '2', 'name': "'a'"}, None)
    """
    first = text[:MAX_NAMES_CHARS].splitlines()[:1]
    sign = max(",;\t", key=first[0].count) if first else ","
    try:
        names = next(csv.reader(first, delimiter=sign), [])
        if len(names) < MIN_ELEMENTS - 1 or len(set(names)) < len(names) or not all(map(COLUMN_NAME.fullmatch, names)):
            return None
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign) if row][1:]
    except csv.Error:  # a value is too long, or it is no table
        return None
    is_table = len(rows) >= MIN_ELEMENTS and all(len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if is_table else None


def _of_script(text: str) -> Iterator[object]:
    """The literals of a script that are long enough; text that is a literal itself and holds JSON, compressed or not, counts as this JSON."""
    decoder, at = json.JSONDecoder(strict=False), 0
    while (found := BEGINNING.search(text, at)) is not None:
        start, at = found.end(), found.end() + 1
        value, end = None, start
        if text[start] in "[{":
            try:
                value, end = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                value, end = _read_literal(text, start)
        elif (token := TOKEN.match(text, start)) is not None and token["string"]:
            inner = _unescaped(token["string"][1:-1]).lstrip() if len(token["string"]) >= MIN_CHARS else ""
            inner = unpacked_text(inner) or inner
            end = token.end()
            if inner[:1] in ("{", "["):
                try:
                    value = json.loads(inner, strict=False)
                except (ValueError, RecursionError):
                    value = None
        if value is not None and end - start >= MIN_CHARS:
            yield value
        at = max(at, end)


def _read_literal(text: str, start: int) -> tuple[object, int]:
    """An object or array as JavaScript writes it, with names and texts in any quotes, and where it ends; None where it is no literal."""
    written: list[str] = []
    depth, at = 0, start
    while (token := TOKEN.match(text, at)) is not None:
        at = token.end()
        if token["string"]:
            written.append(json.dumps(_unescaped(token["string"][1:-1])))
        elif token["number"] or token["name"]:
            word = token["number"] or token["name"]
            is_key = text[at : at + 20].lstrip().startswith(":")
            if not is_key and token["name"] and word not in NAMED_VALUES:
                return None, start + 1
            written.append(json.dumps(word) if is_key else NAMED_VALUES.get(word, word))
        else:
            sign = token["sign"]
            if sign in "]}" and written[-1:] == [","]:
                written.pop()
            written.append(sign)
            depth += (sign in "[{") - (sign in "]}")
            if depth == 0:
                break
    try:
        return (json.loads("".join(written)), at) if depth == 0 and written else (None, start + 1)
    except (ValueError, RecursionError):
        return None, start + 1


def _unescaped(text: str) -> str:
    """The text of a JavaScript literal."""
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return "" if match[4] else PLAIN_ESCAPES.get(match[5], match[5])

    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _of_xml(text: str) -> Iterator[object]:
    """The elements of an XML document that repeat, as objects; read without a parser that would know entities or document types."""
    parts: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        parts.append(match[1])
        return f"\ue000{len(parts) - 1}\ue001"

    bare = CDATA.sub(put_aside, text)
    names = Counter(re.findall(r"<([A-Za-z][\w:.-]*)[\s>]", bare))
    found: list[list[dict[str, str]]] = []
    for name, count in names.items():
        if count >= MIN_ELEMENTS:
            blocks = re.findall(rf"<{re.escape(name)}(?:\s[^>]*)?>(.*?)</{re.escape(name)}\s*>", bare, re.S)
            rows = [_of_element(block, parts) for block in blocks]
            found.append([row for row in rows if len(row) > 1])
    if any(found):
        yield max(found, key=len)


def _of_element(block: str, parts: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, target in re.findall(r"""<([\w:.-]+)\s[^>]*?\bhref=["']([^"']*)["'][^>]*>""", block):
        fields.setdefault(name, html.unescape(target))
    for name, text in re.findall(r"<([\w:.-]+)(?:\s[^>]*)?>([^<]*)</\1\s*>", block):
        plain = html.unescape(text.strip()) if "\ue000" not in text else text.strip()
        value = re.sub("\ue000(\\d+)\ue001", lambda match: parts[int(match[1])], plain)
        if value:
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields
