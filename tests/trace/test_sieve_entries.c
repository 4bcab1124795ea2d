/* Recorded steps with normalizations, smooth functions, softmaxes, products and sums of several parts, certified exactly and by doubles
 * (sieve_entries.c). Numbers of each tensor are changed, by ulps and by more, and at the edge of what the exact pass allows: doubles may say "within
 * the bound" on this side, never on the other. FOLDER...: other records than the stored ones. */
#include "never_better.h"
#include "recorded.h"

#include "../draw.h"
#include "../network/models.h"
#include "network/graph/build.h"
#include "trace/certify/sieve_entries.h"
#include "trace/certify/sieve_normalize.h"

#include <float.h>
#include <math.h>

static const char *const stored[] = {CASES "/runs/attention", CASES "/runs/fresh", CASES "/runs/means", CASES "/runs/added", RECORDS_OF "/smooth",
                                     RECORDS_OF "/residual", RECORDS_OF "/evaluated", RECORDS_OF "/told", RECORDS_OF "/told-eighths"};
static const char *const *folder = stored;
static int folders = sizeof stored / sizeof stored[0];
static uint64_t state;

/* The same question of doubles, or exactly; true: it was decided by doubles. */
static void
certify(clarke_certify *to, const clarke_certified *c, bool sieved)
{
  begin_again(to, c);
  free(to->seen);
  free(to->partial);
  free(to->recorded);
  clarke_matrices_free(to->grad, to->g->n_values);
  to->seen = to->partial = NULL;
  to->recorded = NULL;
  to->grad = NULL;
  to->statistics = c->nodes.statistics;
  to->n_statistics = c->nodes.n_statistics;
  to->sieved = sieved;
  OK(clarke_certify_run(to, &error));
}

/* One number of a tensor, and what is said of it. */
typedef struct {
  const clarke_certified *c;
  clarke_part part;
  const char *name;
  clarke_tensor *t;
  size_t entry;
  size_t decided, refused; /* by doubles, altogether; though the exact pass does not refute it */
} question;

/* Does the exact pass refute it, or say nothing? Doubles are never better. */
static bool
is_beyond(question *q, float number, bool both)
{
  clarke_certify exact, doubles;
  const double before = q->t->real[q->entry];
  bool beyond;

  q->t->real[q->entry] = (double)number;
  certify(&exact, q->c, false);
  beyond = certificate_of(&exact, q->part, q->name)->certainty > CLARKE_WITHIN_BOUND;
  if (both) {
    bool by_doubles;

    certify(&doubles, q->c, true);
    by_doubles = expect_never_better(&exact, &doubles);
    q->decided += by_doubles;
    q->refused += !by_doubles && !beyond;
    clarke_certify_clear(&doubles);
  }
  clarke_certify_clear(&exact);
  q->t->real[q->entry] = before;
  return beyond;
}

/* The number so many floats further on. */
static float
moved(float x, int64_t by)
{
  int32_t bits;
  int64_t place;

  memcpy(&bits, &x, sizeof bits);
  place = (bits >= 0 ? bits : -(int64_t)(bits & INT32_MAX)) + by;
  place = place > 0x7f7fffff ? 0x7f7fffff : place < -0x7f7fffff ? -0x7f7fffff : place;
  bits = (int32_t)(place >= 0 ? place : -place);
  memcpy(&x, &bits, sizeof x);
  return place >= 0 ? x : -x;
}

/* The last place on the way that is not beyond, or the farthest that is asked for. */
static int64_t
edge(question *q, float from, int sign)
{
  int64_t in = 0, out = 16;

  if (is_beyond(q, from, false))
    return 0;
  while (out < 0x40000000 && !is_beyond(q, moved(from, sign * out), false)) {
    in = out;
    out *= 16;
  }
  while (out - in > 1 && out - in > in / 64) { /* near enough to see a bound that is wider by a part */
    const int64_t middle = in + (out - in) / 2;

    if (is_beyond(q, moved(from, sign * middle), false))
      out = middle;
    else
      in = middle;
  }
  return in;
}

/* Around a number of it: at the edge, near it, some ulps off, and anywhere. */
static void
try_number(question *q)
{
  const float from = (float)q->t->real[q->entry];
  const int sign = draw_below(&state, 2) == 0 ? 1 : -1;
  const int64_t in = edge(q, from, sign);
  const int64_t off[] = {in, in + 1 + in / 64, in + 2 + in / 4, in - in / 64, 1, 3, 40, 3000, 1 << 20};

  for (size_t k = 0; k < sizeof off / sizeof off[0]; k++)
    is_beyond(q, moved(from, sign * off[k]), true);
  is_beyond(q, 0, true);
  is_beyond(q, -2 * from, true);
  is_beyond(q, ldexpf((float)draw_below(&state, 1 << 20) - 0x1p19f, -(int)draw_below(&state, 30)), true);
}

static clarke_tensor *
tensor_of_certificate(const clarke_certified *c, const clarke_certificate *of)
{
  switch (of->part) {
  case CLARKE_PARAMETER:
    return (clarke_tensor *)clarke_tensors_find(&c->record.gradients, of->name);
  case CLARKE_STATISTIC:
    return traced(&c->nodes, "after", of->name);
  case CLARKE_OUTPUT:
    return traced(&c->nodes, "output", of->name);
  case CLARKE_GRADIENT:
    return traced(&c->nodes, "gradient", of->name);
  default:
    return NULL;
  }
}

START_TEST(one_number)
{
  const clarke_certify_request ask = {.folder = folder[_i], .step = CLARKE_NONE, .nodes_only = true};
  const size_t each = folder == stored ? 12 : 1; /* of the tensors one in so many is asked about */
  clarke_certify doubles;
  clarke_certified c;
  size_t decided = 0, asked = 0;

  state = 30 + (uint64_t)_i;
  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  certify(&doubles, &c, true);
  ck_assert_msg(expect_never_better(&c.nodes, &doubles), "%s: doubles leave the record open", folder[_i]);
  ck_assert(doubles.loss_shown == clarke_sieve_sums_loss(&(clarke_sieve){.c = &doubles, .g = doubles.g}));
  clarke_certify_clear(&doubles);
  for (size_t i = 0; i < c.nodes.n; i++) {
    const clarke_certificate *of = &c.nodes.certificate[i];
    question q = {.c = &c, .part = of->part, .name = of->name, .t = tensor_of_certificate(&c, of)};

    if (q.t == NULL || q.t->real == NULL || q.t->count == 0 || (i + (size_t)_i) % each != 0)
      continue;
    q.entry = draw_below(&state, q.t->count);
    try_number(&q);
    decided += q.decided;
    asked++;
  }
  ck_assert_msg(asked > 0 && decided > 0, "%s: of %zu tensors none that was changed is decided by doubles", folder[_i], asked);
  clarke_certified_clear(&c);
}
END_TEST

/* --- the loss --- */

/* The gradient of each output is the factor on the loss, if that is a float32. Without outputs nothing follows. */
static void
expect_begun(const clarke_certified *c)
{
  const clarke_graph *g = c->nodes.g;
  clarke_certify asked = c->nodes;
  clarke_sieve s;
  mpq_t third;

  OK(clarke_sieve_begin(&s, &asked, &error));
  mpq_init(third);
  mpq_set_ui(third, 3, 1);
  asked.scale = third;
  OK(clarke_sieve_seed_sum(&s, &error));
  for (size_t e = 0; e < g->values[g->output].count * s.n; e++)
    ck_assert(s.grad[g->output].exact[e] == 3);
  OK(clarke_sieve_loss(&s, &error));
  ck_assert(s.open && !asked.loss_shown);
  s.open = false;
  clarke_sieved_clear(&s, &s.grad[g->output]);
  mpq_set_ui(third, 1, 3);
  OK(clarke_sieve_seed_sum(&s, &error));
  ck_assert(s.open);
  mpq_clear(third);
  clarke_sieve_end(&s);
}

/* Nothing was recorded of products with labels but the loss that they add up to. Which losses follow is asked of both passes: at the edge of what the
 * exact one allows, near it, and anywhere. */
START_TEST(the_loss)
{
  static const char *const told[] = {RECORDS_OF "/told", RECORDS_OF "/told-eighths"};
  const clarke_certify_request ask = {.folder = told[_i], .step = CLARKE_NONE, .nodes_only = true};
  clarke_certified c;
  double honest;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  honest = c.nodes.recorded_loss;
  ck_assert(c.nodes.has_loss && c.nodes.by_loss && !c.nodes.by_doubles);
  ck_assert(clarke_sieve_sums_loss(&(clarke_sieve){.c = &c.nodes, .g = c.nodes.g}));
  expect_begun(&c);
  for (int sign = -1; sign <= 1; sign += 2) {
    double in = 0, out = honest;
    bool decided = false, follows = true;

    for (int k = 0; k < 60; k++) { /* first to the edge, then about it */
      const double at = k < 40 ? in + (out - in) / 2 : in * (1 + (k - 50) * 0x1p-12);
      clarke_certify exact, doubles;

      c.nodes.recorded_loss = honest + sign * at;
      certify(&exact, &c, false);
      certify(&doubles, &c, true);
      follows = certificate_of(&exact, CLARKE_OUTPUT, "nll_loss_forward_2")->certainty == CLARKE_FOLLOWED;
      ck_assert_msg(expect_never_better(&exact, &doubles) == doubles.by_doubles, "%s: by doubles or not", told[_i]);
      ck_assert_msg(!doubles.by_doubles || (follows && doubles.loss_shown), "%s: a loss off by %a", told[_i], at);
      decided = decided || (doubles.by_doubles && k >= 40);
      if (k < 40)
        *(follows ? &in : &out) = at;
      clarke_certify_clear(&exact);
      clarke_certify_clear(&doubles);
    }
    ck_assert_msg(decided && in > 0 && in < honest * 0x1p-12, "%s: losses near the edge of %a are left open", told[_i], in);
  }
  c.nodes.recorded_loss = NAN;
  clarke_certify doubles;
  certify(&doubles, &c, true);
  ck_assert(!doubles.by_doubles);
  clarke_certify_clear(&doubles);
  clarke_certified_clear(&c);
}
END_TEST

/* --- records that are only renamed --- */

/* One number of a packed tensor is another: certified anew it is bit-exact no longer. */
static void
expect_seen(clarke_certified *c, const clarke_certificate *of)
{
  clarke_tensor *t = tensor_of_certificate(c, of);
  const unsigned char *packed = t->packed;
  unsigned char *other = malloc(t->count * sizeof(float));
  const size_t at = draw_below(&state, t->count);
  clarke_certify again;
  float number;

  ck_assert(packed != NULL && clarke_sieve_is_same(t, t) && !clarke_sieve_is_same(t, NULL) && !clarke_sieve_is_same(NULL, t));
  memcpy(other, packed, t->count * sizeof(float));
  memcpy(&number, other + at * sizeof number, sizeof number);
  number = moved(number, 1);
  memcpy(other + at * sizeof number, &number, sizeof number);
  t->packed = other;
  ck_assert(!clarke_sieve_is_same(t, &(clarke_tensor){.dtype = CLARKE_F32, .packed = packed, .count = t->count}));
  certify(&again, c, true);
  ck_assert_msg(certificate_of(&again, of->part, of->name)->certainty != CLARKE_BIT_EXACT, "%s of %s: entry %zu moved by an ulp",
                clarke_part_name(of->part), of->name, at);
  clarke_certify_clear(&again);
  free(other);
}

/* The value's certificate, of a record that is packed; CLARKE_NONE: it is not. */
static size_t
certificate_at(const clarke_certified *c, clarke_part part, size_t value)
{
  const char *name = c->nodes.g->values[value].name;

  for (size_t i = 0; i < c->nodes.n && name != NULL; i++) {
    const clarke_certificate *of = &c->nodes.certificate[i];

    if (of->part == part && strcmp(of->name, name) == 0 && of->certainty == CLARKE_BIT_EXACT && tensor_of_certificate(c, of) != NULL
        && tensor_of_certificate(c, of)->packed != NULL)
      return i;
  }
  return CLARKE_NONE;
}

/* What a step makes that only renames what another made; on the way back, the gradient in what it renames. */
static size_t
renamed(const clarke_certified *c, clarke_part part)
{
  const clarke_graph *g = c->nodes.g;
  size_t at = CLARKE_NONE;

  for (size_t i = 0; i < g->n_steps && at == CLARKE_NONE; i++) {
    const clarke_step *s = &g->steps[i];

    if (s->kind == CLARKE_GATHER && s->in[0].map == NULL && g->values[s->in[0].value].name != NULL && s->in[0].value != g->input)
      at = certificate_at(c, part, part == CLARKE_OUTPUT ? s->out : s->in[0].value);
  }
  return at;
}

START_TEST(renames)
{
  const clarke_part part = _i % 2 == 0 ? CLARKE_OUTPUT : CLARKE_GRADIENT;
  const char *const of = stored[_i / 2];
  const clarke_certify_request ask = {.folder = of, .step = CLARKE_NONE, .nodes_only = true, .sieved = true};
  clarke_certified c;
  size_t at;

  state = 70 + (uint64_t)_i;
  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  ck_assert_msg(c.nodes.by_doubles, "%s", of);
  at = renamed(&c, part);
  if (at != CLARKE_NONE)
    expect_seen(&c, &c.nodes.certificate[at]);
  else
    ck_assert_msg(strstr(of, "told") == NULL, "%s has no such tensor", of);
  clarke_certified_clear(&c);
}
END_TEST

/* --- the rules one by one --- */

typedef clarke_status rule(clarke_sieve *s, const clarke_step *step, clarke_error *err);

static rule *const forward[CLARKE_STEP_KINDS] = {
  [CLARKE_SUM] = clarke_sieve_add_entries, [CLARKE_SCALE] = clarke_sieve_scale, [CLARKE_DENSE] = clarke_sieve_dense_entries,
  [CLARKE_ANALYTIC] = clarke_sieve_analytic, [CLARKE_SOFTMAX] = clarke_sieve_softmax, [CLARKE_NORMALIZE] = clarke_sieve_normalize,
  [CLARKE_PRODUCT] = clarke_sieve_contract,
};

static clarke_status
sum_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < step->n_in && status == CLARKE_OK; k++)
    if (s->carries[step->in[k].value])
      status = clarke_sieve_add_back(s, step, &step->in[k], err);
  return status;
}

static rule *const back[CLARKE_STEP_KINDS] = {
  [CLARKE_GATHER] = clarke_sieve_move_back, [CLARKE_SUM] = sum_back, [CLARKE_SCALE] = clarke_sieve_scale_back,
  [CLARKE_DENSE] = clarke_sieve_dense_entries_back, [CLARKE_ANALYTIC] = clarke_sieve_analytic_back,
  [CLARKE_SOFTMAX] = clarke_sieve_softmax_back, [CLARKE_NORMALIZE] = clarke_sieve_normalize_back, [CLARKE_PRODUCT] = clarke_sieve_contract_back,
};

/* Is a made value the exact pass's, within what it is said to be off by, and allowed no more than that allows? Of a record the error is one number's. */
static void
expect_value(const clarke_sieved *v, const clarke_certify *exact, size_t value, bool recorded)
{
  const clarke_matrix *m = &exact->pass.value[value];

  ck_assert(v->off != NULL && v->may != NULL);
  for (size_t e = 0; e < m->rows * m->cols; e++) {
    const double apart = fabs(v->near[e] - clarke_matrix_get_double(m, e / m->cols, e % m->cols)), allowed = exact->rounded.error[value][e];

    if (recorded) /* a record is within the bound */
      ck_assert_msg(apart <= v->off[e] + v->may[e], "%s, entry %zu", exact->g->values[value].name, e);
    else
      ck_assert_msg(apart <= v->off[e] * (1 + 0x1p-20) && v->may[e] <= allowed * (1 + 0x1p-12), "step %s, entry %zu: %a apart, %a; %a of %a",
                    exact->g->steps[exact->g->values[value].producer].name, e, apart, v->off[e], v->may[e], allowed);
  }
}

/* Each rule again, of what is there. Returns how many steps had one. */
static size_t
expect_rules(clarke_sieve *s, const clarke_certify *exact)
{
  size_t n = 0;

  for (size_t i = 0; i < s->g->n_steps; i++) {
    const clarke_step *step = &s->g->steps[i];
    const bool recorded = s->g->values[step->out].name != NULL && clarke_certify_is_recorded(exact, step->out);
    const clarke_sieved kept = s->value[step->out];

    if (forward[step->kind] == NULL || (step->kind == CLARKE_DENSE && clarke_value_is_wrt(s->g, step->dense.weight))
        || (step->kind == CLARKE_SUM && step->n_in == 2 && s->value[step->in[0].value].exact == NULL && s->value[step->in[0].value].off == NULL))
      continue;
    s->value[step->out] = (clarke_sieved){0};
    OK(forward[step->kind](s, step, &error));
    ck_assert_msg(!s->open, "step %s is left open", step->name);
    if (s->value[step->out].off != NULL)
      expect_value(&s->value[step->out], exact, step->out, recorded);
    clarke_sieved_clear(s, &s->value[step->out]);
    s->value[step->out] = kept;
    n++;
  }
  return n;
}

/* The gradient of a step's output was recorded, and that of what it reads: the one is what the rule makes of the other, and nothing far from it. */
static size_t
expect_rule_back(clarke_sieve *s, const clarke_certified *c, const clarke_step *step)
{
  const size_t x = step->in[0].value;
  const clarke_tensor *from = s->g->values[step->out].name != NULL ? traced(&c->nodes, "gradient", s->g->values[step->out].name) : NULL;
  const clarke_tensor *to = s->g->values[x].name != NULL ? traced(&c->nodes, "gradient", s->g->values[x].name) : NULL;
  clarke_certificate made = {0};
  const float *g, *recorded;

  if (from == NULL || to == NULL || s->reads[x] != 1 || !s->carries[x] || (step->kind == CLARKE_DENSE && clarke_value_is_wrt(s->g, step->dense.weight)))
    return 0;
  g = clarke_sieve_turned(s, (clarke_tensor *)from, s->g->values[step->out].count, s->n, &error);
  recorded = clarke_sieve_turned(s, (clarke_tensor *)to, s->g->values[x].count, s->n, &error);
  s->grad[step->out] = (clarke_sieved){.exact = g, .parts = 1, .terms = 1};
  OK(back[step->kind](s, step, &error));
  ck_assert(!s->open && s->grad[x].off != NULL);
  OK(clarke_sieve_judge_entries(s, &made, &s->grad[x], s->g->values[x].count * s->n, recorded, s->grad[x].terms + CLARKE_ROUNDBACK_SPARE));
  ck_assert_msg(!s->open && made.certainty <= CLARKE_WITHIN_BOUND, "gradient of %s", s->g->values[x].name);
  s->grad[x].near[0] += 0x1p-6 * (fabs(s->grad[x].near[0]) + 1);
  OK(clarke_sieve_judge_entries(s, &made, &s->grad[x], s->g->values[x].count * s->n, recorded, s->grad[x].terms + CLARKE_ROUNDBACK_SPARE));
  ck_assert(s->open);
  s->open = false;
  clarke_sieved_clear(s, &s->grad[x]);
  clarke_sieved_clear(s, &s->grad[step->out]);
  return 1;
}

/* What is between a normalization and its shift, which are passed together. Returns how many such there are. */
static size_t
make_between(clarke_sieve *s)
{
  size_t n = 0;

  for (size_t i = 0; i < s->g->n_steps; i++) {
    if (!clarke_sieve_is_affine(s, i))
      continue;
    OK(clarke_sieve_normalize(s, &s->g->steps[i], &error));
    OK(clarke_sieve_scale(s, &s->g->steps[i + 1], &error));
    ck_assert(!s->open);
    n++;
  }
  return n;
}

START_TEST(rules)
{
  const clarke_certify_request ask = {.folder = stored[_i], .step = CLARKE_NONE, .nodes_only = true};
  clarke_certified c;
  clarke_certify doubles;
  clarke_sieve s;
  size_t there = 0, backward = 0;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  begin_again(&doubles, &c);
  OK(clarke_certify_begin(&doubles, &error));
  OK(clarke_sieve_begin(&s, &doubles, &error));
  OK(clarke_sieve_forward(&s, &error));
  ck_assert(!s.open);
  for (size_t v = 0; v < s.g->n_values; v++) /* records that were dropped */
    if (!s.g->values[v].constant && s.value[v].exact == NULL && s.value[v].near == NULL && s.g->values[v].name != NULL
        && clarke_certify_is_recorded(&doubles, v))
      ck_assert_ptr_nonnull(clarke_sieve_known(&s, v, &error));
  make_between(&s);
  there = expect_rules(&s, &c.nodes);
  for (size_t i = 0; i < s.g->n_steps; i++)
    backward += back[s.g->steps[i].kind] != NULL ? expect_rule_back(&s, &c, &s.g->steps[i]) : 0;
  ck_assert_msg(there > 0 && backward > 0, "%s: %zu rules, %zu back", stored[_i], there, backward);
  clarke_sieve_end(&s);
  clarke_certify_clear(&doubles);
  clarke_certified_clear(&c);
}
END_TEST

/* --- a normalization, its scale and its shift: together, and one by one --- */

static bool
alike(double a, double b)
{
  return fabs(a - b) <= 0x1p-40 * (fabs(a) + fabs(b));
}

static void
expect_alike(const clarke_certificate *together, const clarke_certificate *apart)
{
  ck_assert_uint_eq(together->entries, apart->entries);
  ck_assert_uint_eq(together->exact, apart->exact);
  ck_assert_int_eq(together->certainty, apart->certainty);
  ck_assert_msg(together->worst == apart->worst, "%s: %a, and %a", together->name, together->worst, apart->worst);
  ck_assert(alike(together->slack, apart->slack) && alike(together->slack_least, apart->slack_least));
}

/* Forward: the same certificate, and the same moments and numbers of a first group. */
static void
expect_affine(clarke_sieve *s, size_t i)
{
  const clarke_step *step = &s->g->steps[i];
  const size_t out = step[2].out, run = step->grouping.length * s->n, count = s->g->values[out].count * s->n;
  const double gamma = clarke_sieve_gamma(s, CLARKE_SIEVE_SPARE_MOMENTS);
  double near[3], off[3], may[3];
  const clarke_sieve_sums first = {near, off, may, NULL};
  clarke_certificate made = {0};
  const float *recorded;

  ck_assert(clarke_sieve_is_factor(s, &step[1]) && clarke_sieve_spare(&step[1]) >= 2 && clarke_sieve_spare_back(&step[1]) >= 2);
  ck_assert(clarke_sieve_factor_at(s, &step[1], 0) == s->g->values[step[1].in[1].value].real[clarke_operand_entry(&step[1].in[1], 0)]);
  clarke_sieved_clear(s, &s->value[out]);
  OK(clarke_sieve_affine(s, i, &error));
  ck_assert(!s->open);
  recorded = s->value[out].exact;
  clarke_sieve_normalize_run(&first, s->group[i], s->value[step->in[0].value].exact, gamma, run < 3 ? run : 3);
  ck_assert(near[0] == s->value[step->out].near[0] && off[0] == s->value[step->out].off[0] && may[0] == s->value[step->out].may[0]);
  s->value[out] = (clarke_sieved){0};
  OK(clarke_sieve_add_entries(s, &step[2], &error));
  OK(clarke_sieve_judge_entries(s, &made, &s->value[out], count, recorded, 2));
  ck_assert(!s->open);
  expect_alike(&s->c->certificate[s->c->n - 1], &made);
  clarke_sieved_clear(s, &s->value[out]);
  s->value[out] = (clarke_sieved){.exact = recorded, .owned = true, .parts = 1};
}

/* The factor's gradient, made in another order. */
static void
expect_same_factor(const clarke_sieved *a, const clarke_sieved *b, size_t count)
{
  ck_assert(a->terms == b->terms && a->parts == b->parts);
  for (size_t e = 0; e < count; e++) {
    ck_assert(fabs(a->near[e] - b->near[e]) <= a->off[e] + b->off[e] && a->joined[e] == b->joined[e]);
    ck_assert(4 * a->off[e] >= b->off[e] && 4 * b->off[e] >= a->off[e]); /* most of it is products', in any order */
    ck_assert(alike(a->may[e], b->may[e]) && alike(a->mass[e], b->mass[e]));
  }
}

/* Backward, from what was recorded of the sum's gradient. */
static void
expect_affine_back(clarke_sieve *s, const clarke_certified *c, size_t i)
{
  const clarke_step *step = &s->g->steps[i];
  const size_t x = step->in[0].value, factor = step[1].in[1].value, scaled = step[1].out, count = s->g->values[x].count * s->n;
  clarke_tensor *from = traced(&c->nodes, "gradient", s->g->values[step[2].out].name);
  const float *g = clarke_sieve_turned(s, from, s->g->values[scaled].count, s->n, &error), *numbers = s->value[x].exact;
  clarke_certificate made = {0};
  clarke_sieved together, of_factor;

  s->grad[scaled] = (clarke_sieved){.exact = g, .parts = 1, .terms = 1};
  ck_assert(clarke_sieve_take_moments(&s->group[i], s, step, numbers));
  OK(clarke_sieve_affine_back(s, i, &error));
  together = s->grad[x], of_factor = s->grad[factor];
  s->grad[x] = s->grad[factor] = (clarke_sieved){0};
  ck_assert(clarke_sieve_take_moments(&s->group[i], s, step, numbers));
  OK(clarke_sieve_scale_back(s, &step[1], &error));
  OK(clarke_sieve_normalize_back(s, step, &error));
  ck_assert(!s->open);
  if (of_factor.near != NULL)
    expect_same_factor(&of_factor, &s->grad[factor], s->g->values[factor].count);
  if (together.judged) {
    OK(clarke_sieve_judge_entries(s, &made, &s->grad[x], count, together.exact, s->grad[x].terms + CLARKE_ROUNDBACK_SPARE));
    expect_alike(&s->c->certificate[s->c->n - 1], &made);
  } else
    for (size_t e = 0; s->carries[x] && e < count; e++)
      ck_assert(together.near[e] == s->grad[x].near[e] && together.off[e] == s->grad[x].off[e] && together.may[e] == s->grad[x].may[e]
                && together.mass[e] == s->grad[x].mass[e]);
  clarke_sieved_clear(s, &together);
  clarke_sieved_clear(s, &of_factor);
  clarke_sieved_clear(s, &s->grad[x]);
  clarke_sieved_clear(s, &s->grad[factor]);
  clarke_sieved_clear(s, &s->grad[step->out]);
}

/* Returns how many such steps a record has, and counts those where the step before is judged, too. */
static size_t
expect_together(size_t *judged, const char *record)
{
  const clarke_certify_request ask = {.folder = record, .step = CLARKE_NONE, .nodes_only = true};
  clarke_certified c;
  clarke_certify doubles;
  clarke_sieve s;
  size_t n;

  clarke_certified_init(&c);
  OK(clarke_certified_run(&c, &ask, &error));
  begin_again(&doubles, &c);
  OK(clarke_certify_begin(&doubles, &error));
  OK(clarke_sieve_begin(&s, &doubles, &error));
  OK(clarke_sieve_forward(&s, &error));
  n = make_between(&s);
  for (size_t i = 0; i < s.g->n_steps; i++)
    if (clarke_sieve_is_affine(&s, i)) {
      expect_affine(&s, i);
      expect_affine_back(&s, &c, i);
      *judged += doubles.certificate[doubles.n - 1].part == CLARKE_GRADIENT;
    }
  clarke_sieve_end(&s);
  clarke_certify_clear(&doubles);
  clarke_certified_clear(&c);
  return n;
}

START_TEST(together)
{
  size_t met = 0, judged = 0;

  for (size_t k = 0; k < sizeof stored / sizeof stored[0]; k++)
    met += expect_together(&judged, stored[k]);
  ck_assert_msg(met > 2 && judged > 0 && judged < met, "%zu met, %zu judged", met, judged);
}
END_TEST

/* A group of two: g = 1, 2 and y = 1, -1 have means 3/2 and -1/2, and nothing is left of g - 3/2 + y/2. */
START_TEST(group_of_two)
{
  const double g[] = {1, 2}, y[] = {1, -1}, none[] = {0, 0};
  double near[2] = {0}, off[2] = {0}, may[2] = {0}, mass[2] = {0};
  const clarke_sieve_line of_g = {g, none, none}, of_y = {y, none, none};
  const clarke_sieve_sums to = {near, off, may, mass};
  clarke_sieve_group own = {.root = 1};

  clarke_sieve_add_terms(&own, &of_g, &of_y, 2);
  ck_assert(own.gradient == 3 && own.product == -1 && own.size_of_gradient == 3 && own.size_of_product == 3);
  clarke_sieve_divide_sums(&own, 2);
  ck_assert(own.gradient == 1.5 && own.product == -0.5);
  ck_assert(!clarke_sieve_hand_line(&to, &own, &of_g, &of_y, 0x1p-20, 2));
  for (size_t e = 0; e < 2; e++)
    ck_assert(near[e] == 0 && off[e] > 0 && off[e] < 0x1p-45 && may[e] > 0 && mass[e] > 3);
}
END_TEST

/* A line that is shorter than the one before it in the same room has no errors of its own, either. */
START_TEST(lines_in_turn)
{
  const float x[] = {3, 5, 7, 9};
  const clarke_sieve_numbers of = {.exact = x};
  double room[8];
  clarke_sieve_line line;

  for (size_t n = 4; n > 0; n--) {
    line = clarke_sieve_line_of(&of, 4 - n, n, room);
    for (size_t e = 0; e < n; e++)
      ck_assert(line.near[e] == x[4 - n + e] && line.off[e] == 0 && line.may[e] == 0);
  }
}
END_TEST

/* What single lines become. */
START_TEST(single_lines)
{
  clarke_certify c = {.by = {.unit = 0x1p-24, .tiny = 0x1p-126}};
  clarke_sieve s = {.c = &c};
  const double g[] = {3, 0}, none[] = {0, 0};
  double near[3] = {0}, off[3] = {0}, may[3] = {0}, mass[3] = {0};
  unsigned char joined[3] = {0};
  const clarke_sieve_line of_g = {g, none, none};
  const clarke_sieve_sums to = {near, off, may, mass};
  const clarke_sieve_factor turned = {.c = -1, .gamma = 0.5}, three = {.c = 3, .gamma = 0.5};
  clarke_sieve_found found = {.beyond = true};
  clarke_certificate made = {0};

  clarke_sieve_hand_scaled(&to, joined, &of_g, true, &turned, 2);
  ck_assert(near[0] == -3 && may[0] == 0 && mass[0] == 3 && joined[0] == 1 && joined[1] == 0);
  clarke_sieve_hand_scaled(&to, joined, &of_g, true, &three, 1);
  ck_assert(near[0] == 6 && may[0] == 4.5 && mass[0] == 12 && joined[0] == 2);
  joined[2] = 1, mass[2] = 8;
  clarke_sieve_finish_line(&to, joined, 0.25, 3); /* what alone joined, and was moved, is not rounded */
  ck_assert(may[0] == 7.5 && may[1] == 0 && may[2] == 0);
  clarke_sieve_check_line(&s, &to, 3);
  ck_assert(!s.open);
  mass[2] = 0x1p126;
  clarke_sieve_check_line(&s, &to, 3);
  ck_assert(s.open);
  s.open = false;
  clarke_sieve_tell(&s, &made, &found, 2, true, NULL);
  ck_assert(s.open && made.entries == 2);
}
END_TEST

/* --- far from 0 --- */

/* A LayerNormalization of numbers that lie far from 0 beside what they are apart: doubles lose most there. True: they know bounds. */
static bool
normalize_far(size_t length, int exponent)
{
  const long all[] = {2, (long)length, SHAPE_END};
  clarke_model m;
  clarke_graph g;
  clarke_constants constants;
  clarke_tensors none = {0};
  clarke_tensor x = tensor_of("x", CLARKE_F32, all);
  clarke_certify c;
  clarke_sieve s;
  bool decided;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, (long)length,));
  model_floats(&m, "s", SHAPE((long)length,));
  model_floats(&m, "b", SHAPE((long)length,));
  model_node(&m, "LayerNormalization", "x,s,b", "y");
  model_output(&m, "y");
  for (size_t e = 0; e < x.count; e++)
    x.real[e] = (float)(ldexp(1, exponent) + (double)draw_below(&state, 1000) / 64);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &m, &x, &error));
  OK(clarke_graph_wrt(&g, NULL, 0, &error));
  OK(clarke_constants_init(&constants, &g, &error));
  clarke_certify_init(&c);
  c.g = &g, c.constants = &constants, c.x = &x, c.trace = c.gradients = &none;
  ck_assert(clarke_rounding_add_type(&c.by, "float32"));
  c.recorded = calloc(g.n_values + 1, sizeof *c.recorded);
  OK(clarke_certify_begin(&c, &error));
  OK(clarke_sieve_begin(&s, &c, &error));
  OK(clarke_forward_next(&c.pass, 0, &error));
  OK(clarke_roundoff_step(&c.rounded, 0, &error));
  s.value[g.input].exact = clarke_sieve_take_floats(&s, x.count);
  for (size_t e = 0; e < x.count; e++)
    ((float *)s.value[g.input].exact)[e] = (float)x.real[e % 2 * length + e / 2];
  OK(clarke_sieve_normalize(&s, &g.steps[0], &error));
  decided = !s.open;
  if (decided)
    expect_value(&s.value[g.steps[0].out], &c, g.steps[0].out, false);
  clarke_sieve_end(&s);
  clarke_certify_clear(&c);
  clarke_constants_clear(&constants);
  clarke_graph_clear(&g);
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
  return decided;
}

START_TEST(far_from_zero)
{
  size_t decided = 0;

  state = 77;
  for (int exponent = 0; exponent < 14; exponent++)
    for (size_t length = 2; length < 40; length += 9)
      decided += normalize_far(length, exponent);
  ck_assert_msg(decided > 30, "%zu decided", decided);
}
END_TEST

/* --- what they are made of --- */

START_TEST(parts)
{
  clarke_certify c = {.by = {.unit = 0x1p-24, .tiny = 0x1p-126}};
  clarke_value value[] = {{.count = 2}};
  clarke_graph g = {.n_values = 1, .values = value};
  clarke_sieved of[2] = {{0}}, *v = of;
  clarke_sieve s = {.c = &c, .g = &g, .n = 1, .value = of, .grad = of + 1};
  clarke_sieve_numbers x;
  double sum = 1, off = 0;

  clarke_sieve_plus(&sum, &off, 0x1p-60); /* all of it is lost */
  ck_assert(sum == 1 && off == 0x1p-60);
  clarke_sieve_plus(&sum, &off, 0.5);
  ck_assert(sum == 1.5 && off == 0x1p-60);
  ck_assert(clarke_sieve_gamma(&s, 4) == 0x1p-22 / (1 - 0x1p-22) && !s.open);
  ck_assert(clarke_sieve_by(0.25, 3, 0x1p-126, 1) == 0.25 + 3 * 0x1p-126 && clarke_sieve_by(0.25, 3, 0x1p-126, 0) == 0);
  ck_assert(clarke_sieve_begin_entries(&s, v, 2));
  v->near[0] = 3, v->off[0] = 1, v->may[0] = 2;
  v->near[1] = -1, v->off[1] = 4, v->may[1] = 0;
  clarke_sieve_check_sizes(&s, v, 2);
  ck_assert(!s.open && clarke_sieve_read(&x, &s, 0));
  ck_assert(clarke_sieve_near(&x, 0) == 3 && clarke_sieve_off(&x, 0) == 1 && clarke_sieve_may(&x, 0) == 2 && clarke_sieve_size(&x, 0) == 2);
  ck_assert(clarke_sieve_size(&x, 1) == 0);
  v->near[1] = 0x1p127;
  clarke_sieve_check_sizes(&s, v, 2);
  ck_assert(s.open);
  s.open = false;
  ck_assert(clarke_sieve_begin_gradient(&s, &of[1], 2, 1));
  clarke_sieve_join_moved(&of[1], 0, 0);
  ck_assert_uint_eq(of[1].joined[0], 0);
  clarke_sieve_join_moved(&of[1], 0, -2);
  ck_assert(of[1].joined[0] == 1 && of[1].near[0] == -2 && of[1].mass[0] == 2);
  clarke_sieve_join(&of[1], 1, 1, 0x1p-40, 0x1p-20, 1);
  ck_assert(of[1].joined[1] == 2 && of[1].off[1] == 0x1p-40);
  of[1].terms = 1;
  ck_assert(clarke_sieve_read_gradient(&x, &s, 0));
  ck_assert(clarke_sieve_may(&x, 0) == 0); /* it was moved, and nothing else */
  ck_assert(clarke_sieve_may(&x, 1) == 0x1p-20 + clarke_sieve_gamma(&s, 1 + CLARKE_ROUNDBACK_SPARE));
  ck_assert(clarke_sieve_gamma(&s, 0x1p22) > 0 && s.open); /* of so many nothing is said */
  clarke_sieved_clear(&s, v);
  clarke_sieved_clear(&s, &of[1]);
  clarke_sieve_leave_all(&s);
}
END_TEST

int
main(int n, char **names)
{
  TCase *tests = tests_of("sieve entries");

  if (n > 1) {
    folder = (const char *const *)names + 1;
    folders = n - 1;
  }
  tcase_add_loop_test(tests, one_number, 0, folders);
  tcase_add_loop_test(tests, the_loss, 0, 2);
  tcase_add_loop_test(tests, renames, 0, 2 * sizeof stored / sizeof stored[0]);
  tcase_add_loop_test(tests, rules, 0, sizeof stored / sizeof stored[0]);
  tcase_add_test(tests, together);
  tcase_add_test(tests, group_of_two);
  tcase_add_test(tests, lines_in_turn);
  tcase_add_test(tests, single_lines);
  tcase_add_test(tests, far_from_zero);
  tcase_add_test(tests, parts);
  return run_tests();
}
