"""The unit of the Debian package."""

import os
import re

UNIT = "deploy/systemd/docent.service"
# systemd's scale goes from 0 to 10; the option takes tenths. What is over 3.0 fails.
LIMIT = 30


def exposure(run, unit, limit, **options) -> str:
    return run("systemd-analyze", "security", "--offline=true", f"--threshold={limit}", "--no-pager", unit, **options)


def test_the_unit_is_valid(root, run, tmp_path):
    # The program of the unit must exist, which the package installs.
    unit = tmp_path / "docent.service"
    unit.write_text((root / UNIT).read_text().replace("/usr/bin/docent", "/usr/bin/true"))
    run("systemd-analyze", "verify", "--man=no", unit)


def test_the_unit_exposes_little(root, run):
    printed = exposure(run, root / UNIT, LIMIT)
    (level,) = re.findall(r"Overall exposure level .*: ([0-9.]+)", printed)
    assert float(level) <= LIMIT / 10


def test_a_unit_without_protection_is_rejected(root, run, tmp_path):
    unit = tmp_path / "docent.service"
    kept = [
        line for line in (root / UNIT).read_text().splitlines() if not line.startswith(("Protect", "Private", "System"))
    ]
    unit.write_text("\n".join(kept))
    exposure(run, unit, LIMIT, fails=True)


def test_the_settings_are_those_of_the_server(root, run, tmp_path):
    """The file of the package is valid, and so are the settings that it shows in comments."""
    text = (root / "deploy/systemd/docent.toml").read_text()
    shown = re.sub(r"^# (?=[a-z-]+ = )", "", text, flags=re.M)
    # Later keys would be duplicates.
    lines = {line.partition(" = ")[0]: line for line in shown.splitlines() if " = " in line}
    keys = {"store", "search-index", "listen", "ui-listen", "admin-password-file", "secret-key-file"}
    assert lines.keys() == keys
    lines["store"] = f'store = "sqlite:{tmp_path}/docent.db"'
    (tmp_path / "docent.toml").write_text("\n".join(lines.values()))
    arguments = ("--config", tmp_path / "docent.toml", "--user", "ada", "--name", "test")
    run(os.environ["DOCENT_TEST_BINARY"], "token", "create", *arguments)
    assert (tmp_path / "docent.db").is_file()
