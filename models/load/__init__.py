"""Bundles: folders that hold a network, its vocabulary and its settings."""
