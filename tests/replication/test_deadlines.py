"""Many deadlines on one timer: each item that is not done expires at its time, once, and no timer is armed for nothing."""

from __future__ import annotations

from collections.abc import Callable

from replication.deadlines import Deadlines
from tests.replication.memory import MS, MemoryEnv, World


class CountingEnv(MemoryEnv):
    """A world that notes for when timers are armed."""

    def __init__(self, world: World) -> None:
        super().__init__(world, 1, (), 1)
        self.armed_for: list[int] = []

    def after(self, ns: int, call: Callable[[], None]) -> None:
        self.armed_for.append((self.world.now_ns + ns) // MS)
        super().after(ns, call)


class Story:
    """Deadlines in a world of their own, and who expired when."""

    def __init__(self) -> None:
        self.world = World()
        self.env = CountingEnv(self.world)
        self.deadlines = Deadlines(self.env)
        self.expired: list[tuple[str, int]] = []

    def add(self, name: str, ms: int, then: Callable[[], None] | None = None) -> Item:
        item = Item(self, name, then)
        self.deadlines.add(ms * MS, item)
        return item


class Item:
    def __init__(self, story: Story, name: str, then: Callable[[], None] | None) -> None:
        self.story, self.name, self.then = story, name, then
        self.done = False

    def expire(self) -> None:
        self.story.expired.append((self.name, self.story.world.now_ns // MS))
        self.done = True
        if self.then is not None:
            self.then()


def test_an_item_expires_at_its_time_and_only_once() -> None:
    """5.40, 6.4: not a moment early."""
    story = Story()
    story.add("a", 10)
    story.world.advance(9.999)
    assert story.expired == []
    story.world.advance(1_000)
    assert story.expired == [("a", 10)]


def test_items_expire_in_the_order_of_their_deadlines_and_ties_in_that_of_their_arrival() -> None:
    """Section 18: the order is that of time, whatever the order of arrival, so a run repeats itself."""
    story = Story()
    for name, ms in (("late", 30), ("tie 1", 20), ("early", 10), ("tie 2", 20)):
        story.add(name, ms)
    story.world.advance(100)
    assert story.expired == [("early", 10), ("tie 1", 20), ("tie 2", 20), ("late", 30)]


def test_what_is_done_does_not_expire() -> None:
    """5.40: a fetch that was answered is not answered again when its time comes."""
    story = Story()
    done, left = story.add("done", 10), story.add("left", 10)
    done.done = True
    story.world.advance(100)
    assert story.expired == [("left", 10)]
    assert left.done


def test_deadlines_of_equal_length_share_one_timer() -> None:
    """Section 18: a thousand parked fetches are one timer, not a thousand."""
    story = Story()
    for number in range(1_000):
        story.add(str(number), 500)
    assert story.env.armed_for == [500]
    story.world.advance(500)
    assert len(story.expired) == 1_000
    assert story.env.armed_for == [500]


def test_the_timer_is_armed_again_for_the_first_item_that_is_not_done() -> None:
    """Section 18: those that ended early cost no timer, wherever they stand in the order."""
    story = Story()
    first = story.add("first", 10)
    for ms in (20, 30, 40):
        story.add("skipped", ms).done = True
    story.add("last", 50)
    first.done = True
    story.world.advance(10)
    assert story.env.armed_for == [10, 50]
    story.world.advance(100)
    assert story.expired == [("last", 50)]


def test_when_everything_is_done_no_timer_is_left() -> None:
    """Section 18: an idle broker is woken by nothing of this kind."""
    story = Story()
    for ms in (10, 20):
        story.add("done", ms).done = True
    story.world.advance(1_000)
    assert story.env.armed_for == [10]
    story.add("next", 5)
    story.world.advance(5)
    assert story.expired == [("next", 1_005)]


def test_an_earlier_deadline_takes_the_timer_over_and_gives_it_back() -> None:
    """Section 18: the timer that was armed first fires for nobody's harm: each item expires once, at its own time."""
    story = Story()
    story.add("slow", 100)
    story.world.advance(10)
    story.add("quick", 20)
    story.add("quicker", 10)
    story.world.advance(1_000)
    assert story.expired == [("quicker", 20), ("quick", 30), ("slow", 100)]


def test_an_item_that_comes_while_others_expire_does_not_delay_those_that_are_due_before_it() -> None:
    """Section 18: the timer always stands for the earliest deadline, also for one added from inside `expire`."""
    story = Story()

    def comes_meanwhile() -> None:
        story.add("much later", 1_000)

    story.add("first", 10, then=comes_meanwhile)
    story.add("second", 20)
    story.world.advance(5_000)
    assert story.expired == [("first", 10), ("second", 20), ("much later", 1_010)]
