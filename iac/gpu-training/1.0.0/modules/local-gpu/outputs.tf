output "gpu_indices" {
  description = "Indices of the leased GPUs; empty on a CPU."
  value       = akotf_local_pool.this.gpu_indices
}

output "cpu_slots" {
  description = "Numbers of the leased CPU slots."
  value       = akotf_local_pool.this.cpu_slots
}

output "node_directory" {
  description = "Folder through which the node, its agent and this module talk."
  value       = akotf_baseline.this.node_directory
}

output "baseline_id" {
  description = "Id of the baseline, equal to the deployment."
  value       = akotf_baseline.this.id
}
