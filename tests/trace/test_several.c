/* The gradient in what several steps read: the parts that it is added up of, one after another, beside the definition. */
#include "scene.h"

#include <stdio.h>

enum { N = 3, K = 4, S = 2 };

/* t = tanh(x); y = t w; r = relu(t); s = the last two entries of t; d = y - t; z = r w; u = x wt, wt being w transposed. And what else
 * reads t: nothing; t^2; exp(t); 2 t; 3 (t w); entries of t, the first twice, or one place further; piecewise linear functions that are no
 * relu. NEGATED: u = x (-wt). */
typedef enum { PLAIN, SQUARE, EXP, FACTOR, SCALED, TWICE, SHIFTED, LEAKY, PARAMETRIC, BELOW_SIX, FROM_ONE, NEGATED } form;

typedef struct {
  scene s;
  clarke_certify c;
  double w[K * K], t[N * K], gy[N * K], gr[N * K], gs[N * S], gd[N * K], gz[N * K], gt[K * K];
} record;

static void
nodes(clarke_model *m, form as)
{
  static const struct { const char *op, *from; } more[] = {
    [PLAIN] = {"Mul", "z,two"}, [NEGATED] = {"Mul", "z,two"}, [SQUARE] = {"Mul", "t,t"}, [EXP] = {"Exp", "t"}, [FACTOR] = {"Mul", "t,two"},
    [SCALED] = {"Gemm", "t,w"}, [TWICE] = {"Gather", "t,which"}, [SHIFTED] = {"Pad", "t,pads"}, [LEAKY] = {"LeakyRelu", "t"},
    [PARAMETRIC] = {"PRelu", "t,slopes"}, [BELOW_SIX] = {"Clip", "t,nought,six"}, [FROM_ONE] = {"Clip", "t,one"}};
  clarke_model_node *node;

  node = model_node(m, "Constant", "", "two");
  attr_float(node, "value_float", 2);
  model_node(m, "Tanh", "x", "t");
  model_node(m, "MatMul", "t,w", "y");
  model_node(m, "Relu", "t", "r");
  model_node(m, "Slice", "t,begin,end,axis", "s");
  model_node(m, "Sub", "y,t", "d");
  model_node(m, "MatMul", "r,w", "z");
  node = model_node(m, "Transpose", "w", "wt");
  attr_ints(node, "perm", SHAPE(1, 0,));
  if (as == NEGATED)
    model_node(m, "Neg", "wt", "nwt");
  model_node(m, "MatMul", as == NEGATED ? "x,nwt" : "x,wt", "u");
  model_node(m, "Mul", "d,z", "e");
  model_node(m, "Add", "e,u", "f");
  node = model_node(m, more[as].op, more[as].from, "more");
  if (as == SCALED)
    attr_float(node, "alpha", 3);
  if (as == TWICE)
    attr_int(node, "axis", 1);
  model_node(m, "Add", "f,more", "g");
  model_node(m, "Gemm", "s,v", "h");
  model_node(m, "Add", "g,h", "out");
}

static void
begin(record *r, form as)
{
  const clarke_loss sum = {.kind = CLARKE_LOSS_SUM};
  const size_t at[3] = {2, 4, 1};
  static const char *const places[] = {"begin", "end", "axis"}, *const bounds[] = {"nought", "one", "six"};
  clarke_model m;

  memset(r, 0, sizeof *r);
  scene_fill(r->w, K * K, 1, 0.25);
  scene_fill(r->t, N * K, -2.5, 0.5); /* 0 among them */
  scene_fill(r->gy, N * K, 10, 1);
  scene_fill(r->gr, N * K, 30, 1);
  scene_fill(r->gs, N * S, 50, 1);
  scene_fill(r->gd, N * K, 70, 1);
  scene_fill(r->gz, N * K, 90, 1);
  scene_fill(r->gt, K * K, 110, 1);
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, K,));
  memcpy(model_floats(&m, "w", SHAPE(K, K,)), r->w, sizeof r->w);
  scene_fill(model_floats(&m, "v", SHAPE(S, K,)), S * K, 1, 1);
  for (size_t i = 0; i < 3; i++)
    model_integers(&m, places[i], SHAPE(1,))[0] = (int64_t)at[i];
  memcpy(model_integers(&m, "which", SHAPE(K,)), (const int64_t[K]){0, 0, 1, 2}, K * sizeof(int64_t));
  memcpy(model_integers(&m, "pads", SHAPE(4,)), (const int64_t[4]){0, 1, 0, -1}, 4 * sizeof(int64_t));
  for (size_t i = 0; i < 3; i++)
    *model_floats(&m, bounds[i], SHAPE()) = i < 2 ? (double)i : 6;
  scene_fill(model_floats(&m, "slopes", SHAPE(K,)), K, 0.25, 0.125);
  nodes(&m, as);
  model_output(&m, "out");
  r->s.x = tensor_of("x", CLARKE_F32, SHAPE(N, K,));
  scene_build(&r->s, &m, sum, "float32", 1);
  put(&r->s.trace, "gradient/y", SHAPE(N, K,), r->gy);
  put(&r->s.trace, "gradient/r", SHAPE(N, K,), r->gr);
  put(&r->s.trace, "gradient/s", SHAPE(N, S,), r->gs);
  put(&r->s.trace, "gradient/d", SHAPE(N, K,), r->gd);
  put(&r->s.trace, "gradient/z", SHAPE(N, K,), r->gz);
  put(&r->s.trace, "gradient/wt", SHAPE(K, K,), r->gt);
  put(&r->s.trace, "gradient/more", SHAPE(N, K,), r->gy);
  put(&r->s.trace, "gradient/nwt", SHAPE(K, K,), r->gt);
  clarke_certify_init(&r->c);
  r->c.g = &r->s.graph;
  r->c.x = &r->s.x;
  r->c.trace = &r->s.trace;
  r->c.seen = calloc(r->s.trace.n, sizeof *r->c.seen);
  r->c.recorded = calloc(r->s.graph.n_values + 1, sizeof *r->c.recorded);
  for (int i = 0; i < 2; i++) { /* t, and r */
    double *to = malloc(K * N * sizeof *to);

    for (size_t e = 0; e < N * K; e++)
      to[e % K * N + e / K] = i == 0 ? r->t[e] : fmax(r->t[e], 0);
    r->c.recorded[scene_value(r->c.g, i == 0 ? "t" : "r")] = to;
  }
}

static void
end(record *r)
{
  clarke_certify_clear(&r->c);
  scene_clear(&r->s);
}

/* It is there under another name. */
static void
lose(record *r, const char *name)
{
  for (size_t t = 0; t < r->s.trace.n; t++)
    if (strcmp(r->s.trace.tensor[t].name, name) == 0)
      r->s.trace.tensor[t].name[0] = '-';
}

/* In t: K products, then what relu lets through, what was taken, and what was subtracted. */
START_TEST(activation)
{
  double p[K + 3], q[K + 3];
  clarke_sum_operands o;
  record r;

  begin(&r, PLAIN);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_PARTS && o.n_parts == 4 && o.leaves == K + 3 && o.alpha == 1 && o.divisor == 1);
  for (size_t e = 0; e < N * K; e++) {
    const size_t n = e / K, f = e % K;

    clarke_sum_operands_take(p, q, &o, e);
    for (size_t k = 0; k < K; k++)
      ck_assert(p[k] == r.gy[n * K + k] && q[k] == r.w[f * K + k]);
    for (size_t k = K; k < K + 3; k++)
      ck_assert(q[k] == 1);
    ck_assert(p[K] == (r.t[e] > 0 ? r.gr[e] : 0));
    ck_assert(p[K + 1] == (f < 2 ? 0 : r.gs[n * S + f - 2]));
    ck_assert(p[K + 2] == -r.gd[e]);
  }
  clarke_sum_operands_clear(&o);
  ck_assert(o.part == NULL && o.n_parts == 0);
  end(&r);
}
END_TEST

/* In w, which two products have, and a third transposed. */
START_TEST(parameter)
{
  double p[2 * N + 1], q[2 * N + 1];
  clarke_sum_operands o;
  record r;

  begin(&r, PLAIN);
  ck_assert(clarke_sum_is_parameter(r.c.g, scene_value(r.c.g, "w"), "w") && clarke_sum_is_parameter(r.c.g, scene_value(r.c.g, "wt"), "w"));
  ck_assert(!clarke_sum_is_parameter(r.c.g, scene_value(r.c.g, "v"), "w") && !clarke_sum_is_parameter(r.c.g, scene_value(r.c.g, "t"), "w"));
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "w", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_PARTS && o.n_parts == 3 && o.leaves == 2 * N + 1);
  for (size_t e = 0; e < K * K; e++) {
    const size_t i = e / K, j = e % K;

    clarke_sum_parts_take(p, q, &o, e);
    for (size_t n = 0; n < N; n++) {
      ck_assert(p[n] == r.gy[n * K + j] && q[n] == r.t[n * K + i]);
      ck_assert(p[N + n] == r.gz[n * K + j] && q[N + n] == fmax(r.t[n * K + i], 0));
    }
    ck_assert(p[2 * N] == r.gt[j * K + i] && q[2 * N] == 1);
  }
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

START_TEST(refusals)
{
  static const struct { form as; const char *lost, *why; } known[] = {
    {SQUARE, NULL, "one step reads it twice"},
    {EXP, NULL, "not one product with a constant reads it, and nothing else"},
    {FACTOR, NULL, NULL}, /* 2 t, whose gradient was recorded: times 2 */
    {SCALED, NULL, "a part of it has a factor"},
    {TWICE, NULL, "a part of it is not known"}, /* its first entry goes to two places */
    {LEAKY, NULL, "not one product with a constant reads it, and nothing else"},
    {PARAMETRIC, NULL, "not one product with a constant reads it, and nothing else"},
    {BELOW_SIX, NULL, "not one product with a constant reads it, and nothing else"},
    {FROM_ONE, NULL, "not one product with a constant reads it, and nothing else"},
    {PLAIN, "gradient/r", "a part of it is not known"},
    {PLAIN, "gradient/s", "not one product with a constant reads it, and nothing else"},
    {PLAIN, "gradient/d", "the gradient behind it was not recorded"},
  };
  clarke_error err = {CLARKE_OK, ""};
  clarke_sum_operands o;
  const char *why;
  size_t y;
  record r;

  begin(&r, known[_i].as);
  if (known[_i].lost != NULL)
    lose(&r, known[_i].lost);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", known[_i].why);
  clarke_sum_operands_clear(&o);
  o = (clarke_sum_operands){.c = &r.c};
  ck_assert_int_eq(clarke_sum_parts_find(&o, &why, r.c.g->output, NULL, &err), CLARKE_OK);
  ck_assert_str_eq(why, "the loss reads it");
  clarke_sum_operands_clear(&o);
  o = (clarke_sum_operands){.c = &r.c};
  ck_assert_int_eq(clarke_sum_parts_find(&o, &why, scene_value(r.c.g, "y"), NULL, &err), CLARKE_OK);
  ck_assert(known[_i].lost != NULL || strcmp(why, "it is no sum of products of the graph") == 0); /* one step reads it */
  clarke_sum_operands_clear(&o);
  o = (clarke_sum_operands){.c = &r.c, .alpha = 1, .divisor = 1};
  y = scene_value(r.c.g, "y");
  ck_assert_int_eq(clarke_sum_of_reader(&o, &why, y, clarke_sum_only_reader(r.c.g, y), &err), CLARKE_OK);
  ck_assert(known[_i].lost != NULL || (why == NULL && o.leaves == 1));
  clarke_sum_operands_clear(&o);
  ck_assert_uint_eq(clarke_sum_reads(&r.c.g->steps[r.c.g->values[scene_value(r.c.g, "d")].producer], scene_value(r.c.g, "t")), 1);
  ck_assert_uint_eq(clarke_sum_reads(&r.c.g->steps[r.c.g->values[scene_value(r.c.g, "y")].producer], scene_value(r.c.g, "w")), 1);
  ck_assert(known[_i].as != SQUARE
            || clarke_sum_reads(&r.c.g->steps[r.c.g->values[scene_value(r.c.g, "more")].producer], scene_value(r.c.g, "t")) == 2);
  end(&r);
}
END_TEST

/* What relu's argument was, and what goes back to a rearrangement. */
START_TEST(lost)
{
  clarke_sum_operands o;
  clarke_tensor *t;
  record r;
  size_t v;

  begin(&r, PLAIN);
  v = scene_value(r.c.g, "t");
  free(r.c.recorded[v]);
  r.c.recorded[v] = NULL;
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", "a part of it is not known");
  clarke_sum_operands_clear(&o);
  end(&r);
  begin(&r, PLAIN);
  for (t = r.s.trace.tensor; strcmp(t->name, "gradient/r") != 0; t++)
    ;
  t->count--; /* of another shape */
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", "a part of it is not known");
  clarke_sum_operands_clear(&o);
  t->count++;
  lose(&r, "gradient/wt");
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "w", "a part of it is not known");
  clarke_sum_operands_clear(&o);
  end(&r);
  begin(&r, NEGATED);
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "w", "a part of it is not known");
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* Entry f went to place f + 1, and the last one nowhere. */
START_TEST(shifted)
{
  double p[K + 4], q[K + 4];
  clarke_sum_operands o;
  record r;

  begin(&r, SHIFTED);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", NULL);
  ck_assert(o.n_parts == 5 && o.leaves == K + 4);
  for (size_t e = 0; e < N * K; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    ck_assert(q[K + 3] == 1 && p[K + 3] == (e % K + 1 < K ? r.gy[e + 1] : 0));
  }
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* A square beside 0 and x. */
START_TEST(no_relu)
{
  clarke_sum_operands o;
  clarke_step *s;
  record r;

  begin(&r, PLAIN);
  s = &r.s.graph.steps[r.c.g->values[scene_value(r.c.g, "r")].producer];
  ck_assert(s->kind == CLARKE_PIECEWISE);
  for (int i = 0; i < 2; i++) {
    mpq_set_si(s->pieces.coef[i][2], 1, 1);
    scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", "not one product with a constant reads it, and nothing else");
    clarke_sum_operands_clear(&o);
    mpq_set_si(s->pieces.coef[i][2], 0, 1);
  }
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", NULL);
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* In half precision each part was rounded before it was added. */
START_TEST(half)
{
  static const char text[] = "{\"format\": \"clarke-trees\", \"version\": 1, \"sums\": [{\"part\": \"gradient\", \"name\": \"t\", \"leaves\": 7, "
                             "\"type\": \"float32\", \"trees\": [{\"tree\": \"[0-6]\", \"rows\": [0, 2], \"columns\": [0, 3]}]}]}";
  clarke_error err = {CLARKE_OK, ""};
  double whole[N * K], p[K + 3], q[K + 3];
  clarke_summations s;
  clarke_sum_operands o;
  clarke_tensor *t;
  record r;

  begin(&r, PLAIN);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", NULL);
  for (size_t e = 0; e < N * K; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    whole[e] = 0;
    for (size_t k = 0; k < K + 3; k++) /* exact: small numbers */
      whole[e] += p[k] * q[k];
  }
  clarke_sum_operands_clear(&o);
  put(&r.s.trace, "gradient/t", SHAPE(N, K,), whole);
  t = &r.s.trace.tensor[r.s.trace.n - 1];
  t->dtype = _i ? CLARKE_F16 : CLARKE_F32;
  r.c.seen = realloc(r.c.seen, r.s.trace.n * sizeof *r.c.seen);
  r.c.gradients = &r.s.gradients;
  r.c.pass.n = N;
  ck_assert_ptr_nonnull(clarke_certify_add(&r.c, CLARKE_GRADIENT, "t", NULL, &err));
  r.c.certificate[0].certainty = CLARKE_WITHIN_BOUND;
  clarke_summations_init(&s);
  ck_assert_msg(clarke_summations_parse(&s, text, strlen(text), "t", &err) == CLARKE_OK, "%s", err.text);
  ck_assert_msg(clarke_summation_explain(&r.c, &s, "t", &err) == CLARKE_OK, "%s", err.text);
  ck_assert_int_eq(r.c.certificate[0].certainty, _i ? CLARKE_WITHIN_BOUND : CLARKE_BY_TREE);
  ck_assert(_i == 0 || strcmp(r.c.certificate[0].tree_why, "in half precision each part was rounded") == 0);
  clarke_summations_clear(&s);
  end(&r);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("several");

  tcase_add_test(tests, activation);
  tcase_add_test(tests, parameter);
  tcase_add_loop_test(tests, refusals, 0, 12);
  tcase_add_test(tests, lost);
  tcase_add_test(tests, shifted);
  tcase_add_test(tests, no_relu);
  tcase_add_loop_test(tests, half, 0, 2);
  return run_tests();
}
