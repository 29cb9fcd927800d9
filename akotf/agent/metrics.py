"""An observation in Prometheus' text format (version 0.0.4)."""

import re
from typing import Any, Dict, List, Tuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_GPU = re.compile(r"^gpu_(\d+)_(\w+)$")
_HELP = {
    "akotf_live": "1 while a run's process lives on the node.",
    "akotf_unreadable_facts": "Facts or groups of facts that could not be read.",
    "akotf_step": "Last finished training step.",
    "akotf_total_steps": "Steps of the whole training.",
    "akotf_loss": "Loss of the last finished step.",
    "akotf_step_time": "Recent mean of seconds a step.",
    "akotf_heartbeat_age_seconds": "Seconds since the training's last heartbeat.",
    "akotf_cpu_percent": "Percent of one CPU that the run's processes use.",
    "akotf_cpu_seconds": "CPU seconds that the run's processes have used.",
    "akotf_memory_bytes": "Resident memory of the run's processes.",
}


def prometheus(observation: Dict[str, Any]) -> str:
    """All metrics as gauges `akotf_*`; a GPU's index and the node are labels."""
    node = observation["node"]
    families: Dict[str, List[Tuple[Dict[str, str], float]]] = {
        "akotf_live": [({"node": node}, float(observation["live"]))],
        "akotf_unreadable_facts": [({"node": node}, float(len(observation["unreadable"])))],
    }
    for name, value in sorted(observation["metrics"].items()):
        match = _GPU.match(name)
        labels = {"node": node, "gpu": match[1]} if match else {"node": node}
        family = "akotf_gpu_" + match[2] if match else "akotf_" + name
        families.setdefault(_safe(family), []).append((labels, float(value)))
    lines = []
    for family, samples in families.items():
        lines.append("# HELP {} {}".format(family, _HELP.get(family, "As observed on the node.")))
        lines.append("# TYPE {} gauge".format(family))
        lines.extend("{}{{{}}} {!r}".format(family, _labels(labels), value) for labels, value in samples)
    return "\n".join(lines) + "\n"


def _labels(labels: Dict[str, str]) -> str:
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, value in labels.items()
    }
    return ",".join('{}="{}"'.format(name, value) for name, value in escaped.items())


def _safe(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_:]", "_", name)
