"""Demo site: a small but real web application over the cities of the world, whose content is known exactly.

cities        records, and the search over them
switches      settings of the site: layouts, limits, faults
site          request handlers
server        running the site on loopback, from Python or with `upwell demo --serve`
"""

from upwell.demo.server import Running, serve, serve_anywhere
from upwell.demo.site import Received
from upwell.demo.switches import SMALL_SITE, Switches

__all__ = ["SMALL_SITE", "Received", "Running", "Switches", "serve", "serve_anywhere"]
