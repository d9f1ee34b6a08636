"""Discrete-event simulation of a crawl of many hosts by many workers.

A worker is a machine with `cores` that harvests `at_once` sites concurrently; each host receives at most `rate` requests per second, one
after the other. Events are the ends of sites: between two events the requests of a site are a flow, whose rate is given by the mean of
max(1 / rate, latency) over the lognormal latency of its host. 10 million hosts are 10 million events, while their requests would be
billions. If shared resources (CPU, transactions of the databases, bandwidth) are exceeded, all sites are slowed down equally: time is
stretched accordingly. `exact` simulates every request, and shows the error of this simplification.
"""

import heapq
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["Costs", "Crawl", "Limits", "Sites", "exact", "flows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Cost of one request, sizes of sources, and prices."""

    cpu: float  # seconds
    bytes: float  # bytes received
    archive: float  # bytes archived
    state: float  # bytes of state
    table: float  # bytes per record
    records: float  # new records per request
    transactions: float  # transactions per second of one database
    commits: float = field(default=2.0, kw_only=True)  # transactions per request: its outcome, and its records
    median_size: float  # records of a source: lognormal
    sigma_size: float
    largest_size: float
    megabytes: float  # MB of a process
    megabytes_of_site: float  # MB per further concurrent site
    # Latency in seconds. Response times are approximately lognormal: Ciemiewicz, "What Do You 'Mean'? Revisiting Statistics for Web Response
    # Time Measurements", CMG 2001. The parameters are assumed, not measured: half of the hosts answer within 0.5 s, one in ten needs 1.8 s.
    median_latency: float = 0.5
    sigma_hosts: float = 1.0
    sigma_requests: float = 0.5  # around the median of the host
    learning: int = 60  # requests before the first record: probes and checks; as in the harvests of the demo site
    price_cpu_hour: float = 0.04  # dollars; assumed: about one core of a rented general-purpose machine
    price_terabyte_month: float = (
        23.0  # dollars; assumed: about the list price of the standard class of an object store
    )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Capacity of the machines."""

    workers: int
    cores: int = 2
    at_once: int = 100  # concurrent sites per worker
    rate: float = 1.0  # requests per second and host
    databases: int = 1
    worker_bytes: float = 125e6  # bytes per second: 1 Gbit/s


@dataclass(frozen=True)
class Sites:
    """Hosts of a crawl: their requests, and the duration of each request without bottlenecks."""

    sizes: Floats
    requests: Floats
    seconds: Floats  # of all its requests
    latency: Floats  # median of the host
    held: Floats  # records

    @classmethod
    def made(cls, count: int, costs: Costs, *, seed: int, max_requests: int, rate: float = 1.0) -> "Sites":
        """Draw hosts from the distributions."""
        rng = np.random.default_rng(seed)
        sizes = np.minimum(rng.lognormal(np.log(costs.median_size), costs.sigma_size, count), costs.largest_size)
        wanted = costs.learning + sizes / costs.records
        requests = np.maximum(1, np.round(np.minimum(wanted, max_requests)))
        latency = rng.lognormal(np.log(costs.median_latency), costs.sigma_hosts, count)
        gaps = _mean_gap(latency, costs.sigma_requests, 1 / rate)
        held = np.minimum(sizes, np.maximum(0, requests - costs.learning) * costs.records)
        return cls(sizes, requests, requests * gaps, latency, held)


def _mean_gap(median: Floats, sigma: float, least: float) -> Floats:
    """Return the mean of max(least, a lognormal latency)."""
    away = (np.log(median) - math.log(least)) / sigma
    mean: Floats = least * ndtr(-away) + median * math.exp(sigma**2 / 2) * ndtr(away + sigma)
    return mean


@dataclass(kw_only=True)
class Crawl:
    """Result of a crawl."""

    hours: float
    half: float  # hours after which half of the requests were sent
    peak: float  # requests per second
    bound: str
    use: dict[str, float] = field(default_factory=dict)  # peak demand ÷ capacity, politeness aside
    curve: list[tuple[float, float]] = field(default_factory=list)  # hours, share of the requests


def _wanted(rate: float, costs: Costs, limits: Limits) -> dict[str, float]:
    """Return demand ÷ capacity for a number of requests per second."""
    return {
        "CPU": rate * costs.cpu / (limits.workers * limits.cores),
        "databases": rate * costs.commits / (costs.transactions * limits.databases),
        "bandwidth": rate * (costs.bytes + costs.archive) / (limits.workers * limits.worker_bytes),
    }


def flows(sites: Sites, costs: Costs, limits: Limits) -> Crawl:
    """Simulate the crawl with sites as flows; the sites with most requests start first."""
    order = np.argsort(-sites.seconds, kind="stable")
    seconds, requests = sites.seconds[order], sites.requests[order]
    rates = requests / seconds
    slots = limits.workers * limits.at_once
    begin = np.zeros(len(seconds))  # in unstretched seconds
    if slots < len(seconds):
        ends = seconds[:slots].tolist()
        heapq.heapify(ends)
        begins, replace = [], heapq.heapreplace
        for length in seconds[slots:].tolist():
            free = ends[0]
            begins.append(free)
            replace(ends, free + length)
        begin[slots:] = begins
    return _stretched(begin, begin + seconds, rates, costs, limits)


def _stretched(begin: Floats, end: Floats, rates: Floats, costs: Costs, limits: Limits) -> Crawl:
    """Merge starts and ends into one sequence of events; between two events the rate is constant, and time is stretched if it is too high."""
    moments = np.concatenate([begin, end])
    changes = np.concatenate([rates, -rates])
    order = np.argsort(moments, kind="stable")
    moments, changes = moments[order], changes[order]
    rate = np.maximum(np.cumsum(changes)[:-1], 0)
    span = np.diff(moments)
    need = _wanted(1.0, costs, limits)
    stretch = np.maximum(1.0, rate * max(need.values()))
    clock = np.concatenate([[0.0], np.cumsum(span * stretch)]) / 3600
    sent = np.concatenate([[0.0], np.cumsum(rate * span)])
    share = sent / sent[-1]
    top = float(rate.max())
    use = _wanted(top, costs, limits)
    worst = max(use, key=lambda name: use[name])
    points = np.searchsorted(share, np.linspace(0, 1, 101)).clip(0, len(clock) - 1)
    return Crawl(
        hours=float(clock[-1]),
        half=float(clock[np.searchsorted(share, 0.5)]),
        peak=float((rate / stretch).max()),
        bound=worst if use[worst] > 1 else "politeness and latency of the hosts",
        use=use,
        curve=[(float(clock[i]), float(share[i])) for i in points],
    )


def exact(sites: Sites, costs: Costs, limits: Limits, seed: int = 0) -> float:
    """Return the hours of the same crawl with an event for each request: each worker has its own cores, for which requests wait.

    Databases and bandwidth are not included: this checks CPU, politeness and latency.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(-sites.seconds, kind="stable")
    left = sites.requests[order].tolist()
    medians = sites.latency[order].tolist()
    cores = [[0.0] * limits.cores for _ in range(limits.workers)]
    waiting = iter(range(len(left)))
    events: list[tuple[float, int, int, float]] = []  # time of the answer, site, worker, time of the request
    noise, used = rng.standard_normal(1 << 16).tolist(), 0

    def ask(now: float, site: int, worker: int) -> None:
        nonlocal used
        used = (used + 1) % len(noise)
        latency = medians[site] * math.exp(costs.sigma_requests * noise[used])
        heapq.heappush(events, (now + latency, site, worker, now))

    for _ in range(limits.at_once):
        for worker in range(limits.workers):
            if (site := next(waiting, None)) is not None:
                ask(0.0, site, worker)
    last = 0.0
    while events:
        now, site, worker, asked = heapq.heappop(events)
        done = max(now, heapq.heappop(cores[worker])) + costs.cpu
        heapq.heappush(cores[worker], done)
        left[site] -= 1
        last = max(last, done)
        following = site if left[site] > 0 else next(waiting, None)
        if following is not None:
            ask(max(asked + 1 / limits.rate, done), following, worker)
    return last / 3600
