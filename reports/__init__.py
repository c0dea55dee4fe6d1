"""reports/: what a person reads in the morning.

In       the tables that the analysis wrote, and single runs of the store
Out      self-contained HTML pages
Imports  model, checkers, spark_analysis (its tables; it never starts Spark). Pages arrive with the reports.
"""
