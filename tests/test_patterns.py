"""Check that no regular expression of the package takes more than linear time, whatever a page contains.

A pattern that backtracks holds the interpreter lock: one page stops every harvest of the process. The patterns are collected
automatically: values of modules and classes, and pattern texts that are written in calls (`re.sub(r"…", …)`). Patterns that are built
from other values while the program runs must be named in `BUILT`, with an example.

Each pattern is applied to texts that are derived from the pattern itself: every quantified part is repeated, after a text that leads to
it, and ends with a character that fails. Time is compared with time (four times the text, at most eight times the work), never with a
clock.
"""

import ast
import importlib
import pkgutil
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as sre_parser  # type: ignore[import-not-found]
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from protego import Protego

import upwell
from upwell.answers import facets
from upwell.answers import kind as answer_kind
from upwell.answers.argument_roles import Roles
from upwell.answers.next_page import next_page
from upwell.answers.pager import parse_label
from upwell.answers.totals import read_totals
from upwell.content import name_groups
from upwell.content.main_content import find_blocks
from upwell.discover import forms
from upwell.discover.declared import opensearch_interfaces, search_actions
from upwell.discover.link_ranking import ranked_links
from upwell.discover.without_search import _urls_in_sitemap, feed_links
from upwell.lazy import late_pattern
from upwell.lexicon import phrases
from upwell.lexicon.argument_names import is_usual_name
from upwell.logs import shown_url
from upwell.page.charset import decode
from upwell.page.embedded_data import decompress_base64, largest_collection
from upwell.page.formats import feed_as_html, is_json, json_as_html, plain_as_html, read_page
from upwell.page.links import is_page
from upwell.page.tokens import tokens
from upwell.page.tree import limit_attributes, limit_nesting
from upwell.page.visibility import style_rules
from upwell.records.column_names import column_name
from upwell.records.cuts import candidate_cuts
from upwell.records.entity_columns import text_form
from upwell.records.fields import fields_of_subtree
from upwell.records.leaves import split_leaves
from upwell.records.record_page import stated_texts
from upwell.records.values import DateReader, column_type, parse_value, split_unit
from upwell.table.schema import common_affixes, comparable_text, infer_columns, shape_rows, values_between
from upwell.types import LinkContext, Request, Response
from upwell.urls.acting import acting_evidence, may_act
from upwell.urls.arguments import split_url
from upwell.urls.hosts import is_same_host, site_host
from upwell.urls.patterns import learn_url_patterns

SOURCE = Path(upwell.__file__).parent
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")
SHORT, LONG = 1_000, 4_000  # characters of the two texts that are compared
FAST = 0.002  # seconds of CPU below which LONG characters were certainly not matched in quadratic time (that takes 10 ms and more)
MAX_GROWTH = 8  # 4 for linear time, 16 for quadratic
HOPELESS = 0.05  # seconds of CPU for at most SHORT characters, from which a longer text is not tried
SMALL_SIZES = (16, 20, 24, 28, 34, 44, 64, 200, SHORT)  # exponential patterns are noticed before they take minutes
MAX_ATTACKS = 60  # texts per pattern that are derived from it

# Patterns that are only applied to texts of limited length, with the constant that limits it.
BOUNDED = {
    "upwell.logs.SECRET_ARGUMENT": "MAX_NAME_CHARS",
    "upwell.records.values.DATE": "MAX_PARSED_CHARS",
    "upwell.records.values.TIME": "MAX_CHARS",
    "upwell.records.values.UNIT": "MAX_PARSED_CHARS",
}

# Patterns whose use cannot be seen in the source, because they are values of a dictionary.
USED_WITH = {
    "upwell.records.entity_columns.FORMS": ("fullmatch",),
    "upwell.records.entity_columns.PHONE": ("fullmatch",),
}

# Patterns that are built while the program runs: module and function → examples of what it builds.
BUILT: dict[str, tuple[re.Pattern[Any] | None, ...]] = {
    "lazy.py:__getattr__": (),  # values of modules, which are collected
    "page/tree.py:_end_of_text": (re.compile(rb"</script", re.I),),
    "page/embedded_data.py:_parse_xml": (re.compile(r"<(item)(?=[\s>])"),),
    "answers/kind.py:_in_bytes": (
        answer_kind._in_bytes(phrases.ROBOT_CHECK),
        answer_kind._in_bytes(phrases.TOO_MANY_REQUESTS),
        answer_kind._in_bytes(phrases.ACCESS_DENIED, answer_kind.DENIED_HEADING),
        answer_kind._in_bytes(phrases.LOGIN_WALL),
    ),
    "content/name_groups.py:_pattern": (name_groups._pattern("^ad$ post card"),),
    "answers/kind.py:_echo_pattern": (answer_kind._echo_pattern("red libraries"),),
    "source/paging.py:counted_on": (re.compile(r"([?&]page=)(\d{1,18})(?!\d)"),),
    "discover/trial.py:without_query": (re.compile(r"(?<=[?&;])[^=&;?#]*=(?:red|r%65d)(?:[&;]|(?=#)|$)"),),
    "demo/switches.py:_mark": (re.compile(r"\b(red|car)\b", re.I),),
    "table/schema.py:values_between": (re.compile(r"(?<!\S)kept by(?!\S)"),),
}


@dataclass(frozen=True)
class Found:
    """A pattern of the package, and the methods that are called on it."""

    name: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]


# Collecting


def _modules() -> list[str]:
    names = [module.name for module in pkgutil.walk_packages(upwell.__path__, "upwell.")]
    return ["upwell", *(name for name in names if not name.endswith("__main__"))]


def _sources() -> dict[str, ast.Module]:
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}


def _compiled(value: Any) -> re.Pattern[Any] | None:
    if isinstance(value, re.Pattern):
        return value
    if type(value) is type(late_pattern("")):
        return re.compile(value.pattern, vars(value)["_flags"])
    return None


def _patterns_in(value: object, depth: int = 0) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value: a pattern, a collection, a class or an object of this package."""
    if (pattern := _compiled(value)) is not None:
        yield "", pattern
    elif depth > 3:
        return
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ((f"[{key!r}]{rest}", pattern) for rest, pattern in _patterns_in(part, depth + 1))
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _patterns_in(part, depth + 1)
    elif str(getattr(value, "__module__", "")).startswith("upwell") and hasattr(value, "__dict__"):
        for key, part in list(vars(value).items()):
            if not key.startswith("__"):
                yield from ((f".{key}{rest}", pattern) for rest, pattern in _patterns_in(part, depth + 1))


def _used_methods(sources: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return the methods of patterns that are used with each name, anywhere in the package."""
    used: dict[str, set[str]] = {}
    for tree in sources.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in (*METHODS, "subn"):
                owner = node.value
                name = (
                    owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
                )
                used.setdefault(name, set()).add("sub" if node.attr == "subn" else node.attr)
    return used


def _inline(sources: dict[str, ast.Module]) -> Iterator[tuple[str, ast.Call, str]]:
    """Yield the calls of functions of `re` with a pattern as their first argument: place, call, enclosing function."""
    for path, tree in sources.items():
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in (*METHODS, "compile", "subn")
            ):
                inside: ast.AST | None = node
                while inside is not None and not isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef):
                    inside = parents.get(inside)
                yield path, node, inside.name if inside is not None else ""


def _flags(call: ast.Call) -> int:
    position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)  # type: ignore[attr-defined]
    written = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] + call.args[
        position : position + 1
    ]
    return int(eval(ast.unparse(written[0]), {"re": re})) if written else 0  # noqa: S307 - our own source


def _collect() -> list[Found]:
    sources = _sources()
    used = _used_methods(sources)
    found: dict[tuple[object, int], Found] = {}
    for module in _modules():
        for name, value in list(vars(importlib.import_module(module)).items()):
            if name.startswith("__") or str(getattr(value, "__module__", module)) not in (module, "upwell.lazy", "re"):
                continue  # defined elsewhere
            for rest, pattern in _patterns_in(value):
                methods = (
                    tuple(sorted(used.get(name, set()) | (used.get(rest.strip("."), set()) if rest else set())))
                    or METHODS
                )
                methods = USED_WITH.get(f"{module}.{name}", methods)
                key = (pattern.pattern, pattern.flags)
                known = found.get(key)
                methods = tuple(sorted({*methods, *(known.methods if known else ())}))
                found[key] = Found(known.name if known else f"{module}.{name}{rest}", pattern, methods)
    for path, call, _ in _inline(sources):
        text = call.args[0]
        if isinstance(text, ast.Constant):
            pattern = re.compile(text.value, _flags(call))
            method = call.func.attr  # type: ignore[attr-defined]
            name = f"{path}:{call.lineno}"
            if method == "compile":
                found.setdefault((pattern.pattern, pattern.flags), Found(name, pattern, METHODS))
            else:
                key = (pattern.pattern, pattern.flags)
                known = found.get(key)
                methods = tuple(sorted({"sub" if method == "subn" else method, *(known.methods if known else ())}))
                found[key] = Found(known.name if known else name, pattern, methods)
    for function, patterns in BUILT.items():
        for pattern in filter(None, patterns):
            found.setdefault(
                (pattern.pattern, pattern.flags), Found(f"{function}: {pattern.pattern}", pattern, METHODS)
            )
    return sorted(found.values(), key=lambda each: each.name)


# Attacks

COMMON = " \n\t0a_.,-:/<>\"'()[]{}&;=#%\\*?!~é中"
MIXED = (
    "a ",
    "a.",
    "0.",
    "0,",
    "0 ",
    "a=",
    "<a ",
    "a<",
    "a:",
    "a-",
    "a/",
    "'\"",
    "()",
    "[]",
    "{}",
    " \n",
    "&a",
    "1-1",
    "()a",
)
CATEGORIES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MANY = 20  # a quantifier with a smaller upper bound repeats a constant number of times


def _accepts(items: list[Any], character: str) -> bool:
    """Return True if a character class accepts a character."""
    negated = bool(items) and items[0][0] is sre.NEGATE
    for kind, value in items:
        if (
            (kind is sre.LITERAL and value == ord(character))
            or (kind is sre.RANGE and value[0] <= ord(character) <= value[1])
            or (kind is sre.CATEGORY and CATEGORIES[value](character))
        ):
            return not negated
    return negated


def _characters(items: list[Any]) -> str:
    """Return some characters that a character class accepts."""
    own = [chr(value if kind is sre.LITERAL else value[0]) for kind, value in items if kind in (sre.LITERAL, sre.RANGE)]
    return "".join(dict.fromkeys(c for c in [*COMMON, *own] if _accepts(items, c))) or "a"


def _example(parts: Any, optional: int, choice: int = 0) -> str:
    """Return a text that a parsed pattern roughly accepts; `optional` is how often optional parts are repeated."""
    text = ""
    for kind, value in parts:
        if kind is sre.LITERAL:
            text += chr(value)
        elif kind is sre.NOT_LITERAL:
            text += "a" if value != ord("a") else "b"
        elif kind is sre.ANY:
            text += "a"
        elif kind is sre.IN:
            accepted = _characters(value)
            text += next((c for c in "a0" if c in accepted), accepted[0])
        elif kind is sre.BRANCH:
            text += _example(value[1][choice % len(value[1])], optional, choice)
        elif kind is sre.SUBPATTERN:
            text += _example(value[3], optional, choice)
        elif kind is sre.ATOMIC_GROUP:
            text += _example(value, optional, choice)
        elif kind in REPEATS:
            text += _example(value[2], optional, choice) * max(int(value[0]), min(optional, int(value[1])))
    return text


def _repetitions(parts: Any, before: str, optional: int) -> Iterator[tuple[str, str]]:
    """Yield a text that leads to each quantified part of a pattern, and a text that the part repeats."""
    for kind, value in parts:
        inner: list[Any] = []
        if kind is sre.BRANCH:
            inner = list(value[1])
        elif kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            inner = [value[3] if kind is sre.SUBPATTERN else value]
        elif kind in REPEATS:
            inner = [value[2]]
            if int(value[1]) >= MANY:
                single: tuple[Any, Any] = value[2][0] if len(value[2]) == 1 else (None, None)
                for character in _characters(single[1]) if single[0] is sre.IN else ():
                    yield before, character
                if single[0] in (sre.ANY, sre.NOT_LITERAL):
                    yield before, " "
                yield before, _example(value[2], 0)
                yield before, _example(value[2], 1, 1)
        for branch in inner:
            yield from _repetitions(branch, before, optional)
        before += _example([(kind, value)], optional)


def _attacks(pattern: re.Pattern[Any]) -> list[Callable[[int], Any]]:
    """Return functions from a length to a text of about this length that is hard to match."""
    parsed = sre_parser.parse(pattern.pattern, pattern.flags)
    texts: dict[tuple[str, str, str], None] = {}
    for optional in (0, 1):
        whole = _example(parsed, optional)
        for before, repeated in _repetitions(parsed, "", optional):
            texts |= dict.fromkeys(
                [(before, repeated, "\0"), (before, repeated, "a"), (before, repeated, ""), ("", before + repeated, "")]
            )
            texts |= dict.fromkeys([("", before, "\0"), ("a", repeated, "a"), ("0", repeated, "\0")])
        texts |= dict.fromkeys([("", whole, ""), ("", whole[:-1], ""), ("", whole[:-1], "\0")])
    derived = [text for text in texts if text[1]]
    step = -(-len(derived) // MAX_ATTACKS) or 1
    general = [("", repeated, "\0a"[i % 2]) for i, repeated in enumerate((*COMMON, *MIXED))]
    general += [("", repeated, "a") for repeated in " .-_0"]
    chosen = dict.fromkeys([*derived[::step], *general])

    def text_of(before: str, repeated: str, after: str, length: int) -> Any:
        text = before + repeated * (length // len(repeated) + 1) + after
        return text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text

    return [partial(text_of, *parts) for parts in chosen]


def _runs(found: Found) -> list[Callable[[Any], object]]:
    """Return the ways in which a pattern is applied; those that find every match cost the same."""
    pattern = found.pattern
    empty = pattern.pattern[:0]
    runs: list[Callable[[Any], object]] = []
    if {"finditer", "findall", "sub", "split"} & set(found.methods):
        runs.append(lambda text: pattern.sub(empty, text))
    elif "search" in found.methods:
        runs.append(pattern.search)
    if "match" in found.methods:
        runs.append(pattern.match)
    if "fullmatch" in found.methods:
        runs.append(pattern.fullmatch)
    return runs


# Measuring


def cpu(run: Callable[[Any], object], argument: Any, repeats: int = 1) -> float:
    """Return the least CPU time of some runs."""
    least = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        run(argument)
        least = min(least, time.thread_time() - start)
    return least


def is_linear(
    run: Callable[[Any], object], text_of: Callable[[int], Any], short: int = SHORT, long: int = LONG
) -> bool:
    """Return True if the time for a text grows about linearly with its length."""
    for size in SMALL_SIZES:
        if cpu(run, text_of(size)) > HOPELESS and cpu(run, text_of(size)) > HOPELESS:
            return False
    if cpu(run, text_of(long)) < FAST:
        return True
    return any(  # a busy machine may disturb a measurement
        cpu(run, text_of(long), repeats) <= MAX_GROWTH * cpu(run, text_of(short), repeats) for repeats in (1, 3, 7)
    )


def test_patterns_take_linear_time() -> None:
    found = _collect()
    assert len(found) > 150
    slow = []
    for each in found:
        for run in _runs(each) if each.name not in BOUNDED else ():
            for text_of in _attacks(each.pattern):
                if not is_linear(run, text_of):
                    slow.append((each.name, run.__name__, text_of(24)))
                    break
    assert not slow


def test_patterns_in_functions_are_known() -> None:
    """A pattern that is not a constant is built by a function that `BUILT` names."""
    built = {
        f"{path}:{function}"
        for path, call, function in _inline(_sources())
        if not isinstance(call.args[0], ast.Constant) and function
    }
    assert built == set(BUILT)


def test_the_check_finds_patterns_that_backtrack() -> None:
    for text in (r"(?:a|a)*b", r"\s*x", r"<item>.*?</item>", r"(\w+\s?)*$", r"[^>]*>", r"a.*b.*c", r"\d+\.\d+"):
        found = Found("", re.compile(text), ("search",))
        assert not all(is_linear(run, text_of) for run in _runs(found) for text_of in _attacks(found.pattern)), text
    for text in (r"a*+b", r"<item>[^<]{0,50}", r"[a-z]"):
        found = Found("", re.compile(text), ("match", "fullmatch"))
        assert all(is_linear(run, text_of) for run in _runs(found) for text_of in _attacks(found.pattern)), text


# Functions that read texts of strangers

PAGE_SHORT, PAGE_LONG = 3_000, 12_000  # characters of the two documents that are compared
PAGE_FAST = 0.006  # seconds of CPU below which PAGE_LONG characters were certainly not read in quadratic time
URL = "http://site.example/search?q=red"

# Repeated parts of hostile documents: start, repeated text, end.
REPEATED = {
    "spaces": ("", " ", "x"),
    "lines": ("", "\n", "x"),
    "dots": ("a", ".", "x"),
    "marks": ("a", "-_", "x"),
    "digits": ("", "1", "x"),
    "numbers": ("", "1 - 10 of ", "x"),
    "ranges": ("results ", "1-", "x"),
    "found": ("", "found ", "x"),
    "dates": ("", "jan 1 ", "x"),
    "letters": ("", "a", "!"),
    "words": ("", "next more ", "!"),
    "brackets": ("", "(", ""),
    "arrays": ("", "[", ""),
    "objects": ("", '{"a":', ""),
    "closed arrays": ("var a = ", "[],", ""),
    "literals": ("", "=[", ""),
    "calls": ("", "([", ""),
    "quotes": ("", "'\"", ""),
    "strings": ("a", '="', ""),
    "templates": ("a", "=`${", ""),
    "escapes": ('a="', "\\u{0", ""),
    "assignments": ("submit ", "a.value='", ""),
    "field names": ("submit ", "a:", ".x"),
    "events": ("", "__doPostBack('", ""),
    "ampersands": ("http://x/?", "&a=", ""),
    "arguments": ("http://x/?", "a[b]=1&", ""),
    "slashes": ("http://x", "/a", ""),
    "percents": ("http://x/", "%25", ""),
    "at signs": ("", "a@b.", "!"),
    "hosts": ("http://", "a.", ""),
    "open brackets in a host": ("http://[", ":1", ""),
    "tags": ("", "<", ""),
    "open tags": ("", "<a ", ""),
    "divisions": ("", "<div>", ""),
    "closing tags": ("", "</p", ""),
    "attributes": ("<p ", "a=1 ", ""),
    "classes": ('<p class="', "a ", '">'),
    "comments": ("", "<!--", ""),
    "scripts": ("", "<script>", ""),
    "script names": ("", "<script ", ""),
    "scripts in a comment": ("<!--", "<script ", "-->"),
    "styles": ("<style>", ".a{display:none}", "</style>"),
    "style comments": ("<style>none", "/*", "</style>"),
    "style braces": ("<style>none", "{", "</style>"),
    "style selectors": ("<style>", ".a,", "{display:none}</style><p class=a>x"),
    "entries": ("<rss>", "<item>", ""),
    "entry names": ("<rss>", "<item ", ""),
    "elements": ("<rss><item>", "<a>", "</item>"),
    "element names": ("<rss><item>", "<a ", "></item>"),
    "feed links": ("<rss>", "<link ", ""),
    "feed attributes": ("<rss><link ", "a", ">"),
    "sections": ("<rss><item><title>", "<![CDATA[", "</title></item>"),
    "locations": ("<urlset>", "<loc>", ""),
    "location spaces": ("<loc>", " ", ""),
    "pictures": ("<urlset>", "<image:a", ""),
    "xml records": ("<list>", "<row><a>1</a>", "</list>"),
    "xml names": ("<list>", "<a><b><c>", ""),
    "inputs": ("<form>", "<input ", ""),
    "fields": ("<form>", "<input name=q>", "</form>"),
    "options": ("<form><select name=a>", "<option>1", "</select><input name=q></form>"),
    "forms": ("", "<form><input name=q></form>", ""),
    "labels": ("", "<a href=/a>next 1</a>", ""),
    "links": ("", "<a href=?p=1>1</a>", ""),
    "headings": ("<title>", "<h1 ", ""),
    "rows": ("<table>", "<tr><td>a<td>1", "</table>"),
    "definitions": ("<dl>", "<dt>a:<dd>1", "</dl>"),
    "rules": ("User-agent: *\n", "Disallow: /*a\n", ""),
    "stars": ("User-agent: *\nDisallow: /", "*a", "b"),
    "blank rules": ("User-agent: *\n", "\n ", "x"),
    "charsets": ("", "<meta charset=", ""),
    "meta": ("", "<meta ", ""),
    "cells": ("a,b,c\n", "1,2,3\n", ""),
    "cell quotes": ("a,b,c\n", '"', ""),
    "headers": ("", "a: b\n", ""),
    "parts": ("", 'name=""_', "\n"),
    "chinese numbers": ("", "十", "x"),
    "arrows": ("", "»", "x"),
    "ideographs": ("", "中", ""),
    "combining marks": ("a", "\u0301", ""),
    "null bytes": ("", "\0", ""),
}
# Places of a page in which a repeated part is put: %s is the part.
PLACES = {
    "page": "%s",
    "label": "<form><input name=q></form><p><a href='/b?p=2'>%s</a></p>",
    "onclick": "<form><input name=q></form><a onclick=\"%s\" href='javascript:submit()'>next</a>",
    "href": '<a href="%s">next</a>',
    "script": "<script>%s</script>",
    "button": '<form action="%s"><input name=q><button>%s</button></form>',
}


def _texts() -> dict[str, Callable[[int], str]]:
    def text_of(start: str, repeated: str, end: str, length: int) -> str:
        return start + repeated * (length // len(repeated)) + end

    return {name: partial(text_of, *parts) for name, parts in REPEATED.items()}


def _page_of(frame: str, text_of: Callable[[int], str], length: int) -> str:
    text = text_of(length)
    return frame.replace("%s", text if frame == "%s" else text.replace('"', "'"))


def _pages() -> dict[str, Callable[[int], str]]:
    """Return pages with each text at each place; markup only as a page of its own."""
    pages: dict[str, Callable[[int], str]] = {}
    for name, text_of in _texts().items():
        for place, frame in PLACES.items():
            if place == "page" or "<" not in text_of(1000):
                pages[f"{name} in {place}"] = partial(_page_of, frame, text_of)
    return pages


def _read_everything(page: str) -> None:
    """Read a page as a harvest does."""
    body = page.encode()
    tree = read_page(body, URL, {"Content-Type": "text/html; charset=utf-8"})
    forms.find(tree)
    next_page(tree, "red")
    read_totals(tree, ["a", "b"])
    answer_kind.refusal_reason(Response(request=Request(url=URL), url=URL, status=200, headers={}, body=body), tree)
    search_actions(tree)
    ranked_links(tree)
    feed_links(tree)
    list(facets.second_level_links(tree, Roles(query="q"), "red"))
    find_blocks(tree)
    list(candidate_cuts(split_leaves(tree)))
    list(stated_texts(tree))
    fields_of_subtree(tree, 0)


def _read_rules(text: str) -> None:
    rules = Protego.parse(text)
    rules.can_fetch("http://x/" + "a" * 300, "Upwell")
    list(rules.sitemaps)


def _columns_of(text: str) -> None:
    rows = [{"title": f"{number} {text}", text: str(number), "a": text} for number in range(6)]
    columns = infer_columns(rows)
    list(shape_rows(rows, columns))


# Functions that are called with texts of strangers.
READERS: dict[str, Callable[[str], object]] = {
    "sitemap": lambda text: _urls_in_sitemap(text.encode()),
    "feed": feed_as_html,
    "plain text": plain_as_html,
    "JSON": lambda text: json_as_html(text.encode()) if is_json(text.encode(), "application/json") else None,
    "embedded data": lambda text: largest_collection(text),
    "embedded data of a script": lambda text: largest_collection(f"<html><script>{text}</script>"),
    "base64": decompress_base64,
    "style sheet": lambda text: style_rules([(f"none {text}", None)]),
    "charset": lambda text: decode(text.encode(), "text/html"),
    "robots.txt": _read_rules,
    "deep nesting": lambda text: limit_nesting(text * 2),
    "many attributes": lambda text: limit_attributes(text.encode()),
    "OpenSearch": lambda text: opensearch_interfaces(text.encode(), URL),
    "words": tokens,
    "acting URL": lambda text: acting_evidence(Request(url=f"http://x/{text[:8000]}")),
    "acting label": lambda text: acting_evidence(
        Request(url="http://x/", context=LinkContext(label=text, hints=(text,), marks=(text,), around=text))
    ),
    "acting text": may_act,
    "acting body": lambda text: acting_evidence(
        Request(url=URL, method="POST", body=text.encode(), content_type="multipart/form-data; boundary=a")
    ),
    "URL": lambda text: (split_url(text, "red"), site_host(text), is_same_host(text, URL), is_page(text[:8000])),
    "URL in the log": shown_url,
    "argument name": lambda text: is_usual_name(text),
    "URL patterns": lambda text: learn_url_patterns([f"http://x/{n}/{text[:8000]}" for n in range(3)]),
    "column name": column_name,
    "column type": lambda text: column_type([text, "1", "2"]),
    "values": lambda text: [parse_value(text, kind) for kind in ("integer", "decimal", "price", "date", "url")],
    "date": lambda text: DateReader("DMY", False).read(text),
    "unit": split_unit,
    "form of texts": lambda text: text_form([text]),
    "affixes": lambda text: common_affixes([f"{text}{number}{text}" for number in range(6)]),
    "phrases": lambda text: values_between(text, ["a", "b"]),
    "comparable text": comparable_text,
    "table": _columns_of,
    "link label": parse_label,
    "shape of values": lambda text: column_type([text] * 5),
}


# Reading that takes quadratic time up to a limit, with the constant that sets the limit.
LIMITED = {("OpenSearch", "divisions"): "upwell.page.tree.CHECK_DEPTH_FROM"}


def _is_read_in_linear_time(read: Callable[[str], object], text_of: Callable[[int], str]) -> bool:
    """Return True if reading takes about linear time; each text is used once, because many functions cache their results."""
    for attempt in range(4):
        long = cpu(read, text_of(PAGE_LONG + 97 * attempt))
        if long < PAGE_FAST or long <= MAX_GROWTH * cpu(read, text_of(PAGE_SHORT + 97 * attempt)):
            return True
    return False


@pytest.mark.parametrize("reader", READERS)
def test_texts_of_strangers_are_read_in_linear_time(reader: str) -> None:
    texts = {name: text_of for name, text_of in _texts().items() if (reader, name) not in LIMITED}
    assert not [name for name, text_of in texts.items() if not _is_read_in_linear_time(READERS[reader], text_of)]


def test_pages_of_strangers_are_read_in_linear_time() -> None:
    slow = [name for name, text_of in _pages().items() if not _is_read_in_linear_time(_read_everything, text_of)]
    assert not slow


@pytest.mark.parametrize("content_type", ["application/json", "application/rss+xml", "text/plain", "text/html"])
def test_any_text_is_read_as_any_format(content_type: str) -> None:
    for text_of in _texts().values():
        read_page(text_of(2000).encode(), URL, {"Content-Type": content_type})
