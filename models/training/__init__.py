"""Training: recipes, data, the loop, its objectives and its stages."""
