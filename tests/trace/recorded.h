/* Recorded steps of cases, certified; and parts of what was found, looked up by name. */
#ifndef CLARKE_TESTS_TRACE_RECORDED_H
#define CLARKE_TESTS_TRACE_RECORDED_H

#include "../session/shared.h"
#include "../suites.h"

#include "session/certify.h"

static const char *const records[] = {"small", "parted", "own-side", "pooled", "tied", "two-zeros", "bounds", "lemma2"};
#define RECORDS (sizeof records / sizeof records[0])

static inline void
run_record(clarke_certified *c, const char *name, bool nodes_only)
{
  char folder[256];
  const clarke_certify_request ask = {.folder = folder, .step = CLARKE_NONE, .nodes_only = nodes_only};

  snprintf(folder, sizeof folder, CASES "/runs/%s", name);
  clarke_certified_init(c);
  OK(clarke_certified_run(c, &ask, &error));
}

/* The same question, with nothing found yet. */
static inline void
begin_again(clarke_certify *to, const clarke_certified *c)
{
  const clarke_certify *asked = &c->nodes;

  clarke_certify_init(to);
  to->g = asked->g;
  to->constants = asked->constants;
  to->x = asked->x;
  to->profile = asked->profile;
  to->loss = asked->loss;
  to->scale = asked->scale;
  to->by = asked->by;
  to->trace = asked->trace;
  to->gradients = asked->gradients;
  to->trace_file = asked->trace_file;
  to->gradients_file = asked->gradients_file;
  to->log_softmax = asked->log_softmax;
  to->has_loss = asked->has_loss;
  to->recorded_loss = asked->recorded_loss;
  to->seen = calloc(to->trace->n + 1, sizeof *to->seen);
  to->partial = calloc(to->g->n_values + 1, sizeof *to->partial);
  to->recorded = calloc(to->g->n_values + 1, sizeof *to->recorded);
  to->grad = clarke_matrices_new(to->g->n_values);
}

static inline clarke_tensor *
traced(const clarke_certify *c, const char *part, const char *name)
{
  char full[256];

  snprintf(full, sizeof full, "%s/%s", part, name);
  for (size_t t = 0; t < c->trace->n; t++)
    if (strcmp(c->trace->tensor[t].name, full) == 0)
      return &c->trace->tensor[t];
  return NULL;
}

static inline size_t
value_named(const clarke_graph *g, const char *name)
{
  size_t v = 0;

  while (g->values[v].name == NULL || g->values[v].constant || strcmp(g->values[v].name, name) != 0)
    v++;
  return v;
}

static inline const clarke_certificate *
certificate_of(const clarke_certify *c, clarke_part part, const char *name)
{
  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].part == part && strcmp(c->certificate[i].name, name) == 0)
      return &c->certificate[i];
  ck_abort_msg("no certificate of %s", name);
}

#endif
