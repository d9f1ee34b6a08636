"""Upwell brings up the data behind search boxes.

>>> import upwell
>>> found = upwell.forms("https://example.org/")  # doctest: +SKIP
>>> result = upwell.harvest("https://example.org/", out="harvest")  # doctest: +SKIP
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from upwell.lazy import lazily

if TYPE_CHECKING:
    from upwell.api import Result, blocks, demo, entities, extract, forms, harvest, harvest_all, records
    from upwell.demo import Switches
    from upwell.errors import UpwellError
    from upwell.harvest.events import Event, Observer
    from upwell.harvest.plan import Plan
    from upwell.net.manners import Manners

__all__ = [
    "Event",
    "Manners",
    "Observer",
    "Plan",
    "Result",
    "Switches",
    "UpwellError",
    "blocks",
    "demo",
    "entities",
    "extract",
    "forms",
    "harvest",
    "harvest_all",
    "records",
]

_HOMES = {
    "Event": "upwell.harvest.events",
    "Manners": "upwell.net.manners",
    "Observer": "upwell.harvest.events",
    "Plan": "upwell.harvest.plan",
    "Switches": "upwell.demo",
    "UpwellError": "upwell.errors",
} | dict.fromkeys(
    ("Result", "blocks", "demo", "entities", "extract", "forms", "harvest", "harvest_all", "records"), "upwell.api"
)  # fmt: skip


class _Package(ModuleType):
    """This package: `demo`, `extract` and `harvest` are its verbs, though subpackages have the same names.

    Python sets a subpackage as an attribute when it is first imported, which may be long after `import upwell`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


if not TYPE_CHECKING:  # mypy would take any name for one that `__getattr__` knows
    __getattr__ = lazily(__name__, _HOMES)
    sys.modules[__name__].__class__ = _Package
