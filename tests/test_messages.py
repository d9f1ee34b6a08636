"""Messages for common problems: what happened, what to do, the exit code, and which results are kept."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.command import upwell
from upwell.demo import Switches, serve

LOGIN = "<title>Log in</title><form method=post action=/in><input name=user><input type=password name=word><button>Log in</button></form>"
ANSWERS = {
    "/pdf": (200, "application/pdf", "%PDF-1.7 x", {}),
    "/json": (200, "application/json", '{"items": []}', {}),
    "/401": (401, "text/html", "no", {"WWW-Authenticate": "Basic"}),
    "/401-token": (401, "text/html", "no", {"WWW-Authenticate": "Bearer"}),
    "/401-page": (401, "text/html", LOGIN, {}),
    "/403": (403, "text/html", "no", {}),
    "/404": (404, "text/html", "no", {}),
    "/503": (503, "text/html", "no", {}),
    "/login": (200, "text/html", LOGIN, {}),
    "/check": (403, "text/html", "<script src=/c.js></script><meta http-equiv=refresh content=9><p>Just a moment", {}),
    "/empty": (200, "text/html", "<h1>Nothing here</h1>", {}),
}


@pytest.fixture(scope="module")
def unusable_pages() -> Iterator[str]:
    """Serve start pages that are not HTML, fail, or have no search."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, text, headers = ANSWERS.get(self.path, (404, "text/plain", "", {}))
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "upwell", *arguments]


def alone(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(command(*arguments), capture_output=True, text=True, cwd=cwd, env=variables)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/pdf", "a PDF document"),
        ("/json", "--interface"),
        ("/401", "--user NAME:PASSWORD"),
        ("/401-token", "--token"),
        ("/401-page", "--login"),
        ("/403", "does it open in your browser"),
        ("/404", "is the address right?"),
        ("/503", "try later"),
        ("/login", "shows a login page: log in with --login"),
        ("/check", "shows a check for robots"),
    ],
)
def test_start_pages_that_cannot_be_used(unusable_pages: str, path: str, message: str, tmp_path: Path) -> None:
    """Each message names the problem and a way out."""
    done = upwell("harvest", unusable_pages + path, "--rate", "0", "--browser", "never", cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr


def test_walls_are_named_in_json(unusable_pages: str, tmp_path: Path) -> None:
    """Of several sites, summary.jsonl has the wall of each; `forms` has it too."""
    sites = [unusable_pages + path for path in ("/login", "/check", "/404")]
    done = upwell("harvest", *sites, "--rate", "0", "--browser", "never", "-o", "out", cwd=tmp_path)
    assert done.returncode == 1
    lines = [json.loads(line) for line in (tmp_path / "out" / "summary.jsonl").read_text().splitlines()]
    assert {line["url"]: line.get("wall") for line in lines} == dict(
        zip(sites, ("login", "challenge", None), strict=True)
    )
    shown = upwell("forms", sites[0], "--json", "--browser", "never", cwd=tmp_path)
    assert json.loads(shown.stdout)["wall"] == "login"


def test_a_budget_that_is_spent_too_soon(tmp_path: Path) -> None:
    """The message says which step was reached; the same command with a larger budget continues from there."""
    with serve() as site:
        for budget, when in (("3", "before a search"), ("5", "before the answers")):
            done = upwell("harvest", site.url, "--rate", "0", "--budget", budget, cwd=tmp_path)
            assert done.returncode == 1
            assert f"the budget of {budget} requests is spent {when}" in done.stderr
            assert len(site.received) <= int(budget)
        assert upwell("harvest", site.url, "--rate", "0", "--budget", "40", cwd=tmp_path).returncode == 0
        assert len(site.received) <= 41
        done = upwell("harvest", site.url, "--rate", "0", "--time", "0.001", "-o", "b", cwd=tmp_path)
        assert done.returncode == 1
        assert "seconds of --time are over" in done.stderr


def test_no_chromium(unusable_pages: str, tmp_path: Path) -> None:
    """The message says that JavaScript was not tried, and how to install Chromium."""
    nowhere = {"PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    done = alone("harvest", f"{unusable_pages}/empty", "--rate", "0", cwd=tmp_path, **nowhere)
    assert done.returncode == 1
    assert "JavaScript was not tried" in done.stderr
    assert "playwright install chromium" in done.stderr


def test_playwrights_own_chromium_is_found(tmp_path: Path) -> None:
    """The system's Chromium is placed where `playwright install chromium` would install one."""
    system, own = tmp_path / "bin", tmp_path / "browsers"
    system.mkdir()
    for program in Path("/usr/bin").iterdir():
        if "chrom" not in program.name:
            (system / program.name).symlink_to(program)
    where = "from playwright.sync_api import sync_playwright as p\nwith p() as q: print(q.chromium.executable_path)"
    nowhere = {"PATH": str(system), "PLAYWRIGHT_BROWSERS_PATH": str(own)}
    said = subprocess.run(
        [sys.executable, "-c", where], capture_output=True, text=True, check=True, env={**os.environ, **nowhere}
    )
    place = Path(said.stdout.strip())
    place.parent.mkdir(parents=True)
    place.symlink_to("/usr/bin/chromium")
    with serve(Switches(script="form")) as site:
        found = alone("forms", site.url, "--rate", "0", cwd=tmp_path, **nowhere)
    assert "found by browser" in found.stdout, found.stderr


def test_missing_files(tmp_path: Path) -> None:
    """A missing list of sites is an error; the folder of a log is created."""
    absent = upwell("harvest", "sites.txt", cwd=tmp_path)
    assert absent.returncode == 2
    assert "there is no such file" in absent.stderr
    with serve() as site:
        done = upwell("harvest", site.url, "--rate", "0", "--budget", "30", "--log", "a/b/log.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "a" / "b" / "log.jsonl").read_text().startswith('{"event"')
    (tmp_path / "file").touch()
    blocked = upwell("harvest", site.url, "--log", "file/log.jsonl", cwd=tmp_path)
    assert blocked.returncode == 2
    assert "--log" in blocked.stderr


def test_repeating_a_finished_command(tmp_path: Path) -> None:
    """Nothing is sent or replayed, and the command says so. Another format is written from the records held."""
    common = ("--rate", "0", "--budget", "60")
    with serve() as site:
        first = alone("harvest", site.url, *common, cwd=tmp_path)
        sent = len(site.received)
        again = alone("harvest", site.url, *common, cwd=tmp_path)
        assert again.stdout.splitlines()[1:] == first.stdout.splitlines()
        assert "this plan is finished: nothing was sent" in again.stdout
        assert "more requests should bring" in again.stdout or "should bring about" in again.stdout
        (archive,) = tmp_path.rglob("*.warc.gz")
        archive.write_bytes(b"")  # so that a replay would have to send
        other = alone("harvest", site.url, *common, "--format", "csv", cwd=tmp_path)
        assert other.returncode == 0
        assert list(tmp_path.rglob("records.csv"))
        assert len(site.received) == sent


# -- stopping ------------------------------------------------------------------------------------------------------------


def start(url: str, cwd: Path) -> subprocess.Popen[str]:
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = command("harvest", url, "--rate", "0", "--budget", "100000")
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=variables
    )


def handles_sigterm(process: int) -> bool:
    """Return True if a process handles SIGTERM, which is the first thing that the command sets up."""
    (caught,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize(
    ("requests", "signals"), [(0, ["INT"]), (4, ["INT"]), (4, ["TERM"]), (60, ["TERM"]), (60, ["INT", "INT"])]
)
def test_stopping_at_any_moment(requests: int, signals: list[str], tmp_path: Path) -> None:
    """At any moment, once or twice, by Ctrl-C or SIGTERM: a message, exit code 3, and the results so far are kept."""
    with serve(Switches(latency=0.02)) as site:
        running = start(site.url, tmp_path)
        deadline = time.monotonic() + 60
        while len(site.received) < requests and time.monotonic() < deadline:
            time.sleep(0.01)
        while not requests and not handles_sigterm(running.pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        for name in signals:
            running.send_signal(getattr(signal, f"SIG{name}"))
            time.sleep(0.05)
        out, err = running.communicate(timeout=60)
        assert running.returncode == 3, err
        assert "Traceback" not in err
        assert "stop" in out + err or "interrupted" in err
        asked = len(site.received)
        if requests == 60:
            (summary,) = tmp_path.rglob("summary.json")
            assert json.loads(summary.read_text())["stopped"] == "interrupted"
            assert list(tmp_path.rglob("records.parquet"))
        elif requests:
            assert list(tmp_path.rglob("state.sqlite"))
            assert "the same command continues" in err
            done = upwell("harvest", site.url, "--rate", "0", "--budget", "40", cwd=tmp_path)
            assert done.returncode == 0
            assert len(site.received) <= 42
    assert asked < 2000
