"""NVIDIA GPUs through NVML (libnvidia-ml.so.1) by ctypes: no package, no nvidia-smi."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

LIBRARY = "libnvidia-ml.so.1"

# Numbers from NVIDIA's nvml.h.
_TEMPERATURE_GPU = 0
_CLOCK_SM = 1
_SUCCESS = 0
_TEXT = 96  # NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest of the texts we ask for
_SWITCH = {0: "disabled", 1: "enabled"}
_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}


class Gpus(NamedTuple):
    """All GPUs of the node and, where there are none or they can't be read, why."""

    devices: List[Dict[str, Any]]
    reason: str
    counted: bool = False  # NVML answered, so an index that is not there is really gone

    @property
    def usable(self) -> List[int]:
        """Indices of the GPUs that answer; one that fell off the bus does not."""
        return [device["index"] for device in self.devices if "lost" not in device]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


def read(library: str = LIBRARY) -> Gpus:
    """Facts of each GPU, by index; a value the card does not offer is left out. Never raises.

    Settings are text: driver, ecc, mig, persistence (enabled | disabled), compute_mode. Figures: memory_total and
    memory_used (bytes), utilization and memory_utilization (percent), power_watts, power_limit_watts,
    temperature (degrees C), sm_clock_mhz.
    """
    try:
        nvml = ctypes.CDLL(library)
    except OSError as error:
        return Gpus([], f"NVML is not installed: {error}")
    try:
        return _read(nvml)
    except (AttributeError, ctypes.ArgumentError, ValueError) as error:
        return Gpus([], f"NVML is not as expected: {error}")


def _read(nvml: ctypes.CDLL) -> Gpus:
    code = nvml.nvmlInit_v2()
    if code != _SUCCESS:
        return Gpus([], f"NVML does not start: {_error(nvml, code)}")
    try:
        count = ctypes.c_uint()
        code = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        if code != _SUCCESS:
            return Gpus([], f"NVML can't count the GPUs: {_error(nvml, code)}")
        driver = _driver(nvml)
        devices = [_device(nvml, index, driver) for index in range(count.value)]
        return Gpus(devices, "" if devices else "NVML finds no GPU", counted=True)
    finally:
        nvml.nvmlShutdown()


def _error(nvml: ctypes.CDLL, code: int) -> str:
    try:
        nvml.nvmlErrorString.restype = ctypes.c_char_p
        text: bytes = nvml.nvmlErrorString(code) or b""
    except AttributeError:
        text = b""
    return text.decode("utf-8", "replace") or f"error {code}"


def _driver(nvml: ctypes.CDLL) -> Optional[str]:
    buffer = ctypes.create_string_buffer(_TEXT)
    if nvml.nvmlSystemGetDriverVersion(buffer, ctypes.c_uint(_TEXT)) != _SUCCESS:
        return None
    return buffer.value.decode("utf-8", "replace")


def _device(nvml: ctypes.CDLL, index: int, driver: Optional[str]) -> Dict[str, Any]:
    handle = ctypes.c_void_p()
    code = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle))
    if code != _SUCCESS:
        return {"index": index, "lost": _error(nvml, code)}
    ask = _Asker(nvml, handle)
    memory, use = (
        ask.struct("nvmlDeviceGetMemoryInfo", _Memory),
        ask.struct("nvmlDeviceGetUtilizationRates", _Utilization),
    )
    facts = {
        "index": index,
        "driver": driver,
        "name": ask.text("nvmlDeviceGetName"),
        "uuid": ask.text("nvmlDeviceGetUUID"),
        "memory_total": memory and memory.total,
        "memory_used": memory and memory.used,
        "utilization": use and use.gpu,
        "memory_utilization": use and use.memory,
        "power_watts": _scaled(ask.number("nvmlDeviceGetPowerUsage"), 1000),  # NVML counts milliwatts
        "power_limit_watts": _scaled(ask.number("nvmlDeviceGetEnforcedPowerLimit"), 1000),
        "temperature": ask.number("nvmlDeviceGetTemperature", _TEMPERATURE_GPU),
        "sm_clock_mhz": ask.number("nvmlDeviceGetClockInfo", _CLOCK_SM),
        "ecc": _named(ask.pair("nvmlDeviceGetEccMode"), _SWITCH),
        "mig": _named(ask.pair("nvmlDeviceGetMigMode"), _SWITCH),
        "persistence": _named(ask.number("nvmlDeviceGetPersistenceMode"), _SWITCH),
        "compute_mode": _named(ask.number("nvmlDeviceGetComputeMode"), _COMPUTE_MODES),
    }
    return {name: value for name, value in facts.items() if value is not None}


class _Asker:
    """Calls about one device; None where the function is missing (old driver) or the card has no such value."""

    def __init__(self, nvml: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
        self._nvml = nvml
        self._handle = handle

    def _call(self, function: str, *arguments: Any) -> bool:
        found: Optional[Callable[..., int]] = getattr(self._nvml, function, None)
        return found is not None and found(self._handle, *arguments) == _SUCCESS

    def text(self, function: str) -> Optional[str]:
        buffer = ctypes.create_string_buffer(_TEXT)
        if not self._call(function, buffer, ctypes.c_uint(_TEXT)):
            return None
        return buffer.value.decode("utf-8", "replace")

    def number(self, function: str, *selectors: int) -> Optional[int]:
        value = ctypes.c_uint()
        asked = [ctypes.c_uint(selector) for selector in selectors]
        return value.value if self._call(function, *asked, ctypes.byref(value)) else None

    def pair(self, function: str) -> Optional[int]:
        """The present one of a present and a pending value."""
        current, pending = ctypes.c_uint(), ctypes.c_uint()
        found = self._call(function, ctypes.byref(current), ctypes.byref(pending))
        return current.value if found else None

    def struct(self, function: str, kind: Any) -> Any:
        value = kind()
        return value if self._call(function, ctypes.byref(value)) else None


def _named(value: Optional[int], names: Dict[int, str]) -> Optional[str]:
    return None if value is None else names.get(value, str(value))


def _scaled(value: Optional[int], divisor: int) -> Optional[float]:
    return None if value is None else value / divisor


def settings(device: Dict[str, Any]) -> Dict[str, Any]:
    """The part of a GPU's facts that stays as it is until someone changes it."""
    names: Tuple[str, ...] = (
        "name", "uuid", "driver", "memory_total", "power_limit_watts", "ecc", "mig", "persistence", "compute_mode",
    )  # fmt: skip
    return {name: device[name] for name in names if name in device}


def metrics(device: Dict[str, Any]) -> Dict[str, float]:
    """The part that moves, as numbers: `gpu_0_utilization`, ..."""
    names = ("utilization", "memory_utilization", "memory_used", "power_watts", "temperature", "sm_clock_mhz")
    return {f"gpu_{device['index']}_{name}": float(device[name]) for name in names if name in device}
