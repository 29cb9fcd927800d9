"""Money and prices per hour: exact decimals, always with a currency."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from typing import Any

from pydantic import Field

from akotf.model.base import Frozen
from akotf.model.written import shown

#: ISO 4217, list one of 2026: the currencies in use, funds and metals left out.
CURRENCIES = frozenset({
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BHD", "BIF", "BMD",
    "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY", "COP", "CRC",
    "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL",
    "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR",
    "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP",
    "LKR", "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK",
    "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK", "PHP", "PKR",
    "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE",
    "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD",
    "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF", "XPF",
    "YER", "ZAR", "ZMW", "ZWG",
})  # fmt: skip
#: Digits after the point that a currency's smallest coin has, where they are not two (ISO 4217).
_COINS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}  # fmt: skip

_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
#: What is read, also as JSON Schema says it. An amount below 10^12 is exact wherever it goes.
MONEY_PATTERN = rf" *(?:{_NUMBER} *([A-Z]{{3}})|([A-Z]{{3}}) *{_NUMBER}) *"
RATE_PATTERN = rf" *{_NUMBER} *([A-Z]{{3}}) */ *(gpu|node) */ *h *"


class Money(Frozen):
    """An amount in a currency (ISO 4217 code)."""

    amount: Decimal = Field(ge=0)
    currency: str = "USD"

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


class Rate(Frozen):
    """A price per hour, for one GPU or for one node."""

    amount: Decimal = Field(ge=0)
    currency: str = "USD"
    per: str = "gpu"  # gpu | node

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}/{self.per}/h"


def parse_money(value: Any) -> Money:
    """`25 USD` or `USD 0.60`. ValueError without a currency, below zero, or finer than the currency's coins."""
    if isinstance(value, Money):
        return value
    if isinstance(value, dict):
        return Money.model_validate(value)
    match = re.fullmatch(MONEY_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise _fault(value, "an amount of money", "25 USD")
    amount, currency = Decimal(match[1] or match[4]), _known(match[2] or match[3])
    digits = _COINS.get(currency, 2)
    if amount != round(amount, digits):
        raise ValueError(
            f"{value.strip()!r} is finer than {currency} has coins; write {round(amount, digits)} {currency} or the like"
        )
    return Money(amount=amount, currency=currency)


def parse_rate(value: Any) -> Rate:
    """`0.60 USD/gpu/h` or `12 USD/node/h`."""
    if isinstance(value, Rate):
        return value
    if isinstance(value, dict):
        return Rate.model_validate(value)
    match = re.fullmatch(RATE_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise _fault(value, "a price per hour", "0.60 USD/gpu/h or 12 USD/node/h")
    return Rate(amount=Decimal(match[1]), currency=_known(match[2]), per=match[3])


def _known(currency: str) -> str:
    if currency in CURRENCIES:
        return currency
    near = [c for c in sorted(CURRENCIES) if sorted(c) == sorted(currency)]
    near = near or difflib.get_close_matches(currency, sorted(CURRENCIES), n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else "write its ISO 4217 code, such as USD or EUR"
    raise ValueError(f"{currency} is not a currency; {hint}")


def _fault(value: Any, what: str, example: str) -> ValueError:
    """Why a value is no money, and what to write instead."""
    text = value.strip() if isinstance(value, str) else str(value)
    said = shown(text)
    if not isinstance(value, str) or re.fullmatch(r"[0-9.]+", text):
        return ValueError(f"{said} has no currency; write it as {example}")
    if text.startswith("-"):
        return ValueError(f"{said} is below zero; write it as {example}")
    if any(sign in text for sign in "$€£¥₹"):
        return ValueError(f"{said} has a currency's sign; write its code instead, as in {example}")
    if re.fullmatch(RATE_PATTERN, re.sub(r"/ *h(ou)?r? *$", "/gpu/h", text)):
        return ValueError(f"{said} does not say of what; write /gpu/h or /node/h at its end")
    if text.isascii() and text != text.upper() and re.fullmatch(MONEY_PATTERN, text.upper()):
        return ValueError(f"{said} has a currency in small letters; write {text.upper()}")
    return ValueError(f"{said} is not {what}; write it as {example}")
