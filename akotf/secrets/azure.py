"""`azure-kv:`: Azure Key Vault, by its SDK with DefaultAzureCredential."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from akotf.model.secret import Reference
from akotf.secrets.reading import CONNECT_TIMEOUT, READ_TIMEOUT, Unresolved, missing, unanswered

SERVICE = "Azure Key Vault"


class AzureReader:
    """Get Secret; without a version, the current one."""

    def __init__(self) -> None:
        try:
            from azure.identity import DefaultAzureCredential
            from azure.keyvault.secrets import SecretClient
        except ImportError:
            raise missing("azure-keyvault-secrets or azure-identity", "azure") from None
        self._client, self._credential = SecretClient, DefaultAzureCredential

    def read(self, reference: Reference) -> bytes:
        """The secret's text as UTF-8."""
        vault, name, version = (*reference.location.split("/"), "")[:3]
        host = vault if "." in vault else f"{vault}.vault.azure.net"
        timeouts = {"retry_total": 2, "connection_timeout": CONNECT_TIMEOUT, "read_timeout": READ_TIMEOUT}
        with (
            _told(),
            self._credential(process_timeout=int(READ_TIMEOUT), **timeouts) as credential,
            self._client(f"https://{host}", credential, **timeouts) as client,
        ):
            value = client.get_secret(name, version or None).value
        if value is None:
            raise Unresolved(f"{SERVICE} gives no value for it", "set a value")
        return str(value).encode()


@contextmanager
def _told() -> Iterator[None]:
    """The SDK's errors in our words. Only the kind of an error is taken over: messages are free text."""
    from azure.core import exceptions

    try:
        yield
    except exceptions.ResourceNotFoundError:
        raise Unresolved(f"{SERVICE} has no such secret", "mend the vault, the name or the version") from None
    except exceptions.ClientAuthenticationError as error:
        raise Unresolved(
            f"there are no usable Azure credentials ({type(error).__name__})",
            "az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and a secret, certificate or federated token",
        ) from None
    except (exceptions.ServiceRequestError, exceptions.ServiceResponseError):
        raise unanswered(SERVICE) from None
    except exceptions.HttpResponseError as error:
        status = error.status_code or 0
        if status >= 500 or status == 429:
            raise unanswered(SERVICE) from None
        # 403: no role; also a secret that is disabled, expired or not valid yet
        raise Unresolved(
            f"{SERVICE} refuses it (HTTP {status})",
            "grant the role Key Vault Secrets User to akotf's identity, and see that the secret is enabled",
        ) from None
