#include "little.h"
#include "../suite.h"

#include <string.h>

/* --- rationals -------------------------------------------------------------------------------- */

static __int128_t
greatest_divisor(__int128_t a, __int128_t b)
{
  while (b != 0) {
    __int128_t r = a % b;

    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/* Within an execution: has some number not fitted? Elsewhere that ends the test. */
static bool executing, overflow;

static frac
reduced(__int128_t n, __int128_t d)
{
  __int128_t g = d == 1 ? 1 : greatest_divisor(n, d);

  n /= g;
  d /= g;
  if (n != (int64_t)n || d != (int64_t)d || n == INT64_MIN) {
    if (!executing)
      ck_abort_msg("a number grew too long");
    overflow = true;
    return (frac){ 0, 1 };
  }
  return (frac){ (int64_t)n, (int64_t)d };
}

frac
fraction(int64_t n, int64_t d)
{
  return d < 0 ? reduced(-(__int128_t)n, -(__int128_t)d) : reduced(n, d);
}

/* Products of 64-bit numbers and sums of two of them fit in 128 bits. */
frac
frac_add(frac a, frac b)
{
  return reduced((__int128_t)a.n * b.d + (__int128_t)b.n * a.d, (__int128_t)a.d * b.d);
}

frac
frac_sub(frac a, frac b)
{
  return reduced((__int128_t)a.n * b.d - (__int128_t)b.n * a.d, (__int128_t)a.d * b.d);
}

frac
frac_mul(frac a, frac b)
{
  return reduced((__int128_t)a.n * b.n, (__int128_t)a.d * b.d);
}

int
frac_compare(frac a, frac b)
{
  __int128_t left = (__int128_t)a.n * b.d, right = (__int128_t)b.n * a.d;

  return (left > right) - (left < right);
}

bool
frac_equal(frac a, frac b)
{
  return a.n == b.n && a.d == b.d;
}

/* --- executions ------------------------------------------------------------------------------- */

typedef struct {
  bool done;
  int degree; /* 0 constant around w, 1 affine, 2 anything */
  frac c[LITTLE_STEPS + 1], g[LITTLE_INPUTS];
} germ;

typedef enum { ALONG, AD, CORNER } mode;

typedef struct {
  const little *p;
  mode mode;
  int n_steps, last; /* coefficients of t^0 .. t^last are kept */
  const int *w;
  frac (*step)[LITTLE_INPUTS];
  germ v[LITTLE_NODES];
  bool generic;
  int touched;
  /* CORNER: the choices taken so far, of so many each; the first n_set are given. */
  int n_set, n_choices, choice[64], arity[64];
} execution;

/* The sign of a - b for all small t > 0. */
static int
compare(const execution *e, const germ *a, const germ *b)
{
  for (int k = 0; k <= e->last; k++)
    if (!frac_equal(a->c[k], b->c[k]))
      return frac_compare(a->c[k], b->c[k]);
  return 0;
}

/* Of two numbers that are equal along the arc: are they around? */
static bool
same_around(const execution *e, const germ *a, const germ *b)
{
  for (int j = 0; j < e->p->n_wrt; j++)
    if (!frac_equal(a->g[j], b->g[j]))
      return false;
  return a->degree <= 1 && b->degree <= 1;
}

static germ
constant_germ(frac value)
{
  germ v;

  v.done = true;
  v.degree = 0;
  for (int k = 0; k <= LITTLE_STEPS; k++)
    v.c[k] = (frac){ 0, 1 };
  for (int j = 0; j < LITTLE_INPUTS; j++)
    v.g[j] = (frac){ 0, 1 };
  v.c[0] = value;
  return v;
}

/* y += factor * x, of values and gradients apart. */
static void
add_value(const execution *e, germ *y, frac factor, const germ *x)
{
  for (int k = 0; k <= e->last; k++)
    y->c[k] = frac_add(y->c[k], frac_mul(factor, x->c[k]));
  y->degree = x->degree > y->degree ? x->degree : y->degree;
}

static void
add_gradient(const execution *e, germ *y, frac factor, const germ *x)
{
  for (int j = 0; j < e->p->n_wrt; j++)
    y->g[j] = frac_add(y->g[j], frac_mul(factor, x->g[j]));
}

static int
choose(execution *e, int arity)
{
  int k = e->n_choices++;

  if (k == 64)
    ck_abort_msg("too many choices");
  if (k >= e->n_set)
    e->choice[k] = 0;
  e->arity[k] = arity;
  return e->choice[k];
}

static const germ *evaluate(execution *e, int i);

static germ
input(const execution *e, int i)
{
  germ v = constant_germ((frac){ e->w[i], 1 });

  int j = i - e->p->wrt;

  if (j < 0 || j >= e->p->n_wrt)
    return v;
  for (int k = 0; k < e->n_steps; k++)
    v.c[k + 1] = e->step[k][j];
  v.g[j] = (frac){ 1, 1 };
  v.degree = 1;
  return v;
}

static germ
product(execution *e, const little_node *node)
{
  const germ *a = evaluate(e, node->in[0]), *b = evaluate(e, node->in[1]);
  germ v = constant_germ((frac){ 0, 1 });

  for (int k = 0; k <= e->last; k++)
    for (int i = 0; i <= k; i++)
      v.c[k] = frac_add(v.c[k], frac_mul(a->c[i], b->c[k - i]));
  add_gradient(e, &v, a->c[0], b);
  add_gradient(e, &v, b->c[0], a);
  v.degree = a->degree + b->degree > 2 ? 2 : a->degree + b->degree;
  return v;
}

static germ
point(execution *e, const little_node *node)
{
  const little_function *f = &node->f;
  const germ *x = evaluate(e, node->in[0]);
  frac value = f->at_first, slope = f->slope[0];
  germ v, kink = constant_germ(f->kink[0]);

  for (int k = 0; k < f->n_kinks; k++) {
    germ here = constant_germ(f->kink[k]);
    int sign = compare(e, x, &here);

    if (sign > 0) {
      if (k == 1)
        value = frac_add(value, frac_mul(f->slope[1], frac_sub(f->kink[1], f->kink[0])));
      kink = here;
      slope = f->slope[k + 1];
    }
    if (sign != 0 || frac_equal(f->slope[k], f->slope[k + 1]))
      continue;
    e->touched++;
    here.done = same_around(e, x, &here); /* is the argument constant around? */
    if (e->mode == ALONG && !here.done)
      e->generic = false;
    if (e->mode == AD)
      slope = f->proxy[k];
    else if (e->mode == CORNER)
      slope = f->slope[k + choose(e, 2)];
    if (e->mode != ALONG && k == 1) {
      value = frac_add(value, frac_mul(f->slope[1], frac_sub(f->kink[1], f->kink[0])));
      kink = here;
    }
  }
  v = constant_germ(value);
  add_value(e, &v, slope, x);
  add_value(e, &v, frac_mul(slope, (frac){ -1, 1 }), &kink);
  add_gradient(e, &v, slope, x);
  return v;
}

/* At a tie of the entries s (n of them, indices into in[]), which has `ahead` entries above. */
static void
tie(execution *e, germ *v, const little_node *node, const int *s, int n, int ahead)
{
  int chosen = 0;
  frac share = { 0, 1 };

  e->touched++;
  for (int k = 1; k < n; k++)
    if (e->mode == ALONG && !same_around(e, &e->v[node->in[s[0]]], &e->v[node->in[s[k]]]))
      e->generic = false;
  if (e->mode == CORNER)
    chosen = choose(e, n);
  if (e->mode == AD) {
    chosen = node->tie == LITTLE_FIRST ? 0 : node->tie == LITTLE_LAST ? n - 1
                                                                      : n - (node->rank - ahead);
    share = frac_mul(node->beta, fraction(1, n));
  }
  add_gradient(e, v, e->mode == AD ? frac_sub((frac){ 1, 1 }, node->beta) : (frac){ 1, 1 },
               &e->v[node->in[s[chosen]]]);
  for (int k = 0; k < n; k++)
    add_gradient(e, v, share, &e->v[node->in[s[k]]]);
}

static germ
rank_of(execution *e, const little_node *node)
{
  germ v = constant_germ((frac){ 0, 1 });

  for (int k = 0; k < node->n_in; k++)
    evaluate(e, node->in[k]);
  for (int k = 0; k < node->n_in; k++) {
    int ahead = 0, n = 0, s[LITTLE_ARGUMENTS];

    for (int j = 0; j < node->n_in; j++) {
      int sign = compare(e, &e->v[node->in[j]], &e->v[node->in[k]]);

      ahead += sign > 0;
      if (sign == 0)
        s[n++] = j;
    }
    if (ahead >= node->rank || ahead + n < node->rank)
      continue;
    add_value(e, &v, (frac){ 1, 1 }, &e->v[node->in[k]]);
    if (n > 1)
      tie(e, &v, node, s, n, ahead);
    else
      add_gradient(e, &v, (frac){ 1, 1 }, &e->v[node->in[k]]);
    return v;
  }
  ck_abort_msg("no entry has the rank");
  return v;
}

static bool
holds(little_relation r, int sign)
{
  static const bool table[6][3] = { { 1, 0, 0 }, { 1, 1, 0 }, { 0, 0, 1 },
                                    { 0, 1, 1 }, { 0, 1, 0 }, { 1, 0, 1 } };

  return table[r][sign + 1];
}

static germ
branch(execution *e, const little_node *node)
{
  const germ *left = evaluate(e, node->in[0]), *right = evaluate(e, node->in[1]);
  int sign = compare(e, left, right);
  bool then = holds(node->relation, sign);

  if (sign == 0) {
    e->touched++;
    if (e->mode == ALONG && !same_around(e, left, right))
      e->generic = false;
    if (e->mode == CORNER)
      then = choose(e, 2) == 0;
  }
  return *evaluate(e, node->in[then ? 2 : 3]);
}

static const germ *
evaluate(execution *e, int i)
{
  const little_node *node = &e->p->node[i];
  germ v;

  if (e->v[i].done)
    return &e->v[i];
  switch (node->kind) {
  case LITTLE_INPUT:
    v = input(e, i);
    break;
  case LITTLE_LINEAR:
    v = constant_germ(node->coef[node->n_in]);
    for (int k = 0; k < node->n_in; k++) {
      const germ *x = evaluate(e, node->in[k]);

      add_value(e, &v, node->coef[k], x);
      add_gradient(e, &v, node->coef[k], x);
    }
    break;
  case LITTLE_PRODUCT:
    v = product(e, node);
    break;
  case LITTLE_POINT:
    v = point(e, node);
    break;
  case LITTLE_ORDER:
    v = rank_of(e, node);
    break;
  default:
    v = branch(e, node);
  }
  e->v[i] = v;
  return &e->v[i];
}

static void
execute(little_result *r, execution *e)
{
  for (int i = 0; i < e->p->n; i++)
    e->v[i].done = false;
  e->generic = true;
  overflow = false;
  executing = true;
  e->last = e->mode != ALONG ? 0 : e->p->curved ? LITTLE_STEPS : e->n_steps;
  e->touched = e->n_choices = 0;
  for (int o = 0; o < e->p->n_outputs; o++) {
    const germ *v = evaluate(e, e->p->output[o]);

    memcpy(r->value[o], v->c, sizeof v->c);
    for (int j = 0; j < e->p->n_wrt; j++)
      r->gradient[o * e->p->n_wrt + j] = v->g[j];
  }
  executing = false;
  r->generic = e->generic && !overflow;
  r->overflow = overflow;
  r->touched = e->touched;
}

void
little_along(little_result *r, const little *p, const int *w, int n_steps,
             frac (*step)[LITTLE_INPUTS])
{
  static execution e;

  ck_assert_int_le(n_steps, LITTLE_STEPS);
  e.p = p;
  e.mode = ALONG;
  e.w = w;
  e.n_steps = n_steps;
  e.step = step;
  execute(r, &e);
}

void
little_ad(little_result *r, const little *p, const int *w)
{
  static execution e;

  e.p = p;
  e.mode = AD;
  e.w = w;
  e.n_steps = 0;
  execute(r, &e);
}

frac
little_value(const little *p, int node, const int *w)
{
  static little one;
  little_result r;

  one = *p;
  one.n_outputs = 1;
  one.output[0] = node;
  little_ad(&r, &one, w);
  return r.value[0][0];
}

/* Has every entry executed the value that it had in earlier executions? */
static bool
agrees(germ *first, const execution *e)
{
  bool agreed = true;

  for (int i = 0; i < e->p->n; i++)
    if (e->v[i].done && first[i].done)
      agreed = agreed && frac_equal(e->v[i].c[0], first[i].c[0]);
    else if (e->v[i].done)
      first[i] = e->v[i];
  return agreed;
}

int
little_corners(frac (*corner)[LITTLE_ENTRIES], bool *even, const little *p, const int *w)
{
  static execution e;
  static germ first[LITTLE_NODES];
  little_result r;

  e.p = p;
  e.mode = CORNER;
  e.w = w;
  e.n_steps = 0;
  e.n_set = 0;
  *even = true;
  for (int i = 0; i < p->n; i++)
    first[i].done = false;
  for (int n = 0; n < LITTLE_CORNERS;) {
    int k;

    execute(&r, &e);
    if (r.overflow)
      return -1;
    *even = agrees(first, &e) && *even;
    memcpy(corner[n++], r.gradient, sizeof r.gradient);
    for (k = e.n_choices - 1; k >= 0 && e.choice[k] + 1 == e.arity[k]; k--)
      continue;
    if (k < 0)
      return n;
    e.choice[k]++;
    e.n_set = k + 1;
  }
  return -1;
}
