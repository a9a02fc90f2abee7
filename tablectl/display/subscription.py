"""The one connection to the broker, which only listens: the topics of the tables, and a sign of life every second and a half.

The session is kept by the broker for some minutes under a name of this process, so that what is told while the network is away
is heard later. Whether a broker that says nothing is still there is found by asking it to end a subscription that there never
was: that costs nothing, changes nothing, needs no right to write, and has to be answered.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tablectl.display.hub import Hub
from tablectl.errors import ConfigError
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import Credentials

__all__ = ["Subscription"]

CHANNELS: Final = ("evt/#", "state", "prompt", "status", "info")
KEPT_SECONDS: Final = 300
LOOK_SECONDS: Final = 1.5
ANSWER_SECONDS: Final = 4.0
CONNECT_SECONDS: Final = 5.0
FIRST_RETRY, LAST_RETRY = 0.2, 3.0
NOWHERE: Final = "tablectl/v1/-/-/-/nothing"
_SILENT: Final = logging.getLogger("tablectl.display.broker")
_SILENT.setLevel(logging.CRITICAL + 1)
"""The library's own complaints, such as of an answer to a question that was given up: what is amiss, we tell ourselves."""
QUEUED: Final = 50_000
"""Messages that may wait to be taken in. More cannot come together but from a broker gone wrong."""


class Subscription:
    """Listens until it is cancelled, and tells the hub. `sites` are those to hear of; all where none is named."""

    def __init__(
        self,
        hub: Hub,
        address: Address,
        credentials: Credentials,
        *,
        sites: Sequence[str] = (),
        log: Callable[[str], object],
    ) -> None:
        self._hub = hub
        self._address = address
        self._credentials = credentials
        self._sites = tuple(sites) or ("+",)
        self._log = log
        self._name = f"tablectl-display-{secrets.token_hex(6)}"
        self._said: str | None = ""

    @property
    def topics(self) -> list[tuple[str, int]]:
        """What is subscribed to, each with its QoS."""
        return [(f"tablectl/v1/{site}/+/+/{channel}", 1) for site in self._sites for channel in CHANNELS]

    async def run(self) -> None:
        """Connect, listen, and connect again, for ever."""
        v5, delay = True, FIRST_RETRY
        while True:
            met = False
            try:
                async with self._client(v5=v5) as client:
                    await client.subscribe(self.topics)
                    met, delay = True, FIRST_RETRY
                    self._hub.broker_is_there()
                    self._tell(None)
                    await self._listen(client)
            except (aiomqtt.MqttError, OSError, ConfigError, ValueError) as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise asyncio.CancelledError from error  # the farewell failed, and hid that we were told to stop
                why = str(error) or type(error).__name__
                self._hub.broker_is_away(why)
                self._tell(why)
                if not met and isinstance(error, aiomqtt.MqttError):
                    v5 = not v5  # one that speaks 3.1.1 alone refuses, hangs up or says nothing
            await asyncio.sleep(delay)
            delay = min(2 * delay, LAST_RETRY)

    def _tell(self, why: str | None) -> None:
        """Once for each trouble, and once at its end."""
        if why != self._said:
            self._log(f"{self._address}: {why}" if why else f"{self._address}: listening")
            self._said = why

    def _client(self, *, v5: bool) -> aiomqtt.Client:
        """A client that was never connected. Raises `ConfigError` when a file of the credentials cannot be used."""
        context = self._credentials.context(self._address)
        login = self._credentials.login(self._address)
        user, password = login if login is not None else (None, None)
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = KEPT_SECONDS
        return aiomqtt.Client(
            self._address.host,
            self._address.port,
            username=user,
            password=password,
            identifier=self._name,
            protocol=aiomqtt.ProtocolVersion.V5 if v5 else aiomqtt.ProtocolVersion.V311,
            clean_session=None if v5 else True,
            clean_start=False if v5 else 3,
            properties=properties if v5 else None,
            timeout=CONNECT_SECONDS,
            keepalive=15,
            tls_context=context,
            max_queued_incoming_messages=QUEUED,
            logger=_SILENT,
        )

    async def _listen(self, client: aiomqtt.Client) -> None:
        """Take in what comes. Raises `MqttError` when the connection is lost or the broker no longer answers."""
        looking = asyncio.create_task(self._look(client))
        hearing = asyncio.create_task(self._hear(client))
        try:
            done, _ = await asyncio.wait({looking, hearing}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (looking, hearing):
                task.cancel()
            await asyncio.gather(looking, hearing, return_exceptions=True)

    async def _hear(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            payload = message.payload
            if isinstance(payload, bytes | bytearray):
                self._hub.hear(message.topic.value, bytes(payload))

    async def _look(self, client: aiomqtt.Client) -> None:
        """Raises `MqttError` when the broker has left two questions unanswered."""
        missed = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await client.unsubscribe(NOWHERE, timeout=ANSWER_SECONDS)
                missed = 0
                self._hub.broker_is_there()
            except aiomqtt.MqttError:
                missed += 1
                if missed == 2:
                    raise
