"""Arguments and options of the command line: types, bounds, help texts and their groups, and the values that some options take.

`HelpCommand` prints the options of a verb by group; the group of an option is its `rich_help_panel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand

from upwell.cli.printing import warn
from upwell.errors import UpwellError, WrongUsage
from upwell.places import address_of, is_list, listed_sites

if TYPE_CHECKING:
    from upwell.choose.plan import Goal as GoalName
    from upwell.discover.discovery import Browser as BrowserName
    from upwell.offline.crawl import Follow as FollowName
    from upwell.offline.many_archives import PartEngine as PartEngineName
    from upwell.papers.thor import Algorithm as AlgorithmName
    from upwell.papers.thor import Criterion as CriterionName
    from upwell.papers.thor import Distance as DistanceName
    from upwell.papers.yuan import Linkage as LinkageName
    from upwell.papers.yuan import WordDistance as WordDistanceName
    from upwell.table.user_schema import UserSchema
    from upwell.table.writers import Format as FormatName

# Values that some options take. mypy compares the typed ones with the modules that define them, tests/test_start.py the others.
BROWSERS: tuple[BrowserName, ...] = ("auto", "never", "always")
GOALS: tuple[GoalName, ...] = ("complete", "representative")
FORMATS: tuple[FormatName, ...] = ("parquet", "csv", "jsonl", "sqlite", "duckdb", "xlsx")
SQL_FORMATS = ("table", "csv", "json", "parquet")
FOLLOWS: tuple[FollowName, ...] = ("all", "toc")
ALGORITHMS: tuple[AlgorithmName, ...] = ("simple", "bisecting")
DISTANCES: tuple[DistanceName, ...] = ("cosine", "euclidean")
WORD_DISTANCES: tuple[WordDistanceName, ...] = ("intersection", "cosine", "euclidean")
LINKAGES: tuple[LinkageName, ...] = ("complete", "single")
CRITERIA: tuple[CriterionName, ...] = ("silhouette", "quality", "printed")
ENGINES = ("local", "processes", "ray", "inline")
PART_ENGINES: tuple[PartEngineName, ...] = ("local", "processes", "ray")
SIGNATURES = (
    "idf-classes", "tfidf-tags", "raw-tags", "tfidf-classes", "tfidf-paths", "tfidf-content", "raw-content", "keywords",
    "tags+keywords", "tags+content", "url", "size", "random",
)  # fmt: skip

# Groups of options in `--help`, in this order; options without a group come first.
WHAT, HOW_FAR, TABLE, POLITENESS, ACCESS, ENGINE = (
    "What to harvest", "How far to go", "Table", "Politeness", "Access", "Engines and output",
)  # fmt: skip
GROUPS = (WHAT, HOW_FAR, TABLE, POLITENESS, ACCESS, ENGINE)
MIN_GROUP = 3  # options that a group needs to be a section of its own

# Former names of options by verb, without dashes: they still work, and print a note. To be removed in the next release.
FORMER_NAMES: dict[str, dict[str, str]] = {"harvest": {"template": "interface"}, "queries": {"limit": "result-cap"}}

# Shared by several verbs.
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=ENGINE, help="Print JSON on stdout, and nothing else there.")
]
Out = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="DIR",
        rich_help_panel=TABLE,
        help="Folder for the results, or an fsspec address such as s3://bucket/folder.",
    ),
]
Budget = Annotated[
    int, typer.Option(min=1, metavar="N", rich_help_panel=HOW_FAR, help="Largest number of requests to send.")
]
Certify = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=HOW_FAR,
        help="Requests, at most half of --budget, that are spent on nothing but the size; the sample is kept in size-sample.parquet.",
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=POLITENESS,
        help="Requests per second and host; 0 means no limit (loopback only).",
    ),
]
Contact = Annotated[
    str,
    typer.Option(
        metavar="EMAIL",
        rich_help_panel=POLITENESS,
        help="Your address, sent with each request so that the operator of the site can reach you.",
    ),
]
UserAgent = Annotated[
    str, typer.Option(metavar="TEXT", rich_help_panel=POLITENESS, help="User agent; default: Upwell and its version.")
]
IgnoreRobots = Annotated[
    bool,
    typer.Option("--ignore-robots", rich_help_panel=POLITENESS, help="Ignore robots.txt. For your own sites only."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="ADDRESS",
        rich_help_panel=ACCESS,
        help="Host or address that may be in a private network; or a file of addresses that you wrote. Addresses from a file get your credentials "
        "only if they are named here. May be repeated.",
    ),
]
Cookies = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=ACCESS,
        help="Cookies of your browser: a Netscape file (cookies.txt), or the JSON of a browser extension.",
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HEADER", rich_help_panel=ACCESS, help="Header to send, as 'Name: value' or @FILE (may be repeated)."
    ),
]
User = Annotated[
    str, typer.Option(metavar="NAME:PASSWORD", rich_help_panel=ACCESS, help="Credentials for HTTP Basic, or @FILE.")
]
Token = Annotated[
    str,
    typer.Option(metavar="TOKEN", rich_help_panel=ACCESS, help="Token, sent as 'Authorization: Bearer …', or @FILE."),
]
Login = Annotated[
    bool,
    typer.Option(
        "--login", rich_help_panel=ACCESS, help="Open the browser once so that you can log in; the session is saved."
    ),
]
Proxy = Annotated[
    str,
    typer.Option(
        metavar="URL",
        rich_help_panel=ACCESS,
        help="http://, https:// or socks5:// proxy; default: HTTP_PROXY and related variables.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option("--cert", metavar="FILE", rich_help_panel=ACCESS, help="Client certificate, a PEM file."),
]
CertificateKey = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", rich_help_panel=ACCESS, help="Key of --cert, if that file has none."),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca", metavar="FILE", rich_help_panel=ACCESS, help="Certificates to trust besides the system's, a PEM file."
    ),
]
Browser = Annotated[
    str,
    typer.Option(
        "--browser", metavar="WHEN", rich_help_panel=WHAT, help="auto, never or always: when to run JavaScript."
    ),
]
AnswersFolder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of saved answers of one source.")]

# Engines of harvests.
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        rich_help_panel=ENGINE,
        help="Where sites are harvested: local (one process, supervised by the command), processes (one per core), ray (a cluster) or inline (unsupervised).",
    ),
]
AtOnce = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=ENGINE,
        help="Sites harvested at the same time; 0 means as many as memory and open files allow.",
    ),
]
StateAddress = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="URL",
        rich_help_panel=ENGINE,
        help="Database of the state: postgresql://…; default: a file in the folder of each site.",
    ),
]
TotalBudget = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=HOW_FAR,
        help="Largest number of requests for all sites, shared equally; 0 means only --budget applies.",
    ),
]
Retries = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", rich_help_panel=ENGINE, help="How often a site that did not answer is tried again later."
    ),
]

# upwell forms
Page = Annotated[str, typer.Argument(metavar="PAGE", help="URL, or a saved HTML file.")]
FileUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="The URL of a saved file.")]

# upwell harvest, upwell probe
Places = Annotated[
    list[str],
    typer.Argument(metavar="SITE", help="Home page, page with a search form, or a file with one URL per line."),
]
HomePage = Annotated[str, typer.Argument(metavar="SITE", help="Home page, or page with a search form.")]
Seconds = Annotated[
    float,
    typer.Option(
        "--time", min=0, metavar="SECONDS", rich_help_panel=HOW_FAR, help="Longest duration; 0 means no limit."
    ),
]
Bytes = Annotated[
    int,
    typer.Option(
        "--bytes",
        min=0,
        metavar="N",
        rich_help_panel=HOW_FAR,
        help="Largest number of bytes to receive; 0 means no limit.",
    ),
]
Coverage = Annotated[
    float,
    typer.Option(
        min=0.01,
        max=1.0,
        metavar="SHARE",
        rich_help_panel=HOW_FAR,
        help="Stop when this share of the estimated size is held.",
    ),
]
Goal = Annotated[
    str,
    typer.Option(
        metavar="GOAL",
        rich_help_panel=HOW_FAR,
        help="complete, or representative: many different queries, first pages only.",
    ),
]
About = Annotated[
    str,
    typer.Option(
        metavar="QUERY", rich_help_panel=WHAT, help="Only records that match this query, also beyond the result cap."
    ),
]
FormNumber = Annotated[
    int | None,
    typer.Option(metavar="N", rich_help_panel=WHAT, help="Number of the form to use, as `upwell forms` prints it."),
]
Interface = Annotated[
    str,
    typer.Option(
        "--interface",
        metavar="URL",
        rich_help_panel=WHAT,
        help="Search interface: a URL with {query} in place of the query.",
    ),
]
SourceFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=WHAT, help="A source.json: use this source model, learn nothing."),
]
Words = Annotated[
    str,
    typer.Option(metavar="WORDS", rich_help_panel=WHAT, help="Words that occur in the source, separated by spaces."),
]
Queries = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        rich_help_panel=WHAT,
        help="Queries to send first: a file with one per line (or the output of `upwell queries --json`), "
        "or DIR:column, the values of a column of another harvest.",
    ),
]
QueryLog = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=WHAT,
        help="Query log (TSV or Parquet: query, url, clicks); its queries are compared with all others.",
    ),
]
KnowledgeForHarvest = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=WHAT,
        help="Knowledge base (TSV or Parquet: domain, type, entity): names of the types that the records mention "
        "become queries, and the query log is cleaned with it.",
    ),
]
Details = Annotated[
    str,
    typer.Option(
        "--details",
        metavar="[first|last|N]",
        rich_help_panel=WHAT,
        help="Also read the record pages: last (default), after all other requests; first; or at most N of them.",
    ),
]
ChosenColumns = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="NAMES",
        rich_help_panel=TABLE,
        help="Columns of the table in this order, comma-separated: name, new=old, name:type or new=old:type "
        "(types: text, int, decimal, price, date, datetime, bool, url, image).",
    ),
]
Drop = Annotated[
    str,
    typer.Option(
        "--drop", metavar="NAMES", rich_help_panel=TABLE, help="Columns to leave out of the table, comma-separated."
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        rich_help_panel=TABLE,
        help="Pin names, types and order of the columns by a JSON file, as `upwell schema` writes it.",
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain", rich_help_panel=TABLE, help="Leave out the columns that start with `_`, such as _key and _fetched."
    ),
]
Pipe = Annotated[
    str,
    typer.Option(
        "--pipe",
        metavar="COMMAND",
        rich_help_panel=TABLE,
        help="Also write each record as a line of JSON to the standard input of this command.",
    ),
]
Refresh = Annotated[
    bool,
    typer.Option(
        "--refresh",
        rich_help_panel=WHAT,
        help="Repeat the requests of a finished harvest, and report new, changed and gone records.",
    ),
]
Format = Annotated[
    str,
    typer.Option(metavar="NAME", rich_help_panel=TABLE, help="parquet, csv, jsonl, sqlite, duckdb or xlsx."),
]
ExitCode = Annotated[
    bool,
    typer.Option(
        "--exit-code",
        rich_help_panel=ENGINE,
        help="With --refresh: exit with 4 if a record is new, changed or gone.",
    ),
]
EventLog = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=ENGINE, help="Write every event to this file (JSON Lines)."),
]
ProbeCount = Annotated[
    int, typer.Option(min=1, metavar="N", help="Largest number of probe words; the Thor paper uses 100.")
]
Background = Annotated[int, typer.Option(min=1, metavar="N", help="Number of nonsense words; the Thor paper uses 10.")]

# upwell extract
KnownSource = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A source.json: apply this source model, learn nothing.")
]
SaveSource = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Save the learned source model here (a source.json).")
]
WithLinks = Annotated[bool, typer.Option("--links", help="Append the targets of a record's links to its text.")]
ExtractMethod = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="upwell; thor: pagelets and objects as published; thor-tuned: the same with better settings.",
    ),
]
PartEngine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Read many WARC files into the folder of -o: local (one after the other), processes or ray.",
    ),
]
PartWorkers = Annotated[
    int, typer.Option("--workers", min=0, metavar="N", help="With --engine: files read at once; 0 means one per core.")
]
TableFile = Annotated[
    str | None,
    typer.Option("-o", "--out", metavar="PATH", help="Also write the records as a table: a file, or a folder."),
]
# upwell entities
RecordPages = Annotated[str, typer.Argument(metavar="DIR", help="Saved pages of one site, each describing one entity.")]
Regions = Annotated[int, typer.Option(min=1, metavar="N", help="Number of lists per answer to look for, best first.")]
TableFolder = Annotated[str | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for the table.")]
KnownEntities = Annotated[
    Path | None, typer.Option("--model", metavar="FILE", help="Saved columns: apply them, learn nothing.")
]
SaveEntities = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE", help="Save the learned columns here, as JSON that can be edited."),
]

# upwell cluster
Signature = Annotated[str, typer.Option(metavar="NAME", help=", ".join(SIGNATURES))]
Algorithm = Annotated[str, typer.Option(metavar="NAME", help="simple or bisecting.")]
Distance = Annotated[str, typer.Option(metavar="NAME", help="cosine or euclidean.")]
ClusterCount = Annotated[int, typer.Option(min=0, metavar="N", help="Number of clusters; 0 lets the criterion choose.")]
MaxClusters = Annotated[int, typer.Option(min=1, metavar="N", help="Most clusters that the criterion may choose.")]
Restarts = Annotated[int, typer.Option(min=1, metavar="N", help="Restarts of k-means; the best result is kept.")]
Criterion = Annotated[
    str, typer.Option(metavar="NAME", help="silhouette, or Thor's quality: quality (mean) or printed (sum).")
]
TopClusters = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Print only the N clusters most likely to contain matches.")
]
EarlierAnswers = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of earlier answers; the pages join their clusters.")
]

# upwell links
AnswersPath = Annotated[
    str, typer.Argument(metavar="PATH", help="Folder of saved answers of one source, or one saved page.")
]
AnswersUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="URL of the page, if pages.jsonl does not state it.")
]

# upwell queries
Snapshot = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Texts of the source: folder of a harvest, or Parquet, CSV, TSV, JSON Lines, SQLite or .txt.",
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="Column of the snapshot to read (may be repeated); default: text, or all text columns.",
    ),
]
WordDistance = Annotated[
    str, typer.Option(metavar="NAME", help="For --method cluster: intersection, cosine or euclidean.")
]
Linkage = Annotated[str, typer.Option(metavar="NAME", help="For --method cluster: complete or single.")]
Delta = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="X",
        help="For --method packing: smallest distance between words; 1 means no shared document.",
    ),
]
SelectionMethod = Annotated[
    str, typer.Option(metavar="NAME", help="random, frequency, cluster, packing, covering or overflow.")
]
Sampling = Annotated[str, typer.Option(metavar="NAME", help="Candidate words: random, popular, optimal, auto or all.")]
Curve = Annotated[
    bool,
    typer.Option("--curve", help="Also print the hit rate and overlap rate that are expected after each query."),
]
QueryCount = Annotated[int, typer.Option(min=1, metavar="N", help="Number of queries.")]
ResultCap = Annotated[
    int,
    typer.Option(
        "--result-cap", min=0, metavar="N", help="Most results that the source returns per query; 0 means no cap."
    ),
]
LogFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Query log: TSV or Parquet of query, url, clicks.")]
KnowledgeFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Knowledge base: TSV or Parquet of domain, type, entity.")
]
LogSite = Annotated[str, typer.Option(metavar="HOST", help="Host that the queries of a log are for.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed: the same seed gives the same queries.")]

# upwell blocks
PagesOrAddress = Annotated[
    list[str], typer.Argument(metavar="PATH", help="Saved pages of one site (files, folders), or its URL.")
]
Depth = Annotated[int, typer.Option(min=0, metavar="N", help="Largest number of links to follow from the URL.")]
Follow = Annotated[str, typer.Option(metavar="LINKS", help="all links, or toc: only those of tables of contents.")]
BlockMethod = Annotated[
    str, typer.Option("--method", metavar="NAME", help="upwell, or wisdom: subtrees as the Wisdom paper finds them.")
]
BlockTables = Annotated[
    str | None,
    typer.Option("-o", "--out", metavar="DIR", help="Folder for articles.parquet, toc.parquet and the fetched pages."),
]
PageBudget = Annotated[int, typer.Option(min=1, metavar="N", help="Largest number of pages to fetch.")]

# upwell status, upwell export, upwell explain
HarvestFolder = Annotated[
    str, typer.Argument(metavar="DIR", help="Folder of a harvest, or the folder given to harvest with -o.")
]
ExportFile = Annotated[
    str | None,
    typer.Option("-o", "--out", metavar="FILE", help="File to write; default: beside the table of the harvest."),
]
SchemaOut = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="File to write; default: standard output.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME", help="Only these columns (may be repeated); default: all."),
]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="CSV only: do not put an apostrophe before texts that a spreadsheet would run as formulas.",
    ),
]
RequestNumber = Annotated[
    int | None,
    typer.Argument(metavar="[N]", min=1, help="Number of the request to explain; default: list all requests."),
]

# upwell ask, upwell search, upwell sql, upwell enrich
Question = Annotated[str, typer.Argument(metavar="QUERY", help="Query, as typed into a search box.")]
LearnedPlaces = Annotated[
    list[str], typer.Argument(metavar="PLACE", help="A source.json, folder of a harvest, or folder of harvests.")
]
AnswerPages = Annotated[
    int, typer.Option("--pages", min=1, metavar="N", help="Most pages to read of each source's answer.")
]
Deadline = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds after which no source is waited for.")
]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="Most results to print.")]
SearchQuery = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help='Words, "a phrase", prefix*, column:word, column:[1 TO 9], column:>2024-05, OR, -without.',
    ),
]
HarvestFolders = Annotated[
    list[str] | None,
    typer.Argument(metavar="[DIR]...", help="Folders of harvests, or folders that contain them; default: harvest."),
]
Offset = Annotated[int, typer.Option(min=0, metavar="N", help="Results to skip.")]
Sites = Annotated[
    list[str] | None, typer.Option("--site", metavar="HOST", help="Only records of this site (may be repeated).")
]
Facets = Annotated[
    list[str] | None,
    typer.Option("--facet", metavar="COLUMN", help="Count matches by this column, or by site (may be repeated)."),
]
IndexFolder = Annotated[
    Path | None, typer.Option("--index", metavar="DIR", help="Folder of the index; default: in the first folder.")
]
SqlQuery = Annotated[
    str,
    typer.Argument(
        metavar="SELECT",
        help='One SELECT; tables are the sites (example_org or "example.org"), everything and same_as.',
    ),
]
SqlFormat = Annotated[str, typer.Option("--format", metavar="NAME", help="table, csv, json or parquet (with -o).")]
SqlFile = Annotated[str | None, typer.Option("-o", "--out", metavar="FILE", help="Write the rows to this file.")]
ColumnPlace = Annotated[
    str, typer.Argument(metavar="PLACE", help="DIR:column, a column of the table of a harvest, or FILE:column.")
]
LearnedSource = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="The source.json of the source to query, or the folder of its harvest.")
]
EnrichedFolder = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="DIR", help="Folder for the enriched table; default: beside the table."),
]

# upwell config
ShowConfig = Annotated[
    bool, typer.Option("--show", help="Print all options in force and where each is set; secrets are hidden.")
]

# upwell demo
Hard = Annotated[
    bool, typer.Option("--hard", help="Harvest all 34,006 cities from a site that returns at most 200 per query.")
]
DemoSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the demo site (may be repeated).")
]
ServeOnly = Annotated[
    bool,
    typer.Option(
        "--serve", help="Only run the site, until Ctrl-C; with --json, print the received requests at the end."
    ),
]
Port = Annotated[int, typer.Option(metavar="N", help="Port of the site; 0 means any free port.")]

# upwell serve
ServedFolder = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The folder given to harvest with -o; may be empty.")
]
ServePort = Annotated[int, typer.Option("--port", metavar="N", help="Port of the pages; 0 means any free port.")]
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Address to listen on; one that others can reach requires --token.")
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        "--cors",
        metavar="ORIGIN",
        help="Origin whose pages may use the API, such as https://example.org; can be repeated.",
    ),
]
PageToken = Annotated[
    str,
    typer.Option(
        "--token",
        metavar="SECRET",
        help="Secret required to see or change anything, or @FILE, which keeps it out of the list of processes; default: a random one.",
    ),
]

# upwell tokens
TokenAction = Annotated[
    str, typer.Argument(metavar="ACTION", help="What to do: list, add or remove.", show_default=False)
]
TokenName = Annotated[str, typer.Argument(metavar="[NAME]", help="Name of the token.", show_default=False)]
TokenScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", metavar="SCOPE", help="What the token allows: read, ask or harvest; can be repeated; default: read."
    ),
]
TokenBudget = Annotated[
    int,
    typer.Option(
        "--budget", min=0, metavar="N", help="Requests to sites that the token may cause in all; 0: no limit."
    ),
]

# upwell learn, upwell catalogue
LearnBudget = Annotated[int, typer.Option("--budget", min=1, metavar="N", help="Largest number of requests to send.")]
CatalogueAction = Annotated[str, typer.Argument(metavar="ACTION", help="What to do: check.", show_default=False)]

# upwell mcp
MaxBudget = Annotated[
    int,
    typer.Option("--max-budget", min=1, metavar="N", help="Most requests to one server, whatever a model asks for."),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="HOST",
        help="Allowed host, including its subdomains (may be repeated); default: any, but none in a private network.",
    ),
]
OverHttp = Annotated[bool, typer.Option("--http", help="Serve HTTP on this machine instead of stdin and stdout.")]
McpPort = Annotated[int, typer.Option("--port", metavar="N", help="Port for --http.")]

# upwell match, upwell compare
TableA = Annotated[
    str, typer.Argument(metavar="A", help="Table (Parquet, CSV, JSON Lines, SQLite) or folder of a harvest.")
]
TableB = Annotated[
    str | None, typer.Argument(metavar="[B]", help="The other table; without it, duplicates inside A are found.")
]
Clusters = Annotated[
    bool, typer.Option("--clusters", help="With one table: a line per group of duplicates instead of pairs.")
]
MatchColumns = Annotated[bool, typer.Option("--columns", help="Match columns instead of rows.")]
TablesToCompare = Annotated[list[str], typer.Argument(metavar="A B", help="2 to 20 tables or folders of harvests.")]
ComparisonFolder = Annotated[
    str, typer.Option("-o", "--out", metavar="DIR", help="Folder for the table and the report.")
]

Word = TypeVar("Word", bound=str)


def _start_log(verbosity: int) -> int:
    """Show the log on stderr; `-v` may be given before the verb, after it, or both."""
    from upwell import logs

    logs.start(verbosity)
    return verbosity


Verbose = Annotated[
    int,
    typer.Option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        show_default=False,
        callback=_start_log,
        rich_help_panel=ENGINE,
        help="Log decisions on stderr, one line per request; -vv: details of HTTP and storage as well.",
    ),
]


@cache
def _verbose_option() -> Any:
    """Return `-v` as a parameter that Typer has made from its annotation."""
    made = typer.Typer(add_completion=False)

    @made.command()
    def verb(verbose: Verbose = 0) -> None:
        """Take the option."""

    return typer.main.get_command(made).params[0]


class HelpCommand(TyperCommand):
    """Command with a readable `--help`, former names of options, and an option `--details` that needs no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the verb and `-v`, which every verb takes."""
        return [*super().get_params(ctx), _verbose_option()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; replace former names of options, and `--details` alone by `--details last`."""
        complete = []
        for arg, following in zip(args, [*args[1:], ""], strict=False):
            complete.append(self._present_name(arg))
            if arg == "--details" and following not in ("first", "last") and not following.isdigit():
                complete.append("last")
        return super().parse_args(ctx, complete)

    def _present_name(self, arg: str) -> str:
        """Return an argument with the present name of its option; print a note if it had a former one."""
        option, equals, value = arg.partition("=")
        present = FORMER_NAMES.get(self.name or "", {}).get(option.removeprefix("--"))
        if not option.startswith("--") or present is None:
            return arg
        warn(f"note: {option} is deprecated; write --{present}")
        return f"--{present}{equals}{value}"

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return `[OPTIONS]` and the arguments for the usage line."""
        pieces = []
        for argument in (parameter for parameter in self.params if parameter.param_type_name == "argument"):
            name = _argument_name(argument)
            pieces.append((name if argument.required else f"[{name}]") + ("..." if argument.nargs == -1 else ""))
        return ["[OPTIONS]", *pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by topic; topics of few options are written as one section."""
        arguments: list[tuple[str, str]] = []
        help_option: list[tuple[str, str]] = []
        groups: dict[str, list[tuple[str, str]]] = {"": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            text = _without_range(record[1])
            if parameter.param_type_name == "argument":
                arguments.append((_argument_name(parameter), text))
            elif parameter.name == "help":
                help_option = [(record[0], text)]
            else:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append((record[0], text))
        few = [name for name, rows in groups.items() if name and len(rows) < MIN_GROUP]
        options = [*groups.pop(""), *(row for name in few for row in groups.pop(name))]
        sections = [("Options", options), *((name, groups[name]) for name in GROUPS if name in groups)]
        sections = [(title, rows) for title, rows in sections if rows] or [("Options", [])]
        last = 0 if sections[0][0] == "Options" else -1
        sections[last] = (sections[last][0], [*sections[last][1], *help_option])
        for title, rows in [("Arguments", arguments), *sections]:
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one per line however long."""
        examples = (self.epilog or "").replace("Example: ", "").split("\n\n")
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for example in examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")


def _argument_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()).strip("[].")


def _without_range(text: str) -> str:
    """Remove the range of a value and the word `required` from a help text: Typer appends them to the default.

    >>> _without_range("Requests to send.  [default: 9; x>=1]"), _without_range("Home page.  [required]")
    ('Requests to send.  [default: 9]', 'Home page.')
    """
    head, bracket, notes = text.rpartition("  [")
    if not bracket:
        return text
    default = next((note for note in notes.removesuffix("]").split("; ") if note.startswith("default: ")), "")
    return f"{head}  [{default}]" if default else head


def names(value: str) -> tuple[str, ...]:
    """Split comma-separated names.

    >>> names("title, price,")
    ('title', 'price')
    """
    return tuple(name.strip() for name in value.split(",") if name.strip())


def schema_text(file: Path | None) -> str:
    """Read the file given with --schema; "" without one."""
    return source_text(file, "upwell schema") if file else ""


def user_schema(columns: str, drop: str, schema: Path | None, *, is_plain: bool) -> UserSchema:
    """Return the schema that the options ask for; raise if they cannot be understood."""
    from upwell.table.user_schema import UserSchema

    return UserSchema.parse(names(columns), names(drop), file=schema_text(schema), is_plain=is_plain)


def details(value: str) -> Literal["", "first", "last"] | int:
    """Convert the value of --details for `Plan`.

    >>> details("first"), details("20"), details("")
    ('first', 20, '')
    """
    if value.isdigit():
        return int(value)
    names: tuple[Literal["", "first", "last"], ...] = ("", "first", "last")
    return choice("--details", value, names)


def checked_sites(places: Sequence[str], warn: Callable[[str], None]) -> tuple[list[str], int]:
    """Return the sites that places stand for, and how many lines of files name none.

    Raise before any request if a typed place is not a valid URL. A line of a file that is none is named with its number and left out.
    """
    sites, left_out, reason = [], 0, WrongUsage("there is no address to harvest; name one, or a file with one per line")
    for place in places:
        if not is_list(place):
            address_of(place)
            sites.append(place)
            continue
        for number, line in listed_sites(place):
            try:
                address_of(line)
            except WrongUsage as error:
                left_out, reason = left_out + 1, WrongUsage(f"{place}, line {number}: {error}")
                warn(f"{reason}; the line is left out")
            else:
                sites.append(line)
    if not sites:
        raise reason
    return list(dict.fromkeys(sites)), left_out


def choice(option: str, value: str, choices: Sequence[Word]) -> Word:
    """Return the value of an option that takes one of a few words; raise for any other.

    >>> choice("--goal", "complete", GOALS)
    'complete'
    >>> choice("--goal", "all", GOALS)
    Traceback (most recent call last):
    upwell.errors.WrongUsage: --goal all: must be complete or representative
    """
    for word in choices:
        if word == value:
            return word
    raise WrongUsage(f"{option} {value}: must be {', '.join(choices[:-1])} or {choices[-1]}")


def source_text(path: Path, made_by: str = "upwell extract --save") -> str:
    """Read the file given with --source or --model."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UpwellError(f"{path} cannot be read ({error}); `{made_by}` writes such a file") from error
