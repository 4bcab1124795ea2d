/* Operators as programs call them: spellings, and each pieces function against the function itself;
 * and operators that are in programs only, which files may not name. */
#include "../network/models.h"

#include "op/operator.h"
#include "network/graph/build.h"

static clarke_error error;

static void
pieces_begin(clarke_pieces *p, size_t n_kinks)
{
  memset(p, 0, sizeof *p);
  p->n_kinks = n_kinks;
  p->slope = CLARKE_NONE;
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_init(p->kink[k]);
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(p->coef[i][c]);
}

static void
pieces_end(clarke_pieces *p)
{
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_clear(p->kink[k]);
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(p->coef[i][c]);
}

/* y = p(x), by the piece with the left or the right of two at a kink. */
static void
pieces_at(mpq_t y, const clarke_pieces *p, const mpq_t x, bool left)
{
  size_t i = 0;

  while (i < p->n_kinks && (left ? mpq_cmp(x, p->kink[i]) > 0 : mpq_cmp(x, p->kink[i]) >= 0))
    i++;
  mpq_mul(y, p->coef[i][2], x);
  mpq_add(y, y, p->coef[i][1]);
  mpq_mul(y, y, x);
  mpq_add(y, y, p->coef[i][0]);
}

static void
clamp(mpq_t y, const mpq_t x, const mpq_t low, const mpq_t high)
{
  mpq_set(y, mpq_cmp(x, low) < 0 ? low : mpq_cmp(x, high) > 0 ? high : x);
}

static void
set_text(mpq_t q, const char *text)
{
  ck_assert_int_eq(mpq_set_str(q, text, 10), 0);
  mpq_canonicalize(q);
}

/* The functions by their definitions, in the constants a and b. */
static void
defined(mpq_t y, const char *name, const mpq_t x, const mpq_t a, const mpq_t b)
{
  mpq_t low, high, t;

  mpq_inits(low, high, t, NULL);
  mpq_set_ui(high, 6, 1);
  mpq_set_ui(t, 3, 1);
  mpq_add(t, t, x);
  clamp(t, t, low, high); /* relu6(x + 3) */
  if (strcmp(name, "relu") == 0 || strcmp(name, "leaky_relu") == 0) {
    mpq_set(y, x);
    if (mpq_sgn(x) < 0 && name[0] == 'r')
      mpq_set_ui(y, 0, 1);
    else if (mpq_sgn(x) < 0)
      mpq_mul(y, a, x);
  } else if (strcmp(name, "abs") == 0)
    mpq_abs(y, x);
  else if (strcmp(name, "relu6") == 0)
    clamp(y, x, low, high);
  else if (strcmp(name, "hardtanh") == 0 || strcmp(name, "clamp") == 0)
    clamp(y, x, a, b);
  else if (strncmp(name, "hards", 5) == 0) {
    mpq_div(y, t, high);
    if (strcmp(name, "hardswish") == 0)
      mpq_mul(y, y, x);
  } else
    ck_abort_msg("%s is not defined here", name);
  mpq_clears(low, high, t, NULL);
}

/* The constants of a call: those given, then the spelling's defaults (of the optional ones, or all
 * that are fixed). */
static size_t
call_constants(mpq_t *constant, const clarke_spelling *s, const char *const *given, size_t n)
{
  char *copy = strdup(s->constants != NULL ? s->constants : ""), *save = NULL;
  size_t at = 0;

  for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
    set_text(constant[s->n_required + at++], w);
  for (size_t i = 0; i < n; i++)
    set_text(constant[i], given[i]);
  free(copy);
  return s->n_required + at;
}

static const struct {
  const char *name, *op;
  size_t n_required, n_optional, n_given;
  const char *given[2], *all[2]; /* what is given in a call; the constants then */
} calls[] = {
  {"relu", "Relu", 0, 0, 0, {NULL}, {"0", "0"}},
  {"leaky_relu", "LeakyRelu", 0, 1, 0, {NULL}, {"1/100", "0"}},
  {"leaky_relu", "LeakyRelu", 0, 1, 1, {"-3/7"}, {"-3/7", "0"}},
  {"abs", "Abs", 0, 0, 0, {NULL}, {"0", "0"}},
  {"relu6", "Clip", 0, 0, 0, {NULL}, {"0", "6"}},
  {"hardtanh", "Clip", 0, 2, 0, {NULL}, {"-1", "1"}},
  {"hardtanh", "Clip", 0, 2, 1, {"-5/2"}, {"-5/2", "1"}},
  {"hardtanh", "Clip", 0, 2, 2, {"1/3", "7"}, {"1/3", "7"}},
  {"clamp", "Clamp", 2, 0, 2, {"-1", "2/3"}, {"-1", "2/3"}},
  {"hardsigmoid", "HardSigmoid", 0, 0, 0, {NULL}, {"0", "0"}},
  {"hardswish", "HardSwish", 0, 0, 0, {NULL}, {"0", "0"}},
};

START_TEST(pieces_are_the_functions)
{
  mpq_t constant[2], a, b, x, y, expected;

  mpq_inits(constant[0], constant[1], a, b, x, y, expected, NULL);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    const clarke_spelling *s;
    const clarke_op *op = clarke_operator_spelled(calls[i].name, &s);
    clarke_pieces p;

    ck_assert_msg(op != NULL, "%s", calls[i].name);
    ck_assert_str_eq(op->name, calls[i].op);
    ck_assert_uint_eq(s->n_required, calls[i].n_required);
    ck_assert_uint_eq(s->n_optional, calls[i].n_optional);
    set_text(a, calls[i].all[0]);
    set_text(b, calls[i].all[1]);
    pieces_begin(&p, op->n_kinks);
    ck_assert_uint_le(call_constants(constant, s, calls[i].given, calls[i].n_given), 2);
    ck_assert_ptr_null(op->pieces(&p, constant));
    ck_assert_uint_eq(p.n_kinks, op->n_kinks);
    ck_assert_uint_eq(p.first_kink, 0);
    for (long k = -60; k <= 60; k++) { /* the kinks are among them, or lie between two */
      mpq_set_si(x, k, 6);
      mpq_canonicalize(x);
      defined(expected, calls[i].name, x, a, b);
      for (int left = 0; left < 2; left++) {
        pieces_at(y, &p, x, left);
        if (!mpq_equal(y, expected))
          ck_abort_msg("%s at %ld/6: %f, expected %f", calls[i].name, k, mpq_get_d(y),
                       mpq_get_d(expected));
      }
    }
    for (size_t k = 0; k < p.n_kinks; k++) { /* continuous */
      pieces_at(y, &p, p.kink[k], true);
      pieces_at(expected, &p, p.kink[k], false);
      ck_assert(mpq_equal(y, expected));
      ck_assert(k == 0 || mpq_cmp(p.kink[k - 1], p.kink[k]) < 0);
    }
    pieces_end(&p);
  }
  mpq_clears(constant[0], constant[1], a, b, x, y, expected, NULL);
}
END_TEST

START_TEST(bad_constants)
{
  static const char *const bounds[][2] = {{"1", "1"}, {"2", "-1"}, {"1/3", "2/6"}};
  const clarke_spelling *s;
  mpq_t constant[2];
  clarke_pieces p;

  mpq_inits(constant[0], constant[1], NULL);
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < 2; k++) {
      const clarke_op *op = clarke_operator_spelled(k == 0 ? "clamp" : "hardtanh", &s);

      set_text(constant[0], bounds[i][0]);
      set_text(constant[1], bounds[i][1]);
      pieces_begin(&p, op->n_kinks);
      says(op->pieces(&p, constant), "lower bound below the upper");
      pieces_end(&p);
    }
  set_text(constant[0], "0");
  pieces_begin(&p, 2);
  says(clarke_operator_find("HardSigmoid")->pieces(&p, constant), "alpha > 0");
  pieces_end(&p);
  mpq_clears(constant[0], constant[1], NULL);
}
END_TEST

START_TEST(spellings)
{
  static const char *const none[] = {"Relu", "prelu", "", "relu7", "max", "sigmoid", "Clip"};
  const clarke_spelling *s;
  const clarke_op *op;
  size_t n = 0;

  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    ck_assert_ptr_null(clarke_operator_spelled(none[i], &s));
  op = clarke_operator_spelled("elu", &s); /* an instruction of its own: no pieces */
  ck_assert_str_eq(op->name, "Elu");
  ck_assert(op->pieces == NULL);
  ck_assert_str_eq(s->constants, "1");
  ck_assert_uint_eq(s->n_required + 10 * s->n_optional, 10);
  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++) {
    ck_assert(op->n_kinks <= CLARKE_MAX_KINKS && !(op->order && op->n_kinks > 0));
    for (size_t k = 0; k < CLARKE_MAX_SPELLINGS && op->spelling[k].name != NULL; k++, n++)
      ck_assert_ptr_eq(clarke_operator_spelled(op->spelling[k].name, &s), op); /* one each */
  }
  ck_assert_uint_eq(n, 9);
}
END_TEST

/* An operator of programs is none of files. */
START_TEST(programs_only)
{
  static const char *const only[] = {"Maximum", "Minimum", "Kth", "Sort", "Median", "Surrogate"};
  size_t n = 0;
  const clarke_op *op;

  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++)
    n += op->lower == NULL;
  ck_assert_uint_eq(n, sizeof only / sizeof only[0]);
  for (size_t i = 0; i < n; i++) {
    clarke_model m;
    clarke_graph g;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
    char refused[128];

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 2,));
    model_node(&m, only[i], "x", "y");
    model_output(&m, "y");
    clarke_graph_init(&g);
    ck_assert_int_eq(clarke_graph_build(&g, &m, &x, &error), CLARKE_EINPUT);
    snprintf(refused, sizeof refused, "operator %s is not supported. Record the training step|docs/operators.md", only[i]);
    says(error.text, refused);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

/* What to do instead is said of each. */
START_TEST(ways_out)
{
  static const char *const way[][2] = {
    {"NonZero", "It computes a shape: export with torch.onnx.export(dynamo=True)"},
    {"RandomNormal", "It draws numbers, which the file does not have"},
    {"MelWeightMatrix", "Record the training step instead (clarke.record)"},
    {"Sh", "Record the training step instead"},
  };

  for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
    clarke_model m;
    clarke_graph g;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 2,));
    model_node(&m, way[i][0], "x", "y");
    model_output(&m, "y");
    clarke_graph_init(&g);
    ck_assert_int_eq(clarke_graph_build(&g, &m, &x, &error), CLARKE_EINPUT);
    says(error.text, "net.onnx: node 0 |is not supported.|. docs/operators.md lists those that are");
    says(error.text, way[i][0]);
    says(error.text, way[i][1]);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("operators");

  tcase_add_test(tcase, ways_out);

  tcase_add_test(tcase, pieces_are_the_functions);
  tcase_add_test(tcase, bad_constants);
  tcase_add_test(tcase, spellings);
  tcase_add_test(tcase, programs_only);
  return run_tests();
}
