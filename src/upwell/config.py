"""Options from elsewhere than the command line: the variables `UPWELL_…`, and `upwell.toml` with options for all verbs, one verb, or one site.

the command line    before
UPWELL_HARVEST_RATE, then UPWELL_RATE
[site."example.org"], then [harvest], then the top of upwell.toml: that of this folder, or of the nearest one above it
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage

__all__ = ["PATHS", "SECRETS", "Origin", "Settings", "read_settings"]

FILE = "upwell.toml"
FILE_VARIABLE = "UPWELL_CONFIG"
PREFIX = "UPWELL_"
SITES = "site"
# Options that name files or folders: in upwell.toml they are meant relative to it.
PATHS = frozenset(
    ("ca", "cert", "cookies", "index", "key", "knowledge", "log", "out", "queries", "query-log", "save", "source")
)
SECRETS = frozenset(("header", "password", "proxy", "state", "token", "user"))  # options whose values are not shown
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A value of an option, and where it was found."""

    value: Any
    where: str
    is_variable: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What files and variables say, by verb or site and by option (`rate`, `user-agent`)."""

    verbs: Mapping[str, Mapping[str, Origin]] = field(default_factory=dict)
    sites: Mapping[str, Mapping[str, Origin]] = field(default_factory=dict)
    file: Path | None = None
    strangers: tuple[str, ...] = ()  # variables that no option goes by

    def of_site(self, host: str) -> Mapping[str, Origin]:
        """What upwell.toml says of a site; `www.` before a host makes no other site."""
        return self.sites.get(host.removeprefix("www."), {})


def read_settings(
    options: Mapping[str, Iterable[str]], environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Settings:
    """The settings for verbs with the options that each has (`rate`, `user-agent`); a key that none has is an error."""
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
            found = _table({key: value}, everywhere, file, "", environment)
            for verb, has in known.items():
                if name in has:
                    verbs[verb] = {**found, **verbs[verb]}
        else:
            raise WrongUsage(f"{file}: {_unknown(key, (*known, SITES, *everywhere))}")
    strangers = []
    for variable, value in sorted(environment.items(), key=lambda item: len(item[0])):  # those of one verb are longer
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
            strangers.append(f"{variable}: {_unknown(name, everywhere)}")
    return Settings(verbs=verbs, sites=sites, file=file, strangers=tuple(strangers))


def _find_file(environment: Mapping[str, str], folder: Path) -> Path | None:
    """The file that UPWELL_CONFIG names, else the nearest one in this folder or above it."""
    if named := environment.get(FILE_VARIABLE):
        if not Path(named).is_file():
            raise WrongUsage(f"{FILE_VARIABLE}={named}: there is no such file")
        return Path(named)
    found = next((path / FILE for path in (folder, *folder.parents) if (path / FILE).is_file()), None)
    return Path(FILE) if found == Path.cwd() / FILE else found  # as a person would call it


def _read(file: Path) -> dict[str, Any]:
    import tomllib  # here, because most have no such file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUsage(f"{file} cannot be read: {error}") from error


def _table(
    table: object, known: set[str], file: Path | None, place: str, environment: Mapping[str, str]
) -> dict[str, Origin]:
    """The options of one table of the file."""
    where = f"{file} {place}".strip()
    if not isinstance(table, dict):
        raise WrongUsage(f"{where}: it should be a table of options")
    found = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in known:
            raise WrongUsage(f"{where}: {_unknown(key, known)}")
        if isinstance(value, dict):
            raise WrongUsage(f"{where}: {key} should be a value and no table")
        value = _filled_in(value, where, key, environment)
        if name in PATHS and isinstance(value, str) and file is not None:
            value = str(file.parent / Path(value).expanduser())
        found[name] = Origin(value=value, where=where)
    return found


def _filled_in(value: Any, where: str, key: str, environment: Mapping[str, str]) -> Any:
    """A text with `${NAME}` replaced by that variable, so that secrets need not stand in the file."""
    if isinstance(value, list):
        return [_filled_in(one, where, key, environment) for one in value]
    if not isinstance(value, str):
        return value
    for name in VARIABLE.findall(value):
        if name not in environment:
            raise WrongUsage(f"{where}: {key} needs the variable {name}, which is not set")
    return VARIABLE.sub(lambda found: environment[found[1]], value)


def _unknown(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-"), sorted(known), n=1)
    return f"there is no option {key!r}" + (f"; did you mean {near[0]!r}?" if near else "")
