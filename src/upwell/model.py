"""The values that rooms hand to each other: frozen, picklable, without parser or driver objects.

Request → Response   what is sent and what came back
Outcome              what came of a request: a response, or why there is none
Look → Seen          a page to show in the browser, and what it showed
Form, Field          a form of a page, as it was judged
SearchInterface      how a source is asked: FormInterface, AddressInterface or JsonInterface
Record               one match with its fields
Estimate             a number with its 95 % interval
Skipped              a page that could not be used, and why
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = [
    "AddressInterface",
    "Estimate",
    "Field",
    "Form",
    "FormInterface",
    "FormKind",
    "JsonInterface",
    "Kind",
    "Look",
    "Outcome",
    "Record",
    "Request",
    "Response",
    "SearchInterface",
    "Seen",
    "Skipped",
    "Via",
]

Kind = Literal["multi", "single", "none", "error"]
FormKind = Literal["search", "login", "registration", "password recovery", "contact", "mailing list", "order", "other"]
Via = Literal["search-action", "opensearch", "form", "link", "browser"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request, complete."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    content_type: str = ""
    query: str = ""  # what it asks for, where it asks; kept in the archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back: the address after redirects, and the body as it was after decompression."""

    request: Request
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    blocked: str = ""  # why this is no answer but a refusal, where that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request: a response, or why there is none; and what it took."""

    response: Response | None = None
    error: str = ""
    sent: int = 1  # requests, with redirects and repeated tries
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A page to be looked at in the browser, and a query to be typed into its search box."""

    url: str
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the browser shows: the page after JavaScript, and the requests that were made since the query was typed."""

    url: str
    html: str
    calls: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control of a form."""

    row: int  # in the page's tree
    name: str
    type: str
    preset: tuple[str, ...] = ()  # what a browser sends of it untouched; several of a select with `multiple`
    choices: tuple[
        str, ...
    ] = ()  # what it can be set to, where that is not any text; of a submit button: what it sends
    words: str = ""  # label, placeholder, id and the like: what says what the field is for


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of a page, in document order, with what it was judged to be."""

    index: int
    kind: FormKind
    score: float  # how sure: 0 … 1
    query_field: str | None
    method: Literal["GET", "POST"]
    action: str
    fields: tuple[Field, ...]
    charset: str = "utf-8"
    enctype: str = ""  # of a POST, where it is not application/x-www-form-urlencoded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    """What every search interface has."""

    url: str
    score: float = 1.0  # how sure: 0 … 1
    via: Via = "form"  # how it was found
    page: str = ""  # the page that offers it: cookies and tokens come from there
    rendered: bool = False  # its answers exist only after JavaScript

    def as_dict(self) -> dict[str, Any]:
        """As JSON files keep it: the same keys for every type, empty where a type has no such thing.

        >>> said = JsonInterface(url="http://x/api", body='{"q": "{query}"}').as_dict()
        >>> said["method"], said["query_field"], said["body"]
        ('POST', '', '{"q": "{query}"}')
        """
        own = asdict(self)
        own["values"] = own.get("choices", ())
        return {name: own.get(name, empty) for name, empty in _EMPTY.items()}


_EMPTY: dict[str, Any] = {
    "method": "POST",  # of JsonInterface
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
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInterface(_Interface):
    """A form, or an address that is made like one, with a field that takes the query."""

    method: Literal["GET", "POST"]
    query_field: str
    fields: tuple[tuple[str, str], ...] = ()  # in document order; the query field is among them, empty
    charset: str = "utf-8"
    tokens: tuple[str, ...] = ()  # the names of fields whose value must be fetched anew before each request
    choices: tuple[str, ...] = ()  # where the query field is a select: the only queries that it takes
    enctype: str = ""  # as Form.enctype


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressInterface(_Interface):
    """An address with `{query}` in it."""

    method: Literal["GET", "POST"] = "GET"
    fields: tuple[tuple[str, str], ...] = ()  # sent besides, in the body of a POST

    @property
    def query_field(self) -> str:
        """No field takes the query."""
        return ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Any text may be asked for."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonInterface(_Interface):
    """A POST whose JSON body has `{query}` in it."""

    body: str

    @property
    def method(self) -> Literal["POST"]:
        """JSON is always posted."""
        return "POST"

    @property
    def query_field(self) -> str:
        """No field takes the query."""
        return ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Any text may be asked for."""
        return ()


SearchInterface = FormInterface | AddressInterface | JsonInterface


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One match: its fields by name, and where it came from."""

    key: str
    url: str | None
    path: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()  # targets of its links, as the page writes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number that was not counted: the estimate and the ends of its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One page that could not be used: counted and reported, never raised."""

    stage: str
    page: str
    reason: str
