"""model/: the words every other package shares, as data and as interfaces.

Lives here  plan, vocabulary, config, schedule; operation, value, outcome, history; cluster; verdict; store
In          YAML from people, rows from the recorder, tables from disk
Out         typed structs, Arrow tables, and one refusal with a place and a reason when the input is wrong
Imports     nothing of ours. Whoever needs two packages to agree on something puts the word here.
"""
