"""Find collections of similar objects in data: JSON, CSV, XML and literals of scripts.

`values_in` parses a response into plain values, `collections_in` finds the collections in a value. A collection has one of these shapes:

list of objects        [{"title": …, "url": …}, …]
objects by key         {"0": {"title": …}, "1": {"title": …}}
parallel columns       {"names": ["a", "b"], "titles": ["A", "B"]}, as lists or as objects with the same keys
list of lists          [["a", "A"], ["b", "B"]]

Lists under the same path of several objects form one collection.
"""

import base64
import binascii
import csv
import html
import io
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from upwell.page.markup import elements, end_tags, replace_between

__all__ = ["MIN_ROWS", "Row", "collections_in", "decompress", "decompress_base64", "largest_collection", "values_in"]

# Compressed files, and base64 texts in scripts that contain compressed data.

MAX_BYTES = 52_428_800  # largest decompressed size: the limit of the sitemap protocol
GZIP_MAGIC = b"\x1f\x8b"
ANY_HEADER, NO_HEADER = 47, -15  # zlib window sizes: gzip or zlib header, or raw deflate data
BASE64 = re.compile(r"(?:data:[\w/+.;=-]*,)?([A-Za-z0-9+/_-]{100,}={0,2})")


def decompress(body: bytes) -> bytes:
    """Decompress a gzip file; return other bytes unchanged, and b"" for a broken file.

    >>> import gzip
    >>> decompress(gzip.compress(b"Lima")), decompress(b"Lima")
    (b'Lima', b'Lima')
    """
    return _inflate(body, ANY_HEADER) if body.startswith(GZIP_MAGIC) else body


def decompress_base64(text: str) -> str:
    """Decompress a base64 text; return "" if the text is not base64 or not compressed.

    >>> decompress_base64(base64.b64encode(zlib.compress(bytes(range(32, 127)) * 2)).decode())[:6], decompress_base64("Lima")
    (' !"#$%', '')
    """
    match = BASE64.fullmatch(text)
    if match is None:
        return ""
    try:
        data = base64.b64decode(match[1].rstrip("=") + "==", altchars=b"-_" if set("-_") & set(match[1]) else None)
    except binascii.Error:
        return ""
    return (_inflate(data, ANY_HEADER) or _inflate(data, NO_HEADER)).decode("utf-8", "replace")


def _inflate(data: bytes, window: int) -> bytes:
    try:
        return zlib.decompressobj(window).decompress(data, MAX_BYTES)
    except zlib.error:
        return b""


# Values of a response: JSON, CSV, XML, and the literals of scripts.

FIRST_WINDOW = 4096  # characters of a script in which the end of a JSON literal is searched first …
WINDOW_GROWTH = 16  # … and the factor by which they grow while the literal continues
LONGEST_TOKEN = 10  # characters of a JSON value or escape that the end of these characters may cut
MIN_CHARS = 200  # shortest literal that is parsed; a shorter one contains no list of records
MAX_ELEMENT_NAMES = 50  # safety limit: names of XML elements that are tried as rows, the most frequent first
MIN_ELEMENTS = 3  # rows of a CSV table, and equal elements of an XML document, that make a list
MAX_NAMES_CHARS = 5000  # longest first line of a CSV table
COLUMN_NAME = re.compile(r"[\w .:#/%()-]{1,80}")  # in the first line of a CSV table
SCRIPT = re.compile(r"<(script)\b", re.I)
# Elements of an XML document with a link or with a text; "<" is not allowed in attributes (XML 1.0 §3.1).
LINKED_ELEMENT = re.compile(r"""<([\w:.-]++)(?=\s[^<>]*+>)[^<>]*?\bhref=["']([^"'<>]*+)["']""")
TEXT_ELEMENT = re.compile(r"<([\w:.-]++)(?:\s[^<>]*+)?+>([^<]*+)</\1\s*+>")
SET_ASIDE = re.compile("\ue000(\\d{1,9})\ue001")  # place of a CDATA section
MAX_ELEMENT_NAMES = 100  # safety limit: most frequent kinds of elements of an XML document that may be its records
# Where a literal of a script can begin: after an assignment, as an argument, or as a returned or exported value.
LITERAL_START = re.compile(r"""(?:^|[=(]|\breturn\b|\bdefault\b)\s*(?=[\[{'"`])""")
TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)"""
    r"""|(?P<number>-?\d[\w.+-]*|-?\.\d+)|(?P<name>[A-Za-z_$][\w$]*|![01])|(?P<sign>[\[\]{},:]))""",
    re.S,
)
ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2})|(\r?\n)|(.))", re.I | re.S)
PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
NAMED_VALUES = {"true": "true", "false": "false", "null": "null", "undefined": "null", "!0": "true", "!1": "false"}


def values_in(body: bytes | str) -> Iterator[object]:
    """Yield the values in a response, in document order.

    >>> list(values_in('[{"a": 1}]')), next(values_in("var store = [{name: 'Lima, " + "x" * 200 + "'}];"))[0]["name"][:4]
    ([[{'a': 1}]], 'Lima')
    """
    text = (body if isinstance(body, str) else decompress(body).decode("utf-8", "replace")).lstrip("\ufeff \t\r\n")
    if text[:1] in ("{", "["):
        try:
            yield json.loads(text)
            return
        except (ValueError, RecursionError):
            pass  # may be a script
    if (table := _parse_csv(text)) is not None:
        yield table
        return
    if not text.startswith("<"):
        yield from _script_literals(text)
        return
    scripts = [script.inner for script in elements(text, SCRIPT, fold_case=True)]
    if scripts or re.match(r"<(?:!doctype html|html|!--)", text, re.I):
        for script in scripts:
            if len(script) >= MIN_CHARS:
                yield from values_in(script)
    else:
        yield from _parse_xml(text)


def _parse_csv(text: str) -> list[dict[str, str]] | None:
    """Parse delimiter-separated values (RFC 4180) into rows by column name; None if the text is not a table.

    >>> _parse_csv("id;name\\n1;Lima\\n2;'a'\\n3;Bern")[1], _parse_csv("a, b\\rc")
    ({'id': '2', 'name': "'a'"}, None)
    """
    first = text[:MAX_NAMES_CHARS].splitlines()[:1]
    delimiter = max(",;\t", key=first[0].count) if first else ","
    try:
        names = next(csv.reader(first, delimiter=delimiter), [])
        if len(names) < MIN_ELEMENTS - 1 or len(set(names)) < len(names) or not all(map(COLUMN_NAME.fullmatch, names)):
            return None
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row][1:]
    except csv.Error:  # a value is too long, or the text is not a table
        return None
    is_table = len(rows) >= MIN_ELEMENTS and all(len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if is_table else None


def _script_literals(text: str) -> Iterator[object]:
    """Yield the long literals of a script; a string literal that contains JSON, compressed or not, yields the JSON value."""
    decoder, at = json.JSONDecoder(strict=False), 0
    while (match := LITERAL_START.search(text, at)) is not None:
        start, at = match.end(), match.end() + 1
        value, end = None, start
        if text[start] in "[{":
            try:
                value, end = _read_json(decoder, text, start)
            except (ValueError, RecursionError):
                value, end = _read_literal(text, start)
        elif (token := TOKEN.match(text, start)) is not None and token["string"]:
            inner = _unescape(token["string"][1:-1]).lstrip() if len(token["string"]) >= MIN_CHARS else ""
            inner = decompress_base64(inner) or inner
            end = token.end()
            if inner[:1] in ("{", "["):
                try:
                    value = json.loads(inner, strict=False)
                except (ValueError, RecursionError):
                    value = None
        if value is not None and end - start >= MIN_CHARS:
            yield value
        at = max(at, end)


def _read_json(decoder: json.JSONDecoder, text: str, start: int) -> tuple[object, int]:
    """Parse the JSON that begins at a place of a script; return its value and its end, or raise ValueError.

    Only a part of the script is given to the decoder, because its errors count all lines before them.
    """
    size = FIRST_WINDOW
    while True:
        part = text[start : start + size]
        try:
            value, end = decoder.raw_decode(part)
        except json.JSONDecodeError as error:
            is_cut = error.pos >= len(part) - LONGEST_TOKEN or error.msg.startswith("Unterminated")
            if len(part) < size or not is_cut:
                raise
            size *= WINDOW_GROWTH
        else:
            return value, start + end


def _read_literal(text: str, start: int) -> tuple[object, int]:
    """Parse a JavaScript object or array literal; return its value (None if it is not a literal) and its end."""
    written: list[str] = []
    depth, at = 0, start
    while (token := TOKEN.match(text, at)) is not None:
        at = token.end()
        if token["string"]:
            written.append(json.dumps(_unescape(token["string"][1:-1])))
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


def _unescape(text: str) -> str:
    """Resolve the escapes of a JavaScript string literal."""
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return "" if match[4] else PLAIN_ESCAPES.get(match[5], match[5])

    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _parse_xml(text: str) -> Iterator[object]:
    """Yield the most frequent kind of repeated element as objects; regular expressions, so no entities or DTDs are expanded."""
    parts: list[str] = []

    def set_aside(inner: str) -> str:
        parts.append(inner)
        return f"\ue000{len(parts) - 1}\ue001"

    bare = replace_between(text, "<![CDATA[", "]]>", set_aside)
    names = Counter(tag[1] for tag in re.finditer(r"<([A-Za-z][\w:.-]*)[\s>]", bare))
    lists: list[list[dict[str, str]]] = []
    frequent, ends = {name for name, _ in names.most_common(MAX_ELEMENT_NAMES)}, end_tags(bare)
    for name, count in names.items():
        if count >= MIN_ELEMENTS and name in frequent:
            blocks = elements(bare, re.compile(rf"<({re.escape(name)})(?=[\s>])"), ends=ends)
            lists.append([row for block in blocks if len(row := _parse_element(block.inner, parts)) > 1])
    if any(lists):
        yield max(lists, key=len)


def _parse_element(block: str, parts: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, target in LINKED_ELEMENT.findall(block):
        fields.setdefault(name, html.unescape(target))
    for name, text in TEXT_ELEMENT.findall(block):
        plain = html.unescape(text.strip()) if "\ue000" not in text else text.strip()
        value = SET_ASIDE.sub(lambda match: "".join(parts[int(match[1]) : int(match[1]) + 1]), plain)
        if value:
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


# Collections.

Row = dict[str, str]
Path = tuple[str, ...]  # keys from the outermost value to a collection
MIN_ROWS = 10  # rows of a collection; a shorter list may be a menu; not swept
MIN_TEXT_COLUMNS = 2  # columns with letters in most rows; a list of words with their positions has only one
MIN_FILLED = 0.5  # share of rows that must have a column before the column counts; not swept
MIN_DISTINCT = 0.8  # share of distinct values in at least one column; a page and its sections may share values
MAX_DEPTH = 12  # nesting levels that are searched
ANY = "*"


def collections_in(value: object) -> list[list[Row]]:
    """Return the collections in a value, the one with the most text first.

    >>> store = {"config": {"lang": "en"}, "docs": [{"at": f"p{n}/", "title": f"Page {n}"} for n in range(12)]}
    >>> collections_in(store)[0][3]
    {'at': 'p3/', 'title': 'Page 3'}
    """
    rows_by_path: defaultdict[Path, list[object]] = defaultdict(list)
    _collect(value, (), rows_by_path)
    collections = []
    for rows in rows_by_path.values():
        if len(rows) < MIN_ROWS:
            continue
        flat = [_flatten(row) for row in rows]
        if _are_records(flat):
            collections.append(flat)
    return sorted(collections, key=_text_chars, reverse=True)


def largest_collection(body: bytes | str) -> list[Row]:
    """Return the collection with the most text in a response; [] if it contains none."""
    largest = [collection for value in values_in(body) for collection in collections_in(value)[:1]]
    return max(largest, key=_text_chars, default=[])


def _text_chars(rows: Sequence[Row]) -> int:
    return sum(len(value) for row in rows for value in row.values())


def _collect(value: object, path: Path, rows_by_path: dict[Path, list[object]]) -> None:
    if len(path) > MAX_DEPTH:
        return
    if isinstance(value, list):
        _collect_list(value, (*path, ANY), rows_by_path)
    elif isinstance(value, dict):
        inner = [part for part in value.values() if isinstance(part, dict)]
        if len(value) >= MIN_ROWS and len(inner) == len(value) and _are_similar(inner):
            are_numbers = all(name.isdigit() for name in value)
            rows = inner if are_numbers else [{"key": name, **part} for name, part in value.items()]
            rows_by_path[*path, ANY] += rows
            for part in inner:
                _collect(part, (*path, ANY), rows_by_path)
            return
        rows_by_path[path] += _rows_of_columns(value)
        for name, part in value.items():
            if isinstance(part, dict | list):
                _collect(part, (*path, name), rows_by_path)


def _collect_list(items: Sequence[object], path: Path, rows_by_path: dict[Path, list[object]]) -> None:
    objects = [item for item in items if isinstance(item, dict)]
    lists = [item for item in items if isinstance(item, list)]
    if len(objects) > len(items) / 2:
        rows_by_path[path] += objects
    elif items and len(lists) == len(items) and len({len(item) for item in lists}) == 1:
        rows_by_path[path] += [{str(n): part for n, part in enumerate(item, 1)} for item in lists]
    for item in (*objects, *lists):
        _collect(item, path, rows_by_path)


def _are_similar(objects: Sequence[Mapping[str, object]]) -> bool:
    """Return True if most keys of the objects are keys that most of the objects have."""
    names = Counter(name for part in objects for name in part)
    common = sum(n for n in names.values() if n >= MIN_FILLED * len(objects))
    return common >= names.total() / 2 > 0


def _rows_of_columns(value: Mapping[str, object]) -> list[object]:
    """Convert parallel columns (lists of one length, or objects with the same keys) to rows."""
    lists: defaultdict[int, dict[str, list[object]]] = defaultdict(dict)
    keyed: defaultdict[frozenset[str], dict[str, Mapping[str, object]]] = defaultdict(dict)
    for name, part in value.items():
        if isinstance(part, list) and len(part) >= MIN_ROWS and all(isinstance(item, str | None) for item in part):
            lists[len(part)][name] = part
        elif isinstance(part, dict) and len(part) >= MIN_ROWS:
            keyed[frozenset(part)][name] = part
    rows: list[object] = []
    for columns in lists.values():
        if len(columns) > 1:
            rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for parts in keyed.values():
        if len(parts) > 1:
            names = next(iter(parts.values()))
            rows += [{column: part[name] for column, part in parts.items()} for name in names]
    return rows


def _flatten(row: object, prefix: str = "", depth: int = 0) -> Row:
    """Flatten an object to texts by key; keys of a nested object are prefixed with its key."""
    if not isinstance(row, dict) or depth > 2:
        return {}
    texts: Row = {}
    for name, value in row.items():
        if isinstance(value, dict):
            texts |= _flatten(value, f"{prefix}{name}_", depth + 1)
        elif isinstance(value, list):
            parts = [str(item) for item in value if isinstance(item, str | int | float)]
            if parts and len(parts) == len(value):
                texts[prefix + str(name)] = ", ".join(parts)
        elif isinstance(value, bool):
            texts[prefix + str(name)] = str(value).lower()
        elif value is not None and str(value).strip():
            texts[prefix + str(name)] = str(value).strip()
    return texts


def _are_records(rows: Sequence[Row]) -> bool:
    """Return True if rows have several text columns, one of which is nearly unique."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            columns[name].append(value)
    texts = [values for values in columns.values() if _has_letters(values, len(rows))]
    return len(texts) >= MIN_TEXT_COLUMNS and any(len(set(values)) >= MIN_DISTINCT * len(rows) for values in texts)


def _has_letters(values: Iterable[str], rows: int) -> bool:
    return sum(any(character.isalpha() for character in value[:200]) for value in values) >= MIN_FILLED * rows
