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
from pathlib import Path
from typing import Any

import upwell
from upwell.lazy import late_pattern

SOURCE = Path(upwell.__file__).parent
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")
SHORT, LONG = 2_000, 8_000  # characters of the two texts that are compared
FAST = 0.004  # seconds of CPU below which LONG characters were certainly not matched in quadratic time (that takes 30 ms and more)
MAX_GROWTH = 8  # 4 for linear time, 16 for quadratic
HOPELESS = 0.05  # seconds of CPU for a text shorter than LONG, from which the pattern is not tried on a longer one
SMALL_SIZES = (16, 20, 24, 28, 34, 44, 64, 128, 400, SHORT)  # exponential patterns are noticed before they take minutes
MAX_ATTACKS = 90  # texts per pattern

# Patterns that are only applied to texts of limited length, with the constant that limits it.
BOUNDED = {
    "upwell.logs.SECRET_ARGUMENT": "MAX_NAME_CHARS",
    "upwell.records.values.DATE": "MAX_PARSED_CHARS",
    "upwell.records.values.TIME": "MAX_CHARS",
    "upwell.records.values.UNIT": "MAX_PARSED_CHARS",
}

# Patterns that are built while the program runs: function → patterns that it may build.
BUILT: dict[str, tuple[re.Pattern[Any], ...]] = {}


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


def _compiled(value: object) -> re.Pattern[Any] | None:
    if isinstance(value, re.Pattern):
        return value
    if type(value) is type(late_pattern("")):
        return re.compile(value.pattern, value._flags)  # type: ignore[attr-defined]
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
        for pattern in patterns:
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
CATEGORIES = {
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
                single = value[2][0] if len(value[2]) == 1 else (None, None)
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
    step = max(1, len(derived) // MAX_ATTACKS)
    general = [("", repeated, after) for repeated in (*COMMON, *MIXED) for after in ("\0", "a")]
    chosen = dict.fromkeys([*derived[::step], *general])

    def text_of(before: str, repeated: str, after: str, length: int) -> Any:
        text = before + repeated * (length // len(repeated) + 1) + after
        return text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text

    return [lambda length, parts=parts: text_of(*parts, length) for parts in chosen]  # type: ignore[misc]


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
    for repeats in (1, 3, 7):  # a busy machine may disturb a measurement
        if cpu(run, text_of(long), repeats) <= MAX_GROWTH * cpu(run, text_of(short), repeats):
            return True
    return False


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
