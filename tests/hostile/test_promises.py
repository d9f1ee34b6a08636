"""The tests that SECURITY.md names exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_each_promise_names_tests_that_exist() -> None:
    """Each row of the table names functions of the file before them; each other file that is named exists."""
    text = (ROOT / "SECURITY.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "test_" in line]
    assert len(rows) > 15
    for row in rows:
        source, functions = "", 0
        for name in re.findall(r"`([\w/.]*test_[\w.]+)`", row):
            if name.endswith(".py"):
                file = ROOT / name if "/" in name else HERE / name
                source = file.read_text()
            else:
                functions += 1
                assert f"def {name}(" in source, name
        assert functions, row
    for name in set(re.findall(r"`(test_\w+\.py)`", text)):
        assert (HERE / name).exists(), name
