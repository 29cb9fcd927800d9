"""A selection as an in-memory Terraform root: the template's static HCL plus literal values. Pure."""
