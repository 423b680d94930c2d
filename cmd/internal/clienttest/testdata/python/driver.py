"""Calls a server with the client that openapi-python-client generated into quarry_client.

Each line of standard input is a call, and is answered by a line of standard output: see ../../driver_test.go.
"""

import base64
import datetime
import enum
import importlib
import inspect
import io
import json
import pkgutil
import sys
import types
import typing

import attrs
from openapi_python_client.strings import PythonIdentifier

import quarry_client.api
import quarry_client.models
from quarry_client import Client
from quarry_client.types import UNSET, File, Unset


def modules():
    """Returns the module of each operation by its name."""
    return {
        name.rpartition(".")[2]: name
        for _, name, package in pkgutil.walk_packages(quarry_client.api.__path__, "quarry_client.api.")
        if not package
    }


MODULES = modules()


def identifier(name):
    return str(PythonIdentifier(name, "field_"))


def to_argument(value, annotation):
    """Returns value as the annotation of a parameter wants it."""
    for choice in typing.get_args(annotation) or (annotation,):
        if not inspect.isclass(choice) or choice is Unset:
            continue
        if issubclass(choice, enum.Enum):
            return choice(value)
        if issubclass(choice, datetime.datetime):
            return datetime.datetime.fromisoformat(value)
        if hasattr(choice, "from_dict"):
            return choice.from_dict(value)
    return value


def check_type(value, hint, where):
    """Raises TypeError unless value is what the client promises by hint."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        for choice in args:
            try:
                return check_type(value, choice, where)
            except TypeError:
                pass
    elif origin is list and isinstance(value, list):
        for i, item in enumerate(value):
            check_type(item, args[0], f"{where}[{i}]")
        return
    elif origin is dict and isinstance(value, dict):
        for name, item in value.items():
            check_type(item, args[1], f"{where}.{name}")
        return
    elif hint is typing.Any or hint is None and value is None:
        return
    elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return
    elif inspect.isclass(hint) and isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
        if attrs.has(hint):
            namespace = {**vars(sys.modules[hint.__module__]), **vars(quarry_client.models)}
            for name, member in typing.get_type_hints(hint, globalns=namespace).items():
                check_type(getattr(value, name), member, f"{where}.{name}")
        return
    raise TypeError(f"{where} is {value!r}, want {hint}")


def to_json(value):
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list):
        return [to_json(item) for item in value]
    return value


def send(server, call):
    name = identifier(call["operation"])
    if name not in MODULES:
        raise LookupError(f"the client has no operation {call['operation']}")
    module = importlib.import_module(MODULES[name])
    signature = inspect.signature(module.sync_detailed)
    client = Client(base_url=server, headers=call.get("credential") or {}, timeout=60)
    positional = [to_argument(p["value"], signature.parameters[identifier(p["name"])].annotation) for p in call.get("path") or []]
    named = {}
    for parameter, value in {**(call.get("parameters") or {}), **(call.get("headers") or {})}.items():
        named[identifier(parameter)] = to_argument(value, signature.parameters[identifier(parameter)].annotation)
    if "body" in call:
        named["body"] = to_argument(call["body"], signature.parameters["body"].annotation)
    if "bytes" in call:
        named["body"] = File(payload=io.BytesIO(base64.b64decode(call["bytes"])))
    response = module.sync_detailed(*positional, client=client, **named)
    answer = {"status": int(response.status_code), "text": response.content.decode()}
    if response.parsed is not None and not isinstance(response.parsed, str):
        for item in response.parsed if isinstance(response.parsed, list) else [response.parsed]:
            check_type(item, type(item), call["operation"])
        answer["value"] = to_json(response.parsed)
    return answer


def main():
    for line in sys.stdin:
        try:
            answer = send(sys.argv[1], json.loads(line))
        except Exception as e:  # every failure of a client is a finding
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
