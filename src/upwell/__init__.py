"""Upwell harvests the data behind search boxes.

>>> import upwell
>>> page = upwell.forms("https://example.org/")  # doctest: +SKIP
>>> result = upwell.harvest("https://example.org/", out="harvest")  # doctest: +SKIP
"""

import logging
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from upwell.lazy import lazily

if TYPE_CHECKING:
    from upwell import aio
    from upwell.api import (
        Result,
        blocks,
        cluster,
        compare,
        demo,
        entities,
        explain,
        export,
        extract,
        forms,
        harvest,
        harvest_all,
        links,
        match,
        match_columns,
        open,
        probe,
        queries,
        records,
        status,
    )
    from upwell.choose.plan import Plan
    from upwell.demo import Switches
    from upwell.errors import UpwellError
    from upwell.harvest.events import (
        Asked,
        Event,
        Found,
        Held,
        Learned,
        Looking,
        Observer,
        Opened,
        Passed,
        Stopped,
        Stopping,
        Trouble,
    )
    from upwell.net.access import Access
    from upwell.net.manners import Manners

    __version__: str

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a program that uses Upwell decides what is logged

_VERBS = (
    "blocks", "cluster", "compare", "demo", "entities", "explain", "export", "extract", "forms", "harvest", "harvest_all", "links",
    "match", "match_columns", "open", "probe", "queries", "records", "status",
)  # fmt: skip
_EVENTS = (
    "Asked",
    "Event",
    "Found",
    "Held",
    "Learned",
    "Observer",
    "Opened",
    "Looking",
    "Passed",
    "Stopped",
    "Stopping",
    "Trouble",
)

__all__ = [
    "Access",
    "Asked",
    "Event",
    "Found",
    "Held",
    "Learned",
    "Looking",
    "Manners",
    "Observer",
    "Opened",
    "Passed",
    "Plan",
    "Result",
    "Stopped",
    "Stopping",
    "Switches",
    "Trouble",
    "UpwellError",
    "__version__",
    "aio",
    "blocks",
    "cluster",
    "compare",
    "demo",
    "entities",
    "explain",
    "export",
    "extract",
    "forms",
    "harvest",
    "harvest_all",
    "links",
    "match",
    "match_columns",
    "open",
    "probe",
    "queries",
    "records",
    "status",
]

_HOMES = {
    "Access": "upwell.net.access",
    "Manners": "upwell.net.manners",
    "Plan": "upwell.choose.plan",
    "Result": "upwell.harvest.files",
    "Switches": "upwell.demo",
    "UpwellError": "upwell.errors",
    **dict.fromkeys(_EVENTS, "upwell.harvest.events"),
    **dict.fromkeys(_VERBS, "upwell.api"),
}


class _Package(ModuleType):
    """This package: `demo` and `harvest` are verbs, although subpackages have the same names.

    Python sets a subpackage as an attribute when it is first imported, which may be long after `import upwell`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


if not TYPE_CHECKING:  # with `__getattr__`, mypy would accept any name
    _load = lazily(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from upwell.version import installed_version

            return installed_version()
        if name == "aio":
            return import_module("upwell.aio")
        return _load(name)

    sys.modules[__name__].__class__ = _Package
