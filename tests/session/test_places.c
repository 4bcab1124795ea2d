/* Functions, points, boxes and samples of questions about regions; patterns where what varies multiplies; segments' proofs. */
#include "shared.h"

#include "../network/models.h"
#include "../suites.h"

#include "base/limit.h"
#include "program/execute.h"
#include "session/around.h"
#include "session/sample.h"
#include "session/segment.h"

static char program_path[128], proof[128];

static void
open_text(clarke_region_function *f, const char *text, const char *wrt)
{
  put_file(own_path(program_path, "function.prog"), text);
  clarke_region_function_init(f);
  f->wrt = wrt;
  OK(clarke_region_function_open(f, program_path, &error));
}

static void
value_is(const clarke_code *p, mpq_t *at, long numerator, unsigned long denominator)
{
  clarke_execution e;

  clarke_execution_init(&e);
  OK(clarke_execute(&e, p, at, &error));
  ck_assert(mpq_cmp_si(e.value[p->output[0]].q, numerator, denominator) == 0);
  clarke_execution_clear(&e);
}

/* --- functions --- */

START_TEST(a_program_with_parts_held)
{
  mpq_t *point = numbers(3, (const int[]){2, -1, 3}), *given = numbers(2, (const int[]){10, 20}), *whole;
  clarke_region_function f;

  open_text(&f, "input x[2]\ninput y\noutput relu(x[0] * y) + x[1]\n", "x");
  ck_assert(!f.network && f.provable && f.n == 3 && f.n_given == 3);
  OK(clarke_region_function_may_prove(&f, program_path, &error));
  OK(clarke_region_function_spread(&whole, &f, point, given, &error));
  ck_assert(mpq_cmp_ui(whole[0], 10, 1) == 0 && mpq_cmp_ui(whole[1], 20, 1) == 0 && mpq_cmp_ui(whole[2], 3, 1) == 0);
  value_is(&f.program, whole, 50, 1);
  OK(clarke_region_function_hold(&f, &point, &error));
  mpq_set_ui(whole[2], 1000, 1); /* is not looked at any more */
  value_is(&f.program, whole, 50, 1);
  clarke_rationals_free(whole, 3);
  f.provable = false;
  FAILS(clarke_region_function_may_prove(&f, "a/b.onnx", &error), "b.onnx: a proof with --wrt is of sums");
  clarke_region_function_clear(&f);
  /* y in place of x: the given number goes to the end. */
  open_text(&f, "input x[2]\ninput y\noutput relu(x[0] * y) + x[1]\n", "y");
  OK(clarke_region_function_spread(&whole, &f, point, given, &error));
  ck_assert(mpq_cmp_si(whole[1], -1, 1) == 0 && mpq_cmp_ui(whole[2], 10, 1) == 0);
  clarke_rationals_free(whole, 3);
  clarke_region_function_clear(&f);
  ck_assert(f.wrt == NULL && f.n == 0);
  /* Without wrt nothing is held, and nothing stands in a proof's way. */
  open_text(&f, "input x\noutput x * x\n", NULL);
  OK(clarke_region_function_hold(&f, NULL, &error));
  f.provable = false;
  OK(clarke_region_function_may_prove(&f, program_path, &error));
  clarke_region_function_clear(&f);
  clarke_region_function_init(&f);
  f.wrt = "z";
  FAILS(clarke_region_function_open(&f, program_path, &error), "z");
  clarke_region_function_clear(&f);
  FAILS(clarke_region_function_open(&f, "a.txt", &error), "expected a program (.prog) or a network (.onnx)");
  clarke_rationals_free(point, 3);
  clarke_rationals_free(given, 2);
  remove(program_path);
}
END_TEST

/* Lemma 2's network computes w x: with its parameters the point is longer by the stored w, 0. */
START_TEST(a_network_with_its_parameters)
{
  mpq_t *at = numbers(2, (const int[]){3, 5}), *point = numbers(1, (const int[]){3});
  clarke_region_function f;

  clarke_region_function_init(&f);
  OK(clarke_region_function_open(&f, CASES "/audit/lemma2.onnx", &error));
  ck_assert(f.network && f.n == 1 && f.n_given == 1 && f.stored == NULL && strlen(f.sha256) == 64);
  clarke_region_function_clear(&f);
  f.wrt = "params";
  OK(clarke_region_function_open(&f, CASES "/audit/lemma2.onnx", &error));
  ck_assert(f.n == 2 && f.n_given == 1 && f.n_stored == 1 && mpq_sgn(f.stored[0]) == 0);
  value_is(&f.program, at, 15, 1);
  OK(clarke_region_function_hold(&f, &point, &error));
  ck_assert(mpq_cmp_ui(point[0], 3, 1) == 0 && mpq_sgn(point[1]) == 0);
  mpq_set_ui(at[0], 1, 1); /* x is held at 3 */
  value_is(&f.program, at, 15, 1);
  clarke_rationals_free(point, 2);
  clarke_rationals_free(at, 2);
  clarke_region_function_clear(&f);
}
END_TEST

/* --- points and boxes --- */

START_TEST(points)
{
  char path[128];
  mpq_t *q;

  OK(clarke_region_point(&q, "1, -2/3,0x1p-1", 3, "--at", &error));
  ck_assert(mpq_cmp_ui(q[0], 1, 1) == 0 && mpq_cmp_si(q[1], -2, 3) == 0 && mpq_cmp_ui(q[2], 1, 2) == 0);
  clarke_rationals_free(q, 3);
  FAILS(clarke_region_point(&q, "1,2", 3, "--at", &error), "--at: the list has 2 numbers; expected 3");
  ck_assert_ptr_null(q);
  FAILS(clarke_region_point(&q, "1", 2, "--to", &error), "--to: the list has 1 number; expected 2");
  FAILS(clarke_region_point(&q, "1,abc", 2, "--at", &error), "'abc' is no number");
  put_file(own_path(path, "table.txt"), "1/2\n3\n");
  OK(clarke_region_point(&q, path, 2, "--at", &error));
  ck_assert(mpq_cmp_ui(q[0], 1, 2) == 0 && mpq_cmp_ui(q[1], 3, 1) == 0);
  clarke_rationals_free(q, 2);
  FAILS(clarke_region_point(&q, path, 3, "--at", &error), "expected 3 by 1");
  remove(path);
  OK(clarke_region_point(&q, CASES "/audit/abs.npz", 1, "--at", &error));
  ck_assert(mpq_cmp_ui(q[0], 2, 1) == 0);
  clarke_rationals_free(q, 1);
  FAILS(clarke_region_point(&q, CASES "/audit/abs.npz", 2, "--at", &error), "abs.npz has 1 number; expected 2");
}
END_TEST

static void
box_is(const char *text, size_t n, bool slice, const char *wrong)
{
  char path[128];
  mpq_t *q;

  put_file(own_path(path, "box.txt"), text);
  if (wrong != NULL)
    FAILS(clarke_region_box(&q, path, n, slice, &error), wrong);
  else
    OK(clarke_region_box(&q, path, n, slice, &error));
  if (wrong == NULL)
    ck_assert(mpq_cmp_si(q[0], -1, 1) == 0 && mpq_cmp_ui(q[1], 3, 2) == 0 && mpq_cmp_ui(q[2], 4, 1) == 0);
  clarke_rationals_free(q, 2 * n);
  remove(path);
}

START_TEST(boxes)
{
  char path[128];
  mpq_t *q;

  box_is("-1 3/2\n4 5\n", 2, false, NULL);
  box_is("-1 3/2\n4 4\n", 2, true, NULL);
  box_is("-1 3/2\n4 4\n", 2, false, "the box is flat: the bounds of entry 1 are equal");
  box_is("-1 3/2\n5 4\n", 2, true, "the box is empty: the lower bound of entry 1 is above");
  box_is("1 1\n4 4\n", 2, true, "the box is a point");
  box_is("-1 1\n", 2, false, "1 by 2 numbers; expected 2 by 2");
  box_is("-1\n3\n4\n5\n", 2, false, "4 by 1 numbers; expected 2 by 2");
  put_file(own_path(path, "box.vnnlib"), "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n(assert (>= X_0 -1.5))\n(assert (<= X_0 2))\n"
                                         "(assert (>= Y_0 0))\n");
  OK(clarke_region_box(&q, path, 1, false, &error));
  ck_assert(mpq_cmp_si(q[0], -3, 2) == 0 && mpq_cmp_ui(q[1], 2, 1) == 0);
  clarke_rationals_free(q, 2);
  FAILS(clarke_region_box(&q, path, 2, false, &error), "has 1 number; expected 2");
  clarke_rationals_free(q, 4);
  remove(path);
}
END_TEST

/* --- samples --- */

START_TEST(samples)
{
  const size_t flat[] = {64}, other[] = {63};
  clarke_model m;
  clarke_tensor x;

  clarke_tensor_init(&x);
  model_begin(&m, 13);
  model_input(&m, "x", SHAPE(-1, 4, 16, ));
  OK(clarke_sample_zeros(&x, &m, &error));
  ck_assert(x.rank == 3 && x.dims[0] == 1 && x.dims[1] == 4 && x.dims[2] == 16 && x.count == 64 && x.dtype == CLARKE_F64);
  for (size_t e = 0; e < x.count; e++)
    ck_assert(x.real[e] == 0);
  clarke_tensor_clear(&x);
  m.inputs[0].dims[1] = -1;
  FAILS(clarke_sample_zeros(&x, &m, &error), "axis 1 of input 'x' has no declared length");
  m.inputs[0].dims[1] = INT64_C(1) << 40;
  ck_assert_int_eq(clarke_sample_zeros(&x, &m, &error), CLARKE_ENOMEM);
  m.inputs[0].shaped = false;
  FAILS(clarke_sample_zeros(&x, &m, &error), "no declared shape");
  model_input(&m, "z", SHAPE(1, ));
  FAILS(clarke_sample_zeros(&x, &m, &error), "2 inputs; expected one");
  clarke_model_clear(&m);

  for (long first = -1; first <= 2; first++) {
    model_begin(&m, 13);
    model_input(&m, "x", (const long[]){first, 64, SHAPE_END});
    OK(clarke_tensor_shape(&x, "x", CLARKE_F64, 1, flat, &error));
    clarke_sample_lift(&x, &m);
    ck_assert_uint_eq(x.rank, first <= 1 ? 2 : 1);
    ck_assert(first > 1 || (x.dims[0] == 1 && x.dims[1] == 64));
    clarke_sample_lift(&x, &m); /* it is whole, and stays */
    ck_assert_uint_eq(x.rank, first <= 1 ? 2 : 1);
    clarke_tensor_clear(&x);
    OK(clarke_tensor_shape(&x, "x", CLARKE_F64, 1, other, &error));
    clarke_sample_lift(&x, &m);
    ck_assert_uint_eq(x.rank, 1);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

/* --- around a point --- */

/* What an instruction takes at a point near 0 along the pattern's direction: a kink's piece, a maximum's place; CLARKE_NONE: a tie. */
static size_t
taken(const clarke_code *p, size_t i, const clarke_pattern *pattern, size_t width)
{
  const clarke_instruction *at = &p->instruction[i];
  mpq_t *near = clarke_rationals(width);
  clarke_execution e;
  size_t best = 0;

  for (size_t k = 0; k < width; k++) {
    mpq_set_si(near[k], 1, 1000000);
    mpq_mul(near[k], near[k], pattern->direction[0][k]);
  }
  clarke_execution_init(&e);
  OK(clarke_execute(&e, p, near, &error));
  for (size_t k = 1; at->kind == CLARKE_DO_ORDER && k < at->n_in; k++)
    if (mpq_cmp(e.value[at->in[k]].q, e.value[at->in[best]].q) > 0)
      best = k;
  if (at->kind == CLARKE_DO_PIECEWISE)
    best = mpq_sgn(e.value[at->in[0]].q) > 0;
  clarke_execution_clear(&e);
  clarke_rationals_free(near, width);
  return best;
}

static const struct {
  const char *text;
  size_t realized, kinks;
} arounds[] = {
  {"input x, y\noutput relu(x * y) + max(x, y)\n", 4, 2},
  {"input x, y\noutput relu(x * y) + relu(y * x)\n", 2, 2},
  {"input x, y\noutput relu(x * x) + relu(0 - y * y)\n", 1, 2},
  {"input x, y\noutput max(x, y, x + y)\n", 3, 1}, /* x, y, or both positive */
  {"input x, y\noutput relu(x) * relu(y) * relu(x - y)\n", 6, 3},
};

START_TEST(patterns_around)
{
  mpq_t *point = numbers(2, (const int[]){0, 0});
  clarke_region_function f;
  clarke_around a;
  size_t asked = 0;

  open_text(&f, arounds[_i].text, "x,y");
  OK(clarke_region_function_hold(&f, &point, &error));
  clarke_around_init(&a);
  OK(clarke_around_find(&a, &f.program, point, &error));
  ck_assert(!a.stopped && a.undecided == 0 && a.kinks == arounds[_i].kinks);
  ck_assert_uint_eq(a.realized, arounds[_i].realized);
  for (size_t k = 0; k < a.patterns.n; k++) {
    const clarke_pattern *pattern = &a.patterns.pattern[k];

    OK(clarke_around_show(&a, pattern, &error));
    for (size_t i = 0; i < f.program.n; i++) {
      const clarke_do kind = f.program.instruction[i].kind;

      if (!a.needed[i] || (kind != CLARKE_DO_PIECEWISE && kind != CLARKE_DO_ORDER) || pattern->n_directions == 0)
        continue;
      if (clarke_around_choice(&a, i) != CLARKE_NONE)
        ck_assert_uint_eq(clarke_around_choice(&a, i), taken(&f.program, i, pattern, 2));
      asked++;
    }
  }
  ck_assert(asked > 0 || arounds[_i].realized == 1);
  OK(clarke_around_prove(&a, &f, program_path, point, own_path(proof, "around.proof"), &error));
  ck_assert_int_eq(checked(proof, "/tmp"), 0);
  clarke_around_clear(&a);
  ck_assert(a.needed == NULL && a.patterns.n == 0 && a.realized == 0);
  clarke_region_function_clear(&f);
  clarke_rationals_free(point, 2);
  remove(proof);
  remove(program_path);
}
END_TEST

/* A kink whose argument is constant is at no side; and what is none of these functions is an error. */
START_TEST(around_without_an_answer)
{
  mpq_t *point = numbers(2, (const int[]){0, 0});
  clarke_region_function f;
  clarke_around a;

  open_text(&f, "input x, y\noutput exp(x * y)\n", NULL);
  clarke_around_init(&a);
  OK(clarke_code_wrt(&f.program, NULL, 0, &error));
  ck_assert_int_eq(clarke_around_find(&a, &f.program, point, &error), CLARKE_EINPUT);
  clarke_around_clear(&a);
  clarke_region_function_clear(&f);
  open_text(&f, "input x, y\noutput relu(x * y - y * x) + relu(x)\n", NULL);
  OK(clarke_code_wrt(&f.program, NULL, 0, &error));
  OK(clarke_around_find(&a, &f.program, point, &error));
  ck_assert_uint_eq(a.realized, 2);
  OK(clarke_around_show(&a, &a.patterns.pattern[0], &error));
  for (size_t i = 0, k = 0; i < f.program.n; i++)
    if (f.program.instruction[i].kind == CLARKE_DO_PIECEWISE)
      ck_assert_int_eq(clarke_around_choice(&a, i) == CLARKE_NONE, k++ == 0);
  clarke_around_clear(&a);
  clarke_region_function_clear(&f);
  clarke_rationals_free(point, 2);
  remove(program_path);
}
END_TEST

/* --- along a segment --- */

/* Pieces end where the nearest kinks are, on either side. */
START_TEST(pieces_of_a_segment)
{
  mpq_t *a = numbers(1, (const int[]){0}), *b = numbers(1, (const int[]){4});
  clarke_region_function f;
  clarke_profile profile;
  clarke_segment s;

  open_text(&f, "input x\noutput relu(x - 2) + relu(x - 3) + relu(x - 1)\n", NULL);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, NULL, &error));
  OK(clarke_segment_find(&s, &f, a, b, &profile, NULL, &error));
  ck_assert(s.n == 4 && s.agree && mpq_cmp_ui(s.integral[0], 6, 1) == 0);
  for (size_t k = 0; k < 4; k++)
    ck_assert(mpq_cmp_ui(s.piece[k].from, k, 4) == 0 && mpq_cmp_ui(s.piece[k].to, k + 1, 4) == 0
              && mpq_cmp_ui(s.piece[k].slope[0], 4 * k, 1) == 0);
  clarke_segment_clear(&s);
  clarke_profile_clear(&profile);
  clarke_region_function_clear(&f);
  clarke_rationals_free(a, 1);
  clarke_rationals_free(b, 1);
  remove(program_path);
}
END_TEST

/* |x| from -1 to 3 parts at a quarter; 3 - 1 is 4 (-1/4 + 3/4). */
START_TEST(a_segment)
{
  mpq_t *a = numbers(2, (const int[]){-1, 0}), *b = numbers(2, (const int[]){3, 0});
  clarke_region_function f;
  clarke_profile profile;
  clarke_segment s;

  open_text(&f, "input x, y\noutput abs(x) + relu(y)\n", NULL);
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, NULL, &error));
  OK(clarke_segment_find(&s, &f, a, b, &profile, NULL, &error));
  ck_assert(s.n == 2 && s.agree && mpq_cmp_ui(s.integral[0], 2, 1) == 0 && mpq_cmp_ui(s.difference[0], 2, 1) == 0);
  ck_assert(mpq_cmp_ui(s.piece[0].to, 1, 4) == 0 && mpq_cmp_si(s.piece[0].slope[0], -4, 1) == 0 && mpq_cmp_si(s.piece[1].slope[0], 4, 1) == 0);
  OK(clarke_segment_prove(&s, &f, program_path, a, b, own_path(proof, "segment.proof"), &error));
  ck_assert_int_eq(checked(proof, "/tmp"), 0);
  mpq_set_ui(s.integral[0], 3, 1); /* a lie */
  OK(clarke_segment_prove(&s, &f, program_path, a, b, proof, &error));
  ck_assert_int_eq(checked(proof, "/tmp"), 1);
  mpq_set_ui(s.integral[0], 2, 1);
  mpq_set_ui(s.piece[0].to, 1, 3);
  OK(clarke_segment_prove(&s, &f, program_path, a, b, proof, &error));
  ck_assert_int_eq(checked(proof, "/tmp"), 1);
  clarke_segment_clear(&s);
  clarke_profile_clear(&profile);
  clarke_region_function_clear(&f);
  clarke_rationals_free(a, 2);
  clarke_rationals_free(b, 2);
  remove(proof);
  remove(program_path);
}
END_TEST

MODULE(places)
{
  TCase *tests = tests_of("places");

  tcase_add_test(tests, a_program_with_parts_held);
  tcase_add_test(tests, a_network_with_its_parameters);
  tcase_add_test(tests, points);
  tcase_add_test(tests, boxes);
  tcase_add_test(tests, samples);
  tcase_add_loop_test(tests, patterns_around, 0, sizeof arounds / sizeof arounds[0]);
  tcase_add_test(tests, around_without_an_answer);
  tcase_add_test(tests, pieces_of_a_segment);
  tcase_add_test(tests, a_segment);
  return all_tests;
}
