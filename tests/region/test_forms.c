/* Affine forms of drawn programs, under the choices that points make, beside the programs' values at the points; the sums among
 * them; and what is not piecewise linear. */
#include "region/forms.h"
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"
#include "drawn_program.h"
#include "program/prog.h"
#include "region/functions.h"

#include <flint/fmpz_vec.h>
#include <string.h>

/* --- values ---------------------------------------------------------------------------------- */

static void
add_term(mpq_t sum, const mpq_t coef, const mpq_t x)
{
  mpq_t term;

  mpq_init(term);
  mpq_mul(term, coef, x);
  mpq_add(sum, sum, term);
  mpq_clear(term);
}

/* The value of instruction i, those before it known; choice: the piece, or the winner. */
static void
evaluate(mpq_t *value, size_t *choice, const clarke_code *p, size_t i, mpq_t *input)
{
  const clarke_instruction *at = &p->instruction[i];
  mpq_t *to = &value[i];

  choice[i] = 0;
  switch (at->kind) {
  case CLARKE_DO_INPUT:
    mpq_set(*to, input[clarke_code_entry(p, i)]);
    break;
  case CLARKE_DO_CONSTANT:
    mpq_set(*to, at->coef[0]);
    break;
  case CLARKE_DO_LINEAR:
    mpq_set(*to, at->coef[at->n_in]);
    for (size_t j = 0; j < at->n_in; j++)
      add_term(*to, at->coef[j], value[at->in[j]]);
    break;
  case CLARKE_DO_PRODUCT:
    mpq_mul(*to, value[at->in[0]], value[at->in[1]]);
    break;
  case CLARKE_DO_QUOTIENT:
    mpq_div(*to, value[at->in[0]], value[at->in[1]]);
    break;
  case CLARKE_DO_PIECEWISE:
    for (size_t k = 0; k < at->pieces->n_kinks; k++)
      choice[i] += mpq_cmp(value[at->in[0]], at->pieces->kink[k]) > 0;
    mpq_set(*to, at->pieces->coef[choice[i]][0]);
    add_term(*to, at->pieces->coef[choice[i]][1], value[at->in[0]]);
    break;
  default:
    ck_assert(at->kind == CLARKE_DO_ORDER);
    for (size_t j = 1; j < at->n_in; j++) {
      const int more = mpq_cmp(value[at->in[j]], value[at->in[choice[i]]]);

      choice[i] = (at->rank == 1 ? more : -more) > 0 ? j : choice[i];
    }
    mpq_set(*to, value[at->in[choice[i]]]);
  }
}

/* The form, over den, at z. */
static void
form_at(mpq_t value, const fmpz *form, const fmpz *den, mpq_t *z, size_t dim)
{
  mpq_t part;

  mpq_init(part);
  mpq_set_ui(value, 0, 1);
  for (size_t k = 0; k <= dim; k++) {
    fmpz_get_mpz(mpq_numref(part), form + k);
    mpz_set_ui(mpq_denref(part), 1);
    if (k < dim)
      mpq_mul(part, part, z[k]);
    mpq_add(value, value, part);
  }
  fmpz_get_mpz(mpq_numref(part), den);
  mpz_set_ui(mpq_denref(part), 1);
  mpq_div(value, value, part);
  mpq_clear(part);
}

/* --- along a segment, or over all inputs ----------------------------------------------------- */

/* The inputs are from + sum z_k way[k]. */
typedef struct {
  size_t dim, inputs;
  mpq_t *entry; /* inputs x (dim + 1), the constant last */
} slice;

static void
give_entry(mpq_t *form, size_t entry, void *context)
{
  const slice *s = context;

  for (size_t k = 0; k <= s->dim; k++)
    mpq_set(form[k], s->entry[entry * (s->dim + 1) + k]);
}

static void
draw_rational(mpq_t q, uint64_t *state, long most)
{
  mpq_set_si(q, draw_between(state, -most, most), (unsigned long)draw_between(state, 1, 3));
  mpq_canonicalize(q);
}

static void
check_rows(const clarke_forms *f, size_t i, mpq_t *value, mpq_t *z)
{
  const clarke_instruction *at = &f->p->instruction[i];
  fmpz *row = _fmpz_vec_init((slong)f->dim + 2);
  mpq_t sign, gap;

  mpq_inits(sign, gap, NULL);
  fmpz_one(row + f->dim + 1);
  for (size_t k = 0; at->kind == CLARKE_DO_PIECEWISE && k < at->pieces->n_kinks; k++) {
    clarke_forms_kink(row, f, i, k);
    form_at(sign, row, row + f->dim + 1, z, f->dim);
    mpq_sub(gap, value[at->in[0]], at->pieces->kink[k]);
    ck_assert_int_eq(mpq_sgn(sign), mpq_sgn(gap));
  }
  for (size_t a = 0; at->kind == CLARKE_DO_ORDER && a < at->n_in; a++)
    for (size_t b = 0; b < at->n_in; b++) {
      clarke_forms_difference(row, f, i, a, b);
      form_at(sign, row, row + f->dim + 1, z, f->dim);
      mpq_sub(gap, value[at->in[a]], value[at->in[b]]);
      ck_assert_int_eq(mpq_sgn(sign), at->rank == 1 ? mpq_sgn(gap) : -mpq_sgn(gap));
    }
  mpq_clears(sign, gap, NULL);
  _fmpz_vec_clear(row, (slong)f->dim + 2);
}

/* All forms under the choices of a point are the values there; rows have the signs of what they compare. */
static void
check_at(clarke_forms *f, const slice *s, uint64_t *state)
{
  mpq_t *z = clarke_rationals(s->dim), *input = clarke_rationals(s->inputs), *value = clarke_rationals(f->p->n), sum;
  size_t *choice = calloc(f->p->n, sizeof *choice);

  mpq_init(sum);
  for (size_t k = 0; k < s->dim; k++)
    draw_rational(z[k], state, 4);
  for (size_t i = 0; i < s->inputs; i++) {
    mpq_set(input[i], s->entry[i * (s->dim + 1) + s->dim]);
    for (size_t k = 0; k < s->dim; k++)
      add_term(input[i], s->entry[i * (s->dim + 1) + k], z[k]);
  }
  for (size_t i = 0; i < f->p->n; i++)
    if (f->needed[i])
      evaluate(value, choice, f->p, i, input);
  for (size_t l = 0; l < f->n_live; l++) {
    const size_t i = f->live[l];
    const uint64_t before = f->version[i];
    fmpz *old = _fmpz_vec_init((slong)f->dim + 1);

    _fmpz_vec_set(old, clarke_forms_at(f, i), (slong)f->dim + 1);
    clarke_forms_compute(f, i, choice[i]);
    ck_assert(f->version[i] > before || _fmpz_vec_equal(old, clarke_forms_at(f, i), (slong)f->dim + 1));
    _fmpz_vec_clear(old, (slong)f->dim + 1);
    form_at(sum, clarke_forms_at(f, i), f->den + i, z, f->dim);
    ck_assert_msg(mpq_equal(sum, value[i]), "instruction %zu", i);
    check_rows(f, i, value, z);
  }
  mpq_clear(sum);
  free(choice);
  clarke_rationals_free(z, s->dim);
  clarke_rationals_free(input, s->inputs);
  clarke_rationals_free(value, f->p->n);
}

static void
check_code(const clarke_code *p, size_t inputs, uint64_t *state)
{
  slice s = {1 + draw_below(state, 2), inputs, NULL};
  clarke_forms f, copy = {0};
  fmpz *kept;

  s.entry = clarke_rationals(inputs * (s.dim + 1));
  for (size_t k = 0; k < inputs * (s.dim + 1); k++)
    draw_rational(s.entry[k], state, 3);
  OK(clarke_forms_init(&f, p, s.dim, give_entry, &s, &error));
  kept = _fmpz_vec_init((slong)(p->n * (s.dim + 1)));
  for (int k = 0; k < 4; k++)
    check_at(&f, &s, state);
  _fmpz_vec_set(kept, f.form, (slong)(p->n * (s.dim + 1)));
  OK(clarke_forms_share(&copy, &f, &error));
  for (int k = 0; k < 3; k++)
    check_at(&copy, &s, state);
  ck_assert(_fmpz_vec_equal(kept, f.form, (slong)(p->n * (s.dim + 1))));
  for (int k = 0; k < 2; k++) {
    check_at(&f, &s, state);
    check_at(&copy, &s, state);
  }
  clarke_forms_unshare(&copy);
  clarke_forms_unshare(&copy);
  check_at(&f, &s, state);
  _fmpz_vec_clear(kept, (slong)(p->n * (s.dim + 1)));
  clarke_forms_clear(&f);
  clarke_forms_clear(&f);
  clarke_rationals_free(s.entry, inputs * (s.dim + 1));
}

START_TEST(drawn_programs)
{
  uint64_t state = 88172645463325252u;

  for (int round = 0; round < 120; round++) {
    const size_t inputs = 1 + draw_below(&state, 3);
    source text = {.n = 0};
    clarke_code p;

    put_network(&text, &state, inputs, NULL);
    clarke_code_init(&p);
    OK(clarke_prog_parse(&p, text.text, text.n, "drawn.prog", &error));
    check_code(&p, inputs, &state);
    clarke_code_clear(&p);
  }
}
END_TEST

/* --- factors that do not vary ---------------------------------------------------------------- */

static size_t
add_constant(clarke_code *p, long num, unsigned long den)
{
  size_t at;
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, num, den);
  OK(clarke_code_add_constant(p, &at, q, &error));
  mpq_clear(q);
  return at;
}

static size_t
add_two(clarke_code *p, clarke_do kind, size_t a, size_t b)
{
  const size_t in[] = {a, b};
  size_t at;

  OK(clarke_code_add(p, &at, kind, 2, in, &error));
  return at;
}

static size_t
add_sum(clarke_code *p, const size_t *in, const long *coef, size_t n)
{
  mpq_t *q = clarke_rationals(n + 1);
  size_t at;

  for (size_t k = 0; k <= n; k++) {
    mpq_set_si(q[k], coef[k], 2);
    mpq_canonicalize(q[k]);
  }
  OK(clarke_code_add_linear(p, &at, n, in, q, &error));
  clarke_rationals_free(q, n + 1);
  return at;
}

/* Products and quotients with numbers are sums' terms, one after another, used once or twice. */
START_TEST(factors)
{
  uint64_t state = 9;
  clarke_code p;
  size_t x, three, half, a, b, c, d, e, varying[5];

  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &x, "x", 2, true, &error));
  three = add_constant(&p, 3, 1);
  half = add_constant(&p, -1, 2);
  a = add_two(&p, CLARKE_DO_PRODUCT, three, x);
  b = add_two(&p, CLARKE_DO_QUOTIENT, a, half);
  c = add_two(&p, CLARKE_DO_PRODUCT, x + 1, half);
  d = add_sum(&p, (const size_t[]){b, c, three, c}, (const long[]){1, -3, 5, 7, 1}, 4);
  e = add_sum(&p, (const size_t[]){d, d, x}, (const long[]){2, 0, 1, 4}, 3);
  OK(clarke_code_add_output(&p, e, &error));
  OK(clarke_code_add_output(&p, c, &error));
  varying[0] = clarke_varying_factor(&p, &p.instruction[a]);
  varying[1] = clarke_varying_factor(&p, &p.instruction[b]);
  varying[2] = clarke_varying_factor(&p, &p.instruction[c]);
  ck_assert(varying[0] == 1 && varying[1] == 0 && varying[2] == 0);
  check_code(&p, 2, &state);
  varying[3] = clarke_varying_factor(&p, &p.instruction[add_two(&p, CLARKE_DO_PRODUCT, x, x + 1)]);
  varying[4] = clarke_varying_factor(&p, &p.instruction[add_two(&p, CLARKE_DO_QUOTIENT, three, x)]);
  ck_assert(varying[3] == 2 && varying[4] == 2);
  clarke_code_clear(&p);
}
END_TEST

/* A sum holds its terms' forms: it changes with them, and says whether it did. */
START_TEST(kept_sums)
{
  clarke_code p;
  size_t x, at;
  bool needed[3] = {true, true, true};
  fmpz *den = _fmpz_vec_init(3), *forms = _fmpz_vec_init(9), *own = _fmpz_vec_init(3);
  uint64_t version[3] = {1, 1, 0};
  clarke_sums s;
  clarke_sum sum = {0}, copy;

  clarke_code_init(&p);
  OK(clarke_code_add_input(&p, &x, "x", 2, true, &error));
  at = add_sum(&p, (const size_t[]){x, x + 1}, (const long[]){4, -3, 1}, 2); /* 2 x - 3/2 y + 1/2 */
  OK(clarke_code_add_output(&p, at, &error));
  fmpz_one(den);
  fmpz_set_ui(den + 1, 3);
  fmpz_one(forms);     /* x = z_0 */
  fmpz_one(forms + 4); /* y = z_1 / 3 */
  OK(clarke_sums_init(&s, &p, needed, 3, &error));
  OK(clarke_sums_make(&sum, &s, den, forms + 6, at, &error));
  clarke_sums_clear(&s);
  clarke_sums_clear(&s);
  ck_assert(fmpz_equal_si(den + at, 6) && fmpz_equal_si(forms + 8, 3)); /* over 6: 12 z_0 - 3 z_1 + 3 */
  ck_assert(clarke_sum_update(&sum, forms + 6, forms, version, 3));
  ck_assert(fmpz_equal_si(forms + 6, 12) && fmpz_equal_si(forms + 7, -3) && fmpz_equal_si(forms + 8, 3));
  ck_assert(!clarke_sum_update(&sum, forms + 6, forms, version, 3));
  OK(clarke_sum_share(&copy, &sum, 3, &error));
  _fmpz_vec_set(own, forms + 6, 3);
  fmpz_set_si(forms + 2, -5); /* x = z_0 - 5 */
  ck_assert(!clarke_sum_update(&sum, forms + 6, forms, version, 3)); /* nobody told */
  version[0]++;
  ck_assert(clarke_sum_update(&copy, own, forms, version, 3));
  ck_assert(fmpz_equal_si(own, 12) && fmpz_equal_si(own + 2, -57) && fmpz_equal_si(forms + 8, 3));
  clarke_sum_unshare(&copy, 3);
  ck_assert(clarke_sum_update(&sum, forms + 6, forms, version, 3));
  ck_assert(_fmpz_vec_equal(own, forms + 6, 3));
  clarke_sum_clear(&sum, 3);
  clarke_sum_clear(&sum, 3);
  clarke_code_clear(&p);
  _fmpz_vec_clear(den, 3);
  _fmpz_vec_clear(forms, 9);
  _fmpz_vec_clear(own, 3);
}
END_TEST

/* --- what is refused ------------------------------------------------------------------------- */

static void
check_refusal(const char *text, bool products, const char *why)
{
  bool needed[32] = {false};
  size_t kinks = 99;
  clarke_code p;

  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "f.prog", &error));
  ck_assert_uint_lt(p.n, 32);
  if (why == NULL)
    OK(clarke_forms_check(needed, &kinks, &p, products, &error));
  else {
    ck_assert_int_eq(clarke_forms_check(needed, &kinks, &p, products, &error), CLARKE_EINPUT);
    ck_assert_msg(strstr(error.text, why) != NULL && strstr(error.text, "f.prog:2:") != NULL, "%s", error.text);
  }
  clarke_code_clear(&p);
}

START_TEST(refusals)
{
  check_refusal("input x[3]\noutput x[0] * x[1]\n", false, "a product of two numbers that vary");
  check_refusal("input x[3]\noutput x[0] * x[1]\n", true, NULL);
  check_refusal("input x[3]\noutput x[0] / x[1]\n", true, "a quotient by a number that varies");
  check_refusal("input x[3]\noutput median(x[0], x[1], x[2])\n", false, "an order statistic that is neither");
  check_refusal("input x[3]\noutput if x[0] > 0 then x[1] else x[2]\n", false, "a branch");
  check_refusal("input x[3]\noutput exp(x[0])\n", false, "not piecewise linear");
  check_refusal("input x[3]\noutput norm2(x)\n", false, "not piecewise linear");
  check_refusal("input x[3]\noutput hardswish(x[0])\n", false, "a piece of degree 2");
  check_refusal("input x[3]\nlet unused = exp(x[0])\noutput max(x[0], relu(x[1]))\n", false, NULL);
}
END_TEST

/* Kinks that some output needs are counted, others not. */
START_TEST(counts)
{
  static const char text[] = "input x\nlet a = relu(x)\nlet b = relu(x + 1)\nlet c = max(a, x - 2, 0)\noutput c + a\n";
  bool needed[32] = {false};
  size_t kinks, n = 0;
  clarke_code p;

  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "f.prog", &error));
  OK(clarke_forms_check(needed, &kinks, &p, false, &error));
  ck_assert_uint_eq(kinks, 2);
  for (size_t i = 0; i < p.n; i++)
    n += needed[i];
  ck_assert_uint_lt(n, p.n);
  ck_assert(clarke_forms_fit(&p, 1));
  ck_assert(!clarke_forms_fit(&p, clarke_limit_of(CLARKE_LIMIT_ENTRIES)));
  clarke_code_clear(&p);
}
END_TEST

/* Pieces that are one polynomial have no kink between them. */
START_TEST(smooth_kinks)
{
  static const char text[] = "input x\noutput hardtanh(x)\n";
  clarke_code p;
  clarke_instruction *at;

  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "f.prog", &error));
  at = &p.instruction[p.output[0]];
  ck_assert(!clarke_forms_is_smooth(at, 0) && !clarke_forms_is_smooth(at, 1));
  mpq_set(at->pieces->coef[1][0], at->pieces->coef[2][0]);
  ck_assert(!clarke_forms_is_smooth(at, 1));
  mpq_set(at->pieces->coef[1][1], at->pieces->coef[2][1]);
  ck_assert(clarke_forms_is_smooth(at, 1) && !clarke_forms_is_smooth(at, 0));
  clarke_code_clear(&p);
}
END_TEST

/* --- distinct functions ---------------------------------------------------------------------- */

START_TEST(functions_by_number)
{
  static const char text[] = "input x\nlet a = relu(x)\noutput a, 2 * a + 1\n";
  mpq_t *one = clarke_rationals(2);
  slice s = {1, 1, one};
  clarke_functions set;
  clarke_forms f;
  clarke_code p;
  static const size_t piece[] = {0, 1, 1, 0, 1}, expected[] = {0, 1, 1, 0, 1};

  mpq_set_ui(one[0], 1, 1);
  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "f.prog", &error));
  OK(clarke_forms_init(&f, &p, 1, give_entry, &s, &error));
  clarke_functions_init(&set, &f);
  for (size_t k = 0; k < 5; k++) {
    size_t number = 99;

    for (size_t l = 0; l < f.n_live; l++)
      clarke_forms_compute(&f, f.live[l], p.instruction[f.live[l]].kind == CLARKE_DO_PIECEWISE ? piece[k] : 0);
    OK(clarke_functions_add(&number, &set, &f, &error));
    ck_assert_uint_eq(number, expected[k]);
  }
  ck_assert_uint_eq(set.set.n, 2);
  clarke_functions_clear(&set);
  clarke_functions_clear(&set);
  clarke_forms_clear(&f);
  clarke_code_clear(&p);
  clarke_rationals_free(one, 2);
}
END_TEST

MODULE(forms)
{
  TCase *tests = tests_of("forms");

  tcase_add_test(tests, drawn_programs);
  tcase_add_test(tests, factors);
  tcase_add_test(tests, kept_sums);
  tcase_add_test(tests, refusals);
  tcase_add_test(tests, counts);
  tcase_add_test(tests, smooth_kinks);
  tcase_add_test(tests, functions_by_number);
  return all_tests;
}
