/* Linear steps on matrices of small integers, against sums as step.h writes them; and each way back against the way there:
 * <g, A x> = <A^T g, x>. */
#include "network/graph/contraction.h"
#include "network/pass/linear.h"
#include "network/pass/softmax.h"
#include "../draw.h"
#include "../ok.h"

#include <math.h>
#include <string.h>

#define MOST 4096

typedef struct {
  clarke_matrix m;
  double at[MOST];
} table;

static void
draw_table(table *t, size_t rows, size_t cols, uint64_t *state)
{
  ck_assert_uint_le(rows * cols, MOST);
  clarke_matrix_init(&t->m);
  for (size_t k = 0; k < rows * cols; k++)
    t->at[k] = (double)draw_between(state, -9, 9);
  OK(clarke_matrix_set_doubles(&t->m, rows, cols, t->at, &error));
}

static void
assert_entries(const clarke_matrix *m, size_t rows, size_t cols, const double *want)
{
  ck_assert_uint_eq(m->rows, rows);
  ck_assert_uint_eq(m->cols, cols);
  for (size_t k = 0; k < rows * cols; k++)
    ck_assert_msg(clarke_matrix_get_double(m, k / cols, k % cols) == want[k], "entry %zu of %zu x %zu", k, rows, cols);
}

static double
inner(const clarke_matrix *m, const double *with)
{
  double sum = 0;

  for (size_t k = 0; k < m->rows * m->cols; k++)
    sum += clarke_matrix_get_double(m, k / m->cols, k % m->cols) * with[k];
  return sum;
}

/* y[b,o,r] = sum over i of W[o,i] x[b,i,r], for n samples. */
static void
dense(double *y, const clarke_dense *d, const double *w, const double *x, size_t n)
{
  for (size_t b = 0; b < d->blocks; b++)
    for (size_t o = 0; o < d->outer; o++)
      for (size_t e = 0; e < d->repeat * n; e++) {
        double *to = &y[(b * d->outer + o) * d->repeat * n + e];

        *to = 0;
        for (size_t i = 0; i < d->inner; i++) {
          const size_t at = d->transposed ? i * d->outer + o : (d->grouped ? b * d->outer * d->inner : 0) + o * d->inner + i;

          *to += w[at] * x[(b * d->inner + i) * d->repeat * n + e];
        }
      }
}

START_TEST(dense_both_ways)
{
  uint64_t state = 1;
  static double want[MOST];

  for (int round = 0; round < 400; round++) {
    const size_t n = 1 + draw_below(&state, 3);
    clarke_step s = {.kind = CLARKE_DENSE};
    clarke_dense *d = &s.dense;
    table w, x, g;
    clarke_matrix y, back;

    d->blocks = 1 + draw_below(&state, 3);
    d->inner = 1 + draw_below(&state, 4);
    d->outer = 1 + draw_below(&state, 4);
    d->repeat = 1 + draw_below(&state, 3);
    d->grouped = draw_below(&state, 3) == 0;
    d->transposed = !d->grouped && draw_below(&state, 2) == 0;
    draw_table(&w, d->transposed ? d->inner : (d->grouped ? d->blocks : 1) * d->outer, d->transposed ? d->outer : d->inner, &state);
    draw_table(&x, d->blocks * d->inner * d->repeat, n, &state);
    draw_table(&g, d->blocks * d->outer * d->repeat, n, &state);
    clarke_matrix_init(&y);
    clarke_matrix_init(&back);
    OK(clarke_dense_apply(&y, &s, &w.m, &x.m, false, &error));
    dense(want, d, w.at, x.at, n);
    assert_entries(&y, d->blocks * d->outer * d->repeat, n, want);
    OK(clarke_dense_apply(&back, &s, &w.m, &g.m, true, &error));
    ck_assert_uint_eq(back.rows, x.m.rows);
    ck_assert(inner(&y, g.at) == inner(&back, x.at));
    clarke_matrix_clear(&y);
    clarke_matrix_clear(&back);
    clarke_matrix_clear(&w.m);
    clarke_matrix_clear(&x.m);
    clarke_matrix_clear(&g.m);
  }
}
END_TEST

/* A map into `count` entries, some of them 0. */
static size_t *
draw_map(size_t n, size_t count, uint64_t *state)
{
  size_t *map = malloc(n * sizeof *map);

  for (size_t k = 0; k < n; k++)
    map[k] = draw_below(state, 6) == 0 ? CLARKE_NONE : draw_below(state, count);
  return map;
}

static double
entry(const table *t, size_t e, size_t j)
{
  return e == CLARKE_NONE ? 0 : t->at[e * t->m.cols + j];
}

/* m = m (2^30 + 1): its products have more than a word. */
static void
lengthen(clarke_matrix *m)
{
  mpq_t factor;

  mpq_init(factor);
  mpq_set_ui(factor, (1UL << 30) + 1, 1);
  OK(clarke_matrix_scale(m, m, factor, &error));
  mpq_clear(factor);
}

/* The same contractions of long numbers, y and the ways back to x as they are of short ones. */
static void
assert_long(const clarke_step *s, table *x, table *g, const clarke_matrix *y)
{
  clarke_matrix more, back;

  clarke_matrix_init(&more);
  clarke_matrix_init(&back);
  for (int way = 0; way < 3; way++) { /* to either operand, then there */
    const clarke_matrix *other = way < 2 ? &x[1 - way].m : NULL;

    if (way < 2)
      OK(clarke_contract_back(&back, s, (size_t)way, x[way].m.rows, &g->m, other, &error));
    lengthen(way < 2 ? &g->m : &x[0].m);
    lengthen(&x[way < 2 ? 1 - way : 1].m);
    if (way < 2)
      OK(clarke_contract_back(&more, s, (size_t)way, x[way].m.rows, &g->m, other, &error));
    else
      OK(clarke_contract(&more, s, &x[0].m, &x[1].m, &error));
    OK(clarke_matrix_copy(&back, way < 2 ? &back : y, &error));
    for (int i = 0; i < 2; i++)
      lengthen(&back);
    OK(clarke_matrix_sub(&more, &more, &back, &error));
    ck_assert(clarke_matrix_is_zero(&more));
    for (size_t i = 0; i < 2; i++)
      OK(clarke_matrix_set_doubles(&x[i].m, x[i].m.rows, x[i].m.cols, x[i].at, &error));
    OK(clarke_matrix_set_doubles(&g->m, g->m.rows, g->m.cols, g->at, &error));
  }
  clarke_matrix_clear(&more);
  clarke_matrix_clear(&back);
}

START_TEST(contractions_both_ways)
{
  uint64_t state = 2;
  static double want[MOST];

  for (int round = 0; round < 300; round++) {
    const size_t n = 1 + draw_below(&state, 3), counts[2] = { 1 + draw_below(&state, 9), 1 + draw_below(&state, 9) };
    clarke_operand in[2] = {{0}, {0}};
    clarke_step s = {.kind = CLARKE_PRODUCT, .n_in = 2, .in = in};
    clarke_contraction *c = &s.contraction;
    table x[2], g;
    clarke_matrix y, back;

    *c = (clarke_contraction){.blocks = 1 + draw_below(&state, 3), .rows = 1 + draw_below(&state, 3), .inner = 1 + draw_below(&state, 4),
                              .cols = 1 + draw_below(&state, 3)};
    if (round % 3 == 0) { /* products of matrices take such blocks */
      c->rows += 6;
      c->inner += 6;
      c->cols += 6;
    }
    in[0].map = draw_map(c->blocks * c->rows * c->inner, counts[0], &state);
    in[1].map = draw_map(c->blocks * c->inner * c->cols, counts[1], &state);
    draw_table(&x[0], counts[0], n, &state);
    draw_table(&x[1], counts[1], n, &state);
    draw_table(&g, c->blocks * c->rows * c->cols, n, &state);
    clarke_matrix_init(&y);
    clarke_matrix_init(&back);
    for (size_t f = 0; f < g.m.rows; f++)
      for (size_t j = 0; j < n; j++) {
        const size_t b = f / (c->rows * c->cols), i = f / c->cols % c->rows, o = f % c->cols;

        want[f * n + j] = 0;
        for (size_t k = 0; k < c->inner; k++)
          want[f * n + j] += entry(&x[0], in[0].map[(b * c->rows + i) * c->inner + k], j)
                             * entry(&x[1], in[1].map[(b * c->inner + k) * c->cols + o], j);
      }
    OK(clarke_contract(&y, &s, &x[0].m, &x[1].m, &error));
    assert_entries(&y, g.m.rows, n, want);
    for (size_t to = 0; to < 2; to++) {
      OK(clarke_contract_back(&back, &s, to, counts[to], &g.m, &x[1 - to].m, &error));
      ck_assert_uint_eq(back.rows, counts[to]);
      ck_assert(inner(&y, g.at) == inner(&back, x[to].at));
    }
    assert_long(&s, x, &g, &y);
    for (size_t to = 0; to < 2; to++) {
      clarke_matrix_clear(&x[to].m);
      free(in[to].map);
    }
    clarke_matrix_clear(&y);
    clarke_matrix_clear(&back);
    clarke_matrix_clear(&g.m);
  }
}
END_TEST

/* What entry e of a table stands for: a number within its radius, or the middle where that is 0 or infinite. */
static double
meant(const table *t, const double *off, size_t e, size_t j)
{
  return e == CLARKE_NONE ? 0 : entry(t, e, j) + off[e * t->m.cols + j];
}

/* Radii of 0, 1/4 and, once in a while, infinity, and what is within them. */
static void
draw_radii(table *t, double *off, bool unbounded, uint64_t *state)
{
  OK(clarke_matrix_need_radius(&t->m, &error));
  for (size_t k = 0; k < t->m.rows * t->m.cols; k++) {
    t->m.radius[k] = unbounded && draw_below(state, 30) == 0 ? INFINITY : draw_below(state, 2) == 0 ? 0 : 0.25;
    off[k] = t->m.radius[k] == 0.25 ? (double)draw_between(state, -2, 2) / 8 : 0;
  }
}

/* At least what a sum of products of such factors may be off by; exactly that, as all are small multiples of 1/16. */
static double
reach(const table *a, size_t e, const table *c, size_t f, size_t j)
{
  const double x = fabs(entry(a, e, j)), z = fabs(entry(c, f, j));
  const double r = e == CLARKE_NONE ? 0 : a->m.radius[e * a->m.cols + j], s = f == CLARKE_NONE ? 0 : c->m.radius[f * c->m.cols + j];

  return (x > 0 ? x * s : 0) + (r > 0 && z + s > 0 ? r * (z + s) : 0);
}

START_TEST(contractions_of_enclosures)
{
  uint64_t state = 7;
  static double off[2][MOST];

  for (int round = 0; round < 200; round++) {
    const size_t n = 1 + draw_below(&state, 2), counts[2] = {5 + draw_below(&state, 60), 5 + draw_below(&state, 60)};
    clarke_operand in[2] = {{0}, {0}};
    clarke_step s = {.kind = CLARKE_PRODUCT, .n_in = 2, .in = in};
    clarke_contraction *c = &s.contraction;
    table x[2];
    clarke_matrix y;

    *c = (clarke_contraction){.blocks = 1 + draw_below(&state, 2), .rows = 5 + draw_below(&state, 4), .inner = 5 + draw_below(&state, 4),
                              .cols = 5 + draw_below(&state, 4)};
    in[0].map = draw_map(c->blocks * c->rows * c->inner, counts[0], &state);
    in[1].map = draw_map(c->blocks * c->inner * c->cols, counts[1], &state);
    for (size_t i = 0; i < 2; i++) {
      draw_table(&x[i], counts[i], n, &state);
      draw_radii(&x[i], off[i], round % 4 == 0, &state);
    }
    clarke_matrix_init(&y);
    OK(clarke_contract(&y, &s, &x[0].m, &x[1].m, &error));
    for (size_t f = 0; f < c->blocks * c->rows * c->cols; f++)
      for (size_t j = 0; j < n; j++) {
        double true_one = 0, most = 0;
        const double radius = clarke_matrix_radius(&y, f, j);

        for (size_t k = 0; k < c->inner; k++) {
          const size_t a = clarke_step_factor(&s, 0, f, k), z = clarke_step_factor(&s, 1, f, k);

          true_one += meant(&x[0], off[0], a, j) * meant(&x[1], off[1], z, j);
          most += reach(&x[0], a, &x[1], z, j);
        }
        ck_assert(fabs(clarke_matrix_get_double(&y, f, j) - true_one) <= radius);
        ck_assert(isinf(most) ? isinf(radius) : radius >= most && radius <= most * (1 + 0x1p-40) + 0x1p-1000);
      }
    for (size_t i = 0; i < 2; i++) {
      clarke_matrix_clear(&x[i].m);
      free(in[i].map);
    }
    clarke_matrix_clear(&y);
  }
}
END_TEST

START_TEST(sums_of_softmax_groups)
{
  uint64_t state = 3;
  static double want[MOST];

  for (int round = 0; round < 100; round++) {
    const size_t n = 1 + draw_below(&state, 3);
    clarke_step s = {.kind = CLARKE_SOFTMAX, .groups = 1 + draw_below(&state, 3), .length = 1 + draw_below(&state, 4),
                     .stride = 1 + draw_below(&state, 3)};
    table x;
    clarke_matrix y;

    draw_table(&x, s.groups * s.length * s.stride, n, &state);
    clarke_matrix_init(&y);
    for (size_t f = 0; f < x.m.rows; f++)
      for (size_t j = 0; j < n; j++) {
        want[f * n + j] = 0;
        for (size_t k = 0; k < s.length; k++)
          want[f * n + j] += x.at[((f / (s.length * s.stride) * s.length + k) * s.stride + f % s.stride) * n + j];
      }
    OK(clarke_softmax_groups(&y, &s, &x.m, &error));
    assert_entries(&y, x.m.rows, n, want);
    clarke_matrix_clear(&x.m);
    clarke_matrix_clear(&y);
  }
}
END_TEST

/* Products of blocks, and an operand through its map, times its coefficient. */
START_TEST(blocks_and_operands)
{
  static const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 }, product[] = { 5, 6, 10, 12, 21, 24, 28, 32 };
  static const double mapped[] = { 8, 0, 2, 8 };
  size_t map[] = { 3, CLARKE_NONE, 0, 3 };
  const clarke_operand through = {.coef = 2, .map = map};
  clarke_matrix x, c, y;

  clarke_matrix_init(&x);
  clarke_matrix_init(&c);
  clarke_matrix_init(&y);
  OK(clarke_matrix_set_doubles(&x, 4, 1, a, &error));
  OK(clarke_matrix_set_doubles(&c, 2, 2, b, &error));
  OK(clarke_each_block(&y, 2, &x, &c, clarke_matrix_mul, &error)); /* of (1, 2) and (5, 6); of (3, 4) and (7, 8) */
  assert_entries(&y, 4, 2, product);
  OK(clarke_operand_apply(&y, &through, &x, 4, &error));
  assert_entries(&y, 4, 1, mapped);
  clarke_matrix_clear(&x);
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&y);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("linear");

  tcase_add_test(tests, dense_both_ways);
  tcase_add_test(tests, contractions_both_ways);
  tcase_add_test(tests, contractions_of_enclosures);
  tcase_add_test(tests, sums_of_softmax_groups);
  tcase_add_test(tests, blocks_and_operands);
  return run_tests();
}
