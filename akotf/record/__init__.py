"""What a run leaves for others to check: evidence, provenance, prediction error, and the contract it was to fulfil."""
