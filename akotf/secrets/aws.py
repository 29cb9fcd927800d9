"""`aws-sm:`: AWS Secrets Manager, by boto3 with its own search for credentials and region."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from akotf.model.secret import Reference
from akotf.secrets.reading import CONNECT_TIMEOUT, READ_TIMEOUT, Surroundings, Unresolved, missing, unanswered

SERVICE = "AWS Secrets Manager"
#: Error codes of GetSecretValue and of AWS in common ("Common Errors" of the API reference)
_MISSING = frozenset(
    {"ResourceNotFoundException", "InvalidRequestException"}
)  # the second: marked for deletion
_BUSY = frozenset({"ThrottlingException", "InternalServiceError", "ServiceUnavailable", "RequestTimeout"})


class AwsReader:
    """GetSecretValue, the version AWSCURRENT."""

    def __init__(self, around: Surroundings) -> None:
        # Every AWS SDK but boto3 reads it, and so do people: boto3 knows AWS_DEFAULT_REGION only.
        self._region = around.variables.get("AWS_REGION") or None
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise missing("boto3", "aws") from None
        self._boto3 = boto3
        self._config = Config(
            connect_timeout=CONNECT_TIMEOUT, read_timeout=READ_TIMEOUT,
            retries={"max_attempts": 3, "mode": "standard"},
        )  # fmt: skip

    def read(self, reference: Reference) -> bytes:
        """SecretString as UTF-8, or the bytes of SecretBinary."""
        parts = reference.location.split(":")
        region = parts[3] if parts[0] == "arn" else self._region
        with _told():
            # A session of its own: boto3's default one would keep the credentials of hours ago in a long monitor.
            session = self._boto3.Session()
            client = session.client("secretsmanager", region_name=region, config=self._config)
            try:
                answer: dict[str, Any] = client.get_secret_value(SecretId=reference.location)
            finally:
                client.close()
        text = answer.get("SecretString")
        return text.encode() if text is not None else bytes(answer["SecretBinary"])


@contextmanager
def _told() -> Iterator[None]:
    """botocore's errors in our words. Only codes are taken over: messages are free text."""
    from botocore import exceptions

    try:
        yield
    except exceptions.ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if code in _MISSING:
            raise Unresolved(
                f"{SERVICE} has no such secret ({code})", "mend the name, the region or the account"
            ) from None
        if code in _BUSY or status >= 500:
            raise unanswered(SERVICE) from None
        raise Unresolved(
            f"{SERVICE} refuses it ({code})",
            "allow secretsmanager:GetSecretValue on it (and kms:Decrypt on its key) to akotf's identity",
        ) from None
    except exceptions.NoRegionError:
        raise Unresolved("no AWS region is set", "set AWS_REGION, or write the secret's ARN") from None
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError,
            exceptions.TokenRetrievalError, exceptions.ProfileNotFound):  # fmt: skip
        raise Unresolved(
            "there are no AWS credentials", "log in: aws configure, AWS_PROFILE, or a role"
        ) from None
    except (exceptions.HTTPClientError, exceptions.ConnectionError):
        raise unanswered(SERVICE) from None
    except exceptions.BotoCoreError as error:
        raise Unresolved(
            f"boto3 can't ask {SERVICE} ({type(error).__name__})", "check AWS's settings"
        ) from None
