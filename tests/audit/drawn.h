/* Random small networks that meet many kinks: numbers are small, so that arguments are often 0 and windows
 * tied. All but the loss is as in tests/network. */
#ifndef CLARKE_TESTS_AUDIT_DRAWN_H
#define CLARKE_TESTS_AUDIT_DRAWN_H

#include "../network/convolutional.h"
#include "../ok.h"

#include "audit/separation.h"
#include "network/graph/build.h"

typedef struct {
  growing grown;
  clarke_tensor x, y;
  clarke_graph g;
  clarke_profile profile;
  clarke_replay replay;
  clarke_question q;
  size_t layers; /* that have kinks or windows */
} drawn;

static inline double
ternary(uint64_t *state)
{
  return (double)draw_between(state, -1, 1);
}

static inline double
half(uint64_t *state)
{
  return (double)draw_between(state, -3, 3) / 2;
}

/* What the layer does with its sums; at least one thing. */
static inline void
grow_pieces(growing *g, bool dense)
{
  size_t kind = draw_below(g->state, 3);

  if (kind != 1)
    grow_kink(g);
  if (kind == 0 && !dense)
    return;
  if (dense && g->dims[0] < 2)
    return;
  if (kind != 0 && dense)
    grow_channels(g, 1);
  if (kind != 0)
    grow_maxpool(g, true);
  if (kind != 0 && dense)
    grow_flatten(g);
  if (kind == 1 && draw_below(g->state, 4) == 0)
    grow_kink(g);
}

static inline void
grow_layer(growing *g)
{
  bool dense = g->rank == 1;

  if (dense)
    grow_dense(g, 1 + draw_below(g->state, 3));
  else
    grow_conv(g, 2, true);
  grow_pieces(g, dense);
}

/* One filter, or neuron, at 0 or nearly: all its arguments are touched. */
static inline void
clear_weights(growing *g)
{
  clarke_tensor *t = &g->m.tensors[0];

  for (size_t e = 0; e < t->count; e++)
    if (draw_below(g->state, 8) > 0)
      t->real[e] = 0;
}

static inline void
grow_drawn(drawn *n, uint64_t *state)
{
  growing *g = &n->grown;
  size_t line[2] = {1, (size_t)draw_between(state, 2, 5)}, row = 1 + draw_below(state, 3);
  bool dense = draw_below(state, 3) == 0;

  grow_begin(g, state, draw_below(state, 2) ? ternary : half, dense ? 1 : 2, dense ? &row : line);
  n->layers = 1 + draw_below(state, 3);
  grow_layer(g);
  if (draw_below(state, 3) == 0)
    clear_weights(g);
  if (g->rank > 1 && draw_below(state, 2))
    grow_flatten(g);
  for (size_t i = 1; i < n->layers; i++)
    grow_layer(g);
  if (g->rank > 1)
    grow_flatten(g);
  if (draw_below(state, 4) > 0)
    grow_dense(g, 1 + draw_below(state, 3));
  model_output(&g->m, g->at);
}

static inline void
draw_targets(drawn *n, clarke_loss_kind kind, uint64_t *state)
{
  long count = (long)n->g.values[n->g.output].count, samples = (long)n->x.dims[0];

  if (kind == CLARKE_LOSS_CE)
    n->y = tensor_of("y", CLARKE_I64, SHAPE(samples,));
  else
    n->y = tensor_of("y", CLARKE_F64, SHAPE(samples, count,));
  for (size_t e = 0; e < n->y.count; e++)
    if (kind == CLARKE_LOSS_CE)
      n->y.integer[e] = (int64_t)draw_below(state, (size_t)count);
    else
      n->y.real[e] = half(state);
}

static inline void
draw_profile(drawn *n, uint64_t *state)
{
  static const char *const numbers[] = {"0", "0", "1", "1/2", "left", "right", "2", "-1", "1/3"};
  static const char *const ties[] = {"first", "first", "last", "mean", "hybrid 1/3", "hybrid 2"};
  char text[160];
  const char *relu = numbers[draw_below(state, 9)], *leaky = numbers[draw_below(state, 9)];
  const char *absolute = numbers[draw_below(state, 9)];

  snprintf(text, sizeof text, "Relu 0 %s\nLeakyRelu 0 %s\nAbs 0 %s\ntie MaxPool %s\n", relu, leaky, absolute,
           ties[draw_below(state, 6)]);
  OK(clarke_profile_parse(&n->profile, text, strlen(text), "drawn", &error));
}

static inline void
drawn_clear(drawn *n)
{
  clarke_question_clear(&n->q);
  clarke_replay_clear(&n->replay);
  clarke_profile_clear(&n->profile);
  clarke_graph_clear(&n->g);
  clarke_tensor_clear(&n->x);
  clarke_tensor_clear(&n->y);
  clarke_model_clear(&n->grown.m);
}

static inline size_t
options_of(const clarke_touch *t)
{
  return t->n_options > 0 ? t->n_options : 2;
}

static inline clarke_branch
side_of(const clarke_touch *t, size_t option)
{
  return t->n_options > 0 ? CLARKE_OPTION(option) : option == 1 ? CLARKE_RIGHT : CLARKE_LEFT;
}

/* In how many ways sides can be chosen; 0 when that is over `most`. */
static inline size_t
patterns_of(const clarke_replay *r, size_t most)
{
  size_t all = 1;

  for (size_t k = 0; k < r->n_touches && all > 0; k++) {
    all *= options_of(&r->touch[k]);
    all = all <= most ? all : 0;
  }
  return all;
}

/* The sides of pattern number i. */
static inline void
pattern_sides(clarke_branch *side, const clarke_replay *r, size_t i)
{
  for (size_t k = 0; k < r->n_touches; k++) {
    size_t n = options_of(&r->touch[k]);

    side[k] = side_of(&r->touch[k], i % n);
    i /= n;
  }
}

static inline void
draw_once(drawn *n, uint64_t *state)
{
  clarke_loss loss = {.kind = (clarke_loss_kind)draw_below(state, 3)};

  memset(n, 0, sizeof *n);
  clarke_graph_init(&n->g);
  clarke_profile_init(&n->profile);
  clarke_replay_init(&n->replay);
  clarke_tensor_init(&n->y);
  grow_drawn(n, state);
  n->x = grow_batch(&n->grown, 1 + draw_below(state, 5));
  OK(clarke_graph_build(&n->g, &n->grown.m, &n->x, &error));
  OK(clarke_graph_wrt(&n->g, NULL, 0, &error));
  draw_profile(n, state);
  draw_targets(n, loss.kind, state);
  loss.samples = n->x.dims[0];
  loss.y = loss.kind == CLARKE_LOSS_SUM ? NULL : &n->y;
  OK(clarke_replay_run(&n->replay, NULL, &n->g, &n->x, false, 1, &error));
  OK(clarke_question_init(&n->q, &n->replay, &n->profile, &loss, &error));
}

/* One with touches, whose sides can be chosen in at most so many ways. */
static inline void
draw_touched(drawn *n, uint64_t *state, size_t most)
{
  draw_once(n, state);
  while (n->replay.n_touches == 0 || patterns_of(&n->replay, most) == 0) {
    drawn_clear(n);
    draw_once(n, state);
  }
}

/* Small integers, most of them 0, in the order of columns. */
static inline void
draw_row(clarke_row *v, const clarke_graph *g, uint64_t *state)
{
  mpq_t x;

  mpq_init(x);
  for (size_t e = 0; e < clarke_column_base(g, g->n_parameters); e++) {
    mpq_set_si(x, draw_below(state, 2) ? draw_between(state, -3, 3) : 0, 1);
    if (mpq_sgn(x) != 0)
      OK(clarke_row_add(v, e, x, &error));
  }
  mpq_clear(x);
}

#endif
