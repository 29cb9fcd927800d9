# Every value comes from akotf.auto.tfvars.json, which Terraform takes literally.

variable "deployment" {
  description = "Id of the deployment, ENVIRONMENT/SCOPE/PLACEMENT."
  type        = string
}

variable "labels" {
  description = "Labels of the environment. A local machine has nothing to tag; the roots of clouds put them on resources."
  type        = map(string)
}

variable "pool" {
  description = "What the deployment leases of this machine."
  type = object({
    gpus = number
    cpus = number
  })
}

variable "node_directory" {
  description = "Absolute folder through which the node, its agent and Terraform talk."
  type        = string
}

variable "baseline" {
  description = "Approved values by name, each as its JSON text."
  type = object({
    hyperparameters = map(string)
    environment     = map(string)
    limits          = map(string)
    libraries       = map(string)
    gpu_settings    = map(string)
  })
}

variable "digests" {
  description = "What was approved: digests of the baseline, the selection and the approval."
  type = object({
    baseline  = string
    selection = string
    approval  = string
  })
}
