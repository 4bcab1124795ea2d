/* Declared representations: the papers' own, right and wrong ones; and random ones, a
 * counterexample being executed and a confirmation sampled. */
#include "../exact/brute.h"

#include "program/prog.h"
#include "program/representation.h"
#include "exact/literal.h"

#include <stdio.h>

typedef struct {
  clarke_code p;
  clarke_execution e;
  clarke_representation r;
  mpq_t *at;
  size_t n;
} checked;

static void
set_point(checked *c, const char *point)
{
  char words[256];
  size_t n = 0;

  strncpy(words, point, sizeof words - 1);
  words[sizeof words - 1] = '\0';
  for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
    ck_assert_uint_lt(n, c->n);
    ck_assert(clarke_literal_parse(c->at[n++], word));
  }
  ck_assert_uint_eq(n, c->n);
}

static void
start(checked *c, const char *text, const char *point)
{
  clarke_code_init(&c->p);
  clarke_execution_init(&c->e);
  clarke_representation_init(&c->r);
  OK(clarke_prog_parse(&c->p, text, strlen(text), "test.prog", &error));
  OK(clarke_code_wrt(&c->p, NULL, 0, &error));
  c->n = clarke_code_entries(&c->p);
  c->at = new_rationals(c->n);
  set_point(c, point);
  OK(clarke_execute(&c->e, &c->p, c->at, &error));
  OK(clarke_representation_check(&c->r, &c->e, &error));
  ck_assert(c->r.declared);
}

static void
finish(checked *c)
{
  clarke_representation_clear(&c->r);
  clarke_execution_clear(&c->e);
  clarke_code_clear(&c->p);
  free_rationals(c->at, c->n);
}

/* The vectors of a set as "0 1; 1 0". */
static void
expect_points(const clarke_points *s, const char *text)
{
  char got[1024] = "";

  for (size_t k = 0; k < s->n * s->dim; k++) {
    char *number = mpq_get_str(NULL, 10, s->entry[k]);

    ck_assert_uint_lt(strlen(got) + strlen(number) + 3, sizeof got);
    strcat(got, k == 0 ? "" : k % s->dim == 0 ? "; " : " ");
    strcat(got, number);
    free(number);
  }
  ck_assert_str_eq(got, text);
}

typedef struct {
  const char *text, *point;
  int answer;
  const char *why;        /* a part of it */
  int active;             /* from 0; -1: none */
  const char *selection;  /* NULL: not known */
  const char *associated; /* NULL: none */
} expected;

#define HARD_SIGMOIDS "input w\noutput hardsigmoid(3 + w) + hardsigmoid(-3 + w)\n"
#define MAX2 "input y[2]\noutput max(y)\n"

static const expected papers[] = {
  /* Bolte and Pauwels, after Definition 4: relu, and the null function */
  {"input t\noutput relu(t)\npiece 0 if t <= 0\npiece t if t > 0\n", "0", CLARKE_REPRESENTS, "", 0,
   "0; 1", "0"},
  {"input t\noutput if t == 0 then t else 0\npiece 0 if t != 0\npiece t if t == 0\n", "0",
   CLARKE_REPRESENTS, "", 1, "0; 1", "1"},
  /* ReLU'(0): f3 = s x at 0, whatever s is (also Despres, 4.1) */
  {"input t\noutput relu(t)\npiece 0 if t < 0\npiece t if t > 0\npiece -7*t if t == 0\n", "0",
   CLARKE_REPRESENTS, "", 2, "-7; 1", "-7"},
  {"input t\noutput relu(t)\npiece 0 if t < 0\npiece t if t > 0\npiece 11/4*t if t == 0\n", "-2",
   CLARKE_REPRESENTS, "", 0, "0", "0"},
  /* Despres, 4.2: as printed, and corrected; (15) with its Remark 1 */
  {MAX2 "piece y[0] if y[0] < y[1]\npiece y[1] if y[0] > y[1]\npiece y[0] if y[0] == y[1]\n", "0 1",
   CLARKE_MISREPRESENTS, "piece 1 (line 3) is less than the function at y=0,1", 0, "0 1", "1 0"},
  {MAX2 "piece y[0] if y[0] < y[1]\npiece y[1] if y[0] > y[1]\npiece y[0] if y[0] == y[1]\n", "0 0",
   CLARKE_MISREPRESENTS, "the function", 2, "0 1; 1 0", "1 0"},
  {MAX2 "piece y[1] if y[0] < y[1]\npiece y[0] if y[0] > y[1]\npiece 5*y[0] - 4*y[1] if y[0] == "
        "y[1]\n",
   "2 2", CLARKE_REPRESENTS, "", 2, "0 1; 5 -4", "5 -4"},
  {MAX2 "piece y[1] if y[0] < y[1]\npiece y[0] if y[0] > y[1]\npiece 5*y[0] - 3*y[1] if y[0] == "
        "y[1]\n",
   "0 0", CLARKE_MISREPRESENTS, "piece 3 (line 5) is", 2, "0 1; 1 0; 5 -3", "5 -3"},
  /* Bolte and Pauwels, 5.1: pieces beside the essential ones */
  {MAX2 "piece y[0] if y[0] > y[1]\npiece y[1] if y[0] < y[1]\n"
        "piece 1/2*y[0] + 1/2*y[1] if y[0] == y[1] and y[0] >= 0\n"
        "piece 3*y[0] - 2*y[1] if y[0] == y[1] and y[0] < 0\n",
   "0 0", CLARKE_REPRESENTS, "", 2, "0 1; 3 -2", "1/2 1/2"},
  /* Park et al., in the proof of Lemma 3 (holds for |w| <= 6 only) */
  {HARD_SIGMOIDS "piece 1 + w/6\n", "0", CLARKE_MISREPRESENTS, "piece 1 (line 3) is ", 0, "1/6",
   "1/6"},
  {HARD_SIGMOIDS "piece 1 + w/6 if w >= -6 and w <= 6\npiece 2 if w > 6\npiece 0 if w < -6\n", "6",
   CLARKE_REPRESENTS, "", 0, "0; 1/6", "1/6"},
  /* gaps and overlaps */
  {"input t\noutput abs(t)\npiece -t if t < 0\npiece t if t > 0\n", "1", CLARKE_MISREPRESENTS,
   "no piece holds at t=0", 1, "1", "1"},
  {"input t\noutput abs(t)\npiece -t if t <= 0\npiece t if t >= 0\n", "1", CLARKE_MISREPRESENTS,
   "piece 1 (line 3) and piece 2 (line 4) both hold at t=0", 1, "1", "1"},
  {"input t\noutput abs(t)\npiece -t if t <= 0\npiece t if t >= 0\n", "0", CLARKE_MISREPRESENTS,
   "both hold at t=0", -1, "-1; 1", NULL},
  /* a piece with a kink of its own; one that the function needs */
  {"input t\noutput relu(t)\npiece abs(t) if t >= 0\npiece 0 if t < 0\n", "0", CLARKE_REPRESENTS,
   "", 0, NULL, NULL},
  {"input t\noutput relu(t)\npiece abs(t)\n", "1", CLARKE_MISREPRESENTS, "piece 1 (line 3) is ", 0,
   "1", "1"},
  /* nonlinear: not known, or refuted at the point */
  {"input x, y\noutput relu(x)*y\npiece relu(x)*y\n", "2 3", CLARKE_REPRESENTS_UNKNOWN, "not piecewise linear",
   0, "3 2", "3 2"},
  {"input x\noutput x*x/x\npiece x\n", "2", CLARKE_REPRESENTS_UNKNOWN, "not piecewise linear", 0, "1", "1"},
  /* polynomials are decided: by expanding, or by a point elsewhere */
  {"input x, y\noutput x*y\npiece x*y\n", "2 3", CLARKE_REPRESENTS, "", 0, "3 2", "3 2"},
  {"input x, y\noutput x*x - y*y\npiece (x - y)*(x + y)\n", "2 3", CLARKE_REPRESENTS, "", 0, "4 -6", "4 -6"},
  {"input x, y\noutput x*x - y*y\npiece (x - y)*(x + 2*y)\n", "0 0", CLARKE_MISREPRESENTS, "than the function", 0, "0 0", "0 0"},
  {"input x\noutput (x*x - 2)*(x*x - 2) + x\npiece x\n", "1", CLARKE_MISREPRESENTS, "than the function", 0, "", "1"}, /* equal at roots of 2 only */
  {"input x\noutput x*(x-1)*(x-2)*(x-3)*(x-4)*(x-5)*(x+1)*(x+2)*(x+3)*(x+4)*(x+5)\npiece 0\n", "0", CLARKE_REPRESENTS_UNKNOWN,
   "not piecewise linear", 0, "0", "0"}, /* it differs from 6 on, where no point is tried */
  {"input x\noutput x*x\npiece x*x if x*x >= 2\npiece x*x if x*x < 2\n", "1", CLARKE_REPRESENTS_UNKNOWN, "not piecewise linear", 1, "2", "2"},
  {"input x\noutput x*x*x - x\npiece 0\n", "1", CLARKE_MISREPRESENTS, "than the function", 0, "0", "0"},
  {"input x, y\noutput x*y\npiece x + y\n", "2 3", CLARKE_MISREPRESENTS, "less than the function",
   0, "", "1 1"},
  {"input x, y\noutput x*y\npiece 0 if x == 0\npiece x*y if x != 0\n", "0 3",
   CLARKE_REPRESENTS_UNKNOWN, "not piecewise linear", 0, "0 0; 3 0", "0 0"},
  {"input t\noutput exp(t)\npiece exp(t)\n", "0", CLARKE_REPRESENTS_UNKNOWN, "not piecewise linear",
   0, "1", "1"},
  {"input t\noutput exp(t)\npiece exp(t) + 0*t\n", "1", CLARKE_REPRESENTS_UNKNOWN, "", 0, NULL,
   NULL},
  /* a condition that is never met */
  {"input t\noutput t\npiece 1/t if t*0 > 1\npiece t if t*0 <= 1\n", "0", CLARKE_REPRESENTS, "", 1,
   NULL, "1"},
};

START_TEST(known)
{
  const expected *x = &papers[_i];
  checked c;

  start(&c, x->text, x->point);
  ck_assert_msg(c.r.answer == (unsigned)x->answer, "case %d: %d: %s", _i, (int)c.r.answer, c.r.why);
  ck_assert_msg(strstr(c.r.why, x->why) != NULL, "case %d: %s", _i, c.r.why);
  ck_assert_int_eq(c.r.active == CLARKE_NONE ? -1 : (int)c.r.active, x->active);
  ck_assert_int_eq(c.r.selection_known, x->selection != NULL);
  if (x->selection != NULL)
    expect_points(&c.r.selection, x->selection);
  ck_assert_int_eq(c.r.associated != NULL, x->associated != NULL);
  if (x->associated != NULL) {
    clarke_points s;

    clarke_points_init(&s, c.r.selection.dim);
    OK(clarke_points_add(&s, c.r.associated, &error));
    expect_points(&s, x->associated);
    clarke_points_clear(&s);
  }
  finish(&c);
}
END_TEST

/* --- the largest of four ---------------------------------------------------------------------- */

/* The loop `if x[i] > res`: Despres, (17). */
START_TEST(largest_by_loop)
{
  static const char text[] =
    "input x[4]\nlet a = if x[1] > x[0] then x[1] else x[0]\n"
    "let b = if x[2] > a then x[2] else a\nlet c = if x[3] > b then x[3] else b\noutput c\n"
    "piece x[0] if x[0] >= x[1] and x[0] >= x[2] and x[0] >= x[3]\n"
    "piece x[1] if x[0] < x[1] and x[1] >= x[2] and x[1] >= x[3]\n"
    "piece x[2] if max(x[0], x[1]) < x[2] and x[2] >= x[3]\n"
    "piece x[3] if max(x[0:3]) < x[3]\n";
  checked c;

  start(&c, text, "1 1 1 1");
  ck_assert_msg(c.r.answer == CLARKE_REPRESENTS, "%s", c.r.why);
  ck_assert_uint_eq(c.r.active, 0);
  expect_points(&c.r.selection, "0 0 0 1; 0 0 1 0; 0 1 0 0; 1 0 0 0");
  finish(&c);
}
END_TEST

/* Fifteen pieces, by the set of the largest, each their mean: Despres, (19). One left out or added
 * is noticed. */
START_TEST(largest_by_set)
{
  for (int wrong = 0; wrong < 3; wrong++) {
    char text[4096] = "input x[4]\noutput max(x)\n";
    checked c;

    for (unsigned set = 1; set < 16; set++) {
      unsigned first = 0, n = 0;
      char line[256] = "", *to = line;

      while (!(set >> first & 1))
        first++;
      if (wrong == 1 && set == 11)
        continue;
      to += sprintf(to, "piece (0");
      for (unsigned k = 0; k < 4; k++)
        if (set >> k & 1) {
          to += sprintf(to, " + x[%u]", k);
          n++;
        }
      to += sprintf(to, ")/%u", n);
      for (unsigned k = 0, given = 0; k < 4; k++)
        if (k != first)
          to += sprintf(to, " %s x[%u] %s x[%u]", given++ ? "and" : "if", first,
                        !(set >> k & 1)                ? ">"
                        : wrong == 2 && set == 13 && k == 2 ? ">="
                                                       : "==",
                        k);
      sprintf(to, "\n");
      ck_assert_uint_lt(strlen(text) + strlen(line), sizeof text);
      strcat(text, line);
    }
    start(&c, text, "0 0 0 0");
    ck_assert_msg(c.r.answer == (wrong ? CLARKE_MISREPRESENTS : CLARKE_REPRESENTS), "%d: %s", wrong,
                  c.r.why);
    ck_assert_uint_eq(c.r.active, wrong == 1 ? 13 : 14);
    finish(&c);
  }
}
END_TEST

/* --- random ones ------------------------------------------------------------------------------ */

static void
affine(char *text, size_t size)
{
  snprintf(text, size, "(%d*x[0] + %d*x[1] + %d)", draw(-2, 2), draw(-2, 2), draw(-1, 1));
}

/* The greatest, relu-like or clipped of random forms, with pieces for it that may be off. */
static void
random_text(char *text, size_t size)
{
  static const char *const less[] = {"<", "<", "<=", ">"}, *const more[] = {">=", ">=", ">", "=="};
  char a[64], b[64], d[64];
  int slip = draw(0, 3), n;

  affine(a, sizeof a);
  affine(b, sizeof b);
  affine(d, sizeof d);
  n = snprintf(text, size, "input x[2]\nlet a = %s\nlet b = %s\nlet c = %s\n", a, b, d);
  switch (draw(0, 2)) {
  case 0:
    snprintf(text + n, size - (size_t)n,
             "output max(a, b)\npiece a if a %s b\npiece %s if a %s b\n", more[slip],
             draw(0, 6) ? "b" : "relu(b)", less[draw(0, 3) ? 0 : slip]);
    break;
  case 1:
    snprintf(text + n, size - (size_t)n,
             "output relu(a) - relu(c - 1)\npiece a if a >= 0 and c %s 1\n"
             "piece a - c + 1 if a > 0 and c > 1\npiece 1 - c if a %s 0 and c > 1\n"
             "piece %s if a < 0 and c <= 1\n",
             slip == 1 ? "<" : "<=", draw(0, 3) ? "<=" : "<", draw(0, 6) ? "0" : "a + b");
    break;
  default:
    snprintf(text + n, size - (size_t)n,
             "output max(a, b, c)\npiece a if a >= b and a >= c\npiece b if a < b and b %s c\n"
             "piece %s if max(a, b) < c\n",
             more[slip], draw(0, 5) ? "c" : "abs(c)");
    break;
  }
}

/* What the program itself says at a point: do the pieces and the function agree there? */
static bool
agrees_at(clarke_code *p, mpq_t *at)
{
  size_t *own = p->output, n_own = p->n_outputs, holding = 0;
  bool agrees = true;

  for (size_t k = 0; k < p->n_pieces; k++) {
    size_t n = 2, *output = malloc((2 + 2 * p->piece[k].n_conditions) * sizeof *output);
    clarke_execution e;
    bool holds = true;

    output[0] = own[0];
    output[1] = p->piece[k].value;
    for (size_t j = 0; j < p->piece[k].n_conditions; j++) {
      output[n++] = p->piece[k].condition[j].left;
      output[n++] = p->piece[k].condition[j].right;
    }
    p->output = output;
    p->n_outputs = n;
    clarke_execution_init(&e);
    OK(clarke_execute(&e, p, at, &error));
    for (size_t j = 0; j < p->piece[k].n_conditions; j++) {
      int sign = mpq_cmp(e.value[output[2 + 2 * j]].q, e.value[output[3 + 2 * j]].q);

      holds = holds && clarke_relation_holds(p->piece[k].condition[j].relation,
                                             (sign > 0) - (sign < 0));
    }
    holding += holds;
    agrees = agrees && (!holds || mpq_equal(e.value[output[0]].q, e.value[output[1]].q));
    clarke_execution_clear(&e);
    free(output);
    p->output = own;
    p->n_outputs = n_own;
  }
  return agrees && holding == 1;
}

/* The point that `why` names. */
static void
read_witness(mpq_t *at, const char *why)
{
  const char *x = strstr(why, "x=");
  char first[128], second[128];

  ck_assert_ptr_nonnull(x);
  ck_assert_int_eq(sscanf(x, "x=%127[^,],%127[^ ]", first, second), 2);
  ck_assert(clarke_literal_parse(at[0], first) || mpq_set_str(at[0], first, 10) == 0);
  ck_assert(clarke_literal_parse(at[1], second) || mpq_set_str(at[1], second, 10) == 0);
  mpq_canonicalize(at[0]);
  mpq_canonicalize(at[1]);
}

START_TEST(random_ones)
{
  int right = 0, wrong = 0;
  mpq_t *at = new_rationals(2);

  brute_state = 29;
  for (int round = 0; round < 200; round++) {
    char text[1024];
    checked c;

    random_text(text, sizeof text);
    start(&c, text, draw(0, 1) ? "0 0" : "1/3 2/7");
    ck_assert_msg(c.r.answer != CLARKE_REPRESENTS_UNKNOWN, "%s%s", text, c.r.why);
    if (c.r.answer == CLARKE_MISREPRESENTS) {
      wrong++;
      read_witness(at, c.r.why);
      ck_assert_msg(!agrees_at(&c.p, at), "%s%s", text, c.r.why);
    } else {
      right++;
      for (int k = 0; k < 150; k++) {
        mpq_set_si(at[0], draw(-12, 12), 4);
        mpq_set_si(at[1], draw(-12, 12), 4);
        mpq_canonicalize(at[0]);
        mpq_canonicalize(at[1]);
        ck_assert_msg(agrees_at(&c.p, at), "%s", text);
      }
    }
    finish(&c);
  }
  ck_assert_int_gt(right, 40);
  ck_assert_int_gt(wrong, 40);
  free_rationals(at, 2);
}
END_TEST

/* A limit ends the visit, not the memory: sums of many abs have 3^n faces. */
START_TEST(too_many_faces)
{
  char text[4096] = "input x[12]\nlet s = 0*x[0]";
  checked c;

  for (int k = 0; k < 12; k++)
    sprintf(text + strlen(text), " + abs(x[%d])", k);
  strcat(text, "\noutput s\npiece s\n");
  start(&c, text, "0 0 0 0 0 0 0 0 0 0 0 0");
  ck_assert_int_eq(c.r.answer, CLARKE_REPRESENTS_UNKNOWN);
  ck_assert_ptr_nonnull(strstr(c.r.why, "too large"));
  finish(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("representation");

  tcase_add_loop_test(tests, known, 0, (int)(sizeof papers / sizeof papers[0]));
  tcase_add_test(tests, largest_by_loop);
  tcase_add_test(tests, largest_by_set);
  tcase_add_test(tests, random_ones);
  tcase_add_test(tests, too_many_faces);
  return run_tests();
}
