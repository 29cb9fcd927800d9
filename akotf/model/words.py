"""Figures as people read them: money to the cent, times in one or two units. Not exact: never read back."""

from __future__ import annotations

from akotf.model.units import Estimate, format_duration


def clock(seconds: float) -> str:
    """`47 ms`, `8.4s`, `1m 12s`, `2h 5m`, `3d 4h`."""
    if 0 < seconds < 1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s" if seconds else "0s"
    whole = round(seconds)
    if whole >= 86400:
        whole = round(whole / 3600) * 3600
    elif whole >= 3600:
        whole = round(whole / 60) * 60
    return format_duration(whole)


def money(amount: float, currency: str) -> str:
    """`0.00 USD`, `1,234.50 USD`; what is something but rounds to nothing reads `<0.01 USD`."""
    return f"<0.01 {currency}" if 0 < amount < 0.005 else f"{amount:,.2f} {currency}"


def excess(amount: float, currency: str) -> str:
    """A difference: `0.45 USD`, and `less than 0.01 USD` where the cents would read as nothing."""
    return money(amount, currency) if amount >= 0.005 else f"less than 0.01 {currency}"


def interval(figure: Estimate) -> str:
    """`52s to 2m 3s` or `0.02 to 0.10 USD`; empty for an exact figure."""
    if figure.low == figure.high:
        return ""
    if figure.unit == "s":
        return f"{clock(figure.low)} to {clock(figure.high)}"
    low, high = money(figure.low, figure.unit), money(figure.high, figure.unit)
    return f"{low.removesuffix(' ' + figure.unit)} to {high}" if low != high else ""
