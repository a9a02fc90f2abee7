"""One paho client for one connection, driven by the thread that made it. `link`, `talk` and `listener` are made of it.

paho frames packets; nothing else of it is relied on. Every connection has a new client, so that nothing ever waits in paho's own
queue, which drops or refuses when it is full, and nothing is sent again behind our back. Its loop is turned here, since its own
thread dies of an exception while it still says it is connected.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
from typing import Any, Final

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tablectl.errors import ConfigError
from tablectl.mqtt.address import Address
from tablectl.mqtt.credentials import NONE, Credentials
from tablectl.mqtt.messages import KEEPALIVE

__all__ = ["NOBODY_LISTENS", "Line", "Lost", "Refused", "Silent", "refusal_of"]

NOBODY_LISTENS: Final = 0x10
"""What a broker (MQTT 5) acknowledges a message with that nobody has subscribed to."""
_VERSION_UNSUPPORTED: Final = 0x84
_NEVER: Final = frozenset({0x85, 0x86, 0x87, 0x8A, 0x8C})
"""Answers to a CONNECT that waiting does not mend: client id, user or password, no rights, banned, method."""
_ALERT = re.compile(r"\[SSL: (?:TLSV1|TLSV13|SSLV3)_ALERT_([A-Z_]+)\]")
_ALERTS: Final = {
    "CERTIFICATE_REQUIRED": "it wants a client certificate and was shown none",
    "HANDSHAKE_FAILURE": "it wants a client certificate, or other ciphers",
    "UNKNOWN_CA": "it does not know who signed our certificate",
    "CERTIFICATE_EXPIRED": "our certificate has expired",
    "CERTIFICATE_REVOKED": "our certificate was revoked",
    "CERTIFICATE_UNKNOWN": "it does not accept our certificate",
    "BAD_CERTIFICATE": "it does not accept our certificate",
    "UNSUPPORTED_CERTIFICATE": "our certificate is not for clients",
    "DECRYPT_ERROR": "our certificate's signature does not hold",
    "ACCESS_DENIED": "it does not let our certificate in",
}
"""What a broker says during the handshake, in words."""


class Lost(Exception):
    """The connection is gone or never came about; the text says why, for a person."""


class Silent(Lost):
    """Something took the connection and gave no CONNACK that could be read: perhaps it does not speak this version of MQTT.

    `for_good` when the broker said that it does not.
    """

    def __init__(self, why: str, *, for_good: bool = False):
        super().__init__(why)
        self.for_good = for_good


class Refused(Lost):
    """The broker knows us and does not want us: trying again soon is of no use."""


class Line:
    """A client that is not connected yet. Its callbacks must not raise: they set fields and append.

    `seconds` bounds the making of the connection. `alert` is what the broker has against our certificate, in words.
    """

    def __init__(self, address: Address, credentials: Credentials | None, client_id: str, *, v5: bool, seconds: float):
        self._address = address
        self._credentials = credentials or NONE
        self._v5 = v5
        self._poll = select.poll()
        self.alert: str | None = None
        self.client = Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            clean_session=None if v5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if v5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
        )
        self.client.connect_timeout = seconds

    def connect(self, **limits: int) -> None:
        """Connect and ask to be let in; the CONNACK comes to `on_connect`, within `turn`.

        No session is kept on the broker. `limits` are MQTT 5's properties of a CONNECT. Raises `Lost`, `Refused`.
        """
        client = self.client
        fresh: dict[str, Any] = {}
        if self._v5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 0
            for name, value in limits.items():
                setattr(properties, name, value)
            fresh = {"clean_start": True, "properties": properties}
        try:
            context = self._credentials.context(self._address)
            login = self._credentials.login(self._address)
        except ConfigError as error:
            raise Lost(str(error)) from error
        if login is not None:
            client.username_pw_set(*login)
        if context is not None:
            client.tls_set_context(context)
            client.on_log = self._on_log
            # So that the CONNECT waits for `turn`, which reads first: a broker that has hung up already said why before it did.
            client.on_socket_register_write = lambda *_: None
        try:
            client.connect(self._address.host, self._address.port, KEEPALIVE, **fresh)
        except ssl.SSLCertVerificationError as error:
            raise Refused(f"its certificate is not trusted: {error.verify_message}") from error
        except (OSError, ValueError) as error:
            if (alert := _alert(str(error))) is not None:
                raise Refused(alert) from error
            raise Lost((error.strerror if isinstance(error, OSError) else None) or str(error) or "timed out") from error
        sock = client.socket()
        if isinstance(sock, socket.socket):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def turn(self, seconds: float, wake: int | None = None) -> bool:
        """Wait at most `seconds` for the broker, or for the descriptor `wake`, and do what there is to do.

        True: `wake` is readable. Raises `Lost` when there is no connection, or paho failed; `Refused` when it ended because the
        broker does not want our certificate. That it ended otherwise is told to `on_disconnect`.
        """
        client = self.client
        sock = client.socket()
        if sock is None:
            raise Lost("the connection was closed")
        number = sock.fileno()
        self._poll.register(number, select.POLLIN | (select.POLLOUT if client.want_write() else 0))
        if wake is not None:
            self._poll.register(wake, select.POLLIN)
        held_back = isinstance(sock, ssl.SSLSocket) and sock.pending()  # already out of the socket, so poll() would not tell
        ready = dict(self._poll.poll(0 if held_back else max(0.0, seconds) * 1000))
        self._poll.unregister(number)
        if wake is not None:
            self._poll.unregister(wake)
        try:
            if held_back or ready.get(number, 0) & ~select.POLLOUT:
                client.loop_read()
            if client.want_write():
                client.loop_write()
            client.loop_misc()
        except Exception as error:  # paho's own faults end the connection, and not the thread
            raise Lost(f"the client failed: {error!r}") from error
        if self.alert is not None:
            raise Refused(self.alert)
        return wake in ready

    def read(self) -> None:
        """Take in a packet if there is one, without waiting. Raises `Lost` when paho failed."""
        try:
            self.client.loop_read()
        except Exception as error:
            raise Lost(f"the client failed: {error!r}") from error

    def met(self) -> None:
        """The broker has let us in: no word about certificates comes any more."""
        self.client.on_log = None
        self.client.on_socket_register_write = None

    def close(self, *, politely: bool = True) -> None:
        """Hang up. Unless `politely`, the broker publishes the last will."""
        self.client.on_disconnect = None
        if politely:
            self.client.disconnect()
        sock = self.client.socket()
        if sock is not None:
            sock.close()

    def _on_log(self, client: Any, data: Any, level: int, text: str) -> None:
        # TLS 1.3 judges our certificate after the handshake: paho then closes the socket, and says why nowhere else.
        self.alert = self.alert or _alert(text)


def _alert(text: str) -> str | None:
    match = _ALERT.search(text)
    return None if match is None else _ALERTS.get(match[1])


def refusal_of(reason: ReasonCode, *, v5: bool) -> Lost | None:
    """What a CONNACK's reason comes to; None: we are let in."""
    if reason.value == _VERSION_UNSUPPORTED:
        return Silent(f"it does not speak {'MQTT 5' if v5 else 'MQTT 3.1.1'}", for_good=True)
    if reason.is_failure:
        return (Refused if reason.value in _NEVER else Lost)(f"it refuses the connection: {reason}")
    return None
