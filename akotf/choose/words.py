"""Figures in the words of a reason: money to the cent, times in one or two units."""

from __future__ import annotations

from akotf.model.units import format_duration


def clock(seconds: float) -> str:
    """`0.4s`, `12s`, `1m 12s`, `2h 5m`, `3d 4h`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole >= 86400:
        whole = round(whole / 3600) * 3600
    elif whole >= 3600:
        whole = round(whole / 60) * 60
    return format_duration(whole)


def money(amount: float, currency: str) -> str:
    """`0.00 USD`, `1,234.50 USD`."""
    return f"{amount:,.2f} {currency}"


def excess(amount: float, currency: str) -> str:
    """A difference: `0.45 USD`, and `less than 0.01 USD` where the cents would read as nothing."""
    return money(amount, currency) if amount >= 0.005 else f"less than 0.01 {currency}"
