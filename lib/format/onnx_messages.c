/* The messages of onnx.proto (onnx.h). Those that are refused wherever they stand are not described further:
 * their fields are marked NEVER. */
#include "format/onnx_messages.h"

#define SIZE(rules) (sizeof rules / sizeof rules[0])

static const clarke_wire_rule entry[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "key", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "value", NULL },
};
const clarke_wire_message clarke_onnx_entry_message = { "StringStringEntryProto", SIZE(entry), entry };

static const clarke_wire_rule annotation[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "tensor_name", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "quant_parameter_tensor_names", &clarke_onnx_entry_message },
};
const clarke_wire_message clarke_onnx_annotation_message = { "TensorAnnotation", SIZE(annotation), annotation };

static const clarke_wire_rule dimension[] = {
  { 1, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "dim_value", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "dim_param", NULL },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "denotation", NULL },
};
const clarke_wire_message clarke_onnx_dimension_message = { "TensorShapeProto.Dimension", SIZE(dimension), dimension };

static const clarke_wire_rule shape[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "dim", &clarke_onnx_dimension_message },
};
const clarke_wire_message clarke_onnx_shape_message = { "TensorShapeProto", SIZE(shape), shape };

static const clarke_wire_rule tensor_type[] = {
  { 1, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "elem_type", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "shape", &clarke_onnx_shape_message },
};
const clarke_wire_message clarke_onnx_tensor_type_message = { "TypeProto.Tensor", SIZE(tensor_type), tensor_type };

static const clarke_wire_rule type[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "tensor_type", &clarke_onnx_tensor_type_message },
  { 4, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "sequence_type", NULL },
  { 5, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "map_type", NULL },
  { 6, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "denotation", NULL },
  { 7, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "opaque_type", NULL },
  { 8, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "sparse_tensor_type", NULL },
  { 9, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "optional_type", NULL },
};
const clarke_wire_message clarke_onnx_type_message = { "TypeProto", SIZE(type), type };

static const clarke_wire_rule value_info[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "type", &clarke_onnx_type_message },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 4, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "metadata_props", &clarke_onnx_entry_message },
};
const clarke_wire_message clarke_onnx_value_info_message = { "ValueInfoProto", SIZE(value_info), value_info };

static const clarke_wire_rule tensor[] = {
  { 1, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "dims", NULL },
  { 2, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "data_type", NULL },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "segment", NULL },
  { 4, CLARKE_WIRE_32, CLARKE_WIRE_MANY, "float_data", NULL },
  { 5, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "int32_data", NULL },
  { 6, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "string_data", NULL },
  { 7, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "int64_data", NULL },
  { 8, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
  { 9, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "raw_data", NULL },
  { 10, CLARKE_WIRE_64, CLARKE_WIRE_MANY, "double_data", NULL },
  { 11, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "uint64_data", NULL },
  { 12, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 13, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "external_data", &clarke_onnx_entry_message },
  { 14, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "data_location", NULL },
  { 16, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "metadata_props", &clarke_onnx_entry_message },
};
const clarke_wire_message clarke_onnx_tensor_message = { "TensorProto", SIZE(tensor), tensor };

static const clarke_wire_rule attribute[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
  { 2, CLARKE_WIRE_32, CLARKE_WIRE_ONE, "f", NULL },
  { 3, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "i", NULL },
  { 4, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "s", NULL },
  { 5, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "t", &clarke_onnx_tensor_message },
  { 6, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "g", &clarke_onnx_graph_message },
  { 7, CLARKE_WIRE_32, CLARKE_WIRE_MANY, "floats", NULL },
  { 8, CLARKE_WIRE_VARINT, CLARKE_WIRE_MANY, "ints", NULL },
  { 9, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "strings", NULL },
  { 10, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "tensors", NULL },
  { 11, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "graphs", NULL },
  { 13, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 14, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "tp", NULL },
  { 15, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "type_protos", NULL },
  { 20, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "type", NULL },
  { 21, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "ref_attr_name", NULL },
  { 22, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "sparse_tensor", NULL },
  { 23, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "sparse_tensors", NULL },
};
const clarke_wire_message clarke_onnx_attribute_message = { "AttributeProto", SIZE(attribute), attribute };

static const clarke_wire_rule node[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "input", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "output", NULL },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
  { 4, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "op_type", NULL },
  { 5, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "attribute", &clarke_onnx_attribute_message },
  { 6, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 7, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "domain", NULL },
  { 8, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "overload", NULL },
  { 9, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "metadata_props", &clarke_onnx_entry_message },
  { 10, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "device_configurations", NULL },
};
const clarke_wire_message clarke_onnx_node_message = { "NodeProto", SIZE(node), node };

static const clarke_wire_rule graph[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "node", &clarke_onnx_node_message },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL },
  { 5, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "initializer", &clarke_onnx_tensor_message },
  { 10, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 11, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "input", &clarke_onnx_value_info_message },
  { 12, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "output", &clarke_onnx_value_info_message },
  { 13, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "value_info", &clarke_onnx_value_info_message },
  { 14, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "quantization_annotation", &clarke_onnx_annotation_message },
  { 15, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "sparse_initializer", NULL },
  { 16, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "metadata_props", &clarke_onnx_entry_message },
};
const clarke_wire_message clarke_onnx_graph_message = { "GraphProto", SIZE(graph), graph };

static const clarke_wire_rule operator_set[] = {
  { 1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "domain", NULL },
  { 2, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "version", NULL },
};
const clarke_wire_message clarke_onnx_operator_set_message = { "OperatorSetIdProto", SIZE(operator_set), operator_set };

static const clarke_wire_rule model[] = {
  { 1, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "ir_version", NULL },
  { 2, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "producer_name", NULL },
  { 3, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "producer_version", NULL },
  { 4, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "domain", NULL },
  { 5, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "model_version", NULL },
  { 6, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "doc_string", NULL },
  { 7, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "graph", &clarke_onnx_graph_message },
  { 8, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "opset_import", &clarke_onnx_operator_set_message },
  { 14, CLARKE_WIRE_BYTES, CLARKE_WIRE_MANY, "metadata_props", &clarke_onnx_entry_message },
  { 20, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "training_info", NULL },
  { 25, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "functions", NULL },
  { 26, CLARKE_WIRE_BYTES, CLARKE_WIRE_NEVER, "configuration", NULL },
};
const clarke_wire_message clarke_onnx_model_message = { "ModelProto", SIZE(model), model };
