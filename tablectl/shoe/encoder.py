"""The encoder: observations and messages to the bytes that a device would send, commands to those that a host sends."""

from __future__ import annotations

from collections.abc import Mapping

from tablectl.observations import Observation
from tablectl.shoe.profile import Profile

__all__ = ["Encoder"]


class Encoder:
    """Writes what one make of device sends and is sent. Every way raises `ValueError` for what cannot be said."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self._wire = profile.wire()

    def observation(self, observation: Observation, values: Mapping[str, object] | None = None) -> bytes:
        """The frame by which the device says this: of its messages, the first that can.

        `values` are for fields that the observation does not settle, such as a sequence number.
        """
        reason = "no message says this"
        for form in self._wire.messages.values():
            found = form.values_for(observation)
            if found is None:
                continue
            given = {name: value for name, value in (values or {}).items() if name in form.body.places()}
            try:
                return self.message(form.message.name, {**given, **found})
            except ValueError as error:
                reason = str(error)
        raise ValueError(f"{self.profile.name} cannot say {observation}: {reason}")

    def message(self, name: str, values: Mapping[str, object] | None = None) -> bytes:
        """The frame of a message by its name, with the values of its fields."""
        form = self._wire.messages.get(name)
        if form is None:
            raise ValueError(f"{self.profile.name} has no message {name!r}")
        return self._wire.frames[form.message.frame].build(form.body.write(values or {}))

    def command(self, name: str, values: Mapping[str, object] | None = None) -> bytes:
        """The frame of a host's command by its name."""
        if name not in self._wire.commands:
            raise ValueError(f"{self.profile.name} has no command {name!r}")
        command, body = self._wire.commands[name]
        return self._wire.frames[command.frame].build(body.write(values or {}))
