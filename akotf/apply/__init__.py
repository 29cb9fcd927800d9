"""Writes a rendered root and lets Terraform do exactly what was approved: deploy, heal, destroy."""
