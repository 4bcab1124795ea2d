#include "forge_program_oracle.h"
#include "../suite.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const functions[] = { "exp", "log", "sqrt", "sin", "cos" };
static const char *const relations[] = { "<", "<=", ">", ">=", "==", "!=" };

static int
some_node(const forge_program *p, uint64_t *state)
{
  return draw_int(state, 4) ? p->n - 1 - draw_int(state, p->n < 3 ? p->n : 3) : draw_int(state, p->n);
}

static forge_node *
append(forge_program *p, forge_kind kind, int n_in, const int *in)
{
  forge_node *v = &p->node[p->n++];

  memset(v, 0, sizeof *v);
  v->kind = kind;
  v->n_in = n_in;
  v->straight = kind != FORGE_NORM;
  v->round = kind != FORGE_PRODUCT && kind != FORGE_QUOTIENT && kind != FORGE_ANALYTIC;
  for (int k = 0; k < n_in; k++) {
    v->in[k] = in[k];
    v->straight = v->straight && p->node[in[k]].straight;
    v->round = v->round && p->node[in[k]].round;
  }
  return v;
}

static int
number(forge_program *p, double c)
{
  append(p, FORGE_NUMBER, 0, NULL)->c[0] = c;
  return p->n - 1;
}

static void
draw_sum(forge_program *p, uint64_t *state)
{
  static const double factors[] = { 1, -1, 2, -2, 0.5, 3 };
  int in[2] = { some_node(p, state), some_node(p, state) }, n = 1 + draw_int(state, 2);
  forge_node *v = append(p, FORGE_SUM, n, in);

  for (int k = 0; k < n; k++)
    v->c[k] = factors[draw_int(state, 6)];
  v->c[n] = draw_int(state, 3) ? 0 : draw_int(state, 5) - 2;
}

static void
draw_branch(forge_program *p, uint64_t *state)
{
  int in[4];

  in[0] = draw_int(state, 2) ? draw_int(state, p->n_wrt) : some_node(p, state);
  in[1] = draw_int(state, 2) ? number(p, 0) : some_node(p, state);
  in[2] = draw_int(state, 3) ? some_node(p, state) : in[0];
  in[3] = draw_int(state, 3) ? some_node(p, state) : in[1];
  append(p, FORGE_IF, 4, in)->function = draw_int(state, 6);
}

static void
draw_node(forge_program *p, uint64_t *state, bool curved)
{
  static const double proxies[] = { 0, 1, 0.5, -1, 5, 0, 1 };
  int in[3] = { some_node(p, state), some_node(p, state), some_node(p, state) };
  int what = draw_int(state, 8) == 0 ? 14 : draw_int(state, curved ? 14 : 9);
  forge_node *v;

  if (what < 2)
    draw_sum(p, state);
  else if (what < 6) {
    v = append(p, what < 5 ? FORGE_RELU : FORGE_ABS, 1, in);
    v->proxy = proxies[draw_int(state, 7)];
  } else if (what == 6) {
    v = append(p, draw_int(state, 2) ? FORGE_MAX : FORGE_MIN, 2 + draw_int(state, 2), in);
    v->proxy = draw_int(state, 4) / 2.0;
  } else if (what < 9)
    draw_branch(p, state);
  else if (what == 9) {
    append(p, FORGE_PRODUCT, 2, in)->straight = false;
  } else if (what == 10) {
    append(p, FORGE_QUOTIENT, 2, in)->straight = false;
  } else if (what == 14) {
    append(p, FORGE_NORM, 1 + draw_int(state, 3), in);
  } else {
    v = append(p, FORGE_ANALYTIC, 1, in);
    v->function = draw_int(state, 3) ? draw_int(state, 5) : 0;
    v->straight = false;
  }
}

/* A chain of opposites, which hides a constant from AD: relu(a) - relu(-a) - a, then perhaps a function of it. */
static void
draw_cancelling(forge_program *p, uint64_t *state)
{
  int a = some_node(p, state), in[3] = { a };

  append(p, FORGE_SUM, 1, in)->c[0] = -1;
  in[0] = a;
  append(p, FORGE_RELU, 1, in)->proxy = draw_int(state, 2);
  in[0] = p->n - 2;
  append(p, FORGE_RELU, 1, in)->proxy = draw_int(state, 2);
  in[0] = p->n - 2;
  in[1] = p->n - 1;
  append(p, FORGE_SUM, 2, in);
  p->node[p->n - 1].c[0] = 1;
  p->node[p->n - 1].c[1] = -1;
  in[0] = p->n - 1;
  in[1] = a;
  append(p, FORGE_SUM, 2, in);
  p->node[p->n - 1].c[0] = 1;
  p->node[p->n - 1].c[1] = -1;
}

/* What is at the end of its domain where a branch parts: `if a > 0 then log(a) else 0`, sqrt(a), 1/a, or times a. */
static void
draw_edge(forge_program *p, uint64_t *state)
{
  int in[4] = { some_node(p, state), 0, 0, 0 }, what = draw_int(state, 4);

  in[1] = number(p, what == 0);
  if (what == 0)
    append(p, FORGE_QUOTIENT, 2, (const int[]){ in[1], in[0] })->straight = false;
  else {
    append(p, FORGE_ANALYTIC, 1, in)->straight = false;
    p->node[p->n - 1].function = what == 1 ? 2 : 1;
  }
  if (what == 3)
    append(p, FORGE_PRODUCT, 2, (const int[]){ in[0], p->n - 1 })->straight = false;
  in[2] = p->n - 1;
  in[1] = in[3] = number(p, 0);
  append(p, FORGE_IF, 4, in)->function = 2;
}

void
forge_program_draw(forge_program *p, uint64_t *state)
{
  bool curved = draw_int(state, 2);
  int size;

  memset(p, 0, sizeof *p);
  p->n_wrt = 1 + draw_int(state, FORGE_WRT);
  for (int k = 0; k < p->n_wrt; k++) {
    append(p, FORGE_INPUT, 0, NULL);
    p->w[k] = draw_int(state, 4) ? 0 : draw_int(state, 3) - 1;
  }
  size = p->n + 2 + draw_int(state, 7);
  if (draw_int(state, 4) == 0)
    draw_cancelling(p, state);
  if (draw_int(state, 16) == 0)
    draw_edge(p, state);
  while (p->n < size || p->node[p->n - 1].kind < FORGE_SUM)
    draw_node(p, state, curved);
  if (draw_int(state, 2)) {
    append(p, FORGE_SUM, 2, (const int[]){ p->n - 1, some_node(p, state) });
    p->node[p->n - 1].c[0] = p->node[p->n - 1].c[1] = 1;
  }
}

/* --- printing --------------------------------------------------------------------------------- */

static const char *
name(const forge_program *p, int i)
{
  static char names[4][8];
  static int turn;

  turn = (turn + 1) % 4;
  snprintf(names[turn], sizeof names[turn], i < p->n_wrt ? "x%d" : "n%d", i);
  return names[turn];
}

static int
write_node(char *text, int size, const forge_program *p, const forge_node *v)
{
  static const char *const calls[] = { "relu", "abs", "max", "min" };
  const char *a = v->n_in > 0 ? name(p, v->in[0]) : "", *b = v->n_in > 1 ? name(p, v->in[1]) : "";
  const char *c = v->n_in > 2 ? name(p, v->in[2]) : "";

  switch (v->kind) {
  case FORGE_NUMBER:
    return snprintf(text, (size_t)size, "%g", v->c[0]);
  case FORGE_SUM:
    if (v->n_in == 1)
      return snprintf(text, (size_t)size, "%g*%s + %g", v->c[0], a, v->c[1]);
    return snprintf(text, (size_t)size, "%g*%s + %g*%s + %g", v->c[0], a, v->c[1], b, v->c[2]);
  case FORGE_PRODUCT:
  case FORGE_QUOTIENT:
    return snprintf(text, (size_t)size, "%s %c %s", a, v->kind == FORGE_PRODUCT ? '*' : '/', b);
  case FORGE_ANALYTIC:
    return snprintf(text, (size_t)size, "%s(%s)", functions[v->function], a);
  case FORGE_RELU:
  case FORGE_ABS:
    return snprintf(text, (size_t)size, "%s{%g}(%s)", calls[v->kind - FORGE_RELU], v->proxy, a);
  case FORGE_NORM:
    return snprintf(text, (size_t)size, "norm2(%s%s%s%s%s)", a, v->n_in > 1 ? ", " : "", b, v->n_in > 2 ? ", " : "", c);
  case FORGE_MAX:
  case FORGE_MIN:
    return snprintf(text, (size_t)size, "%s{hybrid %g}(%s, %s%s%s)", calls[v->kind - FORGE_RELU], v->proxy, a, b,
                    v->n_in > 2 ? ", " : "", c);
  default:
    return snprintf(text, (size_t)size, "if %s %s %s then %s else %s", a, relations[v->function], b, c,
                    name(p, v->in[3]));
  }
}

void
forge_program_write(char *text, int size, const forge_program *p)
{
  int n = snprintf(text, (size_t)size, "input x0%s\n", p->n_wrt > 1 ? ", x1" : "");

  for (int i = p->n_wrt; i < p->n; i++) {
    n += snprintf(text + n, (size_t)(size - n), "let n%d = ", i);
    n += write_node(text + n, size - n, p, &p->node[i]);
    n += snprintf(text + n, (size_t)(size - n), "\n");
  }
  n += snprintf(text + n, (size_t)(size - n), "output n%d\n", p->n - 1);
  ck_assert_int_lt(n, size);
}

/* --- evaluating ------------------------------------------------------------------------------- */

/* A node at x, and at w as the piece that x lies on has it; its gradient there. */
typedef struct {
  bool done;
  long double x, w, g[FORGE_WRT];
} value;

typedef struct {
  const forge_program *p;
  bool ad;       /* at w itself, with AD's derivatives */
  bool near;     /* where a limit of gradients is looked for */
  long double at[FORGE_WRT];
  value v[FORGE_NODES];
  int touched;
  bool unsure;   /* some comparison is too close */
  bool curved;   /* some comparison is of what is not piecewise linear, and close */
  bool turning;  /* a norm of zeros at w, which has limits of gradients all around */
} walk;

static bool
close_to(const long double *a, const long double *b, long double margin)
{
  return fabsl(a[0] - b[0]) <= margin && fabsl(a[1] - b[1]) <= margin;
}

/* The sign of a - b at x. Numbers that are close to each other and not equal are not compared, nor, near w, equal ones
 * that are so along this direction only. */
static int
sign_of(walk *k, const value *a, const value *b)
{
  long double difference = a->x - b->x;

  if (difference == 0) {
    k->unsure = k->unsure || (k->near && !close_to(a->g, b->g, 1e-12L));
    return 0;
  }
  k->unsure = k->unsure || fabsl(difference) < 1e-13L || isnan(difference);
  return difference > 0 ? 1 : -1;
}

static void
watch(walk *k, int node, long double at_w)
{
  k->curved = k->curved || (fabsl(at_w) < 1e-9L && !k->p->node[node].straight);
}

static const value *evaluate(walk *k, int i);

static void
add(value *y, long double c, const value *a)
{
  for (int j = 0; j < FORGE_WRT; j++)
    if (c != 0)
      y->g[j] += c * a->g[j];
}

static long double
apply(int f, long double x, long double *slope)
{
  switch (f) {
  case 0:
    *slope = expl(x);
    return *slope;
  case 1:
    *slope = 1 / x;
    return x > 0 ? logl(x) : NAN;
  case 2:
    *slope = 1 / (2 * sqrtl(x));
    return sqrtl(x);
  case 3:
    *slope = cosl(x);
    return sinl(x);
  default:
    *slope = x == 0 ? 0 : -sinl(x);
    return cosl(x);
  }
}

static void
smooth(walk *k, value *y, const forge_node *v)
{
  const value *a = evaluate(k, v->in[0]), *b = v->n_in > 1 ? evaluate(k, v->in[1]) : NULL;
  long double slope, ignored;

  if (v->kind == FORGE_SUM) {
    y->x = v->c[0] * a->x + (b != NULL ? v->c[1] * b->x : 0) + v->c[v->n_in];
    y->w = v->c[0] * a->w + (b != NULL ? v->c[1] * b->w : 0) + v->c[v->n_in];
    add(y, v->c[0], a);
    if (b != NULL)
      add(y, v->c[1], b);
  } else if (v->kind == FORGE_PRODUCT) {
    y->x = a->x * b->x;
    y->w = a->w * b->w;
    add(y, b->w, a);
    add(y, a->w, b);
  } else if (v->kind == FORGE_QUOTIENT) {
    y->x = a->x / b->x;
    y->w = a->w / b->w;
    add(y, 1 / b->w, a);
    add(y, -y->w / b->w, b);
  } else {
    y->x = apply(v->function, a->x, &ignored);
    y->w = apply(v->function, a->w, &slope);
    add(y, slope, a);
  }
}

static void
kink(walk *k, value *y, const forge_node *v)
{
  const value *a = evaluate(k, v->in[0]);
  static const value zero;
  int sign = sign_of(k, a, &zero);
  long double left = v->kind == FORGE_ABS ? -1 : 0, slope = sign > 0 ? 1 : left;

  watch(k, v->in[0], a->w);
  k->touched += sign == 0;
  y->x = slope * a->x;
  y->w = slope * a->w;
  add(y, k->ad && sign == 0 ? v->proxy : slope, a);
}

static void
extreme(walk *k, value *y, const forge_node *v)
{
  const value *a[3] = { NULL };
  int best = 0, tied = 0, toward = v->kind == FORGE_MAX ? 1 : -1;

  for (int j = 0; j < v->n_in; j++)
    a[j] = evaluate(k, v->in[j]);
  for (int j = 1; j < v->n_in; j++) {
    if (sign_of(k, a[j], a[best]) == toward)
      best = j;
    for (int i = 0; i < j; i++) {
      watch(k, v->in[j], a[j]->w - a[i]->w);
      watch(k, v->in[i], a[j]->w - a[i]->w);
    }
  }
  y->x = a[best]->x;
  y->w = a[best]->w;
  for (int j = 0; j < v->n_in; j++)
    tied += a[j]->x == a[best]->x;
  k->touched += tied > 1;
  if (!k->ad)
    add(y, 1, a[best]);
  for (int j = 0; j < v->n_in && k->ad; j++)
    if (a[j]->x == a[best]->x)
      add(y, (j == best ? 1 - (tied > 1 ? v->proxy : 0) : 0) + (tied > 1 ? v->proxy / tied : 0), a[j]);
}

/* At zeros AD takes 0; near them the derivative is the unit vector of the arguments. */
static void
norm(walk *k, value *y, const forge_node *v)
{
  const value *a[3] = { NULL };
  long double square = 0, square_w = 0;

  for (int j = 0; j < v->n_in; j++) {
    a[j] = evaluate(k, v->in[j]);
    square += a[j]->x * a[j]->x;
    square_w += a[j]->w * a[j]->w;
  }
  y->x = sqrtl(square);
  y->w = sqrtl(square_w);
  k->touched += square == 0;
  if (y->w < 1e-9L) {
    k->turning = true;
    y->w = 0;
    k->unsure = k->unsure || (y->x < 1e-13L && y->x != 0);
  }
  for (int j = 0; j < v->n_in && y->x > 0; j++)
    add(y, y->w > 0 ? a[j]->w / y->w : a[j]->x / y->x, a[j]);
}

static bool
holds(int relation, int sign)
{
  static const bool table[6][3] = { { 1, 0, 0 }, { 1, 1, 0 }, { 0, 0, 1 }, { 0, 1, 1 }, { 0, 1, 0 }, { 1, 0, 1 } };

  return table[relation][sign + 1];
}

static const value *
evaluate(walk *k, int i)
{
  const forge_node *v = &k->p->node[i];
  value y = { .done = true };
  int sign;

  if (k->v[i].done)
    return &k->v[i];
  switch (v->kind) {
  case FORGE_INPUT:
    y.x = k->at[i];
    y.w = k->p->w[i];
    y.g[i] = 1;
    break;
  case FORGE_NUMBER:
    y.x = y.w = v->c[0];
    break;
  case FORGE_RELU:
  case FORGE_ABS:
    kink(k, &y, v);
    break;
  case FORGE_MAX:
  case FORGE_MIN:
    extreme(k, &y, v);
    break;
  case FORGE_IF:
    sign = sign_of(k, evaluate(k, v->in[0]), evaluate(k, v->in[1]));
    watch(k, v->in[0], k->v[v->in[0]].w - k->v[v->in[1]].w);
    watch(k, v->in[1], k->v[v->in[0]].w - k->v[v->in[1]].w);
    k->touched += sign == 0;
    y = *evaluate(k, v->in[holds(v->function, sign) ? 2 : 3]);
    break;
  case FORGE_NORM:
    norm(k, &y, v);
    break;
  default:
    smooth(k, &y, v);
  }
  k->v[i] = y;
  return &k->v[i];
}

/* The output at w + e d + e^2 c. */
static const value *
walk_to(walk *k, const forge_program *p, bool near, long double e, const long double *d, const long double *c)
{
  memset(k, 0, sizeof *k);
  k->near = near;
  k->p = p;
  for (int j = 0; j < p->n_wrt; j++)
    k->at[j] = p->w[j] + e * d[j] + e * e * c[j];
  return evaluate(k, p->n - 1);
}

/* --- what is true ----------------------------------------------------------------------------- */

/* F takes, near, values too far from each other, or none. */
static bool
tears(const forge_program *p, const long double *d, const long double *c)
{
  static const long double none[FORGE_WRT];
  walk k, l;
  long double here, slope[2];

  here = walk_to(&k, p, false, 0, none, none)->x;
  for (int round = 0; round < 2; round++) {
    const long double e = ldexpl(1, round == 0 ? -20 : -40);
    const value *there = walk_to(&k, p, false, e, d, none);
    const long double x = there->x, all = fabsl(there->g[0]) + fabsl(there->g[1]);
    const long double steep = isnan(all) ? 0 : all; /* also across d */
    long double y;

    if (isnan(x) || isinf(x))
      return true;
    if (k.unsure)
      return false;
    slope[round] = fabsl(x - here) / e;
    y = walk_to(&l, p, false, e, d, c)->x; /* e^2 away */
    if (!l.unsure && fabsl(y - x) > 1e2L * e * sqrtl(e) * (1 + slope[round]) + 8 * e * e * steep + 1e-15L * fabsl(x))
      return true;
  }
  return slope[1] > 1.3L * slope[0] + 1 && slope[1] > 3;
}

/* The gradient along a direction, the same at three distances. */
static bool
limit_along(long double *g, bool *curved, bool *turning, const forge_program *p, const long double *d)
{
  static const long double none[FORGE_WRT];
  static const int distances[] = { -10, -15, -20 };

  for (int k = 0; k < 3; k++) {
    walk at;
    const value *y = walk_to(&at, p, true, ldexpl(1, distances[k]), d, none);

    *curved = *curved || at.curved;
    *turning = *turning || at.turning;
    if (at.unsure || isnan(y->g[0]) || isnan(y->g[1]) || (k > 0 && !close_to(g, y->g, 1e-9L)))
      return false;
    memcpy(g, y->g, sizeof y->g);
  }
  return true;
}

static void
keep(forge_truth *t, const long double *g, const long double *d)
{
  for (int k = 0; k < t->n_limits; k++)
    if (close_to(g, t->limit[k], 1e-9L))
      return;
  if (t->n_limits == FORGE_LIMITS) {
    t->whole = false;
    return;
  }
  memcpy(t->direction[t->n_limits], d, sizeof t->direction[0]);
  memcpy(t->limit[t->n_limits++], g, sizeof t->limit[0]);
}

#define TURNS 64
/* reach[k] becomes how far the limits go in the k-th of TURNS directions. */
static void
reach_out(long double *reach, const long double *g)
{
  for (int k = 0; k < TURNS; k++) {
    long double turn = 2 * acosl(-1) * k / TURNS, along = cosl(turn) * g[0] + sinl(turn) * g[1];

    reach[k] = along > reach[k] ? along : reach[k];
  }
}

static void
sample(forge_truth *t, const forge_program *p, uint64_t *state)
{
  int n = p->n_wrt == 1 ? 2 : 1500, found = 0;
  bool curved = false, turning = false;
  long double reach[TURNS], ours[TURNS];

  t->whole = true;
  for (int k = 0; k < TURNS; k++)
    reach[k] = ours[k] = -1e30L;
  reach_out(ours, t->ad);
  for (int k = 0; k < n; k++) {
    long double angle = 2 * acosl(-1) * (k + draw_int(state, 1000) / 1000.0L) / n;
    long double d[FORGE_WRT] = { n == 2 ? 1 - 2 * k : roundl(4096 * cosl(angle)) / 4096,
                                 n == 2 ? 0 : roundl(4096 * sinl(angle)) / 4096 };
    long double g[FORGE_WRT];

    if (limit_along(g, &curved, &turning, p, d)) {
      keep(t, g, d);
      reach_out(reach, g);
      found++;
    } else if (n == 2)
      t->whole = false;
  }
  t->whole = t->whole && (n == 2 || (!curved && !turning));
  for (int k = 0; k < TURNS && p->node[p->n - 1].round && found > n * 9 / 10; k++)
    t->far = t->far || ours[k] > reach[k] + 0.2L;
}

static void
tear(forge_truth *t, const forge_program *p, uint64_t *state)
{
  for (int k = 0; k < (p->n_wrt == 1 ? 8 : 80) && !t->torn; k++) {
    long double d[FORGE_WRT] = { draw_int(state, 5) - 2, draw_int(state, 5) - 2 };
    long double c[FORGE_WRT] = { draw_int(state, 7) - 3, draw_int(state, 7) - 3 };

    t->torn = (d[0] != 0 || (d[1] != 0 && p->n_wrt > 1)) && tears(p, d, c);
  }
}

/* Is g in the hull of the limits, in the plane: seen from it, do they leave less than a half turn free? */
static forge_answer
in_hull(const forge_truth *t)
{
  long double widest = 0, pi = acosl(-1), angle[FORGE_LIMITS];

  for (int k = 0; k < t->n_limits; k++) {
    if (close_to(t->limit[k], t->ad, 1e-9L))
      return FORGE_TRUE;
    angle[k] = atan2l(t->limit[k][1] - t->ad[1], t->limit[k][0] - t->ad[0]);
  }
  for (int k = 0; k < t->n_limits; k++) {
    long double gap = 2 * pi;

    for (int j = 0; j < t->n_limits; j++) {
      long double turn = angle[j] - angle[k];

      turn += turn < 0 ? 2 * pi : 0;
      if (turn > 1e-12L && turn < gap)
        gap = turn;
    }
    widest = gap > widest ? gap : widest;
  }
  return t->n_limits == 0 ? FORGE_FALSE : fabsl(widest - pi) < 1e-9L ? FORGE_TRUE
                                      : widest > pi                 ? FORGE_FALSE
                                                                     : FORGE_TRUE;
}

void
forge_program_judge(forge_truth *t, const forge_program *p, uint64_t *state)
{
  walk here;
  const value *y;
  bool near_limit = false;

  memset(t, 0, sizeof *t);
  memset(&here, 0, sizeof here);
  here.p = p;
  here.ad = true;
  for (int j = 0; j < p->n_wrt; j++)
    here.at[j] = p->w[j];
  y = evaluate(&here, p->n - 1);
  t->usable = !here.unsure && isfinite(y->x) && isfinite(y->g[0]) && isfinite(y->g[1]);
  if (!t->usable)
    return;
  t->touched = here.touched;
  memcpy(t->ad, y->g, sizeof t->ad);
  tear(t, p, state);
  sample(t, p, state);
  t->bouligand = FORGE_FALSE;
  for (int k = 0; k < t->n_limits; k++) {
    t->bouligand = close_to(t->limit[k], t->ad, 1e-9L) ? FORGE_TRUE : t->bouligand;
    near_limit = near_limit || close_to(t->limit[k], t->ad, 1e-5L);
  }
  t->clarke = in_hull(t);
  if (t->bouligand == FORGE_FALSE && ((!t->whole && !t->far) || near_limit))
    t->bouligand = FORGE_UNKNOWN;
  if (t->clarke == FORGE_FALSE && !t->whole && !t->far)
    t->clarke = FORGE_UNKNOWN;
}
