"""What a new user meets when something is wrong with a folder, a list of sites or an address: one sentence, and what to do."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import upwell
from upwell.demo import SMALL_SITE, Running, serve
from upwell.errors import Unreachable
from upwell.store.state import State

# The tests may run as root, who can write everywhere; a bounding set without these capabilities takes that away.
WITHOUT_OVERRIDE = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")


@pytest.fixture(scope="module")
def site() -> Iterator[Running]:
    with serve(SMALL_SITE) as running:
        yield running


@pytest.fixture(scope="module")
def finished(site: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a harvest with few records."""
    out = tmp_path_factory.mktemp("finished")
    done = upwell("harvest", site.url, "-o", "out", "--rate", "0", "--budget", "25", cwd=out)
    assert done.returncode == 0, done.stderr
    return next((out / "out").glob("127.0.0.1_*"))


def as_ordinary_user(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command without the right to write everywhere."""
    prefix = WITHOUT_OVERRIDE if os.geteuid() == 0 else ()
    if prefix and shutil.which(prefix[0]) is None:
        pytest.skip("root writes everywhere, and setpriv is missing")
    environment = {**os.environ, "COLUMNS": "200", "XDG_STATE_HOME": str(cwd / "state")}
    return subprocess.run(
        [*prefix, sys.executable, "-m", "upwell", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def read_only(finished: Path, tmp_path: Path) -> Path:
    """Return the folder of a harvest in which nothing can be written."""
    copy = tmp_path / "fixed" / finished.name
    shutil.copytree(finished, copy)
    for path in (*copy.rglob("*"), copy, copy.parent):
        path.chmod(path.stat().st_mode & 0o555)
    return copy


def test_a_read_only_folder_is_read(read_only: Path, tmp_path: Path) -> None:
    for arguments in (
        ("status", "fixed"),
        ("explain", f"fixed/{read_only.name}"),
        ("schema", f"fixed/{read_only.name}"),
        ("export", f"fixed/{read_only.name}", "-o", "table.csv"),
    ):
        done = as_ordinary_user(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), arguments
    assert len((tmp_path / "table.csv").read_text().splitlines()) > 20


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "{}", "--format", "csv"),
        ("extract", "{}/archive", "--save", "fixed/source.json"),
        ("extract", "{}/archive", "-o", "fixed/table"),
        ("entities", "{}/archive", "-o", "fixed/table"),
        ("entities", "{}/archive", "--save", "fixed/model.json"),
        ("schema", "{}", "-o", "fixed/schema.json"),
        ("blocks", "{}/report.html", "-o", "fixed/blocks"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_without_a_traceback(
    arguments: tuple[str, ...], read_only: Path, tmp_path: Path
) -> None:
    done = as_ordinary_user(*(text.format(f"fixed/{read_only.name}") for text in arguments), cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "fixed/" in done.stderr.splitlines()[-1]
    assert "choose another" in done.stderr.splitlines()[-1]


def test_probe_names_a_folder_that_cannot_be_written(site: Running, read_only: Path, tmp_path: Path) -> None:
    done = as_ordinary_user("probe", site.url, "-o", "fixed/probe", "--rate", "0", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "fixed/probe" in done.stderr.splitlines()[-1]


def test_status_names_a_damaged_harvest_and_shows_the_others(finished: Path, tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        shutil.copytree(finished, tmp_path / "out" / name)
    (tmp_path / "out" / "first" / "summary.json").write_text("{")
    state = tmp_path / "out" / "second" / "state.sqlite"
    state.write_bytes(state.read_bytes()[:3000])
    done = upwell("status", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("out/third: ")
    assert "first/summary.json is damaged" in done.stderr
    assert "second/state.sqlite" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_changes_of_a_killed_process_are_not_ignored(read_only: Path, tmp_path: Path) -> None:
    """A file that cannot be locked is read as it is, which would miss what is still in the write-ahead log."""
    read_only.chmod(0o755)
    (read_only / "state.sqlite-wal").write_bytes(b"1")
    read_only.chmod(0o555)
    done = as_ordinary_user("export", f"fixed/{read_only.name}", "-o", "table.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "copy it to a folder that you can write" in done.stderr


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_dead_host_is_reported_soon_and_leaves_no_folder(tmp_path: Path) -> None:
    port = closed_port()
    upwell("harvest", f"http://127.0.0.1:{port}/", "-o", "out", "--rate", "0", cwd=tmp_path)  # loads the libraries
    began = time.monotonic()
    done = upwell("harvest", f"http://127.0.0.1:{port}/", "-o", "out", cwd=tmp_path)
    assert done.returncode == Unreachable.exit_code
    assert f"nothing listens at port {port}" in done.stderr
    assert "--rate" not in done.stderr
    assert time.monotonic() - began < 8  # at one request a second, five attempts took about twenty
    assert list((tmp_path / "out").iterdir()) == []


def test_an_unknown_name_is_called_so(tmp_path: Path) -> None:
    done = upwell("harvest", "http://no-such-host.invalid/", "-o", "out", cwd=tmp_path)
    assert "no machine of the name 'no-such-host.invalid' is known" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_bad_line_of_a_list_is_named_with_its_number_and_the_others_are_harvested(
    site: Running, tmp_path: Path
) -> None:
    (tmp_path / "sites.txt").write_text(f"# sites\n{site.url}\nnot an address\n")
    done = upwell(
        "harvest", "sites.txt", "--allow", "sites.txt", "-o", "out", "--rate", "0", "--budget", "20", cwd=tmp_path
    )
    assert "sites.txt, line 3: 'not an address' is neither a file nor an address" in done.stderr
    assert "records held" in done.stdout
    assert done.returncode == 3


def test_a_list_of_bad_lines_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "sites.txt").write_text("not an address\n")
    done = upwell("harvest", "sites.txt", "-o", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "sites.txt, line 1" in done.stderr


def test_status_of_a_harvest_that_failed_or_runs(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "failed")
    with (tmp_path / "failed" / "events.jsonl").open("a") as events:
        events.write(json.dumps({"event": "failed", "reason": "it stopped answering", "kind": "Unreachable"}) + "\n")
    assert "  failed after 25 requests" in upwell("status", "failed", cwd=tmp_path).stdout
    shutil.copytree(finished, tmp_path / "running")
    with State(tmp_path / "running" / "state.sqlite"):  # locks it
        shown = upwell("status", "running", cwd=tmp_path).stdout
    assert "  running, 25 requests so far; " in shown
    assert "stopped" not in shown


def test_a_page_without_any_search_is_described_in_plain_words(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler

    from tests.running_server import running

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>Quiet</title><p>Nothing to look for here." if self.path == "/" else b"")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with running(Page) as url:
        done = upwell("harvest", url, "-o", "out", "--rate", "0", "--browser", "never", cwd=tmp_path)
    assert f"{url} has no form, and links to no page that could have one" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("harvest", "SITE", "-o", "out", "--browser", "always"), "pip install 'upwell[browser]'"),
        (("forms", "SITE", "--browser", "always"), "pip install 'upwell[browser]'"),
        (("harvest", "SITE", "-o", "out", "--engine", "ray"), "pip install 'upwell[ray]'"),
        (("harvest", "SITE", "-o", "out", "--state", "postgresql://127.0.0.1/x"), "pip install 'upwell[postgres]'"),
        (("harvest", "SITE", "-o", "s3://bucket/harvests"), "pip install 'upwell[files]'"),
        (("harvest", "SITE", "-o", "out", "--proxy", "socks5://127.0.0.1:9"), "pip install 'upwell[socks]'"),
        (("serve", "."), "pip install 'upwell[web]'"),
        (("mcp", "."), "pip install 'upwell[mcp]'"),
    ],
)
def test_a_missing_extra_is_named_with_its_command_before_any_request(
    arguments: tuple[str, ...], command: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "for name in ('playwright', 'ray', 'psycopg', 'fsspec', 'aiohttp_socks', 'uvicorn', 'starlette', 'mcp'):\n"
        "    sys.modules[name] = None\n"
    )
    with serve(SMALL_SITE) as own:
        done = subprocess.run(
            [sys.executable, "-m", "upwell", *(own.url if text == "SITE" else text for text in arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert own.received == []
    assert done.returncode in (1, 2)
    assert command in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plain_install_queries_everything_of_one_site(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor name in ('rapidfuzz', 'scipy', 'pandas', 'polars', 'pyarrow'):\n    sys.modules[name] = None\n"
    )
    for copy in ("one", "two"):
        shutil.copytree(finished, tmp_path / "several" / copy)

    def ask(folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "upwell", "sql", "SELECT count(*) AS cities FROM everything", str(folder)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    one = ask(finished)
    assert one.returncode == 0, one.stderr
    assert int(one.stdout.split()[-1]) > 20
    several = ask(tmp_path / "several")
    assert several.returncode == 1
    assert "pip install 'upwell[matching]'" in several.stderr
