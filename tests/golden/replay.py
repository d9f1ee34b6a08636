"""Read the saved answers again, and compare with the accepted records and with the truth."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from upwell.offline.extract import extract
from upwell.offline.inspect import links
from upwell.source.model import SourceModel, load

__all__ = ["ACCEPT", "GOLDEN", "Score", "accept", "differences", "read_again", "score"]

GOLDEN = Path(__file__).parent
ACCEPT = "make golden ACCEPT=1"  # or: python -m tests.golden --accept
KEPT_OF_A_RECORD = ("text", "fields", "key", "path")
NUMBER = re.compile(r"\d[\d,]*")

Document = dict[str, Any]


def read_again(folder: Path) -> dict[str, Document]:
    """Return the current output of `upwell extract` and `upwell links --json` for the saved answers: the content of each accepted file."""
    inputs = folder / "inputs"
    with tempfile.TemporaryDirectory() as place:
        saved_model = Path(place) / "source.json"
        rows = list(extract(inputs, save=saved_model))
        model = load(saved_model.read_text(encoding="utf-8"))
    output: Document = {"model": _model_summary(model)}
    for row in rows:
        records = [record.as_dict() for record in row.records]
        output[row.page] = {
            "kind": row.kind,
            "records": [{name: record[name] for name in KEPT_OF_A_RECORD} for record in records],
        }
    return {"output.json": output, "links.json": links(inputs).as_dict()}


def _model_summary(model: SourceModel) -> Document:
    """Return the accepted part of the source model: the place of records, how each begins, its columns and their types."""
    return {"container": model.pagelet, "leader": model.leader, "columns": model.columns.types}


def differences(folder: Path, documents: Mapping[str, Document]) -> Iterator[str]:
    """Return a unified diff for each part (the model, a page, a kind of link) that differs from the accepted one."""
    for name, now in documents.items():
        path = folder / name
        accepted = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for part in dict.fromkeys([*accepted, *now]):
            where = f"{folder.name}/{name}: {part}"
            lines = unified_diff(_lines(accepted, part), _lines(now, part), f"{where} (accepted)", f"{where} (now)", "", "", 3, "")  # fmt: skip
            if diff := "\n".join(lines):
                yield diff


def _lines(document: Document, part: str) -> list[str]:
    return _written(document[part]).splitlines() if part in document else []


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def accept(folder: Path, documents: Mapping[str, Document]) -> None:
    """Write the current output as the accepted one."""
    for name, document in documents.items():
        (folder / name).write_text(_written(document) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Score:
    """Number of cities on the saved answers, and number of records that are exactly one of them."""

    cities: int
    records: int
    right: int

    @property
    def precision(self) -> float:
        """Return the share of correct records."""
        return self.right / self.records if self.records else 0.0

    @property
    def recall(self) -> float:
        """Return the share of cities that have their own record."""
        return self.right / self.cities


def score(folder: Path, output: Mapping[str, Any]) -> Score:
    """Compare the records with the cities on each answer (`pages.jsonl`).

    A record is correct if it contains the name and the population of one city, and not those of another.
    """
    cities = records = right = 0
    for line in (folder / "inputs" / "pages.jsonl").read_text(encoding="utf-8").splitlines():
        about = json.loads(line)
        texts = [record["text"] for record in output[about["page"]]["records"]]
        held = [_cities_in(text, about["cities"]) for text in texts]
        cities += len(about["cities"])
        records += len(texts)
        right += len({city for found in held if len(found) == 1 for city in found})
    return Score(cities, records, right)


def _cities_in(text: str, cities: list[tuple[int, str, int]]) -> set[int]:
    numbers = {int(number.replace(",", "")) for number in NUMBER.findall(text)}
    return {city for city, name, population in cities if name in text and population in numbers}
