"""nemesis/faults/: one file per fault. Its docstring is its contract: what it does, how it heals, when it bites, what it costs.

In   handles of a cluster, targets that are already resolved, typed arguments (model/vocabulary.py names them)
Out  one constant per file, the `Fault`; nemesis/catalogue.py has them all by name
"""
