"""workloads/: what clients do: operations, drawn from a seed and submitted by processes.

Lives here  log; phases (when it may append); final_read (everything once more, after healing); catalogue (name to workload)
In          a Stage of model/workload: plan, time, processes, streams of random numbers, conditions
Out         operations to submit; who stamps and records them is the harness's recorder
Imports     model
"""
