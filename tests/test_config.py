"""Options from variables and from upwell.toml: for all verbs, one verb, one site; secrets are hidden."""

import json
from pathlib import Path

import pytest

from tests.command import upwell
from upwell.demo import serve
from upwell.places import addresses_to_try


def test_precedence_of_options(tmp_path: Path) -> None:
    """Command line, variables, table of the site, table of the verb, top level; a file in a parent folder is used."""
    (tmp_path / "upwell.toml").write_text(
        'rate = 0\ncontact = "ann@example.org"\n[harvest]\nbudget = 31\nformat = "jsonl"\nout = "kept"\n'
        '[site."127.0.0.1"]\nbudget = 29\n'
    )
    below = tmp_path / "below"
    below.mkdir()

    def requests(*options: str, **environment: str) -> int:
        done = upwell("harvest", site.url, "--json", *options, cwd=below, **environment)
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["requests"])

    with serve() as site:
        assert requests() == 29
        assert list((tmp_path / "kept").rglob("records.jsonl"))
        assert site.received[-1].agent.endswith("(+ann@example.org)")
        assert requests(UPWELL_BUDGET="30", UPWELL_HARVEST_OUT="b") == 30
        assert requests("--budget", "33", UPWELL_BUDGET="30", UPWELL_HARVEST_OUT="c") == 33
        other = site.url.replace("127.0.0.1", "localhost")
        done = upwell("harvest", other, "--json", cwd=below)
        assert json.loads(done.stdout)["requests"] == 31


def test_each_site_of_a_list_has_its_own_options(tmp_path: Path) -> None:
    with serve() as one:
        other = one.url.replace("127.0.0.1", "localhost")
        (tmp_path / "upwell.toml").write_text("rate = 0\n[site.localhost]\nbudget = 25\n[harvest]\nbudget = 35\n")
        (tmp_path / "sites.txt").write_text(f"{one.url}\n{other.removeprefix('http://')}\n")
        done = upwell("harvest", "sites.txt", "--allow", "sites.txt", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sent = {line["site"].partition(":")[0]: line["requests"] for line in map(json.loads, done.stdout.splitlines())}
    assert sent == {"127.0.0.1": 35, "localhost": 25}  # in whatever order they ended


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ratte = 1", "there is no option 'ratte'; did you mean 'rate'?"),
        ("[harvst]\nbudget = 1", "there is no option 'harvst'; did you mean 'harvest'?"),
        ("[harvest]\nbugdet = 1", "[harvest]: there is no option 'bugdet'; did you mean 'budget'?"),
        ('[site."a.org"]\nbugdet = 1', '[site."a.org"]: there is no option'),
        ('[harvest]\nbudget = "many"', "budget = 'many'"),
        ("rate = -1", "rate"),
        ("rate =", "cannot be read"),
        ('token = "${NOT_SET_AT_ALL}"', "NOT_SET_AT_ALL, which is not set"),
    ],
)
def test_errors_in_the_file_name_the_key_and_a_suggestion(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "upwell.toml").write_text(text)
    done = upwell("forms", "http://127.0.0.1:9/", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "upwell.toml" in done.stderr


def test_config_show_hides_secrets(tmp_path: Path) -> None:
    """Every value has its origin; an unknown variable is reported."""
    (tmp_path / "upwell.toml").write_text('rate = 0.5\n[site."a.org"]\nheader = ["X-Key: ${KEY}"]\n')
    shown = upwell("config", "--show", cwd=tmp_path, UPWELL_TOKEN="s3cret", KEY="h1dden", UPWELL_BUDGT="3")
    assert shown.returncode == 0
    assert "rate = 0.5  (" in shown.stdout
    assert "token = ***  (UPWELL_TOKEN)" in shown.stdout
    assert "UPWELL_BUDGT: there is no option 'budgt'; did you mean 'budget'?" in shown.stderr
    assert "s3cret" not in shown.stdout + shown.stderr
    assert "h1dden" not in shown.stdout + shown.stderr
    as_json = json.loads(upwell("config", "--json", cwd=tmp_path, KEY="h1dden").stdout)
    assert as_json["options"]["harvest"]["rate"]["value"] == 0.5
    assert as_json["file"].endswith("upwell.toml")


def test_an_address_without_a_scheme(tmp_path: Path) -> None:
    """HTTPS is tried first, except for this machine."""
    with serve() as site:
        place = site.url.removeprefix("http://").rstrip("/")
        done = upwell("forms", place, "--rate", "0", cwd=tmp_path)
    assert done.returncode == 0
    assert "ask: GET" in done.stdout
    assert addresses_to_try("example.org/a") == ("https://example.org/a", "http://example.org/a")


def test_shell_completion(tmp_path: Path) -> None:
    """For the shells that Typer supports."""
    script = upwell("--show-completion", "bash", cwd=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert script.returncode == 0
    assert "COMP_WORDS" in script.stdout
    assert "--install-completion" in upwell("--help", cwd=tmp_path).stdout
