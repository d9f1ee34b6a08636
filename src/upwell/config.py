"""Options from environment variables and from `upwell.toml`, for all verbs, one verb, or one site.

In descending precedence:

1. the command line
2. the variables UPWELL_HARVEST_RATE, then UPWELL_RATE
3. [site."example.org"], then [harvest], then the top level of upwell.toml in this folder, or in the nearest parent folder
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage

__all__ = ["MAX_FILE_BYTES", "PATHS", "SECRETS", "Origin", "Settings", "read_settings"]

FILE = "upwell.toml"
MAX_FILE_BYTES = 1_000_000  # of the file; a real one has a few kilobytes
FILE_VARIABLE = "UPWELL_CONFIG"
PREFIX = "UPWELL_"
SITES = "site"
# Options that name files or folders; in upwell.toml they are relative to its folder.
PATHS = frozenset(
    ("ca", "cert", "cookies", "index", "key", "knowledge", "log", "out", "queries", "query-log", "save", "source")
)
SECRETS = frozenset(("header", "password", "proxy", "state", "token", "user"))  # options whose values are not shown
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Value of an option, and where it was set."""

    value: Any
    where: str
    is_variable: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options from files and variables, by verb or site and by name (`rate`, `user-agent`)."""

    verbs: Mapping[str, Mapping[str, Origin]] = field(default_factory=dict)
    sites: Mapping[str, Mapping[str, Origin]] = field(default_factory=dict)
    file: Path | None = None
    unknown: tuple[str, ...] = ()  # messages about variables that match no option

    def of_site(self, host: str) -> Mapping[str, Origin]:
        """Return the options of a site in upwell.toml; a leading `www.` of the host is ignored."""
        return self.sites.get(host.removeprefix("www."), {})


def read_settings(
    options: Mapping[str, Iterable[str]], environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Settings:
    """Read the settings; `options` are the option names of each verb. Raises `WrongUsage` for a key that is no option."""
    environment = os.environ if environment is None else environment
    known = {verb: set(names) for verb, names in options.items()}
    file = _find_file(environment, folder or Path.cwd())
    content = _read(file) if file else {}
    verbs: dict[str, dict[str, Origin]] = {verb: {} for verb in known}
    sites: dict[str, dict[str, Origin]] = {}
    everywhere = set().union(*known.values())
    for key, value in content.items():
        name = key.replace("_", "-")
        if key == SITES and isinstance(value, dict):
            for host, table in value.items():
                sites[host.removeprefix("www.")] = _table(table, everywhere, file, f'[site."{host}"]', environment)
        elif key in known and isinstance(value, dict):
            verbs[key] |= _table(value, known[key], file, f"[{key}]", environment)
        elif name in everywhere and not isinstance(value, dict):
            for_all = _table({key: value}, everywhere, file, "", environment)
            for verb, has in known.items():
                if name in has:
                    verbs[verb] = {**for_all, **verbs[verb]}
        else:
            raise WrongUsage(f"{file}: {_unknown(key, (*known, SITES, *everywhere))}")
    unknown = []
    for variable, value in sorted(
        environment.items(), key=lambda item: len(item[0])
    ):  # variables of one verb are longer, so that they come last
        if not variable.startswith(PREFIX) or variable == FILE_VARIABLE:
            continue
        name = variable.removeprefix(PREFIX).lower().replace("_", "-")
        verb, _, rest = name.partition("-")
        origin = Origin(value=value, where=variable, is_variable=True)
        if name in everywhere:
            for has_it in (verb for verb, has in known.items() if name in has):
                verbs[has_it][name] = origin
        elif rest in known.get(verb, ()):
            verbs[verb][rest] = origin
        else:
            unknown.append(f"{variable}: {_unknown(name, everywhere)}")
    return Settings(verbs=verbs, sites=sites, file=file, unknown=tuple(unknown))


def _find_file(environment: Mapping[str, str], folder: Path) -> Path | None:
    """Return the file that UPWELL_CONFIG names, else the nearest upwell.toml in this folder or a parent folder."""
    if named := environment.get(FILE_VARIABLE):
        if not Path(named).is_file():
            raise WrongUsage(f"{FILE_VARIABLE}={named}: there is no such file")
        return Path(named)
    nearest = next((path / FILE for path in (folder, *folder.parents) if (path / FILE).is_file()), None)
    return Path(FILE) if nearest == Path.cwd() / FILE else nearest  # a relative path, for messages


def _read(file: Path) -> dict[str, Any]:
    import tomllib  # imported here, because most users have no such file

    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise WrongUsage(f"{file} cannot be read: {error}") from error


def _table(
    table: object, known: set[str], file: Path | None, place: str, environment: Mapping[str, str]
) -> dict[str, Origin]:
    """Return the options of one table of the file."""
    where = f"{file} {place}".strip()
    if not isinstance(table, dict):
        raise WrongUsage(f"{where}: must be a table of options")
    origins = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in known:
            raise WrongUsage(f"{where}: {_unknown(key, known)}")
        if isinstance(value, dict):
            raise WrongUsage(f"{where}: {key} must be a value, not a table")
        value = _filled_in(value, where, key, environment)
        if name in PATHS and isinstance(value, str) and file is not None:
            value = str(file.parent / Path(value).expanduser())
        origins[name] = Origin(value=value, where=where)
    return origins


def _filled_in(value: Any, where: str, key: str, environment: Mapping[str, str]) -> Any:
    """Replace `${NAME}` in a text by that variable, so that secrets need not be in the file."""
    if isinstance(value, list):
        return [_filled_in(item, where, key, environment) for item in value]
    if not isinstance(value, str):
        return value
    for name in VARIABLE.findall(value):
        if name not in environment:
            raise WrongUsage(f"{where}: {key} needs the variable {name}, which is not set")
    return VARIABLE.sub(lambda match: environment[match[1]], value)


def _unknown(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-"), sorted(known), n=1)
    return f"there is no option {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")
