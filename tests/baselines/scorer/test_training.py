"""Training: it learns, the same way each time, through a kill at any epoch, and says what goes wrong."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_baselines.ceaf.scorer import folder, making, plot
from clwqa_baselines.ceaf.scorer.data import buckets, examples, shuffled, texts
from clwqa_baselines.ceaf.scorer.encoders import open_encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.making import train_scorer
from clwqa_baselines.ceaf.scorer.settings import settings_of
from clwqa_bench.dataset import Dataset
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Split
from clwqa_bench.systems import SettingError
from tests import tiny_dataset
from tests.baselines.scorer.conftest import Made, settings


def test_it_learns_its_train_pairs(tiny: Dataset, tmp_path: Path) -> None:
    chosen = settings(epochs="30", patience="30", batch="4", dropout="0", encoder_rate="0.001")
    made = train_scorer(tiny, "char", chosen, tmp_path / "scorer")
    assert made.epochs[0].train > 0.02
    assert made.epochs[-1].train < 0.01


def test_the_same_training_gives_the_same_scorer_and_another_seed_another(made: Made, tmp_path: Path) -> None:
    again = train_scorer(made.dataset, "char", settings(), tmp_path / "again")
    other = train_scorer(made.dataset, "char", settings(seed="1"), tmp_path / "other")
    assert again.digest == made.description.digest != other.digest
    assert (tmp_path / "again" / folder.CURVES).read_bytes() == (made.folder / folder.CURVES).read_bytes()


def test_training_uses_its_threads_and_leaves_torch_as_it_was(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from clwqa_baselines.ceaf.scorer import training

    def state() -> tuple[int, bool]:
        return torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()

    one_epoch, seen, before = training._pass, list[tuple[int, bool]](), state()

    def spied(*arguments: Any) -> float:
        seen.append(state())
        return one_epoch(*arguments)

    monkeypatch.setattr(training, "_pass", spied)
    train_scorer(made.dataset, "char", settings(epochs="1", threads="3"), tmp_path / "scorer")
    folder.open_scorer(made.folder)
    assert seen == [(3, True)]
    assert state() == before


def test_training_ends_when_validation_no_longer_gets_better(tiny: Dataset, tmp_path: Path) -> None:
    made = train_scorer(tiny, "char", settings(epochs="60", patience="2"), tmp_path / "scorer")
    losses = [epoch.validation for epoch in made.epochs]
    assert made.best_epoch == 1 + losses.index(min(losses)) == len(losses) - 2
    assert made.statistics["validation"].all.mse == pytest.approx(min(losses), abs=1e-3)


def _killed(root: Path, out: Path, epoch: int) -> None:
    """Train, and die by SIGKILL while the checkpoint of an epoch is being written."""
    import torch

    write, calls = torch.save, [0]

    def save(state: object, stream: object) -> None:
        calls[0] += 1
        if calls[0] == epoch:
            stream.write(b"torn")  # type: ignore[attr-defined]
            stream.flush()  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGKILL)
        write(state, stream)  # type: ignore[arg-type]

    torch.save = save  # type: ignore[assignment]
    train_scorer(Dataset.open(root), "char", settings(), out)


@pytest.mark.slow
def test_killed_in_the_first_or_the_last_epoch_the_same_call_ends_with_the_same_scorer(
    made: Made, tmp_path: Path
) -> None:
    for epoch in (1, 3):
        out = tmp_path / f"epoch{epoch}"
        child = multiprocessing.get_context("spawn").Process(
            target=_killed, args=(made.dataset.root, out, epoch)
        )
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        assert not out.exists()
        assert train_scorer(made.dataset, "char", settings(), out).digest == made.description.digest
        assert [path.name for path in tmp_path.iterdir()] == [out.name], "nothing is left lying about"
        out.rename(tmp_path.parent / f"{tmp_path.name}-{epoch}")


def test_a_checkpoint_of_other_settings_is_refused_by_name(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupted(tiny, tmp_path / "scorer", monkeypatch)
    with pytest.raises(ScorerError, match=r"another training was begun here; it differs in batch, seed\."):
        train_scorer(tiny, "char", settings(batch="3", seed="1"), tmp_path / "scorer")


def test_a_damaged_checkpoint_is_refused(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = _interrupted(tiny, tmp_path / "scorer", monkeypatch)
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(ScorerError, match=r"cannot be read.*to begin anew"):
        train_scorer(tiny, "char", settings(), tmp_path / "scorer")


def _interrupted(tiny: Dataset, out: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Train all epochs, and stop before the scorer is written; returns the checkpoint."""
    with monkeypatch.context() as patch:
        patch.setattr(folder, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train_scorer(tiny, "char", settings(), out)
    return out.with_name(f"{out.name}.training") / making.CHECKPOINT


def test_frozen_layers_are_not_learned_and_not_stored(tiny: Dataset, tmp_path: Path) -> None:
    for frozen, kept in (
        ("2", {"element", "mlp"}),
        ("1", {"element", "mlp", "above"}),
        ("0", {"element", "mlp", "above"}),
    ):
        train_scorer(tiny, "char", settings(frozen=frozen, epochs="1"), tmp_path / frozen)
        assert {name.split(".")[0] for name in _weights(tmp_path / frozen)} == kept


@pytest.mark.parametrize("frozen", ["0", "1", "2"])
def test_what_frozen_layers_make_of_a_pair_may_be_kept(tiny: Dataset, frozen: str) -> None:
    ontology = Ontology.load()
    some = examples(tiny, "train", ontology)
    encoder = open_encoder("char", texts=texts(some.pairs))
    from clwqa_baselines.ceaf.scorer.model import Trained, read_pairs
    from clwqa_baselines.ceaf.scorer.training import Feed, prepared

    chosen = settings(frozen=frozen)
    model = prepared(encoder, len(ontology.types), chosen).eval()
    feed = Feed(model, read_pairs(encoder.tokenizer, some.pairs, chosen.max_length), some.labels)
    kept = model.upper(feed.hidden([2, 0])).tolist()
    anew = Trained(chosen, model, encoder).scores([some.pairs[2], some.pairs[0]])
    assert kept == pytest.approx(anew, abs=1e-4)


def _weights(scorer: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    return dict(load_file(scorer / folder.WEIGHTS))


def test_without_elements_nothing_of_an_element_is_seen(tiny: Dataset, tmp_path: Path) -> None:
    from dataclasses import replace

    train_scorer(tiny, "char", settings(elements="false"), tmp_path / "scorer")
    _, trained = folder.open_scorer(tmp_path / "scorer")
    pair = examples(tiny, "train", Ontology.load()).pairs[0]
    one, other = trained.scores([pair, replace(pair, element=pair.element + 1)])
    assert one == other


def test_the_test_pairs_are_read_after_training(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Split | None, bool]] = []
    read, checkpoint = Dataset.pairs, tmp_path / "scorer.training" / making.CHECKPOINT

    def pairs(self: Dataset, part: Split | None = None) -> object:
        asked.append((part, checkpoint.exists()))
        return read(self, part)

    monkeypatch.setattr(Dataset, "pairs", pairs)
    train_scorer(tiny, "char", settings(), tmp_path / "scorer")
    assert asked == [("train", False), ("validation", False), ("test", True)]


# ---------------------------------------------------------------------- what can be wrong


def test_a_loss_that_is_no_number_ends_training(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match=r"the loss of epoch 1 is not a number.*lower encoder_rate"):
        train_scorer(tiny, "char", settings(encoder_rate="1e30"), tmp_path / "scorer")


def test_no_pairs_and_unknown_elements_are_refused(tmp_path: Path) -> None:
    pairs = [tiny_dataset.pair(*row) for row in tiny_dataset.PAIRED]
    ontology = Ontology.load()
    fewer = Ontology(
        {name: term for name, term in ontology.type_terms.items() if name != pairs[0].element},
        ontology.relation_terms,
    )
    tiny_dataset.write(tmp_path / "a", pairs=pairs)
    with pytest.raises(
        ScorerError, match=rf"'{pairs[0].element}', which the ontology does not know"
    ) as failed:
        examples(Dataset.open(tmp_path / "a"), "train", fewer)
    assert failed.value.field == "element"
    tiny_dataset.write(tmp_path / "b", pairs=[pair for pair in pairs if pair.split != "validation"])
    with pytest.raises(ScorerError, match=r"validation\.parquet: there are no scoring pairs"):
        train_scorer(Dataset.open(tmp_path / "b"), "char", settings(), tmp_path / "scorer")


def test_without_torch_the_fix_names_the_extra(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clwqa_baselines.ceaf.scorer.errors.find_spec", lambda name: None)
    with pytest.raises(ScorerError, match=r"'torch'.*pip install 'clwqa-bench\[neural\]'"):
        train_scorer(tiny, "char", settings(), tmp_path / "scorer")


def test_whoever_may_read_one_file_of_a_scorer_may_read_all(made: Made) -> None:
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in made.folder.iterdir()}
    assert {folder.WEIGHTS, folder.DESCRIPTION} <= modes.keys()
    assert len(set(modes.values())) == 1, modes


def test_without_matplotlib_the_scorer_is_written_without_its_curves(
    tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> None:
        raise ScorerError("drawn with matplotlib", fix="pip install it")

    monkeypatch.setattr(folder, "draw_curves", missing)
    train_scorer(tiny, "char", settings(epochs="1"), tmp_path / "scorer")
    assert {path.name for path in (tmp_path / "scorer").iterdir()} == {folder.DESCRIPTION, folder.WEIGHTS}
    assert "curves.svg is left out" in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value"), [("frozen", "3"), ("layers", "5")])
def test_more_layers_than_there_are(tiny: Dataset, tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ScorerError, match=f"{value} layers, but char has 2") as failed:
        train_scorer(tiny, "char", settings(**{key: value}), tmp_path / "scorer")
    assert failed.value.field == key


def test_an_existing_folder_is_left_alone(made: Made) -> None:
    with pytest.raises(ScorerError, match="something here already"):
        train_scorer(made.dataset, "char", settings(), made.folder)


def test_settings_are_checked_by_name_and_presets_give_way() -> None:
    assert settings_of("char", {}).epochs == 8
    assert settings_of("char", {"epochs": "2"}).epochs == 2
    assert settings_of("hfl/chinese-roberta-wwm-ext", {}).encoder_rate == 2e-5
    with pytest.raises(SettingError, match=r"no setting 'epoch'.*did you mean 'epochs'"):
        settings_of("char", {"epoch": "2"})


# ---------------------------------------------------------------------- parts


def test_batches_hold_everything_once_and_hardly_pad() -> None:
    lengths = np.random.default_rng(0).integers(5, 100, 300).tolist()
    for batches in (list(buckets(lengths, 16)), shuffled(lengths, 16, np.random.default_rng(1))):
        assert sorted(place for batch in batches for place in batch) == list(range(300))
        padded = sum(len(batch) * max(lengths[place] for place in batch) for batch in batches)
        assert padded < 1.2 * sum(lengths)


def test_curves_show_both_losses(made: Made, tmp_path: Path) -> None:
    text = (made.folder / folder.CURVES).read_text(encoding="utf-8")
    assert all(word in text for word in ("train", "validation", "epoch", "mean squared error"))
    plot.draw_curves(made.description.epochs, 1, "as PNG", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
