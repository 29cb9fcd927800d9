"""`vault:`: HashiCorp Vault's KV engines, both versions, by hvac with Vault's own variables and token file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from akotf.model.secret import Reference
from akotf.secrets.reading import READ_TIMEOUT, Surroundings, Unresolved, missing, unanswered

SERVICE = "Vault"


class VaultReader:
    """The latest version of a secret: all of its keys, as a JSON object.

    Which part of the path is the mount, and which version of KV it has, Vault says itself (the call that its own
    command line makes first: `sys/internal/ui/mounts/PATH`). Where that is refused: KV version 2, mounted at the
    first segment.
    """

    def __init__(self, around: Surroundings) -> None:
        try:
            import hvac
        except ImportError:
            raise missing("hvac", "vault") from None
        self._hvac = hvac
        self._namespace = around.variables.get("VAULT_NAMESPACE") or None

    def read(self, reference: Reference) -> bytes:
        """The secret's keys as JSON."""
        client = self._hvac.Client(timeout=READ_TIMEOUT, namespace=self._namespace)
        try:
            with _told():
                if not client.token:
                    raise Unresolved("there is no Vault token", "vault login, or set VAULT_TOKEN")
                mount, version = self._mount(client, reference.location)
                path = reference.location[len(mount) + 1 :]
                if not path:
                    raise Unresolved(f"{mount} is a mount, not a secret", "write vault:MOUNT/PATH#KEY")
                return json.dumps(_data(client, mount, path, version)).encode()
        finally:
            client.adapter.close()

    def _mount(self, client: Any, location: str) -> tuple[str, str]:
        try:
            said = client.adapter.get(f"/v1/sys/internal/ui/mounts/{location}")["data"]
            return str(said["path"]).strip("/"), str((said.get("options") or {}).get("version", "1"))
        except (self._hvac.exceptions.Forbidden, self._hvac.exceptions.InvalidPath):
            return location.partition("/")[0], "2"


def _data(client: Any, mount: str, path: str, version: str) -> dict[str, Any]:
    if version == "1":
        found: dict[str, Any] = client.secrets.kv.v1.read_secret(path, mount_point=mount)["data"]
        return found
    answer = client.secrets.kv.v2.read_secret_version(path, mount_point=mount, raise_on_deleted_version=True)
    kept: dict[str, Any] = answer["data"]["data"]
    return kept


@contextmanager
def _told() -> Iterator[None]:
    """hvac's errors in our words. Only the kind of an error is taken over: messages are free text."""
    from hvac import exceptions
    from requests import exceptions as http

    try:
        yield
    except exceptions.InvalidPath:
        raise Unresolved(
            f"{SERVICE} has no such secret", "mend mount and path: vault kv get MOUNT/PATH"
        ) from None
    except (exceptions.Forbidden, exceptions.Unauthorized):
        raise Unresolved(
            f"{SERVICE} refuses it", "log in again, or give the token's policy `read` on the path"
        ) from None
    except (exceptions.VaultDown, exceptions.InternalServerError, exceptions.BadGateway, exceptions.RateLimitExceeded,
            exceptions.VaultNotInitialized, http.ConnectionError, http.Timeout):  # fmt: skip
        raise unanswered(SERVICE) from None
    except (exceptions.VaultError, http.RequestException) as error:
        raise Unresolved(
            f"{SERVICE} can't be asked ({type(error).__name__})", "check VAULT_ADDR and VAULT_NAMESPACE"
        ) from None
