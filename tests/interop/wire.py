"""The protobuf wire format, taken apart and put together without a schema's rules."""

VARINT, EIGHT, BODY, FOUR = 0, 1, 2, 5


def varint(value, longer=0):
    """The number's bytes, `longer` bytes more than it takes."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(longer):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def split(data):
    """A sound message's fields: [number, wire type, payload], the payload of a varint being a number."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
            fields.append([number, wire, value])
            continue
        size = {EIGHT: 8, FOUR: 4}.get(wire)
        if size is None:
            size, at = read_varint(data, at)
        fields.append([number, wire, data[at:at + size]])
        at += size
    return fields


def field(number, wire, payload, longer=0):
    out = varint(number << 3 | wire, longer)
    if wire == VARINT:
        return out + (payload if isinstance(payload, bytes) else varint(payload, longer))
    return out + (varint(len(payload), longer) if wire == BODY else b"") + payload


def join(fields):
    return b"".join(f if isinstance(f, bytes) else field(*f) for f in fields)
