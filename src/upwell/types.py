"""Values that packages exchange: frozen, picklable, without parser or driver objects.

Request → Response             an HTTP request and its response
LinkContext                    what the page says about the link or button behind a request
Decision                       why a request is sent: the candidate chosen and those compared with it
ArchivedBody                   location of a response body in the archive
Outcome                        how a request ended, and its cost
BrowserVisit → RenderedPage    a page to open in the browser, and its content after JavaScript
PageStep, PageChange           what a script requests for the next page, and the values that change
Form, Field                    a form of a page, and its purpose
SearchInterface                how a source is queried: FormInterface, AddressInterface, JsonInterface, TypedInterface;
                               or fetched as a whole: IndexInterface, ListInterface
Record                         one match in an answer, with its fields
Estimate                       a number with its 95 % interval
Skipped                        a page that could not be used, and why
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple

__all__ = [
    "JSON_TYPE",
    "PAGE_FIELDS_NOTE",
    "PAGE_PREFIX",
    "PAGE_TEMPLATE",
    "AddressInterface",
    "ArchivedBody",
    "BrowserVisit",
    "Decision",
    "Estimate",
    "Field",
    "FilterKind",
    "Form",
    "FormFilter",
    "FormInterface",
    "FormKind",
    "IndexInterface",
    "JsonInterface",
    "Kind",
    "LinkContext",
    "ListInterface",
    "Outcome",
    "PageChange",
    "PageChangeKind",
    "PageStep",
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

JSON_TYPE = "application/json"
PAGE_PREFIX = "page."  # prefix of the names of fields that come from record pages and not from answers
PAGE_FIELDS_NOTE = "page fields"  # note in the state: the source of the name of each field of record pages
PAGE_TEMPLATE = "_template"  # field of a record page with the number of its page template

Kind = Literal["multi", "single", "none", "error"]  # of an answer: several records, one record, none, or an error
FormKind = Literal["search", "login", "registration", "password recovery", "contact", "mailing list", "order", "other"]
# A number that grows by a fixed amount or by the records shown, or a value of the answer before.
PageChangeKind = Literal["count", "offset", "cursor"]
Via = Literal[
    "search-action", "opensearch", "form", "link", "browser", "index", "list", "sitemap"
]  # how a search interface was found


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
class LinkContext:
    """What a page says about a link, button or form: the evidence, besides the request itself, for what following it does."""

    label: str = ""  # visible text of the link or button, and the alternative text of its images
    hints: tuple[str, ...] = ()  # title, aria-label and similar texts
    marks: tuple[str, ...] = ()  # class, id, name, data-method, icons and click handler
    around: str = ""  # text before the link; visible text of the form of a button
    is_button: bool = False
    alike: int = 0  # links of the page at the same place of its template
    same_label: int = 0  # those of them that have the same label
    charset: str = ""  # of the page
    # names of the arguments that hold the query; None: the arguments with its value
    query_fields: tuple[str, ...] | None = None
    is_search: bool = False  # address or button of the form say that it searches
    is_typed: bool = (
        False  # a script posts what was typed into a search box; verbs in it are steps of the page's framework
    )
    is_script: bool = False  # a script that a page loads; its file name says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    content_type: str = ""
    query: str = ""  # the query that it sends, if any; stored in the archive
    headers: tuple[tuple[str, str], ...] = ()  # set by a script of the page; the site may require them
    # how the request is handled; not sent
    reuses: bool = field(default=False, compare=False)  # a response to the same request earlier in this run may be used
    is_of_session: bool = field(
        default=False, compare=False
    )  # what is answered depends on earlier requests; never reused
    is_consent: bool = field(default=False, compare=False)  # it clicks the button of a consent page
    decision: Decision | None = field(default=None, compare=False, repr=False)  # why it is sent
    context: LinkContext | None = field(default=None, compare=False, repr=False)  # what the page says about the link


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedBody:
    """Location of a body in the archive: WARC file, offset of the record, and digest of the body."""

    file: str
    offset: int
    digest: str  # as in WARC-Payload-Digest: "sha1:" and base 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Response to a request: the URL after redirects, and the decompressed body."""

    request: Request
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    blocked: str = ""  # why this is a refusal instead of an answer; "" if it is an answer or was not checked
    archived: ArchivedBody | None = field(default=None, compare=False)  # location of the body, if it is archived
    received_at: float = field(default=0.0, compare=False)  # seconds since 1970; 0: now
    number: int = field(default=0, compare=False)  # of the request in the state of the harvest; 0: not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a request ended, with a response or an error, and what it cost."""

    response: Response | None = None
    error: str = ""  # why there is no response
    sent: int = 1  # requests, including redirects and retries
    bytes: int = 0  # received
    is_unreadable: bool = False  # the answer ended the process that read it


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserVisit:
    """A page to open in the browser, and a query to type into its search box ("": none)."""

    url: str
    query: str = ""
    # typed one after the other to find out how the page searches, followed by words of the page
    trial_queries: tuple[str, ...] = ()
    decision: Decision | None = field(default=None, compare=False, repr=False)  # why it is visited


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuery:
    """Content of a page after a query was typed into it, and the requests that its scripts sent then."""

    query: str
    url: str
    html: str  # without the text of scripts
    calls: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageStep:
    """Two requests of a page's scripts: one page of an answer, and the next page after scrolling or a click."""

    request: Request
    following: Request
    answer: str  # to the first request, in which a cursor may be


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """Content of a page after JavaScript, and the requests that its scripts sent since the query was typed."""

    url: str
    html: str
    calls: tuple[Request, ...] = ()
    typed: tuple[TypedQuery, ...] = ()  # results of the trial queries
    data: tuple[str, ...] = ()  # URLs of fetched data with many similar objects, the largest first
    steps: tuple[PageStep, ...] = ()  # what scripts requested for a next page
    refused: tuple[str, ...] = ()  # addresses to which a script of the page was not allowed to post
    has_box: bool = True  # False: queries were to be typed, and the page shows no search box
    routes: tuple[str, ...] = ()  # paths of lists that the scripts of the page name, such as /things for /things/:id
    number: int = 0  # of the visit in the state of the harvest; 0: not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control of a form."""

    row: int  # of its element in the page's tree
    name: str
    type: str
    preset: tuple[str, ...] = ()  # values that a browser sends by default; a `multiple` select may have several
    choices: tuple[str, ...] = ()  # values of a select, checkbox, radio or submit button
    words: str = ""  # label, placeholder, id and similar texts that describe the field
    is_required: bool = False  # a browser does not submit the form while it is empty
    min_chars: int = 0  # minimum length of a text that a browser submits


FilterKind = Literal["choice", "number", "date"]


class FormFilter(NamedTuple):
    """Controls of a form that narrow its answers: one with several values, or the two ends of a range."""

    names: tuple[str, ...]  # of the field, or of the fields for the lower and the upper end
    kind: FilterKind
    values: tuple[str, ...] = ()  # of a choice, those that narrow
    any_value: str = ""  # of a choice, the one that narrows nothing
    is_optional: bool = True  # False: every value narrows
    format: str = ""  # of dates, as for `strftime`


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of a page, and its purpose."""

    index: int  # among the forms of the page, in document order
    kind: FormKind
    score: float  # confidence, 0 … 1
    query_field: str | None  # field for the query, if it is a search form with a text field
    method: Literal["GET", "POST"]
    action: str  # URL that it is sent to
    fields: tuple[Field, ...]
    charset: str = "utf-8"
    enctype: str = ""  # of a POST, if it is not application/x-www-form-urlencoded
    acts: tuple[str, ...] = ()  # words that show that submitting it changes something, so that it is not a search form


class PageChange(NamedTuple):
    """A value of a script's request that changes from one page to the next."""

    kind: PageChangeKind
    place: tuple[str, ...]  # in the request (`urls.request_values`); empty: the whole URL
    # count: what is added; cursor: the place in the answer of the value for the next page
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    """Attributes of every search interface."""

    url: str
    score: float = 1.0  # confidence, 0 … 1
    via: Via = "form"  # how it was found
    page: str = ""  # URL of the page that contains it, which sets cookies and tokens
    rendered: bool = False  # answers need JavaScript
    headers: tuple[tuple[str, str], ...] = ()  # as Request.headers
    page_changes: tuple[PageChange, ...] = ()  # how a script requests the next page; empty: not observed

    def as_dict(self) -> dict[str, Any]:
        """Return the interface for JSON: the same keys for every type, with empty values for attributes that a type does not have.

        >>> saved = JsonInterface(url="http://x/api", body='{"q": "{query}"}').as_dict()
        >>> saved["method"], saved["query_field"], saved["body"]
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
    "content_type": JSON_TYPE,
    "page_changes": (),
    "rendered": False,
    "headers": (),
    "address": (),
    "is_whole": False,
    "examples": (),
    "filters": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInterface(_Interface):
    """A form with a field for the query, or a URL with an argument for it."""

    method: Literal["GET", "POST"]
    query_field: str
    fields: tuple[tuple[str, str], ...] = ()  # in document order, including the query field with an empty value
    charset: str = "utf-8"
    tokens: tuple[str, ...] = ()  # names of fields whose values expire and are fetched again before each request
    choices: tuple[str, ...] = ()  # the queries that it accepts, if the query field is a select; empty: any text
    enctype: str = ""  # as Form.enctype
    min_chars: int = 0  # minimum length of a query
    filters: tuple[FormFilter, ...] = ()  # its controls that narrow answers


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithoutField(_Interface):
    """An interface without a form field for the query."""

    @property
    def query_field(self) -> str:
        """Return "": the query is not sent in a field."""
        return ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Return (): queries are not restricted to a list."""
        return ()

    @property
    def min_chars(self) -> int:
        """Return 0: queries may have any length."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressInterface(_WithoutField):
    """A URL that contains `{query}`."""

    method: Literal["GET", "POST"] = "GET"
    fields: tuple[tuple[str, str], ...] = ()  # sent in the body of a POST


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonInterface(_WithoutField):
    """A POST whose JSON body contains `{query}`, in a text at any depth."""

    body: str
    content_type: str = JSON_TYPE  # some scripts name another, to be allowed to send it to another host

    @property
    def method(self) -> Literal["POST"]:
        """Return POST."""
        return "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageInterface(_WithoutField):
    """A page that is requested as it is, without a query."""

    @property
    def method(self) -> Literal["GET"]:
        """Return GET."""
        return "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedInterface(_PageInterface):
    """A search box whose answers have no URL, so that every query is typed in the browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInterface(_PageInterface):
    """A response with all records, in which the site's own search looks: it is fetched once and not queried."""

    # how the URL of a record is formed: a column, and the text before and after its value
    address: tuple[str, str, str] = ("", "", "")
    is_whole: bool = False  # the page was observed to answer queries from it alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInterface(_PageInterface):
    """A list of records without a query, for sites without a search; a sitemap lists record pages."""

    examples: tuple[str, ...]  # URLs of records that it lists


SearchInterface = FormInterface | AddressInterface | JsonInterface | TypedInterface | IndexInterface | ListInterface


def interface_of(saved: Mapping[str, Any]) -> SearchInterface:
    """Return the interface that `as_dict` saved.

    >>> form = FormInterface(method="GET", url="http://x/find", query_field="q", fields=(("q", ""),))
    >>> interface_of(form.as_dict()) == form
    True
    >>> index = IndexInterface(url="http://x/all.json", address=("id", "http://x/", ""), is_whole=True, via="index")
    >>> listed = ListInterface(url="http://x/all", examples=("http://x/1",), via="list")
    >>> interface_of(index.as_dict()) == index, interface_of(listed.as_dict()) == listed
    (True, True)
    """
    has_mark = "{query}" in saved["url"] or any("{query}" in value for _, value in saved["fields"])
    kind: type[SearchInterface] = AddressInterface if has_mark else TypedInterface
    if saved["via"] in ("index", "list", "sitemap"):
        kind = IndexInterface if saved["via"] == "index" else ListInterface
    elif saved["body"] or saved["query_field"]:
        kind = JsonInterface if saved["body"] else FormInterface
    known = {**saved, "choices": tuple(saved["values"]), "fields": tuple((n, v) for n, v in saved["fields"])}
    known["tokens"] = tuple(saved["tokens"])
    known["filters"] = tuple(
        FormFilter(tuple(names), kind, tuple(values), *others)
        for names, kind, values, *others in saved.get("filters", ())
    )
    known["headers"] = tuple((name, value) for name, value in saved.get("headers", ()))
    known["address"], known["examples"] = tuple(saved.get("address", ())), tuple(saved.get("examples", ()))
    known["page_changes"] = tuple(
        PageChange(change, tuple(place), tuple(source)) for change, place, source in saved.get("page_changes", ())
    )
    return kind(**{part.name: known[part.name] for part in fields(kind) if part.name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One match in an answer."""

    key: str  # identical whenever the record is seen
    url: str | None  # of its record page
    path: str  # of its first element on the page
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()  # targets of its links, as written in the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimated number and its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A page that could not be used; it is counted and reported, never raised."""

    stage: str  # of the processing: fetch, learn, extract …
    page: str
    reason: str
