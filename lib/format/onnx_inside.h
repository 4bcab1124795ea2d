/* The parts of the ONNX reader (https://github.com/onnx/onnx, onnx.proto), one message a file.
 * Each takes the bytes of one message and fills one structure of the model; errors name what is
 * wrong inside it, and the caller puts in front which node, attribute or file it was. */
#ifndef CLARKE_FORMAT_ONNX_INSIDE_H
#define CLARKE_FORMAT_ONNX_INSIDE_H

#include "format/external.h"
#include "format/onnx_messages.h"
#include "op/model.h"

/* The name of an element type of ONNX (TensorProto.DataType), and its dtype if it has one. */
const char *clarke_onnx_type_name(uint64_t code);
bool clarke_onnx_dtype(clarke_dtype *dtype, uint64_t code);

/* The name of a TensorProto, which need not be sound otherwise; empty when it has none. */
clarke_wire_span clarke_onnx_tensor_name(clarke_wire_span span);

/* A TensorProto; `unnamed` is its name when it states none, `external` where its entries may be
 * elsewhere than in it (NULL: nowhere). */
clarke_status clarke_onnx_tensor(clarke_tensor *t, clarke_wire_span span, const char *unnamed,
                                 clarke_external *external, clarke_error *err);

/* NodeProto number `index` of its graph, which lies in so many others. The node is initialized (zeros) by the caller. */
clarke_status clarke_onnx_node(clarke_model_node *node, size_t index, size_t depth, clarke_wire_span span,
                               clarke_error *err);

/* A GraphProto, into a zeroed *g: the model's own, whose declared types become m's and are held to more; or, m being NULL, one that
 * lies in so many others. An error leaves in *g and m what is to be freed. */
clarke_status clarke_onnx_graph(clarke_body *g, clarke_model *m, size_t depth, clarke_wire_span span, clarke_external *external,
                                clarke_error *err);

/* An error: `what` of that name, and why. */
clarke_status clarke_onnx_refuse_named(const char *what, clarke_wire_span name, const char *why, clarke_error *err);

/* A GraphProto that an attribute holds, which lies in so many others. */
clarke_status clarke_onnx_body(clarke_body **body, size_t depth, clarke_wire_span span, clarke_error *err);

/* Calls `each` with all that graphs within these nodes define: inputs, initializers, outputs of nodes. */
void clarke_onnx_within(const clarke_model_node *nodes, size_t n, void (*each)(void *user, const char *name), void *user);

/* For a model whose names are unique: initializers of graphs within nodes become the model's, and what such a graph
 * reads of the names around it becomes further inputs of its node. */
clarke_status clarke_onnx_settle_bodies(clarke_model *m, clarke_error *err);

/* A ValueInfoProto; `kind` is "input", "output" or "value_info". Not strict: what is said that no tensor here can have is
 * passed over, as if it were not said. */
clarke_status clarke_onnx_port(clarke_model_port *port, const char *kind, bool strict, clarke_wire_span span,
                               clarke_error *err);

#endif
