"""workloads/: what clients do: operations, drawn from a seed and submitted by processes.

Lives here  log, idempotent (and lane: one producer's batches to one partition), consumer; catalogue (name to workload)
            final_read (everything once more, after healing)
            ticks (when a process acts), phases (when it may append), writing and looking (what it appends and reads), partitions,
            answers
In          a Stage of model/workload: plan, time, processes, streams of random numbers, conditions
Out         operations to submit; who stamps and records them is the harness's recorder
Imports     model
"""
