"""Secrets in files, and those that systemd hands over."""

from pathlib import Path

import pytest

from tablectl.daemon.credentials import credential, others_may


def test_secrets_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "signing.key").write_text("secret\n")
    (tmp_path / "tls.key").write_text("\n")
    variables = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert credential("signing.key", variables) == tmp_path / "signing.key"
    assert credential("tls.key", variables) is None  # the default of the unit
    assert credential("mqtt.password", variables) is None
    for foreign in ("../signing.key", "..", "", "/etc/passwd"):
        assert credential(foreign, variables) is None
    assert credential("signing.key", {}) is None


def test_a_secret_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "signing.key"
    path.write_text("secret\n")
    path.chmod(0o640)
    assert others_may(path) == "0640"
    path.chmod(0o600)
    assert others_may(path) is None
    path.chmod(0o440)  # as systemd 254 and newer hands it over
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert others_may(path) is None
