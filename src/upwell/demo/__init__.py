"""The demo site: a real small web application over the world's cities, whose content is known exactly.

cities    the records and the search over them
pages     what the site looks like, in five layouts
site      the handlers, and the switches that make the site harder
server    running it on loopback, from Python or from `upwell demo --serve`
"""

from upwell.demo.server import Running, serve
from upwell.demo.site import Received, Switches

__all__ = ["Received", "Running", "Switches", "serve"]
