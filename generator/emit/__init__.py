"""From a KernelPlan and its spec to files."""
