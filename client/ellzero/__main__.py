"""``python -m ellzero``, the same as the console script."""

from ellzero.client.cli import main

main()
