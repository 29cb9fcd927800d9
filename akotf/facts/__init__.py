"""What a node really has: files, /proc, cgroups and NVML. Standard library only, Python >= 3.9."""
