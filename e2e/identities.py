"""Token issuers and certificate authorities of the tests: real keys, made anew for each test."""

import datetime as dt
import json
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ALGORITHM = "ES256"
_LIFETIME = dt.timedelta(hours=1)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True)
class Issuer:
    """Who signs tokens."""

    name: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=_new_key)

    @property
    def jwks(self) -> str:
        """The public half, as a JSON Web Key Set."""
        public = jwt.get_algorithm_by_name(ALGORITHM).to_jwk(self.key.public_key(), as_dict=True)
        return json.dumps({"keys": [public | {"kid": "1", "alg": ALGORITHM}]})

    def token(self, **claims: Any) -> str:
        """Return a token with these claims; ``iss`` and ``exp`` are set where they are not among them."""
        standard = {"iss": self.name, "exp": int(time.time()) + 3600}
        return jwt.encode(standard | claims, self.key, ALGORITHM, headers={"kid": "1"})


def unsigned(**claims: Any) -> str:
    """Return a token with the algorithm ``none``."""
    return jwt.encode({"exp": int(time.time()) + 3600} | claims, "", "none")


@dataclass(frozen=True)
class Authority:
    """Who signs certificates, in a folder of their own."""

    folder: Path
    name: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=_new_key)

    @property
    def certificate(self) -> Path:
        """Its own certificate."""
        path = self.folder / f"{self.name}.crt"
        if not path.exists():
            authority = x509.BasicConstraints(ca=True, path_length=0)
            self._write(path, self._builder(self.name, self.key).add_extension(authority, critical=True))
        return path

    def issue(self, name: str, *, uris: tuple[str, ...] = (), at: Path | None = None) -> tuple[Path, Path]:
        """Write a certificate for 127.0.0.1 with these URIs, and its key, and return their paths."""
        folder = at or self.folder
        key = _new_key()
        names = [x509.IPAddress(ip_address("127.0.0.1")), *map(x509.UniformResourceIdentifier, uris)]
        extension = x509.SubjectAlternativeName(names)
        certificate, private = folder / f"{name}.crt", folder / f"{name}.key"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        self._write(certificate, self._builder(name, key).add_extension(extension, critical=False))
        return certificate, private

    def _builder(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name(self.name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _LIFETIME)
            .not_valid_after(now + _LIFETIME)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        certificate = builder.sign(self.key, hashes.SHA256())
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
