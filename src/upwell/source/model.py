"""The source model: everything learned about the answers of a source, saved as `source.json`.

`source.learn` creates it and `source.apply` reads answers with it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from dataclasses import fields as fields_of
from typing import Any

from upwell.answers.argument_roles import Roles
from upwell.answers.kind import EmptyModel
from upwell.errors import WrongUsage
from upwell.records.cut_rules import CutRule
from upwell.records.record_columns import Column, Columns

__all__ = ["INTERFACE_KEY", "OWN_SOURCE", "SourceModel", "interface_entry", "interface_text", "load", "load_all"]

VERSION = 5  # of `source.json`; files of other versions are rejected

INTERFACE_KEY = "search_interface"  # key of `source.json` for the search interface; only a harvest writes it
OWN_SOURCE = "source"  # kind under which the user's own sources are remembered
OLD_INTERFACE_KEY = "template"  # its name in Upwell 0.2, still read


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """Description of the answers of a source."""

    version: int = VERSION
    rules: tuple[CutRule, ...] = ()  # how to cut answers into records; the rule that matches most answers comes first
    columns: Columns = field(default_factory=Columns)
    fits: float = 0.0  # share of the answers used for learning that have records
    # share of the answers stating a number of records whose number is the one that was read
    agrees: float | None = None
    empty: EmptyModel = field(default_factory=EmptyModel)  # texts of answers without records
    asked_at: str = ""  # path of most answers
    volatile: tuple[str, ...] = ()  # URL arguments that vary for the same record
    keyed_by_content: bool = False  # URLs vary for the same record, so keys are made from the content
    has_addresses: bool = False  # nearly every record has a URL, so pieces without one are not records
    frame: tuple[str, ...] = ()  # texts that most answers contain
    roles: Roles = field(default_factory=Roles)  # meaning of the URL arguments
    next_link: tuple[str, ...] = ()  # link to the next page as marked by a person: its position and its text

    @property
    def pagelet(self) -> str:
        """Return the path of the element that contains the records."""
        return self.rules[0].container if self.rules else ""

    @property
    def leader(self) -> str:
        """Return how each record begins; "" if nothing was learned."""
        return f"{self.rules[0].how} {self.rules[0].leader or 'text'}" if self.rules else ""

    def to_json(self) -> str:
        """Return the model as JSON for `source.json`."""
        return json.dumps(
            {**asdict(self), "roles": self.roles.as_dict(), "empty": self.empty.as_dict()}, ensure_ascii=False, indent=1
        )


def load(text: str) -> SourceModel:
    """Parse a `source.json` with exactly one source."""
    models = load_all(text)
    if len(models) != 1:
        raise WrongUsage(f"this source.json has {len(models)} sources; cut out the one whose answers these are")
    return models[0]


def load_all(text: str) -> tuple[SourceModel, ...]:
    """Parse a `source.json`; a site may have several sources."""
    try:
        saved = json.loads(text)
        models = tuple(_from_dict(model) for model in (saved if isinstance(saved, list) else [saved]))
        if not models:
            raise ValueError("it is empty")
        return models
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WrongUsage(f"this is no source.json ({error!r}); learn the source again") from error


def interface_entry(saved: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the search interface of a source in `source.json`, as `SearchInterface.as_dict` wrote it; None if there is none."""
    entry: Mapping[str, Any] | None = saved.get(INTERFACE_KEY, saved.get(OLD_INTERFACE_KEY))
    return entry


def interface_text(saved: Mapping[str, Any]) -> str:
    """Return everything in a source of `source.json` that determines which requests a query sends, as text that can be compared."""
    consent_pages = saved.get("consent_pages") or saved.get("gates") or []
    return json.dumps([interface_entry(saved), consent_pages], sort_keys=True, ensure_ascii=False)


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
    values["roles"] = Roles.from_dict(saved["roles"]) if "roles" in saved else Roles()
    values["empty"] = EmptyModel.from_dict(saved["empty"])
    return SourceModel(**values)
