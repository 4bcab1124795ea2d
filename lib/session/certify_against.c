#include "session/certify_against.h"
#include "session/twins.h"

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
same_parameter(const clarke_parameter *p, const clarke_parameter *q)
{
  return p->count == q->count && p->wrt == q->wrt && clarke_twins_numbers(p->real, q->real, p->count);
}

static bool
same_tensor(const clarke_tensor *a, const clarke_tensor *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->count == b->count && clarke_twins_numbers(a->real, b->real, a->count)
         && (a->integer == NULL || b->integer == NULL ? a->integer == b->integer
                                                      : memcmp(a->integer, b->integer, a->count * sizeof *a->integer) == 0);
}

/* They stand in the order in which the steps read them. */
static bool
same_parameters(const clarke_graph *g, const clarke_graph *h)
{
  bool all = g->n_parameters == h->n_parameters;

  for (size_t p = 0; p < g->n_parameters && all; p++) {
    bool found = false;

    for (size_t q = 0; q < h->n_parameters && !found; q++)
      found = strcmp(g->parameters[p].name, h->parameters[q].name) == 0 && same_parameter(&g->parameters[p], &h->parameters[q]);
    all = found;
  }
  return all;
}

/* Are both losses, of one batch, made of the same samples? A label may be ignored by one of them alone. */
static bool
same_samples(const clarke_loss *a, const clarke_loss *b)
{
  for (size_t j = 0; a->kind == CLARKE_LOSS_CE && j < a->samples; j++)
    if ((clarke_loss_label(a, j) == CLARKE_NONE) != (clarke_loss_label(b, j) == CLARKE_NONE))
      return false;
  return true;
}

/* What the records are not one step in; NULL: nothing, and twins are made. */
static clarke_status
unlike(const char **what, clarke_twins *twins, const clarke_certified *a, const clarke_certified *b, clarke_error *err)
{
  const clarke_graph *g = &a->audit.graph, *h = &b->audit.graph;
  bool same = g->n_parameters == h->n_parameters && a->audit.loss.kind == b->audit.loss.kind;
  clarke_status status = CLARKE_OK;

  *what = "graph or loss";
  if (!same)
    return CLARKE_OK;
  if (!same_parameters(g, h)) {
    *what = "parameters";
    return CLARKE_OK;
  }
  if (!same_tensor(a->audit.x, b->audit.x) || !same_tensor(a->audit.y, b->audit.y)) {
    *what = "batch";
    return CLARKE_OK;
  }
  if (!same_samples(&a->audit.loss, &b->audit.loss))
    return CLARKE_OK;
  status = clarke_twins_find(twins, &same, g, h, err);
  *what = same ? NULL : *what;
  return status;
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
other_number(const clarke_certified *a, const clarke_certified *b, size_t step, size_t twin, size_t e)
{
  const clarke_matrix *s = &a->nodes.slopes.slope[step], *t = &b->nodes.slopes.slope[twin];
  const clarke_step *of = &a->audit.graph.steps[step];
  const size_t n = a->nodes.pass.n;

  if (a->nodes.pass.piece[step][e] >= 0 || b->nodes.pass.piece[twin][e] >= 0)
    return false;
  if (of->kind == CLARKE_MAX)
    return a->nodes.slopes.route[step].n != b->nodes.slopes.route[twin].n;
  return clarke_matrix_get_double(s, e / n, e % n) != clarke_matrix_get_double(t, e / n, e % n);
}

static bool
find_number(clarke_bifurcation *at, const clarke_certified *a, const clarke_certified *b, const size_t *twin)
{
  const clarke_graph *g = &a->audit.graph;

  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t entries = clarke_step_has_kinks(&g->steps[i]) ? g->values[g->steps[i].out].count * a->nodes.pass.n : 0;

    for (size_t e = 0; e < entries; e++)
      if (other_number(a, b, i, twin[i], e)) {
        *at = (clarke_bifurcation){i, e / a->nodes.pass.n, e % a->nodes.pass.n};
        return true;
      }
  }
  return false;
}

static void
note_arguments(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, const size_t *twin)
{
  const clarke_step *const s[] = {&a->audit.graph.steps[d->at.step], &b->audit.graph.steps[twin[d->at.step]]};
  const size_t e = d->at.feature * a->nodes.pass.n + d->at.sample;
  const clarke_certified *const both[] = {a, b};

  for (size_t k = 0; k < 2 && s[k]->kind == CLARKE_PIECEWISE; k++) {
    const size_t x = s[k]->in[0].value;

    d->argument[k] = both[k]->nodes.recorded[x] != NULL
                       ? both[k]->nodes.recorded[x][e]
                       : clarke_matrix_get_double(&both[k]->nodes.pass.value[x], d->at.feature, d->at.sample);
  }
}

/* The first entry of a step's output of which the two have other numbers. */
static void
find_first(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, const size_t *twin)
{
  const clarke_graph *g = &a->audit.graph, *h = &b->audit.graph;
  const size_t n = a->nodes.pass.n;

  for (size_t i = 0; i < g->n_steps && !d->numbered; i++) {
    const size_t out = g->steps[i].out, entries = twin[i] != CLARKE_NONE ? g->values[out].count * n : 0;
    const double *one = a->nodes.recorded[out], *other = entries > 0 ? b->nodes.recorded[h->steps[twin[i]].out] : NULL;

    for (size_t e = 0; one != NULL && other != NULL && e < entries && !d->numbered; e++)
      if (one[e] != other[e]) {
        d->numbered = true;
        d->number = (clarke_bifurcation){i, e / n, e % n};
        d->recorded[0] = one[e];
        d->recorded[1] = other[e];
      }
  }
}

/* The place where they part, beside the exact replay of the first. Of a tie of which the record took a loser neither is true: it is no
 * branch of floats alone, and no side of the tie. */
static clarke_truth
at_exactly(const clarke_difference *d, const clarke_certified *a)
{
  const clarke_branches *p = &a->pattern;

  if (!a->compared)
    return CLARKE_UNKNOWN;
  for (size_t k = 0; k < p->n; k++) {
    const clarke_parted *at = &p->parted[k];

    if (at->step == d->at.step && at->feature == d->at.feature && at->sample == d->at.sample)
      return at->kind == CLARKE_AT_EXACTLY ? CLARKE_YES : at->touched ? CLARKE_UNKNOWN : CLARKE_NO;
  }
  if (p->open > 0 || p->unrecorded > 0)
    return CLARKE_UNKNOWN;
  return a->nodes.pass.piece[d->at.step][d->at.feature * a->nodes.pass.n + d->at.sample] < 0 ? CLARKE_YES : CLARKE_NO;
}

static void
find_kind(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, const size_t *twin)
{
  compare_gradients(d, a, b);
  d->exactly = CLARKE_UNKNOWN;
  d->kind = CLARKE_NOT_EXPLAINED;
  if (!a->traced || !b->traced || !pattern_known(a) || !pattern_known(b))
    return;
  find_first(d, a, b, twin);
  d->forked = clarke_branches_fork(&d->at, &a->nodes, &b->nodes, twin);
  if (d->forked) {
    d->kind = CLARKE_BY_BRANCHES;
    d->exactly = at_exactly(d, a);
    note_arguments(d, a, b, twin);
  } else if (find_number(&d->at, a, b, twin)) {
    d->kind = CLARKE_BY_NUMBERS;
    d->forked = true;
    note_arguments(d, a, b, twin);
  } else if (same_trace(a, b) && d->differing == 0) {
    d->kind = CLARKE_NO_DIFFERENCE;
  } else if (clarke_certified_answer(a) <= CLARKE_WITHIN_BOUND && clarke_certified_answer(b) <= CLARKE_WITHIN_BOUND) {
    d->kind = CLARKE_BY_ROUNDING;
  }
}

clarke_status
clarke_certified_against(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, clarke_error *err)
{
  clarke_twins twins = {NULL};
  const char *what;
  clarke_status status = unlike(&what, &twins, a, b, err);

  memset(d, 0, sizeof *d);
  if (status == CLARKE_OK && what != NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s and %s are no records of one step: %s %s not the same", a->record.folder,
                         b->record.folder, what, strcmp(what, "parameters") == 0 ? "are" : "is");
  if (status == CLARKE_OK)
    find_kind(d, a, b, twins.step);
  clarke_twins_clear(&twins);
  return status;
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
place_json(const clarke_bifurcation *at, const clarke_certified *a)
{
  const clarke_step *s = &a->audit.graph.steps[at->step];
  const clarke_value *v = &a->audit.graph.values[s->out];
  json_t *j = json_object();
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, at->feature);
  clarke_json_set(&j, "node", clarke_json_text(v->name != NULL ? v->name : s->name));
  clarke_json_set(&j, "index", clarke_json_text(index));
  clarke_json_set(&j, "sample", json_integer((json_int_t)at->sample));
  return j;
}

static json_t *
fork_json(const clarke_difference *d, const clarke_certified *a)
{
  json_t *j = place_json(&d->at, a);

  clarke_json_set(&j, "arguments", a->audit.graph.steps[d->at.step].kind == CLARKE_PIECEWISE ? pair_json(d->argument) : json_null());
  clarke_json_set(&j, "exactly", d->exactly == CLARKE_UNKNOWN ? json_null() : json_boolean(d->exactly == CLARKE_YES));
  return j;
}

static json_t *
number_json(const clarke_difference *d, const clarke_certified *a)
{
  json_t *j = place_json(&d->number, a);

  clarke_json_set(&j, "values", pair_json(d->recorded));
  return j;
}

json_t *
clarke_difference_json(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b)
{
  json_t *j = json_object();

  clarke_json_set(&j, "difference", json_string(difference_name(d->kind)));
  clarke_json_set(&j, "answer", json_string(clarke_certainty_name(clarke_certified_answer(b))));
  clarke_json_set(&j, "first", d->forked ? fork_json(d, a) : json_null());
  clarke_json_set(&j, "first_number", d->numbered ? number_json(d, a) : json_null());
  clarke_json_set(&j, "entries", json_integer((json_int_t)d->entries));
  clarke_json_set(&j, "differing", json_integer((json_int_t)d->differing));
  clarke_json_set(&j, "parameter", clarke_json_text(d->parameter));
  clarke_json_set(&j, "index", d->parameter != NULL ? json_string(d->index) : json_null());
  clarke_json_set(&j, "values", d->parameter != NULL ? pair_json(d->value) : json_null());
  return j;
}
