#include "op/dequantize.h"
#include "op/floats.h"
#include "exact/float8.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *
clarke_quantized_fits(const clarke_quantized *q, size_t rank, const size_t *dims, size_t count)
{
  bool same = rank == q->rank;

  if (q->block == 0 && rank <= 1 && count == 1)
    return NULL;
  if (q->axis == CLARKE_NONE)
    return "its scale or zero point is not one number";
  if (q->axis >= q->rank)
    return "axis is out of range";
  if (q->block == 0)
    return rank == 1 && dims[0] == q->dims[q->axis] ? NULL : "its scale is neither one number nor one for each place along the axis";
  for (size_t a = 0; a < rank && same; a++)
    same = dims[a] == (a == q->axis ? (q->dims[a] + q->block - 1) / q->block : q->dims[a]);
  return same ? NULL : "its scale has not an entry for each block";
}

size_t
clarke_quantized_entry(const clarke_quantized *q, size_t count, size_t e)
{
  size_t inner = 1, place, blocks;

  if (count == 1)
    return 0;
  for (size_t a = q->axis + 1; a < q->rank; a++)
    inner *= q->dims[a];
  place = e / inner % q->dims[q->axis];
  if (q->block == 0)
    return place;
  blocks = (q->dims[q->axis] + q->block - 1) / q->block;
  return (e / inner / q->dims[q->axis] * blocks + place / q->block) * inner + e % inner;
}

bool
clarke_dequantizes(clarke_dtype dtype)
{
  return dtype == CLARKE_U8 || dtype == CLARKE_I8 || dtype == CLARKE_U16 || dtype == CLARKE_I16 || dtype == CLARKE_I32
         || dtype >= CLARKE_I4;
}

bool
clarke_float8_zero(clarke_dtype dtype, const double *real, size_t count)
{
  bool zero = clarke_float8_is(dtype) && real != NULL;

  for (size_t e = 0; e < count && zero; e++)
    zero = real[e] == 0;
  return zero;
}

/* Is a whole number below 2^24 in size, and so a float32? */
static bool
is_short(double integer)
{
  return fabs(integer) < 1 << 24;
}

double
clarke_dequantized(double number, int64_t zero, double scale, clarke_dtype type)
{
  if (zero != 0 && !(is_short(number) && is_short((double)zero)))
    return NAN;

  const double difference = clarke_floats_nearest(number - (double)zero, CLARKE_F32), exact = difference * scale;
  const double y = clarke_floats_nearest(exact, type);
  const double least = type == CLARKE_F16 ? 0x1p-14 : (double)FLT_MIN;

  if (!isfinite(y) || (y == 0 ? exact != 0 : fabs(y) < least))
    return NAN;
  return clarke_floats_nearest(clarke_floats_nearest(exact, CLARKE_F32), type) == y ? y : NAN;
}

/* A tensor by its name: an initializer, or a Constant node's before the node; NULL. */
static const clarke_tensor *
find_tensor(const clarke_model *m, size_t n_tensors, size_t n_nodes, const char *name)
{
  for (size_t t = 0; t < n_tensors; t++)
    if (strcmp(m->tensors[t].name, name) == 0)
      return &m->tensors[t];
  for (size_t i = 0; i < n_nodes; i++)
    if (strcmp(m->nodes[i].op_type, "Constant") == 0 && m->nodes[i].domain[0] == '\0' && m->nodes[i].n_out == 1
        && strcmp(m->nodes[i].out[0], name) == 0 && m->nodes[i].n_attr == 1 && m->nodes[i].attr[0].type == CLARKE_ATTR_TENSOR)
      return &m->nodes[i].attr[0].t;
  return NULL;
}

static int64_t
attribute(const clarke_model_node *node, const char *name, int64_t absent)
{
  const clarke_attr *a = clarke_model_attr(node, name);

  return a == NULL ? absent : a->type == CLARKE_ATTR_INT ? a->i : INT64_MIN;
}

/* What a node is made of. */
typedef struct {
  const clarke_tensor *x, *scale, *zero; /* zero: NULL, there is none */
  clarke_quantized layout;
} source;

/* Is it such a node, of constants that fit? */
static bool
find_source(source *s, const clarke_model *m, size_t place)
{
  const clarke_model_node *node = &m->nodes[place];
  const int64_t axis = attribute(node, "axis", 1), block = attribute(node, "block_size", 0);

  if (strcmp(node->op_type, "DequantizeLinear") != 0 || node->domain[0] != '\0' || node->n_in < 2 || node->n_in > 3 || node->n_out != 1
      || attribute(node, "output_dtype", 0) != 0)
    return false;
  *s = (source){.x = find_tensor(m, m->n_tensors, 0, node->in[0]), .scale = find_tensor(m, m->n_tensors, place, node->in[1])};
  if (node->n_in == 3 && node->in[2][0] != '\0') {
    s->zero = find_tensor(m, m->n_tensors, place, node->in[2]);
    if (s->zero != NULL && clarke_float8_zero(s->zero->dtype, s->zero->real, s->zero->count))
      s->zero = NULL;
    else if (s->zero == NULL || s->zero->integer == NULL)
      return false;
  }
  if (s->x == NULL || (s->x->integer == NULL && s->x->real == NULL) || !clarke_dequantizes(s->x->dtype) || s->x->count == 0 || s->scale == NULL || s->scale->real == NULL || block < 0)
    return false;
  s->layout = (clarke_quantized){.rank = s->x->rank, .block = (size_t)block,
                                 .axis = (size_t)(axis < 0 ? axis + (int64_t)s->x->rank : axis)};
  memcpy(s->layout.dims, s->x->dims, sizeof s->layout.dims);
  return clarke_quantized_fits(&s->layout, s->scale->rank, s->scale->dims, s->scale->count) == NULL
         && (s->zero == NULL || clarke_quantized_fits(&s->layout, s->zero->rank, s->zero->dims, s->zero->count) == NULL);
}

/* False where an entry is no number. */
static bool
fill(clarke_tensor *t, const source *s)
{
  bool all = true;

  for (size_t e = 0; e < t->count && all; e++) {
    const int64_t zero = s->zero != NULL ? s->zero->integer[clarke_quantized_entry(&s->layout, s->zero->count, e)] : 0;
    const double scale = s->scale->real[clarke_quantized_entry(&s->layout, s->scale->count, e)];

    t->real[e] = clarke_dequantized(s->x->integer != NULL ? (double)s->x->integer[e] : s->x->real[e], zero, scale, t->dtype);
    all = isfinite(t->real[e]) && scale > 0;
  }
  return all;
}

/* The node's tensor, at the end of the model's; it is taken off again where an entry is no number, as the node itself then says. */
static clarke_status
dequantize(clarke_model *m, size_t place, const source *s, clarke_error *err)
{
  clarke_tensor made;
  clarke_tensor *grown;
  clarke_status status;

  clarke_tensor_init(&made);
  status = clarke_tensor_shape(&made, m->nodes[place].out[0], s->scale->dtype, s->x->rank, s->x->dims, err);
  if (status != CLARKE_OK || !fill(&made, s)) {
    clarke_tensor_clear(&made);
    return status;
  }
  grown = realloc(m->tensors, (m->n_tensors + 1) * sizeof *grown);
  if (grown == NULL) {
    clarke_tensor_clear(&made);
    return clarke_no_memory(err);
  }
  m->tensors = grown;
  m->tensors[m->n_tensors++] = made;
  m->nodes[place].promoted = true;
  return CLARKE_OK;
}

clarke_status
clarke_dequantize_weights(clarke_model *m, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  source s;

  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK; i++)
    if (find_source(&s, m, i))
      status = dequantize(m, i, &s, err);
  return status;
}
