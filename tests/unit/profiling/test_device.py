"""Measured devices: kept by fingerprint, one experiment at a time, defaults that say why."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path

import pytest

from akotf.profiling import device, lock, machine
from akotf.profiling.device import measure, profiles_of

NOW = "2026-11-30T12:00:00Z"
REPORT = {
    "schema": 1,
    "torch": "2.13.0",
    "devices": [
        {
            "name": "cpu", "threads": 2, "flops": {"fp32": [2e11, 1e11, 3e11], "bf16": [1e11, 9e10, 2e11]},
            "small_flops": [1e11, 5e10, 2e11], "bandwidth": [2e10, 1e10, 3e10], "overhead": [5e-6, 9e-6, 4e-6],
        },
        {
            "name": "NVIDIA A100-SXM4-80GB", "memory": 85_094_825_984, "flops": {"bf16": [2.6e14, 2.5e14, 2.7e14]},
            "small_flops": [2e13, 1e13, 3e13], "bandwidth": [1.6e12, 1.5e12, 1.7e12], "overhead": [6e-6, 9e-6, 5e-6],
        },
        {
            "name": "NVIDIA GeForce GTX 1650", "memory": 25_000_000_000, "flops": {"fp32": [8e13, 7e13, 9e13]},
            "small_flops": [2e13, 1e13, 3e13], "bandwidth": [9e11, 8e11, 1e12], "overhead": [6e-6, 9e-6, 5e-6],
        },
    ],
}  # fmt: skip


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A benchmark that answers at once; the list has the threads of each call."""
    calls: list[int] = []

    def benchmark(threads: int) -> dict[str, object]:
        calls.append(threads)
        return REPORT

    monkeypatch.setattr(device, "_benchmark", benchmark)
    monkeypatch.setattr(device.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    return calls


def take(
    folder: Path, notes: list[str] | None = None, threads: int | None = 1
) -> tuple[device.DeviceProfile, ...]:
    tell = (notes if notes is not None else []).append
    return measure(
        cache=folder / "devices", lock=folder / "experiment.lock", now=NOW, on_wait=tell, threads=threads
    )


def test_figures_become_intervals_and_names_canonical() -> None:
    cpu, a100, other = profiles_of(REPORT, now=NOW, mark="sha256:1", cpu_memory=16 * 2**30)
    assert (cpu.name, cpu.threads, cpu.memory) == ("cpu", 2, 16 * 2**30)
    fp32 = cpu.flops["fp32"]
    assert (fp32.low, fp32.value, fp32.high, fp32.unit) == (1e11, 2e11, 3e11, "FLOP/s")
    assert fp32.source == "measured here 2026-11-30"
    assert cpu.overhead is not None
    assert (cpu.overhead.low, cpu.overhead.value, cpu.overhead.high) == (4e-6, 5e-6, 9e-6)
    assert a100.name == "A100-80GB-SXM"
    assert other.name == "NVIDIA-GeForce-GTX-1650"


def test_a_machine_is_measured_once(tmp_path: Path, report: list[int]) -> None:
    first = take(tmp_path)
    assert take(tmp_path) == first
    assert report == [1]


def test_other_threads_are_another_measurement(tmp_path: Path, report: list[int]) -> None:
    available = len(os.sched_getaffinity(0))
    take(tmp_path, threads=1)
    take(tmp_path, threads=None)
    take(tmp_path, threads=10_000)  # never more than there are
    assert report == ([1] if available == 1 else [1, available])


def test_a_damaged_cache_is_measured_again(tmp_path: Path, report: list[int]) -> None:
    take(tmp_path)
    (file,) = (tmp_path / "devices").iterdir()
    for damage in ("{", "[]", '{"schema": 99, "devices": []}', '{"schema": 1}'):
        file.write_text(damage)
        take(tmp_path)
    assert len(report) == 5


def test_a_busy_machine_widens_the_interval_and_is_measured_again_when_quiet(
    tmp_path: Path, report: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = take(tmp_path / "quiet")[0]
    available = len(os.sched_getaffinity(0))
    monkeypatch.setattr(device.os, "getloadavg", lambda: (3.0 * available, 0.0, 0.0))
    notes: list[str] = []
    busy, gpu = take(tmp_path, notes)[:2]
    assert "3.0 tasks a CPU" in notes[0]
    assert busy.flops["fp32"].source == "measured here 2026-11-30 on a busy machine"
    assert busy.flops["fp32"].value == quiet.flops["fp32"].value
    assert busy.flops["fp32"].low == quiet.flops["fp32"].low / 4  # three others and we share a CPU
    assert busy.overhead is not None
    assert quiet.overhead is not None
    assert busy.overhead.high == 4 * quiet.overhead.high
    assert gpu.flops["bf16"].low == 2.5e14  # other programs on the CPU don't slow a GPU
    assert take(tmp_path)[0] == busy  # still busy: no use in measuring again
    monkeypatch.setattr(device.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert take(tmp_path)[0] == quiet
    assert len(report) == 3


def test_without_pytorch_the_figures_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "torch_version", lambda: "")
    notes: list[str] = []
    (cpu,) = take(tmp_path, notes)
    assert cpu.flops["fp32"].source.startswith("default: PyTorch is not installed")
    assert cpu.flops["fp32"].high / cpu.flops["fp32"].low >= 10
    assert notes and "akotf[train]" in notes[0]


def test_a_failed_benchmark_gives_defaults_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device.sys, "executable", "/bin/false")
    notes: list[str] = []
    (cpu,) = take(tmp_path, notes)
    assert "exit status 1" in cpu.flops["fp32"].source
    assert notes and "the benchmark failed" in notes[0]
    assert not (tmp_path / "devices").exists()


def test_a_wait_is_shown_with_the_holder(tmp_path: Path, report: list[int]) -> None:
    path = tmp_path / "experiment.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, json.dumps({"pid": 4242, "since": NOW, "what": "measuring its devices"}).encode())
    notes: list[str] = []
    waiting = threading.Event()

    def told(text: str) -> None:
        notes.append(text)
        waiting.set()

    def measured() -> None:
        measure(cache=tmp_path / "devices", lock=path, now=NOW, on_wait=told, threads=1)

    thread = threading.Thread(target=measured)
    thread.start()
    assert waiting.wait(30)
    assert report == []  # nothing is measured while the other one holds the lock
    os.close(descriptor)
    thread.join(30)
    assert report == [1]
    assert len(notes) == 1
    assert "process 4242 (measuring its devices, since 2026-11-30T12:00:00Z)" in notes[0]


def test_nobody_else_measures_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "experiment.lock"
    with lock.experiment(path, now=NOW, what="a test", on_wait=print):
        holder = json.loads(path.read_text())
        other = os.open(path, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)  # not even beside us
        os.close(other)
    assert holder == {"pid": os.getpid(), "since": NOW, "what": "a test"}


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    notes: list[str] = []
    for _ in range(2):
        with (
            pytest.raises(ZeroDivisionError),
            lock.experiment(tmp_path / "l", now=NOW, what="a test", on_wait=notes.append),
        ):
            raise ZeroDivisionError
    assert notes == []


def test_the_fingerprint_names_the_machine_and_not_its_kernel(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n")
    (tmp_path / "meminfo").write_text("MemTotal:       16318480 kB\n")
    assert machine.cpu_model(tmp_path) == "Some CPU @ 2 GHz"
    assert machine.memory(tmp_path) == 16318480 * 1024
    first = machine.fingerprint(2, tmp_path)
    (tmp_path / "version").write_text("Linux version 7.1")
    assert machine.fingerprint(2, tmp_path) == first
    (tmp_path / "driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    (tmp_path / "driver/nvidia/gpus/0000:01:00.0/information").write_text("Model: \t NVIDIA A100\nIRQ: 1\n")
    assert machine.fingerprint(2, tmp_path) != first
    assert machine.fingerprint(1, tmp_path) != machine.fingerprint(2, tmp_path)


def test_the_real_benchmark_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    notes: list[str] = []
    cpu = take(tmp_path, notes, threads=1)[0]
    assert not any("default" in note or "failed" in note for note in notes)
    assert cpu.threads == 1
    assert 1e8 < cpu.flops["fp32"].value < 1e13
    assert 1e8 < cpu.bandwidth.value < 1e13
    assert cpu.overhead is not None
    assert 1e-7 < cpu.overhead.value < 1e-2
    assert cpu.flops["fp32"].low <= cpu.flops["fp32"].value <= cpu.flops["fp32"].high
