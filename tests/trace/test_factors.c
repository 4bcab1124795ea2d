/* Products with factors, which something is added to, and sums of products of entries: what their sums are made of, forward and back,
 * beside the definition. */
#include "scene.h"

#include <stdio.h>

enum { N = 3, K = 4, M = 2 };

/* Weights are w[k,m], and v[m]. t = tanh(x), s = sigmoid(the mean of x), both read by all below. */
typedef enum {
  STEPS, /* z = 3 (t w) + s / 2, the factors being steps; r = relu(z); u = s r; the output is the sum of z r, and of u v */
  GEMM,  /* z = 3 (t w) + v / 2, the factors being Gemm's */
  TWICE, /* z = 2 (3 (t w)) + s */
  ALONE, /* z = 3 (t w) */
} form;

typedef struct {
  scene s;
  clarke_certify c;
  double t[N * K], sig[N], z[N * M], r[N * M], u[N * M], g[N * M], gu[N * M], w[K * M], v[M];
} record;

static void
nodes(clarke_model *m, form as)
{
  clarke_model_node *node;

  model_node(m, "Tanh", "x", "t");
  node = model_node(m, "ReduceMean", "x", "mean");
  attr_ints(node, "axes", SHAPE(1,));
  attr_int(node, "keepdims", 1);
  model_node(m, "Sigmoid", "mean", "s");
  if (as == GEMM) {
    node = model_node(m, "Gemm", "t,w,v", "z");
    attr_float(node, "alpha", 3);
    attr_float(node, "beta", 0.5);
    model_node(m, "Mul", "z,s", "out");
    return;
  }
  model_node(m, "MatMul", "t,w", "y");
  model_node(m, "Mul", "y,three", as == ALONE ? "z" : "y3");
  model_node(m, "Mul", "s,half", "sh");
  if (as == TWICE)
    model_node(m, "Mul", "y3,two", "y6");
  if (as != ALONE)
    model_node(m, "Add", as == TWICE ? "s,y6" : "sh,y3", "z");
  model_node(m, "Relu", "z", "r");
  model_node(m, "Mul", "s,r", "u");
  model_node(m, "Mul", "u,v", "uv");
  model_node(m, "Mul", "z,r", "zr");
  node = model_node(m, "ReduceSum", "zr,axis", "dot");
  attr_int(node, "keepdims", 1);
  model_node(m, "Sub", "z,r", "d");
  model_node(m, "Mul", "d,d", "dd");
  node = model_node(m, "ReduceMean", "dd", "squares");
  attr_ints(node, "axes", SHAPE(1,));
  attr_int(node, "keepdims", 1);
  model_node(m, "Add", "dot,squares", "both");
  model_node(m, "Add", as == STEPS ? "uv,both" : "uv,sh", "out");
}

static double *
turned(const double *of, size_t rows)
{
  double *to = malloc(rows * N * sizeof *to);

  for (size_t n = 0; n < N; n++)
    for (size_t f = 0; f < rows; f++)
      to[f * N + n] = of[n * rows + f];
  return to;
}

static void
begin(record *r, form as)
{
  static const struct { const char *name; double factor; } factors[] = {{"three", 3}, {"half", 0.5}, {"two", 2}};
  const clarke_loss sum = {.kind = CLARKE_LOSS_SUM};
  clarke_model m;

  memset(r, 0, sizeof *r);
  scene_fill(r->w, K * M, 1, 0.25);
  scene_fill(r->v, M, 7, 0.5);
  scene_fill(r->t, N * K, -2, 0.125);
  scene_fill(r->sig, N, 5, 1);
  for (size_t e = 0; e < N * M; e++) { /* whose differences are rounded */
    r->z[e] = (double)(20.1F + (float)e);
    r->r[e] = (double)(0.003F * (float)(e + 1));
  }
  scene_fill(r->u, N * M, 60, 1);
  scene_fill(r->g, N * M, -30, 1);
  scene_fill(r->gu, N * M, -60, 1);
  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, K,));
  memcpy(model_floats(&m, "w", SHAPE(K, M,)), r->w, sizeof r->w);
  memcpy(model_floats(&m, "v", SHAPE(M,)), r->v, sizeof r->v);
  for (size_t i = 0; i < 3 && as != GEMM; i++) {
    clarke_model_node *node = model_node(&m, "Constant", "", factors[i].name);

    attr_float(node, "value_float", factors[i].factor);
  }
  if (as != GEMM)
    model_integers(&m, "axis", SHAPE(1,))[0] = 1;
  nodes(&m, as);
  model_output(&m, "out");
  r->s.x = tensor_of("x", CLARKE_F32, SHAPE(N, K,));
  scene_build(&r->s, &m, sum, "float32", 1);
  put(&r->s.trace, "gradient/z", SHAPE(N, M,), r->g);
  put(&r->s.trace, "output/squares", SHAPE(N, 1,), r->g); /* any numbers */
  put(&r->s.trace, "gradient/u", SHAPE(N, M,), r->gu);
  put(&r->s.trace, "gradient/uv", SHAPE(N, M,), r->gu);
  put(&r->s.trace, "gradient/out", SHAPE(N, M,), r->gu);
  clarke_certify_init(&r->c);
  r->c.g = &r->s.graph;
  r->c.x = &r->s.x;
  r->c.trace = &r->s.trace;
  r->c.seen = calloc(r->s.trace.n, sizeof *r->c.seen);
  r->c.recorded = calloc(r->s.graph.n_values + 1, sizeof *r->c.recorded);
  r->c.recorded[scene_value(r->c.g, "t")] = turned(r->t, K);
  r->c.recorded[scene_value(r->c.g, "s")] = turned(r->sig, 1);
  r->c.recorded[scene_value(r->c.g, "z")] = turned(r->z, M);
  if (as == GEMM)
    return;
  r->c.recorded[scene_value(r->c.g, "r")] = turned(r->r, M);
  r->c.recorded[scene_value(r->c.g, "u")] = turned(r->u, M);
}

static void
end(record *r)
{
  clarke_certify_clear(&r->c);
  scene_clear(&r->s);
}

/* Of what was recorded of the squares. */
static void
traced_type(clarke_tensors *trace, clarke_dtype type)
{
  for (size_t t = 0; t < trace->n; t++)
    if (strcmp(trace->tensor[t].name, "output/squares") == 0)
      trace->tensor[t].dtype = type;
}

START_TEST(forward)
{
  clarke_sum_operands o;
  double p[K + 1], q[K + 1];
  record r;

  begin(&r, (form)_i);
  if (_i == TWICE) { /* which of two factors is multiplied in first? */
    scene_sum(&o, &r.c, CLARKE_OUTPUT, "z", "it is no product with a constant");
    clarke_sum_operands_clear(&o);
    end(&r);
    return;
  }
  scene_sum(&o, &r.c, CLARKE_OUTPUT, "z", NULL);
  ck_assert(o.alpha == 3 && o.beta == (_i == ALONE ? 1 : 0.5) && o.leaves == K + (_i != ALONE) && (o.added != NULL) == (_i != ALONE));
  for (size_t e = 0; e < N * M; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t k = 0; k < K; k++)
      ck_assert(p[k] == r.t[e / M * K + k] && q[k] == r.w[k * M + e % M]);
    ck_assert(_i == ALONE || (p[K] == (_i == GEMM ? r.v[e % M] : r.sig[e / M]) && q[K] == 1));
  }
  clarke_sum_operands_clear(&o);
  if (_i != ALONE) { /* what is added must be known, and the product not be recorded by itself */
    free(r.c.recorded[scene_value(r.c.g, "s")]);
    r.c.recorded[scene_value(r.c.g, "s")] = NULL;
    scene_sum(&o, &r.c, CLARKE_OUTPUT, "z", _i == GEMM ? NULL : "what is added was not recorded");
    clarke_sum_operands_clear(&o);
  }
  end(&r);
}
END_TEST

START_TEST(back)
{
  clarke_sum_operands o;
  double p[N * M], q[N * M];
  record r;

  begin(&r, (form)_i);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "t", _i == TWICE ? "the gradient behind it was not recorded" : NULL);
  ck_assert(_i == TWICE || (o.alpha == 3 && o.leaves == M && o.added == NULL));
  for (size_t e = 0; _i != TWICE && e < N * K; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t k = 0; k < M; k++)
      ck_assert(p[k] == r.g[e / K * M + k] && q[k] == r.w[e % K * M + k]);
  }
  clarke_sum_operands_clear(&o);
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "w", _i == TWICE ? "what its gradient is made of was not recorded" : NULL);
  ck_assert(_i == TWICE || (o.alpha == 3 && o.leaves == N));
  for (size_t e = 0; _i != TWICE && e < K * M; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t n = 0; n < N; n++)
      ck_assert(p[n] == r.g[n * M + e % M] && q[n] == r.t[n * K + e / M]);
  }
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* Of a bias with Gemm's beta; of an activation that a number multiplies before it is added. */
START_TEST(addend)
{
  clarke_sum_operands o;
  double p[N * M], q[N * M];
  record r;

  begin(&r, GEMM);
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "v", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_BIAS && o.alpha == 0.5 && o.leaves == N);
  for (size_t e = 0; e < M; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t n = 0; n < N; n++)
      ck_assert(p[n] == r.g[n * M + e] && q[n] == 1);
  }
  clarke_sum_operands_clear(&o);
  end(&r);
  begin(&r, STEPS); /* two read s: u, too */
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "s", "the gradient behind it was not recorded");
  clarke_sum_operands_clear(&o);
  scene_sum(&o, &r.c, CLARKE_GRADIENT, "sh", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_COPIES && o.alpha == 1 && o.leaves == M);
  for (size_t e = 0; e < N; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t k = 0; k < M; k++)
      ck_assert(p[k] == r.g[e * M + k] && q[k] == 1);
  }
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* A dot product is a sum of products of entries, which were not recorded. What multiplies all entries has a sum for its gradient. */
START_TEST(terms)
{
  clarke_sum_operands o;
  double p[N * M], q[N * M];
  record r;

  begin(&r, STEPS);
  scene_sum(&o, &r.c, CLARKE_OUTPUT, "dot", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_TERMS && o.leaves == M && o.alpha == 1 && o.divisor == 1);
  for (size_t n = 0; n < N; n++) {
    clarke_sum_operands_take(p, q, &o, n);
    for (size_t k = 0; k < M; k++)
      ck_assert(p[k] == r.z[n * M + k] && q[k] == r.r[n * M + k]);
  }
  clarke_sum_operands_clear(&o);
  scene_sum(&o, &r.c, CLARKE_PARAMETER, "v", NULL);
  ck_assert(o.kind == CLARKE_SUM_OF_BIAS && o.leaves == N);
  for (size_t e = 0; e < M; e++) {
    clarke_sum_operands_take(p, q, &o, e);
    for (size_t n = 0; n < N; n++)
      ck_assert(p[n] == r.gu[n * M + e] && q[n] == r.u[n * M + e]);
  }
  clarke_sum_operands_clear(&o);
  o = (clarke_sum_operands){.c = &r.c};
  ck_assert(clarke_sum_copies_factor(&o, clarke_sum_only_reader(r.c.g, scene_value(r.c.g, "u")), scene_value(r.c.g, "u")));
  for (size_t e = 0; e < M * N; e++) /* times v */
    ck_assert(clarke_sum_copy_times(&o, e % M, e / M) == r.v[e % M]);
  o = (clarke_sum_operands){.c = &r.c};
  ck_assert(!clarke_sum_copies_factor(&o, clarke_sum_only_reader(r.c.g, scene_value(r.c.g, "t")), scene_value(r.c.g, "t")));
  free(r.c.recorded[scene_value(r.c.g, "r")]);
  r.c.recorded[scene_value(r.c.g, "r")] = NULL;
  scene_sum(&o, &r.c, CLARKE_OUTPUT, "dot", "what it multiplies was not recorded");
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* The mean of the squares of differences, of which nothing was recorded: each difference is rounded to the result's type. */
START_TEST(squares)
{
  clarke_sum_operands o;
  double p[M], q[M];
  size_t rounded = 0;
  record r;

  begin(&r, STEPS);
  for (int is_float = 0; is_float < 2; is_float++) {
    traced_type(&r.s.trace, is_float ? CLARKE_F32 : CLARKE_F64);
    scene_sum(&o, &r.c, CLARKE_OUTPUT, "squares", NULL);
    ck_assert(o.kind == CLARKE_SUM_OF_TERMS && o.leaves == M && o.divisor == M && o.made != NULL);
    for (size_t n = 0; n < N; n++) {
      clarke_sum_operands_take(p, q, &o, n);
      for (size_t k = 0; k < M; k++) {
        const double z = r.z[n * M + k], y = r.r[n * M + k];

        ck_assert(p[k] == q[k] && p[k] == (is_float ? (double)((float)z - (float)y) : z - y));
        rounded += p[k] != z - y;
      }
    }
    clarke_sum_operands_clear(&o);
    ck_assert_ptr_null(o.made);
  }
  ck_assert_uint_gt(rounded, 0);
  traced_type(&r.s.trace, CLARKE_F16); /* in half precision nothing is said */
  scene_sum(&o, &r.c, CLARKE_OUTPUT, "squares", "what it multiplies was not recorded");
  clarke_sum_operands_clear(&o);
  end(&r);
}
END_TEST

/* What a factor leads to, and what it does not. */
START_TEST(behind)
{
  double factor = 1;
  record r;

  begin(&r, STEPS);
  ck_assert_uint_eq(clarke_sum_added_behind(&factor, &r.c, scene_value(r.c.g, "y")), scene_value(r.c.g, "y3"));
  ck_assert(factor == 3);
  ck_assert_uint_eq(clarke_sum_added_behind(&factor, &r.c, scene_value(r.c.g, "y3")), scene_value(r.c.g, "z"));
  ck_assert_uint_eq(clarke_sum_added_behind(&factor, &r.c, scene_value(r.c.g, "sh")), CLARKE_NONE); /* it is added twice each */
  ck_assert_uint_eq(clarke_sum_added_behind(&factor, &r.c, scene_value(r.c.g, "z")), CLARKE_NONE);  /* several read it */
  ck_assert_uint_eq(clarke_sum_added_behind(&factor, &r.c, scene_value(r.c.g, "out")), CLARKE_NONE);
  ck_assert(factor == 3);
  end(&r);
}
END_TEST

/* The parts, one by one. */
START_TEST(parts)
{
  const char *why = "nothing";
  clarke_sum_operands o;
  clarke_added a;
  double p[K + 1] = {0}, q[K + 1] = {0};
  record r;

  begin(&r, STEPS);
  o = (clarke_sum_operands){.c = &r.c, .leaves = K + 1};
  ck_assert_ptr_eq(clarke_sum_numbers(&o, scene_value(r.c.g, "z")), r.c.recorded[scene_value(r.c.g, "z")]);
  ck_assert_ptr_null(clarke_sum_numbers(&o, scene_value(r.c.g, "y")));
  ck_assert_ptr_null(o.own);
  ck_assert(clarke_sum_numbers(&o, r.c.g->input) == o.own && o.own != NULL);
  ck_assert(clarke_sum_added(&a, &r.c, &r.c.g->steps[r.c.g->values[scene_value(r.c.g, "z")].producer]));
  clarke_sum_added_set(&o, &why, &a);
  ck_assert(o.alpha == 3 && o.beta == 0.5 && o.addend == scene_value(r.c.g, "s") && strcmp(why, "nothing") == 0);
  clarke_sum_added_take(p, q, &o, 1, 2);
  ck_assert(p[K] == r.sig[2] && q[K] == 1 && p[0] == 0 && q[0] == 0);
  o.added = NULL;
  p[K] = 17;
  clarke_sum_added_take(p, q, &o, 0, 0);
  ck_assert(p[K] == 17);
  clarke_sum_operands_clear(&o);
  /* the sum of z r, by its step of ones; not, if one of these were 2 */
  o = (clarke_sum_operands){.c = &r.c, .product = &r.c.g->steps[r.c.g->values[scene_value(r.c.g, "dot")].producer]};
  o.weight = r.c.g->values[o.product->dense.weight].real;
  o.leaves = M;
  ck_assert(o.product->kind == CLARKE_DENSE && clarke_sum_terms_find(&o, &why, scene_value(r.c.g, "zr")) && why == NULL);
  clarke_sum_terms_take(p, q, &o, 0, 1);
  ck_assert(p[1] == r.z[M + 1] && q[1] == r.r[M + 1]);
  ck_assert(!clarke_sum_terms_find(&o, &why, scene_value(r.c.g, "z")));
  ((double *)o.weight)[0] = 2;
  ck_assert(!clarke_sum_terms_find(&o, &why, scene_value(r.c.g, "zr")));
  ((double *)o.weight)[0] = 1;
  end(&r);
}
END_TEST

/* A parameter that becomes an activation, beside one that is made of the input. */
START_TEST(lifted)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_graph g;
  clarke_tensor x = tensor_of("x", CLARKE_F32, SHAPE(1, M,)); /* one run, of an input without a batch axis */
  clarke_model_node *node;
  clarke_model m;
  size_t w;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(M,));
  model_floats(&m, "w", SHAPE(M,));
  node = model_node(&m, "Lift", "w", "lift");
  free(node->domain);
  node->domain = strdup("clarke");
  model_node(&m, "Sub", "lift,x", "y");
  model_node(&m, "Add", "y,w", "z");
  model_output(&m, "z");
  clarke_graph_init(&g);
  ck_assert_msg(clarke_graph_build(&g, &m, &x, &err) == CLARKE_OK, "%s", err.text);
  w = scene_value(&g, "w");
  ck_assert_uint_eq(clarke_sum_lifted(&g, scene_value(&g, "lift")), w);
  ck_assert_uint_eq(clarke_sum_lifted(&g, scene_value(&g, "y")), scene_value(&g, "y"));
  ck_assert_uint_eq(clarke_sum_lifted(&g, scene_value(&g, "z")), scene_value(&g, "z"));
  ck_assert_uint_eq(clarke_sum_lifted(&g, g.input), g.input);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("factors");

  tcase_add_loop_test(tests, forward, STEPS, ALONE + 1);
  tcase_add_loop_test(tests, back, STEPS, ALONE + 1);
  tcase_add_test(tests, addend);
  tcase_add_test(tests, terms);
  tcase_add_test(tests, squares);
  tcase_add_test(tests, behind);
  tcase_add_test(tests, parts);
  tcase_add_test(tests, lifted);
  return run_tests();
}
