"""The command line ``ellzero``: one file per command, imported when the command runs. No mathematics, and no other room
imports it."""
