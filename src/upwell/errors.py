"""One tree of errors; every message names the value, the cause and the way out.

    UpwellError
    ├── WrongUsage          an argument that makes no sense (exit code 2)
    ├── NoSearchForm        the site has no way in that was found
    ├── Forbidden           robots.txt forbids the page that is needed
    │   └── WouldAct        a request that may change something at the site
    ├── Unreachable         the site did not answer
    │   └── Refused         an address in a private network that the user did not name
    ├── NothingLearned      the answers could not be told apart or cut into records
    ├── TookTooLong         reading a page needed more CPU than a page may
    ├── Crashed             a fault of Upwell itself
    ├── BudgetSpent         the requests, seconds or bytes that the user allowed are spent
    ├── Interrupted         somebody stopped it before anything was learned (exit code 3)
    ├── WorkerLost          a process or machine that worked is gone; its work runs again elsewhere
    ├── CannotKeep          the folder of a harvest cannot be used: full, read-only, damaged
    │   └── InUse           another process harvests into it
    └── MissingExtra        an optional part is not installed

A single bad page is no error but a value (`upwell.model.Skipped`); an error ends the run.
"""

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
    "TookTooLong",
    "Unreachable",
    "UpwellError",
    "WorkerLost",
    "WouldAct",
    "WrongUsage",
]


class UpwellError(Exception):
    """Anything that Upwell itself reports; the command line prints its message and exits with 1."""

    exit_code = 1
    requests: int | None = None  # that were sent before it; None where nobody counted them


class WrongUsage(UpwellError):
    """An argument that makes no sense."""

    exit_code = 2


class NoSearchForm(UpwellError):
    """No way was found to ask the site."""


class Forbidden(UpwellError):
    """The site's robots.txt forbids a page without which nothing can be done."""


class WouldAct(Forbidden):
    """A request that may change something at the site is not sent."""


class Unreachable(UpwellError):
    """The site did not answer, however often it was asked."""


class Refused(Unreachable):
    """An address in a private network, reached from elsewhere, is not asked."""


class NothingLearned(UpwellError):
    """No answer could be cut into records."""


class TookTooLong(UpwellError):
    """A page that takes too long to read is given up."""

    def __init__(self, message: str = "a page took too long to read; it may be made for that") -> None:
        super().__init__(message)


class Crashed(UpwellError):
    """A fault of Upwell itself: the other sites of the run go on."""


class BudgetSpent(UpwellError):
    """Nothing more may be sent: the requests, seconds or bytes that the user allowed are spent."""


class Interrupted(UpwellError):
    """Somebody stopped it before anything was learned; what was asked is kept."""

    exit_code = 3


class WorkerLost(UpwellError):
    """A process or a machine that worked is gone; what it kept is there, and its work can run elsewhere."""


class CannotKeep(UpwellError):
    """What came cannot be kept, so nothing more is asked; what was kept before is whole."""


class InUse(CannotKeep):
    """Another process harvests the same; one that was killed lets go after a while."""

    requests = 0


class MissingExtra(UpwellError):
    """A part of Upwell that is installed separately is missing."""
