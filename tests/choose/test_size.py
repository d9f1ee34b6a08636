"""Chao's lower bound, and the extrapolation of a harvest."""

import pytest

from upwell.choose.size import chao, next_new, requests_to


def test_chao_matches_the_formula() -> None:
    """10 seen once, 5 twice, 5 more often: 20 + 10·9/(2·6) = 27.5; if all were seen often, nothing is missing."""
    bound = chao(20, 10, 5)
    assert bound.estimate == pytest.approx(27.5)
    assert 20 < bound.low < 27.5 < bound.high
    assert chao(8, 0, 0).high == 8
    assert chao(0, 0, 0).estimate == 0


def test_the_yield_of_the_next_requests_continues_its_decay() -> None:
    assert next_new([(i, 5 * i) for i in range(1, 200)]) == pytest.approx(500, rel=0.02)
    falling = [(i, round(1000 * (1 - 0.99**i))) for i in range(1, 300)]
    truth = 1000 * (0.99**299 - 0.99**399)
    assert next_new(falling) == pytest.approx(truth, rel=0.3)
    assert next_new([(i, 40) for i in range(1, 100)]) == 0


def test_requests_until_a_number_of_records() -> None:
    steady = [(i, 5 * i) for i in range(1, 200)]
    assert requests_to(steady, 1995) == pytest.approx(200, abs=2)
    assert requests_to(steady, 100) == 0
    falling = [(i, round(1000 * (1 - 0.99**i))) for i in range(1, 300)]
    assert requests_to(falling, 100_000) is None
