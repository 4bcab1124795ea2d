/* A record's question: a network, its batch, what is known of its arithmetic; and the record, where the test has it here. */
#ifndef CLARKE_TESTS_TRACE_SCENE_H
#define CLARKE_TESTS_TRACE_SCENE_H

#include "../network/models.h"
#include "network/graph/build.h"
#include "trace/certify/certify.h"
#include "trace/sums/summation.h"

typedef struct {
  clarke_graph graph;
  clarke_constants constants;
  clarke_profile profile;
  clarke_loss loss;
  clarke_tensor x, y;
  clarke_tensors trace, gradients;
  mpq_t scale;
  clarke_rounding by;
} scene;

/* x and y are there, all else is made: of the model, which is cleared, the loss, the numbers' type and the loss's scale. */
static inline void
scene_build(scene *c, clarke_model *m, clarke_loss loss, const char *type, double scale)
{
  clarke_error err = {CLARKE_OK, ""};

  c->loss = loss;
  clarke_graph_init(&c->graph);
  ck_assert_msg(clarke_graph_build(&c->graph, m, &c->x, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_int_eq(clarke_graph_wrt(&c->graph, NULL, 0, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_constants_init(&c->constants, &c->graph, &err), CLARKE_OK);
  clarke_profile_init(&c->profile);
  ck_assert_int_eq(clarke_profile_load(&c->profile, "pytorch-2.13", &err), CLARKE_OK);
  mpq_init(c->scale);
  mpq_set_d(c->scale, scale);
  c->by = (clarke_rounding){0};
  ck_assert(clarke_rounding_add_type(&c->by, type));
  clarke_tensors_init(&c->trace);
  clarke_tensors_init(&c->gradients);
  clarke_model_clear(m);
}

static inline void
scene_clear(scene *c)
{
  clarke_constants_clear(&c->constants);
  clarke_graph_clear(&c->graph);
  clarke_profile_clear(&c->profile);
  clarke_tensors_clear(&c->trace);
  clarke_tensors_clear(&c->gradients);
  clarke_tensor_clear(&c->x);
  clarke_tensor_clear(&c->y);
  mpq_clear(c->scale);
}

static inline void
scene_certify(clarke_certify *c, const scene *s, const clarke_tensors *trace, const clarke_tensors *gradients, bool sieved)
{
  clarke_error err = {CLARKE_OK, ""};

  clarke_certify_init(c);
  c->g = &s->graph;
  c->constants = (clarke_constants *)&s->constants; /* made already */
  c->x = &s->x;
  c->profile = &s->profile;
  c->loss = &s->loss;
  c->scale = s->scale;
  c->by = s->by;
  c->trace = (clarke_tensors *)trace;
  c->gradients = (clarke_tensors *)gradients;
  c->trace_file = c->gradients_file = "drawn";
  c->sieved = sieved;
  c->branched = true;
  ck_assert_msg(clarke_certify_run(c, &err) == CLARKE_OK, "%s", err.text);
}

/* The value of that name. */
static inline size_t
scene_value(const clarke_graph *g, const char *name)
{
  size_t v = 0;

  while (g->values[v].name == NULL || strcmp(g->values[v].name, name) != 0)
    v++;
  return v;
}

/* from, from + by, and so on. */
static inline void
scene_fill(double *to, size_t n, double from, double by)
{
  for (size_t k = 0; k < n; k++)
    to[k] = from + by * (double)k;
}

/* What is found of a tensor's sums; why not: NULL, if they are known. */
static inline void
scene_sum(clarke_sum_operands *o, clarke_certify *c, clarke_part part, const char *name, const char *expected)
{
  clarke_error err = {CLARKE_OK, ""};
  const char *why = "";

  ck_assert_int_eq(clarke_sum_operands_find(o, &why, c, part, name, &err), CLARKE_OK);
  ck_assert_msg((why == NULL) == (expected == NULL) && (why == NULL || strcmp(why, expected) == 0), "%s: %s", name, why);
}

/* One more tensor, of numbers that float32 has. */
static inline void
put(clarke_tensors *ts, const char *name, const long *shape, const double *numbers)
{
  clarke_tensor *t;

  ts->tensor = realloc(ts->tensor, (ts->n + 1) * sizeof *ts->tensor);
  t = &ts->tensor[ts->n++];
  *t = tensor_of(name, CLARKE_F32, shape);
  for (size_t e = 0; e < t->count; e++) {
    ck_assert((double)(float)numbers[e] == numbers[e]);
    t->real[e] = numbers[e];
  }
}

#endif
