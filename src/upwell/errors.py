"""One tree of errors; every message names the value, the cause and the way out.

    UpwellError
    ├── WrongUsage          an argument that makes no sense (exit code 2)
    ├── NoSearchForm        the site has no way in that was found
    ├── Forbidden           robots.txt forbids the page that is needed
    ├── Unreachable         the site did not answer
    │   └── Refused         an address in a private network that the user did not name
    ├── NothingLearned      the answers could not be told apart or cut into records
    ├── BudgetSpent         the requests, seconds or bytes were spent before anything was learned
    ├── Interrupted         somebody stopped it before anything was learned (exit code 3)
    ├── CannotKeep          the folder of a harvest cannot be used: full, read-only, damaged, in use
    └── MissingExtra        an optional part is not installed

A single bad page is no error but a value (`upwell.model.Skipped`); an error ends the run.
"""

__all__ = [
    "BudgetSpent",
    "CannotKeep",
    "Forbidden",
    "Interrupted",
    "MissingExtra",
    "NoSearchForm",
    "NothingLearned",
    "Refused",
    "Unreachable",
    "UpwellError",
    "WrongUsage",
]


class UpwellError(Exception):
    """Anything that Upwell itself reports; the command line prints its message and exits with 1."""

    exit_code = 1


class WrongUsage(UpwellError):
    """An argument that makes no sense."""

    exit_code = 2


class NoSearchForm(UpwellError):
    """No way was found to ask the site."""


class Forbidden(UpwellError):
    """The site's robots.txt forbids a page without which nothing can be done."""


class Unreachable(UpwellError):
    """The site did not answer, however often it was asked."""


class Refused(Unreachable):
    """An address in a private network, reached from elsewhere, is not asked."""


class NothingLearned(UpwellError):
    """No answer could be cut into records."""


class BudgetSpent(UpwellError):
    """Nothing more may be sent, and nothing was learned so far."""


class Interrupted(UpwellError):
    """Somebody stopped it before anything was learned; what was asked is kept."""

    exit_code = 3


class CannotKeep(UpwellError):
    """What came cannot be kept, so nothing more is asked; what was kept before is whole."""


class MissingExtra(UpwellError):
    """A part of Upwell that is installed separately is missing."""
