"""tests/golden: what ten seeds did, committed. A seed that does something else breaks every stored run's replay."""
