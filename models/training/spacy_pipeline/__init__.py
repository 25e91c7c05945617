"""The spaCy pipeline that ERRANT stands on, trained on treebanks."""
