"""Cost of starting, as CPU time of new processes, relative to importing a peer: `python -m benchmarks.speed.start`.

A user pays it for every command, a program for every process that it starts.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 9
BAR_OF_TYPER = 2.0  # the command line uses Typer: nothing can cost less than importing it
BAR_OF_SCRAPY = 1.0  # reading one saved page should cost less than starting the peer
UPWELL = str(Path(sys.executable).with_name("upwell"))
# All modules are loaded from compiled files, as for users; the first round writes missing ones.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def cpu_of(command: list[str]) -> float:
    """Return the CPU seconds, user and system, of one process from start to end."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, command)
    return used.ru_utime + used.ru_stime


def importing(module: str) -> list[str]:
    """Return a command that only imports a module."""
    return [sys.executable, "-c", f"import {module}"]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(_page(), encoding="utf-8")
        rows = [
            ("import upwell", importing("upwell"), "typer", BAR_OF_TYPER),
            ("upwell --help", [UPWELL, "--help"], "typer", BAR_OF_TYPER),
            ("upwell --version", [UPWELL, "--version"], "typer", BAR_OF_TYPER),
            ("upwell forms FILE", [UPWELL, "forms", str(page)], "scrapy", BAR_OF_SCRAPY),
        ]
        commands = {what: command for what, command, _, _ in rows} | {
            f"import {module}": importing(module) for module in ("typer", "scrapy")
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):  # alternating, so that other programs on the machine slow all of them equally
            for what, command in commands.items():
                best[what] = min(best[what], cpu_of(command))
    print(f"CPU of a fresh process, ms, best of {ROUNDS}\n")
    print(f"{'what':<20}{'ours':>8}  {'reference':<16}{'':>6}{'ratio':>8}{'bar':>6}")
    kept = True
    for what, _, module, bar in rows:
        ours, reference = best[what], best[f"import {module}"]
        kept = kept and ours <= bar * reference
        print(
            f"{what:<20}{1000 * ours:>8.0f}  {'import ' + module:<16}{1000 * reference:>6.0f}{ours / reference:>8.2f}{bar:>6.1f}"
        )
    print(f"\nthe bars are {'kept' if kept else 'broken'}")
    return 0 if kept else 1


def _page() -> str:
    """Return a page of about 20 KB with several forms, one of them a search form."""
    items = "".join(f"<li><a href=/part/{i}>Part {i}</a> <p>What there is to say of part {i}.</p>" for i in range(250))
    return (
        "<title>A page</title><form action=/find><label>Search <input name=q></label><button>Go</button></form>"
        "<form action=/login method=post><input name=user><input name=password type=password></form>"
        f"<ul>{items}</ul><form action=/news method=post><input name=email placeholder=E-mail><button>Subscribe</button></form>"
    )


if __name__ == "__main__":
    sys.exit(main())
