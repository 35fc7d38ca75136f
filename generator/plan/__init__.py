"""From a resolved program to a KernelPlan."""
