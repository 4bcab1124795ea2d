/* Models built by hand, as a reader would have filled them. */
#ifndef CLARKE_TESTS_NETWORK_MODELS_H
#define CLARKE_TESTS_NETWORK_MODELS_H

#include "network/graph/graph.h"
#include "../draw.h"
#include "../suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MOST 64 /* nodes, tensors, attributes of one node: enough for every test */

static inline void
model_begin(clarke_model *m, int64_t opset)
{
  clarke_model_init(m);
  m->file = strdup("net.onnx");
  m->opset = opset;
  m->nodes = calloc(MODEL_MOST, sizeof *m->nodes);
  m->tensors = calloc(MODEL_MOST, sizeof *m->tensors);
  m->inputs = calloc(4, sizeof *m->inputs);
  m->outputs = calloc(4, sizeof *m->outputs);
}

/* Shapes in tests are lists of long that end with SHAPE_END; -1 is a symbolic axis. */
#define SHAPE_END (-99L)
#define SHAPE(...) ((const long[]){__VA_ARGS__ SHAPE_END})

static inline size_t
shape_rank(const long *shape)
{
  size_t rank = 0;

  while (shape[rank] != SHAPE_END)
    rank++;
  return rank;
}

/* A NULL shape: the file gives none. */
static inline void
model_input(clarke_model *m, const char *name, const long *shape)
{
  clarke_model_port *p = &m->inputs[m->n_inputs++];

  p->name = strdup(name);
  p->dtype = CLARKE_F64; /* as model_floats */
  p->typed = true;
  p->shaped = shape != NULL;
  p->rank = shape != NULL ? shape_rank(shape) : 0;
  for (size_t a = 0; a < p->rank; a++)
    p->dims[a] = shape[a];
}

static inline void
model_output(clarke_model *m, const char *name)
{
  clarke_model_port *p = &m->outputs[m->n_outputs++];

  p->name = strdup(name);
  p->dtype = CLARKE_F64;
  p->typed = true;
}

static inline clarke_tensor
tensor_of(const char *name, clarke_dtype dtype, const long *shape)
{
  clarke_tensor t;
  size_t rank = shape_rank(shape), dims[CLARKE_MAX_RANK];

  clarke_tensor_init(&t);
  for (size_t a = 0; a < rank; a++)
    dims[a] = (size_t)shape[a];
  ck_assert_int_eq(clarke_tensor_shape(&t, name, dtype, rank, dims, NULL), CLARKE_OK);
  return t;
}

/* Zeros, for the caller to fill: valid until the model is cleared. */
static inline double *
model_floats(clarke_model *m, const char *name, const long *shape)
{
  ck_assert_uint_lt(m->n_tensors, MODEL_MOST);
  m->tensors[m->n_tensors] = tensor_of(name, CLARKE_F64, shape);
  return m->tensors[m->n_tensors++].real;
}

static inline int64_t *
model_integers(clarke_model *m, const char *name, const long *shape)
{
  ck_assert_uint_lt(m->n_tensors, MODEL_MOST);
  m->tensors[m->n_tensors] = tensor_of(name, CLARKE_I64, shape);
  return m->tensors[m->n_tensors++].integer;
}

/* The words of a comma-separated list, empty ones too; "" has none. */
static inline char **
words_of(const char *list, size_t *n)
{
  char **word = calloc(list != NULL ? strlen(list) + 2 : 1, sizeof *word);

  *n = 0;
  while (list != NULL && *list != '\0') {
    size_t length = strcspn(list, ",");

    word[(*n)++] = strndup(list, length);
    list += length;
    if (*list == ',' && *++list == '\0')
      word[(*n)++] = strdup("");
  }
  return word;
}

/* Inputs and outputs are comma-separated names. */
static inline clarke_model_node *
model_node(clarke_model *m, const char *op, const char *in, const char *out)
{
  clarke_model_node *node = &m->nodes[m->n_nodes++];
  char name[64];

  ck_assert_uint_le(m->n_nodes, MODEL_MOST);
  snprintf(name, sizeof name, "/%s", out);
  node->op_type = strdup(op);
  node->domain = strdup("");
  node->name = strdup(name);
  node->in = words_of(in, &node->n_in);
  node->out = words_of(out, &node->n_out);
  node->attr = calloc(MODEL_MOST, sizeof *node->attr);
  return node;
}

static inline clarke_attr *
node_attr(clarke_model_node *node, const char *name, clarke_attr_type type)
{
  clarke_attr *a = &node->attr[node->n_attr++];

  a->name = strdup(name);
  a->type = type;
  clarke_tensor_init(&a->t);
  return a;
}

static inline void
attr_int(clarke_model_node *node, const char *name, int64_t i)
{
  node_attr(node, name, CLARKE_ATTR_INT)->i = i;
}

static inline void
attr_float(clarke_model_node *node, const char *name, double f)
{
  node_attr(node, name, CLARKE_ATTR_FLOAT)->f = f;
}

static inline void
attr_string(clarke_model_node *node, const char *name, const char *text)
{
  node_attr(node, name, CLARKE_ATTR_STRING)->s = strdup(text);
}

static inline void
attr_ints(clarke_model_node *node, const char *name, const long *list)
{
  clarke_attr *a = node_attr(node, name, CLARKE_ATTR_INTS);

  a->n = shape_rank(list);
  a->ints = calloc(a->n + 1, sizeof *a->ints);
  for (size_t i = 0; i < a->n; i++)
    a->ints[i] = list[i];
}

static inline void
attr_floats(clarke_model_node *node, const char *name, size_t n, const double *list)
{
  clarke_attr *a = node_attr(node, name, CLARKE_ATTR_FLOATS);

  a->n = n;
  a->floats = calloc(n + 1, sizeof *a->floats);
  memcpy(a->floats, list, n * sizeof *list);
}

/* Fails unless the message holds every one of the `|`-separated pieces. */
static inline void
says(const char *message, const char *pieces)
{
  char *copy = strdup(pieces), *rest = copy;

  for (char *piece; (piece = strsep(&rest, "|")) != NULL;)
    ck_assert_msg(strstr(message, piece) != NULL, "\"%s\" does not say \"%s\"", message, piece);
  free(copy);
}

/* Its nodes, to stderr. */
static inline void
print_model(const clarke_model *m)
{
  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];

    fprintf(stderr, "%s = %s(", node->out[0], node->op_type);
    for (size_t k = 0; k < node->n_in; k++)
      fprintf(stderr, "%s%s", k > 0 ? ", " : "", node->in[k]);
    fprintf(stderr, ")");
    for (size_t a = 0; a < node->n_attr; a++) {
      fprintf(stderr, " %s", node->attr[a].name);
      for (size_t k = 0; k < node->attr[a].n; k++)
        fprintf(stderr, " %ld", (long)node->attr[a].ints[k]);
      if (node->attr[a].n == 0)
        fprintf(stderr, " %g", node->attr[a].type == CLARKE_ATTR_INT ? (double)node->attr[a].i : node->attr[a].f);
    }
    fprintf(stderr, "\n");
  }
}

#endif
