output "gpu_indices" {
  description = "Indices of the leased GPUs; empty on a CPU."
  value       = module.local_gpu.gpu_indices
}

output "cpu_slots" {
  description = "Numbers of the leased CPU slots."
  value       = module.local_gpu.cpu_slots
}

output "node_directory" {
  description = "Folder through which the node, its agent and Terraform talk."
  value       = module.local_gpu.node_directory
}

output "baseline_id" {
  description = "Id of the baseline, equal to the deployment."
  value       = module.local_gpu.baseline_id
}
