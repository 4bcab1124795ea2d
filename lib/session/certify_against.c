#include "session/certify_against.h"

#include "session/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *
difference_name(clarke_difference_kind k)
{
  static const char *const name[] = {"none", "rounding", "branches", "numbers at kinks", "not explained"};

  return name[k];
}

/* --- one step? --- */

static bool
same_numbers(const double *a, const double *b, size_t n)
{
  if (a == NULL || b == NULL)
    return a == b;
  for (size_t e = 0; e < n; e++)
    if (a[e] != b[e])
      return false;
  return true;
}

static bool
same_map(const size_t *a, const size_t *b, size_t n)
{
  return a == NULL || b == NULL ? a == b : memcmp(a, b, n * sizeof *a) == 0;
}

static bool
same_operands(const clarke_graph *g, const clarke_graph *h, const clarke_step *s, const clarke_step *t)
{
  const size_t count = g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);

  if (s->n_in != t->n_in || s->width != t->width || count != h->values[t->out].count * (t->kind == CLARKE_MAX ? t->width : 1))
    return false;
  for (size_t k = 0; k < s->n_in; k++)
    if (s->in[k].value != t->in[k].value || s->in[k].coef != t->in[k].coef || !same_map(s->in[k].map, t->in[k].map, count))
      return false;
  return true;
}

static bool
same_pieces(const clarke_pieces *p, const clarke_pieces *q)
{
  if (p->n_kinks != q->n_kinks || p->slope != q->slope)
    return false;
  for (size_t i = 0; i < p->n_kinks; i++)
    if (!mpq_equal(p->kink[i], q->kink[i]))
      return false;
  for (size_t i = 0; i <= p->n_kinks; i++)
    for (size_t k = 0; k < 3; k++)
      if (!mpq_equal(p->coef[i][k], q->coef[i][k]))
        return false;
  return true;
}

static bool
same_dense(const clarke_dense *d, const clarke_dense *e)
{
  return d->weight == e->weight && d->transposed == e->transposed && d->grouped == e->grouped && d->blocks == e->blocks
         && d->inner == e->inner && d->outer == e->outer && d->repeat == e->repeat;
}

static bool
same_rest(const clarke_step *s, const clarke_step *t)
{
  if (s->kind == CLARKE_SCALE && (s->divide != t->divide || s->root != t->root))
    return false;
  if (((s->kind == CLARKE_SCALE && s->root) || s->kind == CLARKE_NORMALIZE) && !mpq_equal(s->epsilon, t->epsilon))
    return false;
  if (s->kind == CLARKE_SOFTMAX && (s->log != t->log || s->groups != t->groups || s->length != t->length || s->stride != t->stride))
    return false;
  return s->kind != CLARKE_NORMALIZE || (s->grouping.blocks == t->grouping.blocks && s->grouping.groups == t->grouping.groups
                                         && s->grouping.length == t->grouping.length && s->grouping.couples == t->grouping.couples);
}

static bool
same_step(const clarke_graph *g, const clarke_graph *h, size_t i)
{
  const clarke_step *s = &g->steps[i], *t = &h->steps[i];

  return s->kind == t->kind && s->out == t->out && strcmp(s->op->name, t->op->name) == 0 && same_operands(g, h, s, t)
         && (s->kind != CLARKE_DENSE || same_dense(&s->dense, &t->dense))
         && (s->kind != CLARKE_PIECEWISE || same_pieces(&s->pieces, &t->pieces))
         && (s->kind != CLARKE_ANALYTIC || s->function == t->function) && same_rest(s, t);
}

/* The same name, or none; constants: the same numbers. */
static bool
same_value(const clarke_value *v, const clarke_value *w)
{
  const bool named = v->name != NULL && w->name != NULL;

  return v->constant == w->constant && v->count == w->count && v->parameter == w->parameter && v->negated == w->negated
         && (named ? strcmp(v->name, w->name) == 0 : v->name == w->name)
         && (!v->constant || same_numbers(v->real, w->real, v->count));
}

static bool
same_parameter(const clarke_parameter *p, const clarke_parameter *q)
{
  return strcmp(p->name, q->name) == 0 && p->count == q->count && p->wrt == q->wrt && same_numbers(p->real, q->real, p->count);
}

static bool
same_tensor(const clarke_tensor *a, const clarke_tensor *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->count == b->count && same_numbers(a->real, b->real, a->count)
         && (a->integer == NULL || b->integer == NULL ? a->integer == b->integer
                                                      : memcmp(a->integer, b->integer, a->count * sizeof *a->integer) == 0);
}

/* What the records are not one step in; NULL: nothing. */
static const char *
unlike(const clarke_certified *a, const clarke_certified *b)
{
  const clarke_graph *g = &a->audit.graph, *h = &b->audit.graph;

  if (g->n_values != h->n_values || g->n_steps != h->n_steps || g->n_parameters != h->n_parameters || g->output != h->output
      || a->audit.loss.kind != b->audit.loss.kind)
    return "graph or loss"; /* a cast or a copy is a node */
  for (size_t q = 0; q < g->n_parameters; q++)
    if (!same_parameter(&g->parameters[q], &h->parameters[q]))
      return "parameters";
  if (!same_tensor(a->audit.x, b->audit.x) || !same_tensor(a->audit.y, b->audit.y))
    return "batch";
  for (size_t v = 0; v < g->n_values; v++)
    if (!same_value(&g->values[v], &h->values[v]))
      return "graph";
  for (size_t i = 0; i < g->n_steps; i++)
    if (!same_step(g, h, i))
      return "graph";
  return NULL;
}

/* --- the difference --- */

static bool
same_trace(const clarke_certified *a, const clarke_certified *b)
{
  const clarke_tensors *s = &a->record.trace, *t = &b->record.trace;

  for (size_t i = 0; i < s->n; i++)
    if (!same_tensor(&s->tensor[i], clarke_tensors_find(t, s->tensor[i].name)))
      return false;
  return s->n == t->n;
}

/* Are they one number, but for the factors on the two losses? */
static bool
same_scaled(double one, mpq_srcptr by, double other, mpq_srcptr other_by)
{
  bool same;
  mpq_t x, y;

  if (mpq_equal(by, other_by))
    return one == other;
  mpq_inits(x, y, NULL);
  mpq_set_d(x, one);
  mpq_set_d(y, other);
  mpq_mul(x, x, other_by);
  mpq_mul(y, y, by);
  same = mpq_equal(x, y);
  mpq_clears(x, y, NULL);
  return same;
}

static void
compare_gradients(clarke_difference *d, const clarke_certified *a, const clarke_certified *b)
{
  const bool scaled = !mpq_equal(a->record.step->scale, b->record.step->scale);
  const double scale[2] = {scaled ? mpq_get_d(a->record.step->scale) : 1, scaled ? mpq_get_d(b->record.step->scale) : 1};
  double most = 0;

  for (size_t i = 0; i < a->record.gradients.n; i++) {
    const clarke_tensor *s = &a->record.gradients.tensor[i], *t = clarke_tensors_find(&b->record.gradients, s->name);

    for (size_t e = 0; t != NULL && s->real != NULL && t->real != NULL && e < s->count && e < t->count; e++) {
      d->entries++;
      const double one = s->real[e] / scale[0], other = t->real[e] / scale[1];

      d->differing += !same_scaled(s->real[e], a->record.step->scale, t->real[e], b->record.step->scale);
      if (!(fabs(one - other) > most))
        continue;
      most = fabs(one - other);
      d->parameter = s->name;
      d->value[0] = one;
      d->value[1] = other;
      clarke_put_index(d->index, sizeof d->index, s->dims, s->rank, e);
    }
  }
}

/* Were the arguments of all kinks recorded? */
static bool
pattern_known(const clarke_certified *c)
{
  const clarke_graph *g = &c->audit.graph;

  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t x = clarke_step_has_kinks(&g->steps[i]) ? g->steps[i].in[0].value : g->input;

    if (x != g->input && c->nodes.recorded[x] == NULL)
      return false;
  }
  return true;
}

/* Does AD take another number at an entry that both recorded at a kink, or tied? */
static bool
other_number(const clarke_certified *a, const clarke_certified *b, size_t step, size_t e)
{
  const clarke_matrix *s = &a->nodes.slopes.slope[step], *t = &b->nodes.slopes.slope[step];
  const clarke_step *of = &a->audit.graph.steps[step];
  const size_t n = a->nodes.pass.n;

  if (a->nodes.pass.piece[step][e] >= 0 || b->nodes.pass.piece[step][e] >= 0)
    return false;
  if (of->kind == CLARKE_MAX)
    return a->nodes.slopes.route[step].n != b->nodes.slopes.route[step].n;
  return clarke_matrix_get_double(s, e / n, e % n) != clarke_matrix_get_double(t, e / n, e % n);
}

static bool
find_number(clarke_bifurcation *at, const clarke_certified *a, const clarke_certified *b)
{
  const clarke_graph *g = &a->audit.graph;

  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t entries = clarke_step_has_kinks(&g->steps[i]) ? g->values[g->steps[i].out].count * a->nodes.pass.n : 0;

    for (size_t e = 0; e < entries; e++)
      if (other_number(a, b, i, e)) {
        *at = (clarke_bifurcation){i, e / a->nodes.pass.n, e % a->nodes.pass.n};
        return true;
      }
  }
  return false;
}

static void
note_arguments(clarke_difference *d, const clarke_certified *a, const clarke_certified *b)
{
  const clarke_step *s = &a->audit.graph.steps[d->at.step];
  const size_t x = s->in[0].value, e = d->at.feature * a->nodes.pass.n + d->at.sample;
  const clarke_certified *const both[] = {a, b};

  for (size_t k = 0; k < 2 && s->kind == CLARKE_PIECEWISE; k++)
    d->argument[k] = both[k]->nodes.recorded[x] != NULL
                       ? both[k]->nodes.recorded[x][e]
                       : clarke_matrix_get_double(&both[k]->nodes.pass.value[x], d->at.feature, d->at.sample);
}

clarke_status
clarke_certified_against(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, clarke_error *err)
{
  const char *what = unlike(a, b);

  memset(d, 0, sizeof *d);
  if (what != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s and %s are no records of one step: %s %s not the same", a->record.folder,
                       b->record.folder, what, strcmp(what, "parameters") == 0 ? "are" : "is");
  compare_gradients(d, a, b);
  d->kind = CLARKE_NOT_EXPLAINED;
  if (!a->traced || !b->traced || !pattern_known(a) || !pattern_known(b))
    return CLARKE_OK;
  d->forked = clarke_branches_fork(&d->at, &a->nodes, &b->nodes);
  if (d->forked) {
    d->kind = CLARKE_BY_BRANCHES;
    note_arguments(d, a, b);
  } else if (find_number(&d->at, a, b)) {
    d->kind = CLARKE_BY_NUMBERS;
    d->forked = true;
    note_arguments(d, a, b);
  } else if (same_trace(a, b) && d->differing == 0) {
    d->kind = CLARKE_NO_DIFFERENCE;
  } else if (clarke_certified_answer(a) <= CLARKE_WITHIN_BOUND && clarke_certified_answer(b) <= CLARKE_WITHIN_BOUND) {
    d->kind = CLARKE_BY_ROUNDING;
  }
  return CLARKE_OK;
}

/* --- JSON --- */

static json_t *
pair_json(const double *value)
{
  char first[64], second[64];

  snprintf(first, sizeof first, "%a", value[0]);
  snprintf(second, sizeof second, "%a", value[1]);
  return json_pack("[s, s]", first, second);
}

static json_t *
fork_json(const clarke_difference *d, const clarke_certified *a)
{
  const clarke_step *s = &a->audit.graph.steps[d->at.step];
  const clarke_value *v = &a->audit.graph.values[s->out];
  json_t *j = json_object();
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, d->at.feature);
  clarke_json_set(&j, "node", clarke_json_text(v->name != NULL ? v->name : s->name));
  clarke_json_set(&j, "index", clarke_json_text(index));
  clarke_json_set(&j, "sample", json_integer((json_int_t)d->at.sample));
  clarke_json_set(&j, "arguments", s->kind == CLARKE_PIECEWISE ? pair_json(d->argument) : json_null());
  return j;
}

json_t *
clarke_difference_json(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b)
{
  json_t *j = json_object();

  clarke_json_set(&j, "difference", json_string(difference_name(d->kind)));
  clarke_json_set(&j, "answer", json_string(clarke_certainty_name(clarke_certified_answer(b))));
  clarke_json_set(&j, "first", d->forked ? fork_json(d, a) : json_null());
  clarke_json_set(&j, "entries", json_integer((json_int_t)d->entries));
  clarke_json_set(&j, "differing", json_integer((json_int_t)d->differing));
  clarke_json_set(&j, "parameter", clarke_json_text(d->parameter));
  clarke_json_set(&j, "index", d->parameter != NULL ? json_string(d->index) : json_null());
  clarke_json_set(&j, "values", d->parameter != NULL ? pair_json(d->value) : json_null());
  return j;
}
