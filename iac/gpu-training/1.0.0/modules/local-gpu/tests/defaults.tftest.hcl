# Without a machine: the provider is mocked, so only the module's own logic is judged.
mock_provider "akotf" {
  mock_resource "akotf_local_pool" {
    defaults = {
      id          = "demo/workstation/here"
      gpu_indices = [0]
      cpu_slots   = [0, 1]
    }
  }
  mock_resource "akotf_baseline" {
    defaults = {
      id          = "demo/workstation/here"
      differences = []
    }
  }
}

variables {
  deployment     = "demo/workstation/here"
  gpus           = 1
  cpus           = 2
  node_directory = "/srv/akotf/node"
  baseline = {
    hyperparameters = { learning_rate = "0.001" }
  }
}

run "passes_values_through" {
  command = apply

  assert {
    condition     = akotf_baseline.this.hyperparameters == tomap({ learning_rate = "0.001" })
    error_message = "hyperparameters must reach the baseline as they were given"
  }
  assert {
    condition     = akotf_baseline.this.environment != null && length(akotf_baseline.this.environment) == 0
    error_message = "a group that is not given must be empty, never null"
  }
  assert {
    condition     = akotf_local_pool.this.gpus == 1 && akotf_local_pool.this.cpus == 2
    error_message = "the pool must lease what was asked"
  }
  assert {
    condition     = output.gpu_indices == tolist([0]) && output.baseline_id == "demo/workstation/here"
    error_message = "outputs must come from the resources"
  }
}

run "refuses_half_a_gpu" {
  command = plan

  variables {
    gpus = 0.5
  }
  expect_failures = [var.gpus]
}

run "refuses_no_cpu" {
  command = plan

  variables {
    cpus = 0
  }
  expect_failures = [var.cpus]
}

run "refuses_a_relative_node_directory" {
  command = plan

  variables {
    node_directory = "node"
  }
  expect_failures = [var.node_directory]
}

run "refuses_a_deployment_without_placement" {
  command = plan

  variables {
    deployment = "demo/workstation"
  }
  expect_failures = [var.deployment]
}

run "refuses_values_that_are_not_json" {
  command = plan

  variables {
    baseline = {
      environment = { MODE = "fast" }
    }
  }
  expect_failures = [var.baseline]
}
