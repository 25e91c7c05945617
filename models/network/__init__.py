"""Networks: their layers, caches and heads."""
