/* The gradient that ran, where doubles certified every node: no exact pass is made (certify.h). */
#include "session/certify.h"

#include "base/room.h"
#include "exact/upward.h"
#include "network/derive/gradient/constants.h"
#include "session/gradient.h"
#include "session/vague.h"
#include "trace/bound/rounding_loss.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gradient that is so near is told from its own quarter, and from 0, in any tensor. */
#define BITS 12

/* --- the loss --- */

/* Is the loss that run.json tells that of the recorded outputs? Each of them is certified, so that it is the graph's own then. Without
 * a bound it is not known to be. */
static clarke_status
loss_follows(bool *follows, const clarke_certified *c, clarke_error *err)
{
  const clarke_certify *n = &c->nodes;
  const clarke_run_step *step = c->record.step;
  const double bound = clarke_roundoff_loss(&n->rounded);
  clarke_status status;
  arb_t value, other;

  *follows = !step->has_loss || n->loss_shown;
  if (*follows || !isfinite(bound))
    return CLARKE_OK;
  arb_init(value);
  arb_init(other);
  status = clarke_loss_value(value, &c->audit.question.loss, &n->pass, err);
  arb_set_d(other, step->loss);
  arb_sub(value, value, other, 2 * DBL_MANT_DIG);
  arb_abs(value, value);
  arb_set_d(other, bound);
  *follows = arb_le(value, other); /* of all that the ball holds */
  arb_clear(value);
  arb_clear(other);
  return status;
}

/* --- node by node --- */

static const clarke_certificate *
certificate_of(const clarke_certify *n, const char *parameter)
{
  for (size_t i = 0; i < n->n; i++)
    if (n->certificate[i].part == CLARKE_PARAMETER && strcmp(n->certificate[i].name, parameter) == 0)
      return &n->certificate[i];
  return NULL;
}

/* The norm of what the operation makes exactly, at least. */
static double
least_norm(const clarke_certificate *made)
{
  return fmax(clarke_down_by(made->norm - made->slack, 4), 0);
}

/* Does what rounding may take of a record leave it told from 0, from its negative, its double and its half? */
static bool
tells(const clarke_certificate *made)
{
  if (made->part == CLARKE_STATISTIC) /* beside the gradient */
    return true;
  if (made->certainty != CLARKE_WITHIN_BOUND) /* what is followed has its bound in that of the records behind it */
    return made->certainty <= CLARKE_FOLLOWED;
  return clarke_up_by(made->slack, 4) <= CLARKE_VAGUE * least_norm(made);
}

/* Does the step read the parameter beside what its operands are? */
static bool
is_weight_of(const clarke_graph *g, const clarke_step *s, size_t parameter)
{
  return (s->kind == CLARKE_DENSE && g->values[s->dense.weight].parameter == parameter)
         || (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && g->values[s->pieces.slope].parameter == parameter);
}

/* Is AD's gradient in the parameter 0, whatever the numbers are? It is a bias before normalizations, whose groups it moves as a whole. */
static clarke_status
is_lost(bool *lost, const clarke_graph *g, size_t parameter, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *lost = true;
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK && *lost; i++) {
    const clarke_step *s = &g->steps[i];

    *lost = !is_weight_of(g, s, parameter);
    for (size_t k = 0; k < s->n_in && status == CLARKE_OK && *lost; k++)
      if (g->values[s->in[k].value].constant && g->values[s->in[k].value].parameter == parameter)
        status = clarke_operand_cancels(lost, g, s, k, err);
  }
  return status;
}

/* Such a gradient is noise, which is measured by the whole gradient, as its bound is. */
static clarke_status
is_noise(bool *noise, const clarke_certified *c, const clarke_certificate *made, clarke_error *err)
{
  const clarke_graph *g = &c->audit.graph;
  double whole = 0;

  *noise = false;
  for (size_t i = 0; i < c->nodes.n; i++)
    if (c->nodes.certificate[i].part == CLARKE_PARAMETER)
      whole = hypot(whole, least_norm(&c->nodes.certificate[i]));
  if (made->part != CLARKE_PARAMETER || clarke_up_by(fmax(made->norm, made->slack), 0x1p36) > clarke_down_by(whole, 0x1p32) * CLARKE_VAGUE_ZERO)
    return CLARKE_OK;
  for (size_t q = 0; q < g->n_parameters; q++)
    if (strcmp(g->parameters[q].name, made->name) == 0)
      return is_lost(noise, g, q, err);
  return CLARKE_OK;
}

/* Is each number of the gradient, and each that it is made of, what its operation makes of those recorded before it, within its own rounding, which
 * would explain no wrong one? */
static clarke_status
nodes_explain(bool *explain, const clarke_certified *c, clarke_error *err)
{
  const clarke_graph *g = &c->audit.graph;
  clarke_status status = CLARKE_OK;

  *explain = true;
  for (size_t q = 0; q < g->n_parameters; q++)
    *explain = *explain && (!g->parameters[q].wrt || certificate_of(&c->nodes, g->parameters[q].name) != NULL);
  for (size_t i = 0; i < c->nodes.n && status == CLARKE_OK && *explain; i++)
    if (!tells(&c->nodes.certificate[i]))
      status = is_noise(explain, c, &c->nodes.certificate[i], err);
  return status;
}

/* The norm of the recorded gradient, at most. */
static double
recorded_norm(const clarke_certified *c)
{
  double squares = 0;

  for (size_t t = 0; t < c->record.gradients.n; t++)
    for (size_t e = 0; c->record.gradients.tensor[t].real != NULL && e < c->record.gradients.tensor[t].count; e++)
      squares += c->record.gradients.tensor[t].real[e] * c->record.gradients.tensor[t].real[e];
  return clarke_up_by(sqrt(squares), 0x1p32);
}

/* A gradient that is so small a part of the whole may be 0 exactly, and rounding's noise be all of it. */
#define NOISE 0x1p-10

/* The parameters whose last sum alone leaves the gradient not told from a wrong one, whatever AD's exact gradient is, if it is not 0. For either it is
 * farther away than a quarter of its norm, and not told for that, or its norm is at most 4/3 of what was recorded. */
static void
find_vague(clarke_vague *vague, const clarke_certified *c)
{
  double whole = INFINITY;

  for (size_t i = 0; i < c->nodes.n; i++) {
    const clarke_certificate *made = &c->nodes.certificate[i];
    const double most = 4.0 / 3 * clarke_up_by(made->norm, 0x1p36), least = clarke_down_by(made->slack_least, 0x1p44);

    if (made->part != CLARKE_PARAMETER || made->certainty != CLARKE_WITHIN_BOUND || !(least > CLARKE_VAGUE * most))
      continue;
    whole = whole < INFINITY ? whole : recorded_norm(c);
    if (made->norm > whole * NOISE)
      clarke_vague_add(vague, made->name, made->norm, made->slack, "allowed");
  }
}

/* --- along the record --- */

/* The replay's graph and batch, with the record's branches in the place of exact ones. */
typedef struct {
  clarke_replay replay;
  clarke_branch **piece; /* n_steps: copies of MAX steps', others are the record's own */
  clarke_touch *touch;
  size_t n, capacity;
} along;

static void
along_clear(along *a, const clarke_graph *g)
{
  for (size_t i = 0; a->piece != NULL && i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_MAX)
      free(a->piece[i]);
  free(a->piece);
  free(a->touch);
}

/* The place of each window's winner, tied or not. */
static bool
find_places(clarke_branch **place, const clarke_certify *c, size_t step)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t n = c->pass.n, entries = c->g->values[s->out].count * n;

  *place = malloc((entries + 1) * sizeof **place);
  for (size_t e = 0; *place != NULL && e < entries; e++) {
    size_t i = 0;

    while (s->in[0].map[e / n * s->width + i] != c->winner[step][e])
      i++;
    (*place)[e] = (clarke_branch)i;
  }
  return *place != NULL;
}

static bool
add_touch(along *a, clarke_touch touch)
{
  if (!clarke_room(&a->touch, &a->capacity, a->n + 1, sizeof *a->touch))
    return false;
  a->touch[a->n++] = touch;
  return true;
}

/* The kinks that the record is at. */
static bool
find_touches(along *a, const clarke_certify *c, size_t step)
{
  const size_t n = c->pass.n, entries = c->g->values[c->g->steps[step].out].count * n;
  const clarke_branch *piece = c->pass.piece[step];
  bool well = true;

  for (size_t e = 0; well && e < entries; e++)
    if (piece[e] < 0)
      well = add_touch(a, (clarke_touch){.step = step, .feature = e / n, .sample = e % n, .kink = CLARKE_KINK_OF(piece[e]), .column = e % n});
  return well;
}

static clarke_status
along_begin(along *a, const clarke_certified *c, clarke_error *err)
{
  const clarke_graph *g = &c->audit.graph;
  bool well;

  *a = (along){.replay = c->audit.replay, .piece = calloc(g->n_steps + 1, sizeof *a->piece)};
  well = a->piece != NULL;
  for (size_t i = 0; well && i < g->n_steps; i++) {
    const bool window = g->steps[i].kind == CLARKE_MAX;

    a->piece[i] = window ? NULL : c->nodes.pass.piece[i];
    if (clarke_step_has_kinks(&g->steps[i]))
      well = window ? find_places(&a->piece[i], &c->nodes, i) : find_touches(a, &c->nodes, i);
  }
  a->replay.piece = a->piece;
  a->replay.touch = a->touch;
  a->replay.n_touches = a->n;
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* --- the comparison --- */

static clarke_norms
measure(const clarke_certified *c, const clarke_gradient *g, size_t q)
{
  const clarke_tensor *t = clarke_tensors_find(&c->record.gradients, c->audit.graph.parameters[q].name);
  const double scale = mpq_get_d(c->record.step->scale), radius = clarke_roundoff_sum(g->within[q] * fabs(scale), 8);
  double exact = 0, recorded = 0, apart = 0;

  for (size_t e = 0; e < t->count; e++) { /* float32s: no square overflows */
    const double near = g->entry[q] != NULL ? g->entry[q][e] * scale : 0, off = radius + clarke_taken(4, fabs(near));
    const double least = fmax(fabs(near) - off, 0), most = fabs(t->real[e] - near) + off;

    exact += least * least;
    recorded += t->real[e] * t->real[e];
    apart += most * most;
  }
  return (clarke_norms){.exact = clarke_down_by(sqrt(exact), 0x1p32), .recorded = sqrt(recorded), .apart = clarke_up_by(sqrt(apart), 0x1p32)};
}

/* Is a parameter's gradient not told from a wrong one by the exact pass either? Its slack is so large at least, and its norm is at most the record's
 * and what that is off by. */
static bool
is_vague_anyhow(const clarke_certificate *made, const clarke_norms *n, double whole)
{
  const clarke_norms most = {.exact = n->exact > 0 ? clarke_up_by(n->recorded + n->apart, 0x1p32) : 0, .recorded = n->recorded, .apart = n->apart};

  return made->slack_least > 0 && clarke_norms_are_vague(&most, clarke_down_by(made->slack_least, 0x1p44), clarke_up_by(whole, 0x1p32));
}

/* Does what nodes allow tell the gradient from a wrong one, in each parameter? Others join `vague`. False: of some the exact pass may say more. */
static bool
is_told(clarke_vague *vague, const clarke_certified *c, const clarke_gradient *g)
{
  const clarke_graph *of = &c->audit.graph;
  double least = 0, most = 0;
  bool told = true;

  for (size_t q = 0; q < of->n_parameters; q++) {
    const clarke_norms n = of->parameters[q].wrt ? measure(c, g, q) : (clarke_norms){0};

    least = hypot(least, n.exact);
    most = hypot(most, n.recorded + n.apart);
  }
  for (size_t q = 0; told && q < of->n_parameters; q++) {
    const clarke_certificate *made = of->parameters[q].wrt ? certificate_of(&c->nodes, of->parameters[q].name) : NULL;
    clarke_norms n;
    double allowed;

    if (!of->parameters[q].wrt)
      continue;
    n = measure(c, g, q);
    allowed = made != NULL ? fmax(n.apart, made->certainty == CLARKE_WITHIN_BOUND ? made->slack : 0) : 0;
    told = made != NULL && (!clarke_norms_are_vague(&n, allowed, least) || is_vague_anyhow(made, &n, most));
    if (told && clarke_norms_are_vague(&n, allowed, least))
      clarke_vague_add(vague, of->parameters[q].name, n.exact, allowed, "allowed");
  }
  return told;
}

/* What was compared: entries of the gradient, outputs, and the largest error of an entry in parts of its bound. */
static clarke_status
say(clarke_certified *c, const clarke_vague *vague, clarke_error *err)
{
  const clarke_graph *g = &c->audit.graph;
  clarke_record *r = &c->record;

  r->entries = r->checked = r->open = 0;
  r->worst = 0;
  for (size_t i = 0; i < c->nodes.n; i++) {
    const clarke_certificate *made = &c->nodes.certificate[i];

    r->entries += made->part == CLARKE_PARAMETER ? made->entries : 0;
    r->worst = made->part == CLARKE_PARAMETER ? fmax(r->worst, made->worst) : r->worst;
  }
  for (size_t i = 0; i < g->n_steps; i++)
    r->checked += g->values[g->steps[i].out].name != NULL ? g->values[g->steps[i].out].count * c->nodes.pass.n : 0;
  if (vague->n > 0)
    return clarke_vague_say(vague, r, err);
  if (r->by_nodes)
    return clarke_record_say(r, CLARKE_RAN_EXPLAINED, err, "%zu entries; each recorded number, of %zu tensors, is its operation's exact result of those "
                             "recorded around it, within its own rounding", r->entries, clarke_certify_recorded(&c->nodes));
  return clarke_record_say(r, CLARKE_RAN_EXPLAINED, err, "%zu entries; all %zu recorded tensors are certified, node by node", r->entries,
                           clarke_certify_recorded(&c->nodes));
}

static clarke_status
compare(bool *settled, clarke_vague *vague, clarke_certified *c, along *a, clarke_error *err)
{
  clarke_audit_session *s = &c->audit;
  clarke_gradient gradient = {0};
  bool known = false;
  clarke_status status = along_begin(a, c, err);

  if (status == CLARKE_OK)
    status = clarke_gradient_serves(&known, &a->replay, &s->profile, err);
  if (status == CLARKE_OK && known)
    status = clarke_gradient_init(&gradient, s->graph.n_parameters, err);
  if (status == CLARKE_OK && known)
    status = clarke_audit_gradient_along(&known, &gradient, s, &a->replay, BITS, err);
  *settled = status == CLARKE_OK && known && is_told(vague, c, &gradient);
  clarke_gradient_clear(&gradient);
  return status;
}

clarke_status
clarke_certified_settle(bool *settled, clarke_certified *c, clarke_error *err)
{
  clarke_vague vague = {0};
  along a;
  clarke_status status;

  *settled = false;
  if (!c->nodes.by_doubles || !c->compared || c->audit.stopped != NULL || c->audit.replay.open > 0 || c->pattern.doubtful > 0)
    return CLARKE_OK;
  status = loss_follows(settled, c, err);
  if (status != CLARKE_OK || !*settled)
    return status;
  if (!c->whole)
    status = nodes_explain(&c->record.by_nodes, c, err);
  if (status == CLARKE_OK && !c->whole && !c->record.by_nodes)
    find_vague(&vague, c);
  if (status != CLARKE_OK || c->record.by_nodes || vague.n > 0)
    return status == CLARKE_OK ? say(c, &vague, err) : status;
  status = compare(settled, &vague, c, &a, err);
  along_clear(&a, &c->audit.graph);
  return status == CLARKE_OK && *settled ? say(c, &vague, err) : status;
}

clarke_status
clarke_certified_by_nodes(clarke_certified *c, clarke_error *err)
{
  const clarke_vague none = {0};
  bool follows = false, explain = false;
  clarke_status status = CLARKE_OK;

  if (c->whole || !c->compared || c->audit.replay.open > 0 || c->pattern.doubtful > 0)
    return CLARKE_OK;
  status = loss_follows(&follows, c, err);
  if (status == CLARKE_OK && follows)
    status = nodes_explain(&explain, c, err);
  if (status != CLARKE_OK || !explain)
    return status;
  c->record.by_nodes = true;
  return say(c, &none, err);
}
