"""Upwell brings up the data behind search boxes.

>>> import upwell
>>> found = upwell.forms("https://example.org/")  # doctest: +SKIP
>>> result = upwell.harvest("https://example.org/", out="harvest")  # doctest: +SKIP
"""

from upwell.api import Result, blocks, demo, extract, forms, harvest, harvest_all, records
from upwell.demo import Switches
from upwell.errors import UpwellError
from upwell.harvest.events import Event, Observer
from upwell.harvest.plan import Plan
from upwell.net.fetch import Manners

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
    "extract",
    "forms",
    "harvest",
    "harvest_all",
    "records",
]
