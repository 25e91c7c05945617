"""``gec train RECIPE --data-dir DIR --out RUN`` for recipes that generate: all stages in order.

    RUN/data       the packed corpora
    RUN/teacher    a model of the references, and its own bundle
    RUN/distilled.tsv   its outputs for the training sources
    RUN/verifier   a model of those, from the teacher's weights
    RUN/drafter    the NAT drafter, from the verifier's weights
    RUN/heads      extra heads on the verifier
    RUN/small/NAME      smaller models that draft token by token
    RUN/calibration.tsv the verifier's greedy outputs
    RUN/align/NAME      smaller models tuned on those
    RUN/bundle     what ``gec generate`` reads, grown with every stage

A finished stage is not repeated, and one that was stopped goes on where it was saved.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from gec.errors import ConfigError, ModelError
from gec.models.load import generation
from gec.models.load.bundle import load
from gec.models.load.device import device_of
from gec.models.load.places import find
from gec.models.network.early_exit import EarlyExitTrainee
from gec.models.network.heads import Heads
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.models.training.checkpoint import Progress, mean_weights
from gec.models.training.distill import distill
from gec.models.training.exits import EarlyExit
from gec.models.training.generation_recipe import GenerationRecipe, load_generation_recipe
from gec.models.training.loop import Objective, fit
from gec.models.training.objectives import HeadsObjective, HeadsTrainee, Nat, Seq2Seq
from gec.models.training.parallel_corpora import encoded, packed_pairs, prepare_generation
from gec.models.training.recipe import parse_duration
from gec.models.training.streams import Pair
from gec.models.training.verifier_states import VerifierStates
from gec.text.vocabulary import CorrectorVocabulary, OwnVocabulary, load_vocabulary

STAGES = ("prepare", "teacher", "distill", "verifier", "drafter", "heads", "small", "align")


@dataclass
class Run:
    """A recipe and the folder of its run.

    Args:
        share: what of the recipe's training times is used.
    """

    recipe: GenerationRecipe
    out: Path
    data_dir: Path | None
    seed: int = 0
    workers: int = 1
    share: float = 1.0

    # ------------------------------------------------------------------------------- stages

    def stages(self) -> list[str]:
        """Return the stages of the recipe, in order."""
        distils = {"teacher", "distill"} if "teacher" in self.recipe.budget else set()
        wanted = {"prepare", *distils, *self.recipe.budget}
        return [stage for stage in STAGES if stage in wanted]

    def run(self, stage: str) -> None:
        """Do what is left of one stage; those before it must be done."""
        if stage not in self.stages():
            raise ConfigError(
                f"recipe {self.recipe.name} has no part {stage!r}; it has "
                f"{', '.join(self.stages())}"
            )
        print(f"== {stage}", file=sys.stderr, flush=True)
        getattr(self, f"_{stage}")()

    def _prepare(self) -> None:
        if (self.out / "data" / "provenance.json").exists():
            return
        if self.data_dir is None:
            raise ConfigError(
                f"{self.out / 'data'} is not there yet: name the corpora (--data-dir)"
            )
        prepare_generation(self.recipe, self.data_dir, self.out / "data")

    def _teacher(self) -> None:
        self._fit("teacher", lambda: self._seq2seq("teacher", self._pairs("data/train.tsv"), None))
        generation.save(self._of("teacher"), self.out / "teacher" / "bundle")

    def _distill(self) -> None:
        sources = [source for source, _ in packed_pairs(self.out / "data" / "train.tsv")]
        settings = self.recipe.distill
        distill(
            self._of("teacher"),
            sources[: settings.sources],
            self.out / "distilled.tsv",
            beam_size=settings.beam_size,
            batch_size=settings.batch_size,
            precision=settings.precision,
            resume=True,
        )

    def _verifier(self) -> None:
        pairs = self._training_pairs
        start = "teacher" if "teacher" in self.recipe.budget else None
        self._fit("verifier", lambda: self._seq2seq("verifier", pairs, start))
        self._bundle()

    def _drafter(self) -> None:
        self._fit("drafter", self._nat_objective)
        self._bundle()

    def _heads(self) -> None:
        self._fit("heads", self._heads_objective)
        self._bundle()

    def _small(self) -> None:
        pairs = self._training_pairs
        for name in self.recipe.small:

            def objective(name: str = name) -> Objective:
                network = Transformer(self._small_config(name))
                return Seq2Seq(pairs, self._dev, self._schedule("small"), self.seed, network)

            self._fit("small", objective, name)
        self._bundle()

    def _align(self) -> None:
        sources = [source for source, _ in packed_pairs(self.out / "data" / "train.tsv")]
        settings = self.recipe.distill
        distill(
            self._of("verifier"),
            sources[: settings.calibration],
            self.out / "calibration.tsv",
            beam_size=1,
            batch_size=settings.batch_size,
            precision=settings.precision,
            resume=True,
        )
        pairs = self._pairs("calibration.tsv")
        for name in self.recipe.small:

            def objective(name: str = name) -> Objective:
                network = self._small_network(name, "small").train()
                return Seq2Seq(pairs, self._dev, self._schedule("align"), self.seed, network)

            self._fit("align", objective, name)
        self._bundle()

    # --------------------------------------------------------------------------- objectives

    def _seq2seq(self, stage: str, pairs: list[Pair], start: str | None) -> Objective:
        network = (self._network(start) if start else self._first()).train()
        common = pairs, self._dev, self._schedule(stage), self.seed
        if stage == "verifier" and self.recipe.early_exit is not None:
            return EarlyExit(*common, EarlyExitTrainee(network, self.recipe.early_exit))
        return Seq2Seq(*common, network)

    def _first(self) -> Transformer:
        """Return the network that training begins with."""
        network = Transformer(self.config)
        if self.recipe.start is not None:
            network.load_state_dict(load(self.recipe.start).network.state_dict())
        return network

    def _nat_objective(self) -> Objective:
        recipe, verifier = self.recipe.drafter, self._network("verifier")
        network = self._nat(verifier)
        schedule, reader = self._schedule("drafter"), None
        if recipe.shared_encoder:
            precision, reads = self.recipe.distill.precision, recipe.output_states
            reader = VerifierStates(verifier, precision, reads_output=reads)
        return Nat(self._training_pairs, self._dev, schedule, self.seed, network, recipe, reader)

    def _nat(self, verifier: Transformer | None) -> NatTransformer:
        """Return a drafter; what has the shape of the verifier's weights begins as these."""
        recipe = self.recipe.drafter
        settings = {"activation": "gelu", "positions": "learned"} | recipe.network
        try:
            network = NatTransformer(
                TransformerConfig.from_dict(self.config.to_dict() | settings),
                NatConfig(
                    block=recipe.block,
                    causal_prefix=recipe.causal_prefix,
                    shared_encoder=recipe.shared_encoder,
                    output_states=recipe.output_states,
                ),
            )
        except ModelError as error:
            raise ConfigError(f"recipe {self.recipe.name}, [drafter]: {error}") from error
        if verifier is not None:
            mine = network.state_dict()
            theirs = verifier.state_dict()
            fitting = {k: v for k, v in theirs.items() if k in mine and v.shape == mine[k].shape}
            network.load_state_dict(fitting, strict=False)
        return network

    def _heads_objective(self) -> Objective:
        recipe, network = self.recipe.heads, self._network("verifier")
        heads = Heads(recipe.count, network.config.width, recipe.hidden)
        trainee = HeadsTrainee(network, heads, jointly=recipe.joint)
        schedule = self._schedule("heads")
        return HeadsObjective(self._training_pairs, self._dev, schedule, self.seed, trainee)

    # -------------------------------------------------------------------------------- parts

    @cached_property
    def vocabulary(self) -> OwnVocabulary:
        """The packed folder's vocabulary; one that is not the start bundle's raises ConfigError."""
        vocabulary, start = load_vocabulary(self.out / "data"), self.recipe.start
        if start is not None and (
            vocabulary.fingerprint != CorrectorVocabulary.load(find(start)).fingerprint
        ):
            raise ConfigError(
                f"{self.out / 'data'} was packed with another vocabulary than {start}'s: "
                "choose another folder"
            )
        return vocabulary

    @cached_property
    def config(self) -> TransformerConfig:
        """The verifier's architecture."""
        try:
            return TransformerConfig.from_dict(
                {"vocab_size": len(self.vocabulary)} | self.recipe.network
            )
        except ModelError as error:
            raise ConfigError(f"recipe {self.recipe.name}, [network]: {error}") from error

    def _pairs(self, name: str) -> list[Pair]:
        return encoded(self.out / name, self.vocabulary, self.recipe.data.longest)

    @cached_property
    def _training_pairs(self) -> list[Pair]:
        """The teacher's outputs if the recipe has a teacher, else the pairs as they are."""
        distilled = "teacher" in self.recipe.budget
        return self._pairs("distilled.tsv" if distilled else "data/train.tsv")

    @cached_property
    def _dev(self) -> list[Pair]:
        return self._pairs("data/dev.tsv")

    def _schedule(self, stage: str) -> Any:
        return self.recipe.schedule_of(stage)

    def _fit(self, stage: str, objective: Callable[[], Objective], part: str = "") -> None:
        budget = self.share * parse_duration(self.recipe.budget[stage])
        schedule, folder = self._schedule(stage), self.out / stage / part
        done = folder / "done.json"
        if done.exists() and json.loads(done.read_text(encoding="utf-8"))["budget"] >= budget:
            return
        progress: Progress = fit(
            objective,
            schedule,
            folder,
            budget=budget,
            resume=True,
            seed=self.seed,
            workers=self.workers,
            snapshots=schedule.snapshots,
        )
        if progress.seconds < budget:
            raise KeyboardInterrupt  # it was asked to stop, and has saved
        about = {"budget": budget, "steps": progress.step, "tokens": progress.tokens}
        done.write_text(json.dumps(about) + "\n", encoding="utf-8")

    def _network(self, stage: str) -> Transformer:
        network = Transformer(self.config)
        weights = mean_weights(self.out / stage)
        if stage == "verifier" and self.recipe.early_exit is not None:
            weights = _under("network.", weights)
        if stage == "verifier" and (self.out / "heads" / "done.json").exists():
            weights = self._joint_weights() or weights
        network.load_state_dict(weights)
        return network.eval()

    def _small_config(self, name: str) -> TransformerConfig:
        try:
            return TransformerConfig.from_dict(self.config.to_dict() | self.recipe.small[name])
        except ModelError as error:
            raise ConfigError(f"recipe {self.recipe.name}, [small.{name}]: {error}") from error

    def _small_network(self, name: str, stage: str) -> Transformer:
        network = Transformer(self._small_config(name))
        network.load_state_dict(mean_weights(self.out / stage / name))
        return network.eval()

    def _joint_weights(self) -> dict[str, torch.Tensor] | None:
        """Return the verifier's weights if the heads were trained jointly with it."""
        if not self.recipe.heads.joint:
            return None
        return _under("network.", mean_weights(self.out / "heads"))

    def _about(self) -> dict[str, Any]:
        recipe = self.recipe
        return {
            "name": recipe.name,
            "task": recipe.task,
            "source_language": recipe.source_language,
            "target_language": recipe.target_language,
            "network": self.config.to_dict(),
            "longest": recipe.data.longest,
            "split": recipe.split,
            **({"limit": recipe.limit} if recipe.limit else {}),
            **({} if recipe.early_exit is None else {"early_exit": recipe.early_exit}),
        }

    def _of(self, stage: str) -> generation.GenerationBundle:
        """Return a bundle of the teacher or of the verifier alone."""
        network = self._network(stage).to(device_of(None))
        return generation.GenerationBundle(
            self.recipe.name, self._about(), network, self.vocabulary
        )

    def _bundle(self) -> None:
        """Write what there is into RUN/bundle."""
        bundle = self._of("verifier")
        if (self.out / "drafter" / "done.json").exists():
            bundle.nat = self._nat(None)
            bundle.nat.load_state_dict(mean_weights(self.out / "drafter"))
        if (self.out / "heads" / "done.json").exists():
            recipe = self.recipe.heads
            bundle.heads = Heads(recipe.count, self.config.width, recipe.hidden)
            bundle.heads.load_state_dict(_under("heads.", mean_weights(self.out / "heads")))
        for name in self.recipe.small:
            for stage in ("align", "small"):
                if (self.out / stage / name / "done.json").exists():
                    bundle.smaller[name] = self._small_network(name, stage)
                    break
        generation.save(bundle, self.out / "bundle")


def _under(prefix: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}


def main(args: argparse.Namespace) -> int:
    """``gec train`` with a recipe that generates."""
    recipe = load_generation_recipe(Path(args.recipe))
    run = Run(
        recipe,
        Path(args.out),
        Path(args.data_dir) if args.data_dir else None,
        seed=args.seed or 0,
        workers=args.workers,
        share=_share(recipe, args.budget),
    )
    for stage in [args.part] if args.part else run.stages():
        run.run(stage)
    if (run.out / "bundle" / "config.json").exists():
        print(f"bundle: {run.out / 'bundle'}")
    return 0


def prepare_main(args: argparse.Namespace) -> int:
    """``gec data prepare`` with a recipe that generates."""
    if args.exclude or args.subwords:
        raise ConfigError("--exclude and --subwords are for correction recipes")
    recipe = load_generation_recipe(Path(args.recipe))
    prepare_generation(recipe, Path(args.data_dir), Path(args.out))
    return 0


def _share(recipe: GenerationRecipe, budget: str | None) -> float:
    """Return ``budget`` over the sum of the recipe's training times."""
    if budget is None:
        return 1.0
    return parse_duration(budget) / sum(map(parse_duration, recipe.budget.values()))
