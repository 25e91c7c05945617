"""``gec train RECIPE --data PACKED --out RUN --budget 2h``: train what a correction recipe says.

Continue a finished run with ``--resume`` and a larger budget.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch

from gec.errors import ConfigError
from gec.models.network.transformer import Transformer
from gec.models.training.carry import Carry
from gec.models.training.checkpoint import Progress
from gec.models.training.correction import Correction
from gec.models.training.loop import fit
from gec.models.training.recipe import Recipe, load_recipe, method_of, parse_duration, task_of


def train(
    recipe: Recipe,
    packed: Path,
    out: Path,
    *,
    budget: float,
    resume: bool = False,
    seed: int = 0,
    workers: int = 1,
    init: str | None = None,
    evaluate: Callable[[Transformer], dict[str, float]] | None = None,
) -> Progress:
    """Train a correction recipe: see :func:`fit`.

    A new run starts from the weights of the bundle ``init``, if one is named. ``evaluate`` adds
    scores of its own to every validation.

    Raises:
        ConfigError: the recipe says which layers to carry over, and no ``init`` has them.
    """
    goes_on = resume and (out / "last.ckpt").exists()
    if not goes_on and init is None and recipe.carry != Carry():
        raise ConfigError(
            f"recipe {recipe.name}: [carry] takes layers of a bundle: name it (--init)"
        )

    def objective() -> Correction:
        start = None if goes_on else init
        return Correction(recipe, packed, seed=seed, init=start, evaluate=evaluate)

    return fit(
        objective, recipe.training, out, budget=budget, resume=resume, seed=seed, workers=workers
    )


def main(
    args: argparse.Namespace,
    evaluate: Callable[[Transformer], dict[str, float]] | None = None,
) -> int:
    """``gec train RECIPE --out DIR``: hand recipes that generate on, train the others."""
    path, options = Path(args.recipe), vars(args)
    task, finetunes = task_of(path), method_of(path) == "finetune"
    for name in _options_of_others(task, finetunes=finetunes):
        if options.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} is not for a recipe of task {task!r}")
    if getattr(args, "threads", None):
        torch.set_num_threads(args.threads)
    if task != "gec" and not finetunes:
        from gec.models.training import stages as generation

        return generation.main(args)
    if args.data is None and task == "gec":
        raise ConfigError("--data names no prepared data (gec data prepare)")
    if finetunes:
        from gec.models.training import finetune

        return finetune.main(args)
    progress = train(
        load_recipe(path),
        Path(args.data),
        Path(args.out),
        budget=parse_duration(args.budget or "25m"),
        resume=args.resume,
        seed=args.seed or 0,
        workers=args.workers,
        init=args.init,
        evaluate=evaluate,
    )
    print(f"{progress.step} steps, {progress.tokens} target tokens, {progress.seconds:.0f} s")
    return 0


def _options_of_others(task: str, *, finetunes: bool) -> tuple[str, ...]:
    """Return the options that belong to recipes of other tasks and methods."""
    if task == "gec":
        return "data_dir", "part"
    return ("dev",) if finetunes else ("data", "dev", "init")
