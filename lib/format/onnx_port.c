/* ValueInfoProto: the name, element type and shape of one input or output of the graph, or of a value within. Of the last
 * what cannot be a tensor's says nothing, where an input or an output is refused. */
#include "exact/float8.h"
#include "format/onnx_inside.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { DENOTATION = 6 };

/* -1 when the dimension is named or absent, or stated so, as PaddlePaddle's exporter does. */
static clarke_status
read_dim(int64_t *dim, bool strict, clarke_wire_span span, clarke_error *err)
{
  bool valued = false, named = false;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  *dim = -1;
  clarke_wire_open(&w, &clarke_onnx_dimension_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    valued = valued || f.number == 1;
    named = named || f.number == 2;
    if (f.number == 1)
      *dim = (int64_t)f.value;
  }
  if (status == CLARKE_OK && !strict && (*dim < 1 || named))
    *dim = -1;
  else if (status == CLARKE_OK && valued && *dim < 1 && *dim != -1)
    return clarke_fail(err, CLARKE_EINPUT, "a dimension is %lld; expected 1 or more, a name, or -1 where it is unknown",
                       (long long)*dim);
  if (status == CLARKE_OK && strict && valued && named)
    return clarke_fail(err, CLARKE_EINPUT, "a dimension has both a value and a name");
  return status;
}

static clarke_status
read_shape(clarke_model_port *port, bool strict, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  port->shaped = true;
  clarke_wire_open(&w, &clarke_onnx_shape_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (port->rank == CLARKE_MAX_RANK && !strict)
      port->shaped = false;
    else if (port->rank == CLARKE_MAX_RANK)
      return clarke_fail(err, CLARKE_EINPUT, "more than %d dimensions", CLARKE_MAX_RANK);
    else
      status = read_dim(&port->dims[port->rank++], strict, f.span, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

static clarke_status
read_tensor_type(clarke_model_port *port, bool strict, clarke_wire_span span, clarke_error *err)
{
  uint64_t code = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_tensor_type_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == 1)
      code = f.value;
    else
      status = read_shape(port, strict, f.span, err);
    if (status != CLARKE_OK)
      return status;
  }
  port->typed = clarke_onnx_dtype(&port->dtype, code);
  if (status == CLARKE_OK && strict && (!port->typed || clarke_float8_is(port->dtype)))
    return clarke_fail(err, CLARKE_EINPUT, "element type %llu (%s) is not supported",
                       (unsigned long long)code, clarke_onnx_type_name(code));
  return status;
}

static clarke_status
read_type(clarke_model_port *port, bool strict, clarke_wire_span span, clarke_error *err)
{
  bool typed = false;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_type_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == DENOTATION || (f.number != 1 && !strict))
      continue;
    if (f.number != 1)
      return clarke_fail(err, CLARKE_EINPUT, "is of %s; expected a tensor", f.rule->name);
    typed = true;
    status = read_tensor_type(port, strict, f.span, err);
    if (status != CLARKE_OK)
      return status;
  }
  if (status == CLARKE_OK && !typed && strict)
    return clarke_fail(err, CLARKE_EINPUT, "has no type; expected a tensor");
  return status;
}

clarke_status
clarke_onnx_port(clarke_model_port *port, const char *kind, bool strict, clarke_wire_span span,
                 clarke_error *err)
{
  clarke_wire_span name = { span.base, span.base, 0 }, type = name;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_value_info_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == 1)
      name = f.span;
    else if (f.number == 2)
      type = f.span;
  }
  if (status == CLARKE_OK && name.size == 0 && strict)
    status = clarke_fail(err, CLARKE_EINPUT, "has no name");
  if (status == CLARKE_OK)
    status = clarke_text_copy(&port->name, name.data, name.size, "its name", err);
  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "graph %s", kind);
  status = read_type(port, strict, type, err);
  return status == CLARKE_OK ? status
                             : clarke_fail_in(err, status, "graph %s \"%s\"", kind, port->name);
}
