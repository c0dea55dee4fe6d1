"""nemesis/: what goes wrong. One small file per fault, and the schedules that fire them.

In       a schedule (model/schedule) and the handles of a cluster (model/cluster)
Out      for each fault what it was aimed at, whether it bit, and the damage it did
Rooms    faults/: one file each; catalogue.py: all of them by name; nemesis.py fires a schedule, course.py is one event's way
         through it; targets.py, shapes.py and aim.py say whom it hits; conditions.py when; swarm.py draws whole schedules
Imports  model. A fault never asks who leads: its targets arrive resolved.
"""
