"""Options of all verbs that query a site, and their values for one site: command line, variables, upwell.toml."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from upwell.cli import options
from upwell.cli.printing import warn
from upwell.config import Settings
from upwell.errors import WrongUsage
from upwell.net.access import Access, parse_header
from upwell.net.manners import Manners
from upwell.places import shown
from upwell.urls.hosts import host_and_port

if TYPE_CHECKING:
    from upwell.net.cookies import Cookie

__all__ = ["OPTIONS", "asks_sites", "converted", "from_file", "manners_of", "option_name", "values_for"]

# option → its annotation, and its default
OPTIONS: dict[str, tuple[Any, Any]] = {
    "rate": (options.Rate, 1.0),
    "contact": (options.Contact, ""),
    "user_agent": (options.UserAgent, ""),
    "ignore_robots": (options.IgnoreRobots, False),
    "allow": (options.Allow, None),
    "cookies": (options.Cookies, None),
    "header": (options.Header, None),
    "user": (options.User, ""),
    "token": (options.Token, ""),
    "login": (options.Login, False),
    "proxy": (options.Proxy, ""),
    "cert": (options.Certificate, None),
    "key": (options.CertificateKey, None),
    "ca": (options.Authority, None),
}

CREDENTIALS = (
    "cookies",
    "header",
    "user",
    "token",
    "login",
    "cert",
)  # options that only an address named by the user gets


def asks_sites(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `OPTIONS` to a verb; it gets their values from `values_for`."""
    own = list(inspect.signature(verb).parameters.values())
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shared = [inspect.Parameter(name, kind, default=d, annotation=a) for name, (a, d) in OPTIONS.items()]

    @wraps(verb)
    def command(**values: Any) -> None:
        verb(**{name: value for name, value in values.items() if name not in OPTIONS})

    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined] # what Typer reads
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    return command


def option_name(parameter: Any) -> str:
    """Return the name of an option as it is written in settings, such as `user-agent`; "" for an argument."""
    return next((str(name)[2:] for name in parameter.opts if name.startswith("--")), "")


def values_for(context: typer.Context, site: str) -> dict[str, Any]:
    """Return the values of a verb's options for one site.

    The table of the site in upwell.toml takes precedence over defaults and over its other tables, not over the command line or variables.
    """
    settings = context.obj if isinstance(context.obj, Settings) else Settings()
    values = dict(context.params)
    host, _ = host_and_port(site if "://" in site else f"//{site}")
    of_verb = settings.verbs.get(context.info_name or "", {})
    for parameter in context.command.params:
        name = option_name(parameter)
        origin = settings.of_site(host).get(name)
        source = context.get_parameter_source(str(parameter.name))
        is_on_command_line = source is not None and source.name == "COMMANDLINE"
        if origin is None or is_on_command_line or (name in of_verb and of_verb[name].is_variable):
            continue
        values[str(parameter.name)] = converted(context, parameter, origin.value, f"{origin.where}: {name}")
    return values


def converted(context: typer.Context, parameter: Any, value: Any, where: str) -> Any:
    """Convert a value of upwell.toml as if it were given on the command line."""
    try:
        return parameter.process_value(context, value)
    except typer.BadParameter as error:
        raise WrongUsage(f"{where} = {value!r}: {error.message}") from error


def manners_of(values: dict[str, Any], site: str, *, is_typed: bool = True) -> Manners:
    """Build the manners and the access for one site from the values of the options.

    A site that was not typed in this command, but comes from a file, gets no credentials, unless --allow names it.
    """
    allow = tuple(name for name in values["allow"] or () if "://" in name or not Path(name).is_file())
    if not is_typed and not Manners(allow=allow).names(site):
        given = [name for name in CREDENTIALS if values[name]]
        if given and not allow:
            raise WrongUsage(
                f"--{given[0]} is sent only to an address that you type, and {shown(site)} comes from a file; add --allow {shown(site)}"
            )
        values = values | dict.fromkeys(given, "")
    user, _, password = from_file(values["user"], "--user").partition(":")
    if user and not password:
        password = _ask_password(user)
    access = Access(
        cookies=_cookies(values, site),
        headers=tuple(parse_header(from_file(header, "--header")) for header in values["header"] or ()),
        user=user,
        password=password,
        token=from_file(values["token"], "--token"),
        proxy=values["proxy"],
        certificate=str(values["cert"] or ""),
        key=str(values["key"] or ""),
        ca=str(values["ca"] or ""),
    )
    return Manners(
        rate=values["rate"],
        contact=values["contact"],
        agent=values["user_agent"] or Manners.agent,
        ignore_robots=values["ignore_robots"],
        allow=allow,
        access=access,
    )


def _cookies(values: dict[str, Any], site: str) -> "tuple[Cookie, ...]":
    """Return the cookies of --cookies and --login; warn if those of --cookies are all for other sites."""
    from upwell.net.cookies import read_cookies

    host, _ = host_and_port(site if "://" in site else f"//{site}")
    cookies = read_cookies(values["cookies"]) if values["cookies"] else ()
    if cookies and not any(cookie.is_for(host) for cookie in cookies):
        domains = ", ".join(sorted({cookie.domain for cookie in cookies})[:3])
        warn(f"--cookies {values['cookies']} has no cookie for {host}, only for {domains}")
    if values["login"]:
        from upwell.net.login import session_cookies

        cookies += session_cookies(site, values["proxy"], lambda message: print(message, file=sys.stderr, flush=True))
    return cookies


def from_file(text: str, option: str) -> str:
    """Return a value, or the content of the file for `@FILE`, which keeps a secret out of the list of processes."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"{option} {text}: the file cannot be read") from error


def _ask_password(user: str) -> str:
    if not sys.stdin.isatty():
        raise WrongUsage(f"--user {user}: the password is missing; write NAME:PASSWORD, or @FILE with such a line")
    from getpass import getpass

    return getpass(f"password of {user}: ")
