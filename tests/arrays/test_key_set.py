"""Keys as hashes: the same answers as a set and a dict, in far less memory."""

import numpy as np

from upwell.arrays.key_set import KeyNumbers, KeySet, hash_of


def test_a_key_set_answers_as_a_set_does() -> None:
    """Keys that come in many parts, some again: what is in it, how many, and how many are new each time."""
    rng, keys, known = np.random.default_rng(0), KeySet(), set[str]()
    for _ in range(200):
        some = [f"/item/{n}" for n in rng.integers(0, 4000, 40).tolist()]
        assert keys.without(some) == [key for key in some if key not in known]
        assert keys.update(some) == len(set(some) - known)
        known.update(some)
        assert len(keys) == len(known)
    assert all((f"/item/{n}" in keys) == (f"/item/{n}" in known) for n in range(4500))
    assert keys.hashes().tolist() == sorted(map(hash_of, known))


def test_the_share_of_another_set_is_counted_or_drawn() -> None:
    """A third of 3,000 keys, exactly where all are looked up, and nearly where a tenth of them is."""
    listed, others = KeySet(map(str, range(1000))), KeySet(map(str, range(3000)))
    assert listed.share_of(others, 3000) == 1 / 3
    assert abs(listed.share_of(others, 300) - 1 / 3) < 0.1
    assert listed.share_of(KeySet(), 300) == 0.0
    joined = KeySet(map(str, range(2000)))
    joined.update_hashes(others.hashes())
    assert len(joined) == 3000


def test_numbers_are_given_in_the_order_of_arrival() -> None:
    """However many are sorted in between; what has no number is -1."""
    numbers = KeyNumbers()
    for n in range(2000):
        assert numbers.find_one(hash_of(str(n))) == -1
        assert numbers.add(hash_of(str(n))) == n
    assert list(numbers.find([hash_of(str(n)) for n in (1999, 0, 5000, 700)])) == [1999, 0, -1, 700]
    assert numbers.find_one(hash_of("700")) == 700


def test_a_hash_is_the_same_in_every_process() -> None:
    """What is drawn by hashes must be drawn again when a harvest goes on."""
    assert hash_of("https://example.org/item/1") == -4670464873374149531
