"""harness/shrink/: the smallest plan that still fails as a stored run did.

Lives here  the search (search.py and the passes that it is made of: pure), trials of candidates (rounds.py, trial.py), the plan
            for people (written.py), the command (command.py)
In          a run in a store
Out         a plan file, and a run in the store that replays
"""
