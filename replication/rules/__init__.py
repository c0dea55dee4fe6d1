"""replication/rules: the protocol as questions and answers, each a small pure function under its PROTOCOL number.

In     values: states, headers, images, settings
Out    a decision: an error, an offset, a yes or no
Keeps  nothing. A state machine asks `self.rules`, acts on the answer and decides nothing itself; a rule may ask another rule
       through
       `self`. A mutant is a subclass that answers one question differently: no rule and no state machine knows that it exists.
Read   life (4.4, 4.5), log (5.1 to 5.6, 5.24, 5.41 to 5.45), leadership (5.7 to 5.12), fetch (5.13 to 5.25), isr (5.27 to 5.39),
       produce (6), read
       (7), quorum (2); the active controller's: office (3.5, 3.12), registrations (4), isr_requests (5.35), elections (8),
       reassignments (9), topics (3.9, 3.15), configs (3.14, 8.12)
"""

from __future__ import annotations

from replication.rules.configs import ConfigRules
from replication.rules.elections import ElectionRules
from replication.rules.fetch import FetchRules
from replication.rules.isr import IsrRules
from replication.rules.isr_requests import IsrRequestRules
from replication.rules.leadership import LeadershipRules
from replication.rules.life import LifeRules
from replication.rules.office import OfficeRules
from replication.rules.produce import ProduceRules
from replication.rules.quorum import QuorumRules
from replication.rules.read import ReadRules
from replication.rules.reassignments import ReassignmentRules
from replication.rules.registrations import RegistrationRules
from replication.rules.topics import TopicRules


class ControllerRules(OfficeRules, RegistrationRules, ElectionRules, IsrRequestRules, ReassignmentRules, TopicRules, ConfigRules):
    """3, 4, 8, 9 What the active controller asks."""


class Rules(LifeRules, LeadershipRules, FetchRules, IsrRules, ProduceRules, ReadRules, QuorumRules, ControllerRules):
    """The right ones."""


__all__ = ["Rules"]
