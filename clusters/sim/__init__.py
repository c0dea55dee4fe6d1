"""clusters/sim: a whole cluster in one process, in virtual time, repeated exactly from a seed.

Lives here  kernel.py (time and order), latency.py, link.py, pipe.py, connection.py, network.py (messages and how they go astray),
            disk.py, damage.py, clock.py, env.py (what one life of a process sees), processes.py, hosts.py (formatting),
            tail.py (what is committed), ledger.py (what is still promised), invariants/ (what must be true inside the nodes),
            cluster.py (the handles)
In          a plan
Out         the handles of model/cluster; the same seed gives the same digest, on any machine and with any hash seed
Read        kernel.py first, then env.py, connection.py, cluster.py
"""
