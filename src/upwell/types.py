"""The values that packages hand to each other: frozen, picklable, without parser or driver objects.

Request → Response             what is sent over HTTP and what came back
Decision                       why a request is sent: the candidate chosen and those that were compared with it
ArchivedBody                   where the archive holds the body of a response
Outcome                        how a request ended, and what it cost
BrowserVisit → RenderedPage    a page to show in the browser, and what it shows
Form, Field                    a form of a page, and what it is for
SearchInterface                how a source is asked: FormInterface, AddressInterface, JsonInterface, TypedInterface;
                               or taken whole: IndexInterface, ListInterface
Record                         one match in an answer, with its fields
Estimate                       a number with its 95 % interval
Skipped                        a page that could not be used, and why
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple

__all__ = [
    "PAGE",
    "TEMPLATE",
    "AddressInterface",
    "ArchivedBody",
    "BrowserVisit",
    "Decision",
    "Estimate",
    "Field",
    "Form",
    "FormInterface",
    "FormKind",
    "IndexInterface",
    "JsonInterface",
    "Kind",
    "ListInterface",
    "Outcome",
    "Record",
    "RenderedPage",
    "Request",
    "Response",
    "SearchInterface",
    "Skipped",
    "TypedInterface",
    "TypedQuery",
    "Via",
    "WeighedCandidate",
    "interface_of",
]

PAGE = "page."  # begins the name of a field that the own page of a record has, beside those of the lists
TEMPLATE = "_template"  # the field of a record's own page that says which template of its source it is of

Kind = Literal["multi", "single", "none", "error"]  # of an answer: several records, one, none, or no answer at all
FormKind = Literal["search", "login", "registration", "password recovery", "contact", "mailing list", "order", "other"]
Via = Literal[
    "search-action", "opensearch", "form", "link", "browser", "index", "list", "sitemap"
]  # how an interface was found


class WeighedCandidate(NamedTuple):
    """A candidate as a decision records it."""

    kind: str  # `choose.expected_yield.CandidateKind`; of a request that no comparison chose: its purpose, such as "probe"
    text: str = ""  # the query, or the URL of a facet, sort order or list
    page: int = 1  # of its answer; 1: it has not been asked yet
    expected: float | None = None  # new records per request; None: chosen without a comparison
    total: float | None = None  # new records expected of all its remaining pages
    pages: float | None = None  # remaining pages
    # what was compared: `total` minus the records that as many requests would return at a good share of the best yield
    value: float | None = None


class Decision(NamedTuple):
    """The candidate that a request was sent for, and the best of those that were compared with it."""

    chosen: WeighedCandidate
    others: tuple[WeighedCandidate, ...] = ()  # best first; a few of them
    prefers_list: bool = False  # chosen because it lists everything, not because of the highest value
    source: str = ""  # URL of the search interface

    @property
    def runner_up(self) -> WeighedCandidate | None:
        """Return the candidate that would have been chosen without this one."""
        return self.others[0] if self.others else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    content_type: str = ""
    query: str = ""  # the query that it asks, where it asks one; kept in the archive
    headers: tuple[tuple[str, str], ...] = ()  # of a page's script, without which the site answers otherwise
    # how it is treated here; none of these is a part of what is sent
    reuses: bool = field(default=False, compare=False)  # an answer that this run had before will do
    passes_gate: bool = field(default=False, compare=False)  # it presses a button of a page in front of the site
    decision: Decision | None = field(default=None, compare=False, repr=False)  # why it is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedBody:
    """Where the archive holds a body: a WARC file of its folder, the offset of the record in it, and the body's digest."""

    file: str
    offset: int
    digest: str  # as in WARC-Payload-Digest: "sha1:" and base 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back: the address after redirects, and the decompressed body."""

    request: Request
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    blocked: str = ""  # why this is a refusal and no answer; "" where it is an answer or nobody has looked
    archived: ArchivedBody | None = field(default=None, compare=False)  # where the body lies in the archive, if it does
    came_at: float = field(default=0.0, compare=False)  # seconds since 1970; 0: just now
    number: int = field(default=0, compare=False)  # of the request in the state of the harvest; 0: not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a request ended, with a response or an error, and what it cost."""

    response: Response | None = None
    error: str = ""  # why there is no response
    sent: int = 1  # requests, with redirects and repeated tries
    bytes: int = 0  # received


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserVisit:
    """A page to show in the browser, and a query to type into its search box ("": nothing is typed)."""

    url: str
    query: str = ""
    # other than `query`, these are typed one after the other to find out how the page searches, and words of the page after them
    trial_queries: tuple[str, ...] = ()
    decision: Decision | None = field(default=None, compare=False, repr=False)  # why it is visited


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuery:
    """What the browser shows after a query was typed into a page, and the requests that scripts made then."""

    query: str
    url: str
    html: str  # without the text of scripts
    calls: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """What the browser shows: the page after JavaScript, and the requests that its scripts made since the query was typed."""

    url: str
    html: str
    calls: tuple[Request, ...] = ()
    typed: tuple[TypedQuery, ...] = ()  # what trial queries brought
    data: tuple[str, ...] = ()  # addresses of what scripts fetched that holds many alike objects, the largest first
    number: int = 0  # of the visit in the state of the harvest; 0: not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control of a form."""

    row: int  # in the page's tree
    name: str
    type: str
    preset: tuple[str, ...] = ()  # what a browser sends when nobody touches it; a `multiple` select may send several
    choices: tuple[str, ...] = ()  # what a select, checkbox or radio can be set to; what a submit button sends
    words: str = ""  # label, placeholder, id and the like, which say what the field is for
    is_required: bool = False  # a browser does not send the form as long as it is empty
    min_chars: int = 0  # of a text, below which a browser does not send it


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of a page, and what it is for."""

    index: int  # among the forms of the page, in document order
    kind: FormKind
    score: float  # how sure: 0 … 1
    query_field: str | None  # the field that takes the query, where it is a search form with a text field
    method: Literal["GET", "POST"]
    action: str  # the address that it is sent to
    fields: tuple[Field, ...]
    charset: str = "utf-8"
    enctype: str = ""  # of a POST, where it is not application/x-www-form-urlencoded
    acts: tuple[str, ...] = ()  # words that say that sending it changes something: then it is no search form


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    """What every search interface has."""

    url: str
    score: float = 1.0  # how sure: 0 … 1
    via: Via = "form"  # how it was found
    page: str = ""  # the page that offers it: cookies and tokens come from there
    rendered: bool = False  # its answers exist only after JavaScript
    headers: tuple[tuple[str, str], ...] = ()  # as Request.headers

    def as_dict(self) -> dict[str, Any]:
        """As JSON files keep it: the same keys for every type, empty where a type has no such thing.

        >>> said = JsonInterface(url="http://x/api", body='{"q": "{query}"}').as_dict()
        >>> said["method"], said["query_field"], said["body"]
        ('POST', '', '{"q": "{query}"}')
        """
        own = asdict(self)
        own["values"] = own.get("choices", ())
        own["method"] = getattr(self, "method", "")
        return {name: own.get(name, default) for name, default in _JSON_DEFAULTS.items()}


_JSON_DEFAULTS: dict[str, Any] = {
    "method": "GET",
    "url": "",
    "query_field": "",
    "fields": (),
    "charset": "utf-8",
    "score": 1.0,
    "via": "form",
    "page": "",
    "tokens": (),
    "values": (),
    "enctype": "",
    "body": "",
    "rendered": False,
    "headers": (),
    "address": (),
    "is_whole": False,
    "examples": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInterface(_Interface):
    """A form with a field that takes the query, or an address with an argument that does."""

    method: Literal["GET", "POST"]
    query_field: str
    fields: tuple[tuple[str, str], ...] = ()  # in document order; the query field is among them, empty
    charset: str = "utf-8"
    tokens: tuple[str, ...] = ()  # the names of fields whose values grow old: they are fetched anew before each request
    choices: tuple[str, ...] = ()  # the only queries that it takes, where the query field is a select; empty: any text
    enctype: str = ""  # as Form.enctype
    min_chars: int = 0  # of a query


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithoutField(_Interface):
    """An interface without a form field that takes the query."""

    @property
    def query_field(self) -> str:
        """No field of a request takes the query."""
        return ""

    @property
    def choices(self) -> tuple[str, ...]:
        """There is nothing to choose from."""
        return ()

    @property
    def min_chars(self) -> int:
        """Of any length."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressInterface(_WithoutField):
    """An address with `{query}` in it."""

    method: Literal["GET", "POST"] = "GET"
    fields: tuple[tuple[str, str], ...] = ()  # sent in the body of a POST


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonInterface(_WithoutField):
    """A POST whose JSON body has `{query}` in it."""

    body: str

    @property
    def method(self) -> Literal["POST"]:
        """JSON is always posted."""
        return "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageInterface(_WithoutField):
    """A page that is opened as it is: no request takes a query."""

    @property
    def method(self) -> Literal["GET"]:
        """It is a page like any other."""
        return "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedInterface(_PageInterface):
    """A search box whose answers are written into the page without an address: every query is typed in the browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInterface(_PageInterface):
    """A response that holds all records at once, which the site's own search looks into: it is taken whole, and asked for nothing."""

    # how a record's address is made: which column, what stands before its value, and what after it
    address: tuple[str, str, str] = ("", "", "")
    is_whole: bool = False  # the page was seen to answer queries from it alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInterface(_PageInterface):
    """A list of records that is walked through without a query, where a site has no search; a sitemap lists their own pages."""

    examples: tuple[str, ...]  # addresses of records that it lists


SearchInterface = FormInterface | AddressInterface | JsonInterface | TypedInterface | IndexInterface | ListInterface


def interface_of(saved: Mapping[str, Any]) -> SearchInterface:
    """The interface that `as_dict` wrote.

    >>> form = FormInterface(method="GET", url="http://x/find", query_field="q", fields=(("q", ""),))
    >>> interface_of(form.as_dict()) == form
    True
    >>> index = IndexInterface(url="http://x/all.json", address=("id", "http://x/", ""), is_whole=True, via="index")
    >>> walked = ListInterface(url="http://x/all", examples=("http://x/1",), via="list")
    >>> interface_of(index.as_dict()) == index, interface_of(walked.as_dict()) == walked
    (True, True)
    """
    kind: type[SearchInterface] = AddressInterface if "{query}" in saved["url"] else TypedInterface
    if saved["via"] in ("index", "list", "sitemap"):
        kind = IndexInterface if saved["via"] == "index" else ListInterface
    elif saved["body"] or saved["query_field"]:
        kind = JsonInterface if saved["body"] else FormInterface
    known = {**saved, "choices": tuple(saved["values"]), "fields": tuple((n, v) for n, v in saved["fields"])}
    known["tokens"] = tuple(saved["tokens"])
    known["headers"] = tuple((name, value) for name, value in saved.get("headers", ()))
    known["address"], known["examples"] = tuple(saved.get("address", ())), tuple(saved.get("examples", ()))
    return kind(**{part.name: known[part.name] for part in fields(kind) if part.name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One match in an answer."""

    key: str  # the same for all sightings of the record
    url: str | None  # of its record page
    path: str  # of its first element on the page
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()  # the targets of its links, as the page writes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimated number and its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A page that could not be used: counted and reported, never raised."""

    stage: str  # of the work: fetch, learn, extract …
    page: str
    reason: str
