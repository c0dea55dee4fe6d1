"""clusters/clients/: how operations reach a cluster and come back as facts.

Lives here  raw (our sans-IO client: exact outcomes, every world)
In          operations of model/operation
Out         answers: facts, never outcomes (model/outcome.py decides)
"""
