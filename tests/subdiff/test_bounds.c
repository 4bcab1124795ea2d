/* Bounds on what touches may add along a vector, beside the gradients under all sides: each is taken by
 * reverse mode with those sides chosen. */
#include "drawn.h"

#include "subdiff/cover.h"
#include "subdiff/nearest.h"

enum { MOST_PATTERNS = 96, N_VECTORS = 4, N_PARTIAL = 12 };

static void
dot(arb_t sum, const clarke_matrix *gradient, const clarke_row *v, const clarke_graph *g)
{
  arb_t x;

  arb_init(x);
  arb_zero(sum);
  for (size_t e = 0, p = 0; e < v->n; e++) {
    fmpq_t by;

    while (v->column[e] >= clarke_column_base(g, p) + g->parameters[p].count)
      p++;
    if (gradient[p].rows == 0)
      continue;
    fmpq_init(by);
    fmpq_set_mpq(by, v->value[e]);
    clarke_matrix_get_ball(x, &gradient[p], v->column[e] - clarke_column_base(g, p), 0, 256);
    arb_mul_fmpz(x, x, fmpq_numref(by), 256);
    arb_div_fmpz(x, x, fmpq_denref(by), 256);
    arb_add(sum, sum, x, 256);
    fmpq_clear(by);
  }
  arb_clear(x);
}

/* The gradients under all patterns of sides, and last AD's output. */
typedef struct {
  size_t n;
  clarke_matrix **gradient;
  int8_t *side; /* n x touches */
} patterns;

static void
patterns_init(patterns *all, const drawn *net)
{
  size_t touches = net->replay.n_touches;

  all->n = patterns_of(&net->replay, MOST_PATTERNS);
  all->gradient = malloc((all->n + 1) * sizeof *all->gradient);
  all->side = calloc((all->n + 1) * touches + 1, sizeof *all->side);
  for (size_t i = 0; i <= all->n; i++) {
    if (i < all->n)
      pattern_sides(all->side + i * touches, &net->replay, i);
    all->gradient[i] = clarke_matrices_new(net->g.n_parameters);
    OK(clarke_partial_gradient(all->gradient[i], &net->q, all->side + i * touches, &error));
  }
}

static void
patterns_clear(patterns *all, const drawn *net)
{
  for (size_t i = 0; i <= all->n; i++)
    clarke_matrices_free(all->gradient[i], net->g.n_parameters);
  free(all->gradient);
  free(all->side);
}

/* What each pattern adds to AD's output along v. */
static arb_ptr
differences_along(const patterns *all, const drawn *net, const clarke_row *v)
{
  arb_ptr x = _arb_vec_init((slong)all->n + 1);

  for (size_t i = 0; i <= all->n; i++)
    dot(x + i, all->gradient[i], v, &net->g);
  for (size_t i = 0; i < all->n; i++)
    arb_sub(x + i, x + i, x + all->n, 256);
  return x;
}

typedef struct {
  size_t networks, windows, behind, patterns, tight, tried, held, open, covered_patterns;
} tally;

static void
describe_gap(const clarke_margin *m, const int8_t *side, arb_srcptr sum, arb_srcptr difference)
{
  const clarke_question *q = m->of->q;

  for (size_t i = 0; i < q->g->n_steps; i++)
    fprintf(stderr, "step %zu: %s\n", i, q->g->steps[i].op->name);
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    fprintf(stderr, "touch %zu: step %zu, feature %zu, sample %zu, %zu options, side %d, AD's %d, pull ", k,
            t->step, t->feature, t->sample, t->n_options, side[k], q->ad_side[k]);
    arb_fprintd(stderr, m->of->pull + k, 10);
    for (size_t o = 0; o < options_of(t); o++) {
      fprintf(stderr, ", gain ");
      arb_fprintd(stderr, m->gain + m->of->at[k] + o, 10);
    }
    fprintf(stderr, "\n");
  }
  fprintf(stderr, "loss %d; sum ", (int)q->loss.kind);
  arb_fprintd(stderr, sum, 10);
  fprintf(stderr, ", difference ");
  arb_fprintd(stderr, difference, 10);
  fprintf(stderr, "\n");
}

/* The gains sum up to what the pattern adds; where no touch is behind another, nothing is lost. */
static void
check_sum(const clarke_margin *m, const int8_t *side, arb_srcptr difference, bool tight, tally *t)
{
  const clarke_replay *r = m->of->q->replay;
  arb_t sum, gap;

  arb_init(sum);
  arb_init(gap);
  for (size_t k = 0; k < r->n_touches; k++) {
    size_t o = 0;

    while (side_of(&r->touch[k], o) != side[k])
      o++;
    arb_add(sum, sum, m->gain + m->of->at[k] + o, 256);
  }
  arb_sub(gap, sum, difference, 256);
  if (!arb_contains_zero(gap)) {
    describe_gap(m, side, sum, difference);
    ck_abort_msg("the gains do not sum up to what the sides add");
  }
  if (tight)
    ck_assert_msg(mag_cmp_2exp_si(arb_radref(gap), -50) < 0, "the gains' sum is wide: %g, loss %d",
                  mag_get_d(arb_radref(gap)), (int)m->of->q->loss.kind);
  t->patterns++;
  t->tight += tight;
  arb_clear(sum);
  arb_clear(gap);
}

static bool
extends(const int8_t *whole, const int8_t *part, size_t n)
{
  for (size_t k = 0; k < n; k++)
    if (part[k] != CLARKE_PROXY && part[k] != whole[k])
      return false;
  return true;
}

/* Where the margin holds, it does for every pattern. */
static void
check_partial(const clarke_margin *m, const int8_t *side, const patterns *all, arb_srcptr difference,
              tally *t)
{
  size_t n = m->of->q->replay->n_touches;

  t->tried++;
  if (!clarke_margin_holds(m, side))
    return;
  t->held++;
  t->open += memchr(side, CLARKE_PROXY, n) != NULL;
  for (size_t i = 0; i < all->n; i++)
    if (extends(all->side + i * n, side, n)) {
      ck_assert_msg(arb_is_negative(difference + i), "pattern %zu of a family is not separated", i);
      t->covered_patterns++;
    }
}

static void
draw_partial(int8_t *side, const clarke_replay *r, size_t chance, uint64_t *state)
{
  for (size_t k = 0; k < r->n_touches; k++)
    side[k] = draw_below(state, 4) < chance ? CLARKE_PROXY
                                            : side_of(&r->touch[k], draw_below(state, options_of(&r->touch[k])));
}

/* Does some touch lie in the sums or pieces before another's? */
static bool
one_layer(const clarke_replay *r)
{
  for (size_t k = 0; k < r->n_touches; k++)
    if (r->touch[k].step != r->touch[0].step)
      return false;
  return true;
}

static void
check_vector(const clarke_margins *margins, const drawn *net, const patterns *all, uint64_t *state, tally *t)
{
  size_t n = net->replay.n_touches;
  int8_t *side = calloc(n + 1, sizeof *side);
  clarke_margin m;
  clarke_row v;
  arb_ptr difference;

  clarke_row_init(&v);
  draw_row(&v, &net->g, state);
  OK(clarke_margin_init(&m, margins, &v, &error));
  difference = differences_along(all, net, &v);
  for (size_t i = 0; i < all->n; i++) {
    check_sum(&m, all->side + i * n, difference + i, one_layer(&net->replay), t);
    check_partial(&m, all->side + i * n, all, difference, t);
  }
  for (size_t i = 0; i < N_PARTIAL; i++) {
    draw_partial(side, &net->replay, i == 0 ? 4 : 1 + i % 3, state);
    check_partial(&m, side, all, difference, t);
  }
  _arb_vec_clear(difference, (slong)all->n + 1);
  clarke_margin_clear(&m);
  clarke_row_clear(&v);
  free(side);
}

START_TEST(margins_are_of_all_sides)
{
  const size_t n = 2500;
  uint64_t state = 31;
  tally t = {.networks = n};

  for (size_t i = 0; i < n; i++) {
    drawn net;
    patterns all;
    clarke_margins margins;

    draw_touched(&net, &state, MOST_PATTERNS);
    patterns_init(&all, &net);
    OK(clarke_margins_init(&margins, &net.q, &error));
    for (size_t k = 0; k < N_VECTORS; k++)
      check_vector(&margins, &net, &all, &state, &t);
    for (size_t k = 0, any = 0; k < net.replay.n_touches && !any; k++)
      t.windows += any = net.replay.touch[k].n_options > 0;
    t.behind += !one_layer(&net.replay);
    clarke_margins_clear(&margins);
    patterns_clear(&all, &net);
    drawn_clear(&net);
  }
  printf("margins: %zu networks (%zu with windows, %zu with touches in several steps), %zu sums (%zu tight), "
         "%zu of %zu families held (%zu with open touches), of %zu patterns\n", t.networks, t.windows, t.behind,
         t.patterns, t.tight, t.held, t.tried, t.open, t.covered_patterns);
  ck_assert_uint_gt(t.windows, n / 4);
  ck_assert_uint_gt(t.behind, n / 4);
  ck_assert_uint_gt(t.open, n);
  ck_assert_uint_gt(t.tight, 10 * n);
}
END_TEST

int
main(void)
{
  Suite *suite = suite_create("bounds");
  TCase *c = tcase_create("bounds");
  SRunner *runner = srunner_create(suite);
  int failed;

  tcase_set_timeout(c, 300);
  tcase_add_test(c, margins_are_of_all_sides);
  suite_add_tcase(suite, c);
  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
