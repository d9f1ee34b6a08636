"""The errors of Upwell, as one tree; every message names the value, the cause and the remedy.

    UpwellError
    ├── WrongUsage          invalid arguments (exit code 2)
    ├── NoSearchForm        no search interface was found
    ├── Walled              a login, a consent page or a check for robots is shown instead of the site
    ├── Forbidden           robots.txt forbids a required page
    │   └── WouldAct        the request may change something on the site
    ├── Unreachable         the site did not answer
    │   ├── Refused         an address in a private network that the user did not name
    │   └── Unreadable      an answer ended the process that read it, and is not read again
    ├── NothingLearned      no answer could be cut into records
    ├── TookTooLong         reading a page exceeded its CPU time
    ├── Crashed             a bug in Upwell
    ├── TooBusy             a server has too many queries waiting, or the budget of a token is used up
    ├── BudgetSpent         the budget of requests, seconds or bytes is used up
    ├── Interrupted         stopped before anything was learned (exit code 3)
    ├── WorkerLost          a worker process or machine ended; its work runs again elsewhere
    ├── CannotKeep          the folder of a harvest cannot be used: full, read-only, damaged
    │   └── InUse           another process harvests into the same folder
    └── MissingExtra        an optional dependency is not installed

A page that cannot be used is a value (`upwell.types.Skipped`), not an error; an error ends the harvest of the site.
"""

from typing import Literal

__all__ = [
    "BudgetSpent",
    "CannotKeep",
    "Crashed",
    "Forbidden",
    "InUse",
    "Interrupted",
    "MissingExtra",
    "NoSearchForm",
    "NothingLearned",
    "Refused",
    "TooBusy",
    "TookTooLong",
    "Unreachable",
    "Unreadable",
    "UpwellError",
    "Walled",
    "WorkerLost",
    "WouldAct",
    "WrongUsage",
]


Wall = Literal["login", "consent", "challenge"]  # what a page wants before it shows the site


class UpwellError(Exception):
    """Base of all errors that Upwell reports; the command line prints the message and exits with `exit_code`."""

    exit_code = 1
    requests: int | None = None  # requests sent before the error; None: unknown


class WrongUsage(UpwellError):
    """An argument or option is invalid."""

    exit_code = 2


class NoSearchForm(UpwellError):
    """No search interface was found on the site."""


class Walled(UpwellError):
    """A login, a consent page or a check for robots is shown instead of the site."""

    def __init__(self, message: str, wall: Wall = "login") -> None:
        super().__init__(message)
        self.wall = wall


class Forbidden(UpwellError):
    """The site's robots.txt forbids a required page."""


class WouldAct(Forbidden):
    """A request was not sent because it may change something on the site."""


class Unreachable(UpwellError):
    """The site did not answer, despite retries."""


class Refused(Unreachable):
    """A link or redirect leads to an address in a private network, which is not requested."""


class Unreadable(Unreachable):
    """An earlier answer to the request ended the process that read it; it is neither requested nor read again."""


class NothingLearned(UpwellError):
    """No answer could be cut into records."""


class TookTooLong(UpwellError):
    """Reading a page took too much CPU time."""

    def __init__(self, message: str = "a page took too long to read; it may be built to do so") -> None:
        super().__init__(message)


class Crashed(UpwellError):
    """A bug in Upwell; the other sites of the run continue."""


class TooBusy(UpwellError):
    """Too many queries are waiting for a source, or the budget of an API token is used up."""


class BudgetSpent(UpwellError):
    """The budget of requests, seconds or bytes is used up."""


class Interrupted(UpwellError):
    """The harvest was stopped before anything was learned; the answers so far are kept."""

    exit_code = 3


class WorkerLost(UpwellError):
    """A worker process or machine ended; its state is saved, and its work can continue elsewhere."""

    is_blamed = True  # False if another job of the worker was the reason
    is_certain = False  # True if the worker was killed because of what this job did
    stage = ""  # what the job was doing: "read", "tables" …; "": unknown
    outcome = 0  # number of the answer that it was reading; 0: none
    url = ""  # of that answer


class CannotKeep(UpwellError):
    """Results cannot be written, so that nothing more is requested; earlier results are intact."""


class InUse(CannotKeep):
    """Another process harvests into the same folder; the lease of a killed process expires after a while."""

    requests = 0


class MissingExtra(UpwellError):
    """An optional dependency is not installed."""
