/* The types of a model's values, node after node. */
#include "check/files/model_types.h"
#include "check/files/types.h"

#include <string.h>

/* That of what is quantized, or no longer: 0 where output_dtype does not say. */
static size_t
quantized_type(const node *n)
{
  size_t type = 0;
  for (size_t i = 0; i < n->n_attributes; i++) {
    const tensor *t = &n->attributes[i];
    if (strcmp(t->name, "output_dtype") != 0 || t->text != NULL || t->real || t->count != 1)
      continue;
    bool known = mpz_cmp_ui(mpq_numref(t->value), N_DTYPES) < 0 && mpq_sgn(t->value) >= 0;
    type = known ? mpz_get_ui(mpq_numref(t->value)) : N_DTYPES;
  }
  return type == 0 || (type < N_DTYPES && dtypes[type].width > 0) ? type : N_DTYPES;
}

/* The type that a node's attribute gives what it makes: Cast's `to`; the value of Constant, or of ConstantOfShape, FLOAT if it
 * has none. */
static size_t
made_type(const node *n)
{
  if (strcmp(n->op, "QuantizeLinear") == 0 || strcmp(n->op, "DequantizeLinear") == 0)
    return quantized_type(n);
  const tensor *first = n->n_attributes > 0 ? &n->attributes[0] : NULL, *to = NULL;
  for (size_t i = 0; i < n->n_attributes; i++)
    if (strcmp(n->attributes[i].name, "to") == 0)
      to = &n->attributes[i];
  if (to != NULL && to->text == NULL && !to->real && to->count == 1) {
    size_t type = mpz_cmp_ui(mpq_numref(to->value), N_DTYPES) < 0 && mpq_sgn(to->value) > 0
                      ? mpz_get_ui(mpq_numref(to->value))
                      : 0;
    return dtypes[type].width > 0 ? type : 0;
  }
  if (first == NULL)
    return strcmp(n->op, "ConstantOfShape") == 0 ? FLOAT : 0;
  return first->text != NULL ? 0 : first->type;
}

/* The types of a node's outputs, and of what lies in its graphs: these give an output each, a Loop's behind one that tells whether it
 * goes on. */
static void
follow_node(value_types *v, const model *m, node *n, size_t place)
{
  size_t loop = strcmp(n->op, "Loop") == 0;
  for (size_t g = 0; g < n->n_bodies; g++) {
    const body *of = &n->bodies[g];
    for (size_t i = 0; i < of->n_inputs; i++) {
      size_t given = loop && i < 2 ? (i == 0 ? INT64 : BOOL) : i < n->n_own ? type_of(v, n->in[i]) : 0;
      types_set(v, of->inputs[i].name, of->inputs[i].type != 0 ? of->inputs[i].type : given);
      if (given != 0)
        types_compare(v, "input", of->inputs[i].name, given);
    }
    for (size_t i = 0; i < of->n_nodes; i++)
      follow_node(v, m, &of->nodes[i], place);
    for (size_t i = 0; i < of->n_outputs; i++)
      types_compare(v, "output", of->outputs[i].name, of->outputs[i].type);
  }
  types_follow(v, &(typed_node){n->name, n->own || n->qonnx || n->runtime ? "" : n->op, m->opset, place, n->n_in,
                                n->n_out, made_type(n), n->in, n->out});
  for (size_t g = 0; g < n->n_bodies; g++)
    for (size_t k = 0; k < n->n_out && k + loop < n->bodies[g].n_outputs; k++)
      types_change(v, n->out[k], type_of(v, n->bodies[g].outputs[k + loop].name));
  n->like = n->n_in > 1 ? type_of(v, n->in[1]) : 0;
}

/* Do the types fit, from inputs and initializers on, with what is declared of outputs, of values within, and of inputs that are
 * initializers? */
void
model_check_types(model *m)
{
  value_types v = {0};
  for (size_t i = 0; i < m->n_tensors; i++)
    types_set(&v, m->tensors[i]->name, m->tensors[i]->type);
  for (size_t i = 0; i < m->n_inputs; i++)
    types_set(&v, m->inputs[i].name, m->inputs[i].type);
  for (size_t i = 0; i < m->n_nodes; i++)
    follow_node(&v, m, &m->nodes[i], i);
  for (size_t i = 0; i < m->n_inputs; i++)
    types_compare(&v, "input", m->inputs[i].name, m->inputs[i].type);
  for (size_t i = 0; i < m->n_outputs; i++)
    types_compare(&v, "output", m->outputs[i].name, m->outputs[i].type);
  for (size_t i = 0; i < m->n_declared; i++)
    types_compare(&v, "value", m->declared[i].name, m->declared[i].type);
  name_index_free(&v.names);
}
