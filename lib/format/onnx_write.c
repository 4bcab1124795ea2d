/* Models written as ONNX: ModelProto and what is in it, in the order of their field numbers, so that one model has one text.
 * A message's length stands before it, so each is written to memory first. */
#include "format/onnx_write.h"

#include "base/output.h"

#include <string.h>

/* What the operator set 17 came with. */
#define IR_VERSION 8

enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ATTRIBUTE_INT = 2 };

/* --- the wire format (wire.h), written -------------------------------------------------------- */

static void
put_varint(FILE *out, uint64_t v)
{
  for (; v >= 0x80; v >>= 7)
    fputc((int)(v & 0x7f) | 0x80, out);
  fputc((int)v, out);
}

static void
put_number(FILE *out, unsigned field, uint64_t v)
{
  put_varint(out, field << 3);
  put_varint(out, v);
}

static void
put_bytes(FILE *out, unsigned field, const void *data, size_t size)
{
  put_varint(out, field << 3 | 2);
  put_varint(out, size);
  fwrite(data, 1, size, out);
}

static void
put_string(FILE *out, unsigned field, const char *text)
{
  put_bytes(out, field, text, strlen(text));
}

/* A message of what `write` writes of item. */
static clarke_status
put_message(FILE *out, unsigned field, clarke_status (*write)(FILE *, const void *, clarke_error *), const void *item,
            clarke_error *err)
{
  clarke_text inner;
  clarke_status status = clarke_text_open(&inner, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_text_close(&inner, write(inner.to, item, err), err);
  if (status == CLARKE_OK)
    put_bytes(out, field, inner.text, inner.size);
  clarke_text_clear(&inner);
  return status;
}

/* --- messages --------------------------------------------------------------------------------- */

/* AttributeProto: name 1, i 3, type 20. */
static clarke_status
write_attribute(FILE *out, const void *item, clarke_error *err)
{
  const clarke_attr *a = item;

  if (a->type != CLARKE_ATTR_INT)
    return clarke_fail(err, CLARKE_EINTERNAL, "attribute %s: only whole numbers are written", a->name);
  put_string(out, 1, a->name);
  put_number(out, 3, (uint64_t)a->i);
  put_number(out, 20, ATTRIBUTE_INT);
  return CLARKE_OK;
}

/* NodeProto: input 1, output 2, name 3, op_type 4, attribute 5. */
static clarke_status
write_node(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model_node *n = item;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < n->n_in; i++)
    put_string(out, 1, n->in[i]);
  for (size_t i = 0; i < n->n_out; i++)
    put_string(out, 2, n->out[i]);
  put_string(out, 3, n->name);
  put_string(out, 4, n->op_type);
  for (size_t i = 0; i < n->n_attr && status == CLARKE_OK; i++)
    status = put_message(out, 5, write_attribute, &n->attr[i], err);
  return status;
}

static void
put_float(FILE *out, float value)
{
  uint32_t bits;

  memcpy(&bits, &value, sizeof bits);
  for (unsigned k = 0; k < 4; k++)
    fputc((int)(bits >> 8 * k & 0xff), out);
}

/* TensorProto: dims 1, data_type 2, name 8, raw_data 9. */
static clarke_status
write_tensor(FILE *out, const void *item, clarke_error *err)
{
  const clarke_tensor *t = item;

  if (t->dtype != CLARKE_F32)
    return clarke_fail(err, CLARKE_EINTERNAL, "tensor %s: only float32 is written", t->name);
  for (size_t a = 0; a < t->rank; a++)
    put_number(out, 1, t->dims[a]);
  put_number(out, 2, ELEMENT_FLOAT);
  put_string(out, 8, t->name);
  put_varint(out, 9 << 3 | 2);
  put_varint(out, 4 * t->count);
  for (size_t i = 0; i < t->count; i++)
    put_float(out, (float)t->real[i]);
  return CLARKE_OK;
}

/* TensorShapeProto.Dimension: dim_value 1, dim_param 2 */
static clarke_status
write_axis(FILE *out, const void *item, clarke_error *err)
{
  const int64_t *axis = item;

  (void)err;
  if (*axis < 0)
    put_string(out, 2, "N");
  else
    put_number(out, 1, (uint64_t)*axis);
  return CLARKE_OK;
}

/* TensorShapeProto: dim 1 */
static clarke_status
write_shape(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model_port *p = item;
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < p->rank && status == CLARKE_OK; a++)
    status = put_message(out, 1, write_axis, &p->dims[a], err);
  return status;
}

/* TypeProto.Tensor: elem_type 1, shape 2 */
static clarke_status
write_tensor_type(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model_port *p = item;

  if (p->dtype != CLARKE_F32 && p->dtype != CLARKE_I64)
    return clarke_fail(err, CLARKE_EINTERNAL, "%s: only float32 and int64 are written", p->name);
  put_number(out, 1, p->dtype == CLARKE_F32 ? ELEMENT_FLOAT : ELEMENT_INT64);
  return put_message(out, 2, write_shape, p, err);
}

/* TypeProto: tensor_type 1 */
static clarke_status
write_type(FILE *out, const void *item, clarke_error *err)
{
  return put_message(out, 1, write_tensor_type, item, err);
}

/* ValueInfoProto: name 1, type 2 */
static clarke_status
write_port(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model_port *p = item;

  put_string(out, 1, p->name);
  return put_message(out, 2, write_type, p, err);
}

/* GraphProto: node 1, name 2, initializer 5, input 11, output 12. */
static clarke_status
write_graph(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model *m = item;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK; i++)
    status = put_message(out, 1, write_node, &m->nodes[i], err);
  put_string(out, 2, m->file);
  for (size_t i = 0; i < m->n_tensors && status == CLARKE_OK; i++)
    status = put_message(out, 5, write_tensor, &m->tensors[i], err);
  for (size_t i = 0; i < m->n_inputs && status == CLARKE_OK; i++)
    status = put_message(out, 11, write_port, &m->inputs[i], err);
  for (size_t i = 0; i < m->n_outputs && status == CLARKE_OK; i++)
    status = put_message(out, 12, write_port, &m->outputs[i], err);
  return status;
}

/* OperatorSetIdProto: domain 1 (the default one is left out), version 2 */
static clarke_status
write_opset(FILE *out, const void *item, clarke_error *err)
{
  const clarke_model *m = item;

  (void)err;
  put_number(out, 2, (uint64_t)m->opset);
  return CLARKE_OK;
}

/* ModelProto: ir_version 1, producer_name 2, graph 7, opset_import 8. */
clarke_status
clarke_onnx_write(FILE *out, const clarke_model *m, clarke_error *err)
{
  clarke_status status;

  put_number(out, 1, IR_VERSION);
  put_string(out, 2, "clarke");
  status = put_message(out, 7, write_graph, m, err);
  return status == CLARKE_OK ? put_message(out, 8, write_opset, m, err) : status;
}
