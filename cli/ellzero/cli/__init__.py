"""The command line ``ellzero``: one file a command, imported when it is asked for. No mathematics, and no other room
imports it."""
