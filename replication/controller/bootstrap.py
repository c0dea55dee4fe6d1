"""replication/controller/bootstrap.py: the first records of a cluster (3.12).

In     the image that a new active controller finds
Out    feature levels, and with ELR on the min ISR that holds for everybody; nothing where the cluster has begun already
Keeps  a batch is appended whole or not at all, so there is never a half-finished beginning to close
"""

from __future__ import annotations

from replication.controller.draft import Draft
from replication.controller.settings import ControllerSettings
from replication.image import BROKER, CLUSTER_WIDE, ELR_FEATURE
from replication.records import ConfigRecord, FeatureLevel
from replication.rules import Rules

METADATA_VERSION = "metadata.version"
_LEVEL = 27


def bootstrap(draft: Draft, settings: ControllerSettings, rules: Rules) -> None:
    if METADATA_VERSION in draft.image.features:
        return
    draft.add(FeatureLevel(METADATA_VERSION, _LEVEL))
    draft.add(FeatureLevel(ELR_FEATURE, settings.eligible_leader_replicas_version))
    for name, value in rules.first_settings(settings.min_insync_replicas, draft.image.uses_elr).items():
        draft.add(ConfigRecord(BROKER, CLUSTER_WIDE, name, value))
