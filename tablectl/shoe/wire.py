"""A profile made ready to use: its scanner, and its messages as something that reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tablectl.shoe.fields import AnyField
from tablectl.shoe.frames import Frame
from tablectl.shoe.framings import AnyFrame, EndedScanner, MarkedScanner, Scanner
from tablectl.shoe.marked import Marked
from tablectl.shoe.messages import BodyForm, Command, Flaw, Message, MessageForm, Reading

__all__ = ["Wire"]


class Wire:
    """What goes over a line, by a profile. Raises `Flaw` with the key that is wrong."""

    def __init__(
        self,
        frames: Sequence[AnyFrame],
        fields: Sequence[AnyField],
        messages: Sequence[Message],
        commands: Sequence[Command],
    ):
        if not frames:
            raise Flaw("frames", "there are none")
        _once("frames", [frame.name for frame in frames])
        _once("fields", [field.name for field in fields])
        _once("messages", [message.name for message in messages])
        _once("commands", [command.name for command in commands])
        for index, frame in enumerate(frames):
            flaw = frame.flaw()
            if flaw:
                raise Flaw(f"frames[{index}].{flaw[0]}", flaw[1])
        for index, field in enumerate(fields):
            try:
                field.pattern()
            except Exception as error:  # re.error and what a bad setting raises: the profile's fault, never ours to pass on
                raise Flaw(f"fields[{index}]", str(error)) from None
        self.frames: dict[str, Frame] = {frame.name: frame for frame in frames}
        named = {field.name: field for field in fields}
        self.messages: dict[str, MessageForm] = {}
        for index, message in enumerate(messages):
            with _within(f"messages[{index}]"):
                self.messages[message.name] = MessageForm(message, named)
        self.commands: dict[str, tuple[Command, BodyForm]] = {}
        for index, command in enumerate(commands):
            with _within(f"commands[{index}]"):
                self.commands[command.name] = (command, BodyForm(command.body, named))
        self._by_frame: dict[str, list[MessageForm]] = {}
        for index, message in enumerate(messages):
            self._sent_by("device", f"messages[{index}]", message.frame)
            self._by_frame.setdefault(message.frame, []).append(self.messages[message.name])
        for index, command in enumerate(commands):
            self._sent_by("host", f"commands[{index}]", command.frame)
        self.scanner = _scanner(frames)

    def read(self, frame: str, body: bytes, device: str) -> Reading | None:
        """What a frame's body says: the first message of the profile that it fits, None when it fits none.

        A message that it fits but that cannot be true (a box 9) is passed over as long as another fits.
        """
        faulty: Reading | None = None
        for form in self._by_frame.get(frame, ()):
            reading = form.read(body, device)
            if reading is None:
                continue
            if not reading.fault:
                return reading
            faulty = faulty or reading
        return faulty

    def _sent_by(self, sender: str, where: str, frame: str) -> None:
        if frame not in self.frames:
            raise Flaw(f"{where}.frame", f"no frame is called {frame!r}; there are {', '.join(self.frames)}")
        if self.frames[frame].sent_by != sender:
            raise Flaw(f"{where}.frame", f"{frame!r} is sent by the {self.frames[frame].sent_by}")


def _scanner(frames: Sequence[AnyFrame]) -> Scanner:
    sent = [(index, frame) for index, frame in enumerate(frames) if frame.sent_by == "device"]
    if not sent:
        raise Flaw("frames[0].sent_by", "the device sends none of these frames")
    marked: list[Marked] = []
    for index, frame in sent:
        if isinstance(frame, Marked):
            marked.append(frame)
        elif len(sent) == 1:
            return EndedScanner(frame)
        else:
            kind = frame.__struct_config__.tag
            raise Flaw(f"frames[{index}].kind", f"{frame.name!r} is of kind {kind}, which must be the device's only one")
    return MarkedScanner(marked)


def _once(what: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise Flaw(f"{what}[{index}].name", f"{name!r} stands twice")


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Put the place of a part before the key that is wrong in it."""
    try:
        yield
    except Flaw as flaw:
        raise Flaw(f"{where}.{flaw.field}", str(flaw)) from None
