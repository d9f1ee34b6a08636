"""The source model: all that was learned about the answers of a source.

`source.learn` makes it, `source.apply` reads answers with it; it is small, readable and versioned, and is saved as `source.json`.
"""

import json
from dataclasses import asdict, dataclass, field
from dataclasses import fields as fields_of
from typing import Any

from upwell.answers.empty import EmptyModel
from upwell.answers.roles import Roles
from upwell.errors import WrongUsage
from upwell.extract.columns import Column, Columns
from upwell.extract.cut_rules import CutRule

__all__ = ["SourceModel", "load", "load_all"]

VERSION = 5  # of `source.json`; a file of another version is refused


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """What an answer of the source looks like."""

    version: int = VERSION
    rules: tuple[CutRule, ...] = ()  # how answers are cut into records, the rule that most answers follow first
    columns: Columns = field(default_factory=Columns)
    fits: float = 0.0  # share of the answers it was learned from that have records
    agrees: float | None = (
        None  # of those that say how many records they show, the share that shows as many as were found
    )
    empty: EmptyModel = field(default_factory=EmptyModel)  # what answers without records say
    asked_at: str = ""  # the path that most answers came from
    volatile: tuple[str, ...] = ()  # URL arguments that change while the record stays the same
    keyed_by_content: bool = False  # the addresses of records do not last: the same record comes with another one
    has_addresses: bool = False  # nearly every record has an address: what has none is no record
    frame: tuple[str, ...] = ()  # texts that most answers have
    roles: Roles = field(default_factory=Roles)  # what the arguments of its addresses are for
    next_link: tuple[str, ...] = ()  # where a person said that the link to the next page is: its spot, and its text

    @property
    def pagelet(self) -> str:
        """Where the records are, as a path."""
        return self.rules[0].container if self.rules else ""

    @property
    def leader(self) -> str:
        """What each record begins with; "" where nothing was learned."""
        return f"{self.rules[0].how} {self.rules[0].leader or 'text'}" if self.rules else ""

    def to_json(self) -> str:
        """As `source.json` has it."""
        return json.dumps(
            {**asdict(self), "roles": self.roles.as_dict(), "empty": self.empty.as_dict()}, ensure_ascii=False, indent=1
        )


def load(text: str) -> SourceModel:
    """A model from the text of a `source.json` of one source."""
    models = load_all(text)
    if len(models) != 1:
        raise WrongUsage(f"this source.json has {len(models)} sources; cut out the one whose answers these are")
    return models[0]


def load_all(text: str) -> tuple[SourceModel, ...]:
    """The models of a `source.json`: a site may have several sources."""
    try:
        saved = json.loads(text)
        models = tuple(_from_dict(model) for model in (saved if isinstance(saved, list) else [saved]))
        if not models:
            raise ValueError("it is empty")
        return models
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WrongUsage(f"this is no source.json ({error!r}); learn the source again") from error


def _from_dict(saved: dict[str, Any]) -> SourceModel:
    if saved["version"] != VERSION:
        raise WrongUsage(
            f"source.json is of version {saved['version']}, this Upwell reads {VERSION}; learn the source again"
        )
    names = {part.name for part in fields_of(SourceModel)}
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in saved.items() if n in names}
    columns = saved["columns"]
    values["rules"] = tuple(CutRule(**rule) for rule in saved["rules"])
    values["columns"] = Columns(
        columns=tuple(Column(**column) for column in columns["columns"]),
        labels=tuple(columns["labels"]),
        marks=tuple(columns["marks"]),
        link=columns["link"],
        pictures=columns["pictures"],
        heading=columns.get("heading", ""),
    )
    values["roles"] = Roles.of_dict(saved["roles"]) if "roles" in saved else Roles()
    values["empty"] = EmptyModel.of_dict(saved["empty"])
    return SourceModel(**values)
