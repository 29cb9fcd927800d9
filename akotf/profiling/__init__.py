"""Stage profiling: what a step of the workload asks, and what the devices of this machine give."""
