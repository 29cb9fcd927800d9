terraform {
  required_version = ">= 1.10.0"

  required_providers {
    akotf = {
      source  = "terraform.local/akotf/akotf"
      version = "0.1.0"
    }
  }
}
