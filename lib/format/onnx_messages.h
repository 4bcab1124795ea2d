/* The messages of onnx.proto (https://github.com/onnx/onnx), as format/wire.h reads them. */
#ifndef CLARKE_FORMAT_ONNX_MESSAGES_H
#define CLARKE_FORMAT_ONNX_MESSAGES_H

#include "format/wire.h"

/* onnx.proto's messages (onnx_messages.c), by their names there, each with all its fields. */
extern const clarke_wire_message clarke_onnx_model_message,
    clarke_onnx_operator_set_message,
    clarke_onnx_graph_message,
    clarke_onnx_node_message,
    clarke_onnx_attribute_message,
    clarke_onnx_tensor_message,
    clarke_onnx_value_info_message,
    clarke_onnx_type_message,
    clarke_onnx_tensor_type_message,
    clarke_onnx_shape_message,
    clarke_onnx_dimension_message,
    clarke_onnx_annotation_message,
    clarke_onnx_entry_message;

#endif
