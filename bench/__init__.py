"""bench: the figures that this machine reaches, and their ratio to the last ones (`make bench`). Nothing is asserted.

In   made-up histories (made_up.py): the same rows every time
Out  one line per figure; bench/last.json, to compare the next ones with
Not  whether anything is right (tests/)
"""
