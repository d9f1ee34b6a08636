"""Sets and numbers of hashed keys behave like a set and a dict."""

import numpy as np

from upwell.arrays.key_set import KeyNumbers, KeySet, hash_of


def test_a_key_set_behaves_like_a_set() -> None:
    """Membership, size and number of new keys, for keys added in many parts, some repeatedly."""
    rng, keys, known = np.random.default_rng(0), KeySet(), set[str]()
    for _ in range(200):
        batch = [f"/item/{n}" for n in rng.integers(0, 4000, 40).tolist()]
        assert keys.without(batch) == [key for key in batch if key not in known]
        assert keys.update(batch) == len(set(batch) - known)
        known.update(batch)
        assert len(keys) == len(known)
    assert all((f"/item/{n}" in keys) == (f"/item/{n}" in known) for n in range(4500))
    assert keys.hashes().tolist() == sorted(map(hash_of, known))


def test_the_share_of_another_set_is_counted_or_estimated() -> None:
    """Exact if all keys are looked up, approximate from a sample."""
    listed, others = KeySet(map(str, range(1000))), KeySet(map(str, range(3000)))
    assert listed.share_of(others, 3000) == 1 / 3
    assert abs(listed.share_of(others, 300) - 1 / 3) < 0.1
    assert listed.share_of(KeySet(), 300) == 0.0
    joined = KeySet(map(str, range(2000)))
    joined.update_hashes(others.hashes())
    assert len(joined) == 3000


def test_keys_are_numbered_in_the_order_of_arrival() -> None:
    """Unknown keys have -1."""
    numbers = KeyNumbers()
    for n in range(2000):
        assert numbers.find_one(hash_of(str(n))) == -1
        assert numbers.add(hash_of(str(n))) == n
    assert list(numbers.find([hash_of(str(n)) for n in (1999, 0, 5000, 700)])) == [1999, 0, -1, 700]
    assert numbers.find_one(hash_of("700")) == 700


def test_a_hash_is_the_same_in_every_process() -> None:
    """Samples drawn by hashes must be the same when a harvest is resumed."""
    assert hash_of("https://example.org/item/1") == -4670464873374149531
