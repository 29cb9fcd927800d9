# A lease on devices of this machine: two deployments never train on the same GPU.
resource "akotf_local_pool" "this" {
  deployment = var.deployment
  gpus       = var.gpus
  cpus       = var.cpus
  registry   = var.registry
}

# The approved values. Reading them back shows drift; applying heals it. It does not depend on the pool, so that a
# heal which targets it changes nothing else.
resource "akotf_baseline" "this" {
  deployment      = var.deployment
  node_directory  = var.node_directory
  hyperparameters = var.baseline.hyperparameters
  environment     = var.baseline.environment
  limits          = var.baseline.limits
  libraries       = var.baseline.libraries
  gpu_settings    = var.baseline.gpu_settings
}
