"""NVML by ctypes, against a small library that answers as nvml.h says."""

import shutil
import subprocess
from pathlib import Path

import pytest

from akotf.facts import gpu

SOURCE = r"""
#include <string.h>
typedef struct { int i; } dev; static dev devices[3] = {{0}, {1}, {2}};
typedef struct { unsigned long long total, free, used; } mem; typedef struct { unsigned int gpu, memory; } use;
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char *t, unsigned int n) { strncpy(t, "570.124.06", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned int *n) { *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, dev **d) { if (i == 2) return 15; *d = &devices[i]; return 0; }
int nvmlDeviceGetName(dev *d, char *t, unsigned int n) { strncpy(t, "NVIDIA H100 80GB HBM3", n); return 0; }
int nvmlDeviceGetUUID(dev *d, char *t, unsigned int n) { strncpy(t, d->i ? "GPU-b" : "GPU-a", n); return 0; }
int nvmlDeviceGetMemoryInfo(dev *d, mem *m) { m->total = 85520809984ULL; m->used = 1024ULL << d->i; return 0; }
int nvmlDeviceGetUtilizationRates(dev *d, use *u) { u->gpu = 97; u->memory = 40; return 0; }
int nvmlDeviceGetPowerUsage(dev *d, unsigned int *v) { *v = 401500; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(dev *d, unsigned int *v) { *v = 700000; return 0; }
int nvmlDeviceGetTemperature(dev *d, int s, unsigned int *v) { *v = s == 0 ? 61 : 999; return 0; }
int nvmlDeviceGetClockInfo(dev *d, int s, unsigned int *v) { *v = s == 1 ? 1980 : 999; return 0; }
int nvmlDeviceGetEccMode(dev *d, unsigned int *c, unsigned int *p) { *c = 1; *p = 0; return 0; }
int nvmlDeviceGetMigMode(dev *d, unsigned int *c, unsigned int *p) { *c = 0; *p = 1; return d->i ? 3 : 0; }
int nvmlDeviceGetComputeMode(dev *d, unsigned int *v) { *v = 3; return 0; }
"""


def build(folder: Path, init: int = 0) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the NVML calls are checked only where there is one")
    (folder / "nvml.c").write_text(SOURCE)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-w", f"-DINIT={init}", "-o", library, folder / "nvml.c"], check=True
    )
    return str(library)


def test_all_facts_of_each_gpu(tmp_path: Path) -> None:
    found = gpu.read(build(tmp_path))
    assert found.reason == ""
    assert found.devices[0] == {
        "index": 0, "driver": "570.124.06", "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-a",
        "memory_total": 85520809984, "memory_used": 1024, "utilization": 97, "memory_utilization": 40,
        "power_watts": 401.5, "power_limit_watts": 700.0, "temperature": 61, "sm_clock_mhz": 1980, "ecc": "enabled",
        "mig": "disabled", "compute_mode": "exclusive-process",
    }  # fmt: skip
    assert "mig" not in found.devices[1]  # NVML_ERROR_NOT_SUPPORTED is 3
    assert found.devices[1]["memory_used"] == 2048


def test_a_gpu_off_the_bus_is_told_and_not_usable(tmp_path: Path) -> None:
    found = gpu.read(build(tmp_path))
    assert found.devices[2] == {"index": 2, "lost": "GPU is lost"}
    assert found.usable == [0, 1]
    assert gpu.metrics(found.devices[2]) == {}


def test_settings_stay_and_metrics_move(tmp_path: Path) -> None:
    device = gpu.read(build(tmp_path)).devices[0]
    assert set(gpu.settings(device)) == {
        "name", "uuid", "driver", "memory_total", "power_limit_watts", "ecc", "mig", "compute_mode",
    }  # fmt: skip
    assert gpu.metrics(device)["gpu_0_power_watts"] == 401.5
    assert gpu.metrics(device)["gpu_0_sm_clock_mhz"] == 1980.0


def test_a_driver_that_is_not_loaded_says_so(tmp_path: Path) -> None:
    found = gpu.read(build(tmp_path, init=9))
    assert found == gpu.Gpus([], "NVML does not start: Driver Not Loaded")
    assert not found.counted


def test_no_library_and_a_foreign_one_are_reasons() -> None:
    assert gpu.read("libno-such-nvml.so.1").reason.startswith("NVML is not installed")
    assert gpu.read("libc.so.6").reason.startswith("NVML is not as expected")
