"""Evaluation: scorers equal to the field's reference tools, and benchmarks."""
