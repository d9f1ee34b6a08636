"""Without what macOS and Windows lack, the command harvests, continues and reads what it wrote (`tests.other_system` says what is hidden)."""

import asyncio
import os
import select
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from upwell import operating_system
from upwell.errors import WrongUsage
from upwell.web.query_process import kill_above

SYSTEMS = ("macos", "windows")


def run(system: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as on another system."""
    root = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "tests.other_system", system, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": root, "COLUMNS": "200", "XDG_STATE_HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=180,
    )


def free_port() -> str:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_harvest_continues_and_is_read(system: str, tmp_path: Path) -> None:
    port = free_port()
    first = run(system, "demo", "-o", "out", "--budget", "40", "--port", port, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "stopped: budget after 40 requests" in first.stdout
    whole = run(system, "demo", "-o", "out", "--port", port, cwd=tmp_path)
    assert "in truth: 776 of 776 cities held" in whole.stdout, whole.stderr
    status = run(system, "status", "out", cwd=tmp_path)
    assert status.returncode == 0, status.stderr
    assert "776 records" in status.stdout
    written = run(system, "export", f"out/127.0.0.1_{port}", "--format", "csv", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert len((tmp_path / f"out/127.0.0.1_{port}/records.csv").read_text().splitlines()) == 777
    found = run(system, "search", "Rome", "out", cwd=tmp_path)
    assert "Rome" in found.stdout, found.stderr


def test_worker_processes_run_on_macos_and_are_refused_on_windows(tmp_path: Path) -> None:
    port = free_port()
    page = f"http://127.0.0.1:{port}/"
    (tmp_path / "sites.txt").write_text(f"{page}\n")
    with subprocess.Popen(
        [sys.executable, "-m", "upwell", "demo", "--serve", "--port", port], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        try:
            server.stderr.readline()
            arguments = ("harvest", page, "-o", "out", "--rate", "0", "--budget", "15", "--engine", "processes")
            on_mac = run("macos", *arguments, cwd=tmp_path)
            on_windows = run("windows", *arguments, cwd=tmp_path)
        finally:
            server.terminate()
    assert "stopped: budget after 15 requests" in on_mac.stdout, on_mac.stderr
    assert on_windows.returncode == WrongUsage.exit_code
    assert "--engine processes does not run on this system" in on_windows.stderr


def test_a_file_lock_excludes_another_process(tmp_path: Path) -> None:
    """The rate of requests rests on this lock, also where `msvcrt` makes it."""
    code = (
        "import os, sys; from tests.other_system import become; become('windows')\n"
        "from upwell.operating_system import lock_file, unlock_file, fcntl, msvcrt\n"
        "assert fcntl is None and msvcrt is not None\n"
        "file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); lock_file(file); print('locked', flush=True)\n"
        "sys.stdin.readline(); unlock_file(file); print('unlocked', flush=True); sys.stdin.readline()"
    )
    with ExitStack() as ended:
        processes = [
            ended.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", code, str(tmp_path / "file")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=Path(__file__).parents[1],
                )
            )
            for _ in range(2)
        ]
        outputs = [process.stdout for process in processes if process.stdout is not None]
        holder = select.select(outputs, [], [], 30)[0][0]
        first = outputs.index(holder)
        second, output = processes[1 - first], outputs[1 - first]
        assert holder.readline() == b"locked\n"
        assert not select.select([output], [], [], 2)[0], "both hold the lock"
        for process in (processes[first], second):
            assert process.stdin is not None
            process.stdin.write(b"\n\n")
            process.stdin.close()
        assert output.readline() == b"locked\n"


def test_a_query_that_takes_too_much_memory_is_killed_without_a_limit_of_the_system() -> None:
    async def killed() -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import time; held = b'1' * 200_000_000; time.sleep(60)"
        )
        await asyncio.wait_for(kill_above(process, 100_000_000), 30)
        return await process.wait()

    assert asyncio.run(killed()) < 0


def test_a_process_id_of_a_damaged_file_exists_nowhere() -> None:
    assert operating_system.process_exists(os.getpid())
    assert not any(map(operating_system.process_exists, (-1, 0, 2**31, 2**70)))
