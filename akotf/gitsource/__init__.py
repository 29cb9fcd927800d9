"""Templates from git repositories: fetched at one commit, checked, and kept for use offline."""
