"""The simulation of `docs/scale.md`: worked examples, and flows compared with single requests."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.scale_model import Costs, Limits, Sites, exact, flows

COSTS = Costs(
    cpu=0.02,
    bytes=1e5,
    archive=2e4,
    state=2e3,
    table=100,
    records=10,
    transactions=1e9,
    median_size=1000,
    sigma_size=1.5,
    largest_size=1e5,
    megabytes=100,
    megabytes_of_site=1,
)


def alike(hosts: int, requests: int) -> Sites:
    """Return equal hosts that answer immediately."""
    ones = np.ones(hosts)
    return Sites(ones, requests * ones, requests * ones, 1e-6 * ones, ones)


def test_politeness_alone_determines_the_time() -> None:
    """Four hosts of 100 requests, two at a time, one request per second: 200 seconds."""
    crawl = flows(alike(4, 100), COSTS, Limits(workers=1, at_once=2))
    assert crawl.hours == pytest.approx(200 / 3600)
    assert crawl.bound == "politeness and latency of the hosts"


def test_a_bottleneck_stretches_time() -> None:
    """200 requests per second of 20 ms need four cores: with two it takes twice as long; likewise with a database of half the transactions."""
    sites = alike(200, 100)
    assert flows(sites, COSTS, Limits(workers=1, at_once=200)).hours == pytest.approx(200 / 3600)
    assert flows(sites, COSTS, Limits(workers=1, at_once=200)).bound == "CPU"
    slow = flows(sites, replace(COSTS, transactions=100), Limits(workers=1, at_once=200))
    assert slow.bound == "databases"
    assert slow.peak == pytest.approx(50)


def test_flows_agree_with_single_requests() -> None:
    """Within 5 % if politeness is the limit; if CPU is, flows slow all hosts equally: at most 20 % too long."""
    sites = Sites.made(300, COSTS, seed=3, max_requests=200)
    polite, short = Limits(workers=2, at_once=20), Limits(workers=1, at_once=250)
    assert flows(sites, COSTS, polite).hours == pytest.approx(exact(sites, COSTS, polite), rel=0.05)
    assert 1 <= flows(sites, COSTS, short).hours / exact(sites, COSTS, short) < 1.2
