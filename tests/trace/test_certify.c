/* Steps that are computed here, in drawn orders of summation, fused or not, flushed or not, in four types, and certified: none may
 * be refuted. A number that is changed beyond the bounds of its tensor must be, at its index. Each record is certified by doubles
 * too, which may not say better of it. And rounding to nearest. */
#include "scene.h"
#include "never_better.h"

#include "exact/number.h"
#include "trace/certify/certify.h"

#include <float.h>
#include <math.h>

static uint64_t state;

/* --- a machine's arithmetic --- */

typedef struct {
  clarke_dtype type;
  const char *name;
  int bits, least;
  double largest, tiny;
  bool flushes, fuses;
} machine;

static const machine machines[] = {
  {CLARKE_F16, "float16", 11, -14, 65504, 0x1p-14, false, false},
  {CLARKE_BF16, "bfloat16", 8, -126, 0x1.fep127, 0x1p-126, true, false},
  {CLARKE_F32, "float32", 24, -126, FLT_MAX, FLT_MIN, true, true},
  {CLARKE_F64, "float64", 53, -1022, DBL_MAX, DBL_MIN, true, true},
};

/* A number rounded to nearest, and flushed. */
static double
fl(const machine *m, double x)
{
  int unit;

  if (x == 0 || !isfinite(x))
    return x;
  unit = (ilogb(x) > m->least ? ilogb(x) : m->least) - (m->bits - 1);
  if (m->bits < 53)
    x = ldexp(rint(ldexp(x, -unit)), unit);
  if (fabs(x) > m->largest)
    return copysign(INFINITY, x);
  return m->flushes && fabs(x) < m->tiny ? 0 : x;
}

/* As an operand is read. */
static double
operand(const machine *m, double x)
{
  return m->flushes && fabs(x) < m->tiny ? 0 : x;
}

static double
product(const machine *m, double a, double b)
{
  return fl(m, operand(m, a) * operand(m, b));
}

static double
fused(const machine *m, double a, double b, double c)
{
  a = operand(m, a);
  b = operand(m, b);
  c = operand(m, c);
  return m->type == CLARKE_F32 ? fl(m, (double)fmaf((float)a, (float)b, (float)c)) : fl(m, fma(a, b, c));
}

typedef struct {
  double a, b, sum; /* a b, not multiplied yet; or a sum */
  bool made;
} term;

/* Terms are joined, two drawn ones at a time, until one is left. */
static double
add_up(const machine *m, term *t, size_t n)
{
  if (n == 0)
    return 0;
  while (n > 1) {
    const size_t i = draw_below(&state, n), k = draw_below(&state, 3) == 0 ? n - 1 : (i + 1) % n;
    term *x = &t[i], *y = &t[i == k ? (i + 1) % n : k];

    if (!y->made) {
      term *swap = x;

      x = y;
      y = swap;
    }
    if (!y->made) {
      y->sum = product(m, y->a, y->b);
      y->made = true;
    }
    if (x->made)
      y->sum = fl(m, operand(m, x->sum) + operand(m, y->sum));
    else
      y->sum = m->fuses && draw_below(&state, 2) == 0 ? fused(m, x->a, x->b, y->sum) : fl(m, product(m, x->a, x->b) + operand(m, y->sum));
    *x = t[--n];
  }
  return t->made ? t->sum : product(m, t->a, t->b);
}

/* --- a network of two layers --- */

enum { MOST = 24 };

typedef struct {
  size_t n, in, hidden, out;
  double x[MOST * MOST], w[2][MOST * MOST], b[2][MOST], y[MOST * MOST];
  double a[MOST * MOST], r[MOST * MOST], o[MOST * MOST];
  double go[MOST * MOST], gr[MOST * MOST], ga[MOST * MOST], gw[2][MOST * MOST], gb[2][MOST];
  clarke_loss_kind loss;
} step;

static double
number(const machine *m, int kind)
{
  const double unit = (double)draw_between(&state, -(1L << 30), 1L << 30) * 0x1p-30;
  const double room = m->type == CLARKE_F16 ? 8 : 60, edge = log2(m->tiny);

  switch (kind) {
  case 0:
    return fl(m, unit);
  case 1: /* of any size */
    return fl(m, unit * exp2(room * ((double)draw_between(&state, -100, 100) / 100)));
  case 2: /* whole */
    return (double)draw_between(&state, -3, 3);
  case 3: /* about the smallest, now or when multiplied; read as zero where they are subnormal */
    return fl(&(machine){m->type, m->name, m->bits, m->least, m->largest, m->tiny, false, false},
              ldexp(unit, draw_below(&state, 4) == 0 ? (int)edge - 2 : (int)edge / 2));
  default: /* near overflow */
    return fl(m, unit * sqrt(m->largest));
  }
}

static void
fill(double *to, size_t n, const machine *m, int kind)
{
  for (size_t e = 0; e < n; e++) {
    to[e] = number(m, kind);
    if (kind == 1 && e % 2 == 1) /* cancels what comes before, but for a little */
      to[e] = fl(m, -to[e - 1] * (1 + exp2(-(double)draw_between(&state, 3, m->bits + 1))));
  }
}

static void
draw_step(step *s, const machine *m, int kind)
{
  const bool coarse = m->bits <= 11;

  s->n = 1 + draw_below(&state, coarse ? 4 : 8);
  s->in = 1 + draw_below(&state, coarse ? 8 : MOST);
  s->hidden = 1 + draw_below(&state, coarse ? 6 : MOST);
  s->out = 1 + draw_below(&state, 4);
  s->loss = draw_below(&state, 2) == 0 ? CLARKE_LOSS_SUM : CLARKE_LOSS_MSE;
  fill(s->x, s->n * s->in, m, kind);
  fill(s->w[0], s->hidden * s->in, m, kind == 1 ? 0 : kind);
  fill(s->w[1], s->out * s->hidden, m, kind == 2 ? 2 : 0);
  fill(s->b[0], s->hidden, m, kind);
  fill(s->b[1], s->out, m, kind == 2 ? 2 : 0);
  fill(s->y, s->n * s->out, m, kind == 2 ? 2 : 0);
}

/* out[j][i] = b[i] + sum over k of x[j][k] w[i][k] */
static void
forwards(double *out, const machine *m, const double *x, const double *w, const double *b, size_t n, size_t in, size_t count)
{
  term t[MOST + 1];

  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < count; i++) {
      for (size_t k = 0; k < in; k++)
        t[k] = (term){x[j * in + k], w[i * in + k], 0, false};
      t[in] = (term){0, 0, b[i], true};
      out[j * count + i] = add_up(m, t, in + 1);
    }
}

/* To weights, biases and inputs (NULL: not asked for). */
static void
backwards(double *gx, double *gw, double *gb, const machine *m, const double *g, const double *x, const double *w, size_t n,
          size_t in, size_t count)
{
  term t[MOST + 1];

  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < in; k++) {
      for (size_t j = 0; j < n; j++)
        t[j] = (term){g[j * count + i], x[j * in + k], 0, false};
      gw[i * in + k] = add_up(m, t, n);
    }
    for (size_t j = 0; j < n; j++)
      t[j] = (term){0, 0, g[j * count + i], true};
    gb[i] = add_up(m, t, n);
  }
  for (size_t j = 0; gx != NULL && j < n; j++)
    for (size_t k = 0; k < in; k++) {
      for (size_t i = 0; i < count; i++)
        t[i] = (term){g[j * count + i], w[i * in + k], 0, false};
      gx[j * in + k] = add_up(m, t, count);
    }
}

static void
run_step(step *s, const machine *m, double scale)
{
  const double entries = (double)(s->n * s->out);

  forwards(s->a, m, s->x, s->w[0], s->b[0], s->n, s->in, s->hidden);
  for (size_t e = 0; e < s->n * s->hidden; e++)
    s->r[e] = s->a[e] > 0 ? s->a[e] : 0;
  forwards(s->o, m, s->r, s->w[1], s->b[1], s->n, s->hidden, s->out);
  for (size_t e = 0; e < s->n * s->out; e++)
    s->go[e] = s->loss == CLARKE_LOSS_SUM ? fl(m, scale)
                                          : product(m, product(m, fl(m, s->o[e] - s->y[e]), fl(m, 2 / entries)), fl(m, scale));
  backwards(s->gr, s->gw[1], s->gb[1], m, s->go, s->r, s->w[1], s->n, s->hidden, s->out);
  for (size_t e = 0; e < s->n * s->hidden; e++)
    s->ga[e] = s->a[e] > 0 ? s->gr[e] : 0;
  backwards(NULL, s->gw[0], s->gb[0], m, s->ga, s->x, s->w[0], s->n, s->in, s->hidden);
}

static bool
all_finite(const double *x, size_t n)
{
  for (size_t e = 0; e < n; e++)
    if (!isfinite(x[e]))
      return false;
  return true;
}

static bool
step_finite(const step *s)
{
  return all_finite(s->a, s->n * s->hidden) && all_finite(s->o, s->n * s->out) && all_finite(s->go, s->n * s->out)
         && all_finite(s->gr, s->n * s->hidden) && all_finite(s->gw[0], s->hidden * s->in) && all_finite(s->gw[1], s->out * s->hidden)
         && all_finite(s->gb[0], s->hidden) && all_finite(s->gb[1], s->out);
}

/* --- its record --- */

static void
put_tensor(clarke_tensors *ts, const char *name, clarke_dtype type, const long *shape, const double *numbers)
{
  ts->tensor = realloc(ts->tensor, (ts->n + 1) * sizeof *ts->tensor);
  ts->tensor[ts->n] = tensor_of(name, type, shape);
  memcpy(ts->tensor[ts->n].real, numbers, ts->tensor[ts->n].count * sizeof *numbers);
  ts->n++;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const clarke_tensor *)a)->name, ((const clarke_tensor *)b)->name);
}

static void
record(clarke_tensors *trace, clarke_tensors *gradients, const step *s, clarke_dtype type)
{
  const long *hidden = SHAPE((long)s->n, (long)s->hidden,), *out = SHAPE((long)s->n, (long)s->out,);

  clarke_tensors_init(trace);
  clarke_tensors_init(gradients);
  put_tensor(trace, "output/a", type, hidden, s->a);
  put_tensor(trace, "output/r", type, hidden, s->r);
  put_tensor(trace, "output/o", type, out, s->o);
  put_tensor(trace, "gradient/a", type, hidden, s->ga);
  put_tensor(trace, "gradient/r", type, hidden, s->gr);
  put_tensor(trace, "gradient/o", type, out, s->go);
  put_tensor(gradients, "w0", type, SHAPE((long)s->hidden, (long)s->in,), s->gw[0]);
  put_tensor(gradients, "w1", type, SHAPE((long)s->out, (long)s->hidden,), s->gw[1]);
  put_tensor(gradients, "b0", type, SHAPE((long)s->hidden,), s->gb[0]);
  put_tensor(gradients, "b1", type, SHAPE((long)s->out,), s->gb[1]);
  qsort(trace->tensor, trace->n, sizeof *trace->tensor, by_name);
  qsort(gradients->tensor, gradients->n, sizeof *gradients->tensor, by_name);
}

static void
build(scene *c, const step *s, const machine *m, double scale)
{
  clarke_model model;

  model_begin(&model, 17);
  model_input(&model, "x", SHAPE(-1, (long)s->in,));
  for (size_t l = 0; l < 2; l++) {
    const size_t in = l == 0 ? s->in : s->hidden, out = l == 0 ? s->hidden : s->out;
    clarke_model_node *node;

    memcpy(model_floats(&model, l == 0 ? "w0" : "w1", SHAPE((long)out, (long)in,)), s->w[l], in * out * sizeof(double));
    memcpy(model_floats(&model, l == 0 ? "b0" : "b1", SHAPE((long)out,)), s->b[l], out * sizeof(double));
    node = model_node(&model, "Gemm", l == 0 ? "x,w0,b0" : "r,w1,b1", l == 0 ? "a" : "o");
    attr_int(node, "transB", 1);
    if (l == 0)
      model_node(&model, "Relu", "a", "r");
  }
  model_output(&model, "o");
  c->x = tensor_of("x", m->type == CLARKE_F32 ? CLARKE_F32 : CLARKE_F64, SHAPE((long)s->n, (long)s->in,));
  c->y = tensor_of("y", CLARKE_F64, SHAPE((long)s->n, (long)s->out,));
  memcpy(c->x.real, s->x, c->x.count * sizeof(double));
  memcpy(c->y.real, s->y, c->y.count * sizeof(double));
  scene_build(c, &model, (clarke_loss){.kind = s->loss, .y = s->loss == CLARKE_LOSS_SUM ? NULL : &c->y, .samples = s->n}, m->name, scale);
  record(&c->trace, &c->gradients, s, m->type);
}

static void
certify_one_way(clarke_certify *c, const scene *s, bool sieved)
{
  scene_certify(c, s, &s->trace, &s->gradients, sieved);
  ck_assert_uint_eq(c->n, 10);
}

/* Exactly, and beside that by doubles. True: doubles decided. */
static bool
certify(clarke_certify *c, const scene *s)
{
  clarke_certify doubles;
  bool decided;

  certify_one_way(c, s, false);
  certify_one_way(&doubles, s, true);
  decided = expect_never_better(c, &doubles);
  clarke_certify_clear(&doubles);
  return decided;
}

/* --- tests --- */

/* A number of one tensor moves by four times the tensor's largest bound: it is refuted there, whatever comes of it behind. */
static void
tamper(const scene *s, const clarke_certify *right, const machine *m)
{
  const clarke_certificate *of = &right->certificate[draw_below(&state, right->n)];
  char name[64], index[64];
  clarke_certify wrong;
  clarke_tensor *t;
  size_t k;
  double before;

  snprintf(name, sizeof name, "%s%s%s", of->part == CLARKE_PARAMETER ? "" : clarke_part_name(of->part),
           of->part == CLARKE_PARAMETER ? "" : "/", of->name);
  t = (clarke_tensor *)clarke_tensors_find(of->part == CLARKE_PARAMETER ? &s->gradients : &s->trace, name);
  ck_assert_ptr_nonnull(t);
  k = draw_below(&state, t->count);
  before = t->real[k];
  t->real[k] = before + (4 * of->widest + exp2(m->least) + fabs(before) * exp2(2 - m->bits)) * (draw_below(&state, 2) == 0 ? 1 : -1);
  clarke_put_index(index, sizeof index, t->dims, t->rank, k);
  if (isfinite(of->widest) && fabs(t->real[k]) < m->largest) {
    certify(&wrong, s);
    for (size_t i = 0; i < wrong.n; i++) {
      const clarke_certificate *found = &wrong.certificate[i];

      if (found->part != of->part || strcmp(found->name, of->name) != 0)
        continue;
      ck_assert_msg(found->certainty == CLARKE_IS_REFUTED && found->beyond == 1, "%s %s: %a for %a", name, index, t->real[k], before);
      ck_assert_str_eq(found->offender.index, index);
    }
    clarke_certify_clear(&wrong);
  }
  t->real[k] = before;
}

START_TEST(drawn_orders)
{
  const machine *m = &machines[_i / 5];
  double worst = 0;
  size_t certified = 0, runs = 0, by_doubles = 0;

  state = 1000 + (uint64_t)_i;
  for (size_t trial = 0; trial < 60; trial++) {
    const double scale = trial % 3 == 0 ? 1024 : trial % 3 == 1 ? 1 : 0x1.555556p-2;
    static step s;
    clarke_certify c;
    machine drawn = *m;
    scene made;

    drawn.flushes = m->flushes && draw_below(&state, 2) == 0;
    draw_step(&s, &drawn, _i % 5);
    run_step(&s, &drawn, scale);
    if (!step_finite(&s))
      continue;
    runs++;
    build(&made, &s, m, scale);
    by_doubles += certify(&c, &made);
    for (size_t i = 0; i < c.n; i++) {
      const clarke_certificate *of = &c.certificate[i];

      ck_assert_msg(of->certainty != CLARKE_IS_REFUTED, "%s, trial %zu: %s %s%s: %a, about %a, bound %a", m->name, trial,
                    clarke_part_name(of->part), of->name, of->has_offender ? of->offender.index : "", of->offender.recorded,
                    of->offender.near, of->offender.bound);
      worst = fmax(worst, of->worst);
      if (of->part == CLARKE_OUTPUT && strcmp(of->name, "r") == 0)
        ck_assert_int_eq(of->certainty, CLARKE_BIT_EXACT);
      if (_i % 5 == 2 && m->bits >= 24 && s.loss == CLARKE_LOSS_SUM && trial % 3 < 2) /* whole numbers are not rounded */
        ck_assert_int_eq(of->certainty, CLARKE_BIT_EXACT);
    }
    certified += clarke_certify_answer(&c) <= CLARKE_WITHIN_BOUND;
    tamper(&made, &c, m);
    clarke_certify_clear(&c);
    scene_clear(&made);
  }
  ck_assert_uint_gt(runs, 0);
  ck_assert_int_eq(by_doubles > 0, m->type == CLARKE_F32); /* of no other type do they decide anything */
  if (_i % 5 < 3) /* the bound is no mere infinity */
    ck_assert_msg(certified > runs / 2 && (_i % 5 == 2 || worst > 0.01), "%s: %zu of %zu, %g", m->name, certified, runs, worst);
}
END_TEST

static double
value_of(uint16_t bits, clarke_dtype type)
{
  return type == CLARKE_F16 ? clarke_f16_value(bits) : clarke_bf16_value(bits);
}

/* q's nearest number. */
static double
rounded(mpq_t q, clarke_dtype type)
{
  clarke_matrix m;
  double result;

  clarke_matrix_init(&m);
  ck_assert_int_eq(clarke_matrix_set_rationals(&m, 1, 1, (mpq_t *)q, NULL), CLARKE_OK);
  result = clarke_rounded(&m, 0, 0, type);
  clarke_matrix_clear(&m);
  return result;
}

/* Between any two neighbours of float16 and bfloat16: the middle goes to the even one, what is off it by little to the nearer. */
START_TEST(halfway)
{
  const clarke_dtype type = _i % 2 == 0 ? CLARKE_F16 : CLARKE_BF16;
  const uint16_t infinite = type == CLARKE_F16 ? 0x7c00 : 0x7f80, sign = _i < 2 ? 0 : 0x8000;
  mpq_t middle, other, little;

  mpq_inits(middle, other, little, NULL);
  for (uint16_t b = 0; b + 1 < infinite; b++) {
    const double low = value_of(b | sign, type), high = value_of((uint16_t)(b + 1) | sign, type);

    mpq_set_d(middle, low);
    ck_assert(rounded(middle, type) == low);
    mpq_set_d(other, high);
    mpq_add(middle, middle, other);
    mpq_div_2exp(middle, middle, 1);
    ck_assert(rounded(middle, type) == (b % 2 == 0 ? low : high));
    mpq_div_2exp(little, middle, 300);
    mpq_add(other, middle, little);
    ck_assert(rounded(other, type) == high);
    mpq_sub(other, middle, little);
    ck_assert(rounded(other, type) == low);
  }
  mpq_clears(middle, other, little, NULL);
}
END_TEST

START_TEST(nearest_float)
{
  mpq_t q;

  mpq_init(q);
  state = 5;
  for (size_t k = 0; k < 20000; k++) {
    const double d = ldexp((double)(int64_t)draw(&state), (int)draw_between(&state, -220, 60)), narrow = (double)(float)d;

    mpq_set_d(q, d);
    ck_assert(rounded(q, CLARKE_F64) == d);
    ck_assert(rounded(q, CLARKE_F32) == (isfinite(narrow) ? narrow : copysign(INFINITY, d)));
  }
  mpq_clear(q);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("certify");

  tcase_add_loop_test(tests, drawn_orders, 0, 20);
  tcase_add_loop_test(tests, halfway, 0, 4);
  tcase_add_test(tests, nearest_float);
  return run_tests();
}
