"""The root command, which finds the other parts' commands by their entry points."""
