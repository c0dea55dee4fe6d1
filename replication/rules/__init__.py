"""replication/rules: the protocol as questions and answers, each a small pure function under its PROTOCOL number.

In     values: states, headers, images, settings
Out    a decision: an error, an offset, a yes or no
Keeps  nothing. A state machine asks `self.rules`, acts on the answer and decides nothing itself; a rule may ask another rule
       through
       `self`. A mutant is a subclass that answers one question differently: no rule and no state machine knows that it exists.
Read   life (4.4, 4.5), log (5.1 to 5.6, 5.24, 5.41 to 5.45), leadership (5.7 to 5.12), fetch (5.13 to 5.25), isr (5.27 to 5.39),
       produce (6), read
       (7)
"""

from __future__ import annotations

from replication.rules.fetch import FetchRules
from replication.rules.isr import IsrRules
from replication.rules.leadership import LeadershipRules
from replication.rules.life import LifeRules
from replication.rules.produce import ProduceRules
from replication.rules.read import ReadRules


class Rules(LifeRules, LeadershipRules, FetchRules, IsrRules, ProduceRules, ReadRules):
    """The right ones."""


__all__ = ["Rules"]
