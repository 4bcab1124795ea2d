/* The filter's bounds with norms: every bound that it claims against exact values, entry by entry and as a whole, and what it
 * decides against the exact pass. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/pass/filter/enclosure.h"

/* What was compared, beside what is exact. */
typedef struct {
  const clarke_forward *pass;
  const clarke_model *m;
  size_t values, rounded; /* compared; with some entry off */
  double nearest[2];      /* the largest error and norm of errors, as parts of their bounds */
  size_t by_norm, decided;
} comparison;

/* |y - true| of entry (i, j), from below: the true value is known within a radius. */
static double
entry_error(const comparison *c, size_t value, double y, size_t i, size_t j)
{
  const clarke_matrix *exact = &c->pass->value[value];
  mpq_t have, want;
  double off;

  mpq_inits(have, want, NULL);
  mpq_set_d(have, y);
  clarke_matrix_get(want, exact, i, j);
  mpq_sub(have, have, want);
  off = fabs(mpq_get_d(have)) - clarke_matrix_radius(exact, i, j);
  mpq_clears(have, want, NULL);
  return off > 0 ? off : 0;
}

/* Sample j. */
static void
compare_sample(comparison *c, const clarke_filter *f, size_t value, size_t j)
{
  const clarke_enclosure *e = &f->value[value];
  double norm = 0, most = 0;

  for (size_t i = 0; i < e->rows; i++) {
    const double y = e->y[i * f->n + j], bound = clarke_enclosure_bound_at(f, e, i, j);
    double off;

    if (!isfinite(y)) {
      ck_assert_msg(!isfinite(bound), "step %zu: a bound of %g of what is none", f->step, bound);
      ck_assert(!isfinite(e->norm[j]) && !isfinite(e->most[j]));
      return;
    }
    off = entry_error(c, value, y, i, j);
    if (off > bound || off > e->most[j]) {
      print_model(c->m);
      ck_abort_msg("step %zu: off by %g, said to be by %g and %g", f->step, off, bound, e->most[j]);
    }
    most = fmax(most, off);
    norm = hypot(norm, off);
  }
  if (norm * (1 - 1e-12) > e->norm[j]) {
    print_model(c->m);
    ck_abort_msg("step %zu: a norm of %g, said to be %g", f->step, norm, e->norm[j]);
  }
  c->rounded += most > 0;
  c->nearest[0] = most > 0 ? fmax(c->nearest[0], most / e->most[j]) : c->nearest[0];
  c->nearest[1] = norm > 0 ? fmax(c->nearest[1], norm / e->norm[j]) : c->nearest[1];
  c->by_norm += e->most[j] < 0.99 * clarke_largest_of(e->row, e->rows) * e->col[j];
}

static void
compare_value(void *context, const clarke_filter *f, size_t value)
{
  comparison *c = context;

  if (c->pass->value[value].rows == 0)
    return;
  for (size_t j = 0; j < f->n; j++)
    compare_sample(c, f, value, j);
  c->values++;
}

static bool
follows(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_ANALYTIC || g->steps[i].kind == CLARKE_SOFTMAX)
      return false;
  return true;
}

static void
run_filter(comparison *c, const machine *k, const clarke_tensor *x)
{
  const clarke_graph *g = &k->g;
  clarke_branch **piece = calloc(g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(g->n_steps + 1, sizeof *ties), open, transcendental;
  bool *needed = malloc((g->n_values + 1) * sizeof *needed);
  clarke_growths growths = {0};
  const clarke_filter_way way = {.limit = SIZE_MAX, .growths = &growths, .seen = compare_value, .context = c};

  clarke_graph_needed(g, false, needed);
  for (size_t i = 0; i < g->n_steps; i++)
    needed[g->steps[i].out] = needed[g->steps[i].out] || clarke_step_has_kinks(&g->steps[i]);
  OK(clarke_growths_add(&growths, g, needed, &error));
  OK(clarke_filter_run(piece, ties, NULL, &open, &transcendental, g, x, &way, &error));
  for (size_t i = 0; i < g->n_steps; i++) {
    for (size_t e = 0; piece[i] != NULL && e < g->values[g->steps[i].out].count * k->pass.n; e++) {
      c->decided += piece[i][e] != CLARKE_OPEN;
      if (piece[i][e] != CLARKE_OPEN && piece[i][e] != k->pass.piece[i][e] && k->pass.piece[i][e] != CLARKE_OPEN) {
        print_model(c->m);
        ck_abort_msg("%s: entry %zu is decided otherwise", g->steps[i].name, e);
      }
    }
    free(piece[i]);
    free(ties[i]);
  }
  clarke_growths_clear(&growths);
  free(piece);
  free(ties);
  free(needed);
}

static comparison
compare_networks(void (*grow)(growing *g, uint64_t *state, double (*number)(uint64_t *state)),
                 double (*number)(uint64_t *state), uint64_t seed, size_t n)
{
  uint64_t state = seed;
  comparison c = {0};

  for (size_t i = 0; i < n; i++) {
    growing grown;
    clarke_tensor x;
    machine k;

    grow(&grown, &state, number);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    c.pass = &k.pass;
    c.m = &grown.m;
    if (follows(&k.g))
      run_filter(&c, &k, &x);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("norms: %zu values, %zu samples of them rounded, errors up to %g and %g of their bounds, %zu bounds less by norms; "
         "%zu places decided\n", c.values, c.rounded, c.nearest[0], c.nearest[1], c.by_norm, c.decided);
  ck_assert_uint_gt(c.values, n / 4);
  return c;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Nearly all alike: what rounding takes adds up. */
static double
aligned(uint64_t *state)
{
  return draw_below(state, 8) == 0 ? 1 : 0x0.7ffbff7fefffp0;
}

/* Sums cancel but for a little. */
static double
cancelling(uint64_t *state)
{
  const double v = 1 + ldexp(full_double(state), -30);

  return draw_below(state, 2) ? v : -v;
}

/* From what underflows when it is multiplied to what overflows. */
static double
extreme(uint64_t *state)
{
  static const int exponent[] = {-1060, -540, -20, 0, 0, 20, 505, 515};

  return ldexp(full_double(state), exponent[draw_below(state, sizeof exponent / sizeof *exponent)]);
}

/* --- networks --------------------------------------------------------------------------------- */

/* Sums long enough to be made in parts. */
static void
grow_long(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[1] = {193 + draw_below(state, 500)};

  grow_begin(g, state, number, 1, dims);
  for (size_t n = 1 + draw_below(state, 2); n > 0; n--) {
    grow_dense(g, n > 1 ? 200 : 8);
    grow_node(g, "Relu", NULL, false);
  }
  model_output(&g->m, g->at);
}

/* So many layers that row sums say nothing. */
static void
grow_deep(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[1] = {16};

  grow_begin(g, state, number, 1, dims);
  for (size_t n = 8; n > 0; n--) {
    grow_dense(g, 16);
    grow_node(g, draw_below(state, 4) == 0 ? "Abs" : "Relu", NULL, false);
  }
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_in_convolutional_networks)
{
  const comparison c = compare_networks(grow_convolutional, weight_like, 5, 2500);

  ck_assert_uint_gt(c.rounded, c.values / 8);
  ck_assert_uint_gt(c.by_norm, 0);
  ck_assert_uint_gt(c.decided, 10000);
}
END_TEST

START_TEST(bounds_hold_behind_normalizations)
{
  const comparison c = compare_networks(grow_normalized, weight_like, 7, 1000);

  ck_assert_uint_gt(c.rounded, c.values / 8);
}
END_TEST

START_TEST(bounds_hold_where_roundings_add_up)
{
  const comparison c = compare_networks(grow_convolutional, aligned, 9, 1500);

  ck_assert(c.nearest[0] > 0.01 && c.nearest[1] > 0.01);
}
END_TEST

START_TEST(bounds_hold_where_sums_cancel)
{
  compare_networks(grow_convolutional, cancelling, 11, 1000);
  compare_networks(grow_deep, cancelling, 13, 60);
}
END_TEST

START_TEST(bounds_hold_at_the_ends_of_doubles)
{
  compare_networks(grow_convolutional, extreme, 15, 1500);
}
END_TEST

START_TEST(bounds_hold_of_sums_in_parts)
{
  const comparison c = compare_networks(grow_long, full_double, 19, 30);

  ck_assert_uint_gt(c.decided, 100);
  compare_networks(grow_long, aligned, 21, 20);
}
END_TEST

START_TEST(norms_decide_deep_networks)
{
  const comparison c = compare_networks(grow_deep, full_double, 23, 60);

  ck_assert_uint_gt(c.by_norm, c.values / 2);
  ck_assert_uint_gt(c.decided, 15000);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-norms");

  tcase_add_test(tcase, bounds_hold_in_convolutional_networks);
  tcase_add_test(tcase, bounds_hold_behind_normalizations);
  tcase_add_test(tcase, bounds_hold_where_roundings_add_up);
  tcase_add_test(tcase, bounds_hold_where_sums_cancel);
  tcase_add_test(tcase, bounds_hold_at_the_ends_of_doubles);
  tcase_add_test(tcase, bounds_hold_of_sums_in_parts);
  tcase_add_test(tcase, norms_decide_deep_networks);
  return run_tests();
}
