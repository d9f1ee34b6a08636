"""Cookie files: Netscape files as written by browser extensions, curl and yt-dlp, and JSON of extensions and playwright."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from upwell.errors import WrongUsage

__all__ = ["Cookie", "read_cookies", "write_cookies"]

HTTP_ONLY = "#HttpOnly_"  # prefix of a line in a Netscape file: the cookie is hidden from scripts
NETSCAPE_FIELDS = 7  # domain, whether subdomains get it, path, secure, expires, name, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    """Cookie, and where it is sent."""

    name: str
    value: str = field(repr=False)
    domain: str  # without a leading dot
    path: str = "/"
    for_subdomains: bool = False
    secure: bool = False  # over HTTPS only
    http_only: bool = False  # hidden from the scripts of pages
    expires: float = 0.0  # seconds since 1970; 0: at the end of the session

    @property
    def is_expired(self) -> bool:
        """Return True if it has expired."""
        return 0 < self.expires < time.time()

    def is_for(self, host: str) -> bool:
        """Return True if it is sent to a host."""
        return host == self.domain or (self.for_subdomains and host.endswith(f".{self.domain}"))


def read_cookies(path: str | Path) -> tuple[Cookie, ...]:
    """Read the cookies of a file that have not expired."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"--cookies {path} cannot be read ({getattr(error, 'strerror', None) or error})") from error
    try:
        cookies = _from_json(json.loads(text)) if text.lstrip()[:1] in ("[", "{") else _from_netscape(text)
    except (ValueError, KeyError, TypeError) as error:
        raise WrongUsage(
            f"--cookies {path} is neither a Netscape cookie file nor a JSON list of cookies with name, value and domain"
        ) from error
    if not cookies:
        raise WrongUsage(f"--cookies {path} has no cookie")
    valid = tuple(cookie for cookie in cookies if not cookie.is_expired)
    if not valid:
        raise WrongUsage(
            f"--cookies {path}: all {len(cookies)} cookies have expired; log in again and export them again"
        )
    return valid


def write_cookies(cookies: Sequence[Cookie], path: Path) -> None:
    """Write a Netscape file that only its owner can read."""
    lines = ["# Netscape HTTP Cookie File"]
    for cookie in cookies:
        domain = f".{cookie.domain}" if cookie.for_subdomains else cookie.domain
        flags = ["TRUE" if flag else "FALSE" for flag in (cookie.for_subdomains, cookie.secure)]
        cells = (domain, flags[0], cookie.path, flags[1], str(int(cookie.expires)), cookie.name, cookie.value)
        lines.append(HTTP_ONLY * cookie.http_only + "\t".join(cells))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _from_netscape(text: str) -> list[Cookie]:
    cookies = []
    for line in text.splitlines():
        cells = line.removeprefix(HTTP_ONLY).split("\t")
        if not line.strip() or (line.startswith("#") and not line.startswith(HTTP_ONLY)):
            continue
        if len(cells) != NETSCAPE_FIELDS:
            raise ValueError("a line does not have seven cells")
        domain, for_subdomains, path, secure, expires, name, value = cells
        cookies.append(
            Cookie(
                name=name,
                value=value,
                domain=domain.removeprefix("."),
                path=path or "/",
                for_subdomains=for_subdomains == "TRUE",
                secure=secure == "TRUE",
                http_only=line.startswith(HTTP_ONLY),
                expires=float(expires or 0),
            )
        )
    return cookies


def _from_json(saved: Any) -> list[Cookie]:
    """Convert a list of cookies, or playwright's storage state, which contains one."""
    cookies = []
    for item in saved["cookies"] if isinstance(saved, dict) else saved:
        domain = str(item["domain"])
        expires = item.get("expirationDate", item.get("expires")) or 0
        cookies.append(
            Cookie(
                name=str(item["name"]),
                value=str(item["value"]),
                domain=domain.removeprefix("."),
                path=item.get("path") or "/",
                for_subdomains=not item["hostOnly"] if "hostOnly" in item else domain.startswith("."),
                secure=bool(item.get("secure")),
                http_only=bool(item.get("httpOnly")),
                expires=max(0.0, float(expires)),  # playwright writes -1 for session cookies
            )
        )
    return cookies
