/* A network built by hand, its batch and its profile, audited: what the tests of this folder ask about. */
#ifndef CLARKE_TESTS_AUDIT_ASKED_H
#define CLARKE_TESTS_AUDIT_ASKED_H

#include "../network/models.h"
#include "../ok.h"

#include "audit/audit.h"
#include "network/graph/build.h"

/* To be filled: model, x, profile; perhaps y with its loss, and wrt (comma-separated; NULL: all). */
typedef struct {
  clarke_model model;
  clarke_tensor x, y;
  clarke_loss_kind loss;
  const char *profile, *wrt;
  bool all_ranks;
  clarke_graph graph;
  clarke_profile of;
  clarke_replay replay;
  clarke_question question;
  clarke_audit audit;
} asked;

/* Samples of `width` features each. */
static inline void
asked_begin(asked *a, size_t samples, size_t width, const double *x)
{
  memset(a, 0, sizeof *a);
  model_begin(&a->model, 17);
  model_input(&a->model, "x", SHAPE(-1, (long)width,));
  clarke_tensor_init(&a->y);
  a->x = tensor_of("x", CLARKE_F64, SHAPE((long)samples, (long)width,));
  memcpy(a->x.real, x, samples * width * sizeof *x);
  a->profile = "Relu 0 0\n";
}

/* Targets of a loss mse for networks of one output. */
static inline void
asked_targets(asked *a, const double *y)
{
  a->loss = CLARKE_LOSS_MSE;
  a->y = tensor_of("y", CLARKE_F64, SHAPE((long)a->x.dims[0], 1,));
  memcpy(a->y.real, y, a->y.count * sizeof *y);
}

static inline void
weight(asked *a, const char *name, const long *shape, const double *values)
{
  double *to = model_floats(&a->model, name, shape);

  memcpy(to, values, a->model.tensors[a->model.n_tensors - 1].count * sizeof *to);
}

static inline clarke_model_node *
node(asked *a, const char *op, const char *in, const char *out)
{
  return model_node(&a->model, op, in, out);
}

#define NUMBERS(...) ((const double[]){__VA_ARGS__})

/* `out` is the network's output. */
static inline void
ask(asked *a, const char *out)
{
  size_t n;
  char **wrt = words_of(a->wrt, &n);
  clarke_loss loss;

  model_output(&a->model, out);
  clarke_graph_init(&a->graph);
  clarke_profile_init(&a->of);
  clarke_replay_init(&a->replay);
  clarke_audit_init(&a->audit);
  OK(clarke_graph_build(&a->graph, &a->model, &a->x, &error));
  OK(clarke_graph_wrt(&a->graph, wrt, n, &error));
  OK(clarke_profile_parse(&a->of, a->profile, strlen(a->profile), "by hand", &error));
  loss = (clarke_loss){.kind = a->loss, .y = a->loss == CLARKE_LOSS_SUM ? NULL : &a->y, .samples = a->x.dims[0]};
  OK(clarke_loss_check(&loss, &a->graph, &error));
  OK(clarke_replay_run(&a->replay, NULL, &a->graph, &a->x, false, 1, &error));
  OK(clarke_question_init(&a->question, &a->replay, &a->of, &loss, &error));
  OK(clarke_audit_run(&a->audit, &a->question, a->all_ranks, &error));
  for (size_t i = 0; i < n; i++)
    free(wrt[i]);
  free(wrt);
}

static inline void
asked_end(asked *a)
{
  clarke_audit_clear(&a->audit);
  clarke_question_clear(&a->question);
  clarke_replay_clear(&a->replay);
  clarke_profile_clear(&a->of);
  clarke_graph_clear(&a->graph);
  clarke_tensor_clear(&a->x);
  clarke_tensor_clear(&a->y);
  clarke_model_clear(&a->model);
}

static inline void
verdict_is(const asked *a, clarke_verdict verdict)
{
  ck_assert_msg(a->audit.verdict == verdict, "%s (%s), expected %s", clarke_verdict_name(a->audit.verdict),
                a->audit.why, clarke_verdict_name(verdict));
}

static inline const clarke_theorem *
theorem(const asked *a, const char *name)
{
  for (size_t i = 0; i < CLARKE_THEOREMS; i++)
    if (strcmp(a->audit.theorem[i].name, name) == 0)
      return &a->audit.theorem[i];
  ck_abort_msg("no theorem %s", name);
}

static inline void
applies(const asked *a, const char *name, clarke_truth holds, const char *why)
{
  const clarke_theorem *t = theorem(a, name);

  ck_assert_msg(t->applies, "%s does not apply: %s", name, t->why);
  ck_assert_msg(t->holds == holds, "%s: answer %d, expected %d (%s)", name, (int)t->holds, (int)holds, t->why);
  ck_assert_str_eq(t->why, why);
}

/* What does not apply does not hold. */
static inline void
applies_not(const asked *a, const char *name, const char *why)
{
  const clarke_theorem *t = theorem(a, name);

  ck_assert_msg(!t->applies, "%s applies: %s", name, t->why);
  ck_assert_int_eq(t->holds, CLARKE_NO);
  ck_assert_str_eq(t->why, why);
}

#endif
