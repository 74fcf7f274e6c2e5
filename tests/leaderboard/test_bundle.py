"""Bundles: the same run makes the same bytes, and whatever is not exactly a bundle is refused with the reason."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.errors import PredictionError
from clwqa_leaderboard import bundle as bundles
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.submission import opened
from tests.leaderboard.scene import FORM, Q5, Q6, Scene, contents, needs_ssh, tampered, zipped

Files = dict[str, bytes]


# --- made ---------------------------------------------------------------------------------------------------


def test_a_bundle_holds_predictions_manifest_form_scores_traces_and_their_digests(scene: Scene) -> None:
    made = scene.scored_bundle()
    assert list(contents(made)) == [
        "run.json", "disclosure.json", "scores.json", "items.jsonl", "traces.jsonl", "SHA256SUMS",
    ]  # fmt: skip
    with opened(made) as submission:
        assert [p.id for p in submission.run.predictions] == ["q5", "q6"]
        assert submission.disclosure.title == "查图"
        assert submission.claims is not None
        assert submission.claims.values["Hits(match=alias,text>=0.8)@1"] == 0.5
        assert submission.traces()["q5"][0].entities == ("word:四面楚歌",)
        assert submission.id == f"demo@{submission.bundle.digest[:12]}"


def test_the_digests_are_what_other_programs_check(scene: Scene) -> None:
    with zipfile.ZipFile(scene.scored_bundle()) as archive:
        archive.extractall(scene.folder / "x")
    done = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=scene.folder / "x", check=False)
    assert done.returncode == 0


def test_the_same_run_gives_the_same_bytes_in_whatever_order_it_was_answered(scene: Scene) -> None:
    one, other = scene.bundle(Q5, Q6, name="one"), scene.bundle(Q6, Q5, name="other")
    assert one.read_bytes() == other.read_bytes()


def test_the_compression_is_no_part_of_a_bundles_identity(scene: Scene) -> None:
    made = scene.bundle()
    stored = scene.folder / "stored.zip"
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents(made).items():
            archive.writestr(name, content)
    with opened(made) as one, opened(stored) as other:
        assert one.id == other.id


def test_traces_can_be_left_at_home(scene: Scene) -> None:
    made = pack(scene.run(), scene.form(), scene.folder / "bare.zip", traces=False)
    with opened(made) as submission:
        assert submission.traces() == {}


def test_questions_asked_again_are_not_hidden(scene: Scene) -> None:
    run = scene.run()
    (run / "retries.jsonl").write_text('{"schema_version":1,"id":"q5","status":"error"}\n', encoding="utf-8")
    with opened(pack(run, scene.form(), scene.folder / "a.zip")) as submission:
        assert submission.run.asked_again == 1


def test_a_bundle_is_never_written_over(scene: Scene) -> None:
    scene.bundle()
    with pytest.raises(SubmissionError, match="bundles are not changed"):
        pack(scene.folder / "run-demo", scene.form(), scene.folder / "demo.zip")


def test_a_run_cut_off_is_not_packed(scene: Scene) -> None:
    run = scene.run()
    with (run / "items.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "q')
    with pytest.raises(PredictionError, match="not complete") as error:
        pack(run, scene.form(), scene.folder / "x.zip")
    assert error.value.line == 3
    assert not (scene.folder / "x.zip").exists()


def test_a_file_of_predictions_without_a_manifest_is_not_packed(scene: Scene) -> None:
    with pytest.raises(PredictionError, match="not a run folder"):
        pack(scene.run() / "items.jsonl", scene.form())


# --- refused ------------------------------------------------------------------------------------------------


def refused(bundle: Path) -> SubmissionError:
    """The error a bundle is refused with; nothing of it stays behind in the temporary folder."""
    with pytest.raises(SubmissionError) as error, opened(bundle):
        pytest.fail("the bundle was opened")
    assert error.value.file is not None
    assert error.value.file.startswith(str(bundle))
    return error.value


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/passwd", "items.jsonl/../../evil", "..\\evil", "C:evil", "a/../../../b"]
)
def test_zip_slip(scene: Scene, name: str) -> None:
    bad = tampered(scene.bundle(), lambda files: files.update({name: b"x"}))
    assert "leads out of the bundle" in refused(bad).what
    assert not (scene.folder.parent / "evil.py").exists()


def test_a_file_that_no_bundle_has(scene: Scene) -> None:
    bad = tampered(scene.bundle(), lambda files: files.update({"setup.py": b"import os"}))
    assert "'setup.py' is no file of a bundle" in refused(bad).what


def test_a_zip_bomb_is_refused_by_what_it_says_of_itself(scene: Scene) -> None:
    bad = tampered(scene.bundle(), lambda files: files.update({"run.json": bytes(50 << 20)}))
    assert bad.stat().st_size < 100_000
    assert "run.json has 50.0 MB unpacked" in refused(bad).what


def test_a_zip_bomb_that_lies_about_its_size_ends_at_the_size_it_gave(scene: Scene) -> None:
    bad = tampered(scene.bundle(), lambda files: files.update({"run.json": bytes(50 << 20)}))
    true, lie = struct.pack("<I", 50 << 20), struct.pack("<I", 1000)
    bad.write_bytes(bad.read_bytes().replace(true, lie))
    assert "damaged zip file" in refused(bad).what


@pytest.mark.parametrize("lie", [None, "count", "size"])
def test_a_directory_of_a_million_files_is_not_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lie: str | None
) -> None:
    bad = zipped(scene.folder / "many.zip", {str(number): b"" for number in range(2_000)})
    content = bytearray(bad.read_bytes())
    if lie:
        struct.pack_into("<2H", content, len(content) - 14, 8, 8)
    if lie == "size":
        struct.pack_into("<L", content, len(content) - 10, 500)
    bad.write_bytes(content)
    monkeypatch.setattr("zipfile.ZipFile", None)  # whoever calls it fails otherwise
    refused(bad)


def test_nor_one_behind_a_second_end_for_large_files(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    good = scene.bundle().read_bytes()
    bad = scene.folder / "bad.zip"
    bad.write_bytes(good[:-42] + b"PK\x06\x07" + good[-38:])
    monkeypatch.setattr("zipfile.ZipFile", None)
    assert "a bundle has 8 at most" in refused(bad).what


@pytest.mark.parametrize("place", ["before", "behind", "between"])
def test_nothing_can_be_hidden_beside_the_files(scene: Scene, place: str) -> None:
    good, bad = scene.bundle(), scene.folder / "hidden.zip"
    evil = zipfile.ZipInfo("run.json")
    evil.extra = b"\xfe\xca\x04\x00evil"
    files = [(evil if name == "run.json" else name, content) for name, content in contents(good).items()]
    made = {
        "before": b"#!/bin/sh\n" + good.read_bytes(),
        "behind": good.read_bytes() + b"#!/bin/sh\n",
        "between": zipped(bad, files).read_bytes(),
    }
    bad.write_bytes(made[place])
    assert {"before": "before its files", "behind": "behind its end", "between": "before disclosure.json"}[
        place
    ] in refused(bad).what


def test_a_link_inside(scene: Scene) -> None:
    files: list[tuple[zipfile.ZipInfo | str, bytes]] = [*contents(scene.bundle()).items()]
    link = zipfile.ZipInfo("traces.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    files = [(link, b"/etc/passwd") if name == "traces.jsonl" else (name, content) for name, content in files]
    assert "traces.jsonl is a symbolic link" in refused(zipped(scene.folder / "bad.zip", files)).what


def test_a_link_in_place_of_the_bundle(scene: Scene) -> None:
    link = scene.folder / "link.zip"
    link.symlink_to(scene.bundle())
    assert "not a regular file" in refused(link).what


def test_a_file_twice(scene: Scene) -> None:
    files: list[tuple[zipfile.ZipInfo | str, bytes]] = [*contents(scene.bundle()).items()]
    with pytest.warns(UserWarning, match="Duplicate"):
        bad = zipped(scene.folder / "bad.zip", [*files, ("run.json", b"{}")])
    assert "run.json is there 2 times" in refused(bad).what


def test_a_compression_that_no_bundle_has(scene: Scene) -> None:
    bad = scene.folder / "bad.zip"
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in contents(scene.bundle()).items():
            archive.writestr(name, content)
    assert "compressed in a way" in refused(bad).what


@pytest.mark.parametrize("name", ["run.json", "disclosure.json", "items.jsonl", "SHA256SUMS"])
def test_a_file_is_missing(scene: Scene, name: str) -> None:
    def drop(files: Files) -> None:
        del files[name]

    bad = tampered(scene.bundle(), drop, honest_sums=name != "SHA256SUMS")
    assert refused(bad).what == f"{name} is missing"


def edit(files: Files) -> None:
    files["items.jsonl"] = files["items.jsonl"].replace("战国".encode(), "汉".encode())


def swap_digest(files: Files) -> None:
    files["SHA256SUMS"] = files["SHA256SUMS"].replace(b"a", b"b")


def list_more(files: Files) -> None:
    files["SHA256SUMS"] += b"0" * 64 + b"  more.txt\n"


@pytest.mark.parametrize(
    ("change", "line"),
    [(edit, 2), (swap_digest, 1), (list_more, 5), (lambda f: f.update(SHA256SUMS=b"\xff"), 1)],
)
def test_wrong_digests(scene: Scene, change: Callable[[Files], None], line: int) -> None:
    error = refused(tampered(scene.bundle(), change, honest_sums=False))
    assert "the bundle was changed" in error.what
    assert error.file is not None
    assert error.file.endswith("bad.zip/SHA256SUMS")
    assert error.line == line


@pytest.mark.parametrize("size", [0, 10, 300])
def test_not_a_zip_file(scene: Scene, size: int) -> None:
    bad = scene.folder / "bad.zip"
    bad.write_bytes(os.urandom(size))
    assert "not a zip file" in refused(bad).what


def test_a_bundle_cut_off_or_with_a_byte_changed_is_never_opened(scene: Scene) -> None:
    good = scene.bundle().read_bytes()
    bad = scene.folder / "bad.zip"
    opened_anyway = []
    for place in range(0, len(good), 7):
        bad.write_bytes(good[:place] + bytes([good[place] ^ 0x20]) + good[place + 1 :])
        try:
            with opened(bad) as submission:
                opened_anyway.append(submission.bundle.digest)
        except SubmissionError:
            pass
    with opened(scene.folder / "demo.zip") as submission:  # times and permissions are nobody's business
        assert set(opened_anyway) <= {submission.bundle.digest}


def test_a_name_that_is_no_text(scene: Scene) -> None:
    bad = tampered(scene.bundle(), lambda files: files.update({"史.json": b""}))
    bad.write_bytes(bad.read_bytes().replace("史".encode(), b"\xff\xff\xff"))
    assert "damaged zip file" in refused(bad).what


def test_a_fault_of_our_own_is_not_taken_for_a_damaged_file(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise ValueError("a mistake in this program")

    monkeypatch.setattr(bundles, "_extract", broken)
    with pytest.raises(ValueError, match="a mistake in this program"), opened(scene.bundle()):
        pass


def test_a_bundle_that_is_not_there(tmp_path: Path) -> None:
    assert "no such bundle" in refused(tmp_path / "none.zip").what


def test_100_mb_of_evidence_are_refused_before_they_are_unpacked(scene: Scene) -> None:
    bad = scene.folder / "fat.zip"
    megabyte = b'{"id":"q5","evidence":"' + b"x" * (1 << 20) + b'"}\n'
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in contents(scene.bundle()).items():
            archive.writestr(name, megabyte * 100 if name == "items.jsonl" else content)
    error = refused(bad)
    assert "items.jsonl has 100.0 MB unpacked, a board takes 64" in error.what
    assert "what the model was shown" in error.fix


def test_nor_are_they_packed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "LIMITS", {**bundles.LIMITS, "items.jsonl": 100})
    with pytest.raises(SubmissionError, match=r"items\.jsonl has"):
        scene.bundle()
    assert not (scene.folder / "demo.zip").exists()


# --- signed -------------------------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@needs_ssh
def test_a_signature_tells_the_key(scene: Scene, key: Path) -> None:
    made = pack(scene.run(), scene.form(FORM), scene.folder / "signed.zip", key=key)
    shown = subprocess.run(["ssh-keygen", "-l", "-f", str(key)], capture_output=True, text=True, check=True)
    with opened(made) as submission, opened(scene.bundle()) as unsigned:
        assert submission.signed_by == shown.stdout.split()[1]
        assert submission.id == unsigned.id


@needs_ssh
def test_a_signature_of_something_else_is_refused(scene: Scene, key: Path) -> None:
    signed = pack(scene.run(), scene.form(), scene.folder / "signed.zip", key=key)
    for name, content in (("edited", None), ("nonsense", b"no signature")):

        def change(files: Files, content: bytes | None = content) -> None:
            files["items.jsonl"] += b"\n"
            files["SHA256SUMS.sig"] = content or files["SHA256SUMS.sig"]

        error = refused(tampered(signed, change, name=f"{name}.zip"))
        assert "the signature is not good" in error.what


@needs_ssh
def test_a_key_that_cannot_sign(scene: Scene) -> None:
    with pytest.raises(SubmissionError, match="cannot sign"):
        pack(scene.run(), scene.form(), scene.folder / "x.zip", key=scene.folder / "form.toml")
