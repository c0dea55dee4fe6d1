"""replication/: the system under test, Kafka's ISR replication as a sans-IO core.

Lives here  rules, logs, partitions, brokers, controllers, the client, and behind them the wire
In          events: a request or an answer arrived, a timer fired, a disk write became durable
Out         requests, answers and disk writes through the injected `Env`, and nothing else
Imports     nothing of ours; it could be published alone. Its code arrives with the data plane.
"""
