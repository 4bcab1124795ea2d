/* Nodes within a node, and the small things that they are made with. */
#include "check/onnx/inner.h"
#include "check/base/allocate.h"
#include "check/onnx/lower.h"

#include <string.h>

static tensor *
new_attribute(const char *name, size_t rank, size_t n)
{
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){.name = allocate(strlen(name) + 1, 1), .type = INT64, .rank = rank, .count = n};
  memcpy(t->name, name, strlen(name));
  t->dims[0] = n;
  t->value = rationals(n);
  return t;
}

tensor *
inner_whole(const char *name, long i)
{
  tensor *t = new_attribute(name, 0, 1);
  mpq_set_si(t->value, i, 1);
  return t;
}

tensor *
inner_list(const char *name, size_t n, const long *list)
{
  tensor *t = new_attribute(name, 1, n);
  for (size_t i = 0; i < n; i++)
    mpq_set_si(&t->value[i], list[i], 1);
  return t;
}

value
inner_node(builder *b, const char *op, size_t n, const value *in, const tensor *attribute)
{
  return inner_node_of(b, op, n, in, attribute != NULL, attribute);
}

value
inner_node_of(builder *b, const char *op, size_t n, const value *in, size_t n_attributes, const tensor *attributes)
{
  const builder outer = *b;
  node *made = allocate(1, sizeof *made);
  *made =
      (node){.op = allocate(strlen(op) + 1, 1), .name = outer.node->name, .place = outer.place, .n_in = n, .n_out = 1};
  memcpy(made->op, op, strlen(op));
  made->n_attributes = n_attributes;
  made->attributes = allocate(n_attributes, sizeof *made->attributes);
  for (size_t i = 0; i < n_attributes; i++)
    made->attributes[i] = attributes[i];
  b->node = made;
  b->op = made->op;
  b->of = outer.of != NULL ? outer.of : outer.op;
  b->opset = INNER_OPSET;
  b->in = allocate(n + MOST_OMITTED, sizeof *b->in);
  for (size_t i = 0; i < n; i++) {
    b->in[i] = in[i];
    b->in[i].name = "";
  }
  lower_within(b);
  value y = b->out;
  y.name = "";
  *b = outer;
  return y;
}

value
inner_of(builder *b, const char *op, const value *x, const value *y)
{
  return inner_node(b, op, 1 + (y != NULL), (value[]){*x, y != NULL ? *y : *x}, NULL);
}

value
with(builder *b, const char *op, value x, value y)
{
  return inner_of(b, op, &x, &y);
}

value
of(builder *b, const char *op, value x)
{
  return inner_of(b, op, &x, NULL);
}

value
inner_joined(builder *b, const value *x, const value *y, size_t axis)
{
  return inner_node(b, "Concat", 2, (value[]){*x, *y}, inner_whole("axis", (long)axis));
}

value
view(const builder *b, const value *v, size_t first, size_t rank, const size_t *dims, const size_t *stride)
{
  value y = *v;
  need(v->excluded == NULL && rank <= MAX_RANK, "entries that are minus infinity, or more axes than supported");
  y.map = index_map(b, rank, dims, stride, v->map + first);
  y.rank = rank;
  y.count = product(dims, rank);
  y.known = NULL;
  memcpy(y.dims, dims, rank * sizeof *dims);
  return y;
}

static value
batched_as(const builder *b, const value *x)
{
  value y = b->out;
  y.name = "";
  y.at = x->at;
  y.inner = x->inner;
  y.shared = x->shared;
  return y;
}

value
times(builder *b, const value *x, const rational *c)
{
  step *s = add_function(b, LINEAR, x);
  rational *coef = rationals(1);
  mpq_set(coef, c);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = coef;
  return batched_as(b, x);
}

value
over_root(builder *b, const value *x, size_t n)
{
  value number = made_numbers(b, 0, (size_t[]){0});
  mpq_set_ui(number.constant->value, n, 1);
  step *s = add_function(b, OVER_ROOT, x);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f] = (factor){&plus_one, number.constant, 0};
  return batched_as(b, x);
}

value
made_numbers(const builder *b, size_t rank, const size_t *dims)
{
  tensor *t = allocate(1, sizeof *t);
  *t = (tensor){.name = "", .type = DOUBLE, .rank = rank, .count = product(dims, rank), .real = true};
  value v = {.name = "", .constant = t, .rank = rank, .count = t->count};
  memcpy(v.dims, dims, rank * sizeof *dims);
  memcpy(t->dims, v.dims, sizeof v.dims);
  v.map = index_map(b, 1, &t->count, &(size_t){1}, NULL);
  t->value = rationals(t->count);
  return v;
}

value
rational_of(const builder *b, const rational *q)
{
  value v = made_numbers(b, 0, (size_t[]){0});
  mpq_set(v.constant->value, q);
  return v;
}

value
list_of(const builder *b, size_t n, const long *list)
{
  tensor *t = inner_list("", n, list);
  value v = {.name = "", .constant = t, .rank = 1, .count = n, .dims = {n}};
  v.map = index_map(b, 1, &n, &(size_t){1}, NULL);
  return v;
}

void
lift_alone(builder *b)
{
  for (size_t i = 0; i < b->node->n_in; i++)
    if (has_input(b, i) && b->in[i].constant == NULL)
      return;
  lift_constant(b);
}

void
need_batch_first(const builder *b, const value *v)
{
  need(!is_batch(b, v) || (v->at == 0 && v->inner == 0), "the batch is on another axis than the first, or merged");
}

bool
others_are_read(const builder *b)
{
  bool read = false;
  for (size_t k = 1; k < b->node->n_out && !read; k++)
    read = *b->node->out[k] != '\0' && (b->node->within || is_read(b->m, b->node->out[k]));
  return read;
}

/* A copy: a value has one name. */
void
give_output(builder *b, size_t k, value v)
{
  if (k >= b->node->n_out || *b->node->out[k] == '\0')
    return;
  value first = b->out;
  b->out = v;
  define(b, b->node->out[k]);
  b->out = first;
}
