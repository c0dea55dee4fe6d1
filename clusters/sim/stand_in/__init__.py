"""clusters/sim/stand_in: controllers that are played, until replication/ has its own.

Lives here  metadata.py (what the controllers have committed, and their decisions), controller.py (one controller's process),
            broker.py (a broker's life: registration, heartbeats, images), messages.py
Honest      brokers and controllers talk over the simulated network, so cuts, pauses and kills reach them. What is played is the
            quorum: the controllers share one memory that survives everything, the first of them that runs is active, and a commit
            takes no time. There are no eligible leader replicas and no reassignments
"""
