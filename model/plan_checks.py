"""model/plan_checks.py: what a plan may not say although every word of it is well formed.

In   a typed plan, and the document it was read from, for the places
Out  nothing; or the one `Refusal` for the first thing that cannot be, in the order of the file
Each function is one sentence about plans. They know names from model/vocabulary.py and settings from model/config.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from model import document
from model.cluster import Ability
from model.config import SETTINGS, effective_number
from model.document import Key, Node
from model.plan import Plan
from model.reading import read
from model.refusal import near_miss
from model.schedule_checks import check_condition, events_make_sense, events_of, one_of
from model.vocabulary import CLIENTS, CLUSTERS, FAMILIES, FAULTS, MUTANTS, PROFILES, SYSTEMS, WORKLOADS


def check(plan: Plan, node: Node) -> None:
    """Every sentence below, in the order in which a plan is written."""
    for sentence in SENTENCES:
        sentence(plan, node)


# -- what runs, and where ---------------------------------------------------------------------------------------------


def _known_system_and_world(plan: Plan, node: Node) -> None:
    one_of(node, ("system",), plan.system, SYSTEMS)
    one_of(node, ("cluster",), plan.cluster, CLUSTERS)
    if plan.system == "kafka" and plan.cluster == "sim":
        raise node.refuse("kafka cannot run in the simulator", "cluster", allowed="local, docker, ssh")
    if plan.system == "kafka" and not plan.version:
        raise node.refuse("kafka needs a version", "version", allowed="a release, such as 4.3.1")
    if plan.system == "isr" and plan.version is not None:
        raise node.refuse(f"isr has no versions, found {plan.version!r}", "version", allowed="nothing")


def _mutants_are_ours(plan: Plan, node: Node) -> None:
    if plan.mutants and plan.system != "isr":
        raise node.refuse(f"{plan.system} has no mutants to switch on", "mutants", allowed="[], or system: isr")
    for i, mutant in enumerate(plan.mutants):
        one_of(node, ("mutants", i), mutant, MUTANTS, what="mutant")
        if mutant in plan.mutants[:i]:
            raise node.refuse(f"{mutant} stands here twice", "mutants", i, allowed="each mutant once")


def _known_abilities(plan: Plan, node: Node) -> None:
    for i, name in enumerate(plan.needs):
        one_of(node, ("needs", i), name, [ability.value for ability in Ability], what="ability")


# -- nodes and topics -------------------------------------------------------------------------------------------------


def _a_quorum_can_decide(plan: Plan, node: Node) -> None:
    nodes = plan.nodes
    if nodes.combined and nodes.controllers > nodes.brokers:
        problem = f"{nodes.controllers} controllers do not fit on {nodes.brokers} combined nodes"
        raise node.refuse(problem, "nodes", "controllers", allowed=f"up to {nodes.brokers}")
    if nodes.controllers % 2 == 0 and not nodes.even_voters:
        raise node.refuse(
            f"{nodes.controllers} voters tolerate no more failures than {nodes.controllers - 1}",
            "nodes",
            "controllers",
            allowed="an odd number; or say nodes: {even_voters: true}",
        )


def _replicas_have_brokers(plan: Plan, node: Node) -> None:
    if not plan.topics:
        raise node.refuse("a plan without topics tests nothing", "topics", allowed="at least one: topics: {t: {}}")
    for name, topic in plan.topics.items():
        if topic.replicas > plan.nodes.brokers:
            problem = f"{topic.replicas} replicas need as many brokers, and there are {plan.nodes.brokers}"
            raise node.refuse(problem, "topics", name, "replicas", allowed=f"1 to {plan.nodes.brokers}")


def _known_settings(plan: Plan, node: Node) -> None:
    profile = plan.config.get("profile", "brisk")
    one_of(node, ("config", "profile"), str(profile), PROFILES)
    cluster_names = ["profile", *(name for name in SETTINGS if name not in ("flush.messages", "flush.ms"))]
    _settings(plan, node, ("config",), {k: v for k, v in plan.config.items() if k != "profile"}, cluster_names)
    topic_names = [name for name, setting in SETTINGS.items() if setting.topic]
    for topic, spec in plan.topics.items():
        _settings(plan, node, ("topics", topic, "config"), spec.config, topic_names)


def _settings(plan: Plan, node: Node, at: tuple[Key, ...], given: dict[str, object], allowed: Sequence[str]) -> None:
    for key in given:
        place = node.descend(*at, key)
        if place.path != (*at, key):
            continue  # a default of ours, not something a person wrote
        if key in allowed:
            read(place, SETTINGS[key].kind)
        elif plan.system == "isr":
            kind = "setting of a topic" if "topics" in at else "setting"
            shown = allowed if len(allowed) < 20 else difflib.get_close_matches(key, allowed, n=5, cutoff=0)
            names = ", ".join(shown) + (f", and {len(allowed) - len(shown)} more of Kafka's" if len(shown) < len(allowed) else "")
            raise node.refuse(f"no such {kind}: {key!r}", *at, key, allowed=names, meant=near_miss(key, allowed))
        elif isinstance(document.plain(place), dict | list):
            raise place.refuse(f"found {place.kind}", allowed="one value")


def _min_isr_can_be_met(plan: Plan, node: Node) -> None:
    key = "min.insync.replicas"
    for name, topic in plan.topics.items():
        wanted = effective_number(plan.config, topic.config, key)
        if wanted > topic.replicas:
            at = ("topics", name, "config", key) if key in topic.config else ("config", key)
            problem = f"{key} {wanted} can never be met with {topic.replicas} replicas of {name!r}"
            raise node.refuse(problem, *at, allowed=f"1 to {topic.replicas}")


def _sessions_outlive_heartbeats(plan: Plan, node: Node) -> None:
    heartbeat = effective_number(plan.config, {}, "broker.heartbeat.interval.ms")
    session = effective_number(plan.config, {}, "broker.session.timeout.ms")
    if heartbeat >= session:
        key = "broker.session.timeout.ms" if "broker.session.timeout.ms" in plan.config else "broker.heartbeat.interval.ms"
        problem = f"a session of {session} ms ends before a heartbeat every {heartbeat} ms can renew it"
        raise node.refuse(problem, "config", key, allowed="heartbeat interval < session timeout")


# -- what clients do --------------------------------------------------------------------------------------------------


def _known_workload(plan: Plan, node: Node) -> None:
    workload = plan.workload
    one_of(node, ("workload", "name"), workload.name, list(WORKLOADS), what="workload")
    one_of(node, ("workload", "client"), workload.client, list(CLIENTS), what="client")
    if plan.cluster not in CLIENTS[workload.client]:
        able = ", ".join(name for name, worlds in CLIENTS.items() if plan.cluster in worlds)
        problem = f"the client {workload.client} cannot reach the cluster {plan.cluster}"
        raise node.refuse(problem, "workload", "client", allowed=able)
    if workload.client not in WORKLOADS[workload.name].clients:
        problem = f"the workload {workload.name} cannot be driven by {workload.client}"
        raise node.refuse(problem, "workload", "client", allowed=", ".join(WORKLOADS[workload.name].clients))


def _enough_processes(plan: Plan, node: Node) -> None:
    workload = plan.workload
    if workload.name == "consumer" and workload.processes < 2:
        problem = "one process cannot both append and consume"
        raise node.refuse(problem, "workload", "processes", allowed="2 or more, for the workload consumer")


def _acks_are_said_once(plan: Plan, node: Node) -> None:
    workload = plan.workload
    dealt = len(workload.acks_of_processes)
    if dealt and workload.acks != -1:
        raise node.refuse("acks are said twice", "workload", "acks_of_processes", allowed="acks, or acks_of_processes")
    if dealt > workload.processes:
        problem = f"{dealt} acks for {workload.processes} processes"
        raise node.refuse(problem, "workload", "acks_of_processes", allowed=f"up to {workload.processes}")


def _idempotent_producers_hear_answers(plan: Plan, node: Node) -> None:
    """Without answers one batch that was refused would have every later one refused, and nobody would know."""
    workload = plan.workload
    if workload.name != "idempotent":
        return
    said: list[tuple[tuple[Key, ...], int | None]] = [(("acks",), workload.acks)]
    said += [(("acks_of_processes", i), acks) for i, acks in enumerate(workload.acks_of_processes)]
    said += [(("phases", i, "acks"), phase.acks) for i, phase in enumerate(workload.phases)]
    for where, acks in said:
        if acks == 0:
            problem = "an idempotent producer must hear what became of its batches"
            raise node.refuse(problem, "workload", *where, allowed="all, 1")


def _the_swarm_has_something_to_draw(plan: Plan, node: Node) -> None:
    if plan.faults == "all":
        return
    if plan.schedule != "swarm" and not plan.drawn:
        raise node.refuse("only the swarm draws faults", "faults", allowed="all; or with schedule: swarm, a choice of them")
    if not plan.faults:
        raise node.refuse("there is nothing to draw", "faults", allowed="all, some of them, or schedule: none")
    for i, name in enumerate(plan.faults):
        one_of(node, ("faults", i), name, (*FAMILIES, *FAULTS), what="fault or family")


def _phases_end(plan: Plan, node: Node) -> None:
    for i, phase in enumerate(plan.workload.phases):
        if (phase.write is None) == (phase.until is None):
            found = "neither" if phase.write is None else "both"
            problem = f"a phase needs one end, found {found} of write and until"
            raise node.refuse(problem, "workload", "phases", i, allowed="write: 500, or until: {...}")
        if phase.until is not None:
            check_condition(plan, node, ("workload", "phases", i, "until"), phase.until, earlier=len(events_of(plan)))


SENTENCES: tuple[Callable[[Plan, Node], None], ...] = (
    _known_system_and_world,
    _mutants_are_ours,
    _known_abilities,
    _a_quorum_can_decide,
    _replicas_have_brokers,
    _known_settings,
    _min_isr_can_be_met,
    _sessions_outlive_heartbeats,
    _known_workload,
    _enough_processes,
    _acks_are_said_once,
    _idempotent_producers_hear_answers,
    _phases_end,
    _the_swarm_has_something_to_draw,
    events_make_sense,
)
