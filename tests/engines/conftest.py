"""A Ray cluster of two nodes for the tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.reliability.ray_nodes import RayNodes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def ray_nodes() -> Iterator[RayNodes]:
    """Start two nodes with one core each, on loopback."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with RayNodes(2, environment={**os.environ, "PYTHONPATH": path}) as nodes:
        yield nodes


@pytest.fixture
def ray_cluster(ray_nodes: RayNodes, monkeypatch: pytest.MonkeyPatch) -> RayNodes:
    """Return the cluster; its address is set in the environment."""
    for name, value in ray_nodes.environment.items():
        if name.startswith("RAY_"):
            monkeypatch.setenv(name, value)
    return ray_nodes
