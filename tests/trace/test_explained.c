/* What a recorded tree explains, by hand: where factors are multiplied in, what is not followed at all, and what a tree file gets wrong. */
#include "scene.h"

#include <math.h>
#include <stdio.h>

enum { N = 4, K = 3, M = 2 };

/* t = tanh(x). GEMM: z = alpha (t w) + beta v, of v a row. DIVIDED: z = (alpha (t w)) / 5. MEAN: z is t's mean along its rows. */
typedef enum { GEMM, DIVIDED, MEAN } kind;

typedef struct {
  scene s;
  clarke_certify c;
  double alpha, beta, t[N * K], w[K * M], v[M];
  clarke_tensor *z;
} record;

static void
nodes(clarke_model *m, kind as)
{
  clarke_model_node *node;

  model_node(m, "Tanh", "x", "t");
  if (as == GEMM) {
    node = model_node(m, "Gemm", "t,w,v", "z");
    attr_float(node, "alpha", 3); /* begin() has others */
    attr_float(node, "beta", 5);
  } else if (as == MEAN) {
    node = model_node(m, "ReduceMean", "t", "z");
    attr_ints(node, "axes", SHAPE(1,));
    attr_int(node, "keepdims", 1);
  } else {
    node = model_node(m, "Constant", "", "three");
    attr_float(node, "value_float", 3);
    node = model_node(m, "Constant", "", "five");
    attr_float(node, "value_float", 5);
    model_node(m, "MatMul", "t,w", "y");
    model_node(m, "Mul", "y,three", "y3");
    model_node(m, "Div", "y3,five", "z");
  }
  model_node(m, "Relu", "z", "out");
}

/* The coefficients that a Gemm has. */
static void
set_factors(record *r)
{
  const clarke_graph *g = &r->s.graph;
  clarke_step *s = &((clarke_graph *)g)->steps[g->values[scene_value(g, "z")].producer];

  for (size_t k = 0; k < s->n_in; k++)
    s->in[k].coef = g->values[s->in[k].value].constant ? r->beta : r->alpha;
}

static void
begin(record *r, kind as, double alpha, double beta)
{
  static const double numbers[K * M] = {0.1F, 0.7F, -1.3F, 2.9F, 0.6F, 1.1F};
  const clarke_loss sum = {.kind = CLARKE_LOSS_SUM};
  const size_t columns = as == MEAN ? 1 : M;
  const double zeros[N * M] = {0};
  clarke_error err = {CLARKE_OK, ""};
  clarke_model m;

  memset(r, 0, sizeof *r);
  r->alpha = alpha;
  r->beta = beta;
  memcpy(r->w, numbers, sizeof r->w);
  for (size_t k = 0; k < N * K; k++)
    r->t[k] = (double)(0.37F * (float)k - 0.9F);
  r->v[0] = 0.3F;
  r->v[1] = -0.77F;
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, K,));
  memcpy(model_floats(&m, "w", SHAPE(K, M,)), r->w, sizeof r->w);
  memcpy(model_floats(&m, "v", SHAPE(M,)), r->v, sizeof r->v);
  nodes(&m, as);
  model_output(&m, "out");
  r->s.x = tensor_of("x", CLARKE_F32, SHAPE(N, K,));
  scene_build(&r->s, &m, sum, "float32", 1);
  if (as == GEMM)
    set_factors(r);
  put(&r->s.trace, "output/t", SHAPE(N, K,), r->t);
  put(&r->s.trace, "output/z", SHAPE(N, (long)columns,), zeros);
  r->z = &r->s.trace.tensor[1];
  clarke_certify_init(&r->c);
  r->c.g = &r->s.graph;
  r->c.x = &r->s.x;
  r->c.trace = &r->s.trace;
  r->c.gradients = &r->s.gradients;
  r->c.pass.n = N;
  r->c.seen = calloc(r->s.trace.n, sizeof *r->c.seen);
  r->c.recorded = calloc(r->s.graph.n_values + 1, sizeof *r->c.recorded);
  ck_assert_ptr_nonnull(clarke_certify_add(&r->c, CLARKE_OUTPUT, "z", NULL, &err));
}

static void
end(record *r)
{
  clarke_certify_clear(&r->c);
  scene_clear(&r->s);
}

/* Is z what these trees make of it (JSON, the brackets of the list left out)? Else why not; of a wrong file its error. */
static void
explain(record *r, const char *trees, size_t leaves, const char *type, clarke_certainty before, const char *expected)
{
  clarke_certificate *of = &r->c.certificate[0];
  clarke_error err = {CLARKE_OK, ""};
  clarke_summations s;
  const char *said;
  char text[1024];

  clarke_summations_init(&s);
  snprintf(text, sizeof text, "{\"format\": \"clarke-trees\", \"version\": 1, \"sums\": [{\"part\": \"output\", \"name\": \"z\", "
           "\"leaves\": %zu, \"type\": \"%s\", \"trees\": [%s]}]}", leaves, type, trees);
  ck_assert_msg(clarke_summations_parse(&s, text, strlen(text), "t", &err) == CLARKE_OK, "%s", err.text);
  free(of->tree_why);
  of->tree_why = NULL;
  of->tree = CLARKE_NO_TREE;
  of->certainty = before;
  said = clarke_summation_explain(&r->c, &s, "t", &err) != CLARKE_OK ? err.text : of->tree_why;
  ck_assert_msg((said == NULL) == (expected == NULL) && (said == NULL || strstr(said, expected) != NULL), "%s: %s", trees, said);
  ck_assert_int_eq(of->certainty, said == NULL ? CLARKE_BY_TREE : before);
  clarke_summations_clear(&s);
}

/* One tree of all entries. */
static void
explain_whole(record *r, const char *tree, const char *form, size_t leaves, const char *type, const char *expected)
{
  char text[256];

  snprintf(text, sizeof text, "{\"tree\": \"%s\", %s%s%s\"rows\": [0, %d], \"columns\": [0, %zu]}", tree, *form ? "\"form\": \"" : "", form,
           *form ? "\", " : "", N - 1, r->z->dims[1] - 1);
  explain(r, text, leaves, type, CLARKE_WITHIN_BOUND, expected);
}

/* alpha (t w) + beta v in float32 and that form, products from left to right, beta v rounded or not; and likewise in float64. */
#define MADE(type, fused)                                                                                                                  \
  static double made_##type(const record *r, clarke_summation_form form, bool rounds, size_t n, size_t j)                                  \
  {                                                                                                                                        \
    const type alpha = (type)r->alpha, beta = (type)r->beta, v = (type)r->v[j];                                                            \
    type sum = 0;                                                                                                                          \
                                                                                                                                           \
    for (size_t k = 0; k < K; k++) {                                                                                                       \
      const type t = (type)r->t[n * K + k], w = (type)r->w[k * M + j];                                                                     \
                                                                                                                                           \
      sum = sum + (form == CLARKE_FORM_FIRST ? (alpha * t) * w : form == CLARKE_FORM_SECOND ? t * (alpha * w) : t * w);                    \
    }                                                                                                                                      \
    if (form == CLARKE_FORM_FUSED && rounds)                                                                                               \
      return (double)fused(alpha, sum, beta * v);                                                                                          \
    if (form == CLARKE_FORM_SUM || form == CLARKE_FORM_FUSED)                                                                              \
      sum = alpha * sum;                                                                                                                   \
    return (double)(rounds ? sum + beta * v : fused(beta, v, sum));                                                                        \
  }
MADE(float, fmaf)
MADE(double, fma)

static void
make(record *r, clarke_summation_form form, bool rounds, bool is_float)
{
  for (size_t e = 0; e < N * M; e++)
    r->z->real[e] = (is_float ? made_float : made_double)(r, form, rounds, e / M, e % M);
}

/* Numbers that float32 has not: of floats two factors are multiplied exactly in doubles. */
static void
make_doubles(record *r)
{
  double *w = r->s.graph.values[scene_value(&r->s.graph, "w")].real;

  for (size_t k = 0; k < N * K; k++)
    r->s.trace.tensor[0].real[k] = r->t[k] += 1e-9 / (double)(k + 3);
  for (size_t k = 0; k < K * M; k++)
    w[k] = r->w[k] += 1e-9 / (double)(k + 3);
  r->z->dtype = CLARKE_F64;
}

/* Each form explains what was made in it, and nothing that was made in another; so does an asterisk where beta v is not rounded. (Then
 * alpha's product is: of a single sum `fused` is `sum`.) */
START_TEST(forms)
{
  static const char *const names[] = {[CLARKE_FORM_FIRST] = "first", [CLARKE_FORM_SECOND] = "second", [CLARKE_FORM_SUM] = "sum",
                                      [CLARKE_FORM_FUSED] = "fused"};
  const char *type = _i ? "float32" : "float64";
  record r;

  begin(&r, GEMM, _i ? (double)0.7F : 0.7, _i ? (double)1.7F : 1.7);
  if (_i == 0)
    make_doubles(&r);
  for (clarke_summation_form made = CLARKE_FORM_FIRST; made <= CLARKE_FORM_FUSED; made++)
    for (clarke_summation_form form = CLARKE_FORM_FIRST; form <= CLARKE_FORM_FUSED; form++)
      for (int rounds = 0; rounds < 4; rounds++) { /* when it was made; when it is explained */
        const bool as_made = rounds / 2 == rounds % 2, same = made == form || (rounds == 0 && made + form == CLARKE_FORM_SUM + CLARKE_FORM_FUSED);

        make(&r, made, rounds / 2, _i);
        explain_whole(&r, rounds % 2 ? "[0-3]" : "[0-2 3*]", names[form], K + 1, type, as_made && same ? NULL : " it gives ");
      }
  explain_whole(&r, "[0-3]", "", K + 1, type, "there is a factor, and no form says where it is multiplied in");
  explain(&r, "{\"tree\": \"[0-3]\", \"form\": \"sum\", \"rows\": [0, 0], \"columns\": [0, 1]},"
          "{\"tree\": \"[0-3]\", \"rows\": [1, 3], \"columns\": [0, 1]}", K + 1, type, CLARKE_WITHIN_BOUND,
          "there is a factor, and no form says where it is multiplied in");
  end(&r);
}
END_TEST

/* -1 rounds nothing, so that it needs no form. Nor does beta alone, which is told by it. */
START_TEST(without_a_form)
{
  record r;

  begin(&r, GEMM, -1, (double)1.7F);
  make(&r, CLARKE_FORM_SUM, true, true);
  explain_whole(&r, "[0-3]", "", K + 1, "float32", NULL);
  end(&r);
  begin(&r, GEMM, 1, (double)1.7F);
  make(&r, CLARKE_FORM_SUM, false, true);
  explain_whole(&r, "[0-2 3*]", "", K + 1, "float32", NULL);
  explain_whole(&r, "[0-3]", "", K + 1, "float32", " it gives ");
  make(&r, CLARKE_FORM_SUM, true, true);
  explain_whole(&r, "[0-3]", "", K + 1, "float32", NULL);
  explain_whole(&r, "[0-2 3*]", "", K + 1, "float32", " it gives ");
  r.z->real[3] = (double)nextafterf((float)r.z->real[3], 9);
  explain_whole(&r, "[0-3]", "", K + 1, "float32", "at [1, 1] it gives ");
  end(&r);
}
END_TEST

/* What is not followed. */
START_TEST(unfit)
{
  static const struct { kind as; double alpha, beta; clarke_dtype result; size_t leaves; const char *type, *why; } known[] = {
    {GEMM, 1, 1, CLARKE_F32, K, "float32", "another number of products"},
    {GEMM, 1, 1, CLARKE_F64, K + 1, "float32", "sums in float32 are no float64 results"},
    {GEMM, 2, 1, CLARKE_F16, K + 1, "float32", "of a mean, or in half precision, factors are not followed"},
    {GEMM, 1, 2, CLARKE_F16, K + 1, "float32", "of a mean, or in half precision, factors are not followed"},
    {GEMM, 0.1, 1, CLARKE_F32, K + 1, "float32", "a factor is no number of the sums' type"},
    {GEMM, 1, 0.1, CLARKE_F32, K + 1, "float32", "a factor is no number of the sums' type"},
    {GEMM, 2, 2, CLARKE_F32, K + 1, "float64", "of a mean, or in half precision, factors are not followed"},
    {DIVIDED, 3, 1, CLARKE_F32, K, "float32", "of a mean, or in half precision, factors are not followed"},
    {MEAN, 1, 1, CLARKE_F32, K, "float64", "a mean is of its sum's type"},
    {MEAN, 1, 1, CLARKE_F16, K, "float32", "a mean is of its sum's type"},
  };
  record r;

  begin(&r, known[_i].as, known[_i].alpha, known[_i].beta);
  r.z->dtype = known[_i].result;
  explain_whole(&r, known[_i].leaves == K ? "[0-2]" : "[0-3]", "sum", known[_i].leaves, known[_i].type, known[_i].why);
  end(&r);
}
END_TEST

/* A mean's quotient is rounded, too. */
START_TEST(mean)
{
  record r;

  begin(&r, MEAN, 1, 1);
  for (size_t n = 0; n < N; n++)
    r.z->real[n] = (double)(((float)r.t[n * K] + (float)r.t[n * K + 1] + (float)r.t[n * K + 2]) / 3.0F);
  explain_whole(&r, "[0-2]", "", K, "float32", NULL);
  r.z->real[1] = (double)nextafterf((float)r.z->real[1], 9);
  explain_whole(&r, "[0-2]", "", K, "float32", "at [1, 0] it gives ");
  end(&r);
}
END_TEST

/* Of half precision factors are cast before, and the sum is rounded at its end. */
START_TEST(half)
{
  record r;

  begin(&r, GEMM, 1, 1);
  r.z->dtype = CLARKE_BF16;
  for (size_t e = 0; e < N * M; e++) {
    float sum = 0;

    for (size_t k = 0; k < K; k++)
      sum += (float)clarke_round_double(r.t[e / M * K + k], CLARKE_BF16) * (float)clarke_round_double(r.w[k * M + e % M], CLARKE_BF16);
    r.z->real[e] = clarke_round_double((double)(sum + (float)clarke_round_double(r.v[e % M], CLARKE_BF16)), CLARKE_BF16);
  }
  explain_whole(&r, "[0-3]", "", K + 1, "float32", NULL);
  end(&r);
}
END_TEST

/* Factors that are no floats were rounded by somebody, before. */
START_TEST(factors_fit)
{
  record r;

  begin(&r, GEMM, 1, 1);
  make(&r, CLARKE_FORM_SUM, true, true);
  explain_whole(&r, "[0-3]", "", K + 1, "float32", NULL);
  r.s.graph.values[scene_value(&r.s.graph, "w")].real[0] = 0.1;
  explain_whole(&r, "[0-3]", "", K + 1, "float32", "its factors are no numbers of type float32");
  end(&r);
}
END_TEST

/* Trees of every entry, and of each but one; of what is not there. */
START_TEST(places)
{
  static const char tree[] = "{\"tree\": \"[0-3]\", \"rows\": [%d, %d], \"columns\": [%d, %d]}";
  static const struct { int at[2][4]; const char *why; } known[] = {
    {{{0, 0, 0, 1}, {1, 3, 0, 1}}, NULL},
    {{{0, 3, 0, 0}, {0, 3, 1, 1}}, NULL},
    {{{0, 2, 0, 1}, {3, 3, 0, 0}}, "1 entries have no tree"},
    {{{0, 0, 0, 1}, {0, 3, 1, 1}}, "two trees are of one entry"},
    {{{0, 0, 0, 1}, {1, 4, 0, 1}}, "a tree is of rows to 4 and columns to 1, and the tensor has 4 and 2"},
    {{{0, 3, 0, 0}, {0, 3, 1, 2}}, "a tree is of rows to 3 and columns to 2, and the tensor has 4 and 2"},
  };
  char text[512];
  record r;

  begin(&r, GEMM, 1, 1);
  make(&r, CLARKE_FORM_SUM, true, true);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    size_t end_of = 0;

    for (int k = 0; k < 2; k++) {
      const int *at = known[i].at[k];

      end_of += (size_t)snprintf(text + end_of, sizeof text - end_of, tree, at[0], at[1], at[2], at[3]);
      end_of += (size_t)snprintf(text + end_of, sizeof text - end_of, "%s", k == 0 ? "," : "");
    }
    explain(&r, text, K + 1, "float32", CLARKE_WITHIN_BOUND, known[i].why);
    explain(&r, text, K + 1, "float32", CLARKE_CANNOT_SAY, known[i].why);
  }
  end(&r);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("explained");

  tcase_add_loop_test(tests, forms, 0, 2);
  tcase_add_test(tests, without_a_form);
  tcase_add_loop_test(tests, unfit, 0, 10);
  tcase_add_test(tests, mean);
  tcase_add_test(tests, half);
  tcase_add_test(tests, factors_fit);
  tcase_add_test(tests, places);
  return run_tests();
}
