"""`gcp-sm:`: Google Secret Manager, by its SDK over REST with Application Default Credentials."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from akotf.model.secret import Reference
from akotf.secrets.reading import READ_TIMEOUT, Unresolved, missing, unanswered

SERVICE = "Google Secret Manager"


class GcpReader:
    """AccessSecretVersion; without a version, the latest.

    REST and not gRPC: it follows the machine's proxy and certificate settings as the other services' SDKs do.
    """

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", FutureWarning
                )  # of the end of some Python's support, years ahead
                from google.api_core import retry
                from google.cloud import secretmanager
        except ImportError:
            raise missing("google-cloud-secret-manager", "gcp") from None
        self._client = secretmanager.SecretManagerServiceClient
        # The SDK's own would go on for a minute.
        self._retry = retry.Retry(initial=0.3, multiplier=2.0, timeout=2.0)

    def read(self, reference: Reference) -> bytes:
        """The payload's bytes."""
        name = (
            reference.location
            if "/versions/" in reference.location
            else f"{reference.location}/versions/latest"
        )
        parts = name.split("/")
        options = {}
        if parts[2] == "locations":  # regional secrets are served by their region only
            options["api_endpoint"] = f"secretmanager.{parts[3]}.rep.googleapis.com"
        with _told(), self._client(transport="rest", client_options=options) as client:
            answer = client.access_secret_version(name=name, timeout=READ_TIMEOUT, retry=self._retry)
        return bytes(answer.payload.data)


@contextmanager
def _told() -> Iterator[None]:
    """The SDK's errors in our words. Only the kind of an error is taken over: messages are free text."""
    from google.api_core import exceptions
    from google.auth import exceptions as auth
    from requests import exceptions as http

    try:
        yield
    except (exceptions.NotFound, exceptions.BadRequest) as error:
        # 400 FAILED_PRECONDITION: the version is disabled or destroyed
        raise Unresolved(
            f"{SERVICE} has no such secret, or its version is disabled ({type(error).__name__})",
            "mend the name, or enable the version",
        ) from None
    except (exceptions.Forbidden, exceptions.Unauthorized) as error:
        raise Unresolved(
            f"{SERVICE} refuses it ({type(error).__name__})",
            "grant roles/secretmanager.secretAccessor on it to akotf's identity",
        ) from None
    except auth.TransportError:
        raise unanswered("Google's token service") from None
    except auth.GoogleAuthError as error:
        raise Unresolved(
            f"there are no usable Google credentials ({type(error).__name__})",
            "gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
        ) from None
    except (exceptions.GoogleAPIError, http.RequestException):
        raise unanswered(SERVICE) from None
