# One machine that is already here: a lease on its devices and the baseline of what trains on them.
module "local_gpu" {
  source = "./modules/local-gpu"

  deployment     = var.deployment
  gpus           = var.pool.gpus
  cpus           = var.pool.cpus
  node_directory = var.node_directory
  baseline       = var.baseline
}

# What the state says was approved. It is written last, so the digests never claim more than was applied.
resource "terraform_data" "akotf" {
  input = var.digests

  depends_on = [module.local_gpu]
}
