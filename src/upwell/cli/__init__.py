"""The command line: the verbs of `upwell.api`, progress on stderr, results on stdout, exit codes as documented.

0 done · 1 it could not be done · 2 wrong usage · 3 stopped early, what there is was kept · 4 a refresh found changes (--exit-code)

app          the command itself
network      the options of all verbs that ask a site
harvesting   forms, harvest, probe, demo
asking       ask, search, sql, enrich
offline      extract, entities, cluster, links, queries, blocks
folders      status, export, config
together     match, compare
printing     results and warnings

A verb imports what only it needs, so that `--help` and the other verbs do not pay for it.
"""

from upwell.cli import asking, folders, harvesting, offline, together
from upwell.cli.app import app, main

__all__ = ["app", "asking", "folders", "harvesting", "main", "offline", "together"]
