/* Programs whose derivatives are known by hand: the papers' small counterexamples, branches,
 * polynomials, transcendental functions. Where a case is marked partial it may stay undecided (some
 * pattern can neither be shown nor refuted by the means at hand), but must not be decided
 * wrongly. */
#include "build.h"
#include "evidence.h"
#include "exact/literal.h"

#include <stdio.h>
#include <string.h>

static clarke_code p;
static clarke_profile profile;
static char report[4096];

/* --- building --------------------------------------------------------------------------------- */

static size_t
inputs(size_t n)
{
  size_t first;

  OK(clarke_code_add_input(&p, &first, "x", n, n > 1, err));
  return first;
}

static size_t
affine(long a, size_t x, long b, size_t y, long c)
{
  return linear(&p, 2, (const size_t[]){ x, y }, (const long[]){ a, b, c });
}

static size_t
shift(long a, size_t x, long c)
{
  return linear(&p, 1, (const size_t[]){ x }, (const long[]){ a, c });
}

static size_t
add(size_t x, size_t y)
{
  return affine(1, x, 1, y, 0);
}

static size_t
sub(size_t x, size_t y)
{
  return affine(1, x, -1, y, 0);
}

static size_t
two(clarke_do kind, size_t x, size_t y)
{
  size_t at;

  OK(clarke_code_add(&p, &at, kind, 2, (const size_t[]){ x, y }, err));
  return at;
}

static size_t
mul(size_t x, size_t y)
{
  return two(CLARKE_DO_PRODUCT, x, y);
}

static size_t
at_kink(const char *name, size_t x, long proxy)
{
  size_t at = pointwise(&p, name, x, 0, NULL);

  p.instruction[at].proxy.given = true;
  p.instruction[at].proxy.kind = CLARKE_PROXY_VALUE;
  mpq_set_si(p.instruction[at].proxy.value, proxy, 1);
  return at;
}

static size_t
relu(size_t x)
{
  return pointwise(&p, "relu", x, 0, NULL);
}

static size_t
absolute(size_t x)
{
  return pointwise(&p, "abs", x, 0, NULL);
}

static size_t
analytic(clarke_analytic f, size_t x)
{
  size_t at;

  OK(clarke_code_add_analytic(&p, &at, f, x, err));
  return at;
}

static size_t
ordered(const char *name, size_t rank, size_t x, size_t y)
{
  return order(&p, name, rank, 2, (const size_t[]){ x, y });
}

/* The larger of two, with a tie rule of its own. */
static size_t
larger(size_t x, size_t y, clarke_tie tie)
{
  size_t at = ordered("Max", 1, x, y);

  p.instruction[at].proxy.given = true;
  p.instruction[at].proxy.tie = tie;
  return at;
}

static size_t
branch(size_t left, clarke_relation relation, size_t right, size_t then, size_t otherwise)
{
  size_t at;

  OK(clarke_code_add_branch(&p, &at, relation, (const size_t[]){ left, right, then, otherwise },
                               err));
  return at;
}

static void
output(size_t at)
{
  OK(clarke_code_add_output(&p, at, err));
}

/* --- beside the truth ------------------------------------------------------------------------- */

typedef enum { PARTIAL_NO, PARTIAL } partial;

/* Sets are lists of rows, "0 1; 1 0", sorted. A NULL is not looked at. */
typedef struct {
  const char *name, *at, *ad, *bouligand, *clarke, *conservative, *least, *zone;
  clarke_truth differentiable;
  clarke_verdict verdict;
  partial partial;
} truth;

/* The numbers of a row-separated list; their number. */
static size_t
read_numbers(mpq_t *number, size_t most, const char *list)
{
  char words[256];
  size_t n = 0;

  ck_assert_uint_lt(strlen(list), sizeof words);
  strcpy(words, list);
  for (char *word = strtok(words, " ;"); word != NULL; word = strtok(NULL, " ;")) {
    ck_assert_uint_lt(n, most);
    ck_assert_msg(clarke_literal_parse(number[n++], word), "%s is no number", word);
  }
  return n;
}

/* Is s the list, or (subset) a part of it? */
static bool
is_list(const clarke_points *s, const char *list, bool subset)
{
  mpq_t *number = rationals(128);
  size_t n = read_numbers(number, 128, list) / s->dim;
  bool good = subset ? s->n <= n : s->n == n;

  for (size_t i = 0; i < s->n && good; i++) {
    bool found = false;

    for (size_t k = subset ? 0 : i; k < n && !found && (subset || k == i); k++) {
      found = true;
      for (size_t j = 0; j < s->dim; j++)
        found = found && mpq_equal(s->entry[i * s->dim + j], number[k * s->dim + j]);
    }
    good = found;
  }
  rationals_free(number, 128);
  return good;
}

static bool
is_row(mpq_t *row, size_t dim, const char *list)
{
  mpq_t *number = rationals(128);
  bool good = read_numbers(number, 128, list) == dim;

  for (size_t j = 0; j < dim && good; j++)
    good = mpq_equal(row[j], number[j]);
  rationals_free(number, 128);
  return good;
}

static void
check_ad(const clarke_derivation *d, const truth *t)
{
  mpq_t *row = rationals(d->dim);

  ck_assert_msg(d->ad_exact, "%s: AD's output is not rational", t->name);
  for (size_t j = 0; j < d->dim; j++)
    mpq_set(row[j], d->ad[j].q);
  ck_assert_msg(is_row(row, d->dim, t->ad), "%s: AD's output", t->name);
  rationals_free(row, d->dim);
}

static void
check_partial(const clarke_derivation *d, const truth *t)
{
  ck_assert_msg(d->verdict == t->verdict || d->verdict == CLARKE_UNDECIDED, "%s: verdict %s",
                t->name, clarke_verdict_name(d->verdict));
  ck_assert_msg(d->differentiable == t->differentiable || d->differentiable == CLARKE_UNKNOWN,
                "%s: differentiable", t->name);
  if (t->bouligand != NULL)
    ck_assert_msg(is_list(&d->bouligand, t->bouligand, !d->sets_known), "%s: Bouligand set",
                  t->name);
  if (d->verdict == CLARKE_UNDECIDED)
    ck_assert_msg(d->why[0] != '\0', "%s: undecided without a reason", t->name);
  if (d->verdict == CLARKE_UNDECIDED || d->differentiable != t->differentiable)
    snprintf(report + strlen(report), sizeof report - strlen(report), "  %s: %s, %s%s%s\n", t->name,
             clarke_verdict_name(d->verdict),
             d->differentiable == CLARKE_UNKNOWN ? "differentiable or not" : "",
             d->why[0] != '\0' ? ": " : "", d->why);
}

static void
check_whole(const clarke_derivation *d, const truth *t)
{
  const char *fault = evidence_fault(d);

  ck_assert_msg(fault == NULL, "%s: %s", t->name, fault);
  ck_assert_msg(d->verdict == t->verdict, "%s: verdict %s", t->name,
                clarke_verdict_name(d->verdict));
  ck_assert_msg(d->differentiable == t->differentiable, "%s: differentiable", t->name);
  ck_assert_msg(is_list(&d->bouligand, t->bouligand, false), "%s: Bouligand set", t->name);
  ck_assert_msg(is_list(&d->clarke, t->clarke != NULL ? t->clarke : t->bouligand, false),
                "%s: Clarke set", t->name);
  if (t->least != NULL)
    ck_assert_msg(d->least_known && is_row(d->least, d->dim, t->least), "%s: least", t->name);
}

/* The program built so far at a point; it is cleared for the next. */
static void
expect(const truth *t)
{
  clarke_derivation d;
  size_t n = clarke_code_entries(&p);
  mpq_t *at = rationals(128);

  ck_assert_uint_eq(read_numbers(at, 128, t->at), n);
  OK(clarke_code_wrt(&p, NULL, 0, err));
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, at, &profile, err));
  if (t->ad != NULL)
    check_ad(&d, t);
  if (t->partial == PARTIAL)
    check_partial(&d, t);
  else
    check_whole(&d, t);
  if (t->conservative != NULL)
    ck_assert_msg(d.conservative.known && is_list(&d.conservative.vertices, t->conservative, false),
                  "%s: conservative set", t->name);
  if (t->zone != NULL)
    ck_assert_msg(strcmp(clarke_zone_name(d.zone), t->zone) == 0, "%s: zone %s", t->name,
                  clarke_zone_name(d.zone));
  clarke_derivation_clear(&d);
  clarke_code_clear(&p);
  rationals_free(at, 128);
}

#define EXPECT(...) expect(&(const truth){ __VA_ARGS__ })

static void
set_up(void)
{
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", err));
  clarke_code_init(&p);
  report[0] = '\0';
}

static void
tear_down(void)
{
  clarke_profile_clear(&profile);
  clarke_code_clear(&p);
  flint_cleanup();
  if (report[0] != '\0')
    printf("left open:\n%s", report);
  fflush(stdout);
}

/* --- one variable ----------------------------------------------------------------------------- */

START_TEST(park_lemmas)
{
  size_t x = inputs(1), u, b, pools[2];

  output(sub(relu(x), relu(shift(-1, x, 0))));
  EXPECT(.name = "lemma 2", .at = "0", .ad = "0", .bouligand = "1", .conservative = "0; 2",
         .least = "1", .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE,
         .zone = "bifurcation");
  x = inputs(1);
  output(add(pointwise(&p, "hardsigmoid", shift(1, x, 3), 0, NULL),
             pointwise(&p, "hardsigmoid", shift(1, x, -3), 0, NULL)));
  EXPECT(.name = "lemma 3", .at = "0", .ad = "0", .bouligand = "1/6", .conservative = "0; 1/3",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE);
  for (int rules = 0; rules < 4; rules++) {
    static const char *const ad[4] = { "2 0", "1 0", "1 0", "0 0" };

    u = inputs(2);
    b = u + 1;
    pools[0] = larger(add(u, b), b, rules & 1 ? CLARKE_TIE_LAST : CLARKE_TIE_FIRST);
    pools[1] = larger(affine(-1, u, 1, b, 0), b, rules & 2 ? CLARKE_TIE_LAST : CLARKE_TIE_FIRST);
    output(sub(pools[0], pools[1]));
    EXPECT(.name = "lemma 7", .at = "0 0", .ad = ad[rules], .bouligand = "1 0",
           .conservative = "0 0; 2 0", .differentiable = CLARKE_YES,
           .verdict = rules % 3 == 0 ? CLARKE_NOT_IN_CLARKE : CLARKE_IN_BOULIGAND);
  }
}
END_TEST

START_TEST(park_appendix_h)
{
  size_t w = inputs(1);

  output(sub(relu(w), at_kink("relu", w, 1)));
  EXPECT(.name = "f2", .at = "0", .ad = "-1", .bouligand = "0", .conservative = "-1; 1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE);
  w = inputs(1);
  output(at_kink("relu", shift(-1, at_kink("relu", w, 1), 0), 1));
  EXPECT(.name = "f3", .at = "0", .ad = "-1", .bouligand = "0", .conservative = "-1; 0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE);
}
END_TEST

/* Bolte and Pauwels: one function, three programs; and zero with a derivative of 1. */
START_TEST(three_relus)
{
  size_t t = inputs(1), r2;

  output(add(relu(shift(-1, t, 0)), t));
  EXPECT(.name = "relu2", .at = "0", .ad = "1", .bouligand = "0; 1", .conservative = "0; 1",
         .least = "0", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  t = inputs(1);
  r2 = add(relu(shift(-1, t, 0)), t);
  output(mul(constant(&p, 1, 2), add(relu(t), r2)));
  EXPECT(.name = "relu3", .at = "0", .ad = "1/2", .bouligand = "0; 1", .conservative = "0; 1",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  t = inputs(1);
  output(sub(add(relu(shift(-1, t, 0)), t), relu(t)));
  EXPECT(.name = "zero", .at = "0", .ad = "1", .bouligand = "0", .conservative = "-1; 1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE);
}
END_TEST

START_TEST(zones)
{
  size_t x = inputs(1), r;

  r = relu(x);
  output(sub(r, r));
  EXPECT(.name = "r - r", .at = "0", .ad = "0", .bouligand = "0", .conservative = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "compensation");
  x = inputs(1);
  r = relu(x);
  output(sub(r, relu(r)));
  EXPECT(.name = "relu - relu of relu", .at = "0", .ad = "0", .bouligand = "0",
         .conservative = "0; 1", .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "bifurcation");
  x = inputs(1);
  output(relu(sub(x, x)));
  EXPECT(.name = "relu(x - x)", .at = "7", .ad = "0", .bouligand = "0", .conservative = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "compensation");
  x = inputs(1);
  output(relu(shift(1, x, -3)));
  EXPECT(.name = "no kink", .at = "7/2", .ad = "1", .bouligand = "1", .conservative = "1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .zone = "regular");
}
END_TEST

START_TEST(elus)
{
  size_t x = inputs(1);
  const long alpha[1][2] = { { 2, 1 } };

  output(pointwise(&p, "elu", x, 0, NULL));
  EXPECT(.name = "elu", .at = "0", .ad = "1", .bouligand = "1", .conservative = "1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(pointwise(&p, "elu", x, 1, alpha));
  EXPECT(.name = "elu, alpha 2", .at = "0", .ad = "2", .bouligand = "1; 2", .conservative = "1; 2",
         .least = "1", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(pointwise(&p, "hardswish", x, 0, NULL));
  EXPECT(.name = "hardswish at 3", .at = "3", .bouligand = "1; 3/2", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(pointwise(&p, "hardswish", x, 0, NULL));
  EXPECT(.name = "hardswish at -3", .at = "-3", .bouligand = "-1/2; 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
}
END_TEST

/* --- several variables ------------------------------------------------------------------------ */

START_TEST(norms)
{
  size_t x = inputs(2);

  output(add(absolute(x), absolute(x + 1)));
  EXPECT(.name = "|x| + |y|", .at = "0 0", .ad = "0 0", .bouligand = "-1 -1; -1 1; 1 -1; 1 1",
         .conservative = "-1 -1; -1 1; 1 -1; 1 1", .least = "0 0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_CLARKE);
  x = inputs(2);
  output(ordered("Max", 1, absolute(x), absolute(x + 1)));
  EXPECT(.name = "largest of |x|, |y|", .at = "0 0", .ad = "0 0",
         .bouligand = "-1 0; 0 -1; 0 1; 1 0", .least = "0 0", .differentiable = CLARKE_NO,
         .conservative = "-1 0; 0 -1; 0 1; 1 0", .verdict = CLARKE_IN_CLARKE);
  x = inputs(2);
  output(ordered("Min", 2, absolute(x), absolute(x + 1)));
  EXPECT(.name = "least of |x|, |y|", .at = "0 0", .ad = "0 0",
         .bouligand = "-1 0; 0 -1; 0 1; 1 0", .least = "0 0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_CLARKE);
  x = inputs(2);
  output(two(CLARKE_DO_NORM, x, x + 1));
  EXPECT(.name = "norm", .at = "3 4", .ad = "3/5 4/5", .bouligand = "3/5 4/5",
         .conservative = "3/5 4/5", .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "regular");
  x = inputs(2);
  output(two(CLARKE_DO_NORM, x, x + 1));
  EXPECT(.name = "norm at zero", .at = "0 0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_CLARKE, .partial = PARTIAL);
}
END_TEST

START_TEST(ties)
{
  size_t x = inputs(3);

  output(order(&p, "Max", 1, 3, (const size_t[]){ x, x + 1, x + 2 }));
  EXPECT(.name = "max, three tied", .at = "1 1 1", .ad = "1/3 1/3 1/3",
         .bouligand = "0 0 1; 0 1 0; 1 0 0", .conservative = "0 0 1; 0 1 0; 1 0 0",
         .least = "1/3 1/3 1/3", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  x = inputs(3);
  output(order(&p, "Max", 1, 3, (const size_t[]){ x, x + 1, x + 2 }));
  EXPECT(.name = "max, two tied", .at = "1 0 1", .ad = "1/2 0 1/2", .bouligand = "0 0 1; 1 0 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  x = inputs(3);
  output(ordered("Max", 1, x, ordered("Max", 1, x + 1, x + 2)));
  EXPECT(.name = "max of max", .at = "1 1 1", .ad = "1/2 1/4 1/4",
         .bouligand = "0 0 1; 0 1 0; 1 0 0", .conservative = "0 0 1; 0 1 0; 1 0 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  x = inputs(3);
  output(order(&p, "Median", 2, 3, (const size_t[]){ x, x + 1, x + 2 }));
  EXPECT(.name = "median", .at = "0 0 0", .ad = "0 1 0", .bouligand = "0 0 1; 0 1 0; 1 0 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(ordered("MaxPool", 1, x, x));
  EXPECT(.name = "max(x, x)", .at = "3", .ad = "1", .bouligand = "1", .conservative = "1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "compensation");
}
END_TEST

START_TEST(two_orders)
{
  size_t x = inputs(2);

  output(add(ordered("MaxPool", 1, x, x + 1), larger(x, x + 1, CLARKE_TIE_FIRST)));
  EXPECT(.name = "twice the larger", .at = "1 1", .ad = "2 0", .bouligand = "0 2; 2 0",
         .conservative = "0 2; 2 0", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(2);
  output(add(larger(x, x + 1, CLARKE_TIE_FIRST), ordered("Min", 2, x, x + 1)));
  EXPECT(.name = "larger and smaller, first and mean", .at = "1 1", .ad = "3/2 1/2",
         .bouligand = "1 1", .conservative = "0 2; 2 0", .differentiable = CLARKE_YES,
         .verdict = CLARKE_NOT_IN_CLARKE);
  x = inputs(2);
  output(ordered("Sort", 2, x, x + 1));
  output(ordered("Sort", 1, x, x + 1));
  EXPECT(.name = "sort", .at = "0 0", .ad = "1 0 0 1", .bouligand = "0 1 1 0; 1 0 0 1",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(2);
  output(ordered("Min", 2, x, x + 1));
  output(ordered("Max", 1, x, x + 1));
  EXPECT(.name = "min and max", .at = "0 0", .ad = "1/2 1/2 1/2 1/2",
         .bouligand = "0 1 1 0; 1 0 0 1", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_CLARKE);
}
END_TEST

/* A convolution of two weights and a bias, ReLU, two pools, first index: AD is outside. */
START_TEST(convolution)
{
  static const long image[6] = { 2, 0, 0, -2, 0, 2 };
  size_t k = inputs(3), y[5], pool[2];

  for (size_t i = 0; i < 5; i++)
    y[i] = relu(linear(&p, 3, (const size_t[]){ k, k + 1, k + 2 },
                       (const long[]){ image[i], image[i + 1], 1, 0 }));
  pool[0] = order(&p, "MaxPool", 1, 3, y);
  pool[1] = order(&p, "MaxPool", 1, 2, y + 3);
  output(affine(-2, pool[0], 1, pool[1], 0));
  EXPECT(.name = "convolution", .at = "0 0 1", .ad = "-6 0 -1",
         .bouligand = "-4 2 -1; -2 0 -1; -2 4 -1; 0 2 -1", .differentiable = CLARKE_NO,
         .verdict = CLARKE_NOT_IN_CLARKE);
}
END_TEST

/* --- branches --------------------------------------------------------------------------------- */

START_TEST(branches)
{
  size_t x = inputs(1), zero = constant(&p, 0, 1), one, nested;

  output(branch(x, CLARKE_GT, zero, x, shift(-1, x, 0)));
  EXPECT(.name = "|x| by a branch", .at = "0", .ad = "-1", .bouligand = "-1; 1",
         .conservative = "-1; 1", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  zero = constant(&p, 0, 1);
  output(branch(x, CLARKE_GT, zero, analytic(CLARKE_FN_LOG, x), zero));
  EXPECT(.name = "an arm not taken", .at = "-1", .ad = "0", .bouligand = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .zone = "regular");
  x = inputs(1);
  one = constant(&p, 1, 1);
  output(branch(x, CLARKE_EQ, one, one, mul(x, x)));
  EXPECT(.name = "x^2 but for its value at 1", .at = "1", .ad = "0", .bouligand = "2",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE, .partial = PARTIAL);
  x = inputs(2);
  zero = constant(&p, 0, 1);
  nested = branch(x + 1, CLARKE_LT, zero, shift(2, x + 1, 0), shift(3, x + 1, 0));
  output(branch(x, CLARKE_LT, zero, sub(nested, x), nested));
  EXPECT(.name = "nested branches", .at = "0 0", .ad = "0 3", .bouligand = "-1 2; -1 3; 0 2; 0 3",
         .conservative = "-1 2; -1 3; 0 2; 0 3", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(2);
  output(branch(x, CLARKE_GT, x + 1, mul(x, relu(x + 1)), mul(x + 1, relu(x + 1))));
  EXPECT(.name = "arms that meet where they must", .at = "0 0", .ad = "0 0", .bouligand = "0 0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
}
END_TEST

/* Not Lipschitz near the point, or not known to be: there is nothing to be in. The arms are in x (and y). */
START_TEST(not_lipschitz)
{
  static const char *const names[] = { "log", "1/x", "x log(x)", "sqrt", "a pattern that AD does not follow",
                                       "arms apart on a line", "arms apart near, not here" };

  for (int k = 0; k < 7; k++) {
    size_t x = inputs(2), zero = constant(&p, 0, 1), one = constant(&p, 1, 1), arm;
    clarke_relation relation = k == 4 ? CLARKE_LT : CLARKE_GT;

    arm = k == 0   ? analytic(CLARKE_FN_LOG, x)
          : k == 1 ? two(CLARKE_DO_QUOTIENT, one, x)
          : k == 2 ? mul(x, analytic(CLARKE_FN_LOG, x))
          : k == 3 ? analytic(CLARKE_FN_SQRT, x)
          : k == 4 ? two(CLARKE_DO_QUOTIENT, x + 1, x)
          : k == 5 ? x + 1
                   : branch(x + 1, CLARKE_EQ, zero, zero, one);
    output(branch(x, k == 6 ? CLARKE_EQ : relation, zero, arm, zero)); /* 6: 1 for x = 0, but at 0 */
    EXPECT(.name = names[k], .at = "0 0", .differentiable = CLARKE_NO, .verdict = CLARKE_UNDECIDED,
           .partial = PARTIAL);
  }
}
END_TEST

/* The root of relu(x)^2: left of 0 it is 0 all around, and the root's infinite derivative is masked. At 0 it is not known that this is
 * no end of the root's domain; then nothing else is said either. A root of 0 has no Clarke set, and so no conservative one. */
START_TEST(a_root_of_what_stays_zero)
{
  static const char *const at[] = { "-1", "0" };

  for (int k = 0; k < 2; k++) {
    size_t x = inputs(1), r = relu(x);

    output(analytic(CLARKE_FN_SQRT, mul(r, r)));
    EXPECT(.name = at[k], .at = at[k], .ad = "0", .bouligand = k == 0 ? "0" : NULL, .zone = "unknown",
           .differentiable = k == 0 ? CLARKE_YES : CLARKE_UNKNOWN, .verdict = k == 0 ? CLARKE_IN_BOULIGAND : CLARKE_UNDECIDED,
           .partial = PARTIAL);
  }
}
END_TEST

/* The same of 0 x: nothing masks the derivative, so AD's output is NaN; the gradient is known all the same. */
START_TEST(a_gradient_where_ad_has_none)
{
  size_t x = inputs(1);

  output(analytic(CLARKE_FN_SQRT, affine(0, x, 0, x, 0)));
  EXPECT(.name = "a root of 0 x", .at = "3", .bouligand = "0", .zone = "unknown", .differentiable = CLARKE_YES,
         .verdict = CLARKE_UNDECIDED, .partial = PARTIAL);
}
END_TEST

/* (1 + x)^33 has too large a degree to be kept as a polynomial: that of the arms' difference is none, not 0. */
START_TEST(not_lipschitz_by_what_is_too_large)
{
  size_t x = inputs(2), power = shift(1, x, 1), base = power;

  for (int i = 0; i < 5; i++)
    power = mul(power, power);
  power = mul(power, base);
  output(branch(x, CLARKE_GT, x + 1, affine(1, power, 1, x + 1, 0), power));
  EXPECT(.name = "arms of degree 33", .at = "0 0", .ad = "33 0", .differentiable = CLARKE_NO, .verdict = CLARKE_UNDECIDED,
         .partial = PARTIAL);
}
END_TEST

/* x s and y s meet for x = y, s being the sum of all inputs: told of so many of them as polynomials may have. */
START_TEST(many_variables)
{
  for (size_t n = CLARKE_POLYNOMIAL_VARIABLES; n <= CLARKE_POLYNOMIAL_VARIABLES + 1; n++) {
    static char zeros[4 * CLARKE_POLYNOMIAL_VARIABLES];
    size_t x = inputs(n), sum = x;

    memset(zeros, 0, sizeof zeros);
    for (size_t i = 0; i < n; i++)
      strcat(zeros, i > 0 ? " 0" : "0");
    for (size_t i = 1; i < n; i++)
      sum = affine(1, sum, 1, x + i, 0);
    output(branch(x, CLARKE_GT, x + 1, mul(x, sum), mul(x + 1, sum)));
    if (n == CLARKE_POLYNOMIAL_VARIABLES)
      EXPECT(.name = "as many variables as there may be", .at = zeros, .ad = zeros, .differentiable = CLARKE_YES,
             .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
    else
      EXPECT(.name = "one variable more", .at = zeros, .differentiable = CLARKE_UNKNOWN, .verdict = CLARKE_UNDECIDED,
             .partial = PARTIAL);
  }
}
END_TEST

/* What is no continuous function, or is one nearly everywhere only. */
START_TEST(discontinuous)
{
  size_t x = inputs(1), zero = constant(&p, 0, 1);

  output(branch(x, CLARKE_GE, zero, constant(&p, 1, 1), zero));
  EXPECT(.name = "a step", .at = "0", .ad = "0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_UNDECIDED, .partial = PARTIAL);
  x = inputs(2);
  zero = constant(&p, 0, 1);
  output(branch(x, CLARKE_EQ, zero, x + 1, zero));
  EXPECT(.name = "y on a line, else 0", .at = "0 0", .ad = "0 1", .bouligand = "0 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_UNDECIDED, .partial = PARTIAL);
  x = inputs(2);
  zero = constant(&p, 0, 1);
  output(branch(x, CLARKE_LE, zero, branch(x, CLARKE_GE, zero, x + 1, zero), zero));
  EXPECT(.name = "the same by two comparisons", .at = "0 0", .ad = "0 1", .bouligand = "0 0",
         .differentiable = CLARKE_NO, .verdict = CLARKE_UNDECIDED, .partial = PARTIAL);
}
END_TEST

/* --- polynomials ------------------------------------------------------------------------------ */

START_TEST(curved)
{
  size_t x = inputs(2), q;

  output(relu(sub(mul(x, x), x + 1)));
  EXPECT(.name = "a parabola's side", .at = "1 1", .ad = "0 0", .bouligand = "0 0; 2 -1",
         .conservative = "0 0; 2 -1", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(2);
  output(two(CLARKE_DO_QUOTIENT, relu(x), shift(1, x + 1, 1)));
  EXPECT(.name = "relu(x) / (1 + y)", .at = "0 1", .ad = "0 0", .bouligand = "0 0; 1/2 0",
         .conservative = "0 0; 1/2 0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(mul(x, absolute(x)));
  EXPECT(.name = "x |x|", .at = "0", .ad = "0", .bouligand = "0", .conservative = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "compensation");
  x = inputs(2);
  output(mul(relu(x), relu(x + 1)));
  EXPECT(.name = "relu(x) relu(y)", .at = "0 0", .ad = "0 0", .bouligand = "0 0",
         .conservative = "0 0", .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .zone = "compensation");
  x = inputs(1);
  output(relu(mul(x, x)));
  EXPECT(.name = "relu(x^2)", .at = "0", .ad = "0", .bouligand = "0", .conservative = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
  x = inputs(2);
  q = sub(x + 1, mul(x, x));
  output(sub(relu(q), relu(shift(-1, q, 0))));
  EXPECT(.name = "y - x^2 in two halves", .at = "0 0", .ad = "0 0", .bouligand = "0 1",
         .conservative = "0 0; 0 2", .differentiable = CLARKE_YES,
         .verdict = CLARKE_NOT_IN_CLARKE, .partial = PARTIAL);
}
END_TEST

/* Patterns between a line and a parabola need an arc of second order. */
START_TEST(cusps)
{
  size_t x = inputs(2);

  output(sub(relu(x + 1), relu(sub(x + 1, mul(x, x)))));
  EXPECT(.name = "between a line and a parabola", .at = "0 0", .ad = "0 0",
         .bouligand = "0 0; 0 1", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND,
         .partial = PARTIAL);
  x = inputs(2);
  output(relu(mul(x, x + 1)));
  EXPECT(.name = "relu(x y)", .at = "0 0", .ad = "0 0", .bouligand = "0 0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .conservative = "0 0");
  x = inputs(2);
  output(relu(sub(mul(x, x), mul(x + 1, x + 1))));
  EXPECT(.name = "relu(x^2 - y^2)", .at = "0 0", .ad = "0 0", .bouligand = "0 0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .conservative = "0 0");
  x = inputs(2);
  output(add(x, relu(shift(-1, add(mul(x, x), mul(x + 1, x + 1)), 0))));
  EXPECT(.name = "never positive", .at = "0 0", .ad = "1 0", .bouligand = "1 0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
}
END_TEST

/* --- transcendental functions ----------------------------------------------------------------- */

START_TEST(transcendental)
{
  size_t x = inputs(1), e;

  output(relu(shift(1, analytic(CLARKE_FN_EXP, x), -1)));
  EXPECT(.name = "relu(exp(x) - 1)", .at = "0", .ad = "0", .bouligand = "0; 1",
         .conservative = "0; 1", .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(at_kink("relu", sub(analytic(CLARKE_FN_SIGMOID, x), constant(&p, 1, 2)), 1));
  EXPECT(.name = "relu{1}(sigmoid(x) - 1/2)", .at = "0", .ad = "1/4", .bouligand = "0; 1/4",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(absolute(analytic(CLARKE_FN_LOG, x)));
  EXPECT(.name = "|log(x)|", .at = "1", .ad = "0", .bouligand = "-1; 1",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  x = inputs(1);
  output(relu(shift(1, analytic(CLARKE_FN_SQRT, x), -2)));
  EXPECT(.name = "relu(sqrt(x) - 2)", .at = "4", .ad = "0", .bouligand = "0; 1/4",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_BOULIGAND);
  x = inputs(1);
  output(absolute(analytic(CLARKE_FN_SIN, x)));
  EXPECT(.name = "|sin(x)|", .at = "0", .ad = "0", .bouligand = "-1; 1",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE);
  x = inputs(1);
  output(relu(mul(x, analytic(CLARKE_FN_SIN, x))));
  EXPECT(.name = "relu(x sin(x))", .at = "0", .ad = "0", .bouligand = "0", .conservative = "0",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .zone = "compensation");
  x = inputs(1);
  e = add(mul(analytic(CLARKE_FN_SIN, x), analytic(CLARKE_FN_SIN, x)),
          mul(analytic(CLARKE_FN_COS, x), analytic(CLARKE_FN_COS, x)));
  output(branch(e, CLARKE_EQ, constant(&p, 1, 1), shift(3, x, 0), x));
  EXPECT(.name = "an identity that == tells and no polynomial does", .at = "0", .ad = "3",
         .bouligand = "3", .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND,
         .partial = PARTIAL);
  x = inputs(1);
  e = analytic(CLARKE_FN_EXP, x);
  output(sub(relu(shift(1, e, -1)), relu(shift(-1, e, 1))));
  EXPECT(.name = "exp(x) - 1 in two halves", .at = "0", .ad = "0", .bouligand = "1",
         .differentiable = CLARKE_YES, .verdict = CLARKE_NOT_IN_CLARKE, .partial = PARTIAL);
}
END_TEST

/* Irrational gradients, and a zero that no precision shows. */
START_TEST(irrational)
{
  size_t x = inputs(2), e;

  output(mul(relu(x), analytic(CLARKE_FN_EXP, x + 1)));
  EXPECT(.name = "relu(x) exp(y)", .at = "0 1", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
  x = inputs(1);
  e = analytic(CLARKE_FN_EXP, x);
  output(relu(sub(e, e)));
  EXPECT(.name = "relu(e - e)", .at = "1", .differentiable = CLARKE_YES,
         .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
  x = inputs(1);
  output(relu(sub(analytic(CLARKE_FN_EXP, x), shift(1, x, 1))));
  EXPECT(.name = "relu(exp(x) - x - 1)", .at = "1", .differentiable = CLARKE_YES,
         .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
}
END_TEST

/* What balls do not tell: whether gradients are equal, whether a form separates, whether a link is zero. Nor is a tree
 * that was left incomplete the whole. */
START_TEST(not_told)
{
  size_t x = inputs(1), e[2], left, right;
  long one = 1, minus = -1;

  e[0] = analytic(CLARKE_FN_EXP, constant(&p, one, 1));
  e[1] = analytic(CLARKE_FN_EXP, constant(&p, 2, 1));
  output(ordered("Max", 1, mul(e[0], x), mul(e[1], x)));
  EXPECT(.name = "the larger of e x and e^2 x", .at = "0", .differentiable = CLARKE_NO,
         .verdict = CLARKE_IN_CLARKE, .partial = PARTIAL);
  x = inputs(1);
  e[1] = analytic(CLARKE_FN_EXP, constant(&p, 2, 1));
  left = relu(mul(e[1], x));
  right = relu(shift(minus, mul(e[1], x), 0));
  for (int k = 0; k < 2; k++) {
    clarke_override *proxy = &p.instruction[k == 0 ? left : right].proxy;

    proxy->given = true;
    proxy->kind = CLARKE_PROXY_VALUE;
    mpq_set_si(proxy->value, k + 1, 3);
  }
  output(sub(left, right));
  EXPECT(.name = "e^2 x in two halves", .at = "0", .differentiable = CLARKE_YES,
         .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
  x = inputs(2);
  OK(clarke_code_add(&p, &right, CLARKE_DO_NORM, 1, &x, err));
  output(add(x + 1, branch(x, CLARKE_GT, constant(&p, 0, 1), shift(2, x, 0), right)));
  EXPECT(.name = "a norm on one side", .at = "0 0", .ad = "0 1", .bouligand = "-1 1; 2 1",
         .differentiable = CLARKE_NO, .verdict = CLARKE_IN_CLARKE, .partial = PARTIAL);
  x = inputs(1);
  e[0] = analytic(CLARKE_FN_EXP, constant(&p, one, 1));
  e[1] = analytic(CLARKE_FN_EXP, constant(&p, minus, 1));
  output(mul(relu(x), sub(mul(e[0], e[1]), constant(&p, 1, 1))));
  EXPECT(.name = "relu(x) times e/e - 1", .at = "0", .ad = "0", .zone = "unknown",
         .differentiable = CLARKE_YES, .verdict = CLARKE_IN_BOULIGAND, .partial = PARTIAL);
}
END_TEST

/* --- how many cells there are ----------------------------------------------------------------- */

/* The number of patterns, all of them known, of the program built so far at the origin. */
static size_t
cells(size_t *gradients)
{
  clarke_derivation d;
  mpq_t *origin = rationals(clarke_code_entries(&p));
  const char *fault;
  size_t n;

  OK(clarke_code_wrt(&p, NULL, 0, err));
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, origin, &profile, err));
  fault = evidence_fault(&d);
  ck_assert_msg(fault == NULL, "%s", fault);
  n = d.patterns.n;
  *gradients = d.bouligand.n;
  clarke_derivation_clear(&d);
  rationals_free(origin, clarke_code_entries(&p));
  clarke_code_clear(&p);
  return n;
}

/* (1, i, i^2) x: any `width` of these are independent. */
static size_t
form(size_t x, size_t width, long i)
{
  return linear(&p, width, (const size_t[]){ x, x + 1, x + 2 }, (const long[]){ 1, i, i * i, 0 });
}

static size_t
plane_form(size_t x, long i)
{
  return affine(1, x, i, x + 1, 0);
}

/* n lines through the origin cut the plane into 2 n sectors, n planes in general position space
 * into n^2 - n + 2 cones; forty kinks in pairs on twenty planes have the cones of twenty. */
START_TEST(arrangements)
{
  size_t x, sum, gradients;

  x = inputs(2);
  sum = constant(&p, 0, 1);
  for (long i = 1; i <= 40; i++)
    sum = add(sum, relu(plane_form(x, i)));
  output(sum);
  ck_assert_uint_eq(cells(&gradients), 80);
  ck_assert_uint_eq(gradients, 80);
  x = inputs(3);
  sum = constant(&p, 0, 1);
  for (long i = 1; i <= 12; i++)
    sum = add(sum, relu(form(x, 3, i)));
  output(sum);
  ck_assert_uint_eq(cells(&gradients), 134);
  ck_assert_uint_eq(gradients, 134);
  x = inputs(3);
  sum = constant(&p, 0, 1);
  for (long i = 1; i <= 20; i++) {
    size_t q = form(x, 3, i);

    sum = add(sum, sub(relu(q), relu(shift(-1, q, 0))));
  }
  output(sum);
  ck_assert_uint_eq(cells(&gradients), 382);
  ck_assert_uint_eq(gradients, 1);
}
END_TEST

/* n! orders, n largest entries, and for the second of five an ordered choice of two. */
START_TEST(permutations)
{
  size_t x, in[30], gradients;

  x = inputs(30);
  for (size_t i = 0; i < 30; i++)
    in[i] = x + i;
  output(order(&p, "Max", 1, 30, in));
  ck_assert_uint_eq(cells(&gradients), 30);
  ck_assert_uint_eq(gradients, 30);
  x = inputs(5);
  for (size_t i = 0; i < 5; i++)
    in[i] = x + i;
  output(order(&p, "Kth", 2, 5, in));
  ck_assert_uint_eq(cells(&gradients), 20);
  ck_assert_uint_eq(gradients, 5);
  x = inputs(4);
  for (size_t i = 0; i < 4; i++)
    in[i] = x + i;
  for (size_t rank = 4; rank >= 1; rank--)
    output(order(&p, "Sort", rank, 4, in));
  cells(&gradients);
  ck_assert_uint_eq(gradients, 24);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("known programs");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, park_lemmas);
  tcase_add_test(tests, park_appendix_h);
  tcase_add_test(tests, three_relus);
  tcase_add_test(tests, zones);
  tcase_add_test(tests, elus);
  tcase_add_test(tests, norms);
  tcase_add_test(tests, ties);
  tcase_add_test(tests, two_orders);
  tcase_add_test(tests, convolution);
  tcase_add_test(tests, branches);
  tcase_add_test(tests, not_lipschitz);
  tcase_add_test(tests, a_root_of_what_stays_zero);
  tcase_add_test(tests, a_gradient_where_ad_has_none);
  tcase_add_test(tests, not_lipschitz_by_what_is_too_large);
  tcase_add_test(tests, many_variables);
  tcase_add_test(tests, discontinuous);
  tcase_add_test(tests, curved);
  tcase_add_test(tests, cusps);
  tcase_add_test(tests, transcendental);
  tcase_add_test(tests, irrational);
  tcase_add_test(tests, not_told);
  tcase_add_test(tests, arrangements);
  tcase_add_test(tests, permutations);
  return run_tests();
}
