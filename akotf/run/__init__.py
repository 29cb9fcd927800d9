"""Submit to the backend, follow, continue from a checkpoint: attempts of a run and where they are remembered."""
