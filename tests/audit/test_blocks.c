/* Blocks of a layer's system that have no direction: surrounded by a simplex of cells, or separated. Simplices of drawn networks are
 * compared with the exact gradients of their cells. */
#include "drawn.h"
#include "asked.h"

#include "audit/block_hulls.h"
#include "audit/blocks.h"
#include "audit/layers.h"
#include "audit/path.h"
#include "exact/hull.h"
#include "exact/number.h"

#include <math.h>

/* --- one network by hand --- */

/* relu(w_1), relu(-w_1) and relu(w_2) at 0, one a sample, beside targets: AD's slope is 0. The gradient in w_1 is -4/3 right of 0
 * and 2/3 times `left` on its left; the last touch, where there is one, is apart. */
static void
three_samples(asked *a, double left, size_t samples)
{
  asked_begin(a, samples, 2, NUMBERS(1, 0, -1, 0, 0, 1));
  asked_targets(a, (const double[]){2, left, 1});
  weight(a, "w", SHAPE(2, 1,), NUMBERS(0, 0));
  node(a, "MatMul", "x,w", "y");
  node(a, "Relu", "y", "out");
  a->wrt = "w";
  ask(a, "out");
  ck_assert_uint_eq(a->replay.n_touches, samples);
}

/* The audit before its verdict: layers, AD's own cell, a system without a direction. */
static void
audit_again(asked *a)
{
  clarke_audit *audit = &a->audit;

  clarke_audit_clear(audit);
  clarke_audit_init(audit);
  OK(clarke_layers_read(audit, &a->question, &error));
  ck_assert_uint_eq(audit->n_layers, 1);
  audit->cell = malloc(sizeof *audit->cell);
  clarke_cell_init(&audit->cell[0]);
  audit->n_cells = 1;
  OK(clarke_cell_set(&audit->cell[0], &a->question, NULL, &error));
  audit->layer[0].moving = a->replay.n_touches;
  audit->layer[0].feasible = CLARKE_NO;
}

/* Of the entry of w, all moves together. */
static double
moved(const clarke_direction *d, size_t entry)
{
  double sum = 0;

  for (size_t i = 0; i < d->n; i++) {
    ck_assert_int_eq(d->move[i].kind, CLARKE_MOVE_AT);
    sum += d->move[i].entry == entry ? mpq_get_d(d->move[i].coef) : 0;
  }
  return sum;
}

START_TEST(a_block_is_surrounded_and_the_rest_goes_to_ads_side)
{
  const bool among[3] = {true, true, false};
  bool surrounded, found;
  clarke_block_hulls s;
  clarke_sample sample;
  asked a;

  three_samples(&a, 1, 3);
  audit_again(&a);
  OK(clarke_adjoints_find(&a.question, &error));
  OK(clarke_block_hulls_init(&s, &a.question, &error));
  OK(clarke_block_hulls_finish(&found, &s, &a.audit, &error));
  ck_assert(s.whole && !found); /* no block yet */
  OK(clarke_sample_init(&sample, &a.question, among, &error));
  OK(clarke_block_hulls_add(&surrounded, &s, &a.audit, among, &sample, &error));
  ck_assert(surrounded && s.whole && s.column[0] && !s.column[1] && a.audit.n_simplices == 1);
  ck_assert(a.audit.simplex[0].n_touches == 2 && a.audit.simplex[0].touch[0] == 0 && a.audit.simplex[0].touch[1] == 1);
  ck_assert_uint_eq(a.audit.simplex[0].n, 2); /* a cell on each side of 0 */
  ck_assert(moved(&a.audit.simplex[0].direction[0], 0) * moved(&a.audit.simplex[0].direction[1], 0) < 0);
  OK(clarke_block_hulls_finish(&found, &s, &a.audit, &error));
  ck_assert(found && a.audit.others.n > 0 && a.audit.others.flat[0] && a.audit.others.flat[1] && !a.audit.others.flat[2]);
  for (size_t i = 0; i < a.audit.others.n; i++)
    ck_assert(moved(&a.audit.others.direction[i], 0) == 0);
  ck_assert_double_lt(moved(&a.audit.others.direction[0], 1), 0); /* where relu is 0 */
  s.column[1] = true; /* as if the block were moved by it, too */
  OK(clarke_block_hulls_finish(&found, &s, &a.audit, &error));
  ck_assert(!found);
  s.column[1] = false;
  OK(clarke_block_hulls_add(&surrounded, &s, &a.audit, among, &sample, &error)); /* these columns are taken */
  ck_assert(!surrounded && !s.whole && a.audit.n_simplices == 1);
  OK(clarke_block_hulls_finish(&found, &s, &a.audit, &error));
  ck_assert(!found);
  OK(clarke_block_hulls_add(&surrounded, &s, &a.audit, among, &sample, &error)); /* none is sought any more */
  ck_assert(surrounded && a.audit.n_simplices == 1);
  clarke_block_hulls_clear(&s);
  clarke_audit_drop_simplices(&a.audit);
  ck_assert(a.audit.n_simplices == 0 && a.audit.simplex == NULL && a.audit.others.n == 0 && a.audit.others.side == NULL);

  OK(clarke_block_hulls_init(&s, &a.question, &error));
  OK(clarke_block_hulls_add(&surrounded, &s, &a.audit, among, NULL, &error)); /* AD's output is outside, as floats tell */
  ck_assert(!surrounded && !s.whole && a.audit.n_simplices == 0);
  clarke_block_hulls_clear(&s);
  clarke_sample_clear(&sample);
  asked_end(&a);
}
END_TEST

/* With a touch left out of the classes nothing is known of it. */
START_TEST(a_block_is_surrounded_whole_or_not_at_all)
{
  const bool among[2] = {true, true}, one[2] = {true, false};
  bool surrounded;
  clarke_block_hulls s;
  clarke_sample sample;
  asked a;

  three_samples(&a, 1, 2);
  audit_again(&a);
  OK(clarke_adjoints_find(&a.question, &error));
  OK(clarke_block_hulls_init(&s, &a.question, &error));
  OK(clarke_sample_init(&sample, &a.question, one, &error));
  OK(clarke_block_hulls_add(&surrounded, &s, &a.audit, among, &sample, &error));
  ck_assert(!surrounded && !s.whole && a.audit.n_simplices == 0);
  clarke_sample_clear(&sample);
  clarke_block_hulls_clear(&s);
  asked_end(&a);
}
END_TEST

/* Gradients -4/3 and 2/3 have AD's 0 between them; -4/3 and -2/3 do not. */
START_TEST(blocks_settle_where_ads_output_lies)
{
  for (int inside = 0; inside < 2; inside++) {
    asked a;

    three_samples(&a, inside ? 1 : -1, 2);
    audit_again(&a);
    OK(clarke_settle_blocks(&a.audit, &a.question, &error));
    ck_assert_int_eq(a.audit.membership.place, inside ? CLARKE_HULL_INSIDE : CLARKE_HULL_OUTSIDE);
    ck_assert_uint_eq(a.audit.obstacle.blocks, 1);
    ck_assert_uint_eq(a.audit.n_simplices, inside);
    if (!inside) { /* v: <v, 0> > <v, g> for both gradients, which are negative */
      ck_assert(a.audit.tree.complete && a.audit.tree.n > 0 && a.audit.membership.v.n == 1 && a.audit.membership.v.column[0] == 0);
      ck_assert_int_gt(mpq_sgn(a.audit.membership.v.value[0]), 0);
    } else
      ck_assert_uint_eq(a.audit.tree.n, 0);
    asked_end(&a);
  }
}
END_TEST

/* --- drawn networks --- */

/* AD's gradient less that of the sides, exactly, by column. */
static mpq_t *
difference(const drawn *n, const clarke_branch *side)
{
  const clarke_graph *g = &n->g;
  mpq_t *all = clarke_rationals(clarke_column_base(g, g->n_parameters) + 1), q;

  mpq_init(q);
  for (int way = 0; way < 2; way++) {
    clarke_matrix *gradient = clarke_matrices_new(g->n_parameters);

    OK(clarke_partial_gradient(gradient, &n->q, way == 0 ? NULL : side, &error));
    for (size_t p = 0; p < g->n_parameters; p++)
      for (size_t e = 0; e < gradient[p].rows; e++) {
        mpq_ptr to = all[clarke_column_base(g, p) + e];

        ck_assert_ptr_null(gradient[p].radius);
        clarke_matrix_get(q, &gradient[p], e, 0);
        (way == 0 ? mpq_add : mpq_sub)(to, to, q);
      }
    clarke_matrices_free(gradient, g->n_parameters);
  }
  mpq_clear(q);
  return all;
}

/* The option of each class that the simplex's direction leads to, by the classes' rows, exactly. */
static void
options_along(size_t *option, const clarke_classes *c, const clarke_direction *d, const clarke_graph *g)
{
  mpq_t *move = clarke_rationals(clarke_column_base(g, g->n_parameters) + 1), sum, t;

  mpq_inits(sum, t, NULL);
  for (size_t i = 0; i < d->n; i++) {
    mpq_ptr to = move[clarke_column_base(g, d->move[i].parameter) + d->move[i].entry];

    ck_assert_int_eq(d->move[i].kind, CLARKE_MOVE_AT);
    mpq_add(to, to, d->move[i].coef);
  }
  for (size_t i = 0; i < c->n; i++) {
    const clarke_class *class = &c->class[i];
    size_t first = 0;

    for (size_t o = 0; o < class->options; o++) {
      bool largest = true;

      for (size_t p = 0; p < class->options && largest; p++) {
        clarke_row row;

        if (p == o)
          continue;
        clarke_row_init(&row);
        OK(clarke_class_condition(&row, class, o, p, &error));
        mpq_set_ui(sum, 0, 1);
        for (size_t e = 0; e < row.n; e++) {
          mpq_mul(t, row.value[e], move[row.column[e]]);
          mpq_add(sum, sum, t);
        }
        largest = mpq_sgn(sum) > 0;
        clarke_row_clear(&row);
      }
      first += largest;
      if (largest)
        option[i] = o;
    }
    ck_assert_uint_eq(first, 1); /* the direction tells */
  }
  mpq_clears(sum, t, NULL);
  clarke_rationals_free(move, clarke_column_base(g, g->n_parameters) + 1);
}

/* AD's output is in the hull of the cells: 0 is in that of what they change. */
static void
holds_ad(const clarke_simplex *x, const clarke_sample *s, const drawn *n)
{
  const size_t columns = clarke_column_base(&n->g, n->g.n_parameters);
  size_t *option = calloc(s->classes.n + 1, sizeof *option);
  clarke_branch *side = calloc(n->replay.n_touches + 1, sizeof *side);
  mpq_t *zero = clarke_rationals(columns), *weight = clarke_rationals(x->n), *v = clarke_rationals(columns);
  clarke_hull_place place = CLARKE_HULL_UNKNOWN;
  clarke_points points;

  clarke_points_init(&points, columns);
  for (size_t i = 0; i < x->n; i++) {
    mpq_t *change;

    options_along(option, &s->classes, &x->direction[i], &n->g);
    for (size_t c = 0; c < s->classes.n; c++)
      for (size_t k = 0; k < s->classes.class[c].n; k++) {
        const size_t touch = s->classes.class[c].touch[k];

        side[touch] = clarke_side_numbered(&n->replay.touch[touch], option[c]);
      }
    change = difference(n, side);
    OK(clarke_points_add(&points, change, &error));
    clarke_rationals_free(change, columns + 1);
  }
  OK(clarke_points_place(&place, weight, v, &points, zero, &error));
  ck_assert_int_eq(place, CLARKE_HULL_INSIDE);
  clarke_points_clear(&points);
  clarke_rationals_free(zero, columns);
  clarke_rationals_free(weight, x->n);
  clarke_rationals_free(v, columns);
  free(option);
  free(side);
}

/* All touches in plain classes of one step, with rational numbers throughout. */
static bool
is_plain(const clarke_sample *s, const drawn *n)
{
  size_t all = 0;

  for (size_t i = 0; i < s->classes.n; i++)
    all += s->classes.class[i].plain ? s->classes.class[i].n : 0;
  for (size_t k = 0; k < n->replay.n_touches; k++)
    if (n->replay.touch[k].step != n->replay.touch[0].step)
      return false;
  return all == n->replay.n_touches && n->q.loss.kind != CLARKE_LOSS_CE;
}

START_TEST(a_simplex_holds_ads_output)
{
  uint64_t state = 17;
  size_t tried = 0, held = 0, several = 0;

  for (size_t i = 0; i < 400; i++) {
    clarke_sample s;
    clarke_simplex x;
    bool *among, found;
    drawn n;

    draw_touched(&n, &state, 1 << 12);
    among = malloc(n.replay.n_touches);
    memset(among, true, n.replay.n_touches);
    OK(clarke_adjoints_find(&n.q, &error));
    OK(clarke_sample_init(&s, &n.q, among, &error));
    clarke_simplex_init(&x);
    if (is_plain(&s, &n)) {
      tried++;
      OK(clarke_simplex_find(&found, &x, &s, &n.q, &error));
      if (found) {
        ck_assert(x.n_touches == n.replay.n_touches && clarke_simplex_is_valid(&x, &n.q));
        holds_ad(&x, &s, &n);
        held++;
        several += x.n > 1;
      }
    }
    clarke_simplex_clear(&x);
    ck_assert(x.n == 0 && x.touch == NULL && x.direction == NULL);
    clarke_sample_clear(&s);
    free(among);
    drawn_clear(&n);
  }
  printf("%zu simplices of %zu networks, %zu of several cells\n", held, tried, several);
  ck_assert(held > 30 && several > 10 && held < tried);
}
END_TEST

/* Each cell of a sample is one of its; one with an option that there is none of is not. */
START_TEST(a_sample_has_its_cells)
{
  uint64_t state = 23;
  size_t seen = 0;

  for (size_t i = 0; i < 60; i++) {
    clarke_sample s;
    bool *among;
    drawn d;

    draw_touched(&d, &state, 1 << 12);
    among = malloc(d.replay.n_touches);
    memset(among, true, d.replay.n_touches);
    OK(clarke_adjoints_find(&d.q, &error));
    OK(clarke_sample_init(&s, &d.q, among, &error));
    for (size_t k = 0; k < s.n && s.classes.n > 0; k++, seen++) {
      memcpy(s.option, s.cell + k * s.classes.n, s.classes.n * sizeof *s.option);
      ck_assert(clarke_sample_has(&s));
      s.option[0] = s.classes.class[0].options;
      ck_assert(!clarke_sample_has(&s));
    }
    clarke_sample_clear(&s);
    free(among);
    drawn_clear(&d);
  }
  ck_assert(seen > 100);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("blocks");
  int failed;

  tcase_add_test(tests, a_block_is_surrounded_and_the_rest_goes_to_ads_side);
  tcase_add_test(tests, a_block_is_surrounded_whole_or_not_at_all);
  tcase_add_test(tests, blocks_settle_where_ads_output_lies);
  tcase_add_test(tests, a_simplex_holds_ads_output);
  tcase_add_test(tests, a_sample_has_its_cells);
  failed = run_tests();
  flint_cleanup();
  return failed;
}
