"""Write the objects of a running harvest as data, and read them back.

The file is MessagePack and contains only values. It cannot name a class, function or module: an object is the number of a class in the list of this
module (`_classes`), followed by its fields in the order in which the code declares them. Reading creates the object without calling its constructor,
sets these fields only, and then checks every field against its declared type. Anything else is a `BadCheckpoint`.

    None, bool, int, float, str, bytes    themselves
    map                                   dict of these values with str keys
    [number, field, …]                    object of a class
    ["l", items], ["L", node, …]          list of plain values, list of nodes; likewise for the other containers (`_CONTAINERS`)
    ["ref", number]                       list, dict, array or object that was read before, counted in the order of the file
"""

from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, get_origin, get_type_hints

import msgpack
import numpy as np
from numpy.typing import NDArray

from upwell.answers.answer import Answer
from upwell.answers.argument_roles import ArgumentRole, Roles
from upwell.answers.facets import SecondLevelLink
from upwell.answers.kind import EmptyModel
from upwell.answers.totals import StatedTotals
from upwell.arrays.key_set import KeyNumbers, KeySet
from upwell.choose import facet_candidates, pairs, record_words
from upwell.choose.candidates import Candidate, OpenQueries, OpenQuery
from upwell.choose.chooser import Chooser
from upwell.choose.coverage import CheckQueries, CoverageEvidence, CoverageStatement, ListView
from upwell.choose.expected_yield import Calibration, ExpectedYield, YieldEstimator
from upwell.choose.ledger import SourceLedger
from upwell.choose.list_candidates import ListCandidates, Listing
from upwell.choose.prefix_queries import PrefixQueries
from upwell.choose.proposers import LogQueries, RelatedQueries
from upwell.choose.record_numbers import RecordNumbers
from upwell.choose.region_candidates import AskedRegion, Region, RegionCandidates
from upwell.choose.repetition import Repetition
from upwell.choose.result_pages import FinishedQuery, ResultPages
from upwell.choose.size_sample import SampledMatch, SampledQuery, SizeSample
from upwell.choose.url_repository import NumberQueue, UrlRepository
from upwell.choose.word_candidates import CommonWords, MinWordLength, WordYield
from upwell.choose.word_index import WordIndex
from upwell.declared import fits
from upwell.discover.consent_page import ConsentPage
from upwell.discover.discovery import Discovery
from upwell.discover.lists import ExportReader, ListLinks, ListReader, RecordAddresses, SitemapReader
from upwell.discover.walls import ShownWall
from upwell.harvest import record_pages
from upwell.harvest.list_finder import ListFinder
from upwell.harvest.reader import SiteContext, SourceReader
from upwell.harvest.session import ScriptPager, SourceSession
from upwell.native import compiled
from upwell.page.tag_tree import TagTree
from upwell.records.cut_rules import CutRule
from upwell.records.entity_columns import ColumnLocation
from upwell.records.entity_model import EntityColumn, EntityModel, EntityTemplate, UrlColumn
from upwell.records.record_columns import Column, Columns
from upwell.records.record_page import TemplateTexts
from upwell.source.drift import DriftWatch
from upwell.source.model import SourceModel
from upwell.types import (
    AddressInterface,
    ArchivedBody,
    Decision,
    Estimate,
    FormFilter,
    FormInterface,
    IndexInterface,
    JsonInterface,
    Kind,
    LinkContext,
    ListInterface,
    PageChange,
    Request,
    Response,
    SearchInterface,
    Skipped,
    TypedInterface,
    WeighedCandidate,
)
from upwell.urls.patterns import UrlPattern

__all__ = ["BadCheckpoint", "NotStorable", "dump", "load"]


class BadCheckpoint(ValueError):
    """The data is not what `dump` writes."""


class NotStorable(Exception):
    """An object is of a class, or has an attribute, that this module does not declare; for example a proposer of the user."""


# Fields

Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
# Attributes that have the same value in all objects of a process. They are not stored: `load` is given them.
PROCESS_FIELDS = ("observe", "plan", "scratch", "spent", "state")
# Caches, which are empty after loading.
CACHES: Mapping[type, Mapping[str, Callable[[], object]]] = {
    record_words.RecordWords: {"_looked_up": dict, "_kept": int},
}
# Attributes that are set in the constructor and are no fields of a dataclass.
ATTRIBUTES: Mapping[type, Mapping[str, Any]] = {
    Calibration: {"_received": Floats, "_predicted": Floats, "_pooled": Floats | None},
    CheckQueries: {"index": WordIndex, "_waiting": list[str], "_drawn_at": int},
    Chooser: {
        "ledger": SourceLedger, "plan": Any, "language": str, "takes_text": bool, "is_about": bool, "words": WordYield, "short_words": MinWordLength,
        "common_words": CommonWords, "pairs": pairs.WordPairs, "facets": facet_candidates.FacetCandidates, "checks": CheckQueries,
        "proposers": list[RelatedQueries | PrefixQueries | LogQueries],
        "related": RelatedQueries, "prefixes": PrefixQueries, "regions": RegionCandidates, "lists": ListCandidates, "open_queries": OpenQueries,
        "waiting": deque[str], "everything": tuple[str, ...], "_new_by_query": deque[int], "_put_off": list[OpenQuery], "_asked": set[str],
        "is_serial": bool, "_again": deque[Candidate],
        "yields": YieldEstimator, "decision": Decision | None, "_pages": int, "_check_pages": int,
    },
    SizeSample: {"words": WordIndex, "seed": int, "queries": list[SampledQuery], "_pool": Bools, "_degrees": list[float]},
    CommonWords: {"index": WordIndex, "_waiting": deque[str], "_misses": int},
    ListCandidates: {"coverage": CoverageEvidence, "listings": list[Listing], "looks": int},
    ListFinder: {
        "context": SiteContext, "reader": SourceReader, "pages": list[TagTree], "_links": dict[tuple[UrlPattern, ...], ListLinks],
        "pages_to_judge": list[TagTree], "_of_earlier_run": list[str], "_waiting": bool,
    },
    record_words.MemoryBlobs: {"_bytes": bytearray},
    MinWordLength: {"index": WordIndex, "_found": Counter[int], "_missed": Counter[int]},
    NumberQueue: {"_numbers": array, "_first": int},
    OpenQuery: {
        "query": str, "pair": pairs.WordPair | None, "facet": facet_candidates.FacetCandidate | None, "region": AskedRegion | None,
        "listing": Listing | None, "is_prefix": bool,
        "words": tuple[str, ...], "is_plain": bool,
    },
    PrefixQueries: {
        "words": WordYield, "_numbers": dict[str, int], "_length": array, "_parent": array, "_looked_at": int, "_word": array, "_prefix": array,
        "_shares": dict[str, float], "_counted_at": int, "_asked": set[str], "_tried": int, "_matched": int,
    },
    record_words.RecordWords: {
        "_blobs": record_words.Blobs, "_blocks": list[record_words._Block], "_first": int, "_cells": array, "_starts": array,
    },
    RegionCandidates: {
        "filters": tuple[FormFilter, ...], "regions": list[Region], "keys": KeySet, "is_check": bool, "_waiting": list[int],
        "_cap": int, "_checks": list[int] | None,
        "_shares": dict[tuple[int, str], tuple[float, int]], "_useless": set[int], "_leaky": set[int],
    },
    LogQueries: {"words": WordIndex, "_waiting": list[str], "_new": float, "_tried": float, "_full": float},
    RelatedQueries: {"words": WordIndex, "urls": UrlRepository, "_waiting": NumberQueue, "_tried": int, "_matched": int},
    ScriptPager: {
        "reader": SourceReader, "_argument": str, "_counts_records": bool, "_trials": int, "_unshown": str, "_unshown_trials": int,
        "full_pages": int, "has_pager": bool,
    },
    SourceReader: {
        "interface": SearchInterface, "discovery": Discovery, "plan": Any, "observe": Any, "spent": Any,
        "rng": np.random.Generator, "language": str, "about": tuple[str, ...],
        "ledger": SourceLedger, "last_tree": TagTree | None, "background": list[Answer], "fields_of": dict[str, Mapping[str, str]],
        "errors_in_a_row": int, "keeps_results": bool, "_recent": deque[tuple[Response, str, Kind]], "_drift": DriftWatch, "_last_query_with_records": str,
        "_probed_share": float, "_whole_answers": dict[str, Request],
    },
    SourceSession: {
        "context": SiteContext, "is_started": bool, "is_over": bool, "reader": SourceReader, "ledger": SourceLedger, "plan": Any, "observe": Any, "state": Any,
        "lists": ListFinder,
        "details": record_pages.RecordPageReader, "earlier_queries": tuple[str, ...], "before": Mapping[str, set[str]], "walks_list": bool,
        "_has_looked_for_sitemap": bool, "_has_looked_for_exports": bool, "_page_steps": ScriptPager, "missing": set[str],
        "_next_requests": dict[str, tuple[str, tuple[str, ...]]],
        "_dead_ends": set[str], "ended": dict[str, bool], "chooser": Chooser,
    },
    UrlRepository: {"blobs": record_words.Blobs, "_texts": record_words.WordTexts, "_numbers": KeyNumbers, "_is_done": bytearray},
    WordIndex: {
        "_stops": frozenset[str], "_numbers": KeyNumbers, "_keys": KeyNumbers, "_texts": record_words.WordTexts, "_records": record_words.RecordWords,
        "_class": NDArray[np.int16], "_with_word": Int32s, "_once": Int32s, "_twice": Int32s, "_with_word_exhausted": Int32s, "_first": Int32s,
        "_done": Bools, "_is_unmatched": Bools, "_stated_matches": NDArray[np.float32], "_unasked_words": int, "_unasked_occurrences": int,
        "_times": bytearray, "_shared": bytearray, "_is_exhausted": bytearray, "_sharing": NDArray[np.int64], "_exhausted": int,
        "_counted": dict[tuple[int, ...], tuple[int, int]], "_changed": list[Int32s], "_changes": int, "_is_changed_everywhere": bool,
        "_classes": dict[tuple[str, int], int], "_tried": list[int], "_matched": list[int], "_calibration": Calibration,
        "_capped_calibration": Calibration,
    },
    WordYield: {"shrink": float, "size": float, "_pool": Int32s, "_looks": int, "_held_then": int},
    record_words.WordTexts: {"_blobs": record_words.Blobs, "_places": list[int], "_last": list[str]},
    YieldEstimator: {
        "ledger": SourceLedger, "words": WordIndex, "everything": tuple[str, ...], "largest_total": int, "best_rate": float,
        "_page_calibration": Calibration, "_first_page_calibration": Calibration, "_tried": dict[str, int], "_matched": dict[str, int],
    },
}  # fmt: skip
DATACLASSES: tuple[type, ...] = (
    AddressInterface, Answer, ArchivedBody, ArgumentRole, AskedRegion, Candidate, Column, Columns, ConsentPage, CoverageEvidence, CoverageStatement,
    CutRule, Discovery, DriftWatch, EmptyModel, EntityColumn, EntityModel, Estimate, ExportReader, FinishedQuery, FormInterface, IndexInterface,
    JsonInterface, LinkContext, Listing, ListInterface, ListLinks, ListReader, ListView, RecordAddresses, RecordNumbers, Region, Repetition,
    Request, Response, ResultPages, Roles, SampledQuery, SecondLevelLink, ShownWall, SiteContext, SitemapReader, Skipped, SourceLedger, SourceModel,
    StatedTotals, TemplateTexts, TypedInterface, UrlPattern, facet_candidates.FacetCandidate, facet_candidates.FacetCandidates, pairs._Cooccurrence,
    pairs.WordPair, pairs.WordPairs, record_pages._PageTemplate, record_pages.RecordPageReader,
)  # fmt: skip
NAMED_TUPLES: tuple[type, ...] = (
    ColumnLocation, Decision, EntityTemplate, ExpectedYield, FormFilter, PageChange, SampledMatch, UrlColumn, WeighedCandidate, facet_candidates._StoredLink,
    record_words._Block,
)  # fmt: skip


class _Class(NamedTuple):
    """How objects of a class are stored: the number of the class, and the declared type of each field."""

    number: int
    type: type
    fields: Mapping[str, Any]
    process_fields: tuple[str, ...]
    others: frozenset[str]  # attributes that are not stored


@cache
def _classes() -> Mapping[type, _Class]:
    """Return the classes that a checkpoint may contain."""
    listed = sorted({*ATTRIBUTES, *DATACLASSES, *NAMED_TUPLES}, key=lambda each: (each.__module__, each.__name__))
    return {each: _declared(number, each) for number, each in enumerate(listed)}


def _declared(number: int, cls: type) -> _Class:
    declared: dict[str, Any] = {}
    if is_dataclass(cls) or cls in NAMED_TUPLES:
        hints = get_type_hints(
            cls, localns={"Listing": Listing}
        )  # a name that `candidates` imports for type checks only
        names = [each.name for each in fields(cls)] if is_dataclass(cls) else cls._fields  # type: ignore[attr-defined]
        declared.update((name, hints[name]) for name in names)
    for base in reversed(cls.__mro__):
        declared |= ATTRIBUTES.get(base, {})
    process_fields = [  # the state of the harvest; a field `state` that holds a word is a value like others
        name for name in PROCESS_FIELDS if name in declared and get_origin(declared[name]) is not Literal
    ]
    cached = {name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, cached_property)}
    stored = {name: hint for name, hint in declared.items() if name not in process_fields}
    return _Class(
        number, cls, stored, tuple(process_fields), frozenset((*process_fields, *cached, *CACHES.get(cls, ())))
    )


# Writing

PLAIN_TYPES = frozenset((type(None), bool, int, float, str, bytes))
_are_plain = PLAIN_TYPES.issuperset
_are_texts = frozenset((str,)).issuperset
_CONTAINERS: Mapping[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "f"}  # in upper case: of nodes
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u8", "<f4", "<f8")
TYPECODES = ("b", "i")
PACKING: Mapping[str, Any] = {"unicode_errors": "surrogatepass"}


def dump(root: object, outside: Mapping[int, Sequence[object]]) -> bytes:
    """Return a value as data; `outside` has the description of each object that is stored elsewhere, by its `id`."""
    data: bytes = msgpack.packb(_Writer(outside).node(root), strict_types=True, **PACKING)
    return data


class _Writer:
    """Converts objects to nodes; objects that occur again become references."""

    def __init__(self, outside: Mapping[int, Sequence[object]]) -> None:
        self._outside, self._classes = outside, _classes()
        self._numbers: dict[int, int] = {}
        self._kept: list[object] = []  # temporary values, so that their `id` is not used again

    def node(self, value: Any) -> Any:
        """Return a value as a node."""
        kind = type(value)
        if kind in PLAIN_TYPES:
            return value
        if kind is tuple or kind is frozenset or isinstance(value, np.generic):
            return self._immutable(value, kind)
        if (declared := self._classes.get(kind)) is not None and issubclass(kind, tuple):
            return [declared.number, *map(self.node, value)]
        if (number := self._numbers.get(id(value))) is not None:
            return ["ref", number]
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)
        if declared is not None:
            return self._object(value, declared)
        return self._mutable(value, kind)

    def _nodes(self, code: str, values: Iterable[Any], *before: object) -> list[Any]:
        values = list(values)
        if _are_plain(map(type, values)):
            return [code, *before, values]
        return [code.upper(), *before, *map(self.node, values)]

    def _immutable(self, value: Any, kind: type) -> list[Any]:
        if kind is tuple or kind is frozenset:
            return self._nodes(_CONTAINERS[kind], value)
        return ["g", _dtype(value.dtype), value.tobytes()]

    def _object(self, value: Any, declared: _Class) -> list[Any]:
        if (own := getattr(value, "__dict__", None)) is not None:
            unknown = [name for name in own if name not in declared.fields and name not in declared.others]
            if unknown:
                raise NotStorable(f"{declared.type.__name__} has the undeclared attributes {', '.join(unknown)}")
        return [declared.number, *(self.node(getattr(value, name)) for name in declared.fields)]

    def _mutable(self, value: Any, kind: type) -> Any:
        if kind is dict:
            if _are_plain(map(type, value.values())) and _are_texts(map(type, value)):
                return value
            return ["d", self.node(tuple(value)), self.node(tuple(value.values()))]
        if kind is list or kind is set:
            return self._nodes(_CONTAINERS[kind], value)
        if kind is Counter:
            return ["counter", self.node(tuple(value)), self.node(tuple(value.values()))]
        if kind is deque:
            return ["deque", value.maxlen, self.node(tuple(value))]
        if kind is np.ndarray:
            return ["n", _dtype(value.dtype), list(value.shape), value.tobytes()]
        if kind is array and value.typecode in TYPECODES:
            return ["a", value.typecode, value.tobytes()]
        if kind is bytearray:
            return ["b", bytes(value)]
        if id(value) in self._outside:
            return ["outside", *self._outside[id(value)]]
        if kind is KeySet:
            return ["keys", value.hashes().tobytes()]
        if kind is KeyNumbers:
            return ["numbers", value.__reduce__()[1][0]]
        if kind is OpenQueries:
            return ["open", value._turn, self.node(tuple(value))]
        if kind is TagTree:
            return self._tree(value)
        if compiled is not None and kind is compiled.Attributes:
            names, *columns = value.__reduce__()[1]
            return ["attributes", list(names), *columns]
        if kind is np.random.Generator:
            state = value.bit_generator.state
            numbers = [state["state"][name].to_bytes(16, "little") for name in ("state", "inc")]
            return ["random", *numbers, state["has_uint32"], state["uinteger"]]
        raise NotStorable(f"{kind.__module__}.{kind.__qualname__} is not declared")

    def _tree(self, tree: TagTree) -> list[Any]:
        state = tree.__getstate__()
        return ["tree", *(self.node(state[each.name]) for each in fields(tree))]


def _dtype(dtype: "np.dtype[Any]") -> str:
    if dtype.str not in DTYPES:
        raise NotStorable(f"arrays of {dtype} are not declared")
    return str(dtype.str)


# Reading

MAX_KEY = (
    2**61 - 1
)  # numbers from here on share their hash with smaller ones; a dict of such keys would take quadratic time
_ERRORS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError)


def load(data: bytes | memoryview, process_values: Mapping[str, object], outside: Callable[..., object]) -> Any:
    """Return the value in `data`; `outside` returns an object that is stored elsewhere. Raise BadCheckpoint."""
    try:
        reader = _Reader(process_values, outside)
        value = reader.value(msgpack.unpackb(data, **PACKING))
        reader.check()
    except (*_ERRORS, msgpack.UnpackException) as error:
        raise BadCheckpoint(f"{type(error).__name__}: {error}") from error
    return value


class _Reader:
    """Converts nodes to objects."""

    def __init__(self, process_values: Mapping[str, object], outside: Callable[..., object]) -> None:
        self._process_values, self._outside = process_values, outside
        self._classes = list(_classes().values())
        self._read: list[Any] = []  # what a reference may refer to
        self._tuples: list[tuple[_Class, Any]] = []
        self._objects: list[tuple[_Class, Any]] = []

    def value(self, node: Any) -> Any:
        """Return the value of a node."""
        kind = type(node)
        if kind in PLAIN_TYPES:
            return node
        if kind is dict:
            _check_plain(node.values())
            self._read.append(node)
            return node
        code = node[0]
        if type(code) is int:
            if not 0 <= code < len(self._classes):
                raise BadCheckpoint(f"no class has the number {code}")
            return self._object(self._classes[code], node)
        return _READERS[code](self, *node[1:])

    def check(self) -> None:
        """Raise BadCheckpoint if a field is not of its declared type."""
        for declared, value in (*self._objects, *self._tuples):
            for name, kind, is_valid in _checks(declared.type):
                part = getattr(value, name)
                if type(part) is not kind and not is_valid(part):
                    raise BadCheckpoint(f"{declared.type.__name__}.{name} is of another type")

    def _object(self, declared: _Class, node: Sequence[Any]) -> Any:
        if len(node) != len(declared.fields) + 1:
            raise BadCheckpoint(f"{declared.type.__name__} has other fields")
        if issubclass(declared.type, tuple):
            made = tuple.__new__(declared.type, [self.value(part) for part in node[1:]])
            self._tuples.append((declared, made))
            return made
        value = object.__new__(declared.type)
        self._read.append(value)
        self._objects.append((declared, value))
        for name, part in zip(declared.fields, node[1:], strict=True):
            object.__setattr__(value, name, part if type(part) in PLAIN_TYPES else self.value(part))
        for name in declared.process_fields:
            object.__setattr__(value, name, self._process_values[name])
        for name, make in CACHES.get(declared.type, {}).items():
            object.__setattr__(value, name, make())
        return value

    # each reads the nodes with one code

    def _list(self, values: Any) -> list[Any]:
        _check_type(values, list)
        _check_plain(values)
        return self._kept(values)  # type: ignore[no-any-return] # a list

    def _list_of_nodes(self, *nodes: Any) -> list[Any]:
        made: list[Any] = self._kept([])
        made.extend([self.value(node) for node in nodes])
        return made

    def _tuple(self, values: Any) -> tuple[Any, ...]:
        _check_plain(values)
        return tuple(values)

    def _tuple_of_nodes(self, *nodes: Any) -> tuple[Any, ...]:
        return tuple([self.value(node) for node in nodes])

    def _set(self, values: Any) -> set[Any]:
        _check_plain(values)
        _check_keys(values)
        return self._kept(set(values))  # type: ignore[no-any-return] # a set

    def _set_of_nodes(self, *nodes: Any) -> set[Any]:
        made: set[Any] = self._kept(set())
        made.update([self.value(node) for node in nodes])
        return made

    def _frozenset(self, values: Any) -> frozenset[Any]:
        _check_plain(values)
        _check_keys(values)
        return frozenset(values)

    def _frozenset_of_nodes(self, *nodes: Any) -> frozenset[Any]:
        return frozenset([self.value(node) for node in nodes])

    def _ref(self, number: int) -> Any:
        if not 0 <= number < len(self._read):
            raise BadCheckpoint(f"a reference to the unknown object {number}")
        return self._read[number]

    def _kept(self, value: Any) -> Any:
        self._read.append(value)
        return value

    def _dict(self, keys: Any, values: Any) -> dict[Any, Any]:
        return self._fill(self._kept({}), keys, values)

    def _counter(self, keys: Any, values: Any) -> dict[Any, Any]:
        return self._fill(self._kept(Counter()), keys, values)

    def _fill(self, made: dict[Any, Any], keys: Any, values: Any) -> dict[Any, Any]:
        all_keys, all_values = self.value(keys), self.value(values)
        _check_keys(all_keys)
        dict.update(made, zip(all_keys, all_values, strict=True))
        return made

    def _deque(self, size: Any, items: Any) -> deque[Any]:
        made: deque[Any] = self._kept(deque(maxlen=size))
        made.extend(self.value(items))
        return made

    def _numpy(self, dtype: str, shape: list[int], data: bytes) -> NDArray[Any]:
        values = np.frombuffer(bytearray(data), dtype=_known(dtype, DTYPES))
        if any(size < 0 for size in shape):
            raise BadCheckpoint("an array has a negative size")
        return self._kept(values.reshape(shape))  # type: ignore[no-any-return] # an array

    def _scalar(self, dtype: str, data: bytes) -> Any:
        (value,) = np.frombuffer(data, dtype=_known(dtype, DTYPES))
        return value

    def _array(self, typecode: str, data: bytes) -> "array[int]":
        return self._kept(array(_known(typecode, TYPECODES), data))  # type: ignore[no-any-return] # an array

    def _bytes(self, data: bytes) -> bytearray:
        _check_type(data, bytes)
        return self._kept(bytearray(data))  # type: ignore[no-any-return] # a bytearray

    def _stored_outside(self, *values: Any) -> Any:
        _check_plain(values)
        return self._kept(self._outside(*values))

    def _keys(self, data: bytes) -> KeySet:
        keys = KeySet()
        keys._sorted = np.frombuffer(data, dtype=np.int64).copy()
        if not np.all(keys._sorted[1:] > keys._sorted[:-1]):
            raise BadCheckpoint("the keys are not sorted")
        return self._kept(keys)  # type: ignore[no-any-return] # a set of keys

    def _key_numbers(self, data: bytes) -> KeyNumbers:
        _check_type(data, bytes)
        return self._kept(KeyNumbers(data))  # type: ignore[no-any-return] # numbers

    def _open_queries(self, turn: int, items: Any) -> OpenQueries:
        made: OpenQueries = self._kept(OpenQueries())
        made.extend(self.value(items))
        made._turn = turn
        _check_type(turn, int)
        for each in made:
            _check_type(each, OpenQuery)
        return made

    def _attributes(self, names: list[str], *columns: bytes) -> Any:
        if compiled is None:
            raise BadCheckpoint("written with native code")
        return self._kept(compiled.Attributes(tuple(names), *columns))

    def _random(self, state: bytes, inc: bytes, has_uint32: int, uinteger: int) -> np.random.Generator:
        made = np.random.Generator(np.random.PCG64(0))
        made.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": int.from_bytes(state, "little"), "inc": int.from_bytes(inc, "little")},
            "has_uint32": int(bool(has_uint32)),
            "uinteger": uinteger & 0xFFFFFFFF,
        }
        return self._kept(made)  # type: ignore[no-any-return] # a generator

    def _tree(self, *parts: Any) -> TagTree:
        tree = object.__new__(TagTree)
        self._read.append(tree)
        names = [each.name for each in fields(TagTree)]
        state = {name: self.value(part) for name, part in zip(names, parts, strict=True)}
        check_signatures = fits(list[tuple[int, str, str, int, str | None, bool]])
        if not check_signatures(state["signatures"]):
            raise BadCheckpoint("the signatures of a page are of another type")
        if any(not -1 <= parent[0] < number for number, parent in enumerate(state["signatures"])):
            raise BadCheckpoint("a signature is above itself")
        tree.__setstate__(state)
        for name, _, is_valid in _checks(TagTree):
            if not is_valid(getattr(tree, name)):
                raise BadCheckpoint(f"TagTree.{name} is of another type")
        if not _is_consistent(tree):
            raise BadCheckpoint("the columns of a page do not fit together")
        return tree


_READERS: Mapping[str, Callable[..., Any]] = {
    "l": _Reader._list, "L": _Reader._list_of_nodes, "t": _Reader._tuple, "T": _Reader._tuple_of_nodes, "s": _Reader._set, "S": _Reader._set_of_nodes,
    "f": _Reader._frozenset, "F": _Reader._frozenset_of_nodes, "ref": _Reader._ref, "d": _Reader._dict, "counter": _Reader._counter,
    "deque": _Reader._deque, "n": _Reader._numpy, "g": _Reader._scalar,
    "a": _Reader._array, "b": _Reader._bytes, "outside": _Reader._stored_outside, "keys": _Reader._keys, "numbers": _Reader._key_numbers,
    "open": _Reader._open_queries, "attributes": _Reader._attributes, "random": _Reader._random, "tree": _Reader._tree,
}  # fmt: skip


def _check_plain(values: Iterable[object]) -> None:
    if not _are_plain(map(type, values)):
        raise BadCheckpoint("a container of plain values has others")


def _check_type(value: object, kind: type) -> None:
    if type(value) is not kind:
        raise BadCheckpoint(f"{type(value).__name__} instead of {kind.__name__}")


def _check_keys(keys: Collection[object]) -> None:
    if _are_texts(map(type, keys)):
        return
    if any(type(key) is float or (type(key) is int and not -MAX_KEY < key < MAX_KEY) for key in keys):
        raise BadCheckpoint("a key is out of range")


def _known(name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise BadCheckpoint(f"unknown type {name!r}")
    return name


def _is_consistent(tree: TagTree) -> bool:
    """Return True if all indices of a page are in range and its subtrees are nested."""
    rows, chunks, number = len(tree.signature), len(tree.chunks), np.arange(len(tree.signature))
    columns = (tree.parent, tree.end, tree.text_at, tree.text_end)
    if any(column.shape != (rows,) for column in (tree.signature, *columns)):
        return False
    if tree.chunk_row.shape != (chunks,) or tree.chunk_gap.shape != (chunks,) or not rows:
        return False
    parent, is_root = tree.parent[1:], tree.parent[0] == -1
    return bool(
        is_root
        and np.all((tree.signature >= 0) & (tree.signature < len(tree.signatures)))
        and np.all((parent >= 0) & (parent < number[1:]))
        and np.all((tree.end > number) & (tree.end <= rows))
        and np.all(tree.end[1:] <= tree.end[parent])
        and np.all((tree.text_at >= 0) & (tree.text_at <= tree.text_end) & (tree.text_end <= chunks))
        and np.all((tree.chunk_row >= 0) & (tree.chunk_row < rows))
        and np.all((tree.chunk_gap >= 0) & (tree.chunk_gap <= 2))
    )


# Types of fields


@cache
def _checks(cls: type) -> Sequence[tuple[str, Any, Callable[[Any], bool]]]:
    """Return for each field of a class its name, its exact type if it is a class, and the check for values of other types."""
    hints = dict(_classes()[cls].fields) if cls is not TagTree else get_type_hints(TagTree)
    if cls is TagTree and compiled is not None:
        hints["attributes"] |= compiled.Attributes
    return [(name, hint, fits(hint)) for name, hint in hints.items() if hint is not Any]
