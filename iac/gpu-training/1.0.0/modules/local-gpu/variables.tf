variable "deployment" {
  description = "Id of the deployment, ENVIRONMENT/SCOPE/PLACEMENT. Another id replaces both resources."
  type        = string
  nullable    = false

  validation {
    condition     = length(regexall("^[^/]+/[^/]+/[^/]+$", var.deployment)) == 1
    error_message = "deployment must be ENVIRONMENT/SCOPE/PLACEMENT."
  }
}

variable "gpus" {
  description = "How many whole GPUs of this machine the deployment leases; 0 trains on the CPU."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.gpus >= 0 && floor(var.gpus) == var.gpus
    error_message = "gpus must be a whole number, 0 or more."
  }
}

variable "cpus" {
  description = "How many CPU slots of this machine the deployment leases."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.cpus >= 1 && floor(var.cpus) == var.cpus
    error_message = "cpus must be a whole number, 1 or more."
  }
}

variable "registry" {
  description = "Folder of the machine-wide registry of leases; null takes the user's own."
  type        = string
  default     = null
}

variable "node_directory" {
  description = "Absolute folder through which the node, its agent and this module talk."
  type        = string
  nullable    = false

  validation {
    condition     = startswith(var.node_directory, "/")
    error_message = "node_directory must be an absolute path."
  }
}

variable "baseline" {
  description = "Approved values by name, each as its JSON text (0.001, \"abc\", true), so that types and bytes survive."
  type = object({
    hyperparameters = optional(map(string), {})
    environment     = optional(map(string), {})
    limits          = optional(map(string), {})
    libraries       = optional(map(string), {})
    gpu_settings    = optional(map(string), {})
  })
  nullable = false

  validation {
    condition     = alltrue([for group in values(var.baseline) : alltrue([for text in values(group) : can(jsondecode(text))])])
    error_message = "every value of baseline must be JSON text: write jsonencode(value)."
  }
}
