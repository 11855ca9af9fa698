"""Writes FlowMessages with protobuf's own encoder, which shares nothing with the decoder under test."""

from collections.abc import Mapping, Sequence

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

# Names, numbers and types of pb/flow.proto, as far as the tests need them.
VARINTS = {
    "type": 1, "sequence_num": 4, "sampling_rate": 3, "time_received_ns": 110, "time_flow_start_ns": 111,
    "time_flow_end_ns": 112, "bytes": 9, "packets": 10, "etype": 30, "proto": 20, "src_port": 21, "dst_port": 22,
    "in_if": 18, "out_if": 19, "src_mac": 27, "dst_mac": 28, "ip_tos": 23, "ip_ttl": 25, "tcp_flags": 26,
    "observation_domain_id": 70, "flow_direction": 42, "custom": 2001,
}  # fmt: skip
STRINGS = {"sampler_address": 11, "src_addr": 6, "dst_addr": 7, "next_hop": 12, "note": 1000}
REPEATED = {"as_path": 102, "layer_stack": 103, "layer_size": 104}

Value = int | bytes | Sequence[int]
START_NS = 1_795_188_348_391_000_001
PLAIN: Mapping[str, Value] = {
    "type": 4, "time_received_ns": START_NS + 9, "sequence_num": 7, "sampling_rate": 2048,
    "sampler_address": bytes([192, 0, 2, 1]), "time_flow_start_ns": START_NS, "time_flow_end_ns": START_NS + 5,
    "bytes": 9000, "packets": 6, "src_addr": bytes([10, 0, 0, 1]), "dst_addr": bytes([10, 0, 0, 2]), "etype": 0x800,
    "proto": 17, "src_port": 49152, "dst_port": 4791, "in_if": 10, "out_if": 1 << 31, "src_mac": 0x02000A030502,
    "ip_tos": 2, "ip_ttl": 64, "tcp_flags": 0x1B, "observation_domain_id": 0xFFFFFFFF,
}  # fmt: skip


def _message_class() -> type[Message]:
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="flow.proto", package="flowpb", syntax="proto3")
    message = file.message_type.add(name="FlowMessage")
    for fields, field_type, label in (
        (VARINTS, kind.TYPE_UINT64, kind.LABEL_OPTIONAL),
        (STRINGS, kind.TYPE_BYTES, kind.LABEL_OPTIONAL),
        (REPEATED, kind.TYPE_UINT32, kind.LABEL_REPEATED),
    ):
        for name, number in fields.items():
            message.field.add(name=name, number=number, type=field_type, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("flowpb.FlowMessage"))


FlowMessage = _message_class()


def message(**changes: Value | None) -> bytes:
    """`PLAIN` with some fields changed, or left out where None, as protobuf writes it."""
    fields = {name: value for name, value in {**PLAIN, **changes}.items() if value is not None}
    return FlowMessage(**fields).SerializeToString()


def prefixed(body: bytes) -> bytes:
    """A message behind its length."""
    length, prefix = len(body), bytearray()
    while length > 0x7F:
        prefix.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*prefix, length]) + body
