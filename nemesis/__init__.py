"""nemesis/: what goes wrong. One small file per fault, and the schedules that fire them.

In       a schedule (model/schedule) and the handles of a cluster (model/cluster)
Out      for each fault what it was aimed at, whether it bit, and the damage it did
Imports  model. A fault never asks who leads: its targets arrive resolved. Faults arrive with the simulator.
"""
