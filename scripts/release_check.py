"""Check a release before its tag: version, changelog, licence, contents of sdist and wheel, and an installation without a compiler.

python scripts/release_check.py                          build both in a temporary folder, and check them (make release-check)
python scripts/release_check.py --tag v0.3.0 --dist dist   check what others built, and that the tag is the version
python scripts/release_check.py --notes                  print the section of the changelog for this version
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_SDIST = ("setup.py", "LICENSE", "NOTICE", "docs/pypi.md", "src/upwell/native/native.h", "src/upwell/native/walk.c")
IN_WHEEL = (
    "upwell/py.typed",
    "upwell/demo/cities.tsv.bz2",
    "upwell/web/static/app.css",
    "upwell/judge/weights/",
    "upwell/lexicon/",
)
NOT_IN_WHEEL = ("tests/", "benchmarks/", "docs/")


def main() -> int:
    """Run the checks; return 1 if one fails."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tag", default="", help="the tag, which must be v and the version")
    options.add_argument("--dist", type=Path, help="folder with an sdist and wheels; by default they are built")
    options.add_argument("--notes", action="store_true", help="print the notes of this version only")
    chosen = options.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if chosen.notes:
        print(notes(version))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        dist = chosen.dist or build(Path(scratch))
        problems = [*of_version(version, chosen.tag), *of_sdist(dist), *of_wheels(dist, version)]
        if chosen.dist is None:
            problems += of_installation(next(dist.glob("*.whl")), Path(scratch), version)
    for problem in problems:
        print(f"problem: {problem}")
    print(f"release {version}: {f'{len(problems)} problems' if problems else 'ready'}")
    return bool(problems)


def notes(version: str) -> str:
    """Return the section of the changelog for a version; of what is unreleased if there is none."""
    parts = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    sections = {part.partition("\n")[0].strip(): part.partition("\n")[2].strip() for part in parts[1:]}
    return sections.get(version) or sections.get("Unreleased", "")


def build(scratch: Path) -> Path:
    """Build an sdist of the files that git knows, and a wheel from the sdist, as an installer would."""
    source, dist = scratch / "source", scratch / "dist"
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(dist), str(source)],
        env={**os.environ, "UPWELL_REQUIRE_NATIVE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"the build failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}\n(pip install build twine)")
    for warning in sorted(set(re.findall(r".*(?:Deprecat|deprecat).*", done.stdout + done.stderr))):
        print(f"note: {warning.strip()}")
    return dist


def of_version(version: str, tag: str) -> list[str]:
    """Return what is wrong with the version and the changelog."""
    problems = [] if not tag or tag == f"v{version}" else [f"the tag is {tag}, the version {version}"]
    text = (ROOT / "CHANGELOG.md").read_text()
    if tag and f"\n## {version}" not in text:
        problems.append(f"CHANGELOG.md has no section {version}")
    if not tag and f"\n## {version}" in text and "\n## Unreleased" in text:
        print(f"note: {version} is in the changelog already: set the version of pyproject.toml, and name the section")
    return problems


def of_sdist(dist: Path) -> list[str]:
    """Return what is missing in the sdist."""
    sdists = list(dist.glob("*.tar.gz"))
    if len(sdists) != 1:
        return [f"{len(sdists)} sdists instead of one"]
    with tarfile.open(sdists[0]) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    return [f"{sdists[0].name} lacks {name}" for name in IN_SDIST if name not in names]


def of_wheels(dist: Path, version: str) -> list[str]:
    """Return what is wrong with the wheels: contents, metadata, and what twine finds."""
    problems = []
    for wheel in sorted(dist.glob("*.whl")):
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
            about = Parser().parsestr(
                file.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
            )
        problems += [f"{wheel.name} lacks {part}" for part in IN_WHEEL if not any(n.startswith(part) for n in names)]
        problems += [f"{wheel.name} contains {part}" for part in NOT_IN_WHEEL if any(n.startswith(part) for n in names)]
        has_native = any(re.search(r"native/_native\..*(?:so|pyd)$", name) for name in names)
        if not has_native and "win" not in wheel.name:
            problems.append(f"{wheel.name} has no native code")
        if about["Version"] != version or not about["License-Expression"] or not about.get_all("License-File"):
            problems.append(f"{wheel.name}: version {about['Version']}, licence {about['License-Expression']}")
    if not list(dist.glob("*.whl")):
        problems.append("no wheel")
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir())], capture_output=True, text=True
    )
    return problems + (
        [f"twine check --strict: {checked.stdout[-500:]}{checked.stderr[-300:]}"] if checked.returncode else []
    )


def of_installation(wheel: Path, scratch: Path, version: str) -> list[str]:
    """Install a wheel where no compiler is found, and harvest the bundled site."""
    venv.create(scratch / "venv", with_pip=True)
    programs = scratch / "venv" / ("Scripts" if os.name == "nt" else "bin")
    environment = {**os.environ, "PATH": str(programs), "CC": "/no/compiler"}
    steps: tuple[list[str | Path], ...] = (
        [programs / "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel],
        [programs / "upwell", "--version"],
        [programs / "upwell", "demo", "-o", scratch / "demo"],
    )
    output = ""
    for step in steps:
        done = subprocess.run(list(map(str, step)), env=environment, cwd=scratch, capture_output=True, text=True)
        output += done.stdout
        if done.returncode:
            return [f"{Path(step[0]).name} {step[1]} failed: {done.stderr[-500:]}"]
    expected = (f"upwell {version} (native code active)", "776 of 776 cities held")
    return [f"the installed command did not print {text!r}" for text in expected if text not in output]


if __name__ == "__main__":
    sys.exit(main())
