"""The command line: the verbs of `upwell.api`, progress on stderr, results on stdout, exit codes as documented.

0 done · 1 it could not be done · 2 wrong usage · 3 stopped early, what there is was kept · 4 a refresh found changes (--exit-code)

app          the command itself
network      the options of all verbs that ask a site
harvesting   forms, harvest, probe, demo
sources      ask, search, sql, enrich, match, compare
offline      extract, entities, cluster, links, queries, blocks
folders      status, export, config
serving      serve, mcp
printing     results and warnings

A verb imports what only it needs, so that `--help` and the other verbs do not pay for it.
"""

from upwell.cli import folders, harvesting, offline, serving, sources
from upwell.cli.app import app, main

__all__ = ["app", "folders", "harvesting", "main", "offline", "serving", "sources"]
