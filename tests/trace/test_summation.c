/* Trees of sums: what is read and what is refused; sums along them beside sums that were programmed in that order. */
#include "summation_kernels.h"
#include "../draw.h"
#include "../suite.h"

#include "format/summation.h"
#include "trace/sums/summation.h"

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
      ck_assert(clarke_summation_replay(&t, CLARKE_F32, NULL, p, q) == (double)kernel_float(known[i].kind, a, b, known[i].n));
      for (int other = 0; other < N_KERNELS; other++) /* and in another order another sum */
        told[i] += (other != BLOCKS_FUSED || known[i].n >= 16) && known[i].n >= 32
                   && kernel_float(other, a, b, known[i].n) != kernel_float(known[i].kind, a, b, known[i].n);
      draw_factors(p, q, a, b, known[i].n, false);
      ck_assert(clarke_summation_replay(&t, CLARKE_F64, NULL, p, q) == kernel_double(known[i].kind, p, q, known[i].n));
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
  ck_assert(clarke_summation_replay(&t, CLARKE_F32, NULL, p, q) == CLARKE_SUMMATION_DEPTH * (CLARKE_SUMMATION_DEPTH + 1) / 2);
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

/* --- factors --- */

/* A tree, which leaf is the addend, and what it is in either form, written out. a: the numbers p q of leaves, each rounded. */
typedef struct {
  const char *tree;
  size_t leaves, addend;
} factored;

static const factored forms[] = {
  {"[0 1 2]", 3, 2},       {"[2 0 1]", 3, 2},    {"[0 2 1]", 3, 2},    {"[[0 1] [2 3]]", 4, 3}, {"[[0 3] [1 2]]", 4, 3},  {"[3 [0 1] 2]", 4, 3},
  {"[0 1 2*]", 3, 2},      {"[0 2* 1]", 3, 2},   {"[0 1* 2*]", 3, 2},  {"[0 [1 2*]]", 3, 2},    {"[[0 1] [2 3*]]", 4, 3}, {"[[0 1] 3* 2]", 4, 3},
  {"[0 1]", 2, CLARKE_NONE}, {"0", 1, CLARKE_NONE}};

/* alpha s + b, rounded twice or once, in the type; and alpha s + p q, of which p q is not rounded. */
#define FACTORED(type, fma)                                                                                                                \
  static type type##_times(clarke_summation_form form, type alpha, type s, type b)                                                         \
  {                                                                                                                                        \
    return form == CLARKE_FORM_FUSED ? fma(alpha, s, b) : alpha * s + b;                                                                   \
  }                                                                                                                                        \
  static type type##_factored(size_t i, clarke_summation_form form, type alpha, const type *a, const type *p, const type *q)               \
  {                                                                                                                                        \
    type one, two;                                                                                                                         \
                                                                                                                                           \
    switch (i) {                                                                                                                           \
    case 0: one = a[0] + a[1]; return type##_times(form, alpha, one, a[2]);                                                                \
    case 1: one = type##_times(form, alpha, a[0], a[2]); return type##_times(form, alpha, a[1], one);                                      \
    case 2: one = type##_times(form, alpha, a[0], a[2]); return type##_times(form, alpha, a[1], one);                                      \
    case 3: one = a[0] + a[1]; two = type##_times(form, alpha, a[2], a[3]); return type##_times(form, alpha, one, two);                    \
    case 4: one = a[1] + a[2]; two = type##_times(form, alpha, a[0], a[3]); return type##_times(form, alpha, one, two);                    \
    case 5: one = a[0] + a[1]; two = type##_times(form, alpha, one, a[3]); return type##_times(form, alpha, a[2], two);                    \
    case 6: one = a[0] + a[1]; one = alpha * one; return fma(p[2], q[2], one);                                                             \
    case 7: one = alpha * a[0]; one = fma(p[2], q[2], one); return type##_times(form, alpha, a[1], one);                                   \
    case 8: one = fma(p[1], q[1], a[0]); one = alpha * one; return fma(p[2], q[2], one);                                                   \
    case 9: one = alpha * a[1]; one = fma(p[2], q[2], one); return type##_times(form, alpha, a[0], one);                                   \
    case 10: one = alpha * a[2]; one = fma(p[3], q[3], one); two = a[0] + a[1]; return type##_times(form, alpha, two, one);                \
    case 11: one = a[0] + a[1]; one = alpha * one; one = fma(p[3], q[3], one); return type##_times(form, alpha, a[2], one);                \
    case 12: one = a[0] + a[1]; return alpha * one;                                                                                        \
    default: return alpha * a[0];                                                                                                          \
    }                                                                                                                                      \
  }
FACTORED(float, fmaf)
FACTORED(double, fma)

START_TEST(factors)
{
  const factored *of = &forms[_i];
  size_t apart = 0;

  for (int trial = 0; trial < 2000; trial++)
    for (clarke_summation_form form = CLARKE_FORM_SUM; form <= CLARKE_FORM_FUSED; form++)
      for (int is_float = 0; is_float < 2; is_float++) {
        clarke_summation_tree t = {0, 0, NULL};
        clarke_summation_factor by = {form, 0.3, of->addend};
        double p[4], q[4], a[4], made, wanted;
        float pf[4], qf[4], af[4];

        ck_assert(clarke_summation_tree_parse(&t, of->tree, of->leaves, NULL) == CLARKE_OK);
        by.alpha = is_float ? (double)0.3f : 0.3;
        for (size_t k = 0; k < of->leaves; k++) {
          p[k] = is_float ? (double)(float)(unit() - 0.5) : unit() - 0.5;
          q[k] = is_float ? (double)(float)(unit() - 0.5) : unit() - 0.5;
          a[k] = p[k] * q[k];
          pf[k] = (float)p[k];
          qf[k] = (float)q[k];
          af[k] = pf[k] * qf[k];
        }
        made = clarke_summation_replay(&t, is_float ? CLARKE_F32 : CLARKE_F64, &by, p, q);
        wanted = is_float ? (double)float_factored((size_t)_i, form, (float)by.alpha, af, pf, qf)
                          : double_factored((size_t)_i, form, by.alpha, a, p, q);
        ck_assert(made == wanted);
        apart += made != clarke_summation_replay(&t, is_float ? CLARKE_F32 : CLARKE_F64, NULL, p, q);
        clarke_summation_tree_clear(&t);
      }
  ck_assert_uint_gt(apart, 7000); /* the factor is there */
}
END_TEST

/* A product fused with a sum that the addend is in leaves no sum to multiply; one that is fused before does, and so does the addend. */
START_TEST(factors_fused)
{
  const double p[4] = {3, 5, 7, 11}, q[4] = {1, 1, 1, 1};
  clarke_summation_factor by = {CLARKE_FORM_SUM, 2, 3};
  clarke_summation_tree t = {0, 0, NULL};

  for (int i = 0; i < 7; i++) {
    static const char *const trees[] = {"[3 0* [1 2]]", "[0 3* 1* 2]", "[[0 3*] 1 2*]", "[0 3* 1 2]", "[0 1* 3 2]", "[0 1* 2* 3]", "[0 1* 2* 3*]"};

    ck_assert(clarke_summation_tree_parse(&t, trees[i], 4, NULL) == CLARKE_OK);
    for (int is_float = 0; is_float < 2; is_float++) {
      const double made = clarke_summation_replay(&t, is_float ? CLARKE_F32 : CLARKE_F64, &by, p, q);

      ck_assert(i < 3 ? isnan(made) : made == 2 * (3 + 5 + 7) + 11);
    }
    clarke_summation_tree_clear(&t);
  }
}
END_TEST

/* "form" may be missing, and is one of four. */
START_TEST(form_of_a_tree)
{
  static const struct { const char *text; int form; } texts_of[] = {
    {"", CLARKE_FORM_NONE}, {"\"form\": \"first\", ", CLARKE_FORM_FIRST}, {"\"form\": \"second\", ", CLARKE_FORM_SECOND},
    {"\"form\": \"sum\", ", CLARKE_FORM_SUM}, {"\"form\": \"fused\", ", CLARKE_FORM_FUSED}, {"\"form\": \"\", ", -1},
    {"\"form\": 1, ", -1}, {"\"form\": null, ", -1}, {"\"form\": \"sums\", ", -1}};

  for (size_t i = 0; i < sizeof texts_of / sizeof texts_of[0]; i++) {
    clarke_error err = {CLARKE_OK, ""};
    clarke_summations s;
    char text[512];

    clarke_summations_init(&s);
    snprintf(text, sizeof text, "{\"format\": \"clarke-trees\", \"version\": 1, \"sums\": [{\"part\": \"output\", \"name\": \"a\", "
             "\"leaves\": 1, \"type\": \"float32\", \"trees\": [{\"tree\": \"0\", %s\"rows\": [0, 0], \"columns\": [0, 0]}]}]}", texts_of[i].text);
    if (texts_of[i].form >= 0) {
      ck_assert_msg(clarke_summations_parse(&s, text, strlen(text), "t", &err) == CLARKE_OK, "%s", err.text);
      ck_assert_int_eq((int)s.sum[0].at[0].form, texts_of[i].form);
    } else {
      ck_assert_int_eq(clarke_summations_parse(&s, text, strlen(text), "t", &err), CLARKE_EINPUT);
      ck_assert_ptr_nonnull(strstr(err.text, "'form': expected \"first\", \"second\", \"sum\" or \"fused\""));
    }
    clarke_summations_clear(&s);
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
  tcase_add_loop_test(tests, factors, 0, sizeof forms / sizeof forms[0]);
  tcase_add_test(tests, factors_fused);
  tcase_add_test(tests, form_of_a_tree);
  return run_tests();
}
