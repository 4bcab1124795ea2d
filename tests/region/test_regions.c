/* Regions of piecewise linear programs, beside the definition: all choices of pieces and winners, each a strict system. */
#include "../ok.h"
#include "drawn_program.h"

#include "../network/networks.h"
#include "exact/cone.h"
#include "network/graph/build.h"
#include "program/unroll/unroll.h"
#include "program/prog.h"
#include "region/regions.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* --- the definition -------------------------------------------------------------------------- */

typedef struct {
  const clarke_code *p;
  const bool *needed; /* what no output depends on has no part */
  const fmpz_mat_struct *box;
  bool local;
  size_t dim;
  mpq_t *form;      /* by instruction, dim + 1 */
  mpq_t *row;       /* of the choices so far, dim + 1 */
  size_t n_rows;
  size_t regions;
  mpq_t *entry;     /* forms of inputs */
} brute;

static mpq_t *
form_of(const brute *b, size_t i)
{
  return b->form + i * (b->dim + 1);
}

static bool
feasible(const brute *b)
{
  const size_t width = b->dim + !b->local, fixed = (size_t)fmpz_mat_nrows(b->box);
  clarke_cone cone;
  fmpz_mat_t a;
  bool is;

  fmpz_mat_init(a, (slong)(fixed + b->n_rows), (slong)width);
  for (size_t i = 0; i < fixed; i++)
    _fmpz_vec_set(fmpz_mat_entry(a, (slong)i, 0), fmpz_mat_entry(b->box, (slong)i, 0), (slong)width);
  for (size_t i = 0; i < b->n_rows; i++) {
    mpz_t den;

    mpz_init_set_ui(den, 1);
    for (size_t j = 0; j < width; j++)
      mpz_lcm(den, den, mpq_denref(b->row[i * (b->dim + 1) + j]));
    for (size_t j = 0; j < width; j++) {
      mpq_t q;

      mpq_init(q);
      mpq_set_z(q, den);
      mpq_mul(q, q, b->row[i * (b->dim + 1) + j]);
      fmpz_set_mpz(fmpz_mat_entry(a, (slong)(fixed + i), (slong)j), mpq_numref(q));
      mpq_clear(q);
    }
    mpz_clear(den);
  }
  clarke_cone_init(&cone);
  OK(clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, &error));
  ck_assert(cone.answer != CLARKE_CONE_UNKNOWN);
  is = cone.answer == CLARKE_CONE_FEASIBLE;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return is;
}

/* turn * (form of i - that of j, or less the number q) > 0 is demanded. -1: it is false everywhere; 0: it is 0 everywhere; 1: it
 * is true, or became a row. */
static int
demand(brute *b, size_t i, size_t j, const mpq_t q, int turn)
{
  mpq_t *row = b->row + b->n_rows * (b->dim + 1);
  bool varies = false;

  for (size_t k = 0; k <= b->dim; k++) {
    mpq_set(row[k], form_of(b, i)[k]);
    if (j != CLARKE_NONE)
      mpq_sub(row[k], row[k], form_of(b, j)[k]);
    if (q != NULL && k == b->dim)
      mpq_sub(row[k], row[k], q);
    if (turn < 0)
      mpq_neg(row[k], row[k]);
    varies = varies || (k < b->dim && mpq_sgn(row[k]) != 0);
  }
  if (b->local ? mpq_sgn(row[b->dim]) != 0 : !varies)
    return mpq_sgn(row[b->dim]);
  if (!varies)
    return 0;
  b->n_rows++;
  return 1;
}

static void go(brute *b, size_t i);

/* Between pieces that are one polynomial there is no kink. */
static bool
is_kink(const clarke_pieces *p, size_t k)
{
  return !mpq_equal(p->coef[k][0], p->coef[k + 1][0]) || !mpq_equal(p->coef[k][1], p->coef[k + 1][1]);
}

static void
go_pieces(brute *b, size_t i)
{
  const clarke_instruction *at = &b->p->instruction[i];
  const clarke_pieces *p = at->pieces;
  const size_t before = b->n_rows;

  for (size_t piece = 0, last; piece <= p->n_kinks; piece = last + 1) {
    int low = piece > 0 ? demand(b, at->in[0], CLARKE_NONE, p->kink[piece - 1], 1) : 1, high = 1;

    for (last = piece; last < p->n_kinks && !is_kink(p, last);)
      last++;
    if (last < p->n_kinks)
      high = demand(b, at->in[0], CLARKE_NONE, p->kink[last], -1);

    if (low == 1 && high >= 0) { /* at its upper kink everywhere: this piece, not the next */
      for (size_t k = 0; k <= b->dim; k++)
        mpq_mul(form_of(b, i)[k], form_of(b, at->in[0])[k], p->coef[piece][1]);
      mpq_add(form_of(b, i)[b->dim], form_of(b, i)[b->dim], p->coef[piece][0]);
      go(b, i + 1);
    }
    b->n_rows = before;
  }
}

static void
go_order(brute *b, size_t i)
{
  const clarke_instruction *at = &b->p->instruction[i];
  const size_t before = b->n_rows;

  for (size_t a = 0; a < at->n_in; a++) {
    bool wins = true;

    for (size_t c = 0; c < at->n_in && wins; c++) {
      int less = c == a ? 1 : demand(b, at->in[a], at->in[c], NULL, at->rank == 1 ? 1 : -1);

      wins = less > 0 || (less == 0 && a < c);
    }
    for (size_t k = 0; k <= b->dim; k++)
      mpq_set(form_of(b, i)[k], form_of(b, at->in[a])[k]);
    if (wins)
      go(b, i + 1);
    b->n_rows = before;
  }
}

/* Instructions from i on. */
static void
go(brute *b, size_t i)
{
  const clarke_instruction *at = &b->p->instruction[i];
  mpq_t term;

  if (i == b->p->n) {
    b->regions += feasible(b);
    return;
  }
  if (!b->needed[i]) {
    go(b, i + 1);
    return;
  }
  if (at->kind == CLARKE_DO_PIECEWISE || at->kind == CLARKE_DO_ORDER) {
    at->kind == CLARKE_DO_PIECEWISE ? go_pieces(b, i) : go_order(b, i);
    return;
  }
  mpq_init(term);
  for (size_t k = 0; k <= b->dim; k++) {
    mpq_t *to = &form_of(b, i)[k];

    mpq_set_ui(*to, 0, 1);
    if (at->kind == CLARKE_DO_INPUT)
      mpq_set(*to, b->entry[clarke_code_entry(b->p, i) * (b->dim + 1) + k]);
    else if (at->kind == CLARKE_DO_CONSTANT && k == b->dim)
      mpq_set(*to, at->coef[0]);
    for (size_t j = 0; at->kind == CLARKE_DO_LINEAR && j < at->n_in; j++) {
      mpq_mul(term, at->coef[j], form_of(b, at->in[j])[k]);
      mpq_add(*to, *to, term);
    }
    if (at->kind == CLARKE_DO_LINEAR && k == b->dim)
      mpq_add(*to, *to, at->coef[at->n_in]);
  }
  ck_assert(at->kind == CLARKE_DO_INPUT || at->kind == CLARKE_DO_CONSTANT || at->kind == CLARKE_DO_LINEAR);
  mpq_clear(term);
  go(b, i + 1);
}

static size_t
by_definition(const clarke_code *p, const bool *needed, mpq_t *entry, size_t dim, const fmpz_mat_t box, bool local)
{
  brute b = {.p = p, .needed = needed, .box = box, .local = local, .dim = dim, .entry = entry};

  b.form = clarke_rationals(p->n * (dim + 1));
  b.row = clarke_rationals(8 * p->n * (dim + 1));
  go(&b, 0);
  clarke_rationals_free(b.form, p->n * (dim + 1));
  clarke_rationals_free(b.row, 8 * p->n * (dim + 1));
  return b.regions;
}

/* --- regions that are told ------------------------------------------------------------------- */

typedef struct {
  size_t n, size;
  bool local;
  unsigned char *choices;
} told;

/* The point is inside the cone; no pattern comes twice. */
static clarke_status
see(void *context, bool *go_on, const clarke_region *r, clarke_error *err)
{
  told *t = context;

  (void)err;
  for (slong i = 0; i < fmpz_mat_nrows(r->cone); i++) {
    fmpz_t sum, x;

    fmpz_init(sum);
    fmpz_init(x);
    for (slong j = 0; j < fmpz_mat_ncols(r->cone); j++) {
      clarke_witness_get(x, r->point, (size_t)j);
      fmpz_addmul(sum, x, fmpz_mat_entry(r->cone, i, j));
    }
    ck_assert(fmpz_sgn(sum) > 0);
    fmpz_clear(x);
    fmpz_clear(sum);
  }
  t->choices = realloc(t->choices, (t->n + 1) * t->size);
  memcpy(t->choices + t->n * t->size, r->choice, t->size);
  for (size_t k = 0; k < t->n; k++)
    ck_assert(memcmp(t->choices + k * t->size, r->choice, t->size) != 0);
  t->n++;
  *go_on = true;
  return CLARKE_OK;
}

/* -2 < z < 2 in every entry. */
static void
set_box(fmpz_mat_t box, size_t dim)
{
  fmpz_mat_init(box, (slong)(2 * dim), (slong)dim + 1);
  for (size_t i = 0; i < 2 * dim; i++) {
    fmpz_set_si(fmpz_mat_entry(box, (slong)i, (slong)(i / 2)), i % 2 == 0 ? 1 : -1);
    fmpz_set_ui(fmpz_mat_entry(box, (slong)i, (slong)dim), 2);
  }
}

/* context: a matrix of them, with dim + 1 columns. */
typedef struct {
  mpq_t *entry;
  size_t dim;
} dense;

static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  const dense *d = context;

  for (size_t k = 0; k <= d->dim; k++)
    mpq_set(form[k], d->entry[entry * (d->dim + 1) + k]);
}

/* *refused: it is not piecewise linear. */
static void
compare_code(bool *refused, const clarke_code *p, mpq_t *entry, size_t dim, bool local, const char *what)
{
  clarke_forms f;
  clarke_regions r;
  told t = {.local = local, .size = p->n};
  dense matrix = {entry, dim};
  fmpz_mat_t box;
  static size_t calls;
  const size_t threads = 1 + calls++ % 3;
  size_t expected;

  *refused = clarke_forms_init(&f, p, dim, set_entry, &matrix, &error) != CLARKE_OK;
  if (!*refused) {
    if (local)
      fmpz_mat_init(box, 0, (slong)dim);
    else
      set_box(box, dim);
    OK(clarke_regions_find(&r, &f, local ? NULL : box, threads, see, &t, &error));
    ck_assert(r.complete && !r.undecided);
    ck_assert_uint_eq(r.regions, t.n);
    expected = by_definition(p, f.needed, entry, dim, box, local);
    ck_assert_msg(r.regions == expected, "%zu regions, %zu by definition:\n%s", r.regions, expected, what);
    fmpz_mat_clear(box);
  }
  free(t.choices);
  clarke_forms_clear(&f);
}

static void
compare(const char *text, size_t inputs, bool local)
{
  clarke_code p;
  mpq_t *entry = clarke_rationals(inputs * (inputs + 1));
  bool refused;

  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "drawn.prog", &error));
  for (size_t i = 0; i < inputs; i++)
    mpq_set_ui(entry[i * (inputs + 1) + i], 1, 1);
  compare_code(&refused, &p, entry, inputs, local, text);
  ck_assert(!refused);
  clarke_code_clear(&p);
  clarke_rationals_free(entry, inputs * (inputs + 1));
}

static void
compare_many(bool local, uint64_t state)
{
  for (int k = 0; k < 150; k++) {
    const size_t inputs = 1 + roll(&state) % 4;
    source s = {.n = 0};

    put_network(&s, &state, inputs, NULL);
    compare(s.text, inputs, local);
  }
}

START_TEST(inside)
{
  compare_many(false, 88172645463325252u);
}
END_TEST

START_TEST(around)
{
  compare_many(true, 1234567890123u);
}
END_TEST

static double
quarters(uint64_t *state)
{
  return (double)draw_entry(state, 4) / 4;
}

/* Networks of all operators, one sample unrolled, on slices of one or two dimensions through it. */
START_TEST(networks)
{
  uint64_t state = 521288629u;
  size_t compared = 0, regions_of_several = 0;

  for (int k = 0; k < 1500; k++) {
    const size_t dim = 1 + roll(&state) % 2;
    growing grown;
    clarke_tensor x = grow_model(&grown, &state, quarters, 2 + roll(&state) % 7);
    clarke_graph g;
    clarke_code p;
    mpq_t *point, *entry;
    size_t n, kinks = 0;
    bool refused = true;

    clarke_graph_init(&g);
    clarke_code_init(&p);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    OK(clarke_unroll(&p, &point, &n, &g, &x, "in", &error));
    entry = clarke_rationals(n * (dim + 1));
    for (size_t i = 0; i < n; i++) {
      mpq_set(entry[i * (dim + 1) + dim], point[i]);
      for (size_t j = 0; j < dim; j++)
        mpq_set_si(entry[i * (dim + 1) + j], draw_entry(&state, 2), 1);
    }
    for (size_t i = 0; i < p.n; i++)
      kinks += p.instruction[i].kind == CLARKE_DO_PIECEWISE || p.instruction[i].kind == CLARKE_DO_ORDER;
    if (kinks > 0 && kinks <= 9 && (g.n_parameters == 0 || !g.parameters[0].wrt))
      compare_code(&refused, &p, entry, dim, k % 3 == 0, "a network");
    compared += !refused;
    regions_of_several += !refused && kinks > 3;
    clarke_rationals_free(point, n);
    clarke_rationals_free(entry, n * (dim + 1));
    clarke_code_clear(&p);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  ck_assert_uint_gt(compared, 100);
  ck_assert_uint_gt(regions_of_several, 30);
}
END_TEST

START_TEST(known)
{
  compare("input x0\ninput x1\noutput relu(x0) - relu(-x0) + relu(0 * x1)\n", 2, true);
  compare("input x0\ninput x1\nlet z = relu(0 * x0)\noutput hardtanh(z - 1) + hardtanh(z + 1) + max(x0, x0, x1)\n", 2, false);
  compare("input x0\ninput x1\noutput max(relu(x0), relu(x0), 0 * x1)\n", 2, false);
  compare("input x0\noutput relu(relu(x0)) + 1/3\n", 1, false);
  /* A sum without terms, z, is read by two others: there is a kink at x0 = 1/2. */
  compare("input x0\nlet u = relu(x0)\nlet z = 0 * u + 1/2\noutput max(u - z, 7) + max(u + 1 - z, 1)\n", 1, false);
}
END_TEST

START_TEST(refused)
{
  static const char *const texts[] = {
    "input t\noutput t * t\n", "input t\noutput exp(t)\n", "input t\noutput if t > 0 then t else 1\n", "input t\noutput 1 / t\n",
    "input t\noutput median(t, 1, 2)\n",
  };
  mpq_t *entry = clarke_rationals(2);
  dense matrix = {entry, 1};

  mpq_set_ui(entry[0], 1, 1);
  for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
    clarke_code p;
    clarke_forms f;

    clarke_code_init(&p);
    OK(clarke_prog_parse(&p, texts[k], strlen(texts[k]), "t.prog", &error));
    ck_assert_int_eq(clarke_forms_init(&f, &p, 1, set_entry, &matrix, &error), CLARKE_EINPUT);
    ck_assert_msg(strstr(error.text, "regions are those of piecewise linear functions") != NULL, "%s", error.text);
    clarke_forms_clear(&f);
    clarke_code_clear(&p);
  }
  clarke_rationals_free(entry, 2);
}
END_TEST

/* A sum of up to two of what there is, or of nothing, and a number; or a relu. */
static size_t
add_drawn(clarke_code *p, uint64_t *state)
{
  const clarke_spelling *spelling;
  const clarke_op *relu = clarke_operator_spelled("relu", &spelling);
  const size_t in[2] = {roll(state) % p->n, roll(state) % p->n}, n = roll(state) % 3;
  mpq_t *c = clarke_rationals(n + 1);
  size_t at;

  for (size_t k = 0; k <= n; k++)
    mpq_set_si(c[k], draw_entry(state, 2), 1);
  if (roll(state) % 4 == 0)
    OK(clarke_code_add_pointwise(p, &at, relu, in[0], 0, NULL, &error));
  else
    OK(clarke_code_add_linear(p, &at, n, in, c, &error));
  clarke_rationals_free(c, n + 1);
  return at;
}

/* Sums that are numbers, and sums of terms that are 0 on the piece taken, are read by several others: as of a layer with a row of
 * zeros that another layer follows, or of what is held. */
START_TEST(sums_of_nothing)
{
  uint64_t state = 362436069u;
  size_t compared = 0;

  for (int k = 0; k < 600; k++) {
    mpq_t *entry = clarke_rationals(2 * 3);
    clarke_code p;
    size_t at, kinks = 0;
    bool other;

    clarke_code_init(&p);
    OK(clarke_code_add_input(&p, &at, "x", 2, true, &error));
    for (int i = 0; i < 9; i++)
      at = add_drawn(&p, &state);
    for (size_t i = p.n - 4; i < p.n; i++)
      OK(clarke_code_add_output(&p, i, &error));
    for (size_t i = 0; i < 2; i++) {
      mpq_set_ui(entry[i * 3 + i], 1, 1);
      mpq_set_si(entry[i * 3 + 2], k % 2 == 0 ? draw_entry(&state, 1) : 0, 1);
    }
    for (size_t i = 0; i < p.n; i++)
      kinks += p.instruction[i].kind == CLARKE_DO_PIECEWISE;
    if (kinks <= 7) {
      compare_code(&other, &p, entry, 2, k % 2 == 0, "sums of nothing");
      ck_assert(!other);
      compared++;
    }
    clarke_rationals_free(entry, 6);
    clarke_code_clear(&p);
  }
  ck_assert_uint_gt(compared, 500);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("regions");

  tcase_add_test(tc, inside);
  tcase_add_test(tc, around);
  tcase_add_test(tc, networks);
  tcase_add_test(tc, sums_of_nothing);
  tcase_add_test(tc, known);
  tcase_add_test(tc, refused);
  return run_tests();
}
