"""The web editor and its APIs."""
