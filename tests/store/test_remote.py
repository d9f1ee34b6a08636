"""Folders at URLs: what is uploaded, downloaded and refused, with fsspec's memory and local files and with a real S3 server."""

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.object_store import s3_server
from upwell.errors import CannotKeep, InUse, MissingExtra, UpwellError, WrongUsage
from upwell.harvest.harvest_folder import copy_open_database
from upwell.store.remote import RemoteFolder, is_remote, local_copy, open_output, without_credentials, working_folder


@pytest.fixture(params=["memory", "local", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return an empty folder at a URL of each kind."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.param == "memory":
        yield f"memory://{tmp_path.name}/place"
    elif request.param == "local":
        yield f"file://{tmp_path}/place"
    else:
        with s3_server(monkeypatch, "bucket"):
            yield "s3://bucket/place"


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_only_changed_files_are_uploaded_and_downloaded(address: str, tmp_path: Path) -> None:
    """Another machine gets the newest files, deleted files disappear, and unchanged files are not uploaded again."""
    one, other = RemoteFolder(address, tmp_path / "one"), RemoteFolder(address, tmp_path / "other")
    written(one.folder, site__records_dot_csv="a", site__archive__x_dot_warc="w")
    one.send("site")
    other.fetch("site")
    assert (other.folder / "site/archive/x.warc").read_text() == "w"
    before = one.names()
    written(one.folder, site__records_dot_csv="longer")
    (one.folder / "site/archive/x.warc").unlink()
    written(one.folder, site__summary_dot_json="{}")
    one.send("site")
    after = one.names()
    assert set(after) == {"site/records.csv", "site/summary.json"}
    assert before["site/records.csv"] != after["site/records.csv"]
    one.send("site")
    assert one.names() == after
    other.fetch("site")
    assert (other.folder / "site/records.csv").read_text() == "longer"
    assert not (other.folder / "site/archive/x.warc").exists()


def test_a_lease_admits_one_machine_at_a_time(address: str, tmp_path: Path) -> None:
    """When the lease is released or has expired, the other machine continues from the uploaded files."""
    one, other = RemoteFolder(address, tmp_path / "one"), RemoteFolder(address, tmp_path / "other")
    one.claim("site")
    written(one.folder, site__records_dot_csv="first")
    one.send("site")
    with pytest.raises(CannotKeep, match="is being harvested by"):
        other.claim("site")
    one.claim("site")  # the same working copy, after a kill: nothing is downloaded
    assert (one.folder / "site/records.csv").read_text() == "first"
    written(one.folder, site__unsent_dot_csv="lost with the machine")
    one.renew("site", 0)
    other.claim("site")
    assert (other.folder / "site/records.csv").read_text() == "first"
    written(other.folder, site__records_dot_csv="second, by the other")
    other.send("site")
    other.renew("site", 0)
    one.claim("site")
    assert (one.folder / "site/records.csv").read_text() == "second, by the other"
    assert not (one.folder / "site/unsent.csv").exists()
    shutil.rmtree(one.folder / "site")  # the cache was deleted
    one.claim("site")
    assert (one.folder / "site/records.csv").read_text() == "second, by the other"


def test_only_one_machine_takes_over_an_expired_lease(address: str, tmp_path: Path) -> None:
    """Of six machines that see the expired lease at the same moment, one gets it; a machine that has lost its lease uploads nothing more."""
    dead = RemoteFolder(address, tmp_path / "dead")
    dead.claim("site")
    dead.renew("site", -1)
    machines = [RemoteFolder(address, tmp_path / str(number)) for number in range(6)]
    number, _ = machines[0]._lease("site")
    start, winners = threading.Barrier(len(machines)), list[RemoteFolder]()

    def take(machine: RemoteFolder) -> None:
        start.wait()
        with suppress(InUse):
            machine._take_over("site", number)
            winners.append(machine)

    threads = [threading.Thread(target=take, args=(machine,)) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    winners[0].renew("site")
    with pytest.raises(InUse, match="has taken it over"):
        dead.renew("site")
    with pytest.raises(InUse, match="is being harvested by"):
        dead.claim("site")


def test_output_of_a_verb_is_uploaded_to_its_url(address: str) -> None:
    """A file or folder that a verb writes is at the URL in the end, and can be read from there."""
    with open_output(f"{address}/tables/cities.csv") as path:
        path.write_text("name\nLima\n")
    with open_output(f"{address}/folder") as folder:
        written(folder, report_dot_html="<p>")
    assert local_copy(f"{address}/tables/cities.csv").read_text() == "name\nLima\n"
    assert (local_copy(f"{address}/folder") / "report.html").read_text() == "<p>"
    with pytest.raises(WrongUsage, match="holds no files"):
        local_copy(f"{address}/nothing")


def test_errors_name_the_cause_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing bucket, wrong or missing credentials, no server, an unknown scheme and a missing extra: one line each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with s3_server(monkeypatch, "bucket"):
        written(tmp_path, a_dot_csv="1")
        with pytest.raises(CannotKeep, match="bucket does not exist") as no_bucket:
            RemoteFolder("s3://no-such-bucket/x").names()
        with pytest.raises(CannotKeep, match="bucket does not exist"):
            RemoteFolder("s3://no-such-bucket/x", tmp_path).put("a.csv", tmp_path / "a.csv")
    with pytest.raises(CannotKeep, match="endpoint") as nobody:
        RemoteFolder("s3://bucket/y").names()
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(CannotKeep, match="credentials") as no_credentials:
        RemoteFolder("s3://bucket/z").names()
    with pytest.raises(CannotKeep, match="Protocol not known") as unknown:
        RemoteFolder("nosuch://me:hidden-word@host/x")
    with pytest.raises(MissingExtra, match="gcsfs"):
        RemoteFolder("gs://bucket/x")
    raised: list[pytest.ExceptionInfo[UpwellError]] = [no_bucket, nobody, no_credentials, unknown]
    for error in raised:
        assert "a-very-secret-key" not in str(error.value)
        assert "hidden-word" not in str(error.value)
        assert "\n" not in str(error.value)


def test_paths_and_sites_are_not_remote_urls() -> None:
    """Only what fsspec opens is remote; passwords are neither shown nor part of the name of the working copy."""
    assert not is_remote("harvest/example.org")
    assert not is_remote(Path("s3://x"))
    assert not is_remote("https://example.org")
    assert is_remote("simplecache::s3://bucket/x")
    assert "secret" not in without_credentials("sftp://me:secret@host/x") + str(
        working_folder("sftp://me:secret@host/x")
    )


def test_a_copy_of_a_state_in_use_is_consistent(tmp_path: Path) -> None:
    """While another thread writes and checkpoints its log, every copy opens and contains whole transactions."""
    path = tmp_path / "state.sqlite"
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE pairs (a, b)")
    is_done = threading.Event()

    def write() -> None:
        number = 0
        while not is_done.wait(0.001):
            db.execute("BEGIN")
            db.execute("INSERT INTO pairs VALUES (?, ?)", (number, "x" * 5000))
            db.execute("INSERT INTO pairs VALUES (?, ?)", (number, "y" * 5000))
            db.execute("COMMIT")
            number += 1
            if number % 200 == 0:
                is_done.wait(0.3)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copied = 0
        for number in range(5):
            copy = tmp_path / f"copy{number}.sqlite"
            if copy_open_database(path, copy):
                copied += 1
                with sqlite3.connect(copy) as opened:
                    ((odd,),) = opened.execute(
                        "SELECT count(*) FROM (SELECT a FROM pairs GROUP BY a HAVING count(*) <> 2)"
                    )
                opened.close()
                assert odd == 0
    finally:
        is_done.set()
        writer.join()
        db.close()
    assert copied


def test_names_from_a_store_cannot_leave_the_folder(tmp_path: Path) -> None:
    """A remote file whose name contains `..` is not downloaded."""
    import fsspec

    files = fsspec.filesystem("memory")
    files.store[f"/{tmp_path.name}/up/../../evil"] = files.store.get("x") or __import__(
        "fsspec.implementations.memory", fromlist=["MemoryFile"]
    ).MemoryFile(files, "x", b"evil")
    remote = RemoteFolder(f"memory://{tmp_path.name}/up", tmp_path / "deep/copy")
    assert all(".." not in name for name in remote.names())
    assert json.dumps(remote.names()) == "{}"


def test_threads_that_start_together_share_one_working_copy(tmp_path: Path) -> None:
    """The identifier of a working copy is created atomically: nobody reads an empty one, by which its lease would seem lost."""
    for attempt in range(30):
        folders = [RemoteFolder(f"file://{tmp_path}/there", tmp_path / f"copy-{attempt}") for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            holders = set(pool.map(RemoteFolder._holder, folders))
        assert len(holders) == 1
        assert "" not in holders
