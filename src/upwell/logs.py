"""Logging: one standard logger per component (`upwell.net`, `upwell.choose` …), shown on stderr by `-v` and `-vv`.

The pure packages log nothing themselves; their callers report what they decided:

    upwell.discover   trials of search interfaces, and which were accepted or rejected
    upwell.records    source models that were learned
    upwell.choose     one line per answer: the candidate, what was expected of it, what came, and the runner-up
    upwell.harvest    requests that no comparison chose, such as probes and record pages; how a harvest ends
    upwell.net        retries and pauses; with -vv every HTTP exchange
    upwell.store      checkpoints and replays; with -vv every write
    upwell.engines    sites that are started, suspended, retried and ended

A library user gets the records through `logging` as usual; without configuration nothing is printed.
"""

import logging
import re
import sys
from urllib.parse import urlsplit, urlunsplit

__all__ = ["LEVELS", "shown_url", "start"]

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)  # by the number of -v
REDACTED = "…"
MAX_NAME_CHARS = 200  # safety limit: a longer name of an argument counts as that of a credential
# Names of URL arguments whose values are left out of the log.
SECRET_ARGUMENT = re.compile(
    r"(?:.*[_.-])?(?:pass(?:word|wd|phrase)?|pwd|secret|(?:\w*)token|(?:api|access|private)[_-]?key|auth\w*|sig(?:nature)?|"
    r"(?:php)?sess(?:ion)?(?:id)?|sid|jsessionid|credentials?)",
    re.IGNORECASE,
)


class _StderrHandler(logging.Handler):
    """Writes to the present `sys.stderr`, which a drawn progress line replaces so that lines appear above it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = "".join(sign if sign.isprintable() else "\ufffd" for sign in self.format(record))
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
        except Exception:  # noqa: BLE001 # as all handlers do: a log line must not end a harvest
            self.handleError(record)


def start(verbosity: int) -> None:
    """Show log records on stderr: 1 for decisions and progress, 2 for details of HTTP and storage; 0 changes nothing."""
    if verbosity <= 0:
        return
    logger = logging.getLogger("upwell")
    level = LEVELS[min(verbosity, len(LEVELS) - 1)]
    logger.setLevel(level if logger.level == logging.NOTSET else min(level, logger.level))
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        handler = _StderrHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
        logger.addHandler(handler)


def shown_url(url: str) -> str:
    """Return a URL for the log: without user and password, and without the values of arguments that are credentials.

    >>> shown_url("http://me:secret@x/a?q=lima&api_key=12&page=2")
    'http://x/a?q=lima&api_key=…&page=2'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return REDACTED
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    query = "&".join(
        f"{name}{sign}{REDACTED if len(name) > MAX_NAME_CHARS or SECRET_ARGUMENT.fullmatch(name) else value}"
        for name, sign, value in pairs
    )
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))
