"""Train our block drafters in fairseq: ``--user-dir`` this folder.

Registers the architecture ``gec_block`` (:class:`gec.models.network.nat.NatTransformer`), the
criterion ``glancing`` (Qian et al. 2021, section 3.2; Ge et al. 2022, section 4.1) and the task
``gec``, which is ``translation`` with sources padded on the right, as our networks read them.
fairseq imports the folder by its path, so everything here is imported by its full name.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gec.models.convert.fairseq_compat import load_fairseq
from gec.models.convert.fairseq_settings import PLUGIN as ARCHITECTURE
from gec.models.load.fairseq_symbols import EOS, PAD
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import TransformerConfig

load_fairseq()

from fairseq import utils  # noqa: E402
from fairseq.criterions import FairseqCriterion, register_criterion  # noqa: E402
from fairseq.logging import metrics  # noqa: E402
from fairseq.models import (  # noqa: E402
    BaseFairseqModel,
    register_model,
    register_model_architecture,
)
from fairseq.tasks import register_task  # noqa: E402
from fairseq.tasks.translation import TranslationConfig, TranslationTask  # noqa: E402

DEFAULTS: dict[str, Any] = {
    "width": 512,
    "heads": 8,
    "ffn_width": 2048,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "max_positions": 512,
    "block": 25,
    "dropout": 0.1,
    "causal_prefix": False,
}
"""Transformer-base, blocks of 25 tokens (Ge et al. 2022)."""


@register_model(ARCHITECTURE)
class BlockDrafter(BaseFairseqModel):  # type: ignore[misc]
    """A NAT drafter in fairseq's clothes; the weights lie under ``network.``."""

    def __init__(self, network: NatTransformer) -> None:
        super().__init__()
        self.network = network
        self.updates = 0

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        for name, default in DEFAULTS.items():
            option = "--drafter-" + name.replace("_", "-")
            if isinstance(default, bool):
                parser.add_argument(option, action="store_true")
            else:
                parser.add_argument(option, type=type(default), metavar="N")

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> BlockDrafter:
        drafter_architecture(args)
        dictionary = task.target_dictionary
        if task.source_dictionary != dictionary:
            raise ValueError(f"{ARCHITECTURE} needs one dictionary: preprocess --joined-dictionary")
        options = {name: getattr(args, f"drafter_{name}") for name in DEFAULTS}
        nat = NatConfig(block=options.pop("block"), causal_prefix=options.pop("causal_prefix"))
        config = TransformerConfig(
            vocab_size=len(dictionary),
            positions="learned",
            activation="gelu",
            pad_id=PAD,
            bos_id=EOS,
            eos_id=EOS,
            **options,
        )
        return cls(NatTransformer(config, nat))

    def forward(
        self, source: Tensor, target: Tensor, prefixes: Tensor, k: int, glanced: float
    ) -> tuple[Tensor, Tensor]:
        """Return logits [N, V] and the tokens [N] that they predict."""
        logits, truth, _ = self.network(source, target, prefixes, k, glanced)
        return logits, truth

    def set_num_updates(self, num_updates: int) -> None:
        super().set_num_updates(num_updates)
        self.updates = num_updates

    def max_positions(self) -> tuple[int, int]:
        """The longest source, and the longest target that leaves room for a block."""
        longest = self.network.config.max_positions
        return longest, longest - self.network.nat.block


@register_model_architecture(ARCHITECTURE, ARCHITECTURE)  # type: ignore[untyped-decorator]
def drafter_architecture(args: Namespace) -> None:
    """Fill in what the command line left open."""
    for name, default in DEFAULTS.items():
        if getattr(args, f"drafter_{name}", None) is None:
            setattr(args, f"drafter_{name}", default)


@register_criterion("glancing")
class Glancing(FairseqCriterion):  # type: ignore[misc]
    """The loss of one block a sentence, behind a prefix of random length.

    Of as many tokens as the first look got wrong a share is shown; it falls from ``--glance-first``
    to ``--glance-last`` in ``--glance-updates`` updates.
    """

    def __init__(
        self,
        task: Any,
        label_smoothing: float,
        glance_first: float,
        glance_last: float,
        glance_updates: int,
    ) -> None:
        super().__init__(task)
        self.label_smoothing = label_smoothing
        self.glance_first, self.glance_last = glance_first, glance_last
        self.glance_updates = glance_updates

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--label-smoothing", type=float, default=0.0, metavar="D")
        add("--glance-first", type=float, default=0.5, metavar="P", help="share shown at first")
        add("--glance-last", type=float, default=0.3, metavar="P", help="share shown at last")
        add("--glance-updates", type=int, default=300_000, metavar="N", help="updates in between")

    def forward(
        self, model: Any, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        target = sample["target"]  # [B, L] with EOS
        lengths = (target != PAD).sum(1)
        if model.training:
            shown = self.share(model.updates)
            # with BOS; at least the last token is left to predict
            prefixes = (torch.rand(lengths.shape, device=lengths.device) * lengths).long() + 1
        else:
            shown, prefixes = 0.0, torch.ones_like(lengths)
        k = model.network.nat.block
        logits, truth = model(sample["net_input"]["src_tokens"], target, prefixes, k, shown)
        loss = F.cross_entropy(
            logits.float(), truth, label_smoothing=self.label_smoothing, reduction="sum"
        )
        count = max(1, len(truth))  # everything may have been shown
        right = int((logits.argmax(-1) == truth).sum())
        logged = {
            "loss": loss.data,
            "right": right,
            "ntokens": sample["ntokens"],
            "nsentences": len(target),
            "sample_size": count,
        }
        return loss, count, logged

    def share(self, updates: int) -> float:
        """Return the share of wrong tokens that are shown after so many updates."""
        done = min(1.0, updates / max(1, self.glance_updates))
        return self.glance_first + (self.glance_last - self.glance_first) * done

    @staticmethod
    def reduce_metrics(logging_outputs: Sequence[dict[str, Any]]) -> None:
        count = sum(utils.item(log["sample_size"]) for log in logging_outputs)
        for name in ("loss", "right"):
            total = sum(utils.item(log[name]) for log in logging_outputs)
            label = "accuracy" if name == "right" else name
            metrics.log_scalar(label, total / max(1, count), count, round=3)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True


# omegaconf 2.0 wants a field's type itself, not its name, to which annotations are deferred here
CorrectionConfig = make_dataclass(
    "CorrectionConfig", [("left_pad_source", bool, False)], bases=(TranslationConfig,)
)


@register_task("gec", dataclass=CorrectionConfig)
class CorrectionTask(TranslationTask):  # type: ignore[misc]
    """``translation`` with sources padded on the right."""
