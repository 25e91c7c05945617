"""Synthetic errors: clean English sentences corrupted in the way that learners write.

>>> lexicon = Lexicon.load(lists_dir, inflections)  # doctest: +SKIP
>>> noiser = Noiser(lexicon, DEFAULT_RATES, clean_share=0.2, mean_errors=0.7)  # doctest: +SKIP
>>> noiser.corrupt("He goes to school .".split(), random.Random(0))  # doctest: +SKIP
['He', 'go', 'to', 'school', '.']
"""

from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.noiser import DEFAULT_RATES, ERROR_TYPES, Noiser

__all__ = ["DEFAULT_RATES", "ERROR_TYPES", "Lexicon", "Noiser"]
