#include "audit/loose.h"

#include "network/pass/window.h"

#include <stdlib.h>
#include <string.h>

/* Entries whose derivatives choices may change, by value, features x columns. */
typedef struct {
  const clarke_marking *m;
  const clarke_forward *f;
  const bool *among;
  bool **behind; /* NULL: none of the value's */
} walk;

static bool
is_behind(const walk *w, size_t value, size_t feature, size_t j)
{
  return feature != CLARKE_NONE && w->behind[value] != NULL && w->behind[value][feature * w->f->n + j];
}

static bool
any_operand(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (is_behind(w, s->in[i].value, clarke_operand_entry(&s->in[i], f), j))
      return true;
  return false;
}

static bool
any_inner(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  const size_t b = f / d->repeat / d->outer;

  for (size_t i = 0; i < d->inner; i++)
    if (is_behind(w, s->in[0].value, (b * d->inner + i) * d->repeat + f % d->repeat, j))
      return true;
  return false;
}

static bool
own_argument(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  return is_behind(w, s->in[0].value, f, j);
}

static bool
any_tied(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  size_t place[CLARKE_MAX_WIDTH], n = clarke_window_tied(place, w->f, (size_t)(s - w->f->g->steps), f, j);

  for (size_t i = 0; i < n; i++)
    if (is_behind(w, s->in[0].value, s->in[0].map[f * s->width + place[i]], j))
      return true;
  return false;
}

static bool
any_factor(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  for (size_t i = 0; i < 2 * s->contraction.inner; i++)
    if (is_behind(w, s->in[i % 2].value, clarke_step_factor(s, i % 2, f, i / 2), j))
      return true;
  return false;
}

static bool
any_of_line(const walk *w, const clarke_step *s, size_t f, size_t j)
{
  const size_t first = f / (s->length * s->stride) * s->length * s->stride + f % s->stride;

  for (size_t l = 0; l < s->length; l++)
    if (is_behind(w, s->in[0].value, first + l * s->stride, j))
      return true;
  return false;
}

static bool (*const of_kind[CLARKE_STEP_KINDS])(const walk *w, const clarke_step *s, size_t f, size_t j) = {
  [CLARKE_GATHER] = any_operand, [CLARKE_SUM] = any_operand, [CLARKE_SCALE] = any_operand, [CLARKE_DENSE] = any_inner,
  [CLARKE_PIECEWISE] = own_argument, [CLARKE_ANALYTIC] = own_argument, [CLARKE_SOFTMAX] = any_of_line,
  [CLARKE_MAX] = any_tied, [CLARKE_PRODUCT] = any_factor,
};

/* All entries of a group follow each of them. */
static void
groups_behind(walk *w, const clarke_step *s)
{
  const size_t n = w->f->n, entries = w->f->g->values[s->out].count * n;
  bool *out = w->behind[s->out];

  for (size_t pass = 0; pass < 2; pass++)
    for (size_t e = 0; e < entries; e++) {
      bool *group = &out[clarke_step_group(s, e / n) * s->grouping.length * n + (s->grouping.couples ? 0 : e % n)];

      if (pass == 0)
        *group = *group || is_behind(w, s->in[0].value, e / n, e % n);
      else
        out[e] = *group;
    }
}

/* Is there a moving touch among those asked for at the entry? */
static bool
touched_here(const walk *w, size_t step, size_t e)
{
  const size_t k = w->m->index[step] != NULL ? w->m->index[step][e] : 0;

  return k > 0 && w->among[k - 1];
}

/* Is nothing that the step reads behind a choice, nor anything touched there? Its entries are behind none, either. */
static bool
is_before_all(const walk *w, size_t step)
{
  const clarke_step *s = &w->f->g->steps[step];

  for (size_t i = 0; i < s->n_in; i++)
    if (w->behind[s->in[i].value] != NULL)
      return false;
  for (size_t k = 0; k < w->m->q->replay->n_touches; k++)
    if (w->among[k] && w->m->q->replay->touch[k].step == step)
      return false;
  return true;
}

/* What is constant follows no choice. Of DENSE outputs of one group one answer holds. */
static void
step_behind(walk *w, size_t step)
{
  const clarke_step *s = &w->f->g->steps[step];
  const size_t n = w->f->n, one = s->kind == CLARKE_DENSE ? s->dense.repeat * n : 0;
  bool *out = w->behind[s->out];

  if (s->kind == CLARKE_NORMALIZE)
    groups_behind(w, s);
  for (size_t e = 0; e < w->f->g->values[s->out].count * n; e++) {
    const size_t f = e / n;

    if (one > 0 && f / s->dense.repeat % s->dense.outer > 0)
      out[e] = out[e - one];
    else if (s->kind != CLARKE_NORMALIZE)
      out[e] = touched_here(w, step, e) || of_kind[s->kind](w, s, f, e % n);
  }
  for (size_t e = 0; e < w->f->g->values[s->out].count * n; e++)
    out[e] = out[e] && w->m->mark[s->out][e] != 0;
}

/* Are there more tied entries than options, one of which follows choices? The same entry twice is one. */
static bool
is_loose(const walk *w, size_t step, size_t f, size_t j)
{
  const clarke_step *s = &w->f->g->steps[step];
  const size_t k = w->m->index[step][f * w->f->n + j];
  const size_t options = k > 0 ? w->m->q->replay->touch[k - 1].n_options : 1;
  size_t place[CLARKE_MAX_WIDTH], n, distinct = 0;

  if (!any_tied(w, s, f, j))
    return false;
  n = clarke_window_tied(place, w->f, step, f, j);
  for (size_t i = 0; i < n; i++) {
    size_t before = 0;

    while (before < i && s->in[0].map[f * s->width + place[before]] != s->in[0].map[f * s->width + place[i]])
      before++;
    distinct += before == i;
  }
  return distinct > options;
}

static clarke_status
find_of_step(clarke_loose *loose, const walk *w, size_t step, clarke_error *err)
{
  const size_t n = w->f->n, entries = w->f->g->values[w->f->g->steps[step].out].count * n;

  for (size_t e = 0; e < entries; e++) {
    if (!is_loose(w, step, e / n, e % n))
      continue;
    if (loose->at[step] == NULL && (loose->at[step] = calloc(entries, sizeof **loose->at)) == NULL)
      return clarke_no_memory(err);
    loose->any = loose->at[step][e] = true;
    loose->constant = loose->constant || w->m->mark[w->f->g->steps[step].out][e] == 0;
  }
  return CLARKE_OK;
}

static clarke_status
find(clarke_loose *loose, walk *w, clarke_error *err)
{
  const clarke_graph *g = w->f->g;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const size_t out = g->steps[i].out;

    if (w->f->value[out].rows == 0 || is_before_all(w, i))
      continue;
    w->behind[out] = calloc(g->values[out].count * w->f->n + 1, sizeof **w->behind);
    if (w->behind[out] == NULL)
      return clarke_no_memory(err);
    step_behind(w, i);
    if (g->steps[i].kind == CLARKE_MAX)
      status = find_of_step(loose, w, i, err);
  }
  return status;
}

clarke_status
clarke_loose_find(clarke_loose *loose, const clarke_marking *m, const bool *among, clarke_error *err)
{
  const clarke_graph *g = m->q->g;
  walk w = {m, m->f, among, calloc(g->n_values + 1, sizeof *w.behind)};
  clarke_status status;

  *loose = (clarke_loose){.at = calloc(g->n_steps + 1, sizeof *loose->at)};
  status = w.behind != NULL && loose->at != NULL ? find(loose, &w, err) : clarke_no_memory(err);
  for (size_t v = 0; w.behind != NULL && v < g->n_values; v++)
    free(w.behind[v]);
  free(w.behind);
  if (status != CLARKE_OK)
    clarke_loose_clear(loose, g);
  return status;
}

void
clarke_loose_clear(clarke_loose *loose, const clarke_graph *g)
{
  for (size_t i = 0; loose->at != NULL && i < g->n_steps; i++)
    free(loose->at[i]);
  free(loose->at);
  memset(loose, 0, sizeof *loose);
}
