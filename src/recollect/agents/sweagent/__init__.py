"""SWE-agent: the trajectories of its runs."""
