# Written by akotf. The state lies beside the root, so that the root can be rendered again at any time.
terraform {
  backend "local" {
    path = "/srv/demo/.akotf/state/workstation/here/terraform.tfstate"
  }
}
