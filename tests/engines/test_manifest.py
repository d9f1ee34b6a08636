"""The Kubernetes manifest matches Upwell's options and KubeRay's schema."""

import re
import shlex
from pathlib import Path
from typing import Any

import typer
import yaml

from upwell.cli import app

ROOT = Path(__file__).parents[2]


def objects() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the objects of the manifest by kind and name."""
    found = yaml.safe_load_all((ROOT / "docs" / "kuberay.yaml").read_text())
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def values_of(node: Any, key: str) -> list[Any]:
    """Yield every value of a key at any depth."""
    if isinstance(node, dict):
        own = [node[key]] if key in node else []
        return own + [value for child in node.values() for value in values_of(child, key)]
    return [value for child in node for value in values_of(child, key)] if isinstance(node, list) else []


def test_the_command_of_the_manifest_is_valid() -> None:
    """Each option of its entrypoint exists, and the list of sites is at the mounted path."""
    job = objects()["RayJob", "upwell"]["spec"]
    program, verb, sites, *rest = shlex.split(job["entrypoint"])
    command: Any = typer.main.get_command(app)
    known = {name for option in command.commands[verb].params for name in option.opts}
    assert program == "upwell"
    assert {word for word in rest if word.startswith("-")} <= known
    (mount,) = values_of(job["rayClusterSpec"]["headGroupSpec"], "mountPath")
    assert Path(sites).parent == Path(mount)
    assert Path(sites).name in objects()["ConfigMap", "upwell-sites"]["data"]


def test_the_manifest_is_consistent() -> None:
    """Referenced secrets and services exist; head and workers have one image, and the installed version of Ray."""
    found = objects()
    job = found["RayJob", "upwell"]
    named = [
        ref["name"] for key in ("secretKeyRef", "secretRef") for one in found.values() for ref in values_of(one, key)
    ]
    assert {("Secret", name) for name in named} <= set(found)
    (host,) = re.findall(r"postgresql://\w+@([\w-]+)/", job["spec"]["entrypoint"])
    assert ("Service", host) in found
    containers = [one for group in values_of(job, "containers") for one in group]
    assert len(containers) == 2
    assert len({one["image"] for one in containers}) == 1
    assert f"ray=={job['spec']['rayClusterSpec']['rayVersion']}\n" in (ROOT / "constraints.txt").read_text()
