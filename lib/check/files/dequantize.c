/* A weight that is stored as integers is the number that each of them stands for. */
#include "check/files/dequantize.h"
#include "check/base/allocate.h"
#include "check/files/floats.h"

#include <string.h>

bool
scales_fit(const scale_layout *l, size_t rank, const size_t *dims)
{
  if (l->block == 0 && (rank == 0 || (rank == 1 && dims[0] == 1)))
    return true;
  if (l->axis >= l->rank || rank != (l->block == 0 ? 1 : l->rank))
    return false;
  for (size_t i = 0; i < rank; i++) {
    size_t places = l->dims[l->block == 0 ? l->axis : i];
    bool blocks = l->block > 0 && i == l->axis;
    if (dims[i] != (blocks ? places / l->block + (places % l->block > 0) : places))
      return false;
  }
  return true;
}

size_t
scale_of(const scale_layout *l, size_t count, size_t e)
{
  size_t behind = 1;
  if (count == 1)
    return 0;
  for (size_t i = l->axis + 1; i < l->rank; i++)
    behind *= l->dims[i];
  size_t places = l->dims[l->axis], place = e / behind % places;
  if (l->block == 0)
    return place;
  size_t blocks = places / l->block + (places % l->block > 0);
  return e / behind / places * blocks * behind + place / l->block * behind + e % behind;
}

/* A whole number below 2^24 is a float32. */
static bool
is_short(const rational *q)
{
  return mpz_sizeinbase(mpq_numref(q), 2) <= 24 && mpz_cmp_ui(mpq_denref(q), 1) == 0;
}

bool
dequantizes(size_t type)
{
  return (type >= UINT8 && type <= INT32) || dtypes[type].part > 0 || is_float8(type);
}

bool
dequantized(rational *q, const rational *shift, const rational *scale, size_t type)
{
  if (shift != NULL && mpq_sgn(shift) != 0 && !(is_short(q) && is_short(shift)))
    return false;
  if (shift != NULL)
    mpq_sub(q, q, shift);
  if (mpq_sgn(scale) <= 0 || (!is_short(q) && !float_nearest(q, FLOAT)))
    return false;
  mpq_mul(q, q, scale);
  if (type == FLOAT)
    return float_nearest(q, type);
  RATIONAL(twice);
  mpq_set(&twice, q);
  return float_nearest(q, type) && float_nearest(&twice, FLOAT) && float_nearest(&twice, type) && mpq_equal(q, &twice);
}

bool
float8_zero(const tensor *t)
{
  bool nought = t->value != NULL && is_float8(t->type);
  for (size_t i = 0; i < t->count && nought; i++)
    nought = mpq_sgn(&t->value[i]) == 0;
  return nought;
}

/* An initializer, or the tensor of a Constant among the first n nodes; NULL. */
static const tensor *
stored(const model *m, size_t n, const char *name)
{
  size_t t = name_find(&m->initializers, name);
  if (t != NONE)
    return m->tensors[t];
  for (size_t i = 0; i < n; i++) {
    const node *c = &m->nodes[i];
    if (!c->own && strcmp(c->op, "Constant") == 0 && c->n_out == 1 && strcmp(c->out[0], name) == 0)
      return c->n_attributes == 1 && c->attributes[0].of_tensor ? &c->attributes[0] : NULL;
  }
  return NULL;
}

/* False where the attribute is no integer. */
static bool
whole(const node *n, const char *name, long absent, long *to)
{
  *to = absent;
  for (size_t i = 0; i < n->n_attributes; i++) {
    const tensor *t = &n->attributes[i];
    if (strcmp(t->name, name) != 0)
      continue;
    if (t->text != NULL || t->of_tensor || t->real || t->rank > 0 || !mpz_fits_slong_p(mpq_numref(t->value)))
      return false;
    *to = mpz_get_si(mpq_numref(t->value));
  }
  return true;
}

/* The floats, or NULL where the node is no such one, or some entry is no number. */
static tensor *
weights_of(const model *m, size_t i)
{
  const node *n = &m->nodes[i];
  long axis, block, type;
  if (n->own || strcmp(n->op, "DequantizeLinear") != 0 || n->n_in < 2 || n->n_in > 3 || n->n_out != 1)
    return NULL;
  if (!whole(n, "axis", 1, &axis) || !whole(n, "block_size", 0, &block) || !whole(n, "output_dtype", 0, &type)
      || block < 0 || type != 0 || !is_initializer(m, n->in[0]))
    return NULL;
  const tensor *x = stored(m, 0, n->in[0]), *scale = stored(m, i, n->in[1]), *shift = NULL;
  if (n->n_in > 2 && *n->in[2] != '\0') {
    shift = stored(m, i, n->in[2]);
    if (shift == NULL || shift->value == NULL || (shift->real && !float8_zero(shift)))
      return NULL;
    shift = shift->real ? NULL : shift;
  }
  if (!dequantizes(x->type) || x->value == NULL || x->count == 0 || scale == NULL || !scale->real
      || scale->value == NULL || scale->odd != NULL)
    return NULL;
  scale_layout l = {x->rank, x->dims, (size_t)(axis < 0 ? axis + (long)x->rank : axis), (size_t)block};
  if (!scales_fit(&l, scale->rank, scale->dims) || (shift != NULL && !scales_fit(&l, shift->rank, shift->dims)))
    return NULL;
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){.name = n->out[0], .type = scale->type, .rank = x->rank, .count = x->count, .real = true};
  memcpy(t->dims, x->dims, sizeof t->dims);
  t->initializer = true;
  t->value = rationals(t->count);
  for (size_t e = 0; e < t->count; e++) {
    mpq_set(&t->value[e], &x->value[e]);
    if (!dequantized(&t->value[e], shift != NULL ? &shift->value[scale_of(&l, shift->count, e)] : NULL,
                     &scale->value[scale_of(&l, scale->count, e)], t->type))
      return NULL;
  }
  return t;
}

void
dequantize_weights(model *m)
{
  for (size_t i = 0; i < m->n_nodes; i++) {
    tensor *t = weights_of(m, i);
    if (t == NULL)
      continue;
    expect(name_add(&m->initializers, t->name), "two values are named '%s'", t->name);
    m->nodes[i].promoted = true;
    m->tensors = grow(m->tensors, m->n_tensors, sizeof *m->tensors);
    m->tensors[m->n_tensors++] = t;
  }
}
