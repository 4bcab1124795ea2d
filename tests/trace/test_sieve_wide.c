/* Loops over entries with their bounds: beside exact arithmetic, and beside the same of one entry. */
#include "../draw.h"
#include "../suites.h"

#include "trace/certify/sieve_wide.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 600

/* Numbers near others, and how far they are. */
typedef struct {
  double near[MOST], off[MOST], may[MOST];
  float exact[MOST];
} drawn;

static double
draw_number(uint64_t *state)
{
  const double digits = (double)draw_between(state, -999999, 999999), number = ldexp(digits, (int)draw_between(state, -30, 5));

  switch (draw_below(state, 4)) {
  case 0:
    return (double)(float)number;
  case 1:
    return draw_below(state, 8) == 0 ? 0 : ldexp(1, (int)draw_between(state, -9, 9));
  default:
    return number / 3;
  }
}

static void
draw_numbers(drawn *to, uint64_t *state, bool exact)
{
  for (size_t e = 0; e < MOST; e++) {
    to->exact[e] = (float)draw_number(state);
    to->near[e] = exact ? to->exact[e] : draw_number(state);
    to->off[e] = exact || draw_below(state, 3) == 0 ? 0 : fabs(draw_number(state));
    to->off[e] = to->off[e] == 0 ? 0 : ldexp(to->off[e], (int)draw_between(state, -60, -20)); /* in this order by every compiler */
    to->may[e] = exact ? 0 : ldexp(fabs(draw_number(state)), -20);
  }
}

static clarke_sieve_line
line_of(const drawn *x)
{
  return (clarke_sieve_line){x->near, x->off, x->may};
}

/* What an entry may be exactly: at one end, at the other, or near. */
static void
draw_exact(mpq_t to, double near, double off, uint64_t *state)
{
  mpq_t part;

  mpq_init(part);
  mpq_set_d(to, near);
  mpq_set_d(part, (double)draw_between(state, -1, 1) * off);
  mpq_add(to, to, part);
  mpq_clear(part);
}

/* Is the number within `off` of near? */
static bool
is_within(mpq_t exact, double near, double off)
{
  mpq_t apart, limit;
  bool within;

  mpq_inits(apart, limit, NULL);
  mpq_set_d(apart, near);
  mpq_sub(apart, apart, exact);
  mpq_abs(apart, apart);
  mpq_set_d(limit, clarke_up_by(off, 0x1p31));
  within = mpq_cmp(apart, limit) <= 0;
  mpq_clears(apart, limit, NULL);
  return within;
}

static double
size_of(const drawn *x, size_t e)
{
  return fmax(fabs(x->near[e]) - x->off[e], 0);
}

typedef enum { ADDED, NUMBER, MULTIPLIED, DIVIDED, JOINED, JOINED_DIVIDED, PRODUCTS, OPERATIONS } operation;

static void
run(operation of, const clarke_sieve_sums *to, const drawn *x, const drawn *y, double c, size_t n)
{
  const clarke_sieve_line line = line_of(x), other = line_of(y);
  const clarke_sieve_factor by = {.c = c, .gamma = 0x1p-20, .divide = of == DIVIDED || of == JOINED_DIVIDED};

  switch (of) {
  case ADDED:
    clarke_sieve_add_line(to, &line, c < 0 ? -1 : 1, 1, n);
    break;
  case NUMBER:
    clarke_sieve_add_number(to, c, n);
    break;
  case MULTIPLIED:
  case DIVIDED:
    clarke_sieve_scale_line(to, &line, &by, n);
    break;
  case JOINED:
  case JOINED_DIVIDED:
    clarke_sieve_join_scaled(to, &line, &by, n);
    break;
  default:
    clarke_sieve_join_products(to, &line, &other, n);
  }
}

/* The exact result of an operation, without what was there before. */
static void
find_exact(mpq_t to, operation of, const drawn *x, const drawn *y, double c, size_t e, uint64_t *state)
{
  mpq_t by;

  mpq_init(by);
  draw_exact(to, x->near[e], x->off[e], state);
  mpq_set_d(by, c);
  if (of == ADDED && c < 0)
    mpq_neg(to, to);
  if (of == NUMBER)
    mpq_set(to, by);
  if (of == MULTIPLIED || of == JOINED)
    mpq_mul(to, to, by);
  if (of == DIVIDED || of == JOINED_DIVIDED)
    mpq_div(to, to, by);
  if (of == PRODUCTS) {
    draw_exact(by, y->near[e], y->off[e], state);
    mpq_mul(to, to, by);
  }
  mpq_clear(by);
}

/* What is allowed, and what sizes add up to. */
static void
check_sizes(operation of, double may, double mass, const drawn *x, const drawn *y, double c, size_t e)
{
  const bool divide = of == DIVIDED || of == JOINED_DIVIDED;
  const double size = divide ? 1 / fabs(c) : fabs(c), gamma = size == 1 ? 0 : 0x1p-20, here = size_of(x, e);
  double wanted = x->may[e], whole = here + x->may[e];

  if (of == NUMBER) {
    wanted = 0;
    whole = fabs(c);
  } else if (of == MULTIPLIED || of == DIVIDED) {
    wanted = size * (x->may[e] + gamma * (here + x->may[e]));
    whole = 0;
  } else if (of == JOINED || of == JOINED_DIVIDED) {
    wanted = size * x->may[e] + gamma * (size * here);
    whole = size * here;
  } else if (of == PRODUCTS) {
    wanted = here * y->may[e] + x->may[e] * size_of(y, e);
    whole = here * size_of(y, e);
  }
  ck_assert(may == wanted && mass == whole);
}

START_TEST(lines)
{
  uint64_t state = 17 + (uint64_t)_i;
  const operation of = (operation)(_i % OPERATIONS);
  const bool exact = _i / OPERATIONS % 2 == 0, sets = of == MULTIPLIED || of == DIVIDED;
  size_t free_of_error = 0;
  drawn x, y, own;
  mpq_t wanted, before;

  mpq_inits(wanted, before, NULL);
  for (size_t round = 0; round < 40; round++) {
    const size_t n = draw_below(&state, MOST);
    const clarke_sieved sums = {.near = own.near, .off = own.off, .may = own.may};
    clarke_sieve_sums to = clarke_sieve_sums_of(&sums, 0);
    double mass[MOST] = {0}, c = draw_number(&state);

    ck_assert(to.near == own.near && to.mass == NULL);
    to.mass = mass;
    c = c == 0 ? 1 : c;
    draw_numbers(&x, &state, exact);
    draw_numbers(&y, &state, exact);
    for (size_t e = 0; e < MOST; e++) {
      own.near[e] = round % 2 == 0 ? 0 : draw_number(&state);
      own.off[e] = own.may[e] = 0;
    }
    memcpy(own.exact, x.exact, sizeof own.exact);
    for (size_t e = 0; e < n; e++)
      own.exact[e] = (float)own.near[e];
    for (size_t e = 0; !sets && e < MOST; e++)
      own.near[e] = (double)(float)own.near[e];
    run(of, &to, &x, &y, c, n);
    for (size_t e = 0; e < n; e++) {
      find_exact(wanted, of, &x, &y, c, e, &state);
      mpq_set_d(before, (double)own.exact[e]);
      if (!sets)
        mpq_add(wanted, wanted, before);
      ck_assert_msg(is_within(wanted, own.near[e], own.off[e]), "operation %d, entry %zu of %zu", of, e, n);
      check_sizes(of, own.may[e], mass[e], &x, &y, c, e);
      free_of_error += own.off[e] == 0;
    }
    for (size_t e = n; e < MOST; e++) /* others are left alone */
      ck_assert(own.off[e] == 0 && own.may[e] == 0 && mass[e] == 0);
  }
  ck_assert_uint_gt(free_of_error, exact ? 1000 : 100);
  mpq_clears(wanted, before, NULL);
}
END_TEST

START_TEST(lines_of_numbers)
{
  uint64_t state = 5;
  clarke_sieve s = {.n = 7};
  double *room = clarke_sieve_line_room(&s, 7);
  drawn x;
  clarke_sieve_numbers exact = {.exact = x.exact}, near = {.near = x.near, .off = x.off, .may = x.may};
  clarke_sieve_line line;

  draw_numbers(&x, &state, false);
  ck_assert_ptr_nonnull(room);
  line = clarke_sieve_line_of(&exact, 14, 7, room);
  for (size_t j = 0; j < 7; j++)
    ck_assert(line.near[j] == x.exact[14 + j] && line.off[j] == 0 && line.may[j] == 0);
  line = clarke_sieve_line_of(&near, 14, 7, room);
  ck_assert(line.near == x.near + 14 && line.off == x.off + 14 && line.may == x.may + 14);
  clarke_sieve_leave_all(&s);
}
END_TEST

START_TEST(moved_lines)
{
  uint64_t state = 6;
  double near[MOST], off[MOST] = {0}, mass[MOST];
  unsigned char joined[MOST];
  drawn x, one;
  clarke_sieved each = {.near = one.near, .off = one.off, .may = one.may, .mass = mass, .joined = joined};
  double own_mass[MOST];
  unsigned char own_joined[MOST];
  const clarke_sieve_sums to = {near, off, NULL, own_mass};

  draw_numbers(&x, &state, true);
  draw_numbers(&one, &state, true);
  for (size_t e = 0; e < MOST; e++) {
    joined[e] = own_joined[e] = (unsigned char)draw_below(&state, 3);
    mass[e] = own_mass[e] = fabs(one.near[e]);
    near[e] = one.near[e];
  }
  clarke_sieve_join_moved_line(&to, own_joined, x.near, -1, MOST - 3);
  for (size_t e = 0; e < MOST; e++) {
    if (e < MOST - 3)
      clarke_sieve_join_moved(&each, e, -x.near[e]);
    ck_assert(near[e] == one.near[e] && off[e] == one.off[e] && own_mass[e] == mass[e] && own_joined[e] == joined[e]);
  }
}
END_TEST

START_TEST(products)
{
  double lost;

  ck_assert(clarke_sieve_times(&lost, 3, 0.1) == 3 * 0.1 && lost > 0);
  ck_assert(clarke_sieve_times(&lost, 0.1, 4) == 0.4 && lost == 0);
  ck_assert(clarke_sieve_times(&lost, (double)0.1f, (double)0.3f) == (double)0.1f * (double)0.3f && lost == 0);
  ck_assert(clarke_sieve_times(&lost, 0, 0.1) == 0 && lost == 0);
}
END_TEST

/* One entry of what is judged, as the header has it. */
static void
judge_one(clarke_sieve_found *to, const clarke_sieve_judged *j, size_t e)
{
  const double own = clarke_up_by(j->off[e], 0x1p31), off = clarke_up_by(fabs((double)j->recorded[e] - j->near[e]), 4) + own;
  const double taken = j->mass != NULL && j->joined[e] != 1 ? j->gamma * j->mass[e] : 0;
  const double bound = clarke_down_by(j->may[e] + taken, 0x1p42);
  const bool is = clarke_sieve_is_that(j->recorded[e], j->near[e], own), other = clarke_sieve_is_another(j->recorded[e], j->near[e], own);

  to->beyond = to->beyond || !(off <= bound);
  to->worst = off > 0 ? fmax(to->worst, clarke_up_by(off / bound, 4)) : to->worst;
  to->exact += is;
  to->wrong += other;
  to->squares += is && !j->enclosed ? 0 : bound * bound;
  to->least += other ? bound * bound : 0;
}

START_TEST(judged_lines)
{
  uint64_t state = 90 + (uint64_t)_i;
  const bool sums = _i % 2 == 0, far = _i / 2 % 2 == 1;
  size_t beyond = 0;

  for (size_t round = 0; round < 60; round++) {
    const size_t n = draw_below(&state, MOST);
    double mass[MOST];
    unsigned char joined[MOST];
    drawn x;
    clarke_sieve_judged j = {.near = x.near, .off = x.off, .may = x.may, .recorded = x.exact, .gamma = 0x1p-18, .enclosed = round % 3 == 0};
    clarke_sieve_found found = {.worst = 0x1p-30}, wanted = found;

    draw_numbers(&x, &state, round % 2 == 0);
    for (size_t e = 0; e < MOST; e++) {
      x.exact[e] = (float)x.near[e];
      x.exact[e] = draw_below(&state, 4) == 0 ? nextafterf(x.exact[e], INFINITY) : x.exact[e];
      x.off[e] = fmin(x.off[e], 0x1p-30 * fabs(x.near[e]));
      x.may[e] += 0x1p-19 * fabs(x.near[e]) + 0x1p-140;
      mass[e] = 4 * fabs(x.near[e]);
      joined[e] = (unsigned char)draw_below(&state, 3);
    }
    if (far && n > 0) { /* off by more than is allowed there, whatever is joined */
      const size_t e = draw_below(&state, n);

      x.may[e] = 0;
      joined[e] = 1;
    }
    if (sums) {
      j.mass = mass;
      j.joined = joined;
    }
    clarke_sieve_judge_line(&found, &j, n);
    for (size_t e = 0; e < n; e++)
      judge_one(&wanted, &j, e);
    beyond += wanted.beyond;
    ck_assert_msg(found.beyond == wanted.beyond, "of %zu entries", n);
    if (wanted.beyond)
      continue;
    ck_assert(found.worst == wanted.worst);
    ck_assert_uint_eq(found.exact, wanted.exact);
    ck_assert_uint_eq(found.wrong, wanted.wrong);
    ck_assert(fabs(found.squares - wanted.squares) <= 0x1p-40 * wanted.squares && fabs(found.least - wanted.least) <= 0x1p-40 * wanted.least);
  }
  ck_assert(far ? beyond > 10 : beyond == 0);
}
END_TEST

MODULE(sieve_wide)
{
  TCase *tests = tests_of("sieve wide");

  tcase_add_loop_test(tests, lines, 0, 2 * OPERATIONS);
  tcase_add_test(tests, lines_of_numbers);
  tcase_add_test(tests, moved_lines);
  tcase_add_test(tests, products);
  tcase_add_loop_test(tests, judged_lines, 0, 4);
  return all_tests;
}
