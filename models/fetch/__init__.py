"""Models that are fetched: pretrained networks, updates, wheels."""
