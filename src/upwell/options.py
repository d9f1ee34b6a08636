"""The arguments and options of the command line: their types, bounds and help, and the words that some of them take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand

from upwell.errors import UpwellError, WrongUsage
from upwell.places import address_of, sites_of

if TYPE_CHECKING:  # the rooms that define these choices load numpy
    from upwell.answers.clusters import Algorithm as AlgorithmName
    from upwell.answers.clusters import Criterion as CriterionName
    from upwell.answers.clusters import Distance as DistanceName
    from upwell.harvest.plan import Goal as GoalName
    from upwell.offline.crawl import Follow as FollowName
    from upwell.offline.part_engines import PartEngine as PartEngineName
    from upwell.queries.select import Distance as WordDistanceName
    from upwell.queries.select import Linkage as LinkageName
    from upwell.site.discover import Browser as BrowserName
    from upwell.store.records import Format as FormatName

# The words that some options take. mypy compares those with a type with the rooms that define them, tests/test_start.py the others.
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
SIGNATURES = (
    "idf-classes", "tfidf-tags", "raw-tags", "tfidf-classes", "tfidf-paths", "tfidf-content", "raw-content", "keywords",
    "tags+keywords", "tags+content", "url", "size", "random",
)  # fmt: skip

# Of several verbs.
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
Out = Annotated[str, typer.Option("-o", "--out", help="Folder for the results, or an address such as s3://…")]
Budget = Annotated[int, typer.Option(min=1, help="Requests to send at most.")]
Rate = Annotated[float, typer.Option(min=0, help="Requests a second and host; 0 means no limit, on loopback only.")]
Contact = Annotated[str, typer.Option(help="Your address, sent along so that the host's owner can reach you.")]
UserAgent = Annotated[str, typer.Option(help="How to call oneself; Upwell with its version if not given.")]
Cookies = Annotated[
    Path | None, typer.Option(help="Cookies of your browser: a Netscape file (cookies.txt), or JSON of an extension.")
]
Header = Annotated[
    list[str] | None, typer.Option(help="A header for the site, as 'Name: value' or @FILE (repeat for several).")
]
User = Annotated[str, typer.Option(help="NAME:PASSWORD for sites that ask for them (HTTP Basic), or @FILE.")]
Token = Annotated[str, typer.Option(help="A token, sent as 'Authorization: Bearer …', or @FILE.")]
Login = Annotated[
    bool, typer.Option("--login", help="Open the browser once, so that you can log in; the session is kept for later.")
]
Proxy = Annotated[str, typer.Option(help="http://, https:// or socks5:// address; else as HTTP_PROXY and its kin say.")]
Certificate = Annotated[Path | None, typer.Option("--cert", help="Your client certificate, a PEM file.")]
CertificateKey = Annotated[Path | None, typer.Option("--key", help="Its key, where the file of --cert has none.")]
Authority = Annotated[Path | None, typer.Option("--ca", help="Certificates to trust besides the system's, a PEM file.")]
IgnoreRobots = Annotated[bool, typer.Option("--ignore-robots", help="For a site of your own only.")]
Browser = Annotated[str, typer.Option("--browser", help="auto, never or always: whether to look with JavaScript.")]
AnswersFolder = Annotated[str, typer.Argument(help="A folder of saved answers of one source.")]

# Where harvests run.
ENGINES = ("local", "processes", "ray")
Engine = Annotated[
    str, typer.Option(help="Where sites are harvested: local (this process), processes (one a core), or ray.")
]
AtOnce = Annotated[int, typer.Option(min=0, help="Sites at once; 0 means as many as memory and open files allow.")]
StateAddress = Annotated[
    str, typer.Option("--state", help="Where the state is kept: postgresql://…; a file in each folder if not given.")
]
TotalBudget = Annotated[
    int, typer.Option(min=0, help="Requests of all sites together, shared equally; 0 means no limit but --budget.")
]
Retries = Annotated[int, typer.Option(min=0, help="How often a site that did not answer is tried again later.")]

# upwell forms
Page = Annotated[str, typer.Argument(help="An address, or a saved HTML file.")]
FileUrl = Annotated[str, typer.Option("--base-url", help="Where a saved file came from.")]

# upwell harvest, upwell probe
Places = Annotated[
    list[str], typer.Argument(help="Home pages of sites, or pages with a search form, or a file with one a line.")
]
HomePage = Annotated[str, typer.Argument(help="The site's home page, or the page with its search form.")]
Seconds = Annotated[float, typer.Option("--time", min=0, help="Seconds to go on at most; 0 means no limit.")]
Bytes = Annotated[int, typer.Option("--bytes", min=0, help="Bytes to receive at most; 0 means no limit.")]
Coverage = Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of the estimated size that is enough.")]
Goal = Annotated[str, typer.Option(help="complete, or representative: many different queries, first pages only.")]
About = Annotated[str, typer.Option(help="Only what matches this, beyond the source's limit of results.")]
FormNumber = Annotated[int | None, typer.Option(help="Which form of the page to use (see `upwell forms`).")]
Template = Annotated[str, typer.Option(help="How to ask: an address with {query} where the query goes.")]
SourceFile = Annotated[Path | None, typer.Option(help="A source.json: what answers look like is not learned.")]
Words = Annotated[str, typer.Option(help="Words that the source knows, separated by spaces.")]
Queries = Annotated[
    str | None,
    typer.Option(
        help="Queries to ask first: a file with one a line (or as `upwell queries --json` writes them), "
        "or DIR:column, the values of a column of another harvest."
    ),
]
QueryLog = Annotated[
    Path | None, typer.Option(help="A query log (TSV or Parquet of query, url, clicks): its queries come first.")
]
KnowledgeForHarvest = Annotated[
    Path | None,
    typer.Option(
        help="A knowledge base (TSV or Parquet of domain, type, entity): names of the types that the records mention "
        "are asked, and the log's queries are cleaned with it."
    ),
]
Details = Annotated[
    str,
    typer.Option(
        "--details",
        metavar="[first|last|N]",
        help="Read each record's own page too: last, when no question is left (what --details alone means), first, or at most N.",
    ),
]
ChosenColumns = Annotated[
    str, typer.Option("--columns", help="Columns of the table, in this order, with commas between them.")
]
Drop = Annotated[str, typer.Option("--drop", help="Columns to leave out of the table, with commas between them.")]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Ask again what a finished harvest holds: new, changed, gone.")
]
Format = Annotated[str, typer.Option(help="parquet, csv, jsonl, sqlite, duckdb or xlsx.")]
ExitCode = Annotated[
    bool, typer.Option("--exit-code", help="With --refresh: exit with 4 if anything is new, changed or gone.")
]
EventLog = Annotated[Path | None, typer.Option(help="Where to write every event, as JSON Lines.")]
ProbeCount = Annotated[int, typer.Option(min=1, help="Words to ask for at most; Thor asks 100.")]
Background = Annotated[int, typer.Option(min=1, help="Nonsense words; Thor asks 10.")]

# upwell extract
KnownSource = Annotated[Path | None, typer.Option(help="A source.json: apply it, learn nothing.")]
SaveSource = Annotated[Path | None, typer.Option(help="Where to keep what was learned (a source.json).")]
WithLinks = Annotated[bool, typer.Option("--links", help="Put the targets of a record's links behind its text.")]
ExtractMethod = Annotated[
    str,
    typer.Option("--method", help="upwell; thor: pagelets and objects as published; thor-tuned: with better settings."),
]

PART_ENGINES: tuple[PartEngineName, ...] = ("local", "processes", "ray")
PartEngine = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Read many WARC files by parts, into the folder of -o: local (one after the other), processes, or ray.",
    ),
]
PartWorkers = Annotated[
    int, typer.Option("--workers", min=0, help="With --engine: parts at once; 0: as many as cores.")
]
TableFile = Annotated[
    str | None, typer.Option("-o", "--out", help="Write the records of all pages as a table too: a file, or a folder.")
]
# upwell entities
RecordPages = Annotated[str, typer.Argument(help="Saved pages of one site that each show one thing.")]
Regions = Annotated[int, typer.Option(min=1, help="Lists of an answer to look for, the best first.")]
TableFolder = Annotated[str | None, typer.Option("-o", "--out", help="Folder for the table.")]
KnownEntities = Annotated[Path | None, typer.Option("--model", help="A model of columns: apply it, learn nothing.")]
SaveEntities = Annotated[Path | None, typer.Option("--save", help="Where to keep what was learned, as JSON to edit.")]

# upwell cluster
Signature = Annotated[str, typer.Option(help=", ".join(SIGNATURES))]
Algorithm = Annotated[str, typer.Option(help="simple or bisecting.")]
Distance = Annotated[str, typer.Option(help="cosine or euclidean.")]
ClusterCount = Annotated[int, typer.Option(min=0, help="Number of clusters; 0 lets the criterion choose.")]
MaxClusters = Annotated[int, typer.Option(min=1, help="The most clusters that the criterion may choose.")]
Restarts = Annotated[int, typer.Option(min=1, help="Starts of k-means, of which the best counts.")]
Criterion = Annotated[str, typer.Option(help="silhouette, or Thor's quality: quality (mean) or printed (sum).")]
TopClusters = Annotated[
    int | None, typer.Option(min=1, help="Only pages of so many clusters, those likeliest to hold matches.")
]
EarlierAnswers = Annotated[
    str | None, typer.Option(help="A folder of earlier answers whose clusters these pages join.")
]

# upwell links
AnswersPath = Annotated[str, typer.Argument(help="A folder of saved answers of one source, or one saved page.")]
AnswersUrl = Annotated[str, typer.Option("--base-url", help="Where it came from, if pages.jsonl does not say.")]

# upwell queries
Snapshot = Annotated[
    Path | None,
    typer.Option(help="Texts of the source: a harvest's folder, or Parquet, CSV, TSV, JSON Lines, SQLite or .txt."),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--column", help="A column of the snapshot to read (repeat for several); else text, or all texts."),
]
WordDistance = Annotated[str, typer.Option(help="Of words, for --method cluster: intersection, cosine or euclidean.")]
Linkage = Annotated[str, typer.Option(help="Of clusters of words, for --method cluster: complete or single.")]
Delta = Annotated[
    float,
    typer.Option(min=0, max=1, help="For --method packing: how far apart words must be; 1 shares no document."),
]
SelectionMethod = Annotated[str, typer.Option(help="random, frequency, cluster, packing, covering or overflow.")]
Sampling = Annotated[str, typer.Option(help="Which words to look at: random, popular, optimal, auto or all.")]
QueryCount = Annotated[int, typer.Option(min=1, help="How many queries.")]
ResultCap = Annotated[int, typer.Option(min=0, help="Results that the source gives a query at most; 0 means no limit.")]
LogFile = Annotated[Path | None, typer.Option(help="A query log: TSV or Parquet of query, url, clicks.")]
KnowledgeFile = Annotated[Path | None, typer.Option(help="A knowledge base: TSV or Parquet of domain, type, entity.")]
LogSite = Annotated[str, typer.Option(help="The host that queries from a log are for.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same queries.")]

# upwell blocks
PagesOrAddress = Annotated[list[str], typer.Argument(help="Saved pages of one site (files, folders), or its address.")]
Depth = Annotated[int, typer.Option(min=0, help="How many links from the address to go.")]
Follow = Annotated[str, typer.Option(help="all links, or toc: only those of tables of contents.")]
BlockMethod = Annotated[str, typer.Option("--method", help="upwell, or wisdom: subtrees as Wisdom finds them.")]
BlockTables = Annotated[
    str | None, typer.Option("-o", "--out", help="Folder for articles.parquet, toc.parquet and the fetched pages.")
]
PageBudget = Annotated[int, typer.Option(min=1, help="Pages to fetch at most.")]

# upwell status, upwell export
HarvestFolder = Annotated[str, typer.Argument(help="The folder of a harvest, or the one given with -o.")]
ExportFile = Annotated[
    str | None, typer.Option("-o", "--out", help="Where to write; else beside the harvest's own table.")
]
Columns = Annotated[
    list[str] | None, typer.Option("--column", help="Only these columns (repeat for several); else all.")
]

KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="In CSV, leave texts that a spreadsheet takes for formulas as they are; else an apostrophe is put before them.",
    ),
]

# upwell ask, upwell search, upwell sql, upwell enrich
Question = Annotated[str, typer.Argument(help="What to ask, as you would type it into the search boxes.")]
LearnedPlaces = Annotated[
    list[str], typer.Argument(help="Each a source.json, the folder of a harvest, or a folder of harvests.")
]
AnswerPages = Annotated[int, typer.Option("--pages", min=1, help="Pages of each source's answer to read at most.")]
Deadline = Annotated[float, typer.Option(min=0.1, help="Seconds after which no source is waited for.")]
Limit = Annotated[int, typer.Option(min=1, help="Results to show at most.")]
SearchQuery = Annotated[
    str, typer.Argument(help='Words, "a phrase", prefix*, column:word, column:[1 TO 9], column:>2024-05, OR, -without.')
]
HarvestFolders = Annotated[
    list[str] | None,
    typer.Argument(help="Folders of harvests, or folders that hold them; `harvest` if none is given."),
]
Offset = Annotated[int, typer.Option(min=0, help="Results to leave out before the first one shown.")]
Sites = Annotated[list[str] | None, typer.Option("--site", help="Only records of this site (repeat for several).")]
Facets = Annotated[
    list[str] | None, typer.Option("--facet", help="Count the matches by this column, or by site (repeat for several).")
]
IndexFolder = Annotated[Path | None, typer.Option("--index", help="Where the index is kept; else in the first folder.")]
SqlQuery = Annotated[
    str,
    typer.Argument(help='One SELECT; tables are the sites (example_org or "example.org"), everything and same_as.'),
]
SqlFormat = Annotated[str, typer.Option("--format", help="table, csv, json or parquet (with -o).")]
SqlFile = Annotated[str | None, typer.Option("-o", "--out", help="Write the rows to this file.")]
ColumnPlace = Annotated[str, typer.Argument(help="DIR:column, a column of the table of a harvest, or FILE:column.")]
LearnedSource = Annotated[
    Path, typer.Argument(help="The source.json of the source to ask, or the folder of its harvest.")
]
EnrichedFolder = Annotated[
    Path | None, typer.Option("-o", "--out", help="Folder for the enriched table; else beside the table itself.")
]

# upwell config
ShowConfig = Annotated[bool, typer.Option("--show", help="What holds now, and where it is said; secrets are hidden.")]

# upwell demo
DemoSettings = Annotated[list[str] | None, typer.Option("--set", help="A switch of the site, as name=value.")]
ServeOnly = Annotated[
    bool, typer.Option("--serve", help="Only run the site, until Ctrl-C; with --json it then lists the requests.")
]
Port = Annotated[int, typer.Option(help="Port of the site; 0 means any free one.")]

# upwell serve
ServedFolder = Annotated[Path, typer.Argument(help="The folder given to harvest with -o; it may be empty.")]
ServePort = Annotated[int, typer.Option("--port", help="Port of the page; 0 means any free one.")]
Host = Annotated[str, typer.Option(help="Address to serve at; one that others can reach needs --token.")]
PageToken = Annotated[
    str, typer.Option("--token", help="A secret without which nothing is shown or changed; else this machine may look.")
]

# upwell mcp
MaxBudget = Annotated[
    int, typer.Option("--max-budget", min=1, help="Requests of one harvest at most, whatever a model asks for.")
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option("--allow", help="A host that may be asked, with those below it (repeat for several); else any."),
]
OverHttp = Annotated[bool, typer.Option("--http", help="Serve by HTTP on this machine instead of stdin and stdout.")]
McpPort = Annotated[int, typer.Option("--port", help="Port of --http.")]

Word = TypeVar("Word", bound=str)


class OptionalValues(TyperCommand):
    """A command whose option `--details` may stand alone: it means `--details last` then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with what the option means where it stands alone."""
        whole = []
        for arg, following in zip(args, [*args[1:], ""], strict=False):
            whole.append(arg)
            if arg == "--details" and following not in ("first", "last") and not following.isdigit():
                whole.append("last")
        return super().parse_args(ctx, whole)


# upwell match, upwell compare
TableA = Annotated[str, typer.Argument(metavar="A", help="A table (Parquet, CSV, JSON Lines, SQLite) or a harvest.")]
TableB = Annotated[str, typer.Argument(metavar="B", help="The other one.")]
MatchColumns = Annotated[bool, typer.Option("--columns", help="Which columns mean the same, instead of which rows.")]
TablesToCompare = Annotated[list[str], typer.Argument(metavar="A B …", help="2 to 20 tables or folders of harvests.")]
ComparisonFolder = Annotated[str, typer.Option("-o", "--out", help="Folder for the table and the report.")]


def names(value: str) -> tuple[str, ...]:
    """Names with commas between them.

    >>> names("title, price,")
    ('title', 'price')
    """
    return tuple(name.strip() for name in value.split(",") if name.strip())


def details(value: str) -> Literal["", "first", "last"] | int:
    """How many record pages are read, as `Plan` has it.

    >>> details("first"), details("20"), details("")
    ('first', 20, '')
    """
    if value.isdigit():
        return int(value)
    names: tuple[Literal["", "first", "last"], ...] = ("", "first", "last")
    return choice("--details", value, names)


def checked_sites(places: Sequence[str]) -> list[str]:
    """The sites that places stand for; raises where one is no address, before anything is asked."""
    sites = sites_of(places)
    for site in sites:
        address_of(site)
    return sites


def choice(option: str, value: str, choices: Sequence[Word]) -> Word:
    """The value of an option that takes one of a few words.

    >>> choice("--goal", "complete", GOALS)
    'complete'
    >>> choice("--goal", "all", GOALS)
    Traceback (most recent call last):
    upwell.errors.WrongUsage: --goal all: it is complete or representative
    """
    for word in choices:
        if word == value:
            return word
    raise WrongUsage(f"{option} {value}: it is {', '.join(choices[:-1])} or {choices[-1]}")


def source_text(path: Path, made_by: str = "upwell extract --save") -> str:
    """The text of the file with what was learned that --source or --model names."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UpwellError(f"{path} cannot be read ({error}); `{made_by}` makes one") from error
