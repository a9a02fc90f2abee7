"""Bookmarks, against a stub of XProtect's API Gateway that was written from its public description."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablectl.cli.audit_feed import feed
from tablectl.errors import TablectlError, UsageError
from tablectl.feeds.feeding import Unreachable
from tablectl.feeds.marking import Access, Bookmark
from tablectl.feeds.milestone import Milestone
from tablectl.observations import Ruling
from tests.cli.samples import run
from tests.feeds.xprotect import XProtect
from tests.ledger.export.written import BEGAN, Written

CAMERA = "497f6eca-6276-4993-bfeb-53cbbbba6f08"
OTHER = "0d8c5e0a-31f0-4ab7-96a5-5e6f7c5b1a02"
BOOKMARK = Bookmark("ab-1", BEGAN, BEGAN + 1, BEGAN + 2, "header", "description")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "day.db")


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "vms.password"
    path.write_text("s3cret &=+é\n")
    return path


def access(system: XProtect, password: str = "s3cret &=+é") -> Access:
    return Access(system.url, "tablectl", password, seconds=5)


def test_alerts_and_rulings_are_marked_on_every_camera_around_their_moment(written: Written, password: Path) -> None:
    written.alert(60_000.5, "A card was pulled back", "critical", "shoe.pulled_back", number=7)
    written.alert(61_000, "of no weight", "info", number=8)
    written.dealt(62_000)
    written.say(63_000, observation=Ruling(at="2026-11-30T06:01:03.000000Z", do="burn", by="CHIEF7", alert=7, reason="seen"))
    with XProtect() as system:
        system.cameras |= {CAMERA, OTHER}
        words = ["--user", "tablectl", "--password-file", str(password), "--camera", CAMERA, "--camera", OTHER, "--once"]
        feed.main(["bookmarks", str(written.close()), "--to", system.url, *words], standalone_mode=False)
        assert len(system.tokens) == 1
        marked = system.bookmarks
    assert [(one["devicePath"]["id"], one["header"]) for one in marked] == [
        (CAMERA, "t07: A card was pulled back"),
        (OTHER, "t07: A card was pulled back"),
        (CAMERA, "t07: Ruling by CHIEF7: card burned (seen)"),
        (OTHER, "t07: Ruling by CHIEF7: card burned (seen)"),
    ]
    first = marked[0]
    assert [first[name] for name in ("timeBegin", "timeTriggered", "timeEnd")] == [
        "2026-11-30T06:00:50.000500Z",
        "2026-11-30T06:01:00.000500Z",
        "2026-11-30T06:01:20.000500Z",
    ]
    assert first["reference"].endswith("-3")
    assert "critical shoe.pulled_back, alert 7" in first["description"]


def test_a_token_that_ended_or_was_revoked_is_asked_for_anew() -> None:
    with XProtect(lifetime=30) as system:  # shorter than the minute before its end
        system.cameras.add(CAMERA)
        milestone = Milestone(access(system))
        milestone.add(BOOKMARK, CAMERA)
        milestone.add(BOOKMARK, CAMERA)
        assert len(system.tokens) == 2
        system.lifetime = 3600
        milestone.add(BOOKMARK, CAMERA)
        system.revoked |= set(system.tokens)
        milestone.add(BOOKMARK, CAMERA)
        assert len(system.tokens) == 4
        assert len(system.bookmarks) == 4


def test_a_trouble_of_the_system_is_tried_again_and_a_camera_that_has_it_is_left_out(written: Written, password: Path) -> None:
    written.alert(0, "a")
    words = ["--user", "tablectl", "--password-file", str(password), "--camera", CAMERA, "--once"]
    with XProtect() as system:
        system.cameras.add(CAMERA)
        system.answers = [503]
        path = str(written.close())
        with pytest.raises(TablectlError, match="503 Recording server is down"):
            feed.main(["bookmarks", path, "--to", system.url, *words], standalone_mode=False)
        assert system.bookmarks == []
        milestone = Milestone(access(system, "wrong"))
        with pytest.raises(Unreachable, match="does not let tablectl in"):
            milestone.add(BOOKMARK, CAMERA)


def test_a_bookmark_that_is_not_taken_does_not_stop_the_others(written: Written, password: Path) -> None:
    written.alert(0, "a", number=1)
    written.alert(1000, "b", number=2)
    with XProtect() as system:
        system.cameras.add(OTHER)
        words = ["--user", "tablectl", "--password-file", str(password), "--camera", CAMERA, "--camera", OTHER, "--once"]
        result = run("audit", "feed", "bookmarks", written.close(), "--to", system.url, *words)
        assert result.returncode == 0
        assert [one["header"] for one in system.bookmarks] == ["t07: a", "t07: b"]
    assert result.stderr.count(f"camera {CAMERA}: 400 Wrong property devicePath.id".encode()) == 2
    assert b"s3cret" not in result.stderr


def test_an_answer_from_elsewhere_is_not_followed() -> None:
    with XProtect() as system:
        system.cameras.add(CAMERA)
        system.answers = [302]
        with pytest.raises(Unreachable, match="302"):
            Milestone(access(system)).add(BOOKMARK, CAMERA)


@pytest.mark.parametrize("to", ["http://vms.example", "ftp://vms", "https://", "https://me:pw@vms"])
def test_a_password_goes_over_tls_only(to: str, written: Written, password: Path) -> None:
    words = ["--user", "u", "--password-file", str(password), "--camera", CAMERA]
    with pytest.raises(UsageError):
        feed.main(["bookmarks", str(written.close()), "--to", to, *words], standalone_mode=False)
