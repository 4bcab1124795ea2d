"""Are answers what docs/schema says? As much of JSON Schema as these files use, and stricter: a key that they do not have is wrong here."""
import json
import os
import re

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schema")
WORDS = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
READ = {}


def schema_of(command):
    if command not in READ:
        with open(os.path.join(SCHEMAS, command + ".json"), encoding="utf-8") as f:
            READ[command] = json.load(f)
    return READ[command]


def is_of(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, (int, float) if kind == "number" else int) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def of_object(value, schema, root, at):
    known, others = schema.get("properties", {}), schema.get("additionalProperties", False)
    yield from (f"{at}: no {key}" for key in schema.get("required", ()) if key not in value)
    for key, entry in value.items():
        if key in known:
            yield from wrong(entry, known[key], root, f"{at}/{key}")
        elif isinstance(others, dict):
            yield from wrong(entry, others, root, f"{at}/{key}")
        elif others is False and "object" in schema.get("type", "") and known:
            yield f"{at}: {key} is not in the schema"


def wrong(value, schema, root, at=""):
    """What is wrong, each a text."""
    unknown = set(schema) - WORDS - {"type", "properties", "required", "additionalProperties", "items", "enum", "pattern", "minimum", "anyOf", "$ref"}
    assert not unknown, f"this does not know {unknown}"
    if "$ref" in schema:
        yield from wrong(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema:
        found = [list(wrong(value, one, root, at)) for one in schema["anyOf"]]
        yield from min(found, key=len) if all(found) else ()
    kinds = schema.get("type", list(TYPES) + ["number"])
    if not any(is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{at}: {json.dumps(value)[:60]} is no {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{at}: {value!r} is not like {schema['pattern']}"
    if "minimum" in schema and is_of(value, "number") and value < schema["minimum"]:
        yield f"{at}: {value} is less than {schema['minimum']}"
    if isinstance(value, dict):
        yield from of_object(value, schema, root, at)
    if isinstance(value, list) and "items" in schema:
        for i, entry in enumerate(value):
            yield from wrong(entry, schema["items"], root, f"{at}/{i}")


def faults(command, answer):
    """Of what `clarke COMMAND --json` printed: the first few."""
    root = schema_of(command)
    return list(wrong(answer, root, root))[:5]


def obeyed(ran):
    """A command that was run, as it came, unless it printed JSON that is not what docs/schema says: then it is an error."""
    words = [str(word) for word in ran.args]
    if "--json" in words and ran.stdout and os.path.basename(words[0]) == "clarke" and os.path.isfile(os.path.join(SCHEMAS, words[1] + ".json")):
        found = faults(words[1], json.loads(ran.stdout))
        assert not found, f"{' '.join(words)}: {found}"
    return ran
