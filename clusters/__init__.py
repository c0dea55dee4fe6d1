"""clusters/: where nodes run (sim, local, docker, ssh), what they run, and how clients reach them.

In       a plan
Out      the handles of model/cluster: time, links, processes, clocks, disks, admin, clients, observations
Imports  model, replication. The first world to arrive is the simulator.
"""
