"""The Terraform provider `terraform.local/akotf/akotf`: baselines and leases on devices as resources."""
