terraform {
  required_version = ">= 1.10.0"
}

module "local_gpu" {
  source = "../.."

  deployment     = "demo/workstation/here"
  gpus           = 0
  cpus           = 2
  node_directory = abspath("${path.root}/node")

  baseline = {
    hyperparameters = { learning_rate = jsonencode(0.001), steps = jsonencode(300) }
    limits          = { open_files = jsonencode(4096) }
  }
}

output "cpu_slots" {
  description = "Numbers of the leased CPU slots."
  value       = module.local_gpu.cpu_slots
}
