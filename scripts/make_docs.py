"""Assemble the pages of the documentation site in build/docs, where `mkdocs build` finds them (make docs).

The pages are those of the repository; the files of its root move into the folder, and links to source files become their names. The
help of every verb and the Python interface are generated from the code, and the figures over time from `benchmarks/history.jsonl`.
"""

import inspect
import json
import os
import re
import shutil
import unicodedata
from pathlib import Path

__all__ = ["main", "slug"]

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "docs"
OF_ROOT = {
    "README.md": "index.md",
    **{name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")},
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LEFT_OUT = ("pypi.md",)  # the README once more
CHART_WIDTH, CHART_HEIGHT, MARGIN = 640, 160, 40


def slug(text: str, separator: str = "-") -> str:
    """Return the anchor of a heading as GitHub makes it, which the links between the pages use."""
    kept = "".join(c for c in unicodedata.normalize("NFC", text).lower() if c.isalnum() or c in " -_")
    return kept.strip().replace(" ", separator)


def main() -> None:
    """Write all pages."""
    shutil.rmtree(OUT, ignore_errors=True)
    places = {ROOT / source: OUT / target for source, target in OF_ROOT.items()}
    for file in (ROOT / "docs").rglob("*"):
        if file.is_file() and file.name not in LEFT_OUT:
            places[file] = OUT / file.relative_to(ROOT / "docs")
    for source, target in places.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(_with_links(source, target, places))
        else:
            shutil.copy(source, target)
    (OUT / "commands.md").write_text(commands())
    (OUT / "python.md").write_text(python_interface())
    (OUT / "history.md").write_text(history())
    print(f"{len(list(OUT.rglob('*.md')))} pages in {OUT}")


def _with_links(source: Path, target: Path, places: dict[Path, Path]) -> str:
    """Return a page whose links lead to the pages of the site; a link to a source file becomes its text."""

    def link(match: re.Match[str]) -> str:
        mark, text, path, anchor = match.groups()
        if not path:
            return match[0]
        named = (source.parent / path).resolve()
        if named in places:
            return f"{mark}[{text}]({os.path.relpath(places[named], target.parent)}{anchor or ''})"
        if named.is_dir() and named / "README.md" in places:
            return f"[{text}]({os.path.relpath(places[named / 'README.md'], target.parent)})"
        return text

    text = source.read_text()
    parts, at = [], 0
    for fence in FENCE.finditer(text):  # code is not changed
        parts += [LINK.sub(link, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(link, text[at:])])


def commands() -> str:
    """Return a page with the help of every verb."""
    from typer.core import TyperGroup
    from typer.main import get_command
    from typer.testing import CliRunner

    from upwell.cli import app

    group = get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError("the command has no verbs")
    page = [
        "# Help of every verb",
        "Generated from the program; the [reference](reference.md) explains files, columns and events.",
    ]
    for verb in ("", *sorted(group.commands)):
        shown = (
            CliRunner()
            .invoke(app, [*([verb] if verb else []), "--help"], env={"COLUMNS": "100"}, prog_name="upwell")
            .stdout
        )
        page += [f"## upwell {verb}".rstrip(), f"```text\n{shown.strip()}\n```"]
    return "\n\n".join(page) + "\n"


def python_interface() -> str:
    """Return a page with the signature and docstring of every public name."""
    import upwell

    page = [
        "# Python",
        "Generated from the code: what `import upwell` offers. `upwell.aio` has the verbs as coroutines.",
    ]
    for name in sorted(upwell.__all__):
        value = getattr(upwell, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            try:
                signature = str(inspect.signature(value))
            except (TypeError, ValueError):
                signature = ""
            text = (inspect.getdoc(value) or "").partition("\n\n>>>")[0]
            page += [f"## {name}", f"```text\n{name}{signature}\n```", f"```text\n{text}\n```"]
    return "\n\n".join(page) + "\n"


def history() -> str:
    """Return a page that plots each figure of the benchmark history over its measurements."""
    file = ROOT / "benchmarks" / "history.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines() if line.strip()] if file.is_file() else []
    page = [
        "# Figures over time",
        "`python -m benchmarks.history NAME FIGURE COMMAND` appends a measurement to `benchmarks/history.jsonl`; each has its commit and machine.",
    ]
    for name in sorted({row["name"] for row in rows}):
        of_name = [row for row in rows if row["name"] == name]
        page += [f"## {name}", f"`{of_name[-1]['command']}`", _chart([float(row["figure"]) for row in of_name])]
        page.append(
            "\n".join(
                [
                    "| date | commit | figure | machine |",
                    "| --- | --- | --- | --- |",
                    *(f"| {row['date']} | {row['commit']} | {row['figure']} | {row['machine']} |" for row in of_name),
                ]
            )
        )
    return "\n\n".join(page if rows else [*page, "Nothing has been measured yet."]) + "\n"


def _chart(figures: list[float]) -> str:
    """Return figures in order as a line in SVG, with the least and the greatest value."""
    low, high = min(figures), max(figures)
    step = (CHART_WIDTH - 2 * MARGIN) / max(1, len(figures) - 1)
    span = (high - low) or 1.0
    points = [
        (MARGIN + number * step, CHART_HEIGHT - MARGIN / 2 - (figure - low) / span * (CHART_HEIGHT - MARGIN))
        for number, figure in enumerate(figures)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    return (
        f'<svg viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" role="img" aria-label="{len(figures)} measurements from {low:g} to {high:g}" '
        f'fill="currentColor" font-size="12"><polyline points="{line}" fill="none" stroke="currentColor"/>{dots}'
        f'<text x="0" y="{points[figures.index(high)][1]:.0f}">{high:g}</text><text x="0" y="{CHART_HEIGHT - 4}">{low:g}</text></svg>'
    )


if __name__ == "__main__":
    main()
