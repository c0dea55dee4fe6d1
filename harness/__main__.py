"""`python -m harness` is `tidemark`."""

from harness.main import main

main()
