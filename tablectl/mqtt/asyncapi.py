"""What a table sends and takes, as an AsyncAPI 3 document and as JSON Schemas, made from the types in the code.

`python -m tablectl.mqtt.asyncapi` prints the document that is kept in `docs/asyncapi.json`; with `notice` or `observation` it
prints the JSON Schema of a line of `tablectl play`'s output or input.

The document's version is that of the topics (`tablectl/v1/...`), not of the software: it changes when what is sent changes.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Final, get_args

import msgspec

from tablectl import notices, observations
from tablectl.game.view import TableView
from tablectl.ledger.pin import Pin
from tablectl.mqtt.identity import SignedCommand
from tablectl.mqtt.judgement import KINDS
from tablectl.mqtt.messages import (
    CHANNELS,
    CHECKPOINT,
    CONTENT_TYPE,
    KEEPALIVE,
    PROMPT_SECONDS,
    PUBLISHED,
    QOS,
    RETAINED,
    Checkpoint,
    Envelope,
    Presence,
    schema_name,
    type_name,
)
from tablectl.mqtt.orders import LONGEST, MOST_SECONDS, Response
from tablectl.mqtt.proofs import ProofResponse

__all__ = ["document", "main", "message_schema", "notice_schema", "observation_schema", "printed"]

_REF: Final = "#/components/schemas/{name}"
_PARAMETERS: Final = {"site": "The site, such as the casino.", "pit": "The pit.", "table": "The table."}
_BASE: Final = "tablectl/v1/{site}/{pit}/{table}"

_TITLES: Final = {
    "prompt": "What the dealer is to do now",
    "dealt": "Cards, as they come to lie",
    "outcome": "How hands ended",
    "alert": "What went wrong, or cannot be known",
    "round_closed": "Rounds and their money",
    "phase": "The phases of the game",
    "shoe": "The shoe's books",
    "status": "Whether the table is there, and its devices",
    "info": "The software and the rules in force",
    "state": "The whole table, for who joins late",
}


_DATA: Final[dict[str, type[msgspec.Struct]]] = {
    **{str(kind.__struct_config__.tag): kind for kind in get_args(notices.Notice)},
    "presence": Presence,
    "info": Pin,
    "state": TableView,
}


_ASKED: Final = {
    "ruling": "A supervisor's rulings",
    "ack": "A supervisor's acknowledgements",
    "table": "The table opened and closed",
    "seat": "Players who come and go",
    "bet": "Stakes",
    "shoe": "A shoe that was loaded, and orders to it",
    "proof": "Proofs that one size of a ledger extends another, for a witness that was away",
}
_PLAIN: Final[dict[str, type[msgspec.Struct]]] = {
    **{f"cmd_{name}": kind for name, kind in KINDS.items()},
    "signed": SignedCommand,
    "response": Response,
    "proof_response": ProofResponse,
    "checkpoint": Checkpoint,
}
"""The payloads that are plain JSON, no CloudEvents."""


def document() -> dict[str, Any]:
    """The AsyncAPI 3.0 document, as plain JSON values."""
    schemas = _schemas()
    channels = CHANNELS | PUBLISHED
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "tablectl",
            "version": "1.0.0",
            "description": "What a blackjack table says over MQTT, as CloudEvents 1.0 in JSON; what it may be asked, in plain "
            "JSON. Delivery is at least once and in order: drop what has an `id` that was seen before.",
            "license": {"name": "MIT"},
        },
        "defaultContentType": CONTENT_TYPE,
        "servers": {"broker": _server()},
        "channels": {_key(channel): _channel(channel) for channel in dict.fromkeys(channels.values())}
        | _checkpoint_channel()
        | _command_channels(),
        "operations": {f"send_{name}": _operation(name, channel) for name, channel in channels.items()}
        | {"send_checkpoint": _operation("checkpoint", CHECKPOINT)}
        | {f"receive_{name}": _command_operation(name, f"cmd_{name}", "signed") for name in KINDS}
        | {f"receive_{name}_vouched": _command_operation(name, f"cmd_{name}_person") for name in KINDS},
        "components": {
            "messages": {name: _message(name) for name in channels} | {name: _plain_message(name) for name in _PLAIN},
            "schemas": schemas,
        },
    }


def _server() -> dict[str, Any]:
    will = {
        "topic": f"{_BASE}/status",
        "qos": QOS,
        "retain": True,
        "message": "A `presence` event that says `offline`.",
    }
    client = {
        "clientId": "tablectl-{site}-{pit}-{table}",
        "cleanSession": True,
        "keepAlive": KEEPALIVE,
        "sessionExpiryInterval": 0,
    }
    return {
        "host": "{host}:{port}",
        "protocol": "mqtt",
        "protocolVersion": "5.0",
        "description": "MQTT 5 where the broker speaks it, else 3.1.1 (without expiry and content type). Over TLS: `mqtts`.",
        "variables": {
            "host": {"default": "localhost", "description": "The broker's name or address."},
            "port": {"default": "1883", "description": "1883, or 8883 over TLS."},
        },
        "bindings": {"mqtt": {**client, "lastWill": will, "bindingVersion": "0.2.0"}},
    }


def _key(channel: str) -> str:
    return channel.replace("/", "_")


def _names(channel: str) -> list[str]:
    return [name for name, where in (CHANNELS | PUBLISHED).items() if where == channel]


def _channel(channel: str) -> dict[str, Any]:
    names = _names(channel)
    return {
        "address": f"{_BASE}/{channel}",
        "title": _TITLES[names[0]],
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
        "parameters": _parameters(),
    }


def _operation(name: str, channel: str) -> dict[str, Any]:
    binding: dict[str, Any] = {"qos": QOS, "retain": channel in RETAINED or channel == CHECKPOINT}
    if name == "prompt":
        binding["messageExpiryInterval"] = PROMPT_SECONDS
    where = f"#/channels/{_key(channel)}"
    return {
        "action": "send",
        "channel": {"$ref": where},
        "messages": [{"$ref": f"{where}/messages/{name}"}],
        "bindings": {"mqtt": {**binding, "bindingVersion": "0.2.0"}},
    }


def _message(name: str) -> dict[str, Any]:
    kind = _DATA[name]
    fixed = {
        "type": {"const": type_name(name)},
        "dataschema": {"const": schema_name(name)},
        "data": {"$ref": _REF.format(name=kind.__name__)},
    }
    narrowed: dict[str, Any] = {"properties": fixed}
    if CHANNELS.get(name, PUBLISHED.get(name)) == "status":
        narrowed["required"] = ["presence"]
    return {
        "name": type_name(name),
        "title": name,
        "summary": _summary(kind),
        "contentType": CONTENT_TYPE,
        "payload": {"allOf": [{"$ref": _REF.format(name=Envelope.__name__)}, narrowed]},
    }


def _parameters(**more: str) -> dict[str, Any]:
    return {name: {"description": text} for name, text in (_PARAMETERS | more).items()}


def _checkpoint_channel() -> dict[str, Any]:
    return {
        _key(CHECKPOINT): {
            "address": f"{_BASE}/{CHECKPOINT}",
            "title": "The ledger's latest signed head, for witnesses",
            "messages": {"checkpoint": {"$ref": "#/components/messages/checkpoint"}},
            "parameters": _parameters(),
        }
    }


def _command_channels() -> dict[str, Any]:
    rules = (
        f"Never retained; at most {LONGEST} bytes; good for at most {MOST_SECONDS} s. The response topic is MQTT 5's property, "
        "with correlation data if wanted, or the field `reply_to`; without either there is no response."
    )
    asked = {}
    for name in KINDS:
        message = {f"cmd_{name}": {"$ref": f"#/components/messages/cmd_{name}"}}
        asked[f"cmd_{name}"] = {
            "address": f"{_BASE}/cmd/{name}",
            "title": _ASKED[name],
            "description": f"{rules} Signed, unless the table is configured to be open.",
            "messages": {**message, "signed": {"$ref": "#/components/messages/signed"}},
            "parameters": _parameters(),
        }
        asked[f"cmd_{name}_person"] = {
            "address": f"{_BASE}/cmd/{name}/{{person}}",
            "title": f"{_ASKED[name]}, where the broker vouches for the sender",
            "description": rules,
            "messages": message,
            "parameters": _parameters(person="Who commands: the owner of the client certificate, who alone may write here."),
        }
    answered = {
        "address": f"{_BASE}/reply/{{client}}",
        "title": "What became of a command",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in ("response", "proof_response")},
        "parameters": _parameters(client="Who asks: 1 to 64 letters, digits, `.`, `_` or `-`, of its own choosing."),
    }
    return {**asked, "reply": answered}


def _command_operation(name: str, channel: str, *more: str) -> dict[str, Any]:
    where = f"#/channels/{channel}"
    messages = (f"cmd_{name}", *more)
    return {
        "action": "receive",
        "channel": {"$ref": where},
        "messages": [{"$ref": f"{where}/messages/{message}"} for message in messages],
        "bindings": {"mqtt": {"qos": QOS, "retain": False, "bindingVersion": "0.2.0"}},
        "reply": {
            "address": {
                "location": "$message.payload#/reply_to",
                "description": "Or MQTT 5's response topic, which goes before it.",
            },
            "channel": {"$ref": "#/channels/reply"},
            "messages": [{"$ref": f"#/channels/reply/messages/{'proof_response' if name == 'proof' else 'response'}"}],
        },
    }


def _plain_message(name: str) -> dict[str, Any]:
    kind = _PLAIN[name]
    payload: dict[str, Any] = {"$ref": _REF.format(name=kind.__name__)}
    if kind is Response:
        said = {"anyOf": [{"$ref": _REF.format(name=notice.__name__)} for notice in get_args(notices.Notice)]}
        payload = {"allOf": [payload, {"properties": {"notices": {"items": said}}}]}
    return {
        "name": name,
        "title": name,
        "summary": _summary(kind),
        "contentType": "application/json",
        "payload": payload,
    }


def _summary(kind: type[msgspec.Struct]) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _schemas() -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components([Envelope, *_DATA.values(), *_PLAIN.values()], ref_template=_REF)
    return dict(sorted(schemas.items()))


def message_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a whole payload, complete in itself.

    Of a notice's name, of `presence`, `info`, `state`, `checkpoint`, of a command (`cmd_ruling`), of `signed`, or of `response`.
    """
    return {"$ref": f"#/components/messages/{name}/payload", "components": document()["components"]}


def notice_schema() -> dict[str, Any]:
    """The JSON Schema of a line that `tablectl play` prints."""
    return msgspec.json.schema(notices.Notice)


def observation_schema() -> dict[str, Any]:
    """The JSON Schema of a line that `tablectl play` reads."""
    return msgspec.json.schema(observations.Observation)


def printed(value: dict[str, Any]) -> str:
    """A document as it is kept in a file."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def main(arguments: list[str]) -> int:
    """Print the document, or the schema that the argument names; gives the exit code."""
    makers = {"asyncapi": document, "notice": notice_schema, "observation": observation_schema}
    name = arguments[0] if arguments else "asyncapi"
    if len(arguments) > 1 or name not in makers:
        sys.stderr.write(f"python -m tablectl.mqtt.asyncapi [{'|'.join(makers)}]\n")
        return 2
    sys.stdout.write(printed(makers[name]()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
