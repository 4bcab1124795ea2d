/* Doubles cut into digits, and products of digits that are as large as sums may be, beside integers of GMP. */
#include "exact/digits.h"
#include "samples.h"
#include "../ok.h"
#include "../suite.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24 };

static uint64_t state;

/* --- cutting ---------------------------------------------------------------------------------- */

/* A row's number, by its digits. */
static void
number_of(mpq_t sum, const clarke_digit_matrix *m, size_t r, size_t i, size_t inner)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(sum, 0, 1);
  for (size_t s = 0; s < m->planes; s++) {
    const clarke_digit_plane *p = &m->plane[s];
    double digit = p->number == NULL && s >= m->first && p->used ? clarke_digits_row(m, s, r)[i] : 0;

    for (size_t k = 0; k < p->n; k++)
      digit = p->place[k] == r * inner + i ? p->number[k] : digit;
    ck_assert(digit == rint(digit) && (digit == 0 || p->used));
    mpq_set_d(term, digit * clarke_digits_unit(m, s));
    mpq_add(sum, sum, term);
  }
  mpq_clear(term);
}

/* What planes leave of x, counted by hand. */
static size_t
left_of(const clarke_digit_matrix *m, size_t planes, const double *x, size_t n)
{
  size_t left = 0;

  for (size_t e = 0; e < n; e++)
    left += fmod(x[e], clarke_digits_unit(m, m->planes - planes)) != 0;
  return left;
}

/* Masses of rows in pieces, of all planes, with lists spread and digits listed on the way. */
static void
check_masses(clarke_digit_matrix *m, size_t rows, size_t inner)
{
  const size_t piece = 1 + draw_below(&state, inner), pieces = (inner + piece - 1) / piece;

  for (size_t s = m->first; s < m->planes; s++) {
    double mass[3][MOST * MOST] = {{0}}, by_hand[MOST * MOST] = {0};
    const bool listed = m->plane[s].number != NULL, used = m->plane[s].used;

    clarke_digits_measure(mass[0], m, s, rows, inner, piece);
    if (listed)
      clarke_digits_spread(m, s, rows, inner);
    for (size_t e = 0; e < rows * inner && used; e++)
      by_hand[e / inner * pieces + e % inner / piece] += fabs(clarke_digits_row(m, s, e / inner)[e % inner]);
    clarke_digits_measure(mass[1], m, s, rows, inner, piece);
    if (used)
      OK(clarke_digits_list(m, s, rows, inner, rows * inner, &error));
    ck_assert((m->plane[s].number != NULL) == used);
    clarke_digits_measure(mass[2], m, s, rows, inner, piece);
    for (size_t k = 0; k < 3; k++)
      ck_assert(memcmp(mass[k], by_hand, sizeof by_hand) == 0);
  }
}

START_TEST(cut_numbers)
{
  size_t dropped = 0, listed = 0;
  mpq_t have, want;

  state = 1;
  mpq_inits(have, want, NULL);
  for (int round = 0; round < 300; round++) {
    const size_t blocks = 1 + draw_below(&state, 2), rows = 1 + draw_below(&state, 11), inner = 1 + draw_below(&state, MOST);
    const clarke_digit_layout layout = {draw_below(&state, 2), rows, inner};
    const size_t count = blocks * rows * inner, planes = 1 + draw_below(&state, 4), dense = 1 + draw_below(&state, planes);
    const bool together = draw_below(&state, 2); /* planes side by side, with no room for those that are lists */
    clarke_digit_matrix m = {.planes = planes, .first = together ? planes - dense : 0, .width = 6 + (long)draw_below(&state, 20)};
    double x[2 * 11 * MOST];
    bool whole, lost = false;

    m.low = 1 - m.width * (long)planes;
    m.apart = (ptrdiff_t)(together ? inner : count);
    m.stride = together ? dense * inner : inner;
    for (size_t e = 0; e < count; e++)
      x[e] = round % 2 == 0 ? ldexp((double)draw_between(&state, -(1L << 6), 1L << 6), -6)
                            : ldexp((double)draw_between(&state, -(1L << 40), 1L << 40), -40 - (int)draw_below(&state, 3));
    for (size_t k = 1; k <= planes; k++)
      ck_assert_uint_eq(clarke_digits_left(&m, k, x, count), left_of(&m, k, x, count));
    lost = clarke_digits_left(&m, planes, x, count) > 0;
    OK(clarke_digits_cut(&m, &whole, x, layout, blocks, dense, &error));
    ck_assert(whole == !lost);
    for (size_t e = 0; e < count; e++) {
      const size_t in = e % (rows * inner), r = e / (rows * inner) * rows + (layout.transposed ? in % rows : in / inner);

      number_of(have, &m, r, layout.transposed ? in / rows : in % inner, inner);
      mpq_set_d(want, x[e]);
      mpq_sub(have, have, want);
      ck_assert(fabs(mpq_get_d(have)) <= ldexp(1, (int)m.low - 1) && (lost || mpq_sgn(have) == 0));
    }
    for (size_t s = 0; s < planes; s++)
      listed += m.plane[s].n;
    dropped += lost;
    check_masses(&m, blocks * rows, inner);
    clarke_digits_clear(&m);
  }
  ck_assert_msg(dropped > 50 && dropped < 250 && listed > 1000, "%zu dropped, %zu listed", dropped, listed);
  mpq_clears(have, want, NULL);
}
END_TEST

/* No list where there are more numbers than it may have. */
START_TEST(lists_of_few)
{
  clarke_digit_matrix m = {.planes = 1, .width = 8, .stride = 5};

  ck_assert(clarke_digits_alloc(&m, 10));
  for (size_t e = 0; e < 10; e++)
    m.digit[e] = e % 3 == 0;
  m.plane[0].used = true;
  OK(clarke_digits_list(&m, 0, 2, 5, 3, &error));
  ck_assert_ptr_null(m.plane[0].number);
  OK(clarke_digits_list(&m, 0, 2, 5, 4, &error));
  ck_assert(m.plane[0].n == 4 && m.plane[0].place[3] == 9);
  clarke_digits_clear(&m);
}
END_TEST

/* --- products --------------------------------------------------------------------------------- */

/* A product at work: sums that are taken join those of their weight. */
typedef struct {
  clarke_digit_product p;
  mpz_t *total; /* rows * cols, in units of the lowest weight */
  size_t taken;
} taking;

static void
take(void *context, size_t weight)
{
  taking *t = context;
  mpz_t term;

  mpz_init(term);
  for (size_t e = 0; e < t->p.rows * t->p.cols; e++) {
    ck_assert(fabs(t->p.sum[e]) <= 0x1p53 && t->p.sum[e] == rint(t->p.sum[e]));
    mpz_set_d(term, t->p.sum[e]);
    mpz_mul_2exp(term, term, weight);
    mpz_add(t->total[e], t->total[e], term);
  }
  t->taken++;
  mpz_clear(term);
}

/* Digits as large as they may be, of one sign or any; B's planes in this order, one behind another. */
static void
draw_digits(clarke_digit_matrix *m, size_t rows, size_t cols, double most)
{
  const bool same = draw_below(&state, 2);

  ck_assert(clarke_digits_alloc(m, m->planes * rows * cols));
  for (size_t e = 0; e < m->planes * rows * cols; e++)
    m->digit[e] = same || draw_below(&state, 2) ? most : -most;
  for (size_t s = 0; s < m->planes; s++)
    m->plane[s].used = true;
  m->stride = cols;
  m->apart = (ptrdiff_t)(rows * cols);
}

/* Entry e of the whole product: rows from t->p.a_row on. */
static void
product_of(mpz_t sum, const clarke_digit_product *p, size_t e)
{
  mpz_t term;

  mpz_init(term);
  mpz_set_ui(sum, 0);
  for (size_t s = 0; s < p->a->planes; s++)
    for (size_t t = 0; t < p->b->planes; t++)
      for (size_t k = 0; k < p->inner; k++) {
        const size_t i = e / p->cols, j = e % p->cols;

        mpz_set_d(term, (p->a_transposed ? clarke_digits_row(p->a, s, k)[i] : clarke_digits_row(p->a, s, i)[k]) *
                          (p->b_transposed ? clarke_digits_row(p->b, t, j)[k] : clarke_digits_row(p->b, t, k)[j]));
        mpz_mul_2exp(term, term, (mp_bitcnt_t)p->a->width * s + (mp_bitcnt_t)p->b->width * t);
        mpz_add(sum, sum, term);
      }
  mpz_clear(term);
}

/* In parts of some products, each of which may fill a sum to the bound: nothing is rounded. */
START_TEST(products_of_the_largest)
{
  size_t taken = 0;
  mpz_t want;

  state = 2;
  mpz_init(want);
  for (int round = 0; round < 400; round++) {
    const size_t rows = 1 + draw_below(&state, 4), cols = 1 + draw_below(&state, 4), inner = 1 + draw_below(&state, MOST);
    const size_t reach = 1 + draw_below(&state, inner + 2);
    const bool a_transposed = draw_below(&state, 2), b_transposed = draw_below(&state, 2);
    clarke_digit_matrix a = {.planes = 1 + draw_below(&state, 3), .width = 8 + (long)draw_below(&state, 20)}, b = a;
    double sum[16];
    taking t = {.total = malloc(16 * sizeof *t.total)};

    b.planes = 1 + draw_below(&state, 3);
    b.width = draw_below(&state, 2) ? a.width : 8 + (long)draw_below(&state, 20);
    t.p = (clarke_digit_product){.a = &a, .b = &b, .a_transposed = a_transposed, .b_transposed = b_transposed, .rows = rows,
                                 .cols = cols, .inner = inner, .room = clarke_digits_room(b.width, false), .sum = sum, .take = take,
                                 .context = &t};
    draw_digits(&a, a_transposed ? inner : rows, a_transposed ? rows : inner, floor(t.p.room / (double)reach));
    draw_digits(&b, b_transposed ? cols : inner, b_transposed ? inner : cols, ldexp(1, (int)b.width - 1));
    for (size_t s = 0; s < a.planes; s++) {
      a.plane[s].reach = reach;
      a.plane[s].mass = floor(t.p.room / (double)reach) * (double)reach;
    }
    for (size_t e = 0; e < 16; e++)
      mpz_init(t.total[e]);
    for (size_t weight = 0; weight <= (size_t)a.width * (a.planes - 1) + (size_t)b.width * (b.planes - 1); weight++)
      clarke_digits_multiply(&t.p, weight);
    for (size_t e = 0; e < rows * cols; e++) {
      product_of(want, &t.p, e);
      ck_assert(mpz_cmp(want, t.total[e]) == 0);
    }
    taken += t.taken;
    for (size_t e = 0; e < 16; e++)
      mpz_clear(t.total[e]);
    free(t.total);
    clarke_digits_clear(&a);
    clarke_digits_clear(&b);
  }
  ck_assert(taken > 2000);
  mpz_clear(want);
}
END_TEST

/* Planes one behind another, the highest of B first, added to what is there: as wide a sum as fits, and a list of a second block. */
START_TEST(products_together)
{
  state = 3;
  for (int round = 0; round < 300; round++) {
    const size_t rows = 1 + draw_below(&state, 3), cols = 1 + draw_below(&state, 5), inner = 1 + draw_below(&state, 9);
    const size_t dense = 1 + draw_below(&state, 3), planes = 1 + draw_below(&state, 4), weight = draw_below(&state, dense + planes + 1);
    clarke_digit_matrix a = {.planes = dense + 1, .first = 1, .width = 6, .apart = (ptrdiff_t)inner, .stride = dense * inner}, b = a;
    double sum[15], want[15], room[4 * 9 * 5];
    size_t listed = 2 * rows * inner;

    ck_assert(clarke_digits_alloc(&a, dense * rows * inner));
    for (size_t e = 0; e < dense * rows * inner; e++)
      a.digit[e] = (double)draw_between(&state, -32, 32);
    for (size_t s = 0; s <= dense; s++)
      a.plane[s] = (clarke_digit_plane){.used = true, .reach = inner};
    a.plane[0].place = malloc(listed * sizeof *a.plane[0].place);
    a.plane[0].number = malloc(listed * sizeof *a.plane[0].number);
    for (a.plane[0].n = 0; a.plane[0].n < listed; a.plane[0].n++) {
      a.plane[0].place[a.plane[0].n] = a.plane[0].n;
      a.plane[0].number[a.plane[0].n] = (double)draw_between(&state, 1, 32);
    }
    for (size_t e = 0; e < planes * inner * cols; e++)
      room[e] = (double)draw_between(&state, -32, 32);
    b = (clarke_digit_matrix){.digit = room + (planes - 1) * inner * cols, .apart = -(ptrdiff_t)(inner * cols), .stride = cols,
                              .planes = planes, .width = 6};
    for (size_t e = 0; e < rows * cols; e++) {
      sum[e] = want[e] = (double)draw_between(&state, -9, 9);
      for (size_t k = 0; k < inner; k++)
        for (size_t s = 0; s <= dense && s <= weight; s++)
          if (weight - s < planes)
            want[e] += clarke_digits_row(&b, weight - s, k)[e % cols] *
                       (s == 0 ? a.plane[0].number[(rows + e / cols) * inner + k] : clarke_digits_row(&a, s, e / cols)[k]);
    }
    clarke_digits_multiply(&(clarke_digit_product){.a = &a, .b = &b, .rows = rows, .cols = cols, .inner = inner, .a_row = rows,
                                                   .room = INFINITY, .sum = sum}, 6 * weight);
    for (size_t e = 0; e < rows * cols; e++)
      ck_assert(sum[e] == want[e]);
    clarke_digits_clear(&a);
  }
}
END_TEST

/* mass times half of 2^width is 2^53, less what is carried. */
START_TEST(room_of_sums)
{
  for (long width = 2; width <= 30; width++) {
    ck_assert(ldexp(clarke_digits_room(width, false), (int)width - 1) == 0x1p53);
    ck_assert(ldexp(clarke_digits_room(width, true), (int)width - 1) == 0x1p53 - ldexp(1, 53 - (int)width));
  }
  ck_assert(clarke_nearest_integer(-2.75) == -3 && clarke_nearest_integer(0x1p51 - 0.75) == 0x1p51 - 1);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("digits");

  tcase_add_test(tests, cut_numbers);
  tcase_add_test(tests, lists_of_few);
  tcase_add_test(tests, products_of_the_largest);
  tcase_add_test(tests, products_together);
  tcase_add_test(tests, room_of_sums);
  return run_tests();
}
