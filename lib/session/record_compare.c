/* The recorded gradient beside AD's exact one, entry by entry, with the bound on rounding (docs/rounding-bound.md). */
#include "session/gradient.h"
#include "session/record.h"
#include "session/vague.h"

#include "exact/upward.h"
#include "base/text.h"
#include "trace/certify/certificate.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "network/pass/piecewise.h"
#include "trace/bound/rounding_loss.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_record *r;
  clarke_audit_session *s;
  const clarke_certify *nodes; /* NULL: not all are certified by themselves */
  const clarke_branches *turned; /* NULL: none */
  bool claimed;                /* roundings that run.json alone tells are allowed, too */
  clarke_forward pass;
  clarke_slopes slopes;
  clarke_matrix *grad, *gradient; /* by value, by parameter */
  clarke_roundoff rounded;
  double **bound, **recorded; /* by parameter (NULL: it has none), by value */
  clarke_error *err;
} work;

/* --- what was recorded of activations --- */

/* Features x samples of a tensor whose first axis are the samples; NULL when it has another shape, or no floats. */
static double *
turned(const clarke_tensor *t, const clarke_value *v, size_t samples)
{
  double *turned;

  if (t == NULL || t->real == NULL || t->count != v->count * samples)
    return NULL;
  turned = malloc((t->count + 1) * sizeof *turned);
  for (size_t e = 0; turned != NULL && e < t->count; e++)
    turned[e % v->count * samples + e / v->count] = t->real[e];
  return turned;
}

static clarke_status
collect_recorded(work *w)
{
  const clarke_graph *g = &w->s->graph;

  w->recorded = calloc(g->n_values + 1, sizeof *w->recorded);
  if (w->recorded == NULL)
    return clarke_no_memory(w->err);
  for (size_t v = 0; v < g->n_values; v++) {
    char name[4096];

    if (g->values[v].constant || g->values[v].name == NULL || v == g->input)
      continue;
    snprintf(name, sizeof name, "output/%.4000s", g->values[v].name);
    w->recorded[v] = turned(clarke_tensors_find(&w->r->trace, name), &g->values[v], w->pass.n);
  }
  return CLARKE_OK;
}

/* --- the exact pass and its bounds --- */

/* Certified nodes leave something to say of entries without a bound, too; else these are not followed. */
static clarke_status
run_back(work *w)
{
  const clarke_graph *g = &w->s->graph;
  const double scale = clarke_up_rational(w->r->step->scale);
  clarke_status status = clarke_loss_seed(&w->grad[g->output], &w->s->question.loss, &w->pass, NULL, w->err);

  if (status == CLARKE_OK && w->nodes == NULL)
    return clarke_roundoff_backward_along(w->bound, w->gradient, &w->rounded, w->grad, scale, w->err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(w->grad, &w->pass, &w->slopes, CLARKE_NONE, clarke_gradient_sink, w->gradient, w->err);
  return status == CLARKE_OK ? clarke_roundoff_backward(w->bound, &w->rounded, w->grad, scale, w->err) : status;
}

/* A slope takes the record's place of AD's at the exact argument. */
static clarke_status
turn_slope(work *w, const clarke_parted *p)
{
  clarke_matrix *to = &w->slopes.slope[p->step];
  const clarke_matrix *from = &w->nodes->slopes.slope[p->step];
  const size_t n = to->rows * to->cols;
  mpq_t *slope = clarke_rationals(n);
  clarke_status status = slope != NULL ? CLARKE_OK : clarke_no_memory(w->err);

  for (size_t e = 0; slope != NULL && e < n; e++)
    clarke_matrix_get(slope[e], e == p->feature * to->cols + p->sample ? from : to, e / to->cols, e % to->cols);
  if (status == CLARKE_OK)
    status = clarke_matrix_set_rationals(to, to->rows, to->cols, slope, w->err);
  if (slope != NULL)
    clarke_rationals_free(slope, n);
  return status;
}

/* Where branches parted the gradient goes along the recorded ones. */
static clarke_status
turn_slopes(work *w)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < w->turned->n && status == CLARKE_OK; i++) {
    const clarke_parted *p = &w->turned->parted[i];
    const size_t e = p->feature * w->pass.n + p->sample;
    const clarke_route *to = &w->slopes.route[p->step], *from = &w->nodes->slopes.route[p->step];

    if (p->alike)
      continue;
    if (w->s->graph.steps[p->step].kind != CLARKE_MAX)
      status = turn_slope(w, p);
    else if (to->n == 1 && from->n > 0)
      to->from[0][e] = from->from[0][e];
  }
  return status;
}

static clarke_status
run_bounds(work *w)
{
  clarke_roundoff *b = &w->rounded;
  clarke_status status = clarke_record_rounding(&b->by, w->r, &w->s->graph, w->claimed, w->err);

  b->f = &w->pass;
  b->slopes = &w->slopes;
  b->profile = &w->s->profile;
  b->loss = &w->s->question.loss;
  if (status == CLARKE_OK)
    status = clarke_slopes_of_ad(&w->slopes, &w->pass, &w->s->replay, &w->s->profile, w->err);
  if (status == CLARKE_OK)
    status = collect_recorded(w);
  b->recorded = w->recorded;
  if (status == CLARKE_OK)
    status = clarke_roundoff_forward(b, w->err);
  if (status != CLARKE_OK || b->offender != CLARKE_NONE)
    return status;
  clarke_roundoff_reroute(b);
  if (w->turned != NULL)
    status = turn_slopes(w);
  return status == CLARKE_OK ? run_back(w) : status;
}

/* --- the comparison --- */

/* An activation that no rounding explains. */
static clarke_status
say_offender(work *w)
{
  const clarke_roundoff *b = &w->rounded;
  const clarke_value *v = &w->s->graph.values[b->offender];
  const size_t f = b->offender_entry / w->pass.n, j = b->offender_entry % w->pass.n;
  const char *op = w->s->graph.steps[v->producer].op->name;
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, f);
  return clarke_record_say(w->r, CLARKE_RAN_REFUTED, w->err, "the recorded output of %s is not the operator's of its inputs within rounding: in sample "
             "%zu entry %s is %.9g, exactly about %.9g, and rounding explains %.3g%s", v->name, j, index,
             w->recorded[b->offender][b->offender_entry], clarke_matrix_get_double(&w->pass.value[b->offender], f, j),
             b->error[b->offender][b->offender_entry],
             strncmp(op, "Conv", 4) == 0 ? " (if the sums were made as a convolution's are: Winograd's and FFT's are not)" : "");
}

/* One entry: is the recorded number within the bound? */
static clarke_truth
compare_entry(work *w, size_t p, size_t e, double recorded, double *ratio)
{
  const clarke_matrix *g = &w->gradient[p];
  const double bound = w->bound[p][e];
  clarke_truth within = CLARKE_UNKNOWN;
  mpq_t exact, apart, limit;
  double radius = 0;

  *ratio = INFINITY;
  if (!isfinite(bound))
    return CLARKE_UNKNOWN;
  mpq_inits(exact, apart, limit, NULL);
  if (g->rows > 0) {
    clarke_matrix_get(exact, g, e, 0);
    radius = clarke_roundoff_sum(clarke_matrix_radius(g, e, 0) * clarke_up_rational(w->r->step->scale), 4);
  }
  if (!isfinite(radius)) {
    mpq_clears(exact, apart, limit, NULL);
    return CLARKE_UNKNOWN;
  }
  mpq_mul(exact, exact, w->r->step->scale);
  mpq_set_d(apart, recorded);
  mpq_sub(apart, apart, exact);
  mpq_abs(apart, apart);
  *ratio = mpq_sgn(apart) == 0 ? 0 : mpq_get_d(apart) / bound;
  mpq_set_d(limit, radius);
  mpq_add(exact, apart, limit); /* at most this far */
  mpq_sub(apart, apart, limit); /* at least */
  mpq_set_d(limit, bound);
  within = mpq_cmp(exact, limit) <= 0 ? CLARKE_YES : mpq_cmp(apart, limit) > 0 ? CLARKE_NO : CLARKE_UNKNOWN;
  mpq_clears(exact, apart, limit, NULL);
  return within;
}

/* In doubles: is the number within the bound, and by no more than the largest part of one so far? Then it changes nothing. False: they do
 * not tell. */
static bool
is_plainly_within(const work *w, size_t p, size_t e, double recorded, double scale)
{
  const clarke_matrix *g = &w->gradient[p];
  const double near = g->rows > 0 ? clarke_matrix_get_double(g, e, 0) * scale : 0;
  const double radius = g->rows > 0 ? clarke_matrix_radius(g, e, 0) * fabs(scale) : 0;
  const double most = clarke_roundoff_sum(fabs(recorded - near) + radius + clarke_taken(8, fabs(near)), 8);

  return most <= clarke_down_by(w->bound[p][e], 4) && most <= clarke_down_by(w->r->worst * w->bound[p][e], 4) && isfinite(w->bound[p][e]);
}

static clarke_status
say_entry(work *w, size_t p, size_t e, double recorded, clarke_truth within)
{
  const clarke_parameter *q = &w->s->graph.parameters[p];
  const clarke_matrix *g = &w->gradient[p];
  const double exact = g->rows > 0 ? clarke_matrix_get_double(g, e, 0) * mpq_get_d(w->r->step->scale) : 0;
  char index[256];

  clarke_put_index(index, sizeof index, q->dims, q->rank, e);
  if (within == CLARKE_UNKNOWN)
    return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "of %s%s no bound on rounding is known", q->name, index);
  return clarke_record_say(w->r, CLARKE_RAN_REFUTED, w->err, "%s%s was recorded as %.9g, and is exactly about %.9g; rounding explains %.3g",
                           q->name, index, recorded, exact, w->bound[p][e]);
}

/* No entry has a bound. */
static clarke_status
skip_parameter(work *w, size_t p)
{
  w->r->entries += w->s->graph.parameters[p].count;
  w->r->worst = INFINITY;
  return w->r->ran == CLARKE_RAN_EXPLAINED ? say_entry(w, p, 0, 0, CLARKE_UNKNOWN) : CLARKE_OK;
}

static clarke_status
compare_parameter(work *w, size_t p)
{
  const clarke_parameter *q = &w->s->graph.parameters[p];
  const clarke_tensor *t = clarke_tensors_find(&w->r->gradients, q->name);
  const double scale = mpq_get_d(w->r->step->scale);
  clarke_status status = CLARKE_OK;

  if (t == NULL || t->real == NULL || t->rank != q->rank || memcmp(t->dims, q->dims, q->rank * sizeof *q->dims) != 0)
    return clarke_fail(w->err, CLARKE_EINPUT, "%s: %s: no floats of the shape of parameter '%s'", w->r->folder,
                       w->r->step->gradients.name, q->name);
  if (w->bound[p] == NULL)
    return skip_parameter(w, p);
  for (size_t e = 0; e < t->count && status == CLARKE_OK; e++) {
    double ratio;
    clarke_truth within;

    w->r->entries++;
    if (is_plainly_within(w, p, e, t->real[e], scale))
      continue;
    within = compare_entry(w, p, e, t->real[e], &ratio);
    w->r->worst = fmax(w->r->worst, ratio);
    if (within == CLARKE_UNKNOWN && w->nodes != NULL) /* nodes that are certified need no such bound */
      within = CLARKE_YES;
    if ((within == CLARKE_NO && w->r->ran != CLARKE_RAN_REFUTED) || (within == CLARKE_UNKNOWN && w->r->ran == CLARKE_RAN_EXPLAINED))
      status = say_entry(w, p, e, t->real[e], within);
  }
  return status;
}

/* --- would a wrong gradient be explained, too? --- */

static clarke_norms
measure(const work *w, size_t p)
{
  const clarke_matrix *g = &w->gradient[p];
  const clarke_tensor *t = clarke_tensors_find(&w->r->gradients, w->s->graph.parameters[p].name);
  const double scale = mpq_get_d(w->r->step->scale);
  clarke_norms n = {0};

  for (size_t e = 0; e < t->count; e++)
    clarke_norms_add(&n, g->rows > 0 ? clarke_matrix_get_double(g, e, 0) * scale : 0,
                     g->rows > 0 ? clarke_matrix_radius(g, e, 0) * fabs(scale) : 0, t->real[e], w->bound[p][e]);
  return n;
}

/* What the answer allows the gradient to be off by. Of a certified parameter: what it is off by, or the bound on its own last sum. */
static double
allowed(const work *w, size_t p, const clarke_norms *n)
{
  const char *name = w->s->graph.parameters[p].name;

  for (size_t i = 0; w->nodes != NULL && i < w->nodes->n; i++) {
    const clarke_certificate *c = &w->nodes->certificate[i];

    if (c->part == CLARKE_PARAMETER && strcmp(c->name, name) == 0)
      return fmax(n->apart, c->certainty == CLARKE_WITHIN_BOUND ? c->slack : 0);
  }
  return n->bound;
}

/* Names the parameters of which a wrong gradient would be explained as well. */
static clarke_status
doubt_vague(work *w)
{
  const clarke_graph *g = &w->s->graph;
  clarke_vague vague = {0};
  double whole = 0;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt)
      whole = hypot(whole, measure(w, p).exact);
  for (size_t p = 0; p < g->n_parameters; p++) {
    const clarke_norms n = g->parameters[p].wrt ? measure(w, p) : (clarke_norms){0};

    if (g->parameters[p].wrt && clarke_norms_are_vague(&n, allowed(w, p, &n), whole))
      clarke_vague_add(&vague, g->parameters[p].name, n.exact, allowed(w, p, &n), w->nodes != NULL ? "allowed" : "explained");
  }
  return vague.n > 0 ? clarke_vague_say(&vague, w->r, w->err) : CLARKE_OK;
}

/* Which branches ran is not known: there is no record of the arguments. */
static clarke_status
doubt_branches(work *w)
{
  const clarke_roundoff *b = &w->rounded;
  const clarke_step *s = &w->s->graph.steps[b->open_step];
  const clarke_value *v = &w->s->graph.values[s->out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, b->open_entry / w->pass.n);
  return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "rounding may have turned %zu branch%s, the first %s%s of sample %zu; "
                           "what they read was not recorded", b->open, b->open == 1 ? "" : "es", v->name != NULL ? v->name : s->name, index,
                           b->open_entry % w->pass.n);
}

/* Is the loss that run.json tells the graph's own? */
static clarke_status
check_loss(work *w)
{
  const double near = w->s->loss_near, told = w->r->step->loss;
  const double bound = w->s->loss_value != NULL ? clarke_up_add(clarke_roundoff_loss(&w->rounded), w->s->loss_off) : INFINITY;
  const bool known = isfinite(near) && isfinite(bound);

  if (!w->r->step->has_loss || (!known && w->r->ran != CLARKE_RAN_EXPLAINED))
    return CLARKE_OK;
  if (!known)
    return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "run.json has a loss of %.9g, and of the exact one %s is known", told,
                             isfinite(near) && w->s->loss_value != NULL ? "no bound of its rounding" : "no value");
  if (fabs(told - near) <= clarke_up_by(bound, 2)) /* the difference is rounded */
    return CLARKE_OK;
  return clarke_record_say(w->r, CLARKE_RAN_REFUTED, w->err, "run.json has a loss of %.9g; it is exactly about %.9g, and rounding explains %.3g",
                           told, near, bound);
}

static clarke_status
compare_all(work *w)
{
  const clarke_graph *g = &w->s->graph;
  char share[CLARKE_SHARE_SIZE];
  clarke_status status = clarke_record_say(w->r, CLARKE_RAN_EXPLAINED, w->err, "explained");

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++)
    if (g->parameters[p].wrt)
      status = compare_parameter(w, p);
  if (status == CLARKE_OK && w->r->ran != CLARKE_RAN_REFUTED)
    status = check_loss(w);
  if (status == CLARKE_OK && w->r->ran == CLARKE_RAN_EXPLAINED && w->nodes == NULL && w->rounded.open > 0)
    status = doubt_branches(w);
  if (status == CLARKE_OK && w->r->ran == CLARKE_RAN_EXPLAINED)
    status = doubt_vague(w);
  if (status != CLARKE_OK || w->r->ran != CLARKE_RAN_EXPLAINED)
    return status;
  clarke_share_write(share, w->r->worst, false);
  if (w->nodes != NULL)
    return clarke_record_say(w->r, CLARKE_RAN_EXPLAINED, w->err, "%zu entries; all %zu recorded tensors are certified, node by node",
                             w->r->entries, clarke_certify_recorded(w->nodes));
  return clarke_record_say(w->r, CLARKE_RAN_EXPLAINED, w->err, "%zu entries; the largest error is %s of its bound", w->r->entries,
                           share);
}

/* --- kinks, in units of the error that their arguments may have --- */

/* A window's margin: its largest entry less another. */
static double
window_margin(const work *w, const clarke_step *s, size_t e)
{
  const clarke_operand *o = &s->in[0];
  const clarke_matrix *m = &w->pass.value[o->value];
  const size_t n = w->pass.n, best = w->slopes.route[s - w->s->graph.steps].n > 0 ? w->slopes.route[s - w->s->graph.steps].from[0][e] : CLARKE_NONE;
  double least = INFINITY;

  for (size_t i = 0; i < s->width && best != CLARKE_NONE; i++) {
    const size_t f = o->map[e / n * s->width + i];
    double off, gap;

    if (f == CLARKE_NONE || f == best
        || (w->pass.piece[s - w->s->graph.steps][e] >= 0 && clarke_matrix_compare_entries(m, best, f, e % n) == 0)) /* one function */
      continue;
    off = w->rounded.error[o->value][best * n + e % n] + w->rounded.error[o->value][f * n + e % n];
    gap = fabs(clarke_matrix_get_double(m, best, e % n) - clarke_matrix_get_double(m, f, e % n));
    least = off > 0 ? fmin(least, gap / off) : least;
  }
  return least;
}

static double
margin(const work *w, const clarke_step *s, size_t e)
{
  const size_t x = s->in[0].value;
  const double at = clarke_matrix_get_double(&w->pass.value[x], e / w->pass.n, e % w->pass.n), off = w->rounded.error[x][e];
  double least = INFINITY;

  for (size_t k = 0; k < s->pieces.n_kinks && off > 0; k++)
    if (!clarke_pieces_joined(&s->pieces, k))
      least = fmin(least, fabs(at - mpq_get_d(s->pieces.kink[k])) / off);
  return least;
}

static void
find_nearest(work *w)
{
  const clarke_graph *g = &w->s->graph;

  w->r->near = INFINITY;
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t entries = clarke_step_has_kinks(s) ? g->values[s->out].count * w->pass.n : 0;

    for (size_t e = 0; e < entries && w->recorded[s->in[0].value] == NULL; e++) {
      const double at = s->kind == CLARKE_MAX ? window_margin(w, s, e) : margin(w, s, e);

      if (!(at < w->r->near))
        continue;
      w->r->near = at;
      w->r->near_known = true;
      w->r->near_step = i;
      w->r->near_entry = e;
    }
  }
}

static clarke_status
compare(work *w)
{
  clarke_status status;

  status = clarke_audit_pass(&w->pass, w->s, w->err);
  if (status == CLARKE_EVAGUE)
    return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "at the highest precision an enclosure of AD's numbers has no bounds");
  if (status != CLARKE_OK)
    return status;
  if (w->s->replay.open > 0 || w->pass.open > 0)
    return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "where some argument lies is open, and with it AD's gradient");
  status = run_bounds(w);
  w->r->open = w->rounded.open;
  w->r->checked = w->rounded.checked;
  if (status == CLARKE_EVAGUE)
    return clarke_record_say(w->r, CLARKE_RAN_UNKNOWN, w->err, "at the highest precision an enclosure of AD's gradient has no bounds");
  if (status != CLARKE_OK)
    return status;
  if (w->rounded.offender != CLARKE_NONE)
    return say_offender(w);
  find_nearest(w);
  return compare_all(w);
}

static clarke_status
compare_by(const work *asked, bool claimed)
{
  clarke_record *r = asked->r;
  clarke_audit_session *s = asked->s;
  clarke_error *err = asked->err;
  work w = *asked;
  clarke_status status;

  w.claimed = claimed;
  r->entries = 0;
  r->worst = 0;
  clarke_forward_init(&w.pass);
  clarke_slopes_init(&w.slopes);
  clarke_roundoff_init(&w.rounded);
  w.grad = clarke_matrices_new(s->graph.n_values);
  w.gradient = clarke_matrices_new(s->graph.n_parameters);
  w.bound = calloc(s->graph.n_parameters + 1, sizeof *w.bound);
  status = w.grad != NULL && w.gradient != NULL && w.bound != NULL ? compare(&w) : clarke_no_memory(err);
  clarke_roundoff_clear(&w.rounded);
  for (size_t v = 0; w.recorded != NULL && v < s->graph.n_values; v++)
    free(w.recorded[v]);
  for (size_t p = 0; w.bound != NULL && p < s->graph.n_parameters; p++)
    free(w.bound[p]);
  free(w.recorded);
  free(w.bound);
  if (w.grad != NULL)
    clarke_matrices_free(w.grad, s->graph.n_values);
  if (w.gradient != NULL)
    clarke_matrices_free(w.gradient, s->graph.n_parameters);
  clarke_slopes_clear(&w.slopes);
  clarke_forward_clear(&w.pass);
  return status;
}

clarke_status
clarke_record_compare(clarke_record *r, clarke_audit_session *s, const clarke_certify *nodes, const clarke_branches *turned,
                      clarke_error *err)
{
  const work asked = {.r = r, .s = s, .nodes = nodes, .turned = turned, .err = err};
  clarke_status status;
  char *why;

  if (s->stopped != NULL)
    return clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "it was not compared (%s)", s->stopped);
  status = compare_by(&asked, false);
  if (status != CLARKE_OK || r->ran == CLARKE_RAN_EXPLAINED || !r->widened)
    return status;
  status = compare_by(&asked, true); /* is it refuted even so? */
  if (status != CLARKE_OK || r->ran != CLARKE_RAN_EXPLAINED)
    return status;
  why = r->why;
  r->why = NULL;
  status = clarke_record_say(r, CLARKE_RAN_UNKNOWN, err, "it is so only if rounding was as coarse as run.json alone says (%s)", why);
  free(why);
  return status;
}
