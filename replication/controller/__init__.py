"""replication/controller: the active controller: who is alive, who leads, who is in sync (PROTOCOL sections 3, 4, 8, 9).

In     requests of brokers and operators; committed images; winning and losing office
Out    decisions, appended to the quorum's log; answers, once what they tell is committed (3.5)
Keeps  a speculative image of what it has decided and not yet seen committed; it is thrown away with the office
Not    Raft (quorum/), what a record does (folding.py), what a decision should be (rules/)
"""
