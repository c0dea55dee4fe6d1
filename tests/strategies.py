"""tests/strategies.py: random plans, schedules, rows and verdicts that are right by construction, for the property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from model.operation import KINDS, Row
from model.plan import Judge, Nodes, Phase, Plan, Sizes, Topic, Workload
from model.quantity import Rate
from model.schedule import Condition, Event
from model.vocabulary import FAULTS

durations = st.one_of(
    st.integers(1, 2**50),
    st.sampled_from([1, 10**3, 10**6, 500 * 10**6, 10**9, 90 * 10**9, 3_600 * 10**9, 86_400 * 10**9]),
)
names = st.from_regex(r"[a-z][a-z0-9._-]{0,12}", fullmatch=True)
free_text = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\x85\u2028\u2029\ufeff", exclude_categories=["Cs", "Cc"]), max_size=20
)


@st.composite
def arguments(draw: st.DrawFn, fault: str) -> dict[str, object]:
    """Arguments in the spelling of people: only the ones that a fault must have, and some of the others."""
    spelled: dict[str, st.SearchStrategy[object]] = {
        "latency": st.sampled_from(["5ms", "2s"]),
        "jitter": st.sampled_from(["1ms"]),
        "rate": st.sampled_from(["100KiB/s", "1MiB/s"]),
        "gap": st.sampled_from(["50us", "1s"]),
        "message": st.sampled_from(["Fetch", "AlterPartition"]),
        "action": st.sampled_from(["hold", "drop", "repeat"]),
        "count": st.integers(1, 9),
        "share": st.sampled_from(["0.1", "0.00001", 1]),
        "offset": st.sampled_from(["-1h", "2s"]),
        "by": st.sampled_from(["2s", "500ms"]),
        "every": st.sampled_from(["10ms"]),
        "ppm": st.integers(-900, 900),
        "directory": st.integers(0, 15),
        "delay": st.sampled_from(["300ms"]),
        "on": st.sampled_from(["read", "write", "sync"]),
        "kind": st.sampled_from(["preferred", "unclean"]),
        "to": st.just(["n1", "n2"]),
        "key": st.just("min.insync.replicas"),
        "value": st.just(1),
        "one_way": st.booleans(),
        "streams": st.sampled_from(["requests", "answers", "both"]),
    }
    known = FAULTS[fault].args
    return {
        name: draw(spelled[name])
        for name, argument in known.items()
        if argument.required or (name in spelled and draw(st.booleans()))
    }


@st.composite
def events(
    draw: st.DrawFn, number: int = 0, for_ns: int = 30 * 10**9, topics: tuple[str, ...] = ("t",), brokers: int = 3
) -> Event:
    """An event that a plan with these topics and brokers may hold as its `number`-th."""
    fault = draw(st.sampled_from(sorted(FAULTS)))
    spec = FAULTS[fault]
    partition = f"{draw(st.sampled_from(topics))}/0"
    node = st.sampled_from([f"n{i}" for i in range(1, brokers + 1)])
    some_node = st.one_of(node, st.sampled_from(["leader", "isr-minority", f"leader@{partition}", "any-controller"]))
    target = {
        "nodes": st.one_of(some_node, st.lists(some_node, min_size=1, max_size=3, unique=True).map(tuple)),
        "links": st.one_of(some_node, st.just(("leader", "controllers")), st.just((("n1", "clients"), ("controllers", "c1")))),
        "partition": st.just(partition),
        "cluster": st.none(),
    }[spec.aim]
    timed = draw(st.booleans())
    conditions = st.one_of(
        st.builds(Condition, leader=node, partition=st.just(partition)),
        st.builds(Condition, leaderless=st.booleans()),
        st.builds(Condition, isr=st.lists(node, min_size=1, unique=True).map(tuple), acked=st.none() | st.integers(1, 999)),
        *([st.builds(Condition, after=st.integers(0, number - 1))] if number else []),
    )
    return Event(
        at_ns=draw(st.integers(0, for_ns - 1)) if timed else None,
        when=None if timed else draw(conditions),
        within_ns=None if timed else draw(st.none() | durations),
        fault=fault,
        target=draw(target),
        args=draw(arguments(fault)),
        for_ns=draw(st.none() | durations) if spec.heals else None,
    )


@st.composite
def schedules(draw: st.DrawFn, for_ns: int = 30 * 10**9, topics: tuple[str, ...] = ("t",), brokers: int = 3) -> tuple[Event, ...]:
    return tuple(draw(events(i, for_ns, topics, brokers)) for i in range(draw(st.integers(0, 5))))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan that passes every check."""
    brokers = draw(st.integers(2, 9))
    combined = draw(st.booleans())
    nodes = Nodes(
        brokers=brokers,
        controllers=draw(st.sampled_from([1, 2] if combined else [1, 2, 3, 5])),
        combined=combined,
        even_voters=True,
    )
    topics = {}
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        replicas = draw(st.integers(2, brokers))
        config: dict[str, object] = {"min.insync.replicas": draw(st.integers(1, replicas))}
        topics[name] = Topic(partitions=draw(st.integers(1, 9)), replicas=replicas, config=draw(st.sampled_from([config, {}])))
    for_ns = draw(durations)
    acks = draw(st.sampled_from([-1, 0, 1]))
    conditions = st.builds(Condition, acked=st.integers(1, 99))
    phases = st.one_of(
        st.builds(Phase, write=st.integers(1, 9), acks=st.sampled_from([None, -1, 0, 1])), st.builds(Phase, until=conditions)
    )
    return Plan(
        tidemark=1,
        seed=draw(st.integers(0, 2**63 - 1)),
        tag=draw(st.none() | st.integers(0, 2**19 - 1)),
        for_ns=for_ns,
        mutants=tuple(draw(st.lists(st.sampled_from(["B11", "B13", "B28a"]), unique=True))),
        client_groups=draw(st.integers(1, 50)),
        needs=tuple(draw(st.lists(st.sampled_from(["cut", "gate"]), unique=True))),
        nodes=nodes,
        topics=topics,
        config=draw(
            st.sampled_from([{}, {"profile": "kafka"}, {"unclean.leader.election.enable": True, "flush": None}]).map(_known)
        ),
        workload=Workload(
            rate=draw(st.builds(Rate, count=st.integers(1, 10**6), per=st.sampled_from(["s", "m", "h"]))),
            phases=tuple(draw(st.lists(phases, max_size=3))),
            acks=acks,
            acks_of_processes=draw(st.sampled_from([(), (1, -1, 0)])) if acks == -1 else (),
            batch=draw(st.integers(1, 1_000)),
            value_size=draw(st.builds(Sizes, st.integers(8, 4_096), st.integers(4_096, 2**20))),
            spread=draw(st.sampled_from(["even", "hot"])),
            in_flight=draw(st.integers(1, 5)),
            retries=draw(st.integers(0, 10_000)),
            deliver_within=draw(durations),
        ),
        schedule=draw(st.one_of(st.sampled_from(["swarm", "none"]), schedules(for_ns, tuple(topics), brokers))),
        judge=draw(
            st.builds(
                Judge, recovery_ns=st.none() | durations, gap_ns=durations, on_violation=st.sampled_from(["stop", "note", "off"])
            )
        ),
    )


def _known(config: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in config.items() if value is not None}


offsets = st.integers(0, 2**62)
small = st.integers(0, 2**31 - 1)
value_lists = st.lists(st.integers(0, 2**63 - 1), max_size=5)
error_names = st.sampled_from(["NOT_SENT", "TIMED_OUT", "NOT_ENOUGH_REPLICAS", "CONNECTION_LOST"])


@st.composite
def rows(draw: st.DrawFn, op: int) -> Row:
    """One row with any mixture of present and absent columns that its types allow."""
    kind = draw(st.sampled_from(KINDS))
    return Row(
        op=op,
        process=draw(small),
        client=draw(st.sampled_from(["raw-0", "raw-1", "rdkafka-0"])),
        node=draw(st.none() | st.integers(1, 99)),
        kind=kind,
        type=draw(st.sampled_from(["ok", "fail", "info"])),
        error=draw(st.none() | error_names),
        topic=draw(st.none() | st.sampled_from(["t", "orders", "ü/<b>"])),
        partition=draw(st.none() | st.integers(0, 999)),
        key=draw(st.none() | offsets),
        value=draw(st.none() | st.integers(0, 2**63 - 1)),
        expected=draw(st.none() | offsets),
        offset=draw(st.none() | offsets),
        from_offset=draw(st.none() | offsets),
        max_records=draw(st.none() | small),
        at_end=draw(st.none() | st.booleans()),
        base_offset=draw(st.none() | offsets),
        values=draw(st.none() | value_lists),
        offsets=draw(st.none() | st.lists(offsets, max_size=5)),
        epochs=draw(st.none() | st.lists(small, max_size=5)),
        leader_epoch=draw(st.none() | small),
        start_ns=draw(st.integers(0, 2**60)),
        took_ns=draw(st.integers(0, 2**60)),
        acks=draw(st.sampled_from([None, -1, 0, 1])),
        idempotent=draw(st.none() | st.booleans()),
        producer_id=draw(st.none() | offsets),
        producer_epoch=draw(st.none() | st.integers(0, 2**15 - 1)),
        sequence=draw(st.none() | small),
        attempts=draw(st.none() | st.integers(0, 2**15 - 1)),
        batch=draw(st.none() | small),
        session=draw(st.none() | small),
        final=draw(st.booleans()),
        barrier=draw(st.none() | st.booleans()),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    return [draw(rows(op)) for op in range(draw(st.integers(0, 12)))]
