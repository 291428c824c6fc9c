"""What is shown as JSON has every field of its schema, whatever it holds; what is stored leaves out what is at its
default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec import inspect

from recollect.cli.commands.config import result_types, schema_of
from recollect.memory import Retracted
from recollect.model.insights.nodes import Node
from recollect.model.payloads import Payload, UserMessage
from recollect.store.bodies import encode_body
from recollect.store.sinks import encode_item
from recollect.visible import encode_json


def structs_of(kind: Any, found: dict[type, None]) -> dict[type, None]:
    """Return every struct that can stand in a value of a type."""
    if isinstance(kind, inspect.StructType):
        if kind.cls in found:
            return found
        found[kind.cls] = None
    for inner in _inner(kind):
        structs_of(inner, found)
    return found


def _inner(kind: Any) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields)
    elif isinstance(kind, inspect.UnionType):
        yield from kind.types
    elif isinstance(kind, inspect.Metadata):
        yield kind.type
    elif isinstance(kind, inspect.TupleType):
        yield from kind.item_types
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType):
        yield kind.item_type


def example(kind: inspect.Type, *, is_full: bool, within: tuple[type, ...] = ()) -> Any:
    """Return a value of a type: with as little in it as can be, or with something everywhere."""
    inner = list(_inner(kind))
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            return cls(**{
                field.name: example(field.type, is_full=is_full and cls not in within, within=(*within, cls))
                for field in fields if field.required or (is_full and cls not in within)
            })  # fmt: skip
        case inspect.UnionType():
            told = [one for one in inner if not isinstance(one, inspect.NoneType)]
            if is_full or len(told) == len(inner):
                return example(told[0], is_full=is_full, within=within)
            return None
        case inspect.Metadata():
            return example(kind.type, is_full=is_full, within=within)
        case inspect.TupleType():
            return tuple(example(one, is_full=is_full, within=within) for one in inner)
        case inspect.DictType():
            return {"a": example(kind.value_type, is_full=True, within=within)} if is_full else {}
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            items = [example(inner[0], is_full=True, within=within)] if is_full else []
            return items if isinstance(kind, inspect.ListType) else tuple(items)
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.IntType(ge=ge):
            return 1 if ge is None else ge
        case inspect.BytesType(min_length=least):
            return b"x" * (least or 1)
        case inspect.AnyType():
            return {"a": [None, {"b": 1}]}
    return _PLAIN[type(kind)]  # a tuple with names is not among them: JSON would not have the names


_PLAIN: dict[type[inspect.Type], Any] = {
    inspect.NoneType: None, inspect.BoolType: False, inspect.FloatType: 0.5, inspect.StrType: "x",
}  # fmt: skip

ALL: dict[type, None] = {}
for _kind in result_types().values():
    structs_of(inspect.type_info(_kind), ALL)
STRUCTS = sorted(ALL, key=lambda cls: (cls.__name__, cls.__module__))


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda cls: cls.__name__)
def test_json_of_any_result_has_every_field_of_its_schema(struct: type) -> None:
    schema = schema_of(struct)
    for is_full in (False, True):
        value = example(inspect.type_info(struct), is_full=is_full)
        shown = json.loads(encode_json(value))
        assert shown.keys() == schema["$defs"][schema["$ref"].rpartition("/")[2]]["properties"].keys()
        jsonschema.Draft202012Validator(schema).validate(shown)
        assert msgspec.convert(shown, struct) == value, "and is the same when it is read again"


@pytest.mark.parametrize("name", sorted(result_types()))
def test_a_result_is_one_object_that_its_schema_describes(name: str) -> None:
    kind = result_types()[name]
    schema = schema_of(kind)
    for is_full in (False, True):
        shown = json.loads(encode_json(example(inspect.type_info(kind), is_full=is_full)))
        assert isinstance(shown, dict)
        jsonschema.Draft202012Validator(schema).validate(shown)


@pytest.mark.parametrize("struct", structs_of(inspect.type_info(Node | Retracted), {}), ids=lambda cls: cls.__name__)
def test_a_sink_is_given_every_field(struct: type) -> None:
    value = example(inspect.type_info(struct), is_full=False)
    assert json.loads(encode_item(value)) == json.loads(encode_json(value))


@pytest.mark.parametrize("struct", structs_of(inspect.type_info(Payload), {}), ids=lambda cls: cls.__name__)
def test_what_is_stored_leaves_out_what_is_at_its_default(struct: type) -> None:
    value = example(inspect.type_info(struct), is_full=False)
    assert len(encode_body(value, {})) < len(encode_json(value)) or not struct.__struct_fields__


def test_a_body_is_stored_as_it_ever_was() -> None:
    assert encode_body(UserMessage("hi"), {}) == b'{"kind":"user_message","text":"hi"}'


def test_arguments_that_are_nested_deep_are_shown() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    assert encode_json({"arguments": deep}) == b'{"arguments":' + b"[" * 400 + b'"x"' + b"]" * 400 + b"}"
