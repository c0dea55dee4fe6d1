"""Plans: what is accepted comes back unchanged, what is written is complete, and one field can be replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from model import document, matrix, plan_file
from model.config import recovery_bound_ns
from model.plan import Plan, digest, to_data, to_json, to_yaml
from model.refusal import Refusal
from tests.strategies import plans

ROOT = Path(__file__).parents[2]


@given(plans())
def test_a_plan_is_the_same_after_yaml(plan: Plan) -> None:
    """What `tidemark plan` prints can be read back, and means the same."""
    assert plan_file.read_plan(document.parse(to_yaml(plan), "printed.yaml")) == plan


@given(plans())
def test_a_stored_plan_is_the_same_and_keeps_its_digest(plan: Plan) -> None:
    """Replay, shrink and resume read the stored plan and nothing else."""
    stored = yaml.safe_load(to_json(plan))
    again = plan_file.from_data(stored, "plan.json")
    assert again == plan
    assert digest(again) == digest(plan)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No input makes the reader fail in another way than by a refusal that names the file."""
    try:
        matrix.expand(document.parse(text, "some.yaml"))
    except Refusal as refusal:
        assert str(refusal).startswith("some.yaml")


@given(plans(), st.data())
def test_any_damage_to_a_plan_is_read_or_refused(plan: Plan, data: st.DataObject) -> None:
    """A value replaced by another kind of value is accepted or refused, and never crashes a check."""
    root = document.from_data(to_data(plan), "some.yaml")
    paths = [path for path in _paths(to_data(plan)) if path]
    junk = data.draw(st.sampled_from([None, -1, 0, 7, "x", "n99", "", True, [], ["a"], {}, {"a": 1}, [[["n1"]]], 10**40, 0.5]))
    path = data.draw(st.sampled_from(paths))
    damaged = document.put(root, path, document.moved(document.from_data(junk, "some.yaml"), path))
    try:
        matrix.expand(damaged)
    except Refusal as refusal:
        assert str(refusal).startswith("some.yaml")


def _paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in below for found in _paths(item, (*path, key)))]


def test_the_default_plan_is_the_one_of_the_design() -> None:
    """`tidemark run` without a plan: three brokers, three controllers, RF 3, min ISR 2, log, swarm, 30 virtual seconds."""
    (cell,) = matrix.expand(plan_file.load(ROOT / "plans" / "default.yaml"))
    assert cell.plan == Plan(tidemark=1)
    assert cell.plan.nodes.ids == (1, 2, 3, 4, 5, 6)
    assert cell.plan.nodes.controller_ids == (4, 5, 6)
    assert cell.plan.topics["t"].config == {"min.insync.replicas": 2}


def test_combined_nodes_have_both_roles() -> None:
    """With `combined` the first nodes are the voters, and no further node exists."""
    plan = plan_file.from_data({"tidemark": 1, "nodes": {"combined": True, "brokers": 5}}, "x")
    assert (plan.nodes.ids, plan.nodes.controller_ids) == ((1, 2, 3, 4, 5), (1, 2, 3))


def test_one_field_is_replaced_by_set(tmp_path: Path) -> None:
    """Slashes lead to the field, because Kafka's names have dots; list entries by number."""
    file = tmp_path / "p.yaml"
    file.write_text("tidemark: 1\nschedule: [{at: 5s, fault: kill, target: n1}]\n")
    overrides = ["topics/t/config/min.insync.replicas=1", "schedule/0/target=leader", "mutants=[B11, B13]", "judge/R=2s"]
    (cell,) = matrix.expand(plan_file.load(file, overrides))
    assert cell.plan.topics["t"].config == {"min.insync.replicas": 1}
    assert cell.plan.schedule[0].target == "leader"  # type: ignore[union-attr]
    assert cell.plan.mutants == ("B11", "B13")
    assert cell.plan.judge.recovery_ns == 2 * 10**9


def test_what_stands_beside_a_replaced_field_stays(tmp_path: Path) -> None:
    """A default topic keeps its min ISR 2 when its partitions are set, by --set and by a matrix; numeric names are names."""
    file = tmp_path / "p.yaml"
    file.write_text("tidemark: 1\n")
    for override in ("topics/t/partitions=2", "matrix={topics/t/partitions: [2]}"):
        (cell,) = matrix.expand(plan_file.load(file, [override]))
        assert (cell.plan.topics["t"].partitions, cell.plan.topics["t"].config) == (2, {"min.insync.replicas": 2})
    file.write_text("tidemark: 1\ntopics: {1: {}, '007': {}}\n")
    (cell,) = matrix.expand(plan_file.load(file, ["topics/007/partitions=4"]))
    assert [(name, topic.partitions) for name, topic in cell.plan.topics.items()] == [("1", 1), ("007", 4)]
    with pytest.raises(Refusal, match="no such setting of a topic: 'bogus'"):
        matrix.expand(plan_file.load(file, ["topics/1/config/bogus=3"]))


def test_a_fraction_is_spelled_the_same_when_it_is_stored() -> None:
    """Else the digest would differ after a replay."""
    text = "tidemark: 1\nschedule: [{at: 5s, fault: slow, target: n1, args: {share: 0.00001}}]\n"
    plan = plan_file.read_plan(document.parse(text, "x"))
    assert digest(plan_file.from_data(yaml.safe_load(to_json(plan)), "plan.json")) == digest(plan)
    assert plan_file.read_plan(document.parse(to_yaml(plan), "x")) == plan


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("workload/acks=7", "--set workload/acks=7: workload/acks: no such acks: '7'"),
        ("workload", "--set: not an override: 'workload'"),
        ("=1", "--set: not an override: '=1'"),
        ("seed/x=1", "--set seed/x=1: seed/x: seed is a value, so nothing can be set below it"),
        ("schedule/4/at=1s", "--set schedule/4/at=1s: schedule/4/at: schedule has no entry 4"),
        ("seed={", "--set seed={: not YAML"),
        ("seed=", "--set seed=: seed: not a whole number: ''"),
    ],
)
def test_a_wrong_override_is_refused_by_its_own_words(tmp_path: Path, override: str, expected: str) -> None:
    """The refusal names the option that was typed, not a line of the file."""
    file = tmp_path / "p.yaml"
    file.write_text("tidemark: 1\nseed: 1\nschedule: [{at: 5s, fault: kill, target: n1}]\n")
    with pytest.raises(Refusal) as refused:
        matrix.expand(plan_file.load(file, [override]))
    assert str(refused.value).startswith(expected)


def test_the_recovery_bound_follows_from_the_timeouts() -> None:
    """R of the brisk profile is 7.1 s (DESIGN 11.4); Kafka's own defaults allow 87 s."""
    assert recovery_bound_ns({"profile": "brisk"}) == 7_100 * 10**6
    assert recovery_bound_ns({"profile": "kafka"}) == 87_000 * 10**6
    assert recovery_bound_ns({"broker.session.timeout.ms": 3_000}) == (9_000 + 1_500 + 2_000) * 10**6
