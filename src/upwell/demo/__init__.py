"""The demo site: a real small web application over the world's cities, whose content is known exactly.

cities        the records and the search over them
switches      what can be changed about the site: its layout, its limits, what goes wrong
site          the handlers
server        running it on loopback, from Python or from `upwell demo --serve`
"""

from upwell.demo.server import Running, serve, serve_anywhere
from upwell.demo.site import Received
from upwell.demo.switches import Switches

__all__ = ["Received", "Running", "Switches", "serve", "serve_anywhere"]
