"""The least that can stand between a serial port and a broker: what is read is published. A process of its own, one thread.

With files named, what was read is first appended to each in turn, and seen to be on the disk: the least for who must not forget.
"""

from __future__ import annotations

import os
import select
import socket
import sys

import serial
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

__all__ = ["main"]


def main(path: str, broker: int, topic: str, *files: str) -> None:
    """Publish what comes on the port, a message a read, until killed."""
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.connect("127.0.0.1", broker)
    connection = client.socket()
    assert isinstance(connection, socket.socket)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    kept = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600) for file in files]
    with serial.Serial(path, 9600, timeout=0, exclusive=True) as port:
        while True:
            ready, _, _ = select.select([port.fileno(), connection.fileno()], [], [], 1.0)
            if port.fileno() in ready:
                data = port.read(4096)
                for file in kept:
                    os.write(file, data)
                    os.fdatasync(file)
                client.publish(topic, data, qos=1)
            if connection.fileno() in ready:
                client.loop_read()
            if client.want_write():
                client.loop_write()
            client.loop_misc()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
