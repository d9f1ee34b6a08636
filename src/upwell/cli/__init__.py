"""Command line: the verbs of `upwell.api`, results on stdout, progress and messages on stderr.

app          the `upwell` command, its help page and version
options      arguments and options of all verbs, and the help pages of verbs
network      options of all verbs that query a site
harvesting   forms, harvest, probe, demo
sources      ask, search, sql, enrich, match, compare
offline      extract, entities, cluster, links, queries, blocks
status       status, export, config
serving      serve, mcp
display      results as lines of text
printing     stdout and stderr
progress     the progress line of a harvest

A verb imports its dependencies when it runs, so that `--help` and the other verbs start quickly.
"""

from upwell.cli import harvesting, offline, serving, sources, status
from upwell.cli.app import app, main

__all__ = ["app", "harvesting", "main", "offline", "serving", "sources", "status"]
