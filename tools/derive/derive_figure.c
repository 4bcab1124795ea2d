/* clarke derive --plot: samples of a program along a line, and exactly where it is not smooth. */
#include "derive_report.h"

#include "base/stop.h"
#include "derive_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinks looked for between two neighbouring samples. */
#define SUSPECTS_MOST ((size_t)64)
/* An order statistic's ties are looked for among all pairs of so many arguments. */
#define PAIRED_MOST ((size_t)16)

/* --- where kinks may lie ---------------------------------------------------------------------- */

/* Two executions side by side, and the points between them to look at. */
typedef struct {
  const clarke_execution *a, *b;
  mpq_t ta, tb;
  clarke_points *found;
  size_t n;
} interval;

/* The zero of the line through (ta, ya), (tb, yb), when they differ in sign: exact where y is
 * affine between; a guess elsewhere, to be executed like any other point. */
static clarke_status
suspect(interval *v, const mpq_t ya, const mpq_t yb, clarke_error *err)
{
  clarke_status status;
  mpq_t t[1], slope;

  if (mpq_sgn(ya) * mpq_sgn(yb) >= 0 || v->n == SUSPECTS_MOST)
    return CLARKE_OK;
  mpq_inits(t[0], slope, NULL);
  mpq_sub(slope, ya, yb);
  mpq_div(slope, ya, slope);
  mpq_sub(t[0], v->tb, v->ta);
  mpq_mul(t[0], t[0], slope);
  mpq_add(t[0], t[0], v->ta);
  status = clarke_points_add(v->found, t, err);
  v->n++;
  mpq_clears(t[0], slope, NULL);
  return status;
}

/* Entry i less entry j (CLARKE_NONE: less c), in both executions. */
static clarke_status
compare(interval *v, size_t i, size_t j, const mpq_t c, clarke_error *err)
{
  const clarke_number *a = v->a->value, *b = v->b->value;
  bool seen = v->a->live[i] && v->b->live[i] && a[i].exact && b[i].exact;
  clarke_status status = CLARKE_OK;
  mpq_t ya, yb;

  if (j != CLARKE_NONE)
    seen = seen && v->a->live[j] && v->b->live[j] && a[j].exact && b[j].exact;
  if (!seen)
    return CLARKE_OK;
  mpq_inits(ya, yb, NULL);
  mpq_sub(ya, a[i].q, j != CLARKE_NONE ? a[j].q : c);
  mpq_sub(yb, b[i].q, j != CLARKE_NONE ? b[j].q : c);
  status = suspect(v, ya, yb, err);
  mpq_clears(ya, yb, NULL);
  return status;
}

static clarke_status
pairs(interval *v, const clarke_instruction *i, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t j = 0; j < i->n_in && i->n_in <= PAIRED_MOST && status == CLARKE_OK; j++)
    for (size_t k = j + 1; k < i->n_in && status == CLARKE_OK; k++)
      status = compare(v, i->in[j], i->in[k], NULL, err);
  return status;
}

/* The instructions' kinks that are passed between the two executions. */
static clarke_status
between(interval *v, const clarke_code *p, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t zero;

  mpq_init(zero);
  for (size_t k = 0; k < p->n && status == CLARKE_OK; k++) {
    const clarke_instruction *i = &p->instruction[k];

    if (i->kind == CLARKE_DO_PIECEWISE)
      for (size_t j = 0; j < i->pieces->n_kinks && status == CLARKE_OK; j++)
        status = compare(v, i->in[0], CLARKE_NONE, i->pieces->kink[j], err);
    else if (i->kind == CLARKE_DO_ELU)
      status = compare(v, i->in[0], CLARKE_NONE, zero, err);
    else if (i->kind == CLARKE_DO_BRANCH)
      status = compare(v, i->in[0], i->in[1], NULL, err);
    else if (i->kind == CLARKE_DO_ORDER)
      status = pairs(v, i, err);
  }
  mpq_clear(zero);
  return status;
}

/* --- the range -------------------------------------------------------------------------------- */

/* Without a sweep: 2 to either side of the point, in steps of 1/50. */
static void
range_around(clarke_derive_range *r, const clarke_derive_session *s)
{
  mpq_set_si(r->step, 2, 1);
  mpq_sub(r->from, s->at[r->entry], r->step);
  mpq_set_si(r->step, 1, 50);
  r->n = 201;
}

/* The only input of wrt, of one entry. */
static clarke_status
find_axis(clarke_derive_range *r, const clarke_code *p, clarke_error *err)
{
  size_t entry = 0;

  if (p->n_outputs != 1)
    return clarke_fail(err, CLARKE_EINPUT, "--plot: %s has %zu outputs, expected one", p->file,
                       p->n_outputs);
  if (clarke_code_wrt_count(p) != 1)
    return clarke_fail(err, CLARKE_EINPUT, "--plot: derivatives are in %zu entries, expected one: "
                       "name an input of one entry by --wrt", clarke_code_wrt_count(p));
  for (size_t i = 0; i < p->n_inputs; entry += p->input[i++].n)
    if (p->input[i].wrt && p->input[i].n == 1) {
      r->input = i;
      r->entry = entry;
    }
  return CLARKE_OK;
}

/* All points to draw, sorted: the range's own, and those between where a kink is passed. */
static clarke_status
collect(clarke_points *all, clarke_derive_session *s, const clarke_derive_range *r,
        clarke_error *err)
{
  clarke_execution e[2];
  clarke_points extra;
  interval v = {.found = &extra};
  clarke_status status = CLARKE_OK;
  bool ran[2] = {false, false};
  mpq_t t[1];

  clarke_execution_init(&e[0]);
  clarke_execution_init(&e[1]);
  clarke_points_init(&extra, 1);
  mpq_inits(t[0], v.ta, v.tb, NULL);
  mpq_set(t[0], r->from);
  for (size_t i = 0; i < r->n && status == CLARKE_OK; i++) {
    clarke_execution *now = &e[i % 2];

    status = clarke_points_add(all, t, err);
    clarke_execution_clear(now);
    clarke_execution_init(now);
    mpq_set(s->at[r->entry], t[0]);
    mpq_set(v.ta, v.tb);
    mpq_set(v.tb, t[0]);
    ran[i % 2] = status == CLARKE_OK &&
                 clarke_execute(now, &s->program, s->at, NULL) == CLARKE_OK && !now->open;
    v.a = &e[(i + 1) % 2];
    v.b = now;
    v.n = 0;
    if (status == CLARKE_OK && i > 0 && ran[0] && ran[1])
      status = between(&v, &s->program, err);
    mpq_add(t[0], t[0], r->step);
  }
  for (size_t i = 0; i < extra.n && status == CLARKE_OK; i++)
    status = clarke_points_add(all, extra.entry + i, err);
  mpq_clears(t[0], v.ta, v.tb, NULL);
  clarke_points_clear(&extra);
  clarke_execution_clear(&e[0]);
  clarke_execution_clear(&e[1]);
  return status;
}

/* --- the drawing ------------------------------------------------------------------------------ */

typedef struct {
  size_t n, n_kinks;
  clarke_plot_sample *sample;
  clarke_plot_kink *kink;
} figure;

static void
add_kink(figure *f, const clarke_plot_sample *at, const clarke_derivation *d)
{
  clarke_plot_kink *k = &f->kink[f->n_kinks++];

  *k = (clarke_plot_kink){.t = at->t, .value = at->value, .ad = at->ad, .lo = NAN, .hi = NAN};
  if (!d->sets_known || d->clarke.n == 0)
    return;
  k->lo = mpq_get_d(d->clarke.entry[0]);
  k->hi = mpq_get_d(d->clarke.entry[d->clarke.n - 1]); /* sorted */
}

/* Where the program is undefined, or AD's output is not known, there is a gap. */
static clarke_status
add_sample(figure *f, clarke_derive_session *s, const mpq_t t, clarke_error *err)
{
  clarke_plot_sample *at = &f->sample[f->n++];
  clarke_error wrong = {CLARKE_OK, ""};
  clarke_derivation d;
  clarke_status status;

  *at = (clarke_plot_sample){.t = mpq_get_d(t), .value = NAN, .ad = NAN};
  clarke_derivation_init(&d);
  status = clarke_derive(&d, &s->program, s->at, &s->profile, &wrong);
  if (status == CLARKE_OK && !d.execution.open) {
    at->value = clarke_number_double(&d.execution.value[s->program.output[0]]);
    at->ad = d.magnitude != NULL ? NAN : clarke_number_double(&d.ad[0]);
    if (d.execution.n_touched > 0)
      add_kink(f, at, &d);
  }
  clarke_derivation_clear(&d);
  if (status != CLARKE_OK && status != CLARKE_EINPUT)
    return clarke_fail(err, status, "%s", wrong.text);
  return CLARKE_OK;
}

static clarke_status
draw(const clarke_points *all, clarke_derive_session *s, const char *path, const clarke_derive_range *r,
     clarke_error *err)
{
  figure f = {.sample = calloc(all->n + 1, sizeof *f.sample),
              .kink = calloc(all->n + 1, sizeof *f.kink)};
  clarke_status status = f.sample != NULL && f.kink != NULL
                           ? CLARKE_OK
                           : clarke_no_memory(err);

  for (size_t i = 0; i < all->n && status == CLARKE_OK; i++) {
    mpq_set(s->at[r->entry], all->entry[i]);
    status = add_sample(&f, s, all->entry[i], err);
  }
  if (status == CLARKE_OK) /* else it has gaps that mean nothing */
    status = clarke_work_check(err);
  if (status == CLARKE_OK)
    status = clarke_plot_write(path, f.sample, f.n, f.kink, f.n_kinks,
                               s->program.file, err);
  free(f.sample);
  free(f.kink);
  return status;
}

clarke_status
clarke_derive_figure(clarke_derive_session *s, const char *path, const clarke_derive_range *range,
                     clarke_error *err)
{
  clarke_points all;
  clarke_derive_range r;
  clarke_status status;
  mpq_t at;

  clarke_derive_range_init(&r);
  clarke_points_init(&all, 1);
  mpq_init(at);
  status = find_axis(&r, &s->program, err);
  if (status == CLARKE_OK && range != NULL && range->entry != r.entry)
    status = clarke_fail(err, CLARKE_EINPUT, "--plot: the derivative is in '%s', the sweep in '%s'",
                         s->program.input[r.input].name, s->program.input[range->input].name);
  if (status == CLARKE_OK) {
    mpq_set(at, s->at[r.entry]);
    if (range == NULL)
      range_around(&r, s);
    else {
      mpq_set(r.from, range->from);
      mpq_set(r.step, range->step);
      r.n = range->n;
    }
    status = collect(&all, s, &r, err);
    if (status == CLARKE_OK)
      status = draw(&all, s, path, &r, err);
    mpq_set(s->at[r.entry], at);
  }
  mpq_clear(at);
  clarke_points_clear(&all);
  clarke_derive_range_clear(&r);
  if (status != CLARKE_ESTOPPED)
    return status;
  clarke_watch_hide(true);
  fprintf(stderr, "clarke derive: stopped: no figure was written\n");
  return CLARKE_OK;
}
