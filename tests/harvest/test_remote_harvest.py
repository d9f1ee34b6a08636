"""`-o s3://…`: a harvest with its files in an object store, continued on another machine, and read by the other verbs."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.object_store import s3_server
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Switches, serve
from upwell.errors import CannotKeep
from upwell.harvest import harvest_folder
from upwell.net.manners import Manners
from upwell.store.remote import RemoteFolder

SMALL = Switches(page_size=25)


def on_machine(name: str, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    """Switch to a machine with an empty cache."""
    patch.setenv("XDG_CACHE_HOME", str(tmp_path / name))


def test_a_harvest_can_be_continued_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many requests and the same rows as in one folder; all other verbs read it at its URL."""
    with s3_server(monkeypatch, "bucket"), serve(SMALL) as site:
        on_machine("a", tmp_path, monkeypatch)
        first = api.harvest(site.url, out="s3://bucket/sites", plan=Plan(budget=30), manners=Manners(rate=0))
        sent = len(site.received)
        name = first.folder.name
        assert first.address == f"s3://bucket/sites/{name}"
        on_machine("b", tmp_path, monkeypatch)
        second = api.harvest(site.url, out="s3://bucket/sites", plan=Plan(budget=60), manners=Manners(rate=0))
        assert len(site.received) - sent <= 60 - sent + 2  # robots.txt and the home page may be requested again
        alone = api.harvest(site.url, out=tmp_path / "local", plan=Plan(budget=60), manners=Manners(rate=0))
        assert sorted(second.table["_key"].to_pylist()) == sorted(alone.table["_key"].to_pylist())
        on_machine("c", tmp_path, monkeypatch)
        place = f"s3://bucket/sites/{name}"
        (status,) = api.status("s3://bucket/sites")
        assert (status.folder, status.records) == (place, second.summary["records"])
        (exported,) = api.export(place, format="csv", out="s3://bucket/tables/cities.csv")
        assert exported.file == "s3://bucket/tables/cities.csv"
        rows = api.open("s3://bucket/sites").sql("SELECT count(*) AS n FROM everything").rows()
        assert [row["n"] for row in rows] == [second.summary["records"]]
        assert api.open("s3://bucket/sites").search("san").records == second.summary["records"]
        compared = api.compare(place, "s3://bucket/tables/cities.csv", out="s3://bucket/compared")
        assert compared.report == "s3://bucket/compared/compared.html"
        assert "archive" not in {path.name for path in (tmp_path / "c").rglob("*")}  # not requested
        names = set(RemoteFolder(place).names())
        assert {"state.sqlite", "summary.json", "source.json", "report.html", "archive/upwell-00000.warc.gz"} <= names


def test_a_running_harvest_uploads_consistent_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a checkpoint the URL has a state that opens and the archive that it refers to; a second machine is refused."""
    monkeypatch.setattr(harvest_folder, "RENEW_SECONDS", 0.3)
    monkeypatch.setattr(harvest_folder, "CHECKPOINT_SECONDS", 0.3)
    address = f"memory://{tmp_path.name}/sites"
    on_machine("a", tmp_path, monkeypatch)
    kept: list[int] = []

    async def run(url: str) -> None:
        from upwell import aio

        task = asyncio.ensure_future(
            aio.harvest(url, out=address, plan=Plan(budget=60), manners=Manners(rate=10, contact="a@example.org"))
        )
        while not task.done():
            await asyncio.sleep(0.2)
            names = await asyncio.to_thread(RemoteFolder(address, tmp_path / "watch").names)
            if not kept and any(name.endswith("state.sqlite") for name in names):
                on_machine("b", tmp_path, monkeypatch)
                with pytest.raises(CannotKeep, match="is being harvested by"):
                    await aio.harvest(url, out=address, plan=Plan(budget=60), manners=Manners(rate=0))
                on_machine("a", tmp_path, monkeypatch)
                (status,) = await asyncio.to_thread(lambda: list(api.status(address)))
                kept.append(status.requests)
        await task

    with serve(SMALL) as site:
        asyncio.run(run(site.url))
    assert kept
    on_machine("c", tmp_path, monkeypatch)
    (status,) = api.status(address)
    assert status.stopped == "budget"


def test_the_command_line_accepts_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output names the URL, not the working copy."""
    from upwell.cli import app

    on_machine("a", tmp_path, monkeypatch)
    address = f"file://{tmp_path}/there"
    with serve(SMALL) as site, pytest.raises(SystemExit) as end:
        app(["harvest", site.url, "-o", address, "--budget", "30", "--rate", "0"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert f"report:  {address}/" in printed
    with pytest.raises(SystemExit):
        app(["status", address, "--json"])
    assert json.loads(capsys.readouterr().out)["folder"].startswith(address)


def test_several_sites_can_be_harvested_to_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes upload their sites, and the files of the run are next to them."""
    on_machine("a", tmp_path, monkeypatch)
    address = f"file://{tmp_path}/there"
    with serve(SMALL) as one, serve(SMALL) as other:
        running = api.RunOptions(engine="processes", workers=2)
        plan, manners = Plan(budget=15), Manners(rate=0)
        results = api.harvest_all([one.url, other.url], out=address, plan=plan, manners=manners, running=running)
    assert [result for result in results if not isinstance(result, api.Result)] == []
    lines = (tmp_path / "there/summary.jsonl").read_text().splitlines()
    assert {json.loads(line)["outcome"] for line in lines} == {"done"}
    on_machine("b", tmp_path, monkeypatch)
    assert len(list(api.status(address))) == 2
    run = api.run_status(address)
    assert run is not None
    assert (run.run, run.done) == ("over", 2)
