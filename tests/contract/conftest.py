"""Assertions of the shipped suite are explained like those of a test module."""

import pytest

pytest.register_assert_rewrite("akotf.testing.contract")
