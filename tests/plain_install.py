"""A plain `pip install upwell` in its own virtual environment: features that work without extras, and the messages for missing ones.

It takes more than a minute and is therefore a separate step: `make plain`.
"""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[1]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "docs/pypi.md")
PAGE = "<html lang={0}><title>{1}</title><body><h1>{1}</h1><p>{1}</p></body></html>"
LANGUAGES = {"zh": "没有搜索的网页", "ja": "検索のないページ", "ko": "검색이 없는 페이지"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this source from a copy, because setuptools leaves files where it builds."""
    copy = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so"))
    for name in BUILT_FROM:
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(copy / "dist"), str(copy)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an environment with Upwell and its dependencies only; return its folder of commands."""
    folder = tmp_path_factory.mktemp("plain") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    constraints = ["-c", str(ROOT / "constraints.txt")]
    command = [
        str(folder / "bin" / "pip"),
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *constraints,
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve pages without a search, in languages that have to be segmented into words."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            language = self.path.strip("/")
            self.send_response(200 if language in (*LANGUAGES, "") else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(PAGE.format(language or "en", LANGUAGES.get(language, "Nothing to search")).encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, cwd=cwd, env={"PATH": "/usr/bin:/bin"}
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_wheel_contains_the_package_and_nothing_else(wheel: Path) -> None:
    """No benchmarks and no tests; templates, word lists and cities are included."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"upwell"}
    assert "upwell/demo/cities.tsv.bz2" in names
    assert "upwell/py.typed" in names
    (metadata,) = (name for name in names if name.endswith("METADATA"))
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "Author: The Upwell maintainers" in text
    assert "](docs/" not in text  # relative links would be broken on PyPI


def test_a_plain_install_runs_the_demo_and_reports_sites_without_a_search(
    installed: Path, site: str, tmp_path: Path
) -> None:
    """The demo works; for a page without a search, in any language, the message says so and that JavaScript was not tried."""
    upwell, python = installed / "upwell", installed / "python"
    demo = run(upwell, "demo", "--budget", "40", "--port", "0", cwd=tmp_path)
    assert demo.returncode == 0, demo.stderr
    assert "in truth:" in demo.stdout
    assert run(upwell, "status", "demo-harvest", cwd=tmp_path).returncode == 0
    for format in ("parquet", "csv", "jsonl", "sqlite", "duckdb", "xlsx"):
        assert (
            run(upwell, "export", "demo-harvest", "--format", format, "-o", f"t.{format}", cwd=tmp_path).returncode == 0
        )
    for language in ("", *LANGUAGES):
        done = run(upwell, "harvest", site + language, "--rate", "0", cwd=tmp_path)
        assert done.returncode == 1
        assert "JavaScript was not tried" in done.stderr
        assert "upwell[browser]" in done.stderr
    looked = run(upwell, "forms", site, "--rate", "0", cwd=tmp_path)
    assert looked.returncode == 0
    assert "JavaScript was not tried" in looked.stderr
    said = run(python, "-c", "import upwell; print(upwell.__version__, upwell.harvest)", cwd=tmp_path)
    assert said.stdout.startswith("0.2.0 ")


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("papers", ("extract", "demo", "--method", "thor")),
        ("papers", ("cluster", "demo", "--signature", "url")),
        ("papers", ("queries", "--snapshot", "texts.jsonl", "--method", "cluster")),
        ("socks", ("forms", "http://127.0.0.1:9/", "--proxy", "socks5://127.0.0.1:9")),
        ("browser", ("forms", "SITE", "--browser", "always", "--rate", "0")),
    ],
)
def test_a_missing_extra_is_named(
    extra: str, arguments: tuple[str, ...], installed: Path, site: str, tmp_path: Path
) -> None:
    """One sentence with the command that installs it."""
    (tmp_path / "texts.jsonl").write_text('{"text": "lima peru"}\n{"text": "cusco peru"}\n{"text": "quito ecuador"}\n')
    (tmp_path / "demo").mkdir()
    for number in range(6):
        rows = "".join(f"<li><a href=/{i}>thing {i} {number}</a></li>" for i in range(number + 2))
        (tmp_path / "demo" / f"{number}.html").write_text(f"<title>x</title><h1>Answers</h1><ul>{rows}</ul>")
    done = run(installed / "upwell", *(site if one == "SITE" else one for one in arguments), cwd=tmp_path)
    assert f"upwell[{extra}]" in done.stderr, done.stdout + done.stderr


def test_tables_of_other_libraries_name_their_extra(installed: Path, tmp_path: Path) -> None:
    """The extra is required only when Arrow, pandas or Polars is used."""
    code = (
        "import upwell; from pathlib import Path\n"
        "r = upwell.Result(folder=Path('.'), records=Path('r.parquet'), report=Path('r.html'), summary={})\n"
        "for f in (lambda: r.table, r.to_pandas, r.to_polars):\n"
        "    try: f()\n"
        "    except upwell.UpwellError as error: print(error)\n"
    )
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    assert all(
        f"upwell[{name}]" in line
        for name, line in zip(("arrow", "pandas", "polars"), done.stdout.splitlines(), strict=True)
    ), done.stdout
