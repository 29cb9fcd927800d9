"""What people and programs read: findings and verdicts in every format, candidates, and Terraform's changes."""
