/* Points on the other side of a hyperplane, beside a strict system in integers; and whole trees beside all sign vectors. */
#include "region/cross.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"
#include "exact/cone.h"
#include "region/sign_vectors.h"

#include <flint/fmpz_vec.h>
#include <math.h>
#include <string.h>

enum { ROWS = 6, DIM = 4 };

static void
draw_rows(clarke_rows *rows, size_t n, size_t dim, uint64_t *state)
{
  fmpz_mat_t integers;

  fmpz_mat_init(integers, (slong)n, (slong)dim);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < dim; j++)
      fmpz_set_si(fmpz_mat_entry(integers, (slong)i, (slong)j), draw_between(state, -3, 3));
    if (_fmpz_vec_is_zero(fmpz_mat_entry(integers, (slong)i, 0), (slong)dim))
      fmpz_one(fmpz_mat_entry(integers, (slong)i, 0));
  }
  OK(clarke_rows_init(rows, integers, &error));
  fmpz_mat_clear(integers);
}

/* Is there a point with the signs given? sign 0: any. */
static bool
possible(const clarke_rows *rows, const signed char *sign)
{
  slong n = 0;
  fmpz_mat_t a;
  clarke_cone cone;
  bool is;

  for (size_t i = 0; i < rows->n; i++)
    n += sign[i] != 0;
  fmpz_mat_init(a, n, (slong)rows->dim);
  n = 0;
  for (size_t i = 0; i < rows->n; i++)
    if (sign[i] != 0)
      _fmpz_vec_scalar_mul_si(fmpz_mat_entry(a, n++, 0), fmpz_mat_entry(rows->exact, (slong)i, 0), (slong)rows->dim, sign[i]);
  clarke_cone_init(&cone);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, &error));
  ck_assert(cone.answer != CLARKE_CONE_UNKNOWN);
  is = cone.answer == CLARKE_CONE_FEASIBLE;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return is;
}

/* --- one hyperplane -------------------------------------------------------------------------- */

typedef struct {
  clarke_rows rows;
  clarke_trail trail;
  clarke_witness at; /* has the trail's signs */
  double product[ROWS];
} place;

/* A point of small integers, and some of the rows it is on no hyperplane of. */
static void
draw_place(place *p, uint64_t *state)
{
  const size_t dim = 1 + draw_below(state, DIM);
  fmpz_mat_t column;
  double size = 0;

  memset(p, 0, sizeof *p);
  draw_rows(&p->rows, ROWS, dim, state);
  OK(clarke_trail_init(&p->trail, ROWS, &error));
  OK(clarke_witness_init(&p->at, dim, &error));
  fmpz_mat_init(column, (slong)dim, 1);
  for (slong j = 0; j < (slong)dim; j++)
    fmpz_set_si(fmpz_mat_entry(column, j, 0), draw_between(state, -9, 9));
  if (fmpz_mat_is_zero(column))
    fmpz_one(fmpz_mat_entry(column, 0, 0));
  clarke_witness_set_exact(&p->at, column);
  fmpz_mat_clear(column);
  for (size_t j = 0; j < dim; j++)
    size += p->at.x[j] * p->at.x[j];
  for (size_t i = 0; i < ROWS; i++) {
    const int sign = clarke_rows_sign(&p->rows, i, &p->at);

    for (size_t j = 0; j < dim; j++)
      p->product[i] += clarke_rows_unit(&p->rows, i)[j] * p->at.x[j] / sqrt(size);
    if (i + 1 < ROWS && sign != 0 && draw_below(state, 4) > 0)
      clarke_trail_push(&p->trail, i, sign, CLARKE_CHOSEN);
  }
}

static void
clear_place(place *p)
{
  clarke_witness_clear(&p->at);
  clarke_trail_clear(&p->trail);
  clarke_rows_clear(&p->rows);
}

static void
check_point(const clarke_rows *rows, const clarke_witness *to, const signed char *sign)
{
  for (size_t i = 0; i < rows->n; i++)
    if (sign[i] != 0)
      ck_assert_int_eq(clarke_rows_sign(rows, i, to), sign[i]);
}

/* The combination is 0, and each coefficient has its row's sign. */
static void
check_circuit(const clarke_rows *rows, const size_t *row, const fmpz *value, size_t n, const signed char *sign)
{
  fmpz *sum = _fmpz_vec_init((slong)rows->dim);

  ck_assert_uint_ge(n, 1);
  for (size_t k = 0; k < n; k++) {
    ck_assert(fmpz_sgn(value + k) != 0 && fmpz_sgn(value + k) == sign[row[k]]);
    _fmpz_vec_scalar_addmul_fmpz(sum, fmpz_mat_entry(rows->exact, (slong)row[k], 0), (slong)rows->dim, value + k);
  }
  ck_assert(_fmpz_vec_is_zero(sum, (slong)rows->dim));
  _fmpz_vec_clear(sum, (slong)rows->dim);
}

static void
check_program(clarke_crossing *c, place *p, clarke_witness *to, size_t row, int sign)
{
  signed char wanted[ROWS];
  clarke_cross_kind kind;
  size_t n = 0;

  memcpy(wanted, p->trail.sign, ROWS);
  if (row != SIZE_MAX)
    wanted[row] = (signed char)sign;
  OK(clarke_cross_program(&kind, to, &n, c, &p->trail, row, sign, &error));
  ck_assert(kind != CLARKE_CROSS_UNKNOWN);
  ck_assert_int_eq(kind == CLARKE_CROSS_POINT, possible(&p->rows, wanted));
  if (kind == CLARKE_CROSS_POINT)
    check_point(&p->rows, to, wanted);
  else
    check_circuit(&p->rows, c->member, c->value, n, wanted);
}

START_TEST(one_hyperplane)
{
  uint64_t state = 6;
  size_t steps = 0, crossed = 0;

  for (int round = 0; round < 600; round++) {
    const int sign = draw(&state) & 1 ? 1 : -1;
    clarke_crossing c;
    clarke_witness to = {0};
    signed char wanted[ROWS];
    place p;

    draw_place(&p, &state);
    OK(clarke_crossing_init(&c, &p.rows, &error));
    OK(clarke_witness_init(&to, p.rows.dim, &error));
    memcpy(wanted, p.trail.sign, ROWS);
    wanted[ROWS - 1] = (signed char)sign;
    steps += possible(&p.rows, wanted);
    if (clarke_cross_step(&c, &to, &p.trail, p.product, &p.at, ROWS - 1, sign)) {
      check_point(&p.rows, &to, wanted);
      crossed++;
    }
    check_program(&c, &p, &to, ROWS - 1, sign);
    if (p.trail.n > 0)
      check_program(&c, &p, &to, SIZE_MAX, 0);
    ck_assert_uint_eq(c.programs, 1 + (p.trail.n > 0));
    clarke_witness_clear(&to);
    clarke_crossing_clear(&c);
    clarke_crossing_clear(&c);
    clear_place(&p);
  }
  ck_assert(crossed <= steps && crossed > steps / 2); /* most are reached without a program */
}
END_TEST

/* --- all hyperplanes ------------------------------------------------------------------------- */

typedef struct {
  const clarke_rows *rows;
  size_t fixed, leaves, splits, circuits, most;
  bool seen[1 << ROWS];
} told;

static size_t
code_of(const signed char *sign)
{
  size_t code = 0;

  for (size_t i = 0; i < ROWS; i++)
    code = 2 * code + (sign[i] > 0);
  return code;
}

static clarke_status
see_leaf(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  told *t = context;

  (void)err;
  check_point(t->rows, w, sign);
  for (size_t i = 0; i < ROWS; i++)
    ck_assert(i < t->fixed ? sign[i] == 1 : sign[i] != 0);
  ck_assert(!t->seen[code_of(sign)]);
  t->seen[code_of(sign)] = true;
  *go_on = ++t->leaves != t->most;
  return CLARKE_OK;
}

static clarke_status
see_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  told *t = context;
  signed char sign[ROWS] = {0};

  (void)err;
  for (size_t k = 0; k < c->n; k++) {
    sign[c->row[k]] = (signed char)fmpz_sgn(c->value + k);
    ck_assert(c->row[k] >= t->fixed || sign[c->row[k]] > 0);
  }
  check_circuit(t->rows, c->row, c->value, c->n, sign);
  t->circuits++;
  return CLARKE_OK;
}

static clarke_status
see_split(void *context, size_t row, clarke_error *err)
{
  told *t = context;

  (void)err;
  ck_assert(row >= t->fixed && row < ROWS);
  t->splits++;
  return CLARKE_OK;
}

START_TEST(all_sign_vectors)
{
  uint64_t state = 7;
  size_t none = 0;

  for (int round = 0; round < 120; round++) {
    told t = {.fixed = draw_below(&state, 4), .most = draw_below(&state, 3) == 0 ? 2 : 0};
    const clarke_sign_visitor visitor = {&t, see_circuit, see_split, NULL, see_leaf};
    clarke_rows rows = {0};
    clarke_sign_tree tree = {0};
    size_t there = 0;

    draw_rows(&rows, ROWS, 1 + draw_below(&state, DIM), &state);
    t.rows = &rows;
    OK(clarke_sign_vectors(&tree, &rows, t.fixed, NULL, &visitor, &error));
    for (size_t code = 0; code < 1 << ROWS; code++) {
      signed char sign[ROWS];
      bool is = true;

      for (size_t i = 0; i < ROWS; i++) {
        sign[i] = code >> (ROWS - 1 - i) & 1 ? 1 : -1;
        is = is && (i >= t.fixed || sign[i] > 0);
      }
      is = is && possible(&rows, sign);
      there += is;
      ck_assert(tree.complete ? t.seen[code] == is : !t.seen[code] || is);
    }
    ck_assert_uint_eq(tree.leaves, t.leaves);
    ck_assert(!tree.undecided && !tree.stopped);
    ck_assert(tree.circuits == t.circuits && (there > 0 || t.circuits == 1));
    if (there == 0 || t.most == 0 || there < t.most)
      ck_assert(tree.complete && (there == 0 || t.splits == there - 1));
    else
      ck_assert_uint_eq(t.leaves, t.most);
    none += there == 0;
    clarke_rows_clear(&rows);
  }
  ck_assert_uint_gt(none, 5);
}
END_TEST

MODULE(cross)
{
  TCase *tests = tests_of("cross");

  tcase_add_test(tests, one_hyperplane);
  tcase_add_test(tests, all_sign_vectors);
  return all_tests;
}
