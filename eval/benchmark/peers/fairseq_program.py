"""fairseq's side of the benchmark: :mod:`gec.models.convert.fairseq_peer`, or with forced lengths.

Runs in fairseq's environment. With ``--forced`` every output has exactly ``max_length`` tokens,
EOS included: what the weights say does not matter when a shape is timed.
"""

from __future__ import annotations

import sys
from typing import Any

from gec.models.convert import fairseq_peer


class Forced(fairseq_peer.Peer):
    """Outputs as long as a job allows."""

    def _generator(self, beam: int, max_length: int) -> Any:
        generator = super()._generator(beam, max_length)
        generator.min_len = generator.max_len_b
        return generator


def main() -> int:
    if "--forced" in sys.argv:
        sys.argv.remove("--forced")
        fairseq_peer.Peer = Forced  # type: ignore[misc]
    return fairseq_peer.main()


if __name__ == "__main__":
    sys.exit(main())
