"""clusters/sim/invariants/quorum.py: the controllers' quorum elects one leader per epoch and forgets nothing (18 to 24)."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.beliefs import called
from clusters.sim.invariants.catalogue import HW, LEADER_HW, NEW, STANDING, invariant
from clusters.sim.invariants.member import Member, QuorumTruth, Voter, persisted
from clusters.sim.invariants.stored import batches
from clusters.sim.invariants.world import World
from replication.identity import NO_LEADER
from replication.quorum.election_state import Role, read_election_state
from replication.quorum.transitions import STATE_PATH
from replication.quorum_messages import VoteRequest, VoteResponse


@invariant(18, touching=STANDING, of="member")
def election_safety(world: QuorumTruth, at: Member) -> Iterator[str]:
    """A quorum epoch has one leader, whoever is asked.

    Why     two leaders would commit two histories (2.15)
    Catches B40 B41 B46a
    """
    if at.leader_id is None:
        return
    first, told_by = world.leaders.setdefault(at.epoch, (at.leader_id, at.node))
    if first != at.leader_id:
        yield f"n{at.node} believes that n{at.leader_id} leads quorum epoch {at.epoch}; n{told_by} knew n{first} as its leader"


@invariant(19, touching=STANDING, of="member")
def monotonic_epoch(world: QuorumTruth, at: Member) -> Iterator[str]:
    """No voter goes back to an older epoch, not by a restart either: what counts in memory is on the disk.

    Why     a member that forgets an epoch forgets what it promised in it (2.2)
    Except  a disk that was wiped makes another voter (2.37)
    Catches B40
    """
    highest = world.epochs.get(at.voter, 0)
    if at.epoch < highest:
        yield f"n{at.node} is in quorum epoch {at.epoch}, after having been in {highest}"
    world.epochs[at.voter] = max(highest, at.epoch)
    data = persisted(at, STATE_PATH)
    state = None if data is None else read_election_state(data)
    if state is None:
        if at.epoch > 0:
            yield f"n{at.node} is in quorum epoch {at.epoch}, and its disk knows of none"
    elif state.epoch != at.epoch or state.voted != at.voted:
        yield (
            f"n{at.node} is in quorum epoch {at.epoch} with a vote for {_name(at.voted)}; "
            f"its disk says epoch {state.epoch} and {_name(state.voted)}"
        )


@invariant(20, touching=STANDING, of="member")
def one_vote(world: QuorumTruth, at: Member) -> Iterator[str]:
    """A voter votes once in an epoch, whatever becomes of it meanwhile.

    Why     two majorities have a voter in common, and it must not have helped both (2.3, 2.13)
    Catches B40 B41
    """
    if at.voted is not None:
        yield from _second_vote(world, at.voter, at.epoch, (at.voted.voter_id, at.voted.directory_id))


@invariant(20, at=VoteResponse, of="answer")
def one_granted_vote(world: QuorumTruth, at: Member, asked: VoteRequest, answer: VoteResponse) -> Iterator[str]:
    """The same, for votes as others come to know them.

    Except  a pre-vote binds nobody (2.14)
    """
    if answer.vote_granted and not asked.pre_vote:
        candidate = asked.replica_id, asked.replica_directory_id
        yield from _second_vote(world, at.voter, asked.replica_epoch, candidate)


def _second_vote(world: QuorumTruth, voter: Voter, epoch: int, candidate: Voter) -> Iterator[str]:
    first = world.votes.setdefault((voter, epoch), candidate)
    if first != candidate:
        yield f"n{voter[0]} votes for n{candidate[0]} in quorum epoch {epoch}, and has voted for n{first[0]}"


@invariant(21, touching=LEADER_HW, of="member")
def monotonic_high_watermark(world: QuorumTruth, at: Member) -> Iterator[str]:
    """What is committed only grows, from leader to leader too.

    Why     everybody acts on what was committed (2.27)
    Except  a leader that has committed nothing yet says nothing; one that was deposed may not know it
    Catches B43 B44
    """
    if at.hw < at.was_hw and at.was_role is Role.LEADER:
        yield f"n{at.node} leads quorum epoch {at.epoch} and moved its HW back from {at.was_hw} to {at.hw}"
    if at.epoch >= world.highest_led and at.hw < world.committed_end:
        yield f"n{at.node} leads quorum epoch {at.epoch} with HW {at.hw}; n{world.committed_by} committed {world.committed_end}"


@invariant(22, touching=LEADER_HW, of="member")
def majority_reached_high_watermark(world: QuorumTruth, at: Member) -> Iterator[str]:
    """What a leader calls committed is on the disks of a majority.

    Why     any majority that elects has then one voter who knows it, power cuts or not (2.26, 2.38)
    Catches B44 B56
    """
    ends = {node: world.durable.get(node, 0) for node in world.voters}
    if at.hw > at.was_hw and sum(end >= at.hw for end in ends.values()) < world.majority:
        told = ", ".join(f"n{node} to {end}" for node, end in ends.items())
        yield f"n{at.node} leads quorum epoch {at.epoch} and committed up to {at.hw}; durable are {told}"


@invariant(23, touching=STANDING, of="member")
def leader_has_what_was_committed(world: QuorumTruth, at: Member) -> Iterator[str]:
    """Whoever leads a new epoch holds everything that was committed in the ones before.

    Why     followers make their logs like the leader's (2.12)
    Catches B42 B49 B56
    """
    if at.role is not Role.LEADER or at.epoch < world.highest_led:
        return
    if at.leo < world.committed_end:
        yield (
            f"n{at.node} leads quorum epoch {at.epoch} with LEO {at.leo}; "
            f"n{world.committed_by} had committed {world.committed_end}"
        )
    for batch in batches(at.log, max(at.compared, at.log_start), world.committed_end):
        known = world.agreed.get(batch[0])
        if known is not None and known[0] != batch:
            yield (
                f"n{at.node} leads quorum epoch {at.epoch} with a batch of epoch {batch[2]} at offset {batch[0]}, "
                f"where one of epoch {known[0][2]} was committed (n{known[1]})"
            )
            return


@invariant(24, touching=HW | NEW, of="member")
def committed_metadata_matches(world: QuorumTruth, at: Member) -> Iterator[str]:
    """Two members that both have an offset below their high watermarks have the same record there.

    Why     every node makes its state of them (2.35)
    Catches B43 B45
    """
    start = max(at.compared, at.log_start)
    for batch in batches(at.log, start, min(at.hw, at.leo)):
        known = world.agree(batch, at.node)
        if known[0] != batch:
            yield (
                f"n{at.node} has HW {at.hw} and at offset {batch[0]} a batch of quorum epoch {batch[2]} (CRC {batch[3]:08x}), "
                f"where n{known[1]} had one of epoch {known[0][2]} (CRC {known[0][3]:08x}) below its own HW"
            )
        at.compared = batch[1]


@invariant(25, touching=STANDING, of="member")
def valid_roles_and_states(world: QuorumTruth, at: Member) -> Iterator[str]:
    """A role fits what its holder knows.

    Why     each role does only what is safe for it (2.5)
    """
    if at.role is Role.LEADER and at.leader_id != at.node:
        yield f"n{at.node} leads quorum epoch {at.epoch} and believes that n{at.leader_id} does"
    if at.role is Role.UNATTACHED and at.leader_id is not None:
        yield f"n{at.node} is unattached in quorum epoch {at.epoch} and knows its leader n{at.leader_id}"
    if at.role is Role.CANDIDATE and (at.voted is None or at.voted.voter_id != at.node):
        yield f"n{at.node} is a candidate in quorum epoch {at.epoch} and votes for {_name(at.voted)}"
    if not at.quorum.is_voter and at.role not in (Role.UNATTACHED, Role.FOLLOWER):
        yield f"n{at.node} is no voter and is {at.role.value} in quorum epoch {at.epoch}"


def _name(voted: object) -> str:
    node = getattr(voted, "voter_id", NO_LEADER)
    return "nobody" if node == NO_LEADER else f"n{node}"


def of_quorum(world: World) -> tuple[str, ...]:
    """What each member believes, in words."""
    truth = world.quorum
    lines = [f"committed up to {truth.committed_end} by {called(truth.committed_by)}; voters {truth.voters}"]
    for node, member in sorted(truth.members.items()):
        life = "" if member.life.env.alive else "down; it was "
        lines.append(
            f"n{node}: {life}{member.role.value} in quorum epoch {member.epoch}, leader {called(member.leader_id)}, "
            f"vote for {_name(member.voted)}, log {member.log_start} to {member.leo} (durable to {truth.durable.get(node, 0)}), "
            f"HW {member.hw}"
        )
    return tuple(lines)
