"""Change each weight and threshold of the judgements, one at a time, and report the changes that no test notices.

    python -m benchmarks.mutate [MODULE …] [--sample N] [--seed S] [--tests PATH …] [--without PATH …] [--only FILE] [--json]

MODULE is a path below `src/upwell` (`records/evidence.py`, or a package); without one, all of JUDGEMENT_FILES. Each mutant is a change of one
number: a weight becomes 0, a threshold is doubled and halved, a small integer goes up and down by 1. The tests of the package run on each
mutant in a forked process that imports the changed source; a mutant that passes them all is a survivor. The exit code is 1 if the share
of survivors exceeds MAX_SURVIVORS.

Numbers are found in the syntax tree: constants of modules and defaults of classes; inside functions, numbers that are compared, weigh a
sum or are chosen by a condition. Numbers that only bound time or memory are not judgements: a comment with `safety limit:` on the line
of the constant, or on the line above it, leaves them out.
"""

import argparse
import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import pickle
import random
import re
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "upwell"
MAX_SURVIVORS = 0.3
# Patterns of the modules that judge, below `src/upwell`.
JUDGEMENT_FILES = (
    "records/*.py", "answers/*.py", "content/*.py", "discover/forms.py", "source/*.py", "table/schema.py", "table/value_types.py",
    "table/extraneous_fields.py",
)  # fmt: skip
JUDGEMENTS = [str(path.relative_to(PACKAGE)) for files in JUDGEMENT_FILES for path in sorted(PACKAGE.glob(files))]
# Tests of each package, the quickest first.
TESTS = {
    "records": ("tests/sample", "tests/records", "tests/offline/test_entities.py", "tests/source", "tests/golden"),
    "source": ("tests/sample", "tests/source", "tests/records", "tests/golden"),
    "answers": ("tests/sample", "tests/answers", "tests/offline/test_links.py", "tests/source", "tests/golden"),
    "content": ("tests/sample", "tests/content", "tests/offline/test_block_tables.py"),
    "discover": ("tests/sample", "tests/discover/test_form_evidence.py", "tests/discover/test_forms.py"),
    "table": ("tests/sample", "tests/table", "tests/records"),
}
TOO_SLOW = "not chromium and not any_page and not what_the_demo_site_sends and not those_that_are_made and not large_tables and not parquet"
QUICK = ("--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler")
MIN_SECONDS = 60.0  # time limit of a mutant, and at least TIME_FACTOR times the time of the unchanged sources
TIME_FACTOR = 5.0
SMALL = 3  # integers up to this go up and down by 1
SAFETY_LIMIT = "safety limit:"
LAYOUT_OF_DATA = re.compile(
    r"(?:^|_)(?:BITS?|MASK|VERSION|CODES)$|^\(IS_"
)  # constants that only say how data are laid out
BIT_OPERATIONS = (ast.LShift, ast.Pow, ast.BitOr)
NOT_JUDGED = (31, 100)  # factors of hashes and of percentages
EPSILON = 1e-6  # smaller numbers only avoid a division by 0
TRUTH = ("bool", "any", "all")  # functions whose result a weight multiplies
Span = tuple[int, int, int]  # line, first column, end column; in bytes


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One number of a module, changed."""

    module: str
    line: int
    column: int
    end: int
    name: str  # the constant or function
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A mutant and the test that failed; "" if none did."""

    mutant: Mutant
    killed_by: str
    seconds: float


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return the mutants of a module in the order of its lines."""
    lines = source.splitlines()
    mutants = []
    for number in _Numbers(lines).find(ast.parse(source)):
        line, first, end = number.span
        old = lines[line - 1].encode()[first:end].decode()
        mutants += [
            Mutant(module=module, line=line, column=first, end=end, name=number.name, old=old, new=new)
            for new in _changed(number.value, number.is_weight)
        ]
    return mutants


def mutated(source: str, mutant: Mutant) -> str:
    """Return the source of a module with one number changed."""
    lines = source.splitlines(keepends=True)
    line = lines[mutant.line - 1].encode()
    lines[mutant.line - 1] = (line[: mutant.column] + mutant.new.encode() + line[mutant.end :]).decode()
    return "".join(lines)


def _changed(value: float, is_weight: bool) -> list[str]:
    if is_weight:
        return ["0.0" if value else "1.0"]
    if isinstance(value, int):
        return [str(value + 1), str(value - 1)] if abs(value) <= SMALL else [str(2 * value), str(value // 2)]
    return [repr(2 * value), repr(value / 2)] if value else ["1.0"]


@dataclass(frozen=True, kw_only=True)
class _Number:
    span: Span
    value: float
    name: str
    is_weight: bool


class _Numbers(ast.NodeVisitor):
    """Finds the numbers of a module that are judgements."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.numbers: dict[Span, _Number] = {}
        self.function = ""

    def find(self, tree: ast.Module) -> list[_Number]:
        """Return the numbers in the order of the source."""
        self._constants(tree.body)
        return [self.numbers[span] for span in sorted(self.numbers)]

    def _constants(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                self._constants(statement.body)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function = statement.name
                for part in (*statement.args.defaults, *statement.args.kw_defaults, *statement.body):
                    if part is not None:
                        self.visit(part)
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                name = ast.unparse(target)
                if not self._is_safety_limit(statement) and not LAYOUT_OF_DATA.search(name):
                    self._constant(statement.value, name)

    def _is_safety_limit(self, statement: ast.stmt) -> bool:
        first, end = statement.lineno - 1, statement.end_lineno or statement.lineno
        above = self.lines[first - 1].strip() if first else ""
        return any(SAFETY_LIMIT in line for line in (*self.lines[first:end], above if above.startswith("#") else ""))

    def _constant(self, value: ast.expr, name: str) -> None:
        """Take the numbers of a constant: of a number, a tuple, or a dictionary with fractions; 0 is an initial value."""
        if (number := _number(value)) is not None:
            if number:
                self._take(value, number, name, is_weight=False)
        elif isinstance(value, ast.Tuple):
            for part in value.elts:
                self._constant(part, name)
        elif isinstance(value, ast.Dict):
            entries = [(key, part) for key, part in zip(value.keys, value.values, strict=True) if key is not None]
            if any(isinstance(_number(part), float) for _, part in entries):
                for key, part in entries:
                    if (number := _number(part)) is not None:
                        is_weight = isinstance(key, ast.Constant) and isinstance(key.value, str)
                        self._take(part, number, f"{name}[{ast.unparse(key)}]", is_weight=is_weight)
                    self._constant(key, name)
        elif isinstance(value, ast.BinOp) and not any(isinstance(part, BIT_OPERATIONS) for part in ast.walk(value)):
            self._constant(value.left, name)
            self._constant(value.right, name)

    # numbers inside functions

    def visit_Compare(self, node: ast.Compare) -> None:
        """Take the thresholds of comparisons; 0, 1 and 2 mostly ask whether there is anything, or several."""
        is_status = "status" in ast.unparse(node)  # codes of HTTP are no judgements
        for part in (node.left, *node.comparators):
            number = None if is_status else _number(part)
            if number is not None and (number not in (0, 1, 2) if isinstance(number, int) else number != 0):
                self._take(part, number, self.function, is_weight=False)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Take fractions that multiply or are added, and integers that multiply; not what shifts bits."""
        if isinstance(node.op, ast.LShift | ast.RShift):
            return
        for part, other in ((node.left, node.right), (node.right, node.left)):
            number = _number(part)
            is_factor = isinstance(node.op, ast.Mult | ast.Div)
            is_term = isinstance(node.op, ast.Add | ast.Sub)
            if isinstance(number, float) and abs(number) > EPSILON and (is_factor or is_term):
                self._take(part, number, self.function, is_weight=is_factor and _is_truth_value(other))
            elif isinstance(number, int) and is_factor and number > 1 and number not in NOT_JUDGED:
                self._take(part, number, self.function, is_weight=False)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Take fractions that a condition chooses."""
        for part in (node.body, node.orelse):
            number = _number(part)
            if isinstance(number, float) and number:
                self._take(part, number, self.function, is_weight=True)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Take fractions that a judgement returns, except 0 and 1."""
        if node.value is not None and isinstance(number := _number(node.value), float) and number not in (0.0, 1.0):
            self._take(node.value, number, self.function, is_weight=False)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Take thresholds in `min` and `max`."""
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            for part in node.args:
                number = _number(part)
                if number is not None and number not in (-1, 0, 1) and abs(number) > EPSILON:
                    self._take(part, number, self.function, is_weight=False)
        self.generic_visit(node)

    def _take(self, node: ast.expr, value: float, name: str, *, is_weight: bool) -> None:
        if isinstance(node, ast.UnaryOp):
            node, value = node.operand, -value
        if SAFETY_LIMIT in self.lines[node.lineno - 1]:
            return
        span = node.lineno, node.col_offset, node.end_col_offset or node.col_offset
        self.numbers.setdefault(span, _Number(span=span, value=value, name=name, is_weight=is_weight))


def _is_truth_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in TRUTH
    return isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp)


def _number(node: ast.expr) -> float | None:
    """Return the value of a literal number, also with a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        return node.value
    return None


# Running tests.


class _ChangedSource(importlib.machinery.SourceFileLoader):
    """Imports one module from changed source, and leaves all others to the usual finders."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        super().__init__(name, str(path))
        self.source = source

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        """Return a specification for the changed module only."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed source; nothing is cached."""
        return compile(self.source, self.path, "exec")


class _Watcher:
    """A pytest plugin that remembers the tests that failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


@dataclass
class _Worker:
    pid: int
    pipe: int
    started: float
    mutant: Mutant | None


@dataclass(frozen=True)
class _Report:
    failed: list[str]
    modules: list[str]  # imported ones that are not part of the project


class Runner:
    """Runs the tests of one package, on the unchanged sources and on mutants."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.tests, self.failing = [test for test in tests if (ROOT / test).exists()], list[str]()
        started = time.monotonic()
        worker = self._start(None, self.tests, is_exact=False)
        report = self._read(worker)
        self.seconds = time.monotonic() - started
        if report is None:
            raise RuntimeError("the tests of the unchanged sources cannot be run")
        self.failing = report.failed
        for name in report.modules:  # so that each forked process finds them imported
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def run(self, mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
        """Yield the outcome of each mutant."""
        waiting, running = list(mutants), list[_Worker]()
        limit = max(MIN_SECONDS, TIME_FACTOR * self.seconds)
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(self._start(waiting.pop(0), self.tests))
            ready, _, _ = select.select([worker.pipe for worker in running], [], [], 1.0)
            for worker in list(running):
                seconds = time.monotonic() - worker.started
                if worker.pipe in ready:
                    report = self._read(worker)
                    killed_by = "crash" if report is None else report.failed[0] if report.failed else ""
                elif seconds > limit:
                    os.kill(worker.pid, signal.SIGKILL)
                    self._read(worker)
                    killed_by = "time limit"
                else:
                    continue
                running.remove(worker)
                assert worker.mutant is not None
                yield Outcome(mutant=worker.mutant, killed_by=killed_by, seconds=round(seconds, 2))

    def _start(self, mutant: Mutant | None, tests: Sequence[str], *, is_exact: bool = True) -> _Worker:
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid:
            os.close(write_end)
            return _Worker(pid, read_end, time.monotonic(), mutant)
        os.close(read_end)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            report = self._run_tests(mutant, tests, is_exact)
            with os.fdopen(write_end, "wb") as pipe:
                pickle.dump(report, pipe)
        finally:
            os._exit(0)

    def _run_tests(self, mutant: Mutant | None, tests: Sequence[str], is_exact: bool) -> _Report:
        if mutant is not None:
            path = PACKAGE / mutant.module
            name = "upwell." + mutant.module.removesuffix(".py").replace("/", ".")
            source = mutated(path.read_text(encoding="utf-8"), mutant)
            sys.meta_path.insert(0, _ChangedSource(name, path, source))
        watcher = _Watcher()
        arguments = [*tests, "-q", *QUICK, "-k", TOO_SLOW, *(["-x"] if is_exact else [])]
        arguments += [f"--deselect={name}" for name in self.failing]
        pytest.main(arguments, [watcher])
        other = [name for name in sys.modules if name.partition(".")[0] not in ("upwell", "tests", "__main__")]
        return _Report(watcher.failed, other)

    def _read(self, worker: _Worker) -> _Report | None:
        with os.fdopen(worker.pipe, "rb") as pipe:
            content = pipe.read()
        os.waitpid(worker.pid, 0)
        report: _Report | None = pickle.loads(content) if content else None  # noqa: S301 # written by our own process
        return report


def modules_named(names: Sequence[str]) -> list[str]:
    """Return the judgement modules that the arguments name: files, or packages."""
    chosen = [module for module in JUDGEMENTS if not names or module in names or module.split("/")[0] in names]
    if unknown := [n for n in names if n not in JUDGEMENTS and n not in TESTS]:
        raise SystemExit(f"no judgement module {', '.join(unknown)}; there are {', '.join(JUDGEMENTS)}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants and print the survivors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", nargs="+", metavar="TESTS", help="run these instead of the tests of the package")
    parser.add_argument("--without", nargs="+", default=[], metavar="TESTS", help="leave these out")
    parser.add_argument("--only", type=Path, metavar="FILE", help="only the survivors in the JSON of an earlier run")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    parser.add_argument("--json", action="store_true", help="one object with all outcomes")
    options = parser.parse_args(arguments)
    mutants = [
        mutant
        for module in modules_named(options.modules)
        for mutant in mutants_of(module, (PACKAGE / module).read_text(encoding="utf-8"))
    ]
    if options.only:
        earlier = {tuple(entry["mutant"].values()) for entry in json.loads(options.only.read_text())["survivors"]}
        mutants = [mutant for mutant in mutants if tuple(asdict(mutant).values()) in earlier]
    if options.sample is not None and options.sample < len(mutants):
        kept = set(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [mutant for i, mutant in enumerate(mutants) if i in kept]
    if options.list:
        print(*[_line(mutant) for mutant in mutants], f"{len(mutants)} mutants", sep="\n")
        return 0
    outcomes = _run(mutants, options.tests, options.without, options.jobs)
    survivors = [outcome for outcome in outcomes if not outcome.killed_by]
    share = len(survivors) / max(1, len(outcomes))
    counts, survived = Counter(o.mutant.module for o in outcomes), Counter(o.mutant.module for o in survivors)
    if options.json:
        document = {
            "mutants": len(outcomes),
            "survivors": [asdict(outcome) for outcome in survivors],
            "killed": [asdict(outcome) for outcome in outcomes if outcome.killed_by],
            "modules": {module: {"mutants": n, "survivors": survived[module]} for module, n in counts.items()},
        }
        print(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        print(*[_line(outcome.mutant) for outcome in survivors], sep="\n")
        for module, n in counts.items():
            print(f"{module}: {survived[module]} of {n} survive")
        print(
            f"{len(outcomes)} mutants, {len(outcomes) - len(survivors)} killed, {len(survivors)} survive ({share:.0%})"
        )
    return int(share > MAX_SURVIVORS)


def _run(mutants: Sequence[Mutant], tests: Sequence[str] | None, without: Sequence[str], jobs: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        sys.pycache_prefix, sys.dont_write_bytecode = cache, False
        for package in dict.fromkeys(mutant.module.split("/")[0] for mutant in mutants):
            of_package = [mutant for mutant in mutants if mutant.module.split("/")[0] == package]
            runner = Runner([path for path in tests or TESTS[package] if path not in without])
            for outcome in runner.run(of_package, jobs):
                outcomes.append(outcome)
                alive = sum(not o.killed_by for o in outcomes)
                seconds = time.monotonic() - started
                print(f"{len(outcomes)}/{len(mutants)} {alive} survive {seconds:.0f} s {_line(outcome.mutant)} "
                      f"{outcome.killed_by or 'SURVIVES'}", file=sys.stderr)  # fmt: skip
    return outcomes


def _line(mutant: Mutant) -> str:
    return f"src/upwell/{mutant.module}:{mutant.line}: {mutant.name}: {mutant.old} → {mutant.new}"


if __name__ == "__main__":
    sys.exit(main())
