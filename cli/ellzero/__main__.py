"""``python -m ellzero``, the same as the console script."""

from ellzero.cli.main import main

main()
