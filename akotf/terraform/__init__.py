"""Terraform or OpenTofu as a subprocess: own process group, scrubbed environment, `-json` line by line."""
