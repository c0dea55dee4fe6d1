"""The same failure has the same name, in whatever run it is found (CHECKERS 7.5, 8.6)."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.found import Found
from checkers.judge import judge
from checkers.run_evidence import RunEvidence
from checkers.signature import short_name
from model.plan import Topic
from model.verdict import Verdict
from tests.checkers.facts import checked, fact, looks, lost, nothing_wrong, run_of
from tests.model.damage_stories import A, B, C, Story

D3 = "s1:lost_write:committed:C5:suffix:final:A≠F,e+,clean"


def b_leads() -> Story:
    return Story().hurt(A).change(B, C, election="clean", leader=B)


def verdict_of(*found: Found, run: RunEvidence | None = None) -> Verdict:
    several = [checked(each, at=each.at) for each in found]
    return judge(run_of(b_leads()) if run is None else run, look=looks(*several), live=nothing_wrong)


def d3(**facts: Any) -> Found:
    return lost(**{"shape": "A≠F,e+", **facts})


def test_a_loss_is_named_by_rule_class_evidence_shape_and_the_last_election() -> None:
    """7.5, its example, and the short name."""
    assert verdict_of(d3()).signatures == (D3,)
    assert short_name(D3) == "99cfd896"
    assert verdict_of(d3()).checkers[-2].anomalies[0].witnesses[0].shape == "A≠F,e+,clean"


def test_only_elections_of_the_window_enter_and_only_for_losses() -> None:
    """7.5: the last one; what is no loss has none."""
    again = b_leads().change(A, B, C, election="preferred", leader=A)
    assert verdict_of(d3(), run=run_of(again)).signatures == (D3.replace("clean", "preferred"),)
    assert verdict_of(d3(to_ns=45), run=run_of(b_leads())).signatures == ("s1:lost_write:committed:C3:suffix:final:A≠F,e+",)
    assert verdict_of(fact("phantom", shape="R")).signatures == ("s1:phantom:committed:6.6:-:-:R",)


def test_what_is_allowed_has_no_signature() -> None:
    """7.5: it is no failure."""
    run = run_of(Story((A,), unclean=True).kill(A).elected(C, "unclean", 1))
    assert verdict_of(d3(), run=run).signatures == ()


def test_more_of_the_same_has_the_same_name_and_another_way_has_another() -> None:
    """8.6: elsewhere, later, five more: the same; D1, an absence across a read: different."""
    assert verdict_of(d3(count=6)).signatures == (D3,)
    assert verdict_of(d3(), d3(count=5, shape="A=F", from_ns=7, proof_ns=2 * 10**6)).signatures == (D3,)
    d1 = d3(evidence="across", loss_class="unclear", shape="A≠R")
    assert verdict_of(d1).signatures == ("s1:lost_write:committed:C5:unclear:across:A≠R,clean",)


def test_of_one_kind_of_failure_in_several_partitions_the_first_gives_the_name() -> None:
    """7.3: by time of proof, then by operation."""
    run = run_of(b_leads())
    run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, topics={"t": Topic(partitions=3)}))
    later = fact("phantom", at=("t", 0), to_ns=9, shape="R")
    first = fact("phantom", at=("t", 2), to_ns=8, shape="P")
    assert verdict_of(later, first, run=run).signatures == ("s1:phantom:committed:6.6:-:-:P",)


def renamed(run: RunEvidence, topic: str, shift_ns: int, nodes: int) -> RunEvidence:
    """Another topic, other nodes, another time."""

    def row(given: Any) -> dict[str, Any]:
        changed = dict(given)
        for key in ("at_ns", "fired_ns", "healed_ns"):
            if changed.get(key) is not None:
                changed[key] += shift_ns
        for key in ("node", "leader", "last_known"):
            if changed.get(key) is not None:
                changed[key] += nodes
        for key in ("replicas", "isr", "elr", "resolved"):
            changed[key] = [node + nodes for node in changed.get(key) or ()]
        if "topic" in changed:
            changed["topic"] = topic
        changed["damage"] = [{**each, "node": each["node"] + nodes, "topic": topic} for each in changed.get("damage") or ()]
        return changed

    plan = msgspec.structs.replace(run.plan, topics={topic: run.plan.topics["t"]})
    tables = {name: list(map(row, getattr(run, name))) for name in ("events", "changes", "registrations")}
    return msgspec.structs.replace(run, plan=plan, run_id=f"other/{shift_ns}", **tables)


names = st.sampled_from(("t", "orders", "a.b-c"))


@settings(max_examples=60, deadline=None)
@given(names, st.integers(0, 10**12), st.integers(0, 5), st.integers(1, 10**6), st.integers(1, 9), st.integers(0, 2**40))
def test_no_name_and_no_number_enters(topic: str, shift_ns: int, nodes: int, op: int, count: int, offset: int) -> None:
    """9.4: nodes, topics, offsets, times, operations and how many there are."""
    times = {"from_ns": 1 + shift_ns, "to_ns": 10**6 + shift_ns, "proof_ns": np.arange(count) + 10**6 + shift_ns}
    found = d3(at=(topic, 0), ops=(op, op + 7), count=count, offset=offset, acked_ns=2 + shift_ns, **times)
    assert verdict_of(found, run=renamed(run_of(b_leads()), topic, shift_ns, nodes)).signatures == (D3,)
