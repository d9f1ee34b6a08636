"""One measurement of the grid, for a worker process."""

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.ground.collections import COLLECTIONS, collection, from_file
from benchmarks.ground.oracle import oracle
from benchmarks.ground.random_settings import classes_of, draw_setting, draw_size
from benchmarks.ground.run import harvest
from benchmarks.ground.settings import SETTINGS
from benchmarks.ground.source import Collection, SimulatedSource
from upwell.lexicon.frequent_words import EVERYTHING

__all__ = ["RANDOM", "SIZE", "Task", "measure"]

SIZE = 2000  # records sampled from a collection; files are used as a whole
RANDOM = "random"  # in place of the name of a setting: one drawn at random by the seed
Task = tuple[str, str, int, int, bool, int]


@lru_cache(maxsize=2)
def _records(name: str, size: int, seed: int) -> Collection:
    if name in COLLECTIONS:
        return collection(name, size=size, seed=seed)
    return from_file(Path(name), size=size, seed=seed)


def measure(task: Task) -> dict[str, object]:
    """Harvest one setting, collection and seed; return the figures."""
    name, setting_name, seed, size, with_oracle, certify = task
    if setting_name == RANDOM:
        rng = np.random.default_rng([seed, 3])
        records = _records(name, draw_size(rng), seed)
        setting = draw_setting(f"{RANDOM} {seed}", rng)
    else:
        records, setting = _records(name, size, seed), SETTINGS[setting_name]
    source = SimulatedSource(records, setting, seed)
    result = harvest(source, seed=seed, certify=certify)
    # it asks queries, so a source that has none has no oracle
    has_oracle = with_oracle and setting.has_search
    best = oracle(SimulatedSource(records, setting, seed), EVERYTHING) if has_oracle else {}
    return {
        "collection": records.name,
        "records": source.size,
        "setting": setting.name,
        "class": setting.group,
        "classes": classes_of(setting, len(records)),
        "settings": asdict(setting),
        "seed": seed,
        "requests": result.requests,
        "oracle": best,
        "stopped": result.stopped,
        "reason": result.reason,
        "moments": [asdict(moment) for moment in result.moments],
    }
