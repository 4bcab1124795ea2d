/* The text of a network that is made by hand: each kind of step, whatever its rows are, and what does not matter to it. And how steps and
 * values are found by names. */
#include "../suite.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/kernel/tape.h"
#include "forge_tape_judge.h"
#include "small_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO {PADDING, 0}

/* ---- Texts */

/* The text; memory to be freed. */
static char *
text_of(const world *w, const tensor *y, bool whole)
{
  char *text;
  size_t size;
  FILE *to = open_memstream(&text, &size);

  tape_write(to, &w->net, &w->x, y, whole);
  fclose(to);
  return text;
}

/* Takes the hashes out: each must be that of the lines that stand behind in the whole text, and so many. Their lines are told in their
 * place, with a slash before each. */
static char *
told(const char *whole)
{
  char *text;
  size_t size;
  FILE *to = open_memstream(&text, &size);

  for (const char *line = whole, *end; (end = strchr(line, '\n')) != NULL;) {
    const char *block = end + 1;
    for (const char *c = line; c < end; c++) {
      int n = 0;
      size_t lines;
      tape_hash hex, own;
      if (*c != ' ' || sscanf(c, " %zu %64[0-9a-f]%n", &lines, hex, &n) != 2 || strlen(hex) != 64) {
        fputc(*c, to);
        continue;
      }
      char *of, *at;
      size_t length;
      FILE *lines_of = open_memstream(&of, &length);
      for (; lines > 0; lines--) {
        const char *next = strchr(block, '\n');
        ck_assert_msg(*block == ' ', "a line of a block is missing: %s", block);
        fprintf(lines_of, "%.*s", (int)(next - block), block + 1); /* with its newline */
        block = next + 1;
      }
      fclose(lines_of);
      sha256((bytes){(unsigned char *)of, length}, own);
      ck_assert_str_eq(hex, own);
      for (at = of; *at != '\0'; at++) {
        if (at == of || at[-1] == '\n')
          fputc('/', to);
        if (*at != '\n')
          fputc(*at, to);
      }
      free(of);
      c += n - 1;
    }
    fputc('\n', to);
    ck_assert_msg(*block != ' ', "lines of no block: %s", block);
    line = block;
  }
  fclose(to);
  return text;
}

/* What the whole text says, and that the other one is that without its blocks. */
static void
expect_text(const world *w, const tensor *y, const char *wanted)
{
  char *whole = text_of(w, y, true), *text = text_of(w, y, false), *said = told(whole), *to = whole;
  tape_hash hex, own;

  ck_assert_str_eq(said, wanted);
  for (char *line = whole, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
    if (*line != ' ') {
      memmove(to, line, (size_t)(end + 1 - line));
      to += end + 1 - line;
    }
  *to = '\0';
  ck_assert_str_eq(text, whole);
  tape_digest(&w->net, &w->x, y, hex);
  sha256((bytes){(unsigned char *)text, strlen(text)}, own);
  ck_assert_str_eq(hex, own);
  free(whole);
  free(text);
  free(said);
}

/* ---- A network */

static const rational *
fraction(long above, unsigned long below)
{
  rational *q = rationals(1);

  mpq_set_si(q, above, below);
  mpq_canonicalize(q);
  return q;
}

/* n numbers from `first` on, as a tensor of the shape 1 x n or n. */
static tensor
numbered(const char *name, size_t rank, size_t n, long first)
{
  tensor t = {.name = (char *)name, .rank = rank, .dims = {rank > 1 ? 1 : n, n}, .count = n, .value = rationals(n)};

  for (size_t i = 0; i < n; i++)
    mpq_set_si(&t.value[i], first + (long)i, 1);
  return t;
}

/* x is 2 and 1/2. Parameters are called v and u, in this order, and have the values 3, 4 and 7; the third tensor is a constant of the
 * network's. */
static void
begin(world *w)
{
  rational *x = rationals(2);
  static tensor *all[3];

  mpq_set_ui(&x[0], 2, 1);
  mpq_set_ui(&x[1], 1, 2);
  world_begin(w, 2, x);
  w->x.rank = 2;
  w->x.dims[0] = 1;
  w->x.dims[1] = 2;
  w->w[0] = numbered("v", 2, 2, 3);
  w->w[1] = numbered("u", 1, 1, 7);
  w->w[2] = numbered("t", 1, 2, 5);
  w->w[0].weight = w->w[1].weight = true;
  for (size_t i = 0; i < 3; i++)
    all[i] = &w->w[i];
  w->net.tensors = all;
  name_add(&w->net.named, "v");
  name_add(&w->net.named, "u");
  name_add(&w->net.named, "t");
  w->net.together = 1;
  w->net.own.kind = LOSS_NONE;
}

static step *
add(world *w, kind k, size_t n, size_t width, const source *x)
{
  step *st = world_add(w, k, n, width);

  memcpy(st->sources, x, n * width * sizeof *x);
  return st;
}

static void
end(world *w, size_t output, size_t n, size_t *map)
{
  w->net.output = output;
  w->net.n_outputs = n;
  w->net.map = map;
  w->net.rank = 2;
  w->net.dims[0] = 1;
  w->net.dims[1] = n;
  w->net.batched = true;
}

#define HEAD "tape 1\nsamples 1 together 1\n"
#define PARAMETERS "parameter 0 u [1] values/7\nparameter 1 v [1,2] values/3/4\n"
#define X "step 0 input 2 [1,2] values/2/1/2\n"

/* Sums: rows once each, in the order in which features have them, be they stored twice. */
static void
add_sums(world *w)
{
  step *st = add(w, LINEAR, 3, 3, (const source[]){{0, 1}, {NONE, 0}, NO, {0, 0}, NO, {0, 1}, {0, 1}, {NONE, 0}, NO}); /* 1 */

  st->factor_row[0] = 1;
  st->factor_row[1] = 0;
  st->factors[0] = (factor){fraction(-3, 2), &w->w[0], 1};
  st->factors[1].coef = fraction(5, 1);
  st->factors[3] = (factor){&minus_one, &w->w[1], 0};
  st->factors[4] = (factor){&plus_one, &w->w[2], 1}; /* by its value */
  memcpy(&st->factors[6], st->factors, 3 * sizeof *st->factors);
  st = add(w, LINEAR, 1, 1, (const source[]){{1, 2}}); /* 2 */
  st->divide = true;
  st->factors[0].w = &w->w[0];
}

#define SUMS "step 1 linear 3 of 3 factors/-1*0@0 1*6 1/-3/2*1@1 5 1 sources/0.1 1 -/0.0 - 0.1 features/0 0/1 1/1 0\n" \
  "step 2 linear 1 dividing of 1 factors/1*1@0 sources/1.2 features/0 0\n"

START_TEST(sums_are_told)
{
  size_t map[] = {2, 0};
  world w;

  begin(&w);
  add_sums(&w);
  end(&w, 1, 2, map);
  expect_text(&w, NULL, HEAD PARAMETERS X SUMS "output [2] of step 1 loss none features/2/0\n");
}
END_TEST

/* A tensor is a parameter of a name if the network has it, under that name. */
START_TEST(parameters_are_those_of_the_network)
{
  static const char *const wanted[] = {"1*1@0", "1*3", "1*3", "1*3", "1*3"};
  size_t map[] = {0};
  char line[400];
  world w;
  tensor other;

  begin(&w);
  step *st = add(&w, LINEAR, 1, 1, (const source[]){{0, 0}});
  other = w.w[0];
  st->factors[0].w = _i == 4 ? &w.w[2] : _i > 0 ? &other : &w.w[0];
  if (_i == 1)
    other.name = NULL;
  if (_i == 2)
    other.name = "w"; /* that no tensor has */
  if (_i == 4) {
    w.w[2] = numbered("t", 1, 1, 3); /* whose number comes behind the parameters', and which none of them is */
    w.w[2].name = "v";
  }
  end(&w, 1, 1, map);
  snprintf(line, sizeof line, HEAD PARAMETERS X "step 1 linear 1 of 1 factors/%s sources/0.0 features/0 0\n"
           "output [1] of step 1 loss none features/0\n", wanted[_i]);
  expect_text(&w, NULL, line);
}
END_TEST

/* A name behind the network's tensors, as a value's is, is no parameter's. */
START_TEST(a_value_is_no_parameter)
{
  size_t map[] = {0};
  tensor value = numbered("z", 1, 1, 9);
  world w;

  begin(&w);
  value.weight = true;
  name_add(&w.net.named, "z");
  add(&w, LINEAR, 1, 1, (const source[]){{0, 0}})->factors[0].w = &value;
  end(&w, 1, 1, map);
  w.net.tensors = (tensor *[]){&w.w[0], &w.w[1], &w.w[2], &value};
  expect_text(&w, NULL, HEAD PARAMETERS X "step 1 linear 1 of 1 factors/1*9 sources/0.0 features/0 0\n"
              "output [1] of step 1 loss none features/0\n");
}
END_TEST

static void
set_pieces(step *st, size_t n_kinks, const long *at, const long *piece)
{
  st->n_kinks = n_kinks;
  for (size_t k = 0; k < n_kinks; k++) {
    st->number[k] = 4 * (k + 1);
    mpq_set_si(&st->at[k], at[k], 1);
  }
  for (size_t k = 0; k < 9; k++)
    mpq_set_si(&st->piece[k / 3][k % 3], piece[k], 1);
}

/* Of each kind its own numbers and words, and no others: each step has those of all kinds. */
START_TEST(kinds_are_told)
{
  static const source x[][2] = {{{0, 0}, {0, 1}}, {{0, 1}, NO}};
  size_t map[] = {0};
  tensor mask = numbered(NULL, 1, 2, 0);
  world w;

  begin(&w);
  step *st = add(&w, PIECEWISE, 1, 1, x[0]); /* 1 */
  set_pieces(st, 1, (const long[]){-1, 9}, (const long[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
  st->op = "RNN";
  st->factors[0].w = &w.w[1];
  st = add(&w, PIECEWISE, 1, 1, x[0]); /* 2 */
  set_pieces(st, 2, (const long[]){-1, 1}, (const long[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
  st->op = "Clip";
  add(&w, WINDOW, 1, 2, x[0])->op = "Max";    /* 3 */
  add(&w, WINDOW, 2, 2, x[0])->op = "Min";    /* 4 */
  add(&w, WINDOW, 1, 2, x[1])->op = "RNN";    /* 5 */
  add(&w, PRODUCT, 1, 2, x[0]);               /* 6 */
  add(&w, FUNCTION, 2, 1, x[0])->of = F_HELD; /* 7 */
  add(&w, OVER_ROOT, 1, 1, x[0])->factors[0].w = &w.w[1];
  for (size_t k = 0; k < 4; k++) { /* 9 to 12 */
    st = add(&w, k < 2 ? SOFTMAX : NORMALIZE, 2, 1, x[0]);
    st->length = 2 - k % 2;
    st->stride = 1 + k % 2;
    st->log = k == 1;
    st->couples = k == 3;
  }
  add(&w, INPUT, 2, 1, x[0])->given = &mask; /* 13 */
  for (size_t s = 1; s < w.net.n_steps; s++) {
    st = &w.net.steps[s];
    if (s > 2)
      set_pieces(st, 1, (const long[]){s == 8 ? -5 : 5}, (const long[]){3, 3, 3, 3, 3, 3, 3, 3, 3});
    st->divide = true;
    st->of = st->kind == FUNCTION ? st->of : F_EXP;
  }
  end(&w, 13, 1, map);
  expect_text(&w, NULL, HEAD PARAMETERS X
    "step 1 piecewise 1 Relu kinks 4 at -1 pieces 1 2 3 4 5 6 of 1 factors/1*0@0 sources/0.0 features/0 0\n"
    "step 2 piecewise 1 Clip kinks 4 at -1 8 at 1 pieces 1 2 3 4 5 6 7 8 9 of 1 factors/1 sources/0.0 features/0 0\n"
    "step 3 window 1 Maximum of 2 sources/0.0 0.1 features/0\n"
    "step 4 window 2 Minimum of 2 sources/0.0 0.1/0.1 - features/0/1\n"
    "step 5 window 1 RNN of 2 sources/0.1 - features/0\n"
    "step 6 product 1 of 2 sources/0.0 0.1 features/0\n"
    "step 7 function 2 held of 1 sources/0.0/0.1 features/0/1\n"
    "step 8 over-root 1 -5 of 1 factors/1*0@0 sources/0.0 features/0 0\n"
    "step 9 softmax 2 lines of 2 by 1 of 1 sources/0.0/0.1 features/0/1\n"
    "step 10 softmax 2 lines of 1 by 2 logarithm of 1 sources/0.0/0.1 features/0/1\n"
    "step 11 normalize 2 5 lines of 2 by 1 of 1 sources/0.0/0.1 features/0/1\n"
    "step 12 normalize 2 5 lines of 1 by 2 coupled of 1 sources/0.0/0.1 features/0/1\n"
    "step 13 input 2 [2] values/0/1\n"
    "output [1] of step 13 loss none features/0\n");
}
END_TEST

START_TEST(functions_have_names)
{
  static const char *const names[] = {"exp", "erf", "softplus", "normal", "normal-tanh", "elu", "sin", "cos", "atan", "reciprocal", "root",
                                      "log", "above", "floor", "round", "truncate", "held"};
  char line[400];
  size_t map[] = {0};
  world w;

  begin(&w);
  add(&w, FUNCTION, 1, 1, (const source[]){{0, 0}})->of = (function)_i;
  end(&w, 1, 1, map);
  snprintf(line, sizeof line, HEAD PARAMETERS X "step 1 function 1 %s of 1 sources/0.0 features/0\noutput [1] of step 1 loss none features/0\n", names[_i]);
  expect_text(&w, NULL, line);
}
END_TEST

/* The loss; a label that is ignored, unless it is known that no sample has it; the target, of floats or of integers. */
static const struct {
  loss_kind kind;
  bool ignores, real;
  long first; /* of labels, 2; 0: there are none */
  const char *says;
} losses[] = {
  {LOSS_SUM, false, false, 0, " loss sum features/0\n"}, {LOSS_MSE, false, true, 4, " loss mse features/0\ntarget real [2] values/4/5\n"},
  {LOSS_CE, false, false, 4, " loss ce features/0\ntarget integer [2] values/4/5\n"},
  {LOSS_CE, true, false, 0, " loss ce ignoring 7 features/0\n"},
  {LOSS_CE, true, false, 6, " loss ce ignoring 7 features/0\ntarget integer [2] values/6/7\n"},
  {LOSS_CE, true, false, 7, " loss ce ignoring 7 features/0\ntarget integer [2] values/7/8\n"},
  {LOSS_CE, true, false, 4, " loss ce features/0\ntarget integer [2] values/4/5\n"},
};

START_TEST(losses_are_told)
{
  char wanted[300];
  size_t map[] = {0};
  tensor y = numbered("y", 1, 2, losses[_i].first);
  world w;

  begin(&w);
  y.real = losses[_i].real;
  end(&w, 0, 1, map);
  w.net.batch = 3; /* samples, which are not those of these numbers */
  w.net.together = 2;
  w.net.batched = false;
  w.net.own.kind = losses[_i].kind;
  w.net.own.ignored = losses[_i].ignores ? &w.w[1] : NULL;
  snprintf(wanted, sizeof wanted, "tape 1\nsamples 3 together 2\n" PARAMETERS X "output [1,1] of step 0%s", losses[_i].says);
  expect_text(&w, losses[_i].first > 0 ? &y : NULL, wanted);
}
END_TEST

/* ---- In a proof */

static struct {
  int which; /* 0: its own hash, 1: another one, 2: none */
  FILE *said;
} named;

static void
read_tape(void *of)
{
  static size_t map[] = {0};
  char line[100];
  tape_hash hex;
  world w;

  (void)of;
  account = named.said;
  begin(&w);
  end(&w, 0, 1, map);
  tape_digest(&w.net, &w.x, NULL, hex);
  if (named.which == 1)
    hex[0] = hex[0] == '0' ? '1' : '0';
  snprintf(line, sizeof line, named.which == 2 ? "loss sum\n" : "tape %s\nloss sum\n", hex);
  judge_lines(line);
  check_tape(&w.net, &w.x, NULL);
  known_line("loss", "sum");
}

/* What is said of the tape that is named; of none nothing. */
START_TEST(a_proof_may_name_the_tape)
{
  FILE *before = account;
  const char *why;
  char *said;
  size_t size;

  named.which = _i;
  named.said = open_memstream(&said, &size);
  const outcome how = judge(read_tape, NULL, &why);
  fclose(named.said);
  account = before;
  ck_assert_msg(how == (_i == 1 ? FAILED : VERIFIED) && (_i != 1 || strstr(why, "the network's tape has the hash") != NULL), "%s", why);
  ck_assert_msg(_i == 0 ? strncmp(said, "Tape: ", 6) == 0 && strlen(said) == 71 : *said == '\0', "%s", said);
  free(said);
}
END_TEST

/* ---- Names */

START_TEST(steps_and_values_are_found)
{
  graph_value values[] = {{.name = "v"}, {.name = "u"}, {.name = "t"}};
  world w;

  begin(&w);
  w.net.values = values;
  ck_assert(network_value(&w.net, "u") == &values[1] && network_value(&w.net, "v") == &values[0]);
  ck_assert(network_value(&w.net, "none") == NULL);
  w.net.steps[0].op = "Input"; /* which is no node */
  ck_assert(!network_has(&w.net, "Relu"));
  add(&w, LINEAR, 1, 1, (const source[]){{0, 0}})->op = "Gemm";
  add(&w, PIECEWISE, 1, 1, (const source[]){{0, 0}})->op = "Relu";
  add(&w, LINEAR, 1, 1, (const source[]){{0, 0}})->op = "Add";
  ck_assert(network_has(&w.net, "Gemm") && network_has(&w.net, "Relu") && network_has(&w.net, "Add"));
  ck_assert(!network_has(&w.net, "Abs") && !network_has(&w.net, "Input"));
}
END_TEST

START_TEST(steps_have_the_kinks_of_operators)
{
  static const struct {
    kind of;
    const char *op, *kinks;
  } steps[] = {{PIECEWISE, "RNN", "Relu"}, {LINEAR, "RNN", "RNN"}, {PIECEWISE, "DeformConv", "GridSample"},
               {LINEAR, "DeformConv", "DeformConv"}, {PIECEWISE, "Abs", "Abs"}};

  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    ck_assert_str_eq(step_operator(&(step){.kind = steps[i].of, .op = steps[i].op}), steps[i].kinks);
  ck_assert_str_eq(network_rule("Max"), "Maximum");
  ck_assert_str_eq(network_rule("Min"), "Minimum");
  ck_assert_str_eq(network_rule("MaxPool"), "MaxPool");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("tapes");

  tcase_add_test(tests, sums_are_told);
  tcase_add_loop_test(tests, parameters_are_those_of_the_network, 0, 5);
  tcase_add_test(tests, a_value_is_no_parameter);
  tcase_add_test(tests, kinds_are_told);
  tcase_add_loop_test(tests, functions_have_names, 0, F_HELD + 1);
  tcase_add_loop_test(tests, losses_are_told, 0, (int)(sizeof losses / sizeof *losses));
  tcase_add_loop_test(tests, a_proof_may_name_the_tape, 0, 3);
  tcase_add_test(tests, steps_and_values_are_found);
  tcase_add_test(tests, steps_have_the_kinks_of_operators);
  return run_tests();
}
