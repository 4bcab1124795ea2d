/* Recorded gradients, in doubles (sieve.h). */
#include "trace/certify/sieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- winners --- */

/* Rows of indices that are looked at together: those of a sample lie side by side. */
#define ROWS 16

/* How many recorded indices name the first of their windows' largest entries? */
static size_t
count_winners(const clarke_sieve *s, const clarke_step *step, const clarke_tensor *t)
{
  const uint32_t *winner = s->winner[step - s->g->steps];
  const clarke_value *y = &s->g->values[step->out], *x = &s->g->values[step->in[0].value];
  const size_t plane = x->count / y->dims[0], each = y->count / y->dims[0];
  size_t right = 0, begin[ROWS]; /* of the row's plane */

  for (size_t f = 0; f < y->count; f += ROWS) {
    const size_t rows = y->count - f < ROWS ? y->count - f : ROWS;

    for (size_t r = 0; r < rows; r++)
      begin[r] = (f + r) / each * plane;
    for (size_t j = 0; j < s->n; j++)
      for (size_t r = 0; r < rows; r++) {
        const size_t index = (size_t)t->integer[j * y->count + f + r]; /* of a negative one a large one */

        right += (index < plane) & (winner[(f + r) * s->n + j] == begin[r] + index);
      }
  }
  return right;
}

/* Does each recorded index name the first of its window's largest entries? */
static clarke_status
certify_winners(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_value *y = &s->g->values[step->out], *x = &s->g->values[step->in[0].value];
  const clarke_tensor *t = clarke_certify_find(s->c, "indices", y->name != NULL ? y->name : "");
  clarke_certificate *made;

  s->open = s->open || t == NULL || t->integer == NULL || t->count != y->count * s->n || y->rank < 2 || x->rank < 2;
  if (s->open)
    return CLARKE_OK;
  made = clarke_certify_add(s->c, CLARKE_INDICES, y->name, step->op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  made->exact = count_winners(s, step, t);
  made->entries = t->count;
  s->open = made->exact != made->entries;
  return CLARKE_OK;
}

/* --- records --- */

/* How many numbers a constant's gradient has in a row. */
static size_t
line_of(const clarke_sieved *g)
{
  return g->line > 0 ? g->line : 1;
}

/* The gradient behind a DENSE step goes when nobody looks up its products any more: neither its weight's gradient nor its operand's is
 * still to be judged. */
static void
drop_gradient(clarke_sieve *s, const clarke_step *dense)
{
  const clarke_sieved *w = &s->grad[dense->dense.weight];
  const size_t source = clarke_sieve_source(s, dense);

  if (w->near == NULL && w->exact == NULL && (source == CLARKE_NONE || s->grad[source].dense != dense))
    clarke_sieved_clear(s, &s->grad[dense->out]);
}

/* A gradient that was only moved on, to a record that is the same. */
static clarke_status
judge_same(clarke_sieve *s, clarke_sieved *g, size_t value, const clarke_tensor *t, const char *op, clarke_error *err)
{
  const clarke_value *v = &s->g->values[value];
  clarke_certificate *made = clarke_certify_add(s->c, CLARKE_GRADIENT, v->name, op, err);

  if (made == NULL)
    return CLARKE_ENOMEM;
  made->entries = made->exact = v->count * s->n;
  made->at_most = true;
  made->norm = clarke_sieve_norm(s, made, g->exact);
  g->record = t;
  g->terms = 1;
  return CLARKE_OK;
}

/* A gradient is judged by the record of its name, which takes its place. */
static clarke_status
judge(clarke_sieve *s, size_t value, const char *op, clarke_terms_kind kind, clarke_error *err)
{
  const clarke_value *v = &s->g->values[value];
  clarke_tensor *t = clarke_certify_find(s->c, "gradient", v->name);
  clarke_sieved *g = &s->grad[value];
  const clarke_step *dense = g->dense;
  const size_t own = line_of(g), rows = v->constant ? v->count / own : v->count, cols = v->constant ? own : s->n;
  const float *recorded;
  clarke_certificate *made;
  clarke_status status;

  if (!v->constant && g->exact != NULL && g->parts == 1 && clarke_sieve_is_same(g->record, t))
    return judge_same(s, g, value, t, op, err);
  recorded = clarke_sieve_turned(s, t, v->count, v->constant ? 1 : cols, err);
  if (recorded == NULL)
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  made = clarke_certify_add(s->c, CLARKE_GRADIENT, v->name, op, err);
  status = made != NULL ? clarke_sieve_judge(s, made, g, rows, cols, recorded, g->terms + CLARKE_ROUNDBACK_SPARE, kind, err)
                        : CLARKE_ENOMEM;
  clarke_sieved_clear(s, g);
  *g = (clarke_sieved){.exact = recorded, .record = t, .owned = true, .parts = 1, .terms = 1};
  if (dense != NULL)
    drop_gradient(s, dense);
  return status;
}

/* The loss's own gradient, in the network's output, as the exact pass has it. */
static clarke_status
seed(clarke_sieve *s, clarke_error *err)
{
  clarke_certify *c = s->c;
  const size_t out = s->g->output, entries = s->g->values[out].count * s->n;
  const float *recorded = s->value[out].exact;
  double *off = NULL, *numbers;
  clarke_status status;

  if (clarke_sieve_sums_loss(s))
    return clarke_sieve_seed_sum(s, err);
  s->open = s->open || recorded == NULL || s->g->values[out].name == NULL;
  if (s->open)
    return CLARKE_OK;
  status = clarke_certify_unpack(c, "gradient", s->g->values[out].name, err);
  if (status == CLARKE_OK)
    status = clarke_certify_unpack(c, "output", c->log_softmax, err);
  if (status == CLARKE_OK)
    status = clarke_certify_unpack(c, "gradient", c->log_softmax, err);
  if (status != CLARKE_OK)
    return status;
  c->rounded.error[out] = calloc(entries + 1, sizeof *c->rounded.error[out]);
  numbers = malloc((entries + 1) * sizeof *numbers);
  for (size_t e = 0; numbers != NULL && e < entries; e++)
    numbers[e] = recorded[e];
  status = numbers != NULL ? clarke_matrix_set_doubles(&c->pass.value[out], s->g->values[out].count, s->n, numbers, err)
                           : clarke_no_memory(err);
  free(numbers);
  if (status == CLARKE_OK)
    c->rounded.size[out] = clarke_roundoff_sizes(&c->pass.value[out]);
  if (status == CLARKE_OK && (c->rounded.error[out] == NULL || c->rounded.size[out] == NULL))
    status = clarke_no_memory(err);
  for (size_t e = 0; status == CLARKE_OK && e < entries; e++)
    c->rounded.error[out][e] = fabs((double)recorded[e]) < c->by.tiny ? fabs((double)recorded[e]) : 0;
  if (status == CLARKE_OK && c->log_softmax != NULL)
    status = clarke_certify_log_softmax(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_seed(c, true, err);
  if (status == CLARKE_OK)
    status = clarke_certify_gradient(&off, c, out, s->g->steps[s->g->values[out].producer].op->name, &c->grad[out], err);
  free(off);
  if (status != CLARKE_OK)
    return status;
  s->grad[out] = (clarke_sieved){.owned = true, .parts = 1, .terms = 1};
  s->grad[out].exact = clarke_sieve_turned(s, clarke_certify_find(c, "gradient", s->g->values[out].name),
                                          s->g->values[out].count, s->n, err);
  return s->grad[out].exact != NULL || s->open ? CLARKE_OK : CLARKE_ENOMEM;
}

/* Has the record the constant's gradient under a name of its own? */
static bool
has_own_record(const clarke_sieve *s, const clarke_value *v)
{
  return v->name != NULL && strcmp(v->name, s->g->parameters[v->parameter].name) != 0;
}

/* A rearranged constant's gradient, which the record has under its own name. */
static clarke_status
judge_constant(clarke_sieve *s, size_t v, clarke_error *err)
{
  const clarke_value *value = &s->g->values[v];

  if (!has_own_record(s, value))
    return CLARKE_OK;
  s->open = s->open || value->negated;
  return s->open ? CLARKE_OK : judge(s, v, NULL, CLARKE_TERMS_OF_WEIGHT, err);
}

/* The one constant that stands for a parameter; CLARKE_NONE: there is none, or several. */
static size_t
constant_of(const clarke_sieve *s, size_t q)
{
  size_t only = CLARKE_NONE, n = 0;

  for (size_t v = 0; v < s->g->n_values; v++)
    if (s->g->values[v].constant && s->g->values[v].parameter == q && (s->grad[v].near != NULL || s->grad[v].exact != NULL)) {
      only = v;
      n++;
    }
  return n == 1 && !s->g->values[only].negated ? only : CLARKE_NONE;
}

/* The parameter's record in the constant's entries. */
static const float *
in_entries(clarke_sieve *s, const clarke_value *v, clarke_tensor *t, clarke_error *err)
{
  float *to;

  if (v->origin == NULL)
    return clarke_sieve_turned(s, t, v->count, 1, err);
  to = clarke_sieve_take_floats(s, v->count);
  for (size_t e = 0; to != NULL && e < v->count; e++)
    to[e] = t->packed != NULL ? clarke_f32_at(t->packed, v->origin[e]) : (float)t->real[v->origin[e]];
  return to;
}

/* Is each entry of the parameter one entry of the constant? Else all is left open. */
static clarke_status
require_rearranged(clarke_sieve *s, const clarke_value *v, size_t count, clarke_error *err)
{
  bool *met;

  s->open = s->open || v->count != count;
  if (s->open || v->origin == NULL)
    return CLARKE_OK;
  met = calloc(count + 1, sizeof *met);
  if (met == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < count; e++) {
    s->open = s->open || met[v->origin[e]];
    met[v->origin[e]] = true;
  }
  free(met);
  return CLARKE_OK;
}

/* The exact pass counts the bounds of those entries alone that are not bit-exact. top and floor: at least, and at most, what the absolute values of
 * an entry's terms add up to, but for what doubles round. *most: at least the norm of these sums, of such entries; *least: at most. */
static void
measure_others(double *most, double *least, const clarke_sieved *w, const float *recorded, const double *top, const double *floor, size_t count)
{
  const bool known = w->near != NULL && w->slack != NULL && w->shift == NULL;
  const size_t line = line_of(w);
  double at_most = 0, at_least = 0;

  for (size_t e = 0; e < count; e++) {
    at_most += known && clarke_sieve_is_that(recorded[e], w->near[e], w->slack[e / line]) ? 0 : top[e] * top[e];
    at_least += known && clarke_sieve_is_another(recorded[e], w->near[e], w->slack[e / line]) ? floor[e] * floor[e] : 0;
  }
  *most = sqrt(at_most);
  *least = sqrt(at_least);
}

/* The norm of a weight's bounds once more, entry by entry: what Cauchy and Schwarz say of its rows would not tell it from a wrong one. Of a bias
 * rows say all. */
static clarke_status
sharpen(clarke_sieve *s, clarke_certificate *made, size_t v, const float *recorded, clarke_error *err)
{
  const clarke_sieved *w = &s->grad[v];
  const size_t count = s->g->values[v].count;
  const double nu = (w->terms + CLARKE_ROUNDBACK_SPARE_NORMALIZED) * s->c->by.unit;
  const bool whole = w->dense != NULL && s->grad[w->dense->out].exact != NULL;
  double *size = NULL, most, least;
  clarke_status status = CLARKE_OK;

  if (nu >= 0.5 || (!whole && (w->dense != NULL || w->floor == NULL || line_of(w) > 1)))
    return CLARKE_OK;
  if (whole) {
    size = clarke_sieve_take_doubles(s, count);
    status = size != NULL ? clarke_sieve_weight_sizes(size, s, w->dense, err) : clarke_no_memory(err);
  }
  if (status == CLARKE_OK) {
    measure_others(&most, &least, w, recorded, whole ? size : w->top, whole ? size : w->floor, count);
    made->slack = fmin(made->slack, clarke_sieve_up(nu / (1 - nu) * most) + 4 * w->terms * s->c->by.tiny * (1 + most) * (double)count);
    made->slack_least = clarke_down_by(nu / (1 - nu) * least, 0x1p34);
  }
  clarke_sieve_leave(s, size);
  return status;
}

/* The gradient of constant v, which stands for parameter q alone. */
static clarke_status
judge_entries(clarke_sieve *s, clarke_certificate *made, size_t q, size_t v, clarke_error *err)
{
  const clarke_parameter *p = &s->g->parameters[q];
  clarke_tensor *t = (clarke_tensor *)clarke_tensors_find(s->c->gradients, p->name); /* which are ours to decode */
  const size_t line = line_of(&s->grad[v]);
  const float *recorded;
  clarke_status status;

  s->open = s->open || t == NULL || (t->real == NULL && t->packed == NULL) || t->dtype != CLARKE_F32 || t->rank != p->rank
            || memcmp(t->dims, p->dims, p->rank * sizeof *p->dims) != 0;
  status = require_rearranged(s, &s->g->values[v], p->count, err);
  if (status != CLARKE_OK || s->open)
    return status;
  recorded = in_entries(s, &s->g->values[v], t, err);
  status = recorded != NULL ? clarke_sieve_judge(s, made, &s->grad[v], p->count / line, line, recorded,
                                                 s->grad[v].terms + CLARKE_ROUNDBACK_SPARE_NORMALIZED, CLARKE_TERMS_OF_WEIGHT, err)
                            : clarke_no_memory(err);
  if (status == CLARKE_OK && made->slack > CLARKE_VAGUE * sqrt(clarke_sieve_squares(recorded, p->count)))
    status = sharpen(s, made, v, recorded, err);
  clarke_sieve_leave(s, recorded);
  return status;
}

/* How many constants are made of the parameter? */
static size_t
constants_of(const clarke_graph *g, size_t q)
{
  size_t n = 0;

  for (size_t v = 0; v < g->n_values; v++)
    n += g->values[v].constant && g->values[v].parameter == q;
  return n;
}

/* Behind the one step that reads a weight its gradient is whole: it is judged at once. */
static clarke_status
settle(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const size_t v = dense->dense.weight;
  const clarke_value *w = &s->g->values[v];
  clarke_status status;

  if (!clarke_value_is_wrt(s->g, v) || s->grad[v].near == NULL || s->reads[v] != 1 || has_own_record(s, w) || w->negated
      || constants_of(s->g, w->parameter) != 1)
    return CLARKE_OK;
  status = judge_entries(s, &s->settled[w->parameter], w->parameter, v, err);
  clarke_sieved_clear(s, &s->grad[v]);
  drop_gradient(s, dense);
  return status;
}

/* Nothing was recorded of a named value's gradient: it goes on to those before it. */
static clarke_status
follow(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_value *v = &s->g->values[step->out];
  clarke_certificate *made = clarke_certify_add(s->c, CLARKE_GRADIENT, v->name, step->op->name, err);

  return made != NULL ? clarke_certify_follow(s->c, made, step->out, NULL, v->count * s->n, err) : CLARKE_ENOMEM;
}

static clarke_status
visit(clarke_sieve *s, size_t i, clarke_error *err)
{
  const clarke_step *step = &s->g->steps[i];
  const clarke_sieved *g = &s->grad[step->out];
  clarke_status status = CLARKE_OK;

  if (g->near == NULL && g->exact == NULL)
    return CLARKE_OK;
  if (step->out != s->g->output && s->g->values[step->out].name != NULL && !g->judged && !clarke_certify_is_passed_on(s->c, step->out))
    status = clarke_certify_has(s->c, "gradient", s->g->values[step->out].name) ? judge(s, step->out, step->op->name, CLARKE_TERMS_OF_INPUT, err)
                                                                               : follow(s, step, err);
  if (status == CLARKE_OK && !s->open)
    status = clarke_sieve_step_back(s, i, err);
  if (status == CLARKE_OK && !s->open && step->kind == CLARKE_DENSE)
    status = settle(s, step, err);
  if (step->kind != CLARKE_DENSE) /* whose products a parameter's entries are looked up among */
    clarke_sieved_clear(s, &s->grad[step->out]);
  return status;
}

static clarke_status
judge_parameter(clarke_sieve *s, size_t q, clarke_error *err)
{
  const clarke_certificate *is = &s->settled[q];
  const size_t v = constant_of(s, q);
  clarke_certificate *made;

  s->open = s->open || (v == CLARKE_NONE && is->entries == 0);
  made = s->open ? NULL : clarke_certify_add(s->c, CLARKE_PARAMETER, s->g->parameters[q].name, NULL, err);
  if (made == NULL)
    return s->open ? CLARKE_OK : CLARKE_ENOMEM;
  if (is->entries == 0)
    return judge_entries(s, made, q, v, err);
  made->certainty = is->certainty;
  made->entries = is->entries;
  made->exact = is->exact;
  made->worst = is->worst;
  made->slack = is->slack;
  made->slack_least = is->slack_least;
  made->norm = is->norm;
  made->at_most = is->at_most;
  return CLARKE_OK;
}

clarke_status
clarke_sieve_backward(clarke_sieve *s, clarke_error *err)
{
  const clarke_graph *g = s->g;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK && !s->open; i++)
    if (g->steps[i].kind == CLARKE_MAX)
      status = certify_winners(s, &g->steps[i], err);
  if (status == CLARKE_OK && !s->open)
    status = seed(s, err);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK && !s->open;)
    status = visit(s, i, err);
  for (size_t v = 0; v < g->n_values && status == CLARKE_OK && !s->open; v++)
    if (clarke_value_is_wrt(g, v) && (s->grad[v].near != NULL || s->grad[v].exact != NULL))
      status = judge_constant(s, v, err);
  for (size_t q = 0; q < g->n_parameters && status == CLARKE_OK && !s->open; q++)
    if (g->parameters[q].wrt)
      status = judge_parameter(s, q, err);
  return status;
}
