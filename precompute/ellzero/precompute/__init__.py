"""From a grid to a table: plans, executors, and jobs on a cluster."""
