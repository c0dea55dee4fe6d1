"""replication/quorum: the metadata log and who may write to it: Raft, driven by Fetch (PROTOCOL section 2).

In     requests of other members, timers, disk writes; batches of metadata records from the active controller
Out    committed decisions to the state machine above (machine.py), in order and exactly once; who leads
Keeps  what was promised to another member is durable before it is said: votes, epochs, appended records
Not    what the records mean (folding.py), who decides (controller/)
"""
