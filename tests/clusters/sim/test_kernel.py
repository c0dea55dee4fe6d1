"""The kernel: order, time and the digest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.sim.kernel import Kernel, SimTimeline


def never() -> bool:
    return False


@given(st.lists(st.integers(0, 5), max_size=30))
def test_calls_come_by_time_and_then_in_the_order_of_asking(times: list[int]) -> None:
    """Nothing else has a say: not what is called, nor with what."""
    kernel, came = Kernel(), list[tuple[int, int]]()
    for number, when in enumerate(times):
        kernel.at(when, lambda number: came.append((kernel.now, number)), number)
    kernel.run_until(never, 5)
    assert came == sorted((when, number) for number, when in enumerate(times))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 4))
def test_what_calls_ask_for_takes_its_turn_behind_what_was_asked_before(delays: list[int], rounds: int) -> None:
    """Also when it is for the very moment that is now."""
    kernel, came = Kernel(), list[tuple[int, int]]()
    asked = 0

    def call(entry: tuple[int, int, int]) -> None:
        nonlocal asked
        when, number, left = entry
        assert kernel.now == when
        came.append((when, number))
        for delay in delays if left else ():
            asked += 1
            kernel.at(kernel.now + delay, call, (kernel.now + delay, asked, left - 1 if asked < 200 else 0))

    kernel.at(0, call, (0, 0, rounds))
    kernel.run_until(never, 100)
    assert came == sorted(came)
    assert len(came) == asked + 1


def test_a_run_ends_at_its_limit_and_what_lies_on_it_still_happens() -> None:
    """What comes later stays for the next run."""
    kernel, came = Kernel(), list[int]()
    for when in (9, 10, 11):
        kernel.at(when, came.append, when)
    assert not kernel.run_until(never, 10)
    assert (came, kernel.now, kernel.steps) == ([9, 10], 10, 2)
    kernel.run_until(never, 12)
    assert came == [9, 10, 11]


def test_a_run_ends_as_soon_as_it_is_done() -> None:
    """Not one call later, and time stands where it was done."""
    kernel, came = Kernel(), list[int]()
    for when in (1, 2, 3):
        kernel.at(when, came.append, when)
    assert kernel.run_until(lambda: len(came) == 2, 10)
    assert (came, kernel.now) == ([1, 2], 2)
    assert kernel.run_until(lambda: True, 10)
    assert came == [1, 2]


def test_nothing_left_to_happen_still_takes_its_time() -> None:
    """Time jumps to the limit, and whatever is only true there counts."""
    kernel = Kernel()
    assert kernel.run_until(lambda: kernel.now == 7, 7)


def test_a_timeline_counts_from_now() -> None:
    """Delays and limits alike."""
    kernel, came = Kernel(), list[int]()
    time = SimTimeline(kernel)
    time.run_until(never, 100)
    time.after(5, lambda: came.append(time.now_ns()))
    time.run_until(never, 5)
    assert (came, time.now_ns()) == ([105], 105)


def noted(entries: list[tuple[int, int, int, int]]) -> str:
    """The digest of a run in which these things happen: when, of what kind, to whom, with which number."""
    kernel = Kernel()
    for when, kind, node, key in entries:
        kernel.at(when, lambda entry: kernel.note(*entry), (kind, node, key))
    kernel.run_until(never, 100)
    return kernel.digest.hex()


ENTRY = st.tuples(st.integers(0, 100), st.integers(1, 8), st.integers(-3, 6), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(ENTRY, min_size=1, max_size=8), st.data())
def test_a_digest_changes_with_anything_that_is_noted(entries: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    """When, what, to whom, which number, and whether at all; and with nothing else."""
    other = list(entries)
    at = data.draw(st.integers(0, len(entries) - 1))
    change = data.draw(st.sampled_from(["gone", "when", "kind", "node", "key"]))
    if change == "gone":
        del other[at]
    else:
        place = ["when", "kind", "node", "key"].index(change)
        entry = list(other[at])
        entry[place] = entry[place] - 1 if entry[place] > 0 else entry[place] + 1
        other[at] = (entry[0], entry[1], entry[2], entry[3])
    assert noted(entries) == noted(entries)
    assert noted(other) != noted(entries)


def test_a_digest_does_not_care_when_it_is_asked() -> None:
    """Nor in how large pieces it takes what was noted."""

    def digest(*stops: int) -> str:
        kernel = Kernel()
        for when in range(5_000):
            kernel.at(when, lambda key: kernel.note(1, 2, key), when)
        for stop in stops:
            kernel.run_until(never, stop)
            kernel.digest.hex()
        kernel.run_until(never, 5_000)
        return kernel.digest.hex()

    assert digest() == digest(10, 1_700, 4_999)


def test_what_only_happens_is_in_the_digest_too() -> None:
    """An event that notes nothing still has its time and its place."""

    def digest(*times: int) -> str:
        kernel = Kernel()
        for when in times:
            kernel.at(when, lambda _: None, None)
        kernel.run_until(never, 100)
        return kernel.digest.hex()

    assert len({digest(), digest(1), digest(2), digest(1, 1), digest(1, 2), digest(2, 1)}) == 6
