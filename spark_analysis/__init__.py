"""spark_analysis/: the same pure functions over thousands of runs.

Lives here  finding a Java that Spark can use, the session, jobs that send paths out and get rows back
In          a store
Out         one row per run, and tables made of those rows
Imports     model, checkers. No verdict is thought of here.
"""
