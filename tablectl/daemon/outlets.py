"""What leaves a live table and what is asked of it over MQTT: the publisher, the commands, and what is said beside the ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tablectl.config import ConfigFile
from tablectl.daemon.opening import secret_of
from tablectl.daemon.storage import Storage
from tablectl.daemon.table import LiveTable
from tablectl.errors import ConfigError, LedgerError
from tablectl.ledger.reader import Outbox, Reader
from tablectl.mqtt.address import Address
from tablectl.mqtt.commands import Commands
from tablectl.mqtt.credentials import Credentials
from tablectl.mqtt.identity import Person, Trust, public_key
from tablectl.mqtt.judgement import Order
from tablectl.mqtt.proofs import Prover
from tablectl.mqtt.publisher import Publisher
from tablectl.mqtt.telling import CURSOR

__all__ = ["Outlets", "credentials_of", "trust_of"]

GOODBYE: Final = 5.0
"""Seconds that a broker has, when the table stops, to take what it was not told yet."""


class Outlets:
    """The table's two connections to its broker, while entered; without a broker nothing leaves, and nothing is asked.

    `notify` is called when a command has arrived. Entering raises `ConfigError`; it does not wait for the broker.
    """

    def __init__(
        self, file: ConfigFile, storage: Storage, table: LiveTable, *, log: Callable[[str], object], notify: Callable[[], object]
    ) -> None:
        self._file = file
        self._storage = storage
        self._table = table
        self._log = log
        self._notify = notify
        self._stack = ExitStack()
        self._ear = ExitStack()
        self._publisher: Publisher | None = None
        self._commands: Commands | None = None
        self._following = table.ledger.path
        self._aside: tuple[bytes, bytes] | None = None

    def __enter__(self) -> Self:
        broker = self._file.config.broker
        if broker is None:
            return self
        address, credentials = Address.parse(broker.url), credentials_of(self._file)
        with ExitStack() as stack:
            first, *later = self._untold()
            self._publisher = stack.enter_context(Publisher(first, address, credentials=credentials))
            for path in later:
                self._publisher.follow(path)
            self._commands = self._ear.enter_context(
                Commands(
                    address,
                    self._file.name,
                    trust=trust_of(self._file),
                    log=self._log,
                    credentials=credentials,
                    notify=self._notify,
                    prover=Prover(self._find),
                )
            )
            self._stack = stack.pop_all()
        return self

    def _untold(self) -> list[Path]:
        """The ledgers of which the broker was not told all yet, oldest first, and the day's."""
        paths = [self._storage.path(day) for day in self._storage.days()]
        untold = [paths[-1]]
        for path in reversed(paths[:-1]):
            try:
                with Outbox(path) as outbox:
                    if not outbox.count_notices(outbox.cursor(CURSOR)):
                        break
            except LedgerError as error:
                self._log(f"not all of {path.name} may have been told: {error}")
                break
            untold.insert(0, path)
        return untold

    def _find(self, session: str) -> Path | None:
        """The ledger of a session; the newest are looked at first. Called in the thread that hears commands."""
        for day in reversed(self._storage.days()):
            with suppress(LedgerError), Reader(self._storage.path(day)) as reader:
                if reader.session == session:
                    return reader.path
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ear.close()
        self._stack.close()

    @property
    def has_broker(self) -> bool:
        """Whether there is a broker to be told anything."""
        return self._publisher is not None

    @property
    def online(self) -> bool:
        """Whether the broker is there."""
        return self._publisher is not None and self._publisher.online

    @property
    def trouble(self) -> str | None:
        """What is wrong between us and the broker, in words; None while nothing is."""
        return self._publisher.trouble if self._publisher is not None else None

    @property
    def status(self) -> str:
        """How it stands with the broker, in a word or two."""
        if self._publisher is None:
            return "none"
        return "online" if self.online else f"away ({self.trouble or 'not reached yet'})"

    def wake(self) -> None:
        """Something was committed."""
        self._aside = None
        if self._publisher is not None:
            self._publisher.wake()

    def follow(self, ledger: Path) -> None:
        """Go on with this ledger when all of those before it is told; the same one again changes nothing."""
        if ledger != self._following:
            self._following = ledger
            if self._publisher is not None:
                self._publisher.follow(ledger)

    def say_aside(self, table: LiveTable) -> None:
        """Say status and prompt past the ledger, which cannot be written: the dealer must still be told what to do."""
        if self._publisher is None:
            return
        status, prompt = table.live.latest("status"), table.live.latest("prompt")
        if (status, prompt) != self._aside:
            self._aside = (status, prompt)
            if status:
                self._publisher.aside("status", status)
            if prompt:
                self._publisher.aside("prompt", prompt)

    def order(self) -> Order | bytes | None:
        """The next command, or the record of one that was refused; None when there is none."""
        return self._commands.take(0.0) if self._commands is not None else None

    def stop_listening(self) -> list[bytes]:
        """Take no more commands; gives the records of what was refused last, and not asked for yet."""
        self._ear.close()
        found: list[bytes] = []
        while (order := self.order()) is not None:
            if isinstance(order, bytes):
                found.append(order)
        return found

    def answer(self, order: Order, response: bytes) -> None:
        """Answer a command."""
        if self._commands is not None:
            self._commands.answer(order, response)

    def change(self, file: ConfigFile) -> None:
        """Believe those whom the configuration names now."""
        self._file = file
        if self._commands is not None:
            self._commands.believe(trust_of(file))

    def last_words(self) -> None:
        """Wait a little for the broker to take the rest."""
        if self._publisher is not None and self._publisher.online:
            try:
                self._publisher.drain(GOODBYE)
            except LedgerError as error:
                self._log(str(error))


def credentials_of(file: ConfigFile) -> Credentials:
    """What the table shows its broker. Raises `ConfigError` for a secret that was not handed over."""
    broker = file.config.broker
    assert broker is not None
    return Credentials(
        authorities=file.beside(broker.ca) if broker.ca else None,
        certificate=file.beside(broker.certificate) if broker.certificate else None,
        key=secret_of(file, "broker.key", broker.key) if broker.key else None,
        user=broker.user,
        password=secret_of(file, "broker.password", broker.password) if broker.password else None,
    )


def trust_of(file: ConfigFile) -> Trust:
    """Whom the table believes. Raises `ConfigError` at a key that is none."""
    people = {}
    for index, person in enumerate(file.config.people):
        try:
            key = None if person.key is None else public_key(person.key)
        except ConfigError as error:
            raise file.fault(f"people[{index}].key", error.message) from None
        people[person.name] = Person(person.name, frozenset(person.may), key)
    accept = file.config.commands.accept
    return Trust(people, vouched="certificate" in accept, open="open" in accept)
