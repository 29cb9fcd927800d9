"""Ed25519 keys and signatures for evidence. `cryptography` is loaded on first use."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from akotf.errors import IntegrityError, StoreError
from akotf.model.statement import PAYLOAD, Envelope, Signature, pae, unbase64

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


@dataclass(frozen=True)
class Signer:
    """A private key that signs evidence. `keyid` is the SHA-256 of the public key's DER form."""

    key: Ed25519PrivateKey
    keyid: str

    def envelope(self, body: bytes, payload_type: str = PAYLOAD) -> Envelope:
        """`body` in a signed DSSE envelope. Ed25519 is deterministic (RFC 8032): the same body, the same envelope."""
        signature = base64.b64encode(self.key.sign(pae(payload_type, body))).decode()
        return Envelope.of(body, payload_type, (Signature(keyid=self.keyid, sig=signature),))


def generate_key(path: Path) -> Path:
    """Write a new private key to `path` (mode 0600) and its public key to `path`.pub, which is returned.

    StoreError when one of them is there already.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = path.with_name(path.name + ".pub")
    _write_new(path, pem, 0o600)
    _write_new(public, _public_pem(key.public_key()), 0o644)
    return public


def export_public_key(private: Path, public: Path) -> Path:
    """Write the public key of `private` to `public`, to be pinned by those who verify."""
    _write_new(public, _public_pem(load_signer(private).key.public_key()), 0o644)
    return public


def load_signer(path: Path) -> Signer:
    """The signer of a PEM file. StoreError when it can't be read, is open to others, or is no Ed25519 key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = _read(path)
    if path.stat().st_mode & 0o077:
        raise StoreError("the signing key is open to others", where=str(path), remedy=f"chmod 600 {path}")
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        raise _no_key(path, "private") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "private")
    return Signer(key, _keyid(key.public_key()))


def signed_by(envelope: Envelope, public_key: Path) -> bool:
    """True when a signature of the envelope is by the pinned key. The key ids in the envelope prove nothing and are not read."""
    from cryptography.exceptions import InvalidSignature

    key = _load_public(public_key)
    try:
        message = pae(envelope.payload_type, envelope.body())
        signatures = [unbase64(signature.sig) for signature in envelope.signatures]
    except ValueError as error:
        raise IntegrityError(f"the envelope is no base64: {error}", remedy="take it from a copy") from error
    for signature in signatures:
        try:
            key.verify(signature, message)
        except InvalidSignature:
            continue
        return True
    return False


def _load_public(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read(path))
    except ValueError as error:
        raise _no_key(path, "public") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "public")
    return key


def _public_pem(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _keyid(key: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"the key can't be read: {error.strerror}",
            where=str(path),
            remedy="check the path and its permissions",
        ) from error


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StoreError(
            f"the key can't be written: {error.strerror}",
            where=str(path),
            remedy="choose a path where nothing is yet",
        ) from error


def _no_key(path: Path, which: str) -> StoreError:
    return StoreError(
        f"is no {which} Ed25519 key in PEM form without a passphrase", where=str(path),
        remedy="make one with: openssl genpkey -algorithm ed25519",
    )  # fmt: skip
