/* The conservative set of random programs against all corners, each computed by tangents that this
 * file carries forward itself; and the examples of the thesis. */
#include "../exact/brute.h"

#include "op/operator.h"
#include "exact/hull.h"

#define MOST 32

/* --- building --------------------------------------------------------------------------------- */

static size_t
linear(clarke_code *p, size_t n, const size_t *in, const int *coef)
{
  mpq_t *c = new_rationals(n + 1);
  size_t at;

  for (size_t k = 0; k <= n; k++)
    mpq_set_si(c[k], coef[k], 1);
  OK(clarke_code_add_linear(p, &at, n, in, c, &error));
  free_rationals(c, n + 1);
  return at;
}

static size_t
pointwise(clarke_code *p, const char *name, size_t in)
{
  const clarke_spelling *spelling;
  const clarke_op *op = clarke_operator_spelled(name, &spelling);
  mpq_t *constant = new_rationals(1);
  size_t at, n = spelling->n_required + spelling->n_optional;

  mpq_set_si(constant[0], 1, 3);
  ck_assert_uint_le(n, 1);
  OK(clarke_code_add_pointwise(p, &at, op, in, n, constant, &error));
  free_rationals(constant, 1);
  return at;
}

static size_t
order(clarke_code *p, size_t rank, size_t n, const size_t *in)
{
  size_t at;

  OK(clarke_code_add_order(p, &at, clarke_operator_find("Kth"), rank, n, in, &error));
  return at;
}

static void
random_instruction(clarke_code *p)
{
  size_t in[4], at, n = p->n;
  int coef[4];

  for (size_t k = 0; k < 4; k++) {
    in[k] = (size_t)draw(n > 6 ? (int)n - 6 : 0, (int)n - 1);
    coef[k] = draw(-2, 2);
  }
  coef[3] = draw(0, 3) == 0 ? draw(-1, 1) : 0;
  switch (draw(0, 9)) {
  case 0:
  case 1:
    linear(p, 3, in, coef);
    break;
  case 2:
    OK(clarke_code_add(p, &at, CLARKE_DO_PRODUCT, 2, in, &error));
    break;
  case 3:
  case 4:
  case 5:
    pointwise(p, "relu", in[0]);
    break;
  case 6:
    pointwise(p, draw(0, 1) ? "abs" : "leaky_relu", in[0]);
    break;
  case 7:
    at = (size_t)draw(2, 4);
    order(p, (size_t)draw(1, (int)at), at, in);
    break;
  default:
    if (draw(0, 3) > 0) { /* a continuous one: max or min */
      in[2] = in[draw(0, 1)];
      in[3] = in[2] == in[0] ? in[1] : in[0];
    }
    OK(clarke_code_add_branch(p, &at, (clarke_relation)draw(0, 5), in, &error));
    break;
  }
}

static void
random_program(clarke_code *p)
{
  size_t at;
  mpq_t one;

  mpq_init(one);
  mpq_set_si(one, 1, 1);
  clarke_code_init(p);
  OK(clarke_code_add_input(p, &at, "x", 2, true, &error));
  OK(clarke_code_add_input(p, &at, "y", 1, false, &error));
  OK(clarke_code_add_constant(p, &at, one, &error));
  p->input[1].wrt = draw(0, 1);
  for (int k = draw(2, 10); k > 0; k--)
    random_instruction(p);
  OK(clarke_code_add_output(p, p->n - 1, &error));
  if (draw(0, 2) == 0)
    OK(clarke_code_add_output(p, p->n - 2, &error));
  mpq_clear(one);
}

/* --- all corners ------------------------------------------------------------------------------ */

typedef struct {
  const clarke_code *p;
  mpq_t *at;
  mpq_t value[MOST];
  mpq_t tangent[MOST][3];
  bool wanted[MOST];
  size_t n_choices[MOST], choice[MOST], tied[MOST][4], n_tied[MOST];
  int branch[MOST]; /* the sign of left - right */
  bool continuous;
} brute;

/* Every instruction's value; programs here have no instruction that may fail. */
static void
set_value(brute *b, size_t at)
{
  const clarke_instruction *i = &b->p->instruction[at];
  mpq_t *y = &b->value[at], term;
  size_t above, equal;

  mpq_init(term);
  switch (i->kind) {
  case CLARKE_DO_INPUT:
    mpq_set(*y, b->at[at]);
    break;
  case CLARKE_DO_CONSTANT:
    mpq_set(*y, i->coef[0]);
    break;
  case CLARKE_DO_LINEAR:
    mpq_set(*y, i->coef[i->n_in]);
    for (size_t k = 0; k < i->n_in; k++) {
      mpq_mul(term, i->coef[k], b->value[i->in[k]]);
      mpq_add(*y, *y, term);
    }
    break;
  case CLARKE_DO_PRODUCT:
    mpq_mul(*y, b->value[i->in[0]], b->value[i->in[1]]);
    break;
  case CLARKE_DO_PIECEWISE: /* one kink, at 0, where they are 0 */
    mpq_mul(*y, i->pieces->coef[mpq_sgn(b->value[i->in[0]]) > 0][1], b->value[i->in[0]]);
    break;
  case CLARKE_DO_ORDER:
    for (size_t k = 0; k < i->n_in; k++) {
      above = equal = 0;
      for (size_t j = 0; j < i->n_in; j++) {
        above += mpq_cmp(b->value[i->in[j]], b->value[i->in[k]]) > 0;
        equal += mpq_equal(b->value[i->in[j]], b->value[i->in[k]]) != 0;
      }
      if (above < i->rank && i->rank <= above + equal)
        mpq_set(*y, b->value[i->in[k]]);
    }
    break;
  default:
    b->branch[at] = mpq_cmp(b->value[i->in[0]], b->value[i->in[1]]);
    b->branch[at] = (b->branch[at] > 0) - (b->branch[at] < 0);
    mpq_set(*y, b->value[i->in[clarke_relation_holds(i->relation, b->branch[at]) ? 2 : 3]]);
    break;
  }
  mpq_clear(term);
}

/* How many choices AD has at an instruction. */
static void
set_choices(brute *b, size_t at)
{
  const clarke_instruction *i = &b->p->instruction[at];

  b->n_choices[at] = 1;
  if (i->kind == CLARKE_DO_PIECEWISE && mpq_sgn(b->value[i->in[0]]) == 0)
    b->n_choices[at] = 2;
  if (i->kind == CLARKE_DO_BRANCH && b->branch[at] == 0)
    b->n_choices[at] = 2;
  b->n_tied[at] = 0;
  for (size_t k = 0; i->kind == CLARKE_DO_ORDER && k < i->n_in; k++)
    if (mpq_equal(b->value[i->in[k]], b->value[at]))
      b->tied[at][b->n_tied[at]++] = k;
  if (i->kind == CLARKE_DO_ORDER)
    b->n_choices[at] = b->n_tied[at];
}

/* Marks what is executed when touched branches execute both arms. */
static void
want(brute *b, size_t at)
{
  const clarke_instruction *i = &b->p->instruction[at];
  int sign = b->branch[at];

  if (b->wanted[at])
    return;
  b->wanted[at] = true;
  for (size_t k = 0; k < i->n_in; k++)
    if (i->kind != CLARKE_DO_BRANCH || k < 2 || sign == 0 ||
        (k == 2) == clarke_relation_holds(i->relation, sign))
      want(b, i->in[k]);
  if (i->kind == CLARKE_DO_BRANCH && sign == 0)
    b->continuous = b->continuous && mpq_equal(b->value[i->in[2]], b->value[i->in[3]]);
}

static void
add_tangent(brute *b, size_t at, size_t from, const mpq_t factor)
{
  mpq_t term;

  mpq_init(term);
  for (size_t j = 0; j < 3; j++) {
    mpq_mul(term, factor, b->tangent[from][j]);
    mpq_add(b->tangent[at][j], b->tangent[at][j], term);
  }
  mpq_clear(term);
}

static void
set_tangent(brute *b, size_t at)
{
  const clarke_instruction *i = &b->p->instruction[at];
  size_t choice = b->choice[at], right;
  mpq_t one;

  mpq_init(one);
  mpq_set_si(one, 1, 1);
  for (size_t j = 0; j < 3; j++)
    mpq_set_si(b->tangent[at][j], i->kind == CLARKE_DO_INPUT && at == j, 1);
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    for (size_t k = 0; k < i->n_in; k++)
      add_tangent(b, at, i->in[k], i->coef[k]);
    break;
  case CLARKE_DO_PRODUCT:
    add_tangent(b, at, i->in[0], b->value[i->in[1]]);
    add_tangent(b, at, i->in[1], b->value[i->in[0]]);
    break;
  case CLARKE_DO_PIECEWISE:
    right = b->n_choices[at] == 2 ? choice : mpq_sgn(b->value[i->in[0]]) > 0;
    add_tangent(b, at, i->in[0], i->pieces->coef[right][1]);
    break;
  case CLARKE_DO_ORDER:
    add_tangent(b, at, i->in[b->tied[at][choice]], one);
    break;
  case CLARKE_DO_BRANCH:
    right = clarke_relation_holds(i->relation, b->branch[at]) ? 2 : 3;
    add_tangent(b, at, i->in[b->n_choices[at] == 2 ? 2 + choice : right], one);
    break;
  default:
    break;
  }
  mpq_clear(one);
}

static void
add_corner(brute *b, clarke_points *corners)
{
  mpq_t *row = new_rationals(corners->dim);
  size_t n = 0;

  for (size_t at = 0; at < b->p->n; at++)
    set_tangent(b, at);
  for (size_t o = 0; o < b->p->n_outputs; o++)
    for (size_t j = 0; j < 3; j++)
      if (b->p->input[j == 2].wrt)
        mpq_set(row[n++], b->tangent[b->p->output[o]][j]);
  ck_assert_uint_eq(n, corners->dim);
  OK(clarke_points_add(corners, row, &error));
  free_rationals(row, corners->dim);
}

/* False when there are over 2000 corners. */
static bool
all_corners(brute *b, clarke_points *corners, size_t *n_units)
{
  size_t product = 1, k = 0;

  *n_units = 0;
  for (size_t at = 0; at < b->p->n; at++) {
    b->n_choices[at] = b->wanted[at] ? b->n_choices[at] : 1;
    b->choice[at] = 0;
    *n_units += b->n_choices[at] - 1;
    product *= b->n_choices[at];
  }
  if (product > 2000)
    return false;
  while (k < b->p->n) {
    add_corner(b, corners);
    for (k = 0; k < b->p->n && ++b->choice[k] == b->n_choices[k]; k++)
      b->choice[k] = 0;
  }
  return true;
}

static void
brute_init(brute *b, const clarke_code *p, mpq_t *at)
{
  memset(b, 0, sizeof *b);
  b->p = p;
  b->at = at;
  b->continuous = true;
  ck_assert_uint_le(p->n, MOST);
  for (size_t i = 0; i < MOST; i++) {
    mpq_init(b->value[i]);
    for (size_t j = 0; j < 3; j++)
      mpq_init(b->tangent[i][j]);
  }
  for (size_t i = 0; i < p->n; i++) {
    set_value(b, i);
    set_choices(b, i);
  }
  for (size_t o = 0; o < p->n_outputs; o++)
    want(b, p->output[o]);
}

static void
brute_clear(brute *b)
{
  for (size_t i = 0; i < MOST; i++) {
    mpq_clear(b->value[i]);
    for (size_t j = 0; j < 3; j++)
      mpq_clear(b->tangent[i][j]);
  }
}

/* --- the comparison --------------------------------------------------------------------------- */

static void
compare_corners(const clarke_conservative *c, const clarke_points *corners)
{
  clarke_points hull;
  bool known;

  ck_assert(c->known && c->singleton_known && c->enumerated);
  ck_assert_int_eq(c->singleton, corners->n == 1);
  ck_assert_uint_ne(clarke_points_find(corners, c->element[0]), CLARKE_NONE);
  if (!c->singleton) {
    ck_assert_uint_ne(clarke_points_find(corners, c->element[1]), CLARKE_NONE);
    ck_assert(!equal_vectors(c->element[0], c->element[1], corners->dim));
  }
  clarke_points_init(&hull, corners->dim);
  OK(clarke_points_hull(&hull, &known, corners, &error));
  ck_assert(known && equal_points(&hull, &c->vertices));
  clarke_points_clear(&hull);
}

static int single, several, jumps;

static void
check_program(const clarke_code *p, mpq_t *at)
{
  clarke_conservative c;
  clarke_execution e;
  clarke_points corners;
  size_t n_units;
  brute b;

  brute_init(&b, p, at);
  clarke_execution_init(&e);
  clarke_conservative_init(&c);
  clarke_points_init(&corners, p->n_outputs * clarke_code_wrt_count(p));
  OK(clarke_execute(&e, p, at, &error));
  ck_assert(!e.open);
  OK(clarke_conservative_find(&c, &e, &error));
  ck_assert_int_eq(c.known, b.continuous);
  if (!b.continuous) {
    jumps++;
  } else if (all_corners(&b, &corners, &n_units)) {
    ck_assert_uint_eq(c.n_units, n_units);
    compare_corners(&c, &corners);
    single += c.singleton && n_units > 0;
    several += !c.singleton;
  }
  brute_clear(&b);
  clarke_points_clear(&corners);
  clarke_conservative_clear(&c);
  clarke_execution_clear(&e);
}

START_TEST(random_programs)
{
  brute_state = 23;
  for (int round = 0; round < 600; round++) {
    clarke_code p;
    mpq_t *at = new_rationals(3);

    random_program(&p);
    for (size_t j = 0; j < 3; j++)
      mpq_set_si(at[j], draw(0, 2) > 0 ? 0 : draw(-1, 2), 1);
    check_program(&p, at);
    clarke_code_clear(&p);
    free_rationals(at, 3);
  }
  ck_assert_int_gt(single, 30);
  ck_assert_int_gt(several, 100);
  ck_assert_int_gt(jumps, 3);
}
END_TEST

/* --- the thesis ------------------------------------------------------------------------------- */

static void
find(clarke_conservative *c, clarke_code *p, clarke_error *err)
{
  clarke_execution e;
  size_t n = p->n;
  mpq_t *at = new_rationals(n);

  clarke_execution_init(&e);
  clarke_conservative_init(c);
  OK(clarke_execute(&e, p, at, err));
  OK(clarke_conservative_find(c, &e, err));
  clarke_execution_clear(&e);
  clarke_code_clear(p);
  free_rationals(at, n);
}

/* relu(x) - relu(relu(x)) at 0: d1 - d1 d2. The chain (d1, d2) alone gives no second element. */
START_TEST(only_a_shortest_chain)
{
  clarke_conservative c;
  clarke_code p;
  size_t x, in[2];

  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &x, "x", 1, false, &error));
  in[0] = pointwise(&p, "relu", x);
  in[1] = pointwise(&p, "relu", in[0]);
  OK(clarke_code_add_output(&p, linear(&p, 2, in, (int[]){1, -1, 0}), &error));
  find(&c, &p, &error);
  ck_assert(c.known && !c.singleton && c.enumerated);
  ck_assert_uint_eq(c.n_units, 2);
  ck_assert_uint_eq(c.vertices.n, 2);
  ck_assert_int_eq(mpq_sgn(c.vertices.entry[0]), 0);
  ck_assert_int_eq(mpq_cmp_si(c.vertices.entry[1], 1, 1), 0);
  ck_assert(!mpq_equal(c.element[0][0], c.element[1][0]));
  clarke_conservative_clear(&c);
}
END_TEST

/* 60 touched kinks, sum of (relu(x_i) + relu(-x_i)): never a single point, too many corners; the
 * product with 0 is one. */
START_TEST(many_units)
{
  for (int times = 0; times < 2; times++) {
    clarke_conservative c;
    clarke_code p;
    size_t x, in[60], at;
    int coef[61] = {0};

    clarke_code_init(&p);
    OK(clarke_code_add_input(&p, &x, "x", 30, true, &error));
    for (size_t k = 0; k < 30; k++) {
      size_t minus = linear(&p, 1, &(size_t){x + k}, (int[]){-1, 0});

      in[2 * k] = pointwise(&p, "relu", x + k);
      in[2 * k + 1] = pointwise(&p, "relu", minus);
      coef[2 * k] = coef[2 * k + 1] = 1;
    }
    at = linear(&p, 60, in, coef);
    OK(clarke_code_add_output(&p, linear(&p, 1, &at, (int[]){times, 0}), &error));
    find(&c, &p, &error);
    ck_assert(c.known && c.singleton == (times == 0));
    ck_assert_uint_eq(c.n_units, 60);
    ck_assert_int_eq(c.enumerated, times == 0);
    clarke_conservative_clear(&c);
  }
}
END_TEST

/* One tie of 300 entries: a simplex of as many vertices. */
START_TEST(one_large_tie)
{
  clarke_conservative c;
  clarke_code p;
  size_t x, in[300];

  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &x, "x", 300, true, &error));
  for (size_t k = 0; k < 300; k++)
    in[k] = x + k;
  OK(clarke_code_add_output(&p, order(&p, 1, 300, in), &error));
  find(&c, &p, &error);
  ck_assert(c.known && !c.singleton && c.enumerated);
  ck_assert_uint_eq(c.n_units, 299);
  ck_assert_uint_eq(c.vertices.n, 300);
  clarke_conservative_clear(&c);
}
END_TEST

/* if x > 0 then log(x) else 0 at 0: the other arm cannot be executed. */
START_TEST(an_arm_that_fails)
{
  clarke_conservative c;
  clarke_code p;
  size_t x, zero, arm, at;
  mpq_t q;

  mpq_init(q);
  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &x, "x", 1, false, &error));
  OK(clarke_code_add_constant(&p, &zero, q, &error));
  OK(clarke_code_add_analytic(&p, &arm, CLARKE_FN_LOG, x, &error));
  OK(clarke_code_add_branch(&p, &at, CLARKE_GT, (size_t[]){x, zero, arm, zero}, &error));
  OK(clarke_code_add_output(&p, at, &error));
  find(&c, &p, &error);
  ck_assert(!c.known);
  clarke_conservative_clear(&c);
  mpq_clear(q);
}
END_TEST

/* relu(x) exp(y): not rational at y = 1, yet not a single point; relu(x) + exp(y) at y = 0 is
 * rational. */
START_TEST(transcendental)
{
  for (int rational = 0; rational < 2; rational++) {
    clarke_conservative c;
    clarke_code p;
    size_t x, y, in[2], at;

    clarke_code_init(&p);
    OK(clarke_code_add_input(&p, &x, "x", 1, false, &error));
    OK(clarke_code_add_input(&p, &y, "y", 1, false, &error));
    in[0] = pointwise(&p, "relu", x);
    at = linear(&p, 1, &y, (int[]){1, !rational});
    OK(clarke_code_add_analytic(&p, &in[1], CLARKE_FN_EXP, at, &error));
    OK(clarke_code_add(&p, &at, CLARKE_DO_PRODUCT, 2, in, &error));
    OK(clarke_code_add_output(&p, at, &error));
    find(&c, &p, &error);
    ck_assert_int_eq(c.known, rational);
    ck_assert(c.singleton_known && !c.singleton);
    clarke_conservative_clear(&c);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("conservative");

  tcase_add_test(tests, random_programs);
  tcase_add_test(tests, only_a_shortest_chain);
  tcase_add_test(tests, many_units);
  tcase_add_test(tests, one_large_tie);
  tcase_add_test(tests, an_arm_that_fails);
  tcase_add_test(tests, transcendental);
  return run_tests();
}
