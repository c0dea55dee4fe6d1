"""checkers/: pure functions from a history to what it proves.

In       Arrow tables of one run: history, events, changes, registrations
Out      one `CheckerResult` per checker, merged under the promises into the one `Verdict`
Imports  model. No file, clock or random number is touched here. Checkers arrive with the verdict.
"""
