"""Our drafter trained by fairseq itself: its preprocessing, its trainer, its checkpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gec.cli import main
from gec.errors import ModelError
from gec.models.convert.fairseq_drafter import drafter_from_fairseq
from gec.models.engines.nat_blocks import TransformerBlocks

if "GEC_FAIRSEQ" not in os.environ:  # set where the environment must have it
    pytest.importorskip("fairseq", reason="fairseq has an environment of its own: make test")

from fake_fairseq import JOINED, Toy, corrected, sentences

pytestmark = pytest.mark.filterwarnings("ignore")

SIZES = {
    "width": 16,
    "heads": 2,
    "ffn-width": 24,
    "encoder-layers": 1,
    "decoder-layers": 1,
    "max-positions": 40,
    "block": 5,
}


def fairseq(tool: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "gec.models.convert.fairseq_compat", tool, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def test_trains_a_drafter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy = Toy(tmp_path / "toy", "transformer", JOINED, joined=True)
    for split, seed in (("train", 1), ("valid", 2)):
        texts = sentences(40, seed=seed)
        for side, words in (("en", texts), ("xx", [corrected(t) for t in texts])):
            lines = "".join(" ".join(line or ["a"]) + "\n" for line in words)
            (tmp_path / f"{split}.{side}").write_text(lines, encoding="utf-8")
    prefixes = [f"--{split}pref={tmp_path / split}" for split in ("train", "valid")]
    langs = ["--source-lang=en", "--target-lang=xx"]
    data = str(tmp_path / "data")
    dictionary = f"--srcdict={toy.folder / 'dict.en.txt'}"
    fairseq("preprocess", *langs, *prefixes, "--joined-dictionary", dictionary, f"--destdir={data}")
    printed = fairseq(
        "train",
        data,
        "--user-dir",
        "gec",
        "--cpu",
        "--task=gec",
        "--arch=gec_block",
        *(f"--drafter-{name}={value}" for name, value in SIZES.items()),
        "--criterion=glancing",
        "--glance-updates=4",
        "--label-smoothing=0.1",
        "--optimizer=adam",
        "--lr=0.001",
        "--max-tokens=400",
        "--max-update=3",
        f"--save-dir={tmp_path / 'out'}",
        "--no-epoch-checkpoints",
        "--disable-validation",
    )
    assert "done training" in printed
    network = drafter_from_fairseq(tmp_path / "out" / "checkpoint_last.pt")
    assert network.nat.block == 5
    assert network.config.width == 16
    blocks = TransformerBlocks(network)
    tokens, logprobs = blocks.draft(blocks.start([[5, 6, 7], [8]]), [[], [9, 4]], 5)
    assert torch.tensor(tokens).shape == torch.tensor(logprobs).shape == (2, 5)
    # beside the verifier with the same dictionary, by the option of the command
    out, text = str(tmp_path / "bundle"), tmp_path / "in.txt"
    command = ["convert", "fairseq", str(toy.save()), out, "--data", str(toy.folder)]
    drafter = str(tmp_path / "out" / "checkpoint_last.pt")
    assert main([*command, "--bpe", "none", "--drafter", drafter]) == 0
    text.write_text("a b e d\nj c\n", encoding="utf-8")
    printed = []
    for strategy in ("greedy", "gad", "gad++"):
        capsys.readouterr()
        options = ["--strategy", strategy, "--device", "cpu"]
        assert main(["generate", "--model", out, *options, str(text)]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]

    state = torch.load(tmp_path / "out" / "checkpoint_last.pt", weights_only=False)
    state["model"].pop("network.mask")
    torch.save(state, tmp_path / "broken.pt")
    with pytest.raises(ModelError, match="mask"):
        drafter_from_fairseq(tmp_path / "broken.pt")
