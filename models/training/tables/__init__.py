"""Tables that are made of corpora: inflections, misspellings, n-grams."""
