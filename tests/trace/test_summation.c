/* Trees of sums: what is read and what is refused; sums along them beside sums that were programmed in that order. */
#include "summation_kernels.h"
#include "../draw.h"
#include "../suite.h"

#include "format/summation.h"
#include "trace/summation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
  int kind;
  size_t n;
  const char *tree;
} known[] = {
  {SEQUENTIAL, 8, "[0-7]"},
  {SEQUENTIAL, 8, "[0 1 2 3 4 5 6 7]"},
  {SEQUENTIAL_FUSED, 96, "[0 1-95*]"},
  {BACKWARDS_FUSED, 8, "[7 6* 5* 4* 3* 2* 1* 0*]"},
  {PAIRWISE, 8, "[0 1 [2 3] [4 5 [6 7]]]"},
  {PAIRWISE, 8, "[[[7 6] [5 4]] [[3 2] [1 0]]]"},
  {FOUR_LANES, 96, "[0-92/4 [2-94/4] [1-93/4 [3-95/4]]]"},
  {EIGHT_LANES_FUSED, 96, "[0 8-88/8* [4 12-92/8*] [2 10-90/8* [6 14-94/8*]] [1 9-89/8* [5 13-93/8*] [3 11-91/8* [7 15-95/8*]]]]"},
  {BLOCKS_FUSED, 48, "[[0 1-15*] [16 17-31*] [32 33-47*]]"},
};
#define N_KNOWN (sizeof known / sizeof *known)
#define MOST 96

static uint64_t state = 7;

/* In [0, 1). */
static double
unit(void)
{
  return (double)(draw(&state) >> 11) * 0x1p-53;
}

/* Numbers of the type, whose products cancel now and then. */
static void
draw_factors(double *p, double *q, float *a, float *b, size_t n, bool narrow)
{
  for (size_t k = 0; k < n; k++) {
    p[k] = ldexp(unit() - 0.5, (int)draw_below(&state, 12));
    q[k] = k % 3 == 1 ? -q[k - 1] : unit() - 0.5;
    p[k] = k % 3 == 1 ? p[k - 1] * (1 + 0x1p-10) : p[k];
    a[k] = (float)p[k];
    b[k] = (float)q[k];
    p[k] = narrow ? (double)a[k] : p[k];
    q[k] = narrow ? (double)b[k] : q[k];
  }
}

START_TEST(along_trees)
{
  double p[MOST], q[MOST];
  float a[MOST], b[MOST];
  size_t told[N_KNOWN] = {0};

  for (size_t i = 0; i < N_KNOWN; i++) {
    clarke_summation_tree t;
    clarke_error err = {CLARKE_OK, ""};

    ck_assert_msg(clarke_summation_tree_parse(&t, known[i].tree, known[i].n, &err) == CLARKE_OK, "%s: %s", known[i].tree, err.text);
    for (size_t trial = 0; trial < 300; trial++) {
      draw_factors(p, q, a, b, known[i].n, true);
      ck_assert(clarke_summation_replay(&t, CLARKE_F32, p, q) == (double)kernel_float(known[i].kind, a, b, known[i].n));
      for (int other = 0; other < N_KERNELS; other++) /* and in another order another sum */
        told[i] += (other != BLOCKS_FUSED || known[i].n >= 16) && known[i].n >= 32
                   && kernel_float(other, a, b, known[i].n) != kernel_float(known[i].kind, a, b, known[i].n);
      draw_factors(p, q, a, b, known[i].n, false);
      ck_assert(clarke_summation_replay(&t, CLARKE_F64, p, q) == kernel_double(known[i].kind, p, q, known[i].n));
    }
    ck_assert(known[i].n < 32 || told[i] > 300);
    clarke_summation_tree_clear(&t);
  }
}
END_TEST

/* --- texts --- */

static void
refused(const char *text, size_t leaves, const char *says)
{
  clarke_summation_tree t;
  clarke_error err = {CLARKE_OK, ""};

  ck_assert_msg(clarke_summation_tree_parse(&t, text, leaves, &err) == CLARKE_EINPUT, "'%s' was read", text);
  ck_assert_msg(strstr(err.text, says) != NULL, "'%s': %s", text, err.text);
  ck_assert(t.step == NULL);
}

START_TEST(texts)
{
  clarke_summation_tree t;
  char deep[3 * CLARKE_SUMMATION_DEPTH + 8] = "";

  ck_assert(clarke_summation_tree_parse(&t, " 0 ", 1, NULL) == CLARKE_OK && t.n == 1);
  clarke_summation_tree_clear(&t);
  ck_assert(clarke_summation_tree_parse(&t, "[ 1  0* ]", 2, NULL) == CLARKE_OK && t.n == 2);
  clarke_summation_tree_clear(&t);
  refused("", 1, "not finished");
  refused("[0 1", 2, "not finished");
  refused("[0 1]", 3, "a leaf is missing");
  refused("[0 1 1]", 2, "a leaf is there twice");
  refused("[0 1-2 2-3]", 4, "a leaf is there twice");
  refused("[0 2]", 2, "no such leaf");
  refused("[0 4294967296]", 2, "no such leaf");
  refused("[0 99999999999999999999999999]", 2, "no such leaf");
  refused("[0* 1]", 2, "there is none");
  refused("[[0 1] [2* 3]]", 4, "there is none");
  refused("[0 1]]", 2, "nothing after it");
  refused("]", 2, "a bracket ends");
  refused("[0]", 1, "holds less than two");
  refused("[0 []]", 2, "holds less than two");
  refused("0 1", 2, "nothing after it");
  refused("[0-5/2]", 6, "a range goes up");
  refused("[0-4/0]", 5, "a range goes up");
  refused("[3-1]", 4, "a range goes up");
  refused("[0-]", 4, "expected a number");
  refused("[0 x]", 4, "character 4: expected a number");
  refused("(0 1 2)", 3, "several at once");
  refused("[0]", 0, "a sum of 0 products");
  refused("[0 1**]", 2, "expected a number");
  for (size_t i = 0; i <= CLARKE_SUMMATION_DEPTH; i++)
    strcat(deep, "[");
  refused(deep, 4, "too many brackets");
}
END_TEST

/* As deep as it may be: the stack of sums is not left. */
START_TEST(depth)
{
  char text[8 * CLARKE_SUMMATION_DEPTH + 16] = "";
  double p[CLARKE_SUMMATION_DEPTH + 1], q[CLARKE_SUMMATION_DEPTH + 1];
  clarke_summation_tree t;
  size_t n = 0;

  for (size_t i = 0; i < CLARKE_SUMMATION_DEPTH; i++)
    n += (size_t)sprintf(text + n, "[%zu ", i);
  n += (size_t)sprintf(text + n, "%d", CLARKE_SUMMATION_DEPTH);
  for (size_t i = 0; i < CLARKE_SUMMATION_DEPTH; i++)
    text[n++] = ']';
  for (size_t i = 0; i <= CLARKE_SUMMATION_DEPTH; i++) {
    p[i] = (double)i;
    q[i] = 1;
  }
  ck_assert(clarke_summation_tree_parse(&t, text, CLARKE_SUMMATION_DEPTH + 1, NULL) == CLARKE_OK);
  ck_assert(clarke_summation_replay(&t, CLARKE_F32, p, q) == CLARKE_SUMMATION_DEPTH * (CLARKE_SUMMATION_DEPTH + 1) / 2);
  clarke_summation_tree_clear(&t);
}
END_TEST

START_TEST(rounding)
{
  ck_assert(clarke_round_double(1 + 0x1p-8, CLARKE_BF16) == 1);
  ck_assert(clarke_round_double(1 + 0x1p-8 + 0x1p-30, CLARKE_BF16) == 1 + 0x1p-7);
  ck_assert(clarke_round_double(1 + 3 * 0x1p-8, CLARKE_BF16) == 1 + 0x1p-6);
  ck_assert(clarke_round_double(65519, CLARKE_F16) == 65504);
  ck_assert(clarke_round_double(65520, CLARKE_F16) == INFINITY);
  ck_assert(clarke_round_double(-0x1p-25, CLARKE_F16) == 0);
  ck_assert(clarke_round_double(0x1.8p-25, CLARKE_F16) == 0x1p-24);
  for (int trial = 0; trial < 100000; trial++) {
    const double d = ldexp(unit() - 0.5, (int)draw_below(&state, 300) - 160);

    ck_assert(clarke_round_double(d, CLARKE_F32) == (double)(float)d);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("summation");

  tcase_add_test(tests, along_trees);
  tcase_add_test(tests, texts);
  tcase_add_test(tests, depth);
  tcase_add_test(tests, rounding);
  return run_tests();
}
