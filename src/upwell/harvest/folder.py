"""The folder of a site's harvest: its state and archive while it runs, its table, model, summary and report when it ends (DESIGN §5)."""

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from upwell.errors import CannotKeep, WrongUsage
from upwell.harvest import report
from upwell.harvest.result import Site
from upwell.harvest.typed import types_of, with_types
from upwell.net.archive import Archive
from upwell.store.records import Format, write
from upwell.store.state import State

__all__ = ["Result", "folder_of", "opened", "sites_of", "written"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Where a harvest's files are, and its summary."""

    folder: Path
    records: Path
    report: Path
    summary: Mapping[str, object]


def sites_of(places: Iterable[str]) -> list[str]:
    """The addresses that are meant: each place itself, or the lines of the file that it names (empty lines and # passed over)."""
    found: list[str] = []
    for place in places:
        if place.startswith(("http://", "https://")) or not Path(place).is_file():
            found.append(place)
            continue
        lines = (line.strip() for line in Path(place).read_text(encoding="utf-8", errors="replace").splitlines())
        found += [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise WrongUsage("there is no address to harvest; name one, or a file with one a line")
    return list(dict.fromkeys(found))


def folder_of(url: str, out: str | Path) -> Path:
    """Where a site's files are: its host, with the port where it is not the usual one (DESIGN §5)."""
    parts = urlsplit(url)
    return Path(out) / ((parts.hostname or "") + (f"_{parts.port}" if parts.port else ""))


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Path, State, Archive]]:
    """A site's folder with its state and its archive; what a disk cannot take is said in one line."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error
    try:
        with State(folder / "state.sqlite") as state, Archive(folder / "archive") as archive:
            yield folder, state, archive
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
            raise
        raise CannotKeep(
            f"{folder}: {error.strerror}; make room or make it writable and run the same command again, it goes on where it was"
        ) from error


def written(site: Site, folder: Path, format: Format) -> Result:
    """Writes what a harvest brought, each file whole or not at all."""
    types = types_of(site.state.rows())
    summary = site.summary(types)
    records = write(with_types(site.state.rows(), types), folder, format)
    models = [json.loads(one.model.to_json()) | {"template": asdict(one.template)} for one in site.sources]
    texts = {
        "source.json": json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1) + "\n",
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=1) + "\n",
        "report.html": report.html(site),
    }
    for name, text in texts.items():
        partial = folder / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    return Result(folder=folder, records=records, report=folder / "report.html", summary=summary)
