"""The switches of the demo site: each makes it another kind of site, or harder to harvest."""

from dataclasses import dataclass, fields
from typing import Literal

from upwell.demo.cities import Order
from upwell.demo.pages import LAYOUTS, Layout
from upwell.errors import WrongUsage

__all__ = ["FAULTS", "Fault", "Switches"]

Fault = Literal["", "500", "503", "429", "hang", "reset", "truncated", "length", "loop"]
FAULTS: tuple[Fault, ...] = ("500", "503", "429", "hang", "reset", "truncated", "length", "loop")


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What can be changed about the demo site; the defaults are a well-behaved site."""

    limit: int = 200  # the result cap: matches that a query can reach, over all its pages
    page_size: int = 20
    largest_page: int = 0  # answers offer page sizes up to this one (0: only `page_size`)
    order: Order = "relevance"  # relevance, rank (population) or none (arbitrary, but the same each time for a query)
    latency: float = 0.0  # seconds before each answer
    post: bool = False  # the form is sent by POST
    script: Literal["none", "form", "results"] = "none"  # what exists only after JavaScript ran
    token: bool = False  # the form holds a session token; a search without a valid one is sent to the home page
    layout: Layout = "list"  # how answers are written, see `upwell.demo.pages`
    drift_after: int = 0  # after this many answers the layout and its class names change (0: never)
    country: str = ""  # only the cities of this country, by its code: a small site
    edition: int = 0  # in a later edition a fiftieth of the cities is gone, and another fiftieth has grown
    fault: Fault = ""  # what goes wrong
    fault_rate: float = 0.0  # the share of answers on which it does
    login_wall: bool = False  # only visitors who are signed in may search
    crawl_delay: float = 0.0  # seconds, as robots.txt says
    disallow: str = "/trip"  # the path that robots.txt forbids
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise WrongUsage(f"layout {self.layout!r} is none of {', '.join(LAYOUTS)}")
        if self.fault and self.fault not in FAULTS:
            raise WrongUsage(f"fault {self.fault!r} is none of {', '.join(FAULTS)}")
        if self.page_size < 1 or self.limit < 1:
            raise WrongUsage(f"page_size {self.page_size} and limit {self.limit} must be at least 1")

    @classmethod
    def parse(cls, settings: list[str]) -> "Switches":
        """Switches from `name=value` texts, as the command line has them."""
        types: dict[str, type[object]] = {field.name: type(field.default) for field in fields(cls)}
        values: dict[str, object] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in types:
                raise WrongUsage(f"--set {setting}: no switch {name!r}; there are {', '.join(sorted(types))}")
            kind = types[name]
            try:
                values[name] = value.lower() in ("1", "true", "yes", "on", "") if kind is bool else kind(value)  # type: ignore[call-arg] # str, int and float take a text
            except ValueError:
                raise WrongUsage(f"--set {setting}: {value!r} is not {kind.__name__}") from None
        return cls(**values)  # type: ignore[arg-type] # checked against the fields above
