#include "sample.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The proxies are those of pytorch-2.13. */
static const little_function functions[] = {
  { "relu", 0, { { 0, 0 } }, 1, { { 0, 1 } }, { { 0, 1 }, { 1, 1 } }, { 0, 1 }, { { 0, 1 } } },
  { "leaky_relu", 1, { { 1, 2 } }, 1, { { 0, 1 } }, { { 1, 2 }, { 1, 1 } }, { 0, 1 },
    { { 1, 2 } } },
  { "leaky_relu", 1, { { 2, 1 } }, 1, { { 0, 1 } }, { { 2, 1 }, { 1, 1 } }, { 0, 1 },
    { { 2, 1 } } },
  { "abs", 0, { { 0, 0 } }, 1, { { 0, 1 } }, { { -1, 1 }, { 1, 1 } }, { 0, 1 }, { { 0, 1 } } },
  { "relu6", 0, { { 0, 0 } }, 2, { { 0, 1 }, { 6, 1 } }, { { 0, 1 }, { 1, 1 }, { 0, 1 } },
    { 0, 1 }, { { 0, 1 }, { 0, 1 } } },
  { "hardtanh", 0, { { 0, 0 } }, 2, { { -1, 1 }, { 1, 1 } }, { { 0, 1 }, { 1, 1 }, { 0, 1 } },
    { -1, 1 }, { { 0, 1 }, { 0, 1 } } },
  { "hardtanh", 2, { { -2, 1 }, { 1, 1 } }, 2, { { -2, 1 }, { 1, 1 } },
    { { 0, 1 }, { 1, 1 }, { 0, 1 } }, { -2, 1 }, { { 0, 1 }, { 0, 1 } } },
  { "clamp", 2, { { 0, 1 }, { 2, 1 } }, 2, { { 0, 1 }, { 2, 1 } },
    { { 0, 1 }, { 1, 1 }, { 0, 1 } }, { 0, 1 }, { { 1, 1 }, { 1, 1 } } },
  { "hardsigmoid", 0, { { 0, 0 } }, 2, { { -3, 1 }, { 3, 1 } }, { { 0, 1 }, { 1, 6 }, { 0, 1 } },
    { 0, 1 }, { { 0, 1 }, { 0, 1 } } },
};

#define N_FUNCTIONS ((int)(sizeof functions / sizeof *functions))

/* --- drawing ---------------------------------------------------------------------------------- */

static little_node *
append(little *p, little_kind kind)
{
  little_node *v = &p->node[p->n++];

  ck_assert_int_le(p->n, LITTLE_NODES);
  memset(v, 0, sizeof *v);
  v->kind = kind;
  return v;
}

/* An entry, often a recent one. */
static int
some_entry(const little *p, uint64_t *state)
{
  int recent = p->n < 4 ? p->n : 4;

  return draw_int(state, 2) ? draw_int(state, p->n) : p->n - 1 - draw_int(state, recent);
}

/* sum of coef[k] in[k], shifted so that its value at w is that: a kink to be touched. */
static int
shifted(little *p, const int *w, int entry, frac value)
{
  frac gap = frac_sub(value, little_value(p, entry, w));
  little_node *v;

  if (gap.n == 0)
    return entry;
  v = append(p, LITTLE_LINEAR);
  v->n_in = 1;
  v->in[0] = entry;
  v->coef[0] = (frac){ 1, 1 };
  v->coef[1] = gap;
  return p->n - 1;
}

static void
draw_linear(little *p, uint64_t *state)
{
  int in[LITTLE_ARGUMENTS], n = 1 + draw_int(state, 3);
  little_node *v;

  for (int k = 0; k < n; k++)
    in[k] = some_entry(p, state);
  v = append(p, LITTLE_LINEAR);
  v->n_in = n;
  for (int k = 0; k < n; k++) {
    v->in[k] = in[k];
    v->coef[k] = (frac){ draw_int(state, 5) - 2, 1 };
  }
  v->coef[n] = (frac){ draw_int(state, 3) ? 0 : draw_int(state, 5) - 2, 1 };
}

static void
draw_product(little *p, uint64_t *state)
{
  int a = some_entry(p, state), b = some_entry(p, state);
  little_node *v = append(p, LITTLE_PRODUCT);

  v->n_in = 2;
  v->in[0] = a;
  v->in[1] = b;
}

static void
draw_point(little *p, const int *w, uint64_t *state)
{
  little_function f = functions[draw_int(state, N_FUNCTIONS)];
  int entry = some_entry(p, state);
  little_node *v;

  if (draw_int(state, 4) > 0)
    entry = shifted(p, w, entry, f.kink[draw_int(state, f.n_kinks)]);
  v = append(p, LITTLE_POINT);
  v->f = f;
  v->n_in = 1;
  v->in[0] = entry;
  if (draw_int(state, 3) == 0) { /* its own proxy: one number for all its kinks */
    static const frac proxies[] = { { 0, 1 }, { 1, 1 }, { 1, 2 }, { -1, 1 }, { 1, 3 } };

    v->given = true;
    v->f.proxy[0] = v->f.proxy[1] = proxies[draw_int(state, 5)];
  }
}

static void
draw_order(little *p, const int *w, uint64_t *state)
{
  static const char *const names[] = { "Max", "Min", "MaxPool", "Kth", "Median", "Sort" };
  int n = 2 + draw_int(state, LITTLE_ARGUMENTS - 1), in[LITTLE_ARGUMENTS];
  int what = draw_int(state, 6);
  little_node *v;

  for (int k = 0; k < n; k++) {
    in[k] = some_entry(p, state);
    if (k > 0 && draw_int(state, 3) > 0)
      in[k] = shifted(p, w, in[k], little_value(p, in[draw_int(state, k)], w));
  }
  v = append(p, LITTLE_ORDER);
  v->order = names[what];
  v->n_in = n;
  memcpy(v->in, in, sizeof in);
  v->rank = what == 0 || what == 2 ? 1 : what == 1 ? n : what == 4 ? n - (n - 1) / 2
                                                                   : 1 + draw_int(state, n);
  v->tie = what < 3 ? LITTLE_FIRST : LITTLE_STABLE;
  v->beta = (frac){ what < 2, 1 };
  if (draw_int(state, 3) == 0) {
    v->given = true;
    v->tie = (little_tie)draw_int(state, 3);
    v->beta = v->tie == LITTLE_FIRST ? fraction(draw_int(state, 4), 2) : (frac){ 0, 1 };
  }
}

/* Without jumps: the larger or the smaller, or either of one value where they are equal. */
static void
draw_if(little *p, const int *w, uint64_t *state, bool jumps)
{
  int a = some_entry(p, state), b = some_entry(p, state), then, otherwise;
  little_node *v;

  if (draw_int(state, 4) > 0)
    b = shifted(p, w, b, little_value(p, a, w));
  then = a;
  otherwise = b;
  if (draw_int(state, 2)) {
    then = b;
    otherwise = a;
  }
  if (jumps && draw_int(state, 2)) {
    then = some_entry(p, state);
    otherwise = some_entry(p, state);
    if (draw_int(state, 4) > 0)
      otherwise = shifted(p, w, otherwise, little_value(p, then, w));
  }
  v = append(p, LITTLE_IF);
  v->n_in = 4;
  v->in[0] = a;
  v->in[1] = b;
  v->in[2] = then;
  v->in[3] = otherwise;
  v->relation = (little_relation)draw_int(state, jumps ? 6 : 4);
}

void
sample_program(little *p, int *w, uint64_t *state, int size, bool jumps,
               bool curved)
{
  memset(p, 0, sizeof *p);
  p->n_inputs = 1 + draw_int(state, LITTLE_INPUTS);
  p->curved = curved;
  p->n_wrt = draw_int(state, 3) ? p->n_inputs : 1 + draw_int(state, p->n_inputs);
  p->wrt = draw_int(state, 2) ? 0 : p->n_inputs - p->n_wrt;
  for (int i = 0; i < p->n_inputs; i++) {
    append(p, LITTLE_INPUT);
    w[i] = draw_int(state, 2) ? 0 : draw_int(state, 5) - 2;
  }
  while (p->n < p->n_inputs + size) {
    switch (draw_int(state, curved ? 10 : 8)) {
    case 0: case 1: case 2:
      draw_linear(p, state);
      break;
    case 3: case 4: case 5:
      draw_point(p, w, state);
      break;
    case 6:
      draw_order(p, w, state);
      break;
    case 7:
      draw_if(p, w, state, jumps);
      break;
    default:
      draw_product(p, state);
    }
  }
  p->n_outputs = 1 + (draw_int(state, 4) == 0);
  p->output[0] = p->n - 1;
  p->output[1] = some_entry(p, state);
}

/* --- building --------------------------------------------------------------------------------- */

static void
set_frac(mpq_t q, frac f)
{
  mpq_set_si(q, f.n, (unsigned long)f.d);
}

static size_t
build_linear(clarke_code *out, const little_node *v, const size_t *in)
{
  mpq_t *coef = rationals((size_t)v->n_in + 1);
  size_t at;

  for (int k = 0; k <= v->n_in; k++)
    set_frac(coef[k], v->coef[k]);
  OK(clarke_code_add_linear(out, &at, (size_t)v->n_in, in, coef, err));
  rationals_free(coef, (size_t)v->n_in + 1);
  return at;
}

static size_t
build_node(clarke_code *out, const little_node *v)
{
  static const clarke_relation relations[] = { CLARKE_LT, CLARKE_LE, CLARKE_GT,
                                               CLARKE_GE, CLARKE_EQ, CLARKE_NE };
  static const clarke_tie ties[] = { CLARKE_TIE_FIRST, CLARKE_TIE_LAST, CLARKE_TIE_STABLE };
  size_t in[LITTLE_ARGUMENTS], at = 0;

  for (int k = 0; k < v->n_in; k++)
    in[k] = (size_t)v->in[k];
  clarke_code_new_group(out);
  if (v->kind == LITTLE_LINEAR)
    return build_linear(out, v, in);
  if (v->kind == LITTLE_PRODUCT) {
    OK(clarke_code_add(out, &at, CLARKE_DO_PRODUCT, 2, in, err));
    return at;
  }
  if (v->kind == LITTLE_IF) {
    OK(clarke_code_add_branch(out, &at, relations[v->relation], in, err));
    return at;
  }
  if (v->kind == LITTLE_POINT)
    at = pointwise(out, v->f.name, in[0], (size_t)v->f.n_given, (const long(*)[2])v->f.given);
  else
    at = order(out, v->order, (size_t)v->rank, (size_t)v->n_in, in);
  out->instruction[at].proxy.given = v->given;
  out->instruction[at].proxy.kind = CLARKE_PROXY_VALUE;
  out->instruction[at].proxy.tie = ties[v->tie];
  set_frac(out->instruction[at].proxy.value, v->kind == LITTLE_POINT ? v->f.proxy[0] : v->beta);
  return at;
}

void
sample_build(clarke_code *out, const little *p)
{
  const int before = p->wrt, after = p->n_inputs - p->wrt - p->n_wrt;
  size_t at;

  clarke_code_init(out);
  if (before > 0)
    OK(clarke_code_add_input(out, &at, "a", (size_t)before, true, err));
  OK(clarke_code_add_input(out, &at, "x", (size_t)p->n_wrt, true, err));
  if (after > 0)
    OK(clarke_code_add_input(out, &at, "b", (size_t)after, true, err));
  for (int i = p->n_inputs; i < p->n; i++)
    ck_assert_uint_eq(build_node(out, &p->node[i]), (size_t)i);
  for (int o = 0; o < p->n_outputs; o++)
    OK(clarke_code_add_output(out, (size_t)p->output[o], err));
  OK(clarke_code_wrt(out, (char *[]){ "x" }, 1, err));
}

/* --- printing --------------------------------------------------------------------------------- */

static char text[8192];
static size_t length;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *format, ...)
{
  va_list arguments;
  int n;

  va_start(arguments, format);
  n = vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  if (n > 0 && length + (size_t)n < sizeof text)
    length += (size_t)n;
}

static void
say_frac(frac f)
{
  if (f.d == 1)
    say("%ld", (long)f.n);
  else
    say("%ld/%ld", (long)f.n, (long)f.d);
}

static void
say_name(const little *p, int i)
{
  int in = i - p->wrt;

  if (i >= p->n_inputs)
    say("n%d", i);
  else if (in < 0)
    say("a[%d]", i);
  else if (in < p->n_wrt)
    say("x[%d]", in);
  else
    say("b[%d]", in - p->n_wrt);
}

static void
say_list(const little *p, const little_node *v)
{
  for (int k = 0; k < v->n_in; k++) {
    say(k > 0 ? ", " : "(");
    say_name(p, v->in[k]);
  }
}

static void
say_proxy(const little_node *v)
{
  static const char *const ties[] = { "first", "last", "stable" };

  if (!v->given)
    return;
  say("{");
  if (v->kind == LITTLE_POINT) {
    say_frac(v->f.proxy[0]);
  } else if (v->beta.n != 0) {
    say("hybrid ");
    say_frac(v->beta);
  } else {
    say("%s", ties[v->tie]);
  }
  say("}");
}

static void
say_call(const little *p, const little_node *v)
{
  bool kth = v->kind == LITTLE_ORDER && v->rank != 1 && v->rank != v->n_in;

  say("%s", v->kind == LITTLE_POINT ? v->f.name : kth ? "kth" : v->rank == 1 ? "max" : "min");
  say_proxy(v);
  say_list(p, v);
  for (int k = 0; v->kind == LITTLE_POINT && k < v->f.n_given; k++) {
    say(", ");
    say_frac(fraction(v->f.given[k][0], v->f.given[k][1]));
  }
  say(")");
  if (v->kind == LITTLE_ORDER)
    say(" # %s, rank %d", v->order, v->rank);
}

static void
say_node(const little *p, const little_node *v)
{
  static const char *const relations[] = { "<", "<=", ">", ">=", "==", "!=" };

  if (v->kind == LITTLE_LINEAR) {
    for (int k = 0; k < v->n_in; k++) {
      say_frac(v->coef[k]);
      say(" * ");
      say_name(p, v->in[k]);
      say(" + ");
    }
    say_frac(v->coef[v->n_in]);
  } else if (v->kind == LITTLE_PRODUCT) {
    say_name(p, v->in[0]);
    say(" * ");
    say_name(p, v->in[1]);
  } else if (v->kind == LITTLE_IF) {
    static const char *const words[] = { "if ", "", " then ", " else " };

    for (int k = 0; k < 4; k++) {
      if (k == 1)
        say(" %s ", relations[v->relation]);
      say("%s", words[k]);
      say_name(p, v->in[k]);
    }
  } else {
    say_call(p, v);
  }
}

const char *
sample_text(const little *p, const int *w)
{
  length = 0;
  say("\n# wrt x, at");
  for (int i = 0; i < p->n_inputs; i++) {
    say(" ");
    say_name(p, i);
    say("=%d", w[i]);
  }
  say("\ninput ");
  if (p->wrt > 0)
    say("a[%d], ", p->wrt);
  say("x[%d]", p->n_wrt);
  if (p->wrt + p->n_wrt < p->n_inputs)
    say(", b[%d]", p->n_inputs - p->wrt - p->n_wrt);
  say("\n");
  for (int i = p->n_inputs; i < p->n; i++) {
    say("let n%d = ", i);
    say_node(p, &p->node[i]);
    say("\n");
  }
  for (int o = 0; o < p->n_outputs; o++) {
    say(o > 0 ? ", " : "output ");
    say_name(p, p->output[o]);
  }
  say("\n");
  return text;
}
