"""harness/: the command line, and behind it the run loop, the recorder and campaigns.

Lives here  main (the door: exit codes, refusals, crashes), cli (one function per command), doctor, demo
In          what a person typed
Out         runs in a store, words on the terminal, and an exit code that means one thing
Imports     everything. It is the only package that knows all the others.
"""
