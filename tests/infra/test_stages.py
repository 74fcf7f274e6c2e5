"""The stage engine: continues after a kill anywhere, does nothing when nothing changed, harms nothing."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.commands import doctor
from clwqa_bench.errors import BuildError
from clwqa_builders import commands
from clwqa_builders.stages import (
    Context,
    Finished,
    Stage,
    build_folder,
    code_fingerprint,
    fingerprints,
    publish,
    run_stages,
    tree,
)


def write_numbers(ctx: Context) -> None:
    """Two writes, so that there is a moment at which the file is half there."""
    for number in range(ctx.config["upto"]):
        with (ctx.out / "numbers.txt").open("a", encoding="utf-8") as stream:
            stream.write(f"{number}\n")


def write_squares(ctx: Context) -> None:
    numbers = (ctx.inputs["numbers"] / "numbers.txt").read_text(encoding="utf-8").split()
    (ctx.out / "deep").mkdir()
    (ctx.out / "deep" / "squares.txt").write_text(
        " ".join(str(int(n) ** 2) for n in numbers), encoding="utf-8"
    )


def write_manifest(ctx: Context) -> None:
    names = [name for stage in ctx.inputs.values() for name in tree(stage)]
    (ctx.out / "manifest.json").write_text(str(names), encoding="utf-8")


def stages_for(upto: int) -> list[Stage]:
    return [
        Stage("numbers", write_numbers, config={"upto": upto}),
        Stage("squares", write_squares, inputs=("numbers",)),
        Stage("manifest", write_manifest, inputs=("numbers", "squares")),
    ]


def build(target: Path, upto: int) -> dict[str, Finished]:
    with build_folder(target) as work:
        finished = run_stages(stages_for(upto), work, code="1")
        contents = {name: path for output in finished.values() for name, path in tree(output.folder).items()}
        publish(contents, target)
    return finished


def content(folder: Path) -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in tree(folder).items()}


FIRST = {
    "numbers.txt": "0\n1\n",
    "deep/squares.txt": "0 1",
    "manifest.json": "['numbers.txt', 'deep/squares.txt']",
}
SECOND = FIRST | {"numbers.txt": "0\n1\n2\n", "deep/squares.txt": "0 1 4"}


def test_stages_run_in_order_and_read_each_other(tmp_path: Path) -> None:
    build(tmp_path / "out", upto=2)
    assert content(tmp_path / "out") == FIRST


def test_an_unchanged_build_runs_no_stage(tmp_path: Path) -> None:
    assert not any(output.reused for output in build(tmp_path / "out", upto=2).values())
    assert all(output.reused for output in build(tmp_path / "out", upto=2).values())


def test_a_changed_setting_reruns_its_stage_and_what_reads_it_and_drops_the_old_outputs(
    tmp_path: Path,
) -> None:
    with build_folder(tmp_path / "out") as work:
        alone = Stage("alone", write_numbers, config={"upto": 1})
        before = run_stages([alone, *stages_for(2)], work, code="1")
        after = run_stages([alone, *stages_for(3)], work, code="1")
        assert [name for name, output in after.items() if output.reused] == ["alone"]
        assert after["squares"].fingerprint != before["squares"].fingerprint
        assert {path.name for path in (work / "stages").iterdir()} == {o.folder.name for o in after.values()}


def test_a_look_at_some_stages_need_not_drop_the_others(tmp_path: Path) -> None:
    with build_folder(tmp_path / "out") as work:
        run_stages(stages_for(2), work, code="1")
        run_stages(stages_for(2)[:1], work, code="1", prune=False)
        assert all(output.reused for output in run_stages(stages_for(2), work, code="1").values())


def test_changed_code_reruns_everything(tmp_path: Path) -> None:
    with build_folder(tmp_path / "out") as work:
        run_stages(stages_for(2), work, code="1")
        assert not any(output.reused for output in run_stages(stages_for(2), work, code="2").values())


def test_a_truncated_stage_output_is_made_again(tmp_path: Path) -> None:
    folder = build(tmp_path / "out", upto=2)["numbers"].folder
    (folder / "numbers.txt").write_text("0\n", encoding="utf-8")
    again = build(tmp_path / "out", upto=2)
    assert not again["numbers"].reused
    assert content(tmp_path / "out") == FIRST


def test_a_damaged_published_file_is_put_right_and_an_intact_folder_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    build(target, upto=2)
    inode = target.stat().st_ino
    build(target, upto=2)
    assert target.stat().st_ino == inode
    (target / "numbers.txt").write_text("9\n9\n", encoding="utf-8")
    build(target, upto=2)
    assert content(target) == FIRST


@pytest.mark.parametrize("order", [[1, 0, 2], [0, 0, 1]])
def test_a_list_of_stages_that_makes_no_sense_is_refused(tmp_path: Path, order: list[int]) -> None:
    with build_folder(tmp_path / "out") as work, pytest.raises(ValueError, match="comes twice or before"):
        run_stages([stages_for(2)[i] for i in order], work, code="1")


json_settings = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=4)


@given(json_settings)
def test_the_order_of_settings_does_not_matter(settings: dict[str, Any]) -> None:
    assert printed(settings) == printed(dict(reversed(settings.items())))


@given(json_settings, json_settings)
def test_different_settings_have_different_fingerprints(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert (printed(left) == printed(right)) == (left == right)


def printed(settings: Mapping[str, Any]) -> dict[str, str]:
    return fingerprints([Stage("s", write_numbers, config=settings)], "1")


def test_the_code_fingerprint_follows_source_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "madeup_builder"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = [code_fingerprint(["madeup_builder"])]
    for name, text in (("books.tsv", "史记\n"), ("books.tsv", "汉书\n"), ("step.py", "x = 1\n")):
        (package / name).write_text(text, encoding="utf-8")
        seen.append(code_fingerprint(["madeup_builder"]))
    (package / "notes.txt").touch()
    assert len(set(seen)) == len(seen)
    assert code_fingerprint(["madeup_builder"]) == seen[-1]


# Killed: the process is shot before its n-th file operation, for every n that occurs.

FILE_OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.copyfile"}


def build_and_die(target: Path, before: int) -> bool:
    """Build in a child process that is killed before file operation number ``before``; True if it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def shoot(event: str, _: tuple[object, ...]) -> None:
            nonlocal seen
            if event in FILE_OPERATIONS:
                seen += 1
                if seen == before:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(shoot)
        try:
            build(target, upto=3)
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_killed_before_any_file_operation_the_next_build_ends_the_same(tmp_path: Path) -> None:
    deaths = 0
    while True:
        target = tmp_path / str(deaths) / "out"
        build(target, upto=2)
        if not build_and_die(target, before=deaths + 1):
            break
        survivor = target if target.exists() else target.with_name(".out.old")
        assert content(survivor) in (FIRST, SECOND), f"killed before operation {deaths + 1}"
        build(target, upto=3)
        assert content(target) == SECOND
        assert {path.name for path in target.parent.iterdir()} == {"out", ".out.work"}
        shutil.rmtree(target.parent)
        deaths += 1
    assert deaths > 30, "the hook saw too little of the build to prove anything"


def test_an_interrupted_replacement_is_undone_before_anything_else(tmp_path: Path) -> None:
    target = tmp_path / "out"
    build(target, upto=2)
    target.rename(tmp_path / ".out.old")
    with pytest.raises(RuntimeError, match="the build fails"), build_folder(target):
        raise RuntimeError("the build fails")
    assert content(target) == FIRST


# A second build in the same folder.


def test_a_second_build_in_the_same_folder_stops_and_names_the_first(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from clwqa_builders.stages import build_folder\n"
        "with build_folder(Path(sys.argv[1])): print('holding', flush=True); sys.stdin.read()\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"holding\n"
        with pytest.raises(BuildError, match=rf"another build \(process {holder.pid}\)"):
            build(tmp_path / "out", upto=2)
        holder.stdin.close()
    build(tmp_path / "out", upto=2)
    assert content(tmp_path / "out") == FIRST


# No room, no permission, wrong folder.


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """Let no file in ``folder`` outgrow ``size`` bytes: a tmpfs where one can be mounted, else a limit."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = (
        bool(shutil.which("mount"))
        and subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def write_much(ctx: Context) -> None:
    (ctx.out / "much.bin").write_bytes(bytes(ctx.config["bytes"]))


def test_a_disk_that_fills_up_during_a_stage_leaves_the_earlier_output_and_no_half_stage(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", 1 << 20):
        target = tmp_path / "disk" / "out"
        build(target, upto=2)
        with build_folder(target) as work, pytest.raises(BuildError, match="no room left to write") as caught:
            run_stages([*stages_for(3), Stage("much", write_much, config={"bytes": 2 << 20})], work, code="1")
        assert "run the same command again" in caught.value.fix
        assert content(target) == FIRST
        assert not [path.name for path in (work / "stages").iterdir() if "much" in path.name]
        build(target, upto=3)
        assert content(target) == SECOND


def test_a_disk_that_fills_up_while_publishing_leaves_the_earlier_output(tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(bytes(2 << 20))
    with small_disk(tmp_path / "disk", 1 << 20):
        target = tmp_path / "disk" / "out"
        build(target, upto=2)
        with build_folder(target), pytest.raises(BuildError, match="no room left to write"):
            publish({"big.bin": big}, target)
        assert content(target) == FIRST
        assert {path.name for path in target.parent.iterdir()} == {"out", ".out.work"}


def test_every_word_for_a_full_disk_is_understood(tmp_path: Path) -> None:
    def raise_it(ctx: Context) -> None:
        raise OSError(ctx.config["errno"], os.strerror(ctx.config["errno"]))

    with build_folder(tmp_path / "out") as work:
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            with pytest.raises(BuildError, match="no room left"):
                run_stages([Stage("s", raise_it, config={"errno": number})], work, code="1")
        with pytest.raises(BuildError, match="cannot read or write"):
            run_stages([Stage("s", raise_it, config={"errno": errno.EACCES})], work, code="1")


def test_too_little_free_space_is_known_before_work_begins(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="the build needs about"), build_folder(tmp_path / "out", 1 << 60):
        pytest.fail("the build must not begin")


def test_doctor_asks_for_the_room_that_a_build_asks_for() -> None:
    assert commands.NEED_BYTES["core"] == doctor.ROOM


@contextmanager
def unprivileged() -> Iterator[None]:
    """Give up root's right to ignore permissions, for the time of the block."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_folder_that_cannot_be_written_is_known_before_work_begins(tmp_path: Path) -> None:
    target = tmp_path / "locked" / "out"
    build(target, upto=2)
    shutil.rmtree(target.with_name(".out.work"))
    target.parent.chmod(0o555)
    with unprivileged(), pytest.raises(BuildError, match="cannot read or write"), build_folder(target):
        pytest.fail("the build must not begin")
    target.parent.chmod(0o755)
    assert content(target) == FIRST


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot read or write"), build_folder(tmp_path / "file" / "out"):
        pytest.fail("the build must not begin")


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(BuildError, match="holds other files"), build_folder(tmp_path):
        pytest.fail("the build must not begin")
    assert (tmp_path / "thesis.doc").exists()


def test_a_target_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(BuildError, match="must be a folder"), build_folder(tmp_path / "out"):
        pytest.fail("the build must not begin")
