/* NodeProto and AttributeProto: an operator's name, the names of what goes in and out, and its
 * attributes. Attributes that hold other things than numbers, text, a tensor or a graph are noted, not entered. */
#include "format/onnx_inside.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any operator has; keeps looking one up by name cheap. */
#define MAX_ATTRIBUTES 64

enum { INPUT = 1, OUTPUT = 2, NAME = 3, OP_TYPE = 4, ATTRIBUTE = 5, DOMAIN = 7,
       OVERLOAD = 8 };

enum {
  A_NAME = 1, A_F = 2, A_I = 3, A_S = 4, A_T = 5, A_G = 6, A_FLOATS = 7, A_INTS = 8,
  A_STRINGS = 9, A_TENSORS = 10, A_GRAPHS = 11, A_DOC_STRING = 13, A_TP = 14, A_TYPE_PROTOS = 15, A_TYPE = 20,
  A_REF_ATTR_NAME = 21, A_SPARSE_TENSOR = 22, A_SPARSE_TENSORS = 23,
};

/* By AttributeProto.AttributeType: the field that holds the value. */
static const struct {
  unsigned field;
  clarke_attr_type type;
} attr_types[] = {
  [1] = { A_F, CLARKE_ATTR_FLOAT },           [2] = { A_I, CLARKE_ATTR_INT },
  [3] = { A_S, CLARKE_ATTR_STRING },          [4] = { A_T, CLARKE_ATTR_TENSOR },
  [5] = { A_G, CLARKE_ATTR_GRAPH },           [6] = { A_FLOATS, CLARKE_ATTR_FLOATS },
  [7] = { A_INTS, CLARKE_ATTR_INTS },         [8] = { A_STRINGS, CLARKE_ATTR_STRINGS },
  [9] = { A_TENSORS, CLARKE_ATTR_OTHER },     [10] = { A_GRAPHS, CLARKE_ATTR_OTHER },
  [11] = { A_SPARSE_TENSOR, CLARKE_ATTR_OTHER },
  [12] = { A_SPARSE_TENSORS, CLARKE_ATTR_OTHER },
  [13] = { A_TP, CLARKE_ATTR_OTHER },         [14] = { A_TYPE_PROTOS, CLARKE_ATTR_OTHER },
};

#define N_ATTR_TYPES (sizeof attr_types / sizeof attr_types[0])

typedef struct {
  clarke_wire_span name;
  uint64_t type;               /* AttributeType */
  const clarke_wire_rule *set; /* the field that holds a value */
  size_t count;                /* of floats or ints */
} attr_survey;

static clarke_status
survey_value(attr_survey *s, const clarke_wire_field *f, clarke_error *err)
{
  size_t count = 1;
  clarke_status status = CLARKE_OK;

  if (f->number == A_FLOATS || f->number == A_INTS)
    status = clarke_wire_count(f, &count, err);
  if (status != CLARKE_OK || count == 0)
    return status;
  if (s->set != NULL && s->set != f->rule)
    return clarke_fail(err, CLARKE_EINPUT, "holds both %s and %s", s->set->name, f->rule->name);
  s->set = f->rule;
  s->count += count;
  return CLARKE_OK;
}

static clarke_status
survey_attr(attr_survey *s, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  memset(s, 0, sizeof *s);
  clarke_wire_open(&w, &clarke_onnx_attribute_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == A_NAME)
      s->name = f.span;
    else if (f.number == A_TYPE)
      s->type = f.value;
    else if (f.number == A_REF_ATTR_NAME)
      return clarke_fail(err, CLARKE_EINPUT, "refers to an attribute of a function; not supported");
    else if (f.number != A_DOC_STRING)
      status = survey_value(s, &f, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

/* The attribute's type as stated; what it holds must be of it. */
static clarke_status
settle_type(clarke_attr *a, attr_survey *s, clarke_error *err)
{
  if (s->type == 0 || s->type >= N_ATTR_TYPES)
    return clarke_fail(err, CLARKE_EINPUT, "has no value of a known type (type %llu)",
                       (unsigned long long)s->type);
  if (s->set != NULL && s->set->number != attr_types[s->type].field)
    return clarke_fail(err, CLARKE_EINPUT, "is of type %llu but holds %s",
                       (unsigned long long)s->type, s->set->name);
  a->type = attr_types[s->type].type;
  if (attr_types[s->type].field == A_GRAPHS)
    return clarke_fail(err, CLARKE_EINPUT, "holds several graphs, which is not supported");
  if (a->type == CLARKE_ATTR_GRAPH && s->set == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "is a graph but holds none");
  if (a->type == CLARKE_ATTR_TENSOR && s->set == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "is a tensor but holds none");
  if ((a->type == CLARKE_ATTR_STRING && s->set == NULL) || a->type == CLARKE_ATTR_STRINGS)
    return clarke_text_copy(&a->s, NULL, 0, "its string", err);
  return CLARKE_OK;
}

static clarke_status
make_room(clarke_attr *a, size_t count, clarke_error *err)
{
  if (a->type == CLARKE_ATTR_INTS)
    a->ints = calloc(count + 1, sizeof *a->ints);
  else if (a->type == CLARKE_ATTR_FLOATS)
    a->floats = calloc(count + 1, sizeof *a->floats);
  else
    return CLARKE_OK;
  if (a->ints == NULL && a->floats == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu numbers", count);
  return CLARKE_OK;
}

static clarke_status
float_value(double *value, uint64_t word, clarke_error *err)
{
  const uint32_t bits = (uint32_t)word;
  float x;

  memcpy(&x, &bits, sizeof x);
  *value = (double)x;
  if (!isfinite(*value))
    return clarke_fail(err, CLARKE_EINPUT, "is %s; it must be finite",
                       isnan(*value) ? "NaN" : "infinite");
  return CLARKE_OK;
}

static clarke_status
append_numbers(clarke_attr *a, const clarke_wire_field *f, clarke_error *err)
{
  clarke_wire_span run = f->span;

  while (run.size != 0) {
    uint64_t value;
    clarke_status status = clarke_wire_number(&run, f->rule->type, &value, err);

    if (status == CLARKE_OK && f->number == A_FLOATS)
      status = float_value(&a->floats[a->n], value, err);
    else if (status == CLARKE_OK)
      a->ints[a->n] = (int64_t)value;
    if (status != CLARKE_OK)
      return status;
    a->n++;
  }
  return CLARKE_OK;
}

/* A list of strings is one of words, which operators have: none is empty, and none has a space. */
static clarke_status
append_word(clarke_attr *a, clarke_wire_span word, clarke_error *err)
{
  const size_t before = strlen(a->s);
  char *text = NULL, *grown;
  clarke_status status = clarke_text_copy(&text, word.data, word.size, "one of its strings", err);

  if (status == CLARKE_OK && (word.size == 0 || strchr(text, ' ') != NULL))
    status = clarke_fail(err, CLARKE_EINPUT, "holds a string that is empty or has a space; expected words");
  grown = status == CLARKE_OK ? realloc(a->s, before + word.size + 2) : NULL;
  if (status == CLARKE_OK && grown == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for its strings");
  if (status == CLARKE_OK) {
    a->s = grown;
    snprintf(a->s + before, word.size + 2, "%s%s", before != 0 ? " " : "", text);
  }
  free(text);
  return status;
}

static clarke_status
fill_value(clarke_attr *a, const clarke_wire_field *f, size_t depth, clarke_error *err)
{
  switch (f->number) {
  case A_F:
    return float_value(&a->f, f->value, err);
  case A_I:
    a->i = (int64_t)f->value;
    return CLARKE_OK;
  case A_S:
    return clarke_text_copy(&a->s, f->span.data, f->span.size, "its string", err);
  case A_STRINGS:
    return append_word(a, f->span, err);
  case A_G:
    return clarke_onnx_body(&a->g, depth + 1, f->span, err);
  case A_T:
    return clarke_onnx_tensor(&a->t, f->span, a->name, NULL, err);
  case A_FLOATS:
  case A_INTS:
    return append_numbers(a, f, err);
  default:
    return CLARKE_OK;
  }
}

static clarke_status
fill_attr(clarke_attr *a, attr_survey *s, size_t depth, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status = settle_type(a, s, err);

  if (status == CLARKE_OK)
    status = make_room(a, s->count, err);
  if (status != CLARKE_OK || a->type == CLARKE_ATTR_OTHER)
    return status;
  clarke_wire_open(&w, &clarke_onnx_attribute_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.rule == s->set)
      status = fill_value(a, &f, depth, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

static clarke_status
read_attr(clarke_attr *a, size_t depth, clarke_wire_span span, clarke_error *err)
{
  attr_survey s;
  clarke_status status;

  clarke_tensor_init(&a->t);
  status = survey_attr(&s, span, err);
  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "an attribute");
  if (s.name.size == 0)
    return clarke_fail(err, CLARKE_EINPUT, "an attribute has no name");
  status = clarke_text_copy(&a->name, s.name.data, s.name.size, "an attribute's name", err);
  if (status != CLARKE_OK)
    return status;
  status = fill_attr(a, &s, depth, span, err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "attribute \"%s\"", a->name);
}

/* Counts what the node holds and reads what names it, so that later errors can say which. */
static clarke_status
survey_node(clarke_model_node *node, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_node_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    node->n_in += f.number == INPUT;
    node->n_out += f.number == OUTPUT;
    node->n_attr += f.number == ATTRIBUTE;
    if (f.number == NAME)
      status = clarke_text_copy(&node->name, f.span.data, f.span.size, "its name", err);
    else if (f.number == OP_TYPE)
      status = clarke_text_copy(&node->op_type, f.span.data, f.span.size, "its op_type", err);
    else if (f.number == DOMAIN)
      status = clarke_text_copy(&node->domain, f.span.data, f.span.size, "its domain", err);
    else if (f.number == OVERLOAD && f.span.size != 0)
      status = clarke_fail(err, CLARKE_EINPUT, "is a call of a function (overload), not supported");
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

/* Absent strings are empty. */
static clarke_status
settle_names(clarke_model_node *node, clarke_error *err)
{
  if (node->op_type == NULL || *node->op_type == '\0')
    return clarke_fail(err, CLARKE_EINPUT, "has no op_type");
  if (node->name == NULL)
    node->name = calloc(1, 1);
  if (node->domain == NULL)
    node->domain = calloc(1, 1);
  if (node->name == NULL || node->domain == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for its name");
  return CLARKE_OK;
}

static clarke_status
allocate_node(clarke_model_node *node, clarke_error *err)
{
  if (node->n_attr > MAX_ATTRIBUTES)
    return clarke_fail(err, CLARKE_EINPUT, "has %zu attributes; at most %d are read",
                       node->n_attr, MAX_ATTRIBUTES);
  node->in = calloc(node->n_in, sizeof *node->in);
  node->out = calloc(node->n_out, sizeof *node->out);
  node->attr = calloc(node->n_attr, sizeof *node->attr);
  if ((node->in == NULL && node->n_in != 0) || (node->out == NULL && node->n_out != 0)
      || (node->attr == NULL && node->n_attr != 0))
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for its %zu inputs, %zu outputs",
                       node->n_in, node->n_out);
  return CLARKE_OK;
}

static clarke_status
fill_node(clarke_model_node *node, size_t depth, clarke_wire_span span, clarke_error *err)
{
  size_t in = 0, out = 0, attr = 0;
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  clarke_wire_open(&w, &clarke_onnx_node_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0) {
    if (f.number == INPUT)
      status = clarke_text_copy(&node->in[in++], f.span.data, f.span.size, "an input", err);
    else if (f.number == OUTPUT)
      status = clarke_text_copy(&node->out[out++], f.span.data, f.span.size, "an output", err);
    else if (f.number == ATTRIBUTE)
      status = read_attr(&node->attr[attr++], depth, f.span, err);
    if (status != CLARKE_OK)
      return status;
  }
  return status;
}

static clarke_status
check_attr_names(const clarke_model_node *node, clarke_error *err)
{
  for (size_t i = 0; i < node->n_attr; i++)
    for (size_t j = 0; j < i; j++)
      if (strcmp(node->attr[i].name, node->attr[j].name) == 0)
        return clarke_fail(err, CLARKE_EINPUT, "attribute \"%s\" is given twice",
                           node->attr[i].name);
  return CLARKE_OK;
}

clarke_status
clarke_onnx_node(clarke_model_node *node, size_t index, size_t depth, clarke_wire_span span, clarke_error *err)
{
  clarke_status status = survey_node(node, span, err);

  if (status == CLARKE_OK)
    status = settle_names(node, err);
  if (status == CLARKE_OK)
    status = allocate_node(node, err);
  if (status == CLARKE_OK)
    status = fill_node(node, depth, span, err);
  if (status == CLARKE_OK)
    status = check_attr_names(node, err);
  if (status == CLARKE_OK)
    return status;
  return clarke_fail_in(err, status, "node %zu (%s \"%s\")", index,
                        node->op_type != NULL ? node->op_type : "no op_type",
                        node->name != NULL ? node->name : "");
}
