"""One environment that was applied once, for all that only reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def applied(new_project: Callable[..., Any]) -> Any:
    """A project whose tiny training (plain Python, 40 steps) has succeeded; `project.result` is what apply printed."""
    project = new_project(steps=40, checkpoint_interval=20)
    project.result = project.json("apply", str(project.environment), "-y")
    return project
