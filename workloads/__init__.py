"""workloads/: what clients do. Generators of operations, written against `Client` of model/cluster.

In       the workload section of a plan, a seeded source of randomness, completions
Out      operations to submit; who stamps and records them is the harness's recorder
Imports  model. Workloads arrive with the simulator.
"""
