"""replication/: the system under test, Kafka's ISR replication as a sans-IO core.

Lives here  rules/ (the protocol, question by question), logs, partitions, brokers, the client; controllers and the wire follow
In          events: a request or an answer arrived, a timer fired, a disk write became durable
Out         requests, answers and disk writes through the injected `Env`, and nothing else
Imports     nothing of ours; it could be published alone
Read        rules/ first, then partition.py with leader.py and follower.py, then log.py with loading.py, then broker.py
"""
