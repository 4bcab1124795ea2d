/* The ONNX reader on models built field by field: forms the reference library never writes, and
 * every refusal, with the message naming the culprit. */
#include "describe.h"
#include "nonnumbers.h"
#include "protobuf.h"
#include "format/onnx.h"
#include "format/onnx_inside.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static void
put_float(bytes *b, unsigned field, float x)
{
  uint32_t word;

  memcpy(&word, &x, sizeof word);
  put_varint(b, field << 3 | 5);
  put_word(b, word, 4);
}

/* --- a model in parts --- */

/* y = Op(x) with one attribute and one initializer; a test changes parts before they are joined. */
typedef struct {
  bytes model, opset, graph, node, attr, tensor, input, output;
} parts;

static bytes
port(const char *name, unsigned elem)
{
  bytes value = { 0 }, type = { 0 }, tensor = { 0 }, shape = { 0 }, dim = { 0 };

  put_int(&dim, 1, 2);
  put_message(&shape, 1, &dim);
  put_int(&tensor, 1, elem);
  put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_string(&value, 1, name);
  put_message(&value, 2, &type);
  return value;
}

/* The start of a tensor: name, type, one dimension. */
static bytes
tensor(const char *name, unsigned type, uint64_t dim)
{
  bytes t = { 0 };

  put_int(&t, 1, dim);
  put_int(&t, 2, type);
  put_string(&t, 8, name);
  return t;
}

static parts
sound_parts(void)
{
  parts p;

  memset(&p, 0, sizeof p);
  put_int(&p.model, 1, 8);
  put_int(&p.opset, 2, 17);
  put_string(&p.graph, 2, "g");
  put_string(&p.node, 1, "x");
  put_string(&p.node, 2, "y");
  put_string(&p.node, 3, "the node");
  put_string(&p.node, 4, "Op");
  put_string(&p.attr, 1, "axis");
  put_int(&p.attr, 3, 1);
  put_int(&p.attr, 20, 2);
  p.tensor = tensor("w", 1, 2);
  put_bytes(&p.tensor, 9, "\0\0\200\77\0\0\0\300", 8);
  p.input = port("x", 1);
  p.output = port("y", 1);
  return p;
}

static bytes
join(parts *p)
{
  if (p->attr.size != 0)
    put_message(&p->node, 5, &p->attr);
  put_message(&p->graph, 1, &p->node);
  put_message(&p->graph, 5, &p->tensor);
  put_message(&p->graph, 11, &p->input);
  put_message(&p->graph, 12, &p->output);
  if (p->opset.size != 0)
    put_message(&p->model, 8, &p->opset);
  put_message(&p->model, 7, &p->graph);
  return p->model;
}

static clarke_status
parse(clarke_model *m, const bytes *b, clarke_error *err)
{
  bytes copy = tight(b);
  clarke_status status = clarke_onnx_parse(m, copy.data, copy.size, "dir/m.onnx", err);

  bytes_clear(&copy);
  return status;
}

/* --- what is refused --- */

static void
retype(parts *p, unsigned type, uint64_t dim)
{
  bytes_clear(&p->tensor);
  p->tensor = tensor("w", type, dim);
}

static void
reattr(parts *p, unsigned type)
{
  bytes_clear(&p->attr);
  put_string(&p->attr, 1, "axis");
  if (type != 0)
    put_int(&p->attr, 20, type);
}

static void spoil_group(parts *p) { put_text(&p->model, "\x1b\x1c"); }
static void spoil_wire(parts *p) { put_text(&p->model, "\x1e\x01"); }
static void spoil_field(parts *p) { put_word(&p->model, 0x0000, 2); }
static void spoil_field_huge(parts *p) { put_varint(&p->model, 1ull << 32 | 8); }
static void spoil_varint(parts *p)
{
  put_text(&p->model, "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
}
static void spoil_type(parts *p) { put_int(&p->graph, 1, 3); }
static void spoil_ir(parts *p) { bytes_clear(&p->model), put_int(&p->model, 1, 99); }
static void spoil_no_ir(parts *p) { bytes_clear(&p->model); }
static void spoil_ir_twice(parts *p) { put_int(&p->model, 1, 8); }
static void spoil_no_opset(parts *p) { bytes_clear(&p->opset); }
static void spoil_other_opset(parts *p) { put_string(&p->opset, 1, "org.example"); }
static void spoil_opset_negative(parts *p)
{
  bytes_clear(&p->opset);
  put_int(&p->opset, 2, ~0ull);
}
static void spoil_opset_twice(parts *p)
{
  bytes other = { 0 };

  put_string(&other, 1, "ai.onnx");
  put_int(&other, 2, 16);
  put_message(&p->model, 8, &other);
}
static void spoil_function(parts *p)
{
  bytes f = { 0 };

  put_string(&f, 1, "my_relu");
  put_message(&p->model, 25, &f);
}
static void spoil_sparse(parts *p)
{
  bytes sparse = { 0 }, values = { 0 };

  put_string(&values, 8, "thin");
  put_message(&sparse, 1, &values);
  put_message(&p->graph, 15, &sparse);
}

static void spoil_tensor_name(parts *p)
{
  retype(p, 1, 0);
  bytes_clear(&p->tensor);
  put_int(&p->tensor, 2, 1);
  put_int(&p->tensor, 1, 0);
}
static void spoil_tensor_twice(parts *p)
{
  bytes again = tensor("w", 6, 0);

  put_message(&p->graph, 5, &again);
}
static void spoil_no_data(parts *p) { retype(p, 1, 2); }
static void spoil_short(parts *p) { retype(p, 11, 2), put_bytes(&p->tensor, 9, "12345678", 8); }
static void spoil_long(parts *p) { retype(p, 3, 2), put_bytes(&p->tensor, 9, "123", 3); }
static void spoil_data_of_none(parts *p) { retype(p, 3, 0), put_bytes(&p->tensor, 9, "123", 3); }
static void spoil_both(parts *p) { put_int(&p->tensor, 5, 1); }
static void spoil_two_fields(parts *p)
{
  retype(p, 6, 2);
  put_int(&p->tensor, 5, 1);
  put_int(&p->tensor, 7, 1);
}
static void spoil_wrong_field(parts *p)
{
  retype(p, 1, 2);
  put_int(&p->tensor, 5, 1);
  put_int(&p->tensor, 5, 1);
}
static void spoil_typed_count(parts *p) { retype(p, 6, 3), put_int(&p->tensor, 5, 1); }
static void spoil_parts_count(parts *p) { retype(p, 22, 3), put_int(&p->tensor, 5, 1); }
static void spoil_parts_raw(parts *p) { retype(p, 21, 3), put_bytes(&p->tensor, 9, "abc", 3); }
static void spoil_parts_byte(parts *p) { retype(p, 22, 2), put_int(&p->tensor, 5, 256); }
static void spoil_i8(parts *p) { retype(p, 3, 1), put_int(&p->tensor, 5, 128); }
static void spoil_i16(parts *p) { retype(p, 5, 1), put_int(&p->tensor, 5, (uint64_t)-32769); }
static void spoil_i32(parts *p) { retype(p, 6, 1), put_int(&p->tensor, 5, 1ull << 31); }
static void spoil_u8(parts *p) { retype(p, 2, 1), put_int(&p->tensor, 5, (uint64_t)-1); }
static void spoil_f16(parts *p) { retype(p, 10, 1), put_int(&p->tensor, 5, 65536); }
static void spoil_bf16(parts *p) { retype(p, 16, 1), put_int(&p->tensor, 5, (uint64_t)-1); }
static void spoil_bool(parts *p) { retype(p, 9, 1), put_int(&p->tensor, 5, 2); }
static void spoil_u32(parts *p) { retype(p, 12, 1), put_int(&p->tensor, 11, 1ull << 32); }
static void spoil_u64(parts *p) { retype(p, 13, 1), put_int(&p->tensor, 11, 1ull << 63); }
static void spoil_packed_cut(parts *p) { retype(p, 1, 2), put_bytes(&p->tensor, 4, "1234567", 7); }
static void spoil_packed_varint(parts *p)
{
  retype(p, 6, 2);
  put_bytes(&p->tensor, 5, "\x01\x80", 2);
}
static void spoil_packed_long(parts *p)
{
  retype(p, 7, 1);
  put_bytes(&p->tensor, 7, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
}
static void spoil_string_tensor(parts *p) { retype(p, 8, 1), put_string(&p->tensor, 6, "a"); }
static void spoil_float8(parts *p) { retype(p, 17, 1), put_bytes(&p->tensor, 9, "\x7f", 1); }
static void spoil_float4(parts *p) { retype(p, 23, 1), put_bytes(&p->tensor, 9, "a", 1); }
static void spoil_new_type(parts *p) { retype(p, 1000, 1); }
static void
put_external(parts *p, const char *key, const char *value)
{
  bytes pair = { 0 };

  put_string(&pair, 1, key);
  put_string(&pair, 2, value);
  put_message(&p->tensor, 13, &pair);
}

/* Two floats in the file at the location. */
static void
place(parts *p, const char *location)
{
  retype(p, 1, 2);
  put_int(&p->tensor, 14, 1);
  put_external(p, "location", location);
}

static void spoil_external(parts *p) { retype(p, 1, 2), put_int(&p->tensor, 14, 1); }
static void spoil_external_entry(parts *p) { retype(p, 1, 2), put_bytes(&p->tensor, 13, "", 0); }
static void spoil_external_only(parts *p)
{
  retype(p, 1, 2);
  put_external(p, "location", "w.bin");
}
static void spoil_external_file(parts *p) { place(p, "w.bin"); }
static void spoil_external_raw(parts *p) { place(p, "w"), put_bytes(&p->tensor, 9, "12345678", 8); }
static void spoil_external_typed(parts *p) { place(p, "w"), put_float(&p->tensor, 4, 1); }
static void spoil_external_where(parts *p) { retype(p, 1, 2), put_int(&p->tensor, 14, 2); }
static void spoil_external_twice(parts *p) { place(p, "w"), put_external(p, "location", "v"); }
static void spoil_external_offsets(parts *p)
{
  place(p, "w");
  put_external(p, "offset", "0");
  put_external(p, "offset", "0");
}
static void spoil_external_lengths(parts *p)
{
  place(p, "w");
  put_external(p, "length", "8");
  put_external(p, "length", "8");
}
static void spoil_external_key(parts *p) { place(p, "w"), put_external(p, "checksum", "0"); }
static void spoil_external_offset(parts *p) { place(p, "w"), put_external(p, "offset", "-1"); }
static void spoil_external_big(parts *p)
{
  place(p, "w");
  put_external(p, "offset", "9999999999999999999");
}
static void spoil_external_empty(parts *p) { place(p, "w"), put_external(p, "length", ""); }
static void spoil_external_length(parts *p) { place(p, "w"), put_external(p, "length", "9"); }
static void spoil_external_name(parts *p) { place(p, "a\nb"); }
static void spoil_external_attr(parts *p)
{
  bytes t = tensor("c", 1, 2), pair = { 0 };

  put_string(&pair, 1, "location");
  put_string(&pair, 2, "w.bin");
  put_message(&t, 13, &pair);
  put_int(&t, 14, 1);
  reattr(p, 4);
  put_message(&p->attr, 5, &t);
}
static void spoil_segment(parts *p) { put_bytes(&p->tensor, 3, "", 0); }
static void spoil_dim(parts *p) { retype(p, 1, (uint64_t)-1); }
static void spoil_rank(parts *p) { put_bytes(&p->tensor, 1, "\1\1\1\1\1\1\1\1", 8); }
static void spoil_product(parts *p)
{
  retype(p, 1, 1ull << 40);
  put_int(&p->tensor, 1, 1ull << 40);
}
static void spoil_huge(parts *p) { retype(p, 1, 1ull << 31); }

static void spoil_op(parts *p) { bytes_clear(&p->node), put_string(&p->node, 2, "y"); }
static void spoil_nul(parts *p) { put_bytes(&p->node, 1, "a\0b", 3); }
static void spoil_control(parts *p) { put_string(&p->node, 2, "\x1b[2J"); }
static void spoil_utf8(parts *p) { put_string(&p->node, 2, "\xc0\xaf"); }
static void spoil_output_twice(parts *p) { put_string(&p->node, 2, "y"); }
static void spoil_output_weight(parts *p) { put_string(&p->node, 2, "w"); }
static void spoil_output_input(parts *p) { put_string(&p->node, 2, "x"); }
static void spoil_input_twice(parts *p)
{
  bytes again = port("x", 1);

  put_message(&p->graph, 11, &again);
}
static void spoil_attr_twice(parts *p)
{
  bytes again = { 0 };

  put_string(&again, 1, "axis");
  put_int(&again, 3, 1);
  put_int(&again, 20, 2);
  put_message(&p->node, 5, &again);
}
static void spoil_attr_many(parts *p)
{
  for (int k = 0; k < 64; k++)
    put_string(&p->node, 5, "");
}
static void spoil_attr_name(parts *p) { bytes_clear(&p->attr), put_int(&p->attr, 3, 1); }
static void spoil_attr_type(parts *p) { reattr(p, 77); }
static void spoil_attr_none(parts *p) { reattr(p, 0); }
static void spoil_attr_two(parts *p) { put_float(&p->attr, 2, 1); }
static void spoil_attr_other(parts *p) { reattr(p, 1), put_int(&p->attr, 3, 1); }
static void spoil_attr_nul(parts *p) { reattr(p, 3), put_bytes(&p->attr, 4, "a\0", 2); }
static void spoil_attr_inf(parts *p) { reattr(p, 1), put_float(&p->attr, 2, (float)INFINITY); }
static void spoil_attr_nan(parts *p) { reattr(p, 6), put_float(&p->attr, 7, (float)NAN); }
static void spoil_attr_tensor(parts *p) { reattr(p, 4); }
static void spoil_attr_in(parts *p) { reattr(p, 4), put_bytes(&p->attr, 5, "\x08\x05\x10\x01", 4); }
static void spoil_attr_cut(parts *p) { put_text(&p->attr, "\x0a\x7f"); }

static void spoil_port_name(parts *p) { bytes_clear(&p->input), put_string(&p->input, 1, ""); }
static void spoil_port_type(parts *p) { bytes_clear(&p->input), put_string(&p->input, 1, "x"); }
static void spoil_port_elem(parts *p) { bytes_clear(&p->output), p->output = port("y", 8); }
static void spoil_port_sequence(parts *p)
{
  bytes_clear(&p->input);
  put_string(&p->input, 1, "x");
  put_bytes(&p->input, 2, "\x22\x00", 2);
}
static void spoil_port_rank(parts *p)
{
  bytes_clear(&p->input);
  put_string(&p->input, 1, "x");
  put_bytes(&p->input, 2, "\x0a\x16\x08\x01\x12\x12\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0",
            24);
}
static void spoil_port_dim(parts *p)
{
  bytes_clear(&p->input);
  put_string(&p->input, 1, "x");
  put_bytes(&p->input, 2, "\x0a\x0b\x08\x01\x12\x07\x0a\x05\x08\x01\x12\x01N", 13);
}

/* What ONNX's checker refuses, and what protobuf would pass over or merge. */

static void spoil_graph_name(parts *p) { bytes_clear(&p->graph); }
static void spoil_ir_old(parts *p) { bytes_clear(&p->model), put_int(&p->model, 1, 2); }
static void spoil_ir_unlisted(parts *p) { bytes_clear(&p->model), put_int(&p->model, 1, 3); }
static void spoil_metadata(parts *p)
{
  for (int k = 0; k < 2; k++)
    put_bytes(&p->model, 14, "\x0a\x03key\x12\x01v", 8 - (size_t)k * 3);
}
static void spoil_training(parts *p) { put_bytes(&p->model, 20, "", 0); }
static void spoil_input_listed_twice(parts *p)
{
  for (int k = 0; k < 2; k++) {
    bytes again = port("w", 1);

    put_message(&p->graph, 11, &again);
  }
}
static void spoil_overload(parts *p) { put_string(&p->node, 8, "other"); }
static void spoil_empty_raw(parts *p)
{
  retype(p, 1, 1);
  put_float(&p->tensor, 4, 1);
  put_bytes(&p->tensor, 9, "", 0);
}
static void spoil_attr_reference(parts *p) { put_string(&p->attr, 21, "outer"); }
static void spoil_attr_untyped(parts *p)
{
  reattr(p, 0);
  put_int(&p->attr, 3, 1);
}
static void spoil_attr_graph(parts *p) { reattr(p, 5), put_bytes(&p->attr, 6, "\x7a\x00", 2); }
static void spoil_attr_graphs(parts *p) { reattr(p, 10); }
static void spoil_attr_no_graph(parts *p) { reattr(p, 5); }
static void spoil_attr_unnamed(parts *p) { reattr(p, 5), put_bytes(&p->attr, 6, "\x5a\x00", 2); }
static void spoil_attr_defines(parts *p) { reattr(p, 5), put_bytes(&p->attr, 6, "\x5a\x03\x0a\x01w", 5); }

/* Nine: a graph with a node whose attribute is a graph, and so on. */
static void
spoil_attr_deep(parts *p)
{
  bytes inner = { 0 };

  for (int k = 0; k < 9; k++) {
    bytes graph = { 0 }, node = { 0 }, attr = { 0 };

    put_string(&attr, 1, "g");
    put_int(&attr, 20, 5);
    put_message(&attr, 6, &inner);
    put_string(&node, 4, "If");
    put_message(&node, 5, &attr);
    put_message(&graph, 1, &node);
    inner = graph;
  }
  reattr(p, 5);
  put_message(&p->attr, 6, &inner);
}
static void spoil_attr_strings(parts *p) { reattr(p, 8), put_string(&p->attr, 9, "Tanh"), put_string(&p->attr, 9, "a b"); }
static void spoil_attr_empty_string(parts *p) { reattr(p, 8), put_string(&p->attr, 9, ""); }
static void spoil_attr_two_kinds(parts *p) { reattr(p, 8), put_string(&p->attr, 9, "a"), put_string(&p->attr, 4, "b"); }
static void spoil_unknown_model(parts *p) { put_int(&p->model, 1000, 1); }
static void spoil_unknown_graph(parts *p) { put_float(&p->graph, 500, 2); }
static void spoil_unknown_node(parts *p) { put_string(&p->node, 11, "x"); }
static void spoil_unknown_attr(parts *p) { put_int(&p->attr, 12, 1); }
static void spoil_unknown_tensor(parts *p) { put_int(&p->tensor, 15, 1); }
static void spoil_unknown_port(parts *p) { put_int(&p->input, 5, 1); }
static void spoil_unknown_opset(parts *p) { put_int(&p->opset, 3, 1); }
static void spoil_opset_domain(parts *p) { put_string(&p->opset, 1, "\xff\xfe"); }
static void spoil_opset_control(parts *p) { put_string(&p->opset, 1, "a\x01"); }
static void spoil_doc_twice(parts *p) { put_string(&p->node, 6, "a"), put_string(&p->node, 6, "b"); }
static void spoil_doc_type(parts *p) { put_int(&p->graph, 10, 1); }
static void spoil_type_twice(parts *p) { put_bytes(&p->input, 2, "\x0a\x02\x08\x0b", 4); }
static void spoil_dims_fixed(parts *p) { put_varint(&p->tensor, 1 << 3 | 1), put_word(&p->tensor, 2, 8); }
static void spoil_raw_twice(parts *p) { put_bytes(&p->tensor, 9, "12345678", 8); }
static void spoil_info_within(parts *p) { put_bytes(&p->graph, 13, "\x0a\x7fq", 3); }
static void spoil_info_sequence(parts *p) { put_bytes(&p->graph, 13, "\x12\x02\x22\x00", 4); }

static const struct {
  void (*spoil)(parts *);
  const char *says;
} refused[] = {
  { spoil_graph_name, "the graph has no name" },
  { spoil_ir_old, "ir_version 2; versions 3 to 14 are read" },
  { spoil_ir_unlisted, "initializer \"w\" is no input; in IR version 3" },
  { spoil_metadata, "metadata \"key\": is given twice" },
  { spoil_training, "ModelProto.training_info is not supported" },
  { spoil_input_listed_twice, "\"w\" is defined twice: as graph input and as graph input" },
  { spoil_overload, "overload" },
  { spoil_empty_raw, "tensor \"w\": entries both in raw_data and in float_data" },
  { spoil_attr_reference, "refers to an attribute of a function" },
  { spoil_attr_untyped, "attribute \"axis\": has no value of a known type (type 0)" },
  { spoil_attr_graph, "attribute \"axis\": sparse initializer: not supported" },
  { spoil_attr_graphs, "attribute \"axis\": holds several graphs" },
  { spoil_attr_no_graph, "attribute \"axis\": is a graph but holds none" },
  { spoil_attr_unnamed, "attribute \"axis\": an input of a node's graph has no name" },
  { spoil_attr_defines, "\"w\" is defined twice" },
  { spoil_attr_deep, "more than 8 graphs in one another" },
  { spoil_attr_strings, "attribute \"axis\": holds a string that is empty or has a space; expected words" },
  { spoil_attr_empty_string, "holds a string that is empty or has a space" },
  { spoil_attr_two_kinds, "holds both strings and s" },
  { spoil_unknown_model, "ModelProto has a field 1000, which is not known" },
  { spoil_unknown_graph, "GraphProto has a field 500" },
  { spoil_unknown_node, "NodeProto has a field 11" },
  { spoil_unknown_attr, "AttributeProto has a field 12" },
  { spoil_unknown_tensor, "TensorProto has a field 15" },
  { spoil_unknown_port, "ValueInfoProto has a field 5" },
  { spoil_unknown_opset, "OperatorSetIdProto has a field 3" },
  { spoil_opset_domain, "the domain of an operator set is no text" },
  { spoil_opset_control, "the domain of an operator set is no text" },
  { spoil_doc_twice, "NodeProto.doc_string is given twice" },
  { spoil_doc_type, "GraphProto.doc_string has wire type 0; expected 2" },
  { spoil_type_twice, "ValueInfoProto.type is given twice" },
  { spoil_dims_fixed, "TensorProto.dims has wire type 1; expected 0" },
  { spoil_raw_twice, "TensorProto.raw_data is given twice" },
  { spoil_info_within, "runs past the end" },
  { spoil_info_sequence, "TypeProto.sequence_type is not supported" },
  { spoil_group, "not an ONNX model|byte 3|group" },
  { spoil_wire, "not an ONNX model|no such wire type" },
  { spoil_field, "no such field number" },
  { spoil_field_huge, "no such field number" },
  { spoil_varint, "longer than 64 bits" },
  { spoil_type, "GraphProto.node has wire type 0; expected 2" },
  { spoil_ir, "ir_version 99" },
  { spoil_no_ir, "no ir_version" },
  { spoil_ir_twice, "ModelProto.ir_version is given twice" },
  { spoil_no_opset, "no operator set" },
  { spoil_other_opset, "no operator set" },
  { spoil_opset_negative, "version -1" },
  { spoil_opset_twice, "two operator sets" },
  { spoil_function, "function \"my_relu\"|not supported" },
  { spoil_sparse, "sparse initializer \"thin\"|not supported" },
  { spoil_tensor_name, "initializer: has no name" },
  { spoil_tensor_twice, "\"w\" is defined twice|as initializer and as initializer" },
  { spoil_no_data, "initializer: tensor \"w\": has no data; expected 8 bytes for float32 [2]" },
  { spoil_short, "tensor \"w\": raw_data holds 8 bytes; expected 16 for float64 [2]" },
  { spoil_long, "tensor \"w\": raw_data holds 3 bytes; expected 2 for int8 [2]" },
  { spoil_data_of_none, "tensor \"w\": raw_data holds 3 bytes; expected 0 for int8 [0]" },
  { spoil_both, "tensor \"w\": entries both in raw_data and in int32_data" },
  { spoil_two_fields, "both in int32_data and in int64_data" },
  { spoil_wrong_field, "tensor \"w\": int32_data is no field for entries of type FLOAT" },
  { spoil_typed_count, "tensor \"w\": int32_data holds 1 entries; expected 3 for int32 [3]" },
  { spoil_parts_count, "tensor \"w\": int32_data holds 1 entries; expected 2 for int4 [3]" },
  { spoil_parts_raw, "tensor \"w\": raw_data holds 3 bytes; expected 2 for uint4 [3]" },
  { spoil_parts_byte, "tensor \"w\": int32_data entry 0 (256) is no int4" },
  { spoil_i8, "tensor \"w\": int32_data entry 0 (128) is no int8" },
  { spoil_i16, "tensor \"w\": int32_data entry 0 (-32769) is no int16" },
  { spoil_i32, "(2147483648) is no int32" },
  { spoil_u8, "(-1) is no uint8" },
  { spoil_f16, "(65536) is no float16" },
  { spoil_bf16, "(-1) is no bfloat16" },
  { spoil_bool, "(2) is no bool" },
  { spoil_u32, "(4294967296) is no uint32" },
  { spoil_u64, "tensor w|entry 0|9223372036854775808" },
  { spoil_packed_cut, "cut short" },
  { spoil_packed_varint, "runs past the end" },
  { spoil_packed_long, "longer than 64 bits" },
  { spoil_string_tensor, "tensor \"w\": element type 8 (STRING)" },
  { spoil_float8, "tensor w: entry 0 is NaN; it must be finite" },
  { spoil_float4, "tensor \"w\": element type 23 (FLOAT4E2M1)" },
  { spoil_new_type, "tensor \"w\": element type 1000" },
  { spoil_external, "tensor \"w\": external_data names no location" },
  { spoil_external_entry, "tensor \"w\"|external_data has a key given twice, or other" },
  { spoil_external_only, "tensor \"w\": data_location is 0" },
  { spoil_external_file, "initializer: tensor \"w\": external file \"w.bin\"|and not here" },
  { spoil_external_raw, "tensor \"w\": entries both in the model and in an external file" },
  { spoil_external_typed, "tensor \"w\": entries both in the model and in an external file" },
  { spoil_external_where, "tensor \"w\": data_location 2 is not known" },
  { spoil_external_twice, "external_data has a key given twice" },
  { spoil_external_offsets, "external_data has a key given twice" },
  { spoil_external_lengths, "external_data has a key given twice" },
  { spoil_external_key, "other than location, offset and length" },
  { spoil_external_offset, "external_data: the offset is no number" },
  { spoil_external_big, "external_data: the offset is no number" },
  { spoil_external_empty, "external_data: the length is empty" },
  { spoil_external_length, "tensor \"w\": external_data holds 9 bytes; expected 8" },
  { spoil_external_name, "tensor \"w\": its external file's name is not text" },
  { spoil_external_attr, "attribute \"axis\": tensor \"c\": external file \"w.bin\"|and not here" },
  { spoil_segment, "tensor \"w\"|segments" },
  { spoil_dim, "tensor \"w\": dimension 0 is negative (-1)" },
  { spoil_rank, "more than 8 dimensions" },
  { spoil_product, "tensor \"w\": float32 [1099511627776, 1099511627776] has more than" },
  { spoil_huge, "tensor \"w\": has no data; expected 8589934592 bytes" },
  { spoil_op, "node 0|has no op_type" },
  { spoil_nul, "node 0 (Op \"the node\"): an input is not text" },
  { spoil_control, "node 0 (Op \"the node\"): an output is not text" },
  { spoil_utf8, "node 0 (Op \"the node\"): an output is not text" },
  { spoil_output_twice, "\"y\" is defined twice: as node output and as node output" },
  { spoil_output_weight, "\"w\" is defined twice" },
  { spoil_output_input, "\"x\" is defined twice" },
  { spoil_input_twice, "\"x\" is defined twice: as graph input and as graph input" },
  { spoil_attr_twice, "node 0 (Op \"the node\"): attribute \"axis\" is given twice" },
  { spoil_attr_many, "has 65 attributes; at most 64" },
  { spoil_attr_name, "node 0 (Op \"the node\"): an attribute has no name" },
  { spoil_attr_type, "attribute \"axis\": has no value of a known type (type 77)" },
  { spoil_attr_none, "attribute \"axis\": has no value" },
  { spoil_attr_two, "both|i|f" },
  { spoil_attr_other, "attribute \"axis\": is of type 1 but holds i" },
  { spoil_attr_nul, "attribute \"axis\": its string is not text" },
  { spoil_attr_inf, "attribute \"axis\": is infinite" },
  { spoil_attr_nan, "attribute \"axis\": is NaN" },
  { spoil_attr_tensor, "attribute \"axis\": is a tensor but holds none" },
  { spoil_attr_in, "attribute \"axis\": tensor \"axis\": has no data; expected 20 bytes" },
  { spoil_attr_cut, "node 0 (Op \"the node\"): an attribute|runs past the end" },
  { spoil_port_name, "graph input: has no name" },
  { spoil_port_type, "graph input \"x\": has no type" },
  { spoil_port_elem, "graph output \"y\": element type 8 (STRING)" },
  { spoil_port_sequence, "graph input \"x\": is of sequence_type; expected a tensor" },
  { spoil_port_rank, "graph input \"x\": more than 8 dimensions" },
  { spoil_port_dim, "graph input \"x\": a dimension has both" },
};

START_TEST(refusals)
{
  parts p = sound_parts();
  clarke_model m;
  clarke_error err;
  bytes b;

  refused[_i].spoil(&p);
  b = join(&p);
  clarke_model_init(&m);
  strcpy(err.text, "(none)");
  ck_assert_msg(parse(&m, &b, &err) != CLARKE_OK, "accepted; expected: %s", refused[_i].says);
  ck_assert_msg(strncmp(err.text, "dir/m.onnx: ", 12) == 0, "%s", err.text);
  assert_says(err.text, refused[_i].says);
  ck_assert_int_eq(parse(&m, &b, NULL), err.code);
  clarke_model_clear(&m);
  bytes_clear(&b);
}
END_TEST

/* --- what is accepted --- */

static char *
described(const clarke_model *m)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);

  describe_model(out, m);
  fclose(out);
  return text;
}

/* Parses the joined parts and compares the description. */
static void
expect(parts *p, const char *text)
{
  clarke_model m;
  clarke_error err = { CLARKE_OK, "" };
  bytes b = join(p);
  char *got;

  clarke_model_init(&m);
  ck_assert_msg(parse(&m, &b, &err) == CLARKE_OK, "%s", err.text);
  got = described(&m);
  ck_assert_str_eq(got, text);
  ck_assert_str_eq(m.file, "m.onnx");
  free(got);
  clarke_model_clear(&m);
  bytes_clear(&b);
}

#define PORTS "input x float32 [2]\noutput y float32 [2]\n"
#define NODE "node Op domain= name=the node in=x out=y\n axis int 1\n"

/* In raw_data and in the type's field. */
START_TEST(no_numbers)
{
  const unsigned width = nonnumbers[_i].width, field = nonnumbers[_i].field;

  for (int k = 0; k < 8; k++) {
    const uint64_t bits = nonnumbers[_i].bits[k / 2];
    parts p = sound_parts();
    bytes data = { 0 }, b;
    clarke_model m;
    clarke_error err;

    retype(&p, nonnumbers[_i].onnx, 1);
    put_word(&data, bits, width);
    if (k % 2 == 0)
      put_bytes(&p.tensor, 9, data.data, data.size);
    else if (field == 5)
      put_int(&p.tensor, 5, bits);
    else
      put_bytes(&p.tensor, field, data.data, data.size);
    b = join(&p);
    clarke_model_init(&m);
    ck_assert_int_eq(parse(&m, &b, &err), CLARKE_OK); /* for a mask: who reads it as a number looks */
    ck_assert(k < 4 ? isinf(m.tensors[0].real[0]) : isnan(m.tensors[0].real[0]));
    clarke_model_clear(&m);
    bytes_clear(&b);
    bytes_clear(&data);
  }
}
END_TEST

START_TEST(sound)
{
  parts p = sound_parts();

  expect(&p, "opset 17\ntensor w float32 [2] 3ff0000000000000 c000000000000000\n" PORTS NODE);
}
END_TEST

/* An operator set that is imported again, by whichever of its names. */
START_TEST(imported_again)
{
  parts p = sound_parts();
  bytes other = { 0 };

  if (_i > 0)
    put_string(&other, 1, "ai.onnx");
  put_int(&other, 2, 17);
  put_message(&p.model, 8, &other);
  expect(&p, "opset 17\ntensor w float32 [2] 3ff0000000000000 c000000000000000\n" PORTS NODE);
}
END_TEST

/* Repeated numbers may come one by one, packed, or in several runs: all mean the same. */
START_TEST(packing)
{
  const char *const text = "opset 17\ntensor w int16 [4] 1 -2 300 -32768\n" PORTS NODE;
  static const int64_t values[] = { 1, -2, 300, -32768 };

  for (unsigned cuts = 0; cuts < 16; cuts++) {
    parts p = sound_parts();
    bytes run = { 0 };

    retype(&p, 5, 4);
    for (unsigned k = 0; k < 4; k++) {
      put_varint(&run, (uint64_t)values[k]);
      if (cuts >> k & 1)
        put_message(&p.tensor, 5, &run);
      else if (run.size != 0 && cuts == 0) {
        bytes_clear(&run);
        put_int(&p.tensor, 5, (uint64_t)values[k]);
      }
    }
    if (run.size != 0)
      put_message(&p.tensor, 5, &run);
    bytes_clear(&run);
    expect(&p, text);
  }
}
END_TEST

/* Integers of 4 and 2 bits share bytes, the first entry in the lowest bits; int32_data has a byte in each number. */
START_TEST(parts_of_bytes)
{
  static const struct {
    unsigned type;
    uint64_t n;
    const char *bytes, *text;
  } each[] = {{21, 3, "\xf1\x08", "uint4 [3] 1 15 8"}, {22, 3, "\xf1\x08", "int4 [3] 1 -1 -8"}, {22, 4, "\x70\x9f", "int4 [4] 0 7 -1 -7"},
              {25, 5, "\xe4\x03", "uint2 [5] 0 1 2 3 3"}, {26, 5, "\xe4\x02", "int2 [5] 0 1 -2 -1 -2"}, {22, 1, "\x08", "int4 [1] -8"}};

  for (size_t i = 0; i < 2 * sizeof each / sizeof each[0]; i++) {
    parts p = sound_parts();
    const size_t k = i / 2, size = strlen(each[k].bytes);
    char text[200];

    retype(&p, each[k].type, each[k].n);
    if (i % 2 == 0)
      put_bytes(&p.tensor, 9, each[k].bytes, (unsigned)size);
    else
      for (size_t e = 0; e < size; e++)
        put_int(&p.tensor, 5, (unsigned char)each[k].bytes[e]);
    snprintf(text, sizeof text, "opset 17\ntensor w %s\n" PORTS NODE, each[k].text);
    expect(&p, text);
  }
}
END_TEST

START_TEST(packed_floats)
{
  parts p = sound_parts();

  retype(&p, 1, 3);
  put_float(&p.tensor, 4, 0.5f);
  put_bytes(&p.tensor, 4, "\0\0\0\200\0\0\200\77", 8);
  put_bytes(&p.tensor, 4, "", 0);
  reattr(&p, 7);
  put_int(&p.attr, 8, (uint64_t)-5);
  put_bytes(&p.attr, 8, "\x01\x02", 2);
  expect(&p, "opset 17\n"
             "tensor w float32 [3] 3fe0000000000000 8000000000000000 3ff0000000000000\n" PORTS
             "node Op domain= name=the node in=x out=y\n axis ints -5 1 2\n");
}
END_TEST

/* Dimensions packed too; what onnx.proto has beside what is read is passed over. */
START_TEST(other_fields)
{
  parts p = sound_parts();
  bytes pair = { 0 }, info = port("y", 1);

  bytes_clear(&p.tensor);
  put_bytes(&p.tensor, 1, "\x01\x02", 2);
  put_int(&p.tensor, 2, 2);
  put_string(&p.tensor, 8, "w");
  put_bytes(&p.tensor, 9, "\xff\x07", 2);
  put_string(&p.tensor, 12, "a comment \xff");
  put_string(&p.attr, 13, "doc");
  put_string(&p.node, 6, "doc");
  put_string(&p.input, 3, "doc");
  put_string(&p.model, 2, "maker");
  put_string(&p.graph, 10, "doc");
  put_message(&p.graph, 13, &info);
  put_string(&pair, 1, "key");
  put_string(&pair, 2, "value");
  put_bytes(&p.tensor, 16, pair.data, pair.size);
  put_message(&p.model, 14, &pair);
  put_string(&p.opset, 1, "ai.onnx");
  expect(&p, "opset 17\ntensor w uint8 [1, 2] 255 7\n" PORTS NODE);
}
END_TEST

/* Cut anywhere, a model is refused: its last field is the graph. */
START_TEST(truncations)
{
  parts p = sound_parts();
  bytes whole = join(&p);

  for (size_t size = 0; size < whole.size; size++) {
    const bytes cut = { whole.data, size };
    clarke_model m;
    clarke_error err = { CLARKE_OK, "" };

    clarke_model_init(&m);
    ck_assert_int_ne(parse(&m, &cut, &err), CLARKE_OK);
    ck_assert_int_eq(strncmp(err.text, "dir/m.onnx: ", 12), 0);
    ck_assert(m.nodes == NULL && m.tensors == NULL && m.file == NULL);
  }
  bytes_clear(&whole);
}
END_TEST

/* --- data in other files --- */

static char folder[64];

static void
save(const char *name, const void *data, size_t size)
{
  char path[128];
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = fopen(path, "wb");
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_eq(fwrite(data, 1, size, f), size);
  ck_assert_int_eq(fclose(f), 0);
}

/* DIR/secret lies outside the model's folder DIR/in; in it are data, a folder with data, and what
 * leads elsewhere. */
static void
begin_folder(void)
{
  char command[512];

  strcpy(folder, "/tmp/clarke-onnx-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(command, sizeof command,
           "cd %s && mkdir in in/sub && ln -s ../secret in/link && ln -s .. in/up && "
           "ln -s w.bin in/near && mkfifo in/pipe", folder);
  ck_assert_int_eq(system(command), 0);
  save("secret", "\0\0\200\77\0\0\0\300", 8);
  save("in/w.bin", "1234\0\0\200\77\0\0\0\300", 12);
  save("in/sub/v.bin", "\0\0\200\77\0\0\0\300rest", 12);
}

static void
end_folder(void)
{
  char command[128];

  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static clarke_status
parse_in_folder(clarke_model *m, parts *p, clarke_error *err)
{
  char path[128];
  bytes b = join(p);
  clarke_status status;

  snprintf(path, sizeof path, "%s/in/m.onnx", folder);
  clarke_model_init(m);
  status = clarke_onnx_parse_at(m, b.data, b.size, path, err);
  bytes_clear(&b);
  return status;
}

static void
expect_external(parts *p)
{
  clarke_model m;
  clarke_error err = { CLARKE_OK, "" };

  ck_assert_msg(parse_in_folder(&m, p, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(m.external && m.n_tensors == 1 && m.tensors[0].count == 2);
  ck_assert(m.tensors[0].real[0] == 1 && m.tensors[0].real[1] == -2);
  clarke_model_clear(&m);
}

START_TEST(external_data)
{
  parts p = sound_parts();
  clarke_model m;

  place(&p, "w.bin");
  put_external(&p, "offset", "4");
  expect_external(&p);
  p = sound_parts();
  place(&p, "w.bin");
  put_external(&p, "length", "8");
  put_external(&p, "offset", "004");
  expect_external(&p);
  p = sound_parts();
  place(&p, "sub/v.bin");
  put_external(&p, "length", "8");
  expect_external(&p);
  p = sound_parts();
  ck_assert_int_eq(parse_in_folder(&m, &p, NULL), CLARKE_OK);
  ck_assert(!m.external);
  clarke_model_clear(&m);
}
END_TEST

/* In the current folder the model has no folder in its name. */
START_TEST(external_data_here)
{
  parts p = sound_parts();
  clarke_model m;
  char *before = getcwd(NULL, 0), path[80];
  bytes b;

  snprintf(path, sizeof path, "%s/in", folder);
  place(&p, "w.bin");
  put_external(&p, "offset", "4");
  b = join(&p);
  clarke_model_init(&m);
  ck_assert_int_eq(chdir(path), 0);
  ck_assert_int_eq(clarke_onnx_parse_at(&m, b.data, b.size, "m.onnx", NULL), CLARKE_OK);
  ck_assert_int_eq(chdir(before), 0);
  ck_assert(m.tensors[0].real[1] == -2);
  clarke_model_clear(&m);
  bytes_clear(&b);
  free(before);
}
END_TEST

static const struct {
  const char *location, *offset, *length, *says;
} outside[] = {
  { "../secret", NULL, "8", "is no plain path inside the model's folder" },
  { "/etc/passwd", NULL, "8", "is no plain path" },
  { "sub/../../secret", NULL, "8", "is no plain path" },
  { "./w.bin", "4", NULL, "is no plain path" },
  { "sub//v.bin", NULL, "8", "is no plain path" },
  { "sub/", NULL, "8", "is no plain path" },
  { "..", NULL, "8", "is no plain path" },
  { "link", NULL, "8", "symbolic links are not followed" },
  { "near", "4", NULL, "symbolic links are not followed" },
  { "up/secret", NULL, "8", "symbolic links are not followed" },
  { "w.bin/v", NULL, "8", "cannot be opened" },
  { "absent.bin", NULL, "8", "cannot be opened: No such file" },
  { "pipe", NULL, "8", "is no regular file" },
  { "sub", NULL, "8", "is no regular file" },
  { "w.bin", NULL, NULL, "has 12 bytes from byte 0 to its end, and no length is stated; expected 8" },
  { "w.bin", "5", "8", "has 12 bytes; expected 8 from byte 5" },
  { "w.bin", "13", "8", "has 12 bytes; expected 8 from byte 13" },
  { "w.bin", "9000000000000000000", "8", "has 12 bytes; expected 8 from byte" },
};

START_TEST(external_data_outside)
{
  parts p = sound_parts();
  clarke_model m;
  clarke_error err = { CLARKE_OK, "(none)" };
  char says[128];

  place(&p, outside[_i].location);
  if (outside[_i].offset != NULL)
    put_external(&p, "offset", outside[_i].offset);
  if (outside[_i].length != NULL)
    put_external(&p, "length", outside[_i].length);
  ck_assert_msg(parse_in_folder(&m, &p, &err) != CLARKE_OK, "read %s", outside[_i].location);
  snprintf(says, sizeof says, "m.onnx: initializer: tensor \"w\": external file \"%s\": |",
           outside[_i].location);
  assert_says(err.text, says);
  assert_says(err.text, outside[_i].says);
}
END_TEST

/* The same 12 bytes for each of many tensors. */
START_TEST(external_data_shared)
{
  for (size_t n = 15; n <= 40; n += 25) {
    parts p = sound_parts();
    clarke_model m;
    clarke_error err = { CLARKE_OK, "" };

    place(&p, "sub/v.bin");
    put_external(&p, "length", "8");
    for (size_t k = 1; k < n; k++) {
      char name[32];

      put_bytes(&p.graph, 5, p.tensor.data, p.tensor.size);
      snprintf(name, sizeof name, "w%zu", k);
      bytes_clear(&p.tensor);
      p.tensor = tensor(name, 1, 2);
      put_int(&p.tensor, 14, 1);
      put_external(&p, "location", "sub/v.bin");
      put_external(&p, "length", "8");
    }
    ck_assert_int_eq(parse_in_folder(&m, &p, &err), n == 15 ? CLARKE_OK : CLARKE_ENOMEM);
    if (n > 15)
      assert_says(err.text, "more than 16 times the bytes of their files");
    clarke_model_clear(&m);
  }
}
END_TEST

/* An initializer that is declared with another type is let pass in a step that the recorder wrote, and in no file of its name. */
START_TEST(a_step_has_its_own_types)
{
  static const struct {
    const char *producer;
    bool declared, step, read;
  } known[] = {{"clarke.record", true, true, true}, {"clarke.record", true, false, false}, {"clarke.recorder", true, true, false},
               {"pytorch", true, true, false}, {NULL, true, true, false}, {"clarke.record", false, false, true}};

  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    parts p = sound_parts();
    bytes b = port("w", 11);
    clarke_model m;
    clarke_error err = { CLARKE_OK, "" };
    clarke_status status;

    if (known[i].producer != NULL)
      put_string(&p.model, 2, known[i].producer);
    if (known[i].declared)
      put_message(&p.graph, 11, &b);
    else
      bytes_clear(&b);
    b = join(&p);
    clarke_model_init(&m);
    status = (known[i].step ? clarke_onnx_parse_step : clarke_onnx_parse_at)(&m, b.data, b.size, "m.onnx", &err);
    ck_assert_msg((status == CLARKE_OK) == known[i].read, "%zu: %s", i, err.text);
    if (!known[i].read)
      assert_says(err.text, "value 'w' is declared as float64, and is float32");
    clarke_model_clear(&m);
    bytes_clear(&b);
  }
}
END_TEST

static void
count_name(void *user, const char *name)
{
  ck_assert(*name != '\0');
  ++*(size_t *)user;
}

/* A graph that a node holds: v + k of x and w. What it reads of names around it are further inputs of the node, and k is the model's. */
START_TEST(graphs_within_nodes)
{
  parts p = sound_parts();
  bytes inner = { 0 }, add = { 0 }, k = tensor("k", 1, 2), b, v = port("v", 1), s = port("s", 1), d = port("s", 1);
  clarke_wire_span span;
  clarke_body *body = NULL, *own = calloc(1, sizeof *own);
  clarke_error err = { CLARKE_OK, "" };
  clarke_model m;
  size_t names = 0;

  put_bytes(&k, 9, "\0\0\200\77\0\0\0\300", 8);
  for (const char *const *in = (const char *const[]){"v", "k", "x", "w", NULL}; *in != NULL; in++)
    put_string(&add, 1, *in);
  put_string(&add, 2, "s");
  put_string(&add, 4, "Sum");
  put_message(&inner, 1, &add);
  put_message(&inner, 5, &k);
  put_message(&inner, 11, &v);
  put_message(&inner, 12, &s);
  put_message(&inner, 13, &d);
  span = (clarke_wire_span){inner.data, inner.data, inner.size};
  clarke_model_init(&m); /* as a model's own graph, whose declared types are the model's */
  ck_assert_msg(own != NULL && clarke_onnx_graph(own, &m, 0, span, NULL, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(own->n_nodes == 1 && own->n_tensors == 1 && own->n_inputs == 1 && own->n_outputs == 1 && m.n_declared == 1);
  ck_assert_str_eq(own->tensors[0].name, "k");
  ck_assert_str_eq(m.declared[0].name, "s");
  clarke_body_free(own);
  clarke_model_clear(&m);
  ck_assert_int_eq(clarke_onnx_body(&body, 9, span, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_onnx_body(&body, 8, span, &err), CLARKE_OK);
  ck_assert(body->n_nodes == 1 && body->n_tensors == 1 && body->n_inputs == 1 && body->n_outputs == 1);
  clarke_body_free(body);
  reattr(&p, 5);
  put_message(&p.attr, 6, &inner);
  b = join(&p);
  clarke_model_init(&m);
  ck_assert_msg(parse(&m, &b, &err) == CLARKE_OK, "%s", err.text);
  ck_assert(m.n_tensors == 2 && m.nodes[0].own_in == 1 && m.nodes[0].n_in == 4);
  ck_assert_str_eq(m.tensors[1].name, "k");
  ck_assert_str_eq(m.nodes[0].in[1], "k");
  ck_assert_str_eq(m.nodes[0].in[2], "w");
  ck_assert_str_eq(m.nodes[0].in[3], "x");
  clarke_onnx_within(m.nodes, m.n_nodes, count_name, &names);
  ck_assert_uint_eq(names, 2); /* v and s: k is the model's */
  ck_assert_int_eq(clarke_onnx_settle_bodies(&m, &err), CLARKE_OK);
  ck_assert_uint_eq(m.n_tensors, 2);
  clarke_model_clear(&m);
  bytes_clear(&b);
}
END_TEST

/* By its name, if that is a text. */
START_TEST(refused_by_name)
{
  static const struct {
    const char *name, *says;
  } cases[] = {{"w", "thing \"w\": why"}, {"", "thing: why"}, {"\xff", "thing: why"}};
  clarke_error err = { CLARKE_OK, "" };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const unsigned char *name = (const unsigned char *)cases[i].name;

    ck_assert_int_eq(clarke_onnx_refuse_named("thing", (clarke_wire_span){name, name, strlen(cases[i].name)}, "why", &err), CLARKE_EINPUT);
    ck_assert_str_eq(err.text, cases[i].says);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("onnx"), *files = tests_of("external data");

  tcase_add_loop_test(tests, refusals, 0, (int)(sizeof refused / sizeof refused[0]));
  tcase_add_checked_fixture(files, begin_folder, end_folder);
  tcase_add_test(files, external_data);
  tcase_add_test(files, external_data_here);
  tcase_add_loop_test(files, external_data_outside, 0, (int)(sizeof outside / sizeof outside[0]));
  tcase_add_test(files, external_data_shared);
  tcase_add_loop_test(tests, no_numbers, 0, N_NONNUMBERS);
  tcase_add_test(tests, sound);
  tcase_add_loop_test(tests, imported_again, 0, 2);
  tcase_add_test(tests, graphs_within_nodes);
  tcase_add_test(tests, refused_by_name);
  tcase_add_test(tests, a_step_has_its_own_types);
  tcase_add_test(tests, packing);
  tcase_add_test(tests, parts_of_bytes);
  tcase_add_test(tests, packed_floats);
  tcase_add_test(tests, other_fields);
  tcase_add_test(tests, truncations);
  return run_tests();
}
