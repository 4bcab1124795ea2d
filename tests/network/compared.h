/* What tests of random networks draw and compare: profiles and numbers, the filter beside the exact pass, and
 * identity beside its definition. */
#ifndef CLARKE_TESTS_NETWORK_COMPARED_H
#define CLARKE_TESTS_NETWORK_COMPARED_H

#include "distances.h"
#include "machine.h"
#include "network/graph/build.h"

#include <float.h>
#include <math.h>

/* Every kink at its right slope, and this rule for ties. */
static inline const char *
profile_with(const char *tie)
{
  static char text[512];

  snprintf(text, sizeof text, "Relu 0 right\nLeakyRelu 0 right\nPRelu 0 right\nAbs 0 right\nClip 0 right\n"
           "Clip 1 right\nHardSigmoid 0 right\nHardSigmoid 1 right\nHardSwish 0 right\n"
           "HardSwish 1 right\ntie MaxPool %s\ntie GlobalMaxPool %s\ntie Maximum %s\ntie Minimum %s\ntie ReduceMax %s\n"
           "tie ReduceMin %s\ntie TopK first\n", tie, tie, tie, tie, tie, tie);
  return text;
}

static inline double
small_number(uint64_t *state)
{
  return (double)draw_between(state, -2, 2);
}

static inline void
right_slope(mpq_t slope, const char *op, size_t kink, const mpq_t left, const mpq_t right)
{
  (void)op;
  (void)kink;
  (void)left;
  mpq_set(slope, right);
}

static inline double
full_double(uint64_t *state)
{
  return ldexp((double)(int64_t)(draw(state) >> 10) - 0x1p53, -53);
}

/* As weights are: many bits or few, sometimes far smaller. */
static inline double
weight_like(uint64_t *state)
{
  switch (draw_below(state, 4)) {
  case 0:
    return small_number(state);
  case 1:
    return (double)(float)full_double(state);
  case 2:
    return ldexp(full_double(state), (int)draw_between(state, -45, 3));
  default:
    return 2 * full_double(state);
  }
}

/* The ends of the doubles, or one of an exponent within these. */
static inline double
double_within(uint64_t *state, long low, long high)
{
  static const double special[] = {0, 0x1p-1074, -0x1p-1074, DBL_MAX, -DBL_MAX, 1e300, -1e300, DBL_MIN,
                                   1, -1};
  double u;

  if (draw_below(state, 3) == 0)
    return special[draw_below(state, 10)];
  u = full_double(state);
  return ldexp(u, (int)draw_between(state, low, high));
}

/* From the smallest subnormals to the largest. */
static inline double
any_double(uint64_t *state)
{
  return double_within(state, -1060, 1020);
}

/* --- the filter ------------------------------------------------------------------------------------ */

/* Entries that rounded enclosures decided in all comparisons so far. */
static size_t refined_entries;

/* The filter's answers are the exact ones, entry by entry. */
static inline void
compare_with_exact(const clarke_model *m, const clarke_tensor *x, size_t *filtered, size_t *total)
{
  clarke_graph g;
  clarke_replay fast, exact;
  clarke_margins near, apart;

  clarke_margins_init(&near);
  clarke_margins_init(&apart);
  clarke_graph_init(&g);
  clarke_replay_init(&fast);
  clarke_replay_init(&exact);
  OK(clarke_graph_build(&g, m, x, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  OK(clarke_replay_run(&fast, &near, &g, x, false, 2, &error));
  OK(clarke_replay_run(&exact, &apart, &g, x, true, 1, &error));
  for (size_t i = 0; i < g.n_steps; i++) {
    size_t n = g.values[g.steps[i].out].count * fast.samples;

    ck_assert((fast.piece[i] == NULL) == (exact.piece[i] == NULL));
    if (fast.piece[i] == NULL)
      continue;
    *total += n;
    if (memcmp(fast.piece[i], exact.piece[i], n * sizeof **exact.piece) != 0 ||
        (g.steps[i].kind == CLARKE_MAX &&
         memcmp(fast.ties[i], exact.ties[i], fast.samples * sizeof **fast.ties) != 0)) {
      print_model(m);
      ck_abort_msg("%s: the filter decides otherwise", g.steps[i].name);
    }
  }
  *filtered += fast.filtered;
  refined_entries += fast.refined;
  ck_assert_uint_eq(exact.filtered, 0);
  ck_assert_uint_eq(fast.open, exact.open);
  ck_assert_uint_eq(fast.n_touches, exact.n_touches);
  ck_assert_uint_eq(fast.n_conditions, exact.n_conditions);
  for (size_t t = 0; t < fast.n_touches; t++) {
    const clarke_touch *a = &fast.touch[t], *b = &exact.touch[t];

    ck_assert(a->step == b->step && a->feature == b->feature && a->sample == b->sample);
    ck_assert_uint_eq(fast.near_sample[a->column], a->sample);
    ck_assert(a->kink == b->kink && a->n_options == b->n_options);
    ck_assert(a->n_options == 0 ||
              memcmp(a->option, b->option, a->n_options * sizeof *a->option) == 0);
  }
  compare_distances_of(&fast);
  compare_distances_of(&exact);
  clarke_margins_clear(&near);
  clarke_margins_clear(&apart);
  clarke_replay_clear(&fast);
  clarke_replay_clear(&exact);
  clarke_graph_clear(&g);
}

/* --- identity ------------------------------------------------------------------------------------ */

/* Moves the parameters in wrt a little, in any direction. */
static inline void
perturb(naive_run *r, const clarke_graph *g, uint64_t *state)
{
  mpq_t q;

  mpq_init(q);
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; g->parameters[p].wrt && e < g->parameters[p].count; e++) {
      naive *w = naive_find(r, g->parameters[p].name);

      mpq_set_d(q, ldexp((double)draw_between(state, -1000, 1000), -60));
      mpq_add(w->v[e], w->v[e], q);
    }
  mpq_clear(q);
}

/* What was last seen of an identity in a column. */
typedef struct {
  clarke_identity id;
  mpq_t value;
} seen;

typedef struct {
  size_t n, capacity, shared;
  seen *list;
} memory;

/* The number of entries that share an identity with one before. */
static inline void
remember(memory *s, clarke_identity id, const mpq_t value, const clarke_model *m, const char *name)
{
  size_t i = 0;

  while (i < s->n && s->list[i].id != id)
    i++;
  if (i < s->n) {
    s->shared++;
    if (!mpq_equal(s->list[i].value, value)) {
      print_model(m);
      ck_abort_msg("entries of one identity come apart (%s)", name);
    }
    return;
  }
  if (s->n == s->capacity) {
    s->capacity = 2 * s->capacity + 64;
    s->list = realloc(s->list, s->capacity * sizeof *s->list);
  }
  s->list[s->n].id = id;
  mpq_init(s->list[s->n].value);
  mpq_set(s->list[s->n++].value, value);
}

static inline void
memory_clear(memory *s)
{
  for (size_t i = 0; i < s->n; i++)
    mpq_clear(s->list[i].value);
  free(s->list);
}

/* All entries of all activations that have a name, column by column. */
static inline size_t
check_identities(clarke_identities *ids, const clarke_graph *g, naive_run *moved, size_t samples)
{
  size_t shared = 0;

  for (size_t j = 0; j < samples; j++) {
    memory s = {.n = 0};

    for (size_t v = 0; v < g->n_values; v++) {
      const clarke_value *value = &g->values[v];
      const naive *x = value->constant || value->name == NULL ? NULL : naive_find(moved, value->name);

      for (size_t f = 0; x != NULL && f < value->count; f++)
        remember(&s, clarke_identity_of(ids, v, f, j), x->v[j * value->count + f], moved->m,
                 value->name);
    }
    shared += s.shared;
    memory_clear(&s);
  }
  ck_assert(!clarke_identities_failed(ids));
  return shared;
}

/* Adds to shared how many entries of a network on a minibatch have the identity of another: with the values known, and by
 * structure alone. These stay equal when the parameters move. */
static inline void
perturb_identities(size_t shared[2], const clarke_model *m, const clarke_tensor *x, uint64_t *state)
{
  machine k;

  machine_begin(&k, m, x, profile_with("first"), true);
  for (size_t p = 0; p < k.g.n_parameters; p++)
    k.g.parameters[p].wrt = !k.g.parameters[p].statistic && draw_below(state, 4) > 0;
  for (size_t way = 0; way < 2 && k.pass.open == 0; way++) {
    clarke_identities *ids = clarke_identities_new(&k.g, k.pass.n, k.pass.piece, way == 0 ? k.pass.value : NULL, x);

    for (size_t point = 0; point < 3; point++) {
      naive_run moved = {.proxy = right_slope};

      naive_begin(&moved, m, x);
      perturb(&moved, &k.g, state);
      naive_go(&moved);
      shared[way] += check_identities(ids, &k.g, &moved, x->dims[0]);
      naive_clear(&moved);
    }
    clarke_identities_free(ids);
  }
  machine_end(&k);
}

static inline void
expect_shared(const size_t shared[2])
{
  printf("identity: %zu entries are another's function, %zu of them without values\n", shared[0], shared[1]);
  ck_assert_uint_gt(shared[1], 1000);
  ck_assert_uint_ge(shared[0], shared[1]);
}

#endif
