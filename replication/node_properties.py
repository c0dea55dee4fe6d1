"""replication/node_properties.py: who a node is, from its properties file, and what formatting it writes (2.42).

In     properties, by Kafka's names, as text
Out    `Identity`; the files of a formatted directory; a sentence where a node may not start
Keeps  a wiped disk is formatted again and has another directory id: its node is another voter (2.37)
Ours   the voter set stands in every node's properties with its directory ids, `controller.quorum.voters=4@<directory id>,...`,
       so that no snapshot (0,0) is needed to carry it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from replication import files
from replication.env import Disk, IoError
from replication.identity import id_of_text, id_text
from replication.lifecycle import Endpoint
from replication.quorum_messages import VoterKey

BROKER_ROLE, CONTROLLER_ROLE = "broker", "controller"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """One node of one cluster."""

    node_id: int
    cluster_id: str
    roles: tuple[str, ...]
    voters: tuple[VoterKey, ...]
    endpoint: Endpoint


def identity(properties: Mapping[str, str]) -> Identity:
    """Raises ValueError where the properties do not say who this is."""
    try:
        return Identity(
            node_id=int(properties["node.id"]),
            cluster_id=properties["cluster.id"],
            roles=tuple(role.strip() for role in properties["process.roles"].split(",")),
            voters=tuple(_voter(each) for each in properties["controller.quorum.voters"].split(",")),
            endpoint=_endpoint(properties),
        )
    except KeyError as missing:
        raise ValueError(f"a node needs the property {missing}") from None


def written_voters(voters: Sequence[VoterKey]) -> str:
    return ",".join(f"{voter.voter_id}@{id_text(voter.directory_id)}" for voter in voters)


def _voter(text: str) -> VoterKey:
    number, _, directory = text.strip().partition("@")
    return VoterKey(int(number), id_of_text(directory))


def _endpoint(properties: Mapping[str, str]) -> Endpoint:
    """The first of `advertised.listeners`, such as PLAINTEXT://127.0.0.1:9092."""
    first = properties.get("advertised.listeners", "").split(",")[0]
    host, _, port = first.partition("://")[2].rpartition(":")
    return Endpoint(host, int(port or 0), properties.get("broker.rack"))


def format_files(cluster_id: str, node_id: int, directory_id: bytes) -> dict[str, bytes]:
    """What formatting writes into an empty directory."""
    return {files.META_PROPERTIES: files.meta_properties_text(cluster_id, node_id, directory_id)}


def why_not_formatted(disk: Disk, identity: Identity) -> str | None:
    """2.42 None where the directory belongs to this node of this cluster. A disk that cannot be read is no case for this."""
    names = disk.list()
    if isinstance(names, IoError):
        return None
    data = disk.read(files.META_PROPERTIES) if files.META_PROPERTIES in names else b""
    if isinstance(data, IoError):
        return None
    found = files.read_meta_properties(data)
    if found is None:
        return "a log directory is not formatted"
    if found.get("cluster.id") != identity.cluster_id:
        return f"a log directory belongs to the cluster {found.get('cluster.id')}"
    if found.get("node.id") != str(identity.node_id):
        return f"a log directory belongs to node {found.get('node.id')}"
    return None
