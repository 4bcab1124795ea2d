/* Steps of torch-lbfgs. Numbers are exact as long as they are short, and then intervals; where these do not tell which
 * way a step goes, more bits are asked for. */
#include "check/update/update_lbfgs.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/lines.h"
#include "check/update/update_statement.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES 65536
#define MOST_ITERATIONS 10000
#define LEAST_PRODUCT 10000000000UL /* y s is above 1 over it */

/* ---- Numbers */

static void
cut(interval *y)
{
  update_cut(y, 4 * limit_of(LIMIT_BITS));
}

void
lbfgs_dot(interval *y, const interval *a, const interval *b, size_t n)
{
  INTERVAL(x);
  interval_set(y, &zero, &zero);
  for (size_t i = 0; i < n; i++) {
    interval_mul(&x, &a[i], &b[i]);
    interval_add(y, &x, &plus_one);
  }
  cut(y);
}

/* y += c x */
static void
add(interval *y, const interval *c, const interval *x, size_t n)
{
  INTERVAL(move);
  for (size_t i = 0; i < n; i++) {
    interval_mul(&move, c, &x[i]);
    interval_add(&y[i], &move, &plus_one);
    cut(&y[i]);
  }
}

/* y = c x */
static void
scale(interval *y, const interval *c, const interval *x, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    interval_mul(&y[i], c, &x[i]);
    cut(&y[i]);
  }
}

/* y = 1 / x, x above 0 */
static void
invert(interval *y, const interval *x)
{
  INTERVAL(of);
  if (mpq_sgn(&x->lo) <= 0)
    leave(UNDECIDED, "what is divided by is not known to be above 0");
  mpq_inv(&of.lo, &x->hi);
  mpq_inv(&of.hi, &x->lo);
  interval_set(y, &of.lo, &of.hi);
}

/* Is it above q? */
static bool
above(const interval *x, const rational *q, const char *what)
{
  INTERVAL(rest);
  update_copy(&rest, x);
  mpq_sub(&rest.lo, &rest.lo, q);
  mpq_sub(&rest.hi, &rest.hi, q);
  return interval_sign(&rest, what) > 0;
}

/* The larger of x and -x */
static void
absolute(interval *y, const interval *x)
{
  INTERVAL(minus);
  interval_add(&minus, x, &minus_one);
  update_copy(y, x);
  update_larger(y, &minus);
}

bool
lbfgs_small(const interval *x, size_t n, const rational *q, const char *what)
{
  INTERVAL(most);
  INTERVAL(size);
  for (size_t i = 0; i < n; i++) {
    absolute(&size, &x[i]);
    update_larger(&most, &size);
  }
  return !above(&most, q, what);
}

/* ---- The state */

void
lbfgs_begin(lbfgs_state *l)
{
  l->theta = intervals(l->n);
  l->d = intervals(l->n);
  l->previous = intervals(l->n);
  l->t = interval_nought();
  l->scale = interval_nought();
  interval_set(&l->scale, &plus_one, &plus_one);
  l->pairs = allocate(l->n_pairs, sizeof *l->pairs);
  for (size_t i = 0; i < l->n_pairs; i++)
    l->pairs[i] = (lbfgs_pair){intervals(l->n), intervals(l->n), interval_nought()};
}

static void
pair_free(lbfgs_pair *p, size_t n)
{
  intervals_free(p->y, n);
  intervals_free(p->s, n);
  interval_clear(&p->ro);
}

void
lbfgs_end(lbfgs_state *l)
{
  intervals_free(l->theta, l->n);
  intervals_free(l->d, l->n);
  intervals_free(l->previous, l->n);
  interval_clear(&l->t);
  interval_clear(&l->scale);
  for (size_t i = 0; i < l->n_pairs; i++)
    pair_free(&l->pairs[i], l->n);
  free(l->pairs);
}

/* One more pair, the oldest going where there are too many. */
static void
keep(lbfgs_state *l, lbfgs_pair new)
{
  lbfgs_pair *all = allocate(l->n_pairs + 1, sizeof *all);
  bool full = mpq_cmp_ui(&l->rule->number[HISTORY_SIZE], l->n_pairs, 1) <= 0;
  size_t from = full && l->n_pairs > 0 ? 1 : 0;
  if (from > 0)
    pair_free(&l->pairs[0], l->n);
  for (size_t i = from; i < l->n_pairs; i++)
    all[i - from] = l->pairs[i];
  l->n_pairs -= from;
  all[l->n_pairs++] = new;
  free(l->pairs);
  l->pairs = all;
}

/* ---- An iteration */

void
lbfgs_direction(interval *d, const lbfgs_state *l, const interval *g)
{
  interval *share = intervals(l->n_pairs);
  INTERVAL(by);
  for (size_t i = 0; i < l->n; i++) {
    interval_set(&d[i], &zero, &zero);
    interval_add(&d[i], &g[i], &minus_one);
  }
  for (size_t i = l->n_pairs; i-- > 0;) {
    lbfgs_dot(&by, l->pairs[i].s, d, l->n);
    scale(&share[i], &l->pairs[i].ro, &by, 1);
    interval_set(&by, &zero, &zero);
    interval_add(&by, &share[i], &minus_one);
    add(d, &by, l->pairs[i].y, l->n);
  }
  scale(d, &l->scale, d, l->n);
  for (size_t i = 0; i < l->n_pairs; i++) {
    lbfgs_dot(&by, l->pairs[i].y, d, l->n);
    scale(&by, &l->pairs[i].ro, &by, 1);
    interval_add(&share[i], &by, &minus_one);
    cut(&share[i]);
    add(d, &share[i], l->pairs[i].s, l->n);
  }
  intervals_free(share, l->n_pairs);
}

/* What the gradient and theta have changed by makes a pair, if y s is above the least. */
static void
remember(lbfgs_state *l, const interval *g)
{
  lbfgs_pair new = {intervals(l->n), intervals(l->n), interval_nought()};
  INTERVAL(product);
  INTERVAL(square);
  RATIONAL(least);
  mpq_set_ui(&least, 1, LEAST_PRODUCT);
  for (size_t i = 0; i < l->n; i++) {
    update_copy(&new.y[i], &g[i]);
    interval_add(&new.y[i], &l->previous[i], &minus_one);
  }
  scale(new.s, &l->t, l->d, l->n);
  lbfgs_dot(&product, new.y, new.s, l->n);
  if (!above(&product, &least, "whether y s is above 1e-10")) {
    pair_free(&new, l->n);
    return;
  }
  invert(&new.ro, &product);
  lbfgs_dot(&square, new.y, new.y, l->n);
  invert(&square, &square);
  scale(&l->scale, &square, &product, 1);
  keep(l, new);
}

/* eta, in the first iteration of all min(1, 1 / |g|_1) eta */
static void
set_length(lbfgs_state *l, const interval *g)
{
  INTERVAL(sum);
  INTERVAL(size);
  interval_set(&l->t, &l->rule->number[ETA], &l->rule->number[ETA]);
  for (size_t i = 0; l->k == 1 && i < l->n; i++) {
    absolute(&size, &g[i]);
    interval_add(&sum, &size, &plus_one);
  }
  if (l->k > 1 || !above(&sum, &plus_one, "whether the sum of sizes is above 1"))
    return;
  invert(&sum, &sum);
  scale(&l->t, &sum, &l->t, 1);
}

/* ---- A step, as the lines have it */

typedef struct {
  interval *g;
  rational loss, before; /* that of the iteration before */
  bool known, was_known;
  size_t evaluations, iterations;
} lbfgs_step;

static void
evaluate(const lbfgs_state *l, lbfgs_step *s)
{
  next_line("gradient");
  fputs("  the gradient", account);
  for (size_t i = 0; i < l->n; i++) {
    next_rational(&s->g[i].lo);
    mpq_set(&s->g[i].hi, &s->g[i].lo);
    gmp_fprintf(account, " %Qd", &s->g[i].lo);
  }
  next_line("loss");
  const char *word = next_word();
  s->known = strcmp(word, "unknown") != 0;
  if (s->known) {
    unread_word(word);
    next_rational(&s->loss);
    gmp_fprintf(account, ", the loss %Qd", &s->loss);
  }
  fputs("\n", account);
  s->evaluations++;
}

/* An iteration; false: theta stays, and the step ends. */
static bool
iterate(lbfgs_state *l, lbfgs_step *s)
{
  INTERVAL(slope);
  RATIONAL(least);
  l->k++;
  s->iterations++;
  if (l->k > 1)
    remember(l, s->g);
  lbfgs_direction(l->d, l, s->g);
  for (size_t i = 0; i < l->n; i++)
    update_copy(&l->previous[i], &s->g[i]);
  mpq_set(&s->before, &s->loss);
  s->was_known = s->known;
  set_length(l, s->g);
  lbfgs_dot(&slope, s->g, l->d, l->n);
  mpq_neg(&least, &l->rule->number[TOLERANCE_CHANGE]);
  if (above(&slope, &least, "whether the slope is above minus tolerance-change"))
    return false;
  add(l->theta, &l->t, l->d, l->n);
  return true;
}

/* Has the loss changed by less than the tolerance? */
static bool
is_level(const lbfgs_state *l, const lbfgs_step *s)
{
  RATIONAL(q);
  if (mpq_sgn(&l->rule->number[TOLERANCE_CHANGE]) <= 0)
    return false;
  require(s->known && s->was_known, "the loss, or that before, is unknown, and decides whether the step ends");
  mpq_sub(&q, &s->loss, &s->before);
  mpq_abs(&q, &q);
  return mpq_cmp(&q, &l->rule->number[TOLERANCE_CHANGE]) < 0;
}

/* Why the step ends behind an evaluation; NULL: it goes on. */
static const char *
end_of(const lbfgs_state *l, const lbfgs_step *s)
{
  if (mpq_cmp_ui(&l->rule->number[MAX_EVAL], s->evaluations, 1) <= 0)
    return "max-eval evaluations";
  if (lbfgs_small(s->g, l->n, &l->rule->number[TOLERANCE_GRAD], "the size of a gradient"))
    return "a gradient within tolerance-grad";
  interval *move = intervals(l->n);
  scale(move, &l->t, l->d, l->n);
  bool near =
      lbfgs_small(move, l->n, &l->rule->number[TOLERANCE_CHANGE], "whether theta moves by more than tolerance-change");
  intervals_free(move, l->n);
  if (near)
    return "a move within tolerance-change";
  return is_level(l, s) ? "a change of the loss below tolerance-change" : NULL;
}

static const char *
go_on(lbfgs_state *l, lbfgs_step *s)
{
  const char *end = NULL;
  evaluate(l, s);
  if (lbfgs_small(s->g, l->n, &l->rule->number[TOLERANCE_GRAD], "the size of a gradient"))
    return "a gradient within tolerance-grad at once: nothing changes";
  while (end == NULL) {
    require(l->k < MOST_ITERATIONS, "more than %d iterations", MOST_ITERATIONS);
    if (!iterate(l, s))
      return "a slope above minus tolerance-change: theta stays";
    if (mpq_cmp_ui(&l->rule->number[MAX_ITER], s->iterations, 1) <= 0)
      return "max-iter iterations";
    evaluate(l, s);
    end = end_of(l, s);
  }
  return end;
}

static void
make_step(lbfgs_state *l)
{
  lbfgs_step s = {.g = intervals(l->n), .loss = rational_zero(), .before = rational_zero()};
  fputs("A step, evaluating\n", account);
  fprintf(account, "  ends by %s\n", go_on(l, &s));
  intervals_free(s.g, l->n);
  mpq_clear(&s.loss);
  mpq_clear(&s.before);
}

/* ---- The statement */

/* Reads a number that is stated. */
static void
read_number(interval *x, const char *name, size_t i)
{
  (void)name;
  (void)i;
  next_rational(&x->lo);
  mpq_set(&x->hi, &x->lo);
  gmp_fprintf(account, " %Qd", &x->lo);
}

static void
each(const char *name, interval *x, size_t n, void (*what)(interval *x, const char *name, size_t i))
{
  next_line(name);
  fprintf(account, "  %s:", name);
  for (size_t i = 0; i < n; i++)
    what(&x[i], name, i);
  fputs("\n", account);
}

/* Lines of the state, but for theta: read, or compared. */
static void
each_part(lbfgs_state *l, void (*what)(interval *x, const char *name, size_t i))
{
  each("d", l->d, l->n, what);
  each("t", &l->t, 1, what);
  each("H_diag", &l->scale, 1, what);
  each("prev_flat_grad", l->previous, l->n, what);
}

static void
each_pair(lbfgs_state *l, void (*what)(interval *x, const char *name, size_t i))
{
  for (size_t i = 0; i < l->n_pairs; i++)
    each("old_dirs", l->pairs[i].y, l->n, what);
  for (size_t i = 0; i < l->n_pairs; i++)
    each("old_stps", l->pairs[i].s, l->n, what);
  next_line("ro");
  fputs("  ro:", account);
  for (size_t i = 0; i < l->n_pairs; i++)
    what(&l->pairs[i].ro, "ro", i);
  fputs("\n", account);
}

static void
read_state(lbfgs_state *l)
{
  next_line("entries");
  l->n = next_number();
  require(l->n >= 1 && l->n <= MOST_ENTRIES, "one entry to %d are expected", MOST_ENTRIES);
  next_line("before");
  l->k = next_number();
  require(l->k <= MOST_ITERATIONS, "at most %d iterations before", MOST_ITERATIONS);
  fprintf(account, "After %zu iterations\n", l->k);
  lbfgs_begin(l);
  each("theta", l->theta, l->n, read_number);
  if (l->k == 0)
    return;
  each_part(l, read_number);
  next_line("pairs");
  lbfgs_state pairs = {.n = l->n, .n_pairs = next_number()};
  require(mpq_cmp_ui(&l->rule->number[HISTORY_SIZE], pairs.n_pairs, 1) >= 0, "more pairs than history-size");
  lbfgs_begin(&pairs);
  each_pair(&pairs, read_number);
  for (size_t i = 0; i < pairs.n_pairs; i++)
    require(mpq_sgn(&pairs.pairs[i].ro.lo) > 0, "a number of ro is not above 0");
  lbfgs_pair *none = l->pairs;
  l->pairs = pairs.pairs;
  l->n_pairs = pairs.n_pairs;
  pairs.pairs = none;
  pairs.n_pairs = 0;
  lbfgs_end(&pairs);
}

static void
check_state(lbfgs_state *l)
{
  next_line("after");
  require(next_number() == l->k, "the number of iterations is another: %zu", l->k);
  fprintf(account, "After %zu iterations\n", l->k);
  each("theta", l->theta, l->n, update_check_entry);
  if (l->k == 0)
    return;
  each_part(l, update_check_entry);
  next_line("pairs");
  require(next_number() == l->n_pairs, "the number of pairs is another: %zu", l->n_pairs);
  each_pair(l, update_check_entry);
}

void
check_lbfgs(update *u)
{
  lbfgs_state l = {.rule = u};
  size_t steps = 0;
  read_state(&l);
  for (; line_is("step"); steps++)
    make_step(&l);
  require(steps > 0, "'step' is expected");
  check_state(&l);
  last_line();
  lbfgs_end(&l);
  update_end(u);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
