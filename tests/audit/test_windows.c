/* Verdicts on random networks with maximum pools, windows tied in every way, against the limits of gradients by their
 * definition (bouligand.h), which shares nothing with the audit but the graph. And clarke-check's word on the proofs.
 *
 * When told to be thorough, the machinery for programs is asked, too: the loss on the batch is unrolled to a program
 * (joined.h) and clarke_derive asked for the limits of its gradients. The two share arithmetic and linear programs, but neither
 * steps, identity of entries, degrees, cells, systems nor trees. */
#include "../tools/command.h"
#include "../format/files.h"
#include "joined.h"
#include "bouligand.h"
#include "../network/normalized.h"
#include "../ok.h"

#include "proof/write.h"
#include "program/derive.h"
#include "network/graph/build.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "audit/effect.h"
#include "audit/layers.h"
#include "audit/layer_system.h"
#include "audit/ray.h"
#include "audit/slope_hull.h"

#include <openssl/evp.h>
#include <stdio.h>

/* Products of parameters make the derivation's polynomials large: fewer entries then. */
enum { MOST_LINEAR = 12, MOST_OTHERWISE = 5, MOST_CORNERS = 256, MOST_DERIVED = 1 << 16 };

/* --- random networks ------------------------------------------------------------------------- */

typedef struct {
  growing grown;
  clarke_tensor x, y;
  bool mse, ce;
  char profile[320];
  bool linear; /* every activation is piecewise linear in what is in wrt */
  uint64_t draws; /* choose what is in wrt */
  char only[16];  /* if not empty: this is */
} network;

static double
ternary(uint64_t *state)
{
  return (double)draw_between(state, -1, 1);
}

/* What a layer may have before its pool, seldom. */
static void
grow_extra(growing *g)
{
  switch (draw_below(g->state, 12)) {
  case 0:
    grow_batchnorm(g);
    break;
  case 1:
    grow_pad(g);
    break;
  case 2:
    if (grown_count(g) <= 8)
      grow_concat(g);
    break;
  case 3:
    grow_average(g);
    break;
  case 4:
    grow_residual(g);
    break;
  default:
    break;
  }
}

static void
grow_pooled_layer(growing *g)
{
  if (draw_below(g->state, 4) > 0)
    grow_conv(g, 2, draw_below(g->state, 2));
  grow_extra(g);
  if (draw_below(g->state, 2))
    grow_kink(g);
  grow_maxpool(g, draw_below(g->state, 3) > 0);
  if (draw_below(g->state, 8) == 0)
    grow_kink(g);
}

static void
grow_dense_pooled_layer(growing *g)
{
  size_t channels = 1 + draw_below(g->state, 2);

  grow_dense(g, channels * (1 + draw_below(g->state, 3)));
  if (draw_below(g->state, 2))
    grow_kink(g);
  grow_channels(g, channels);
  grow_maxpool(g, draw_below(g->state, 2));
}

static void
grow_head(growing *g)
{
  if (draw_below(g->state, 3) == 0)
    return;
  if (g->rank > 1)
    grow_flatten(g);
  grow_dense(g, 1 + draw_below(g->state, 2));
  if (draw_below(g->state, 6) == 0)
    grow_kink(g);
}

static void
grow_layers(growing *g, uint64_t *state)
{
  size_t layers = 1 + draw_below(state, 2);
  bool dense = draw_below(state, 3) == 0, plane = draw_below(state, 4) == 0;
  size_t line[2] = {1 + draw_below(state, 2), (size_t)draw_between(state, 2, 5)};
  size_t square[3] = {1, (size_t)draw_between(state, 2, 4), (size_t)draw_between(state, 2, 3)};
  size_t row = 1 + draw_below(state, 3);

  grow_begin(g, state, ternary, dense ? 1 : plane ? 3 : 2, dense ? &row : plane ? square : line);
  for (size_t k = 0; k < layers; k++) {
    if (dense && g->rank > 1 && draw_below(state, 2))
      grow_flatten(g);
    if (g->rank == 1)
      grow_dense_pooled_layer(g);
    else
      grow_pooled_layer(g);
  }
  grow_head(g);
  model_output(&g->m, g->at);
}

static void
draw_profile(network *net, uint64_t *state)
{
  static const char *const numbers[] = {"0", "0", "1", "1/2", "left", "right", "2"};
  static const char *const ties[] = {"first", "first", "last", "last", "mean", "hybrid 1/3"};
  const char *relu = numbers[draw_below(state, 7)], *leaky = numbers[draw_below(state, 7)];
  const char *absolute = numbers[draw_below(state, 7)], *rule = ties[draw_below(state, 6)];
  const char *reduced = ties[draw_below(state, 6)], *larger = ties[draw_below(state, 6)];

  snprintf(net->profile, sizeof net->profile,
           "Relu 0 %s\nLeakyRelu 0 %s\nAbs 0 %s\ntie ReduceMax %s\ntie ReduceMin %s\ntie Maximum %s\ntie Minimum %s\ntie MaxPool %s\n",
           relu, leaky, absolute, reduced, larger, larger, reduced, rule);
}

/* --- the two sides --------------------------------------------------------------------------- */

typedef struct {
  clarke_graph graph;
  clarke_profile profile;
  clarke_replay replay;
  clarke_question question;
  clarke_audit audit;
} session;

static void
session_end(session *s)
{
  clarke_audit_clear(&s->audit);
  clarke_question_clear(&s->question);
  clarke_replay_clear(&s->replay);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
}

static void
network_clear(network *net)
{
  clarke_tensor_clear(&net->x);
  clarke_tensor_clear(&net->y);
  clarke_model_clear(&net->grown.m);
}

/* Has the convolution that uses the weight this bias? */
static bool
is_bias_of(const clarke_model *m, const char *bias, const char *weight)
{
  for (size_t i = 0; i < m->n_nodes; i++)
    if (m->nodes[i].n_in == 3 && strcmp(m->nodes[i].in[1], weight) == 0 &&
        strcmp(m->nodes[i].in[2], bias) == 0)
      return true;
  return false;
}

/* Each parameter with probability 3/4; or one weight that is used once, and perhaps its bias. */
static void
mark_wrt(clarke_graph *g, const network *net)
{
  size_t n = g->n_parameters, at = (size_t)(net->draws % n);
  const clarke_parameter *w = &g->parameters[at];

  for (size_t p = 0; p < n && net->only[0] != '\0'; p++)
    g->parameters[p].wrt = strcmp(g->parameters[p].name, net->only) == 0;
  if (net->only[0] != '\0')
    return;
  for (size_t p = 0; p < n; p++)
    g->parameters[p].wrt = !net->linear && !g->parameters[p].statistic && (net->draws >> 2 * p & 3) != 0;
  if (!net->linear || w->rank < 2 || w->uses != 1)
    return;
  g->parameters[at].wrt = true;
  if (at + 1 < n && g->parameters[at + 1].uses == 1 && net->draws >> 63)
    g->parameters[at + 1].wrt = is_bias_of(&net->grown.m, g->parameters[at + 1].name, w->name);
}

static void
session_build(session *s, const network *net, const char *profile)
{
  memset(s, 0, sizeof *s);
  clarke_graph_init(&s->graph);
  clarke_profile_init(&s->profile);
  clarke_replay_init(&s->replay);
  clarke_audit_init(&s->audit);
  OK(clarke_graph_build(&s->graph, &net->grown.m, &net->x, &error));
  if (s->graph.n_parameters > 0)
    mark_wrt(&s->graph, net);
  OK(clarke_profile_parse(&s->profile, profile, strlen(profile), "drawn", &error));
}

static clarke_loss
loss_of(const network *net)
{
  return (clarke_loss){.kind = net->ce    ? CLARKE_LOSS_CE
                               : net->mse ? CLARKE_LOSS_MSE
                                          : CLARKE_LOSS_SUM,
                       .y = net->mse || net->ce ? &net->y : NULL, .samples = net->x.dims[0]};
}

static void
session_replay(session *s, const network *net)
{
  clarke_loss loss = loss_of(net);

  OK(clarke_loss_check(&loss, &s->graph, &error));
  OK(clarke_replay_run(&s->replay, NULL, &s->graph, &net->x, false, 1, &error));
  OK(clarke_question_init(&s->question, &s->replay, &s->profile, &loss, &error));
}

/* The number of sides to choose among, up to a limit. */
static size_t
corners(const clarke_replay *r)
{
  size_t n = 1;

  for (size_t k = 0; k < r->n_touches && n < 1 << 20; k++)
    n *= r->touch[k].n_options > 0 ? r->touch[k].n_options : 2;
  return n;
}

/* A fixed weight of 0 makes arguments constant that no rule calls flat: seldom where there must be a
 * verdict. */
static void
fill_zeros(network *net, const clarke_graph *g, uint64_t *state)
{
  for (size_t i = 0; i < net->grown.m.n_tensors; i++) {
    clarke_tensor *t = &net->grown.m.tensors[i];
    bool fixed = t->real != NULL && t->rank >= 2;

    for (size_t p = 0; p < g->n_parameters; p++)
      fixed = fixed && !(g->parameters[p].wrt && strcmp(g->parameters[p].name, t->name) == 0);
    for (size_t e = 0; fixed && e < t->count; e++)
      if (t->real[e] == 0 && draw_below(state, 20) > 0)
        t->real[e] = draw_below(state, 2) ? 1 : -1;
  }
}

static void
draw_targets(network *net, const clarke_graph *g, uint64_t *state)
{
  const clarke_value *out = &g->values[g->output];
  long shape[CLARKE_MAX_RANK + 2];

  shape[0] = (long)net->x.dims[0];
  for (size_t a = 0; a < out->rank; a++)
    shape[a + 1] = (long)out->dims[a];
  shape[out->rank + 1] = SHAPE_END;
  net->y = tensor_of("y", CLARKE_F64, shape);
  for (size_t e = 0; e < net->y.count; e++)
    net->y.real[e] = ternary(state);
}

static bool
has_windows(const clarke_replay *r)
{
  for (size_t k = 0; k < r->n_touches; k++)
    if (r->touch[k].n_options > 0)
      return true;
  return false;
}

/* False when it is too large, or of no interest. */
static bool
draw_once(network *net, session *s, uint64_t *state)
{
  size_t entries;

  *net = (network){.linear = false};
  grow_layers(&net->grown, state);
  net->x = grow_batch(&net->grown, 1 + draw_below(state, 3));
  net->draws = draw(state);
  net->linear = draw_below(state, 2);
  net->mse = draw_below(state, 2);
  net->ce = false;
  draw_profile(net, state);
  session_build(s, net, net->profile);
  draw_targets(net, &s->graph, state);
  entries = clarke_graph_wrt_count(&s->graph);
  if (entries == 0 || entries > (net->linear ? MOST_LINEAR : MOST_OTHERWISE))
    return false;
  if (net->linear) {
    fill_zeros(net, &s->graph, state);
    session_end(s);
    session_build(s, net, net->profile);
  }
  session_replay(s, net);
  return corners(&s->replay) <= MOST_CORNERS && (has_windows(&s->replay) || draw_below(state, 8) == 0);
}

/* A network of few parameters, replayed. */
static void
draw_network(network *net, session *s, uint64_t *state)
{
  while (!draw_once(net, s, state)) {
    session_end(s);
    network_clear(net);
  }
}

static void
describe(const network *net, const session *s, const clarke_derivation *d)
{
  const clarke_model *m = &net->grown.m;

  fprintf(stderr, "audit: %s (%s)\n", clarke_verdict_name(s->audit.verdict), s->audit.why);
  if (d != NULL)
    fprintf(stderr, "derivation: %s (%s); sets %sknown\n", clarke_verdict_name(d->verdict), d->why,
            d->sets_known ? "" : "un");
  fprintf(stderr, "%zu samples, %s, %zu touches\n%s", net->x.dims[0], net->mse ? "mse" : "sum",
          s->replay.n_touches, net->profile);
  print_model(m);
  for (size_t i = 0; i < m->n_tensors + 2; i++) {
    const clarke_tensor *t = i < m->n_tensors ? &m->tensors[i] : i == m->n_tensors ? &net->x : &net->y;

    fprintf(stderr, "%s (", t->name);
    for (size_t a = 0; a < t->rank; a++)
      fprintf(stderr, " %zu", t->dims[a]);
    fprintf(stderr, " ):");
    for (size_t e = 0; e < t->count; e++)
      fprintf(stderr, " %g", t->real != NULL ? t->real[e] : (double)t->integer[e]);
    fprintf(stderr, "\n");
  }
  for (size_t p = 0; p < s->graph.n_parameters; p++)
    if (s->graph.parameters[p].wrt)
      fprintf(stderr, "wrt %s\n", s->graph.parameters[p].name);
}

/* --- AD ---------------------------------------------------------------------------------------- */

/* Reverse mode over the whole batch, as the question has it: entries of wrt in order. */
static mpq_t *
ad_of(session *s)
{
  const clarke_graph *g = &s->graph;
  size_t at = 0;
  clarke_matrix *grad = clarke_matrices_new(g->n_values), *gradient = clarke_matrices_new(g->n_parameters);
  mpq_t *ad = clarke_rationals(clarke_graph_wrt_count(g));
  clarke_forward pass;
  clarke_slopes slopes;

  clarke_forward_init(&pass);
  clarke_slopes_init(&slopes);
  OK(clarke_replay_all(&pass, &s->replay, true, 64, &error));
  OK(clarke_slopes_of_ad(&slopes, &pass, &s->replay, &s->profile, &error));
  OK(clarke_loss_seed(&grad[g->output], &s->question.loss, &pass, NULL, &error));
  OK(clarke_reverse_run(grad, &pass, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, &error));
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; g->parameters[p].wrt && e < g->parameters[p].count; e++, at++)
      if (gradient[p].rows > 0)
        clarke_matrix_get(ad[at], &gradient[p], e, 0);
  clarke_matrices_free(grad, g->n_values);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_slopes_clear(&slopes);
  clarke_forward_clear(&pass);
  return ad;
}

static bool
normalizes(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_NORMALIZE)
      return true;
  return false;
}

/* Where a root is not rational the derivation's numbers are enclosed, and compared with nothing. */
static bool
ad_agrees(session *s, const clarke_derivation *d)
{
  mpq_t *ad;
  bool same = d->ad_exact;

  if (d->ad == NULL || (!same && normalizes(&s->graph)))
    return true;
  ad = ad_of(s);

  for (size_t k = 0; k < d->dim && same; k++)
    same = mpq_equal(ad[k], d->ad[k].q);
  clarke_rationals_free(ad, d->dim);
  return same;
}

/* --- verdicts ----------------------------------------------------------------------------------- */

/* What the derivation knows: the verdict, and whether it is the strongest true one. */
static clarke_verdict
truth_of(const clarke_derivation *d, bool *strongest)
{
  clarke_hull_place place = CLARKE_HULL_UNKNOWN;
  mpq_t *ad, *weight, *separator;
  clarke_verdict truth = d->verdict;

  *strongest = false;
  if (d->ad == NULL) /* it could not be followed to the end */
    return CLARKE_UNDECIDED;
  ad = clarke_rationals(d->dim);
  weight = clarke_rationals(d->clarke.n);
  separator = clarke_rationals(d->dim);
  *strongest = d->verdict != CLARKE_IN_CLARKE && d->verdict != CLARKE_UNDECIDED;
  for (size_t k = 0; k < d->dim; k++)
    clarke_number_middle(ad[k], &d->ad[k]);
  if (d->sets_known && d->ad_exact) {
    *strongest = true;
    OK(clarke_points_place(&place, weight, separator, &d->clarke, ad, &error));
    ck_assert_int_ne(place, CLARKE_HULL_UNKNOWN);
    truth = clarke_points_find(&d->bouligand, ad) != CLARKE_NONE ? CLARKE_IN_BOULIGAND
            : place == CLARKE_HULL_INSIDE                          ? CLARKE_IN_CLARKE
                                                                   : CLARKE_NOT_IN_CLARKE;
    ck_assert(d->verdict == truth || d->verdict == CLARKE_UNDECIDED ||
              (d->verdict == CLARKE_IN_CLARKE && truth == CLARKE_IN_BOULIGAND));
  }
  clarke_rationals_free(ad, d->dim);
  clarke_rationals_free(weight, d->clarke.n);
  clarke_rationals_free(separator, d->dim);
  return truth;
}

typedef struct {
  size_t linear, verdict[4], truth[4], alone[2], touched, windows, weaker, trivial;
} tally;

/* May the audit say so? In-clarke where more is true: only a mix (Theorem 4) or simplices, which do not look, or
 * where products of parameters keep it from realizing the one pattern that would do. */
static bool
allowed(const network *net, const session *s, clarke_verdict truth, bool strongest)
{
  clarke_verdict said = s->audit.verdict;

  if (said == CLARKE_UNDECIDED || truth == CLARKE_UNDECIDED)
    return true;
  if (truth == CLARKE_NOT_IN_CLARKE || said == CLARKE_NOT_IN_CLARKE)
    return said == truth;
  return !strongest || said == truth ||
         (said == CLARKE_IN_CLARKE &&
          (s->audit.evidence == CLARKE_EVIDENCE_MIX ||
           s->audit.evidence == CLARKE_EVIDENCE_SIMPLICES || !net->linear));
}

static size_t
ties_of(const clarke_replay *r, size_t step)
{
  size_t n = 0;

  for (size_t j = 0; r->ties[step] != NULL && j < r->samples; j++)
    n += r->ties[step][j];
  return n;
}

static void
count(tally *t, const network *net, const session *s, clarke_verdict truth, bool strongest)
{
  bool windows = has_windows(&s->replay);

  for (size_t i = 0; i < s->graph.n_steps; i++)
    t->trivial += ties_of(&s->replay, i) > 0 && !windows;
  t->verdict[s->audit.verdict]++;
  t->truth[truth]++;
  t->linear += net->linear;
  t->alone[net->linear] += s->audit.verdict == CLARKE_UNDECIDED && truth != CLARKE_UNDECIDED;
  t->weaker += strongest && truth == CLARKE_IN_BOULIGAND && s->audit.verdict == CLARKE_IN_CLARKE;
  t->touched += s->replay.n_touches > 0;
  t->windows += windows;
}

/* The truth about the network under the session's profile, as far as the derivation finds it; AD's
 * gradient is compared on the way. */
static clarke_verdict
derived_truth(bool *strongest, const network *net, session *s)
{
  joined j;
  clarke_derivation d;
  clarke_verdict truth;

  joined_set(&j, &s->graph, &net->x, net->mse ? &net->y : NULL);
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &j.p, j.point, &s->profile, &error));
  truth = truth_of(&d, strongest);
  if (!ad_agrees(s, &d) || !allowed(net, s, truth, *strongest)) {
    describe(net, s, &d);
    ck_abort_msg("AD differs, or the verdict: expected %s", clarke_verdict_name(truth));
  }
  clarke_derivation_clear(&d);
  joined_clear(&j);
  return truth;
}

/* --- truth by the definition ------------------------------------------------------------------------ */

static size_t n_networks = 120;
static uint64_t seed = 1;
static bool thorough;

/* The audit's AD is AD, and its touched kinks are those. */
static void
check_ad(limits *l, session *s, const slope *ad)
{
  mpq_t *found = ad_of(s);
  size_t kinks = 0;

  for (size_t k = 0; k < s->replay.n_touches; k++)
    kinks += s->replay.touch[k].n_options == 0;
  ck_assert_uint_eq(kinks, l->touched);
  for (size_t k = 0; k < l->dim; k++)
    if (!same(ad->g[k], fraction_of_mpq(found[k])))
      ck_abort_msg("AD differs in entry %zu", k);
  clarke_rationals_free(found, l->dim);
}

/* The cell's directions as ways to pass kinks. */
static void
take_ways(limits *l, const clarke_cell *cell)
{
  l->n_ways = cell->n;
  ck_assert_uint_le(cell->n, LIMITS_WAYS);
  for (size_t w = 0; w < cell->n; w++)
    for (size_t k = 0; k < l->dim; k++)
      l->way[w][k] = whole(0);
  for (size_t w = 0; w < cell->n; w++)
    for (size_t i = 0; i < cell->direction[w].n; i++) {
      const clarke_move *m = &cell->direction[w].move[i];
      const clarke_parameter *p = &l->g->parameters[m->parameter];

      ck_assert(p->wrt);
      for (size_t e = 0; e < p->count; e++) {
        fraction *to = &l->way[w][l->base[m->parameter] + e], by = fraction_of_mpq(m->coef);

        if (m->kind == CLARKE_MOVE_COPY)
          by = times(by, fraction_of_double(p->real[e]));
        if (m->kind != CLARKE_MOVE_AT || m->entry == e)
          *to = plus(*to, by);
      }
    }
}

/* Every cell that the audit says is realized has its limit, and AD's output is the combination of these that it says. */
static bool
cells_hold(limits *l, const clarke_audit *a, const slope *ad)
{
  limit_set set = {.n = 0};
  bool hold = true;

  for (size_t c = 0; c < a->n_cells; c++) {
    slope f;

    take_ways(l, &a->cell[c]);
    f = limits_evaluate(l, PASS_ALONG);
    hold = hold && l->generic;
    add_limit(&set, l, &f);
  }
  hold = hold && (a->verdict == CLARKE_IN_BOULIGAND ? set.n == 1 && in_limits(&set, l, ad)
                                                    : in_limits_hull(&set, l, ad));
  free(set.gradient);
  return hold;
}

/* Limits along directions that no argument of small coefficients is flat along. */
static void
sample_limits(limit_set *set, limits *l)
{
  uint64_t state = 5;

  memset(set, 0, sizeof *set);
  l->n_ways = 1;
  for (size_t i = 0; i < 60; i++) {
    slope f;

    for (size_t k = 0; k < l->dim; k++)
      l->way[0][k] = whole(2 * draw_between(&state, -1000, 1000) + 1);
    f = limits_evaluate(l, PASS_ALONG);
    if (l->generic)
      add_limit(set, l, &f);
  }
}

/* The truth where it is known to be all; else the verdict is held against what is known. */
static clarke_verdict
limits_truth(bool *strongest, bool *holds, const network *net, session *s)
{
  clarke_loss loss = loss_of(net);
  clarke_verdict truth = CLARKE_UNDECIDED, said = s->audit.verdict;
  clarke_evidence evidence = s->audit.evidence;
  limit_set set;
  limits l;
  slope ad;

  limits_begin(&l, &s->graph, &net->x, &loss, &s->profile);
  ad = limits_evaluate(&l, PASS_AD);
  check_ad(&l, s, &ad);
  if (net->linear)
    all_limits_of(&set, &l);
  else
    sample_limits(&set, &l);
  *strongest = net->linear && set.all;
  if (*strongest)
    truth = in_limits(&set, &l, &ad)        ? CLARKE_IN_BOULIGAND
            : in_limits_hull(&set, &l, &ad) ? CLARKE_IN_CLARKE
                                            : CLARKE_NOT_IN_CLARKE;
  *holds = *strongest ? allowed(net, s, truth, true)
                      : said != CLARKE_NOT_IN_CLARKE || !in_limits_hull(&set, &l, &ad);
  if (said < CLARKE_NOT_IN_CLARKE && s->audit.n_cells > 0 &&
      (evidence == CLARKE_EVIDENCE_AD || evidence == CLARKE_EVIDENCE_HULL || evidence == CLARKE_EVIDENCE_MIX))
    *holds = *holds && cells_hold(&l, &s->audit, &ad);
  free(set.gradient);
  limits_end(&l);
  return truth;
}

/* The truth about the network under the session's profile, as far as it is found. */
static clarke_verdict
found_truth(bool *strongest, const network *net, session *s)
{
  bool holds, derived;
  clarke_verdict truth = limits_truth(strongest, &holds, net, s), other;

  if (!holds) {
    describe(net, s, NULL);
    ck_abort_msg("the verdict: expected %s%s", *strongest ? "" : "not ",
                 clarke_verdict_name(*strongest ? truth : s->audit.verdict));
  }
  if (!thorough)
    return truth;
  other = derived_truth(&derived, net, s);
  ck_assert(!derived || !*strongest || truth == other);
  *strongest = *strongest || derived;
  return derived ? other : truth;
}

/* Have the marked touches alone no direction in the layer? */
static bool
contradict_themselves(const session *s, const clarke_layer *layer, const bool *among)
{
  clarke_cone_answer answer;
  clarke_direction d;
  clarke_cell cell;

  clarke_cell_init(&cell);
  clarke_direction_init(&d);
  OK(clarke_cell_set(&cell, &s->question, NULL, &error));
  for (size_t k = 0; k < s->replay.n_touches; k++)
    cell.flat[k] = cell.flat[k] || !among[k];
  OK(clarke_layer_system(&answer, &d, NULL, layer, &cell, &s->question, &error));
  clarke_direction_clear(&d);
  clarke_cell_clear(&cell);
  return answer == CLARKE_CONE_EMPTY;
}

/* A layer's blocks: their counts are its answer, and those without a direction are found again one by one; rows that are
 * 0 are a block that none has. Returns how many layers have several blocks. */
static size_t
recount_blocks(const session *s)
{
  bool *among = malloc(s->replay.n_touches + 1);
  size_t several = 0;
  clarke_cell own;

  clarke_cell_init(&own);
  OK(clarke_cell_set(&own, &s->question, NULL, &error));
  for (size_t i = 0; i < s->audit.n_layers; i++) {
    const clarke_layer *l = &s->audit.layer[i];
    clarke_blocks *blocks;
    size_t empty = 0;
    bool found;

    if (!l->blocks.known)
      continue;
    several += l->blocks.n > 1;
    ck_assert_uint_le(l->blocks.empty + l->blocks.open, l->blocks.n);
    ck_assert(l->feasible != CLARKE_YES || l->blocks.empty + l->blocks.open == 0);
    ck_assert(l->feasible != CLARKE_NO || l->blocks.empty > 0);
    OK(clarke_blocks_begin(&blocks, l, &own, &s->question, &error));
    OK(clarke_blocks_next(&found, among, blocks, &error));
    for (; found; empty++) {
      size_t touches = 0;

      for (size_t k = 0; k < s->replay.n_touches; k++)
        touches += among[k];
      ck_assert_uint_gt(touches, 0);
      ck_assert(contradict_themselves(s, l, among));
      OK(clarke_blocks_next(&found, among, blocks, &error));
    }
    clarke_blocks_end(blocks);
    ck_assert(l->blocks.empty == empty || l->blocks.empty == empty + 1);
  }
  clarke_cell_clear(&own);
  free(among);
  return several;
}

START_TEST(verdicts_are_those_of_the_limits)
{
  uint64_t state = seed;
  size_t several = 0, n = 3 * n_networks;
  tally t = {.touched = 0};

  for (size_t i = 0; i < n; i++) {
    network net;
    session s;
    clarke_verdict truth;
    bool strongest;

    draw_network(&net, &s, &state);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    truth = found_truth(&strongest, &net, &s);
    count(&t, &net, &s, truth, strongest);
    several += recount_blocks(&s);
    session_end(&s);
    network_clear(&net);
  }
  printf("windows: %zu networks touched, %zu at windows (%zu pools tied only trivially); verdicts %zu %zu "
         "%zu %zu; derivations %zu %zu %zu %zu; undecided here alone %zu of %zu linear, %zu others; "
         "weaker by a mix %zu\n", t.touched, t.windows, t.trivial, t.verdict[0], t.verdict[1],
         t.verdict[2], t.verdict[3], t.truth[0], t.truth[1], t.truth[2], t.truth[3], t.alone[1],
         t.linear, t.alone[0], t.weaker);
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_gt(t.verdict[v], n / 100);
  ck_assert_uint_gt(t.windows, n / 2);
  ck_assert_uint_gt(several, n / 20);
  ck_assert_uint_gt(t.trivial, n / 20);
  ck_assert_uint_lt(t.truth[CLARKE_UNDECIDED], thorough ? n / 50 : n - t.linear + 1);
  /* Where arguments rest that no rule calls flat: weights of 0, cells in which options coincide. */
  ck_assert_uint_lt(t.alone[1], t.linear / 6);
}
END_TEST

/* --- proofs -------------------------------------------------------------------------------------- */

static bytes
read_bytes(const char *name)
{
  bytes b;

  b.data = (uint8_t *)contents_of(name, &b.size);
  return b;
}

static void
hash_of(char hex[65], const void *data, size_t size)
{
  unsigned char hash[32];

  ck_assert_int_eq(EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL), 1);
  for (size_t i = 0; i < 32; i++)
    snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

static void
hash_of_file(char hex[65], const char *name)
{
  bytes b = read_bytes(name);

  hash_of(hex, b.data, b.size);
  bytes_clear(&b);
}

static size_t
wrt_names(char **names, const clarke_graph *g)
{
  size_t n = 0;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt)
      names[n++] = g->parameters[p].name;
  return n;
}

static void
save_network(const network *net)
{
  save_model(folder, "net.onnx", &net->grown.m);
  save_batch(folder, "batch.npz", &net->x, &net->y);
}

typedef clarke_status writes(const char *path, const clarke_proof_statement *statement, const clarke_audit *a,
                             const clarke_question *q, clarke_error *err);

static void
write_as(const session *s, writes *as)
{
  char model[65], batch[65], path[128], *names[MODEL_MOST];
  clarke_proof_statement statement = {.model = {"net.onnx", model, NULL}, .batch = {"batch.npz", batch, NULL},
                                      .wrt = names, .n_wrt = wrt_names(names, &s->graph)};

  hash_of_file(model, "net.onnx");
  hash_of_file(batch, "batch.npz");
  snprintf(path, sizeof path, "%s/proof", folder);
  OK(as(path, &statement, &s->audit, &s->question, &error));
}

static void
write_proof(const session *s)
{
  write_as(s, clarke_proof_write);
}

/* The command's own verdict and proof: every twentieth network. */
static void
check_command(const network *net, const session *s)
{
  static const int statuses[] = {0, 0, 1, 3};
  char list[512] = "", *names[MODEL_MOST];
  bytes profile = {NULL, 0};
  size_t n = wrt_names(names, &s->graph);

  put_text(&profile, net->profile);
  save_bytes(folder, "drawn", &profile);
  for (size_t k = 0; k < n; k++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k > 0 ? "," : "", names[k]);
  ck_assert_int_eq(run(CLARKE " audit net.onnx --batch batch.npz --loss %s --wrt %s "
                       "--profile ./drawn --proof again > report 2>&1",
                       net->mse ? "mse" : "sum", list), statuses[s->audit.verdict]);
  if (s->audit.verdict != CLARKE_UNDECIDED)
    ck_assert_int_eq(run("cmp -s proof again"), 0);
}

/* The checker's exit status of a proof without its last line. It is given back. */
static int
checker_says_of(bytes *proof)
{
  char hex[65];

  hash_of(hex, proof->data, proof->size);
  put_text(proof, "end ");
  put_text(proof, hex);
  put_text(proof, "\n");
  save_bytes(folder, "changed", proof);
  return run(CHECKER " changed > checked 2>&1");
}

/* The proof with a line changed. */
static int
checker_says(const char *old, const char *new)
{
  bytes b = read_bytes("proof"), changed = {NULL, 0};
  char *at = strstr((char *)b.data, old), *end = (char *)b.data + b.size - 69;

  ck_assert_ptr_nonnull(at);
  put(&changed, b.data, (size_t)(at - (char *)b.data));
  put_text(&changed, new);
  put(&changed, at + strlen(old), (size_t)(end - at) - strlen(old));
  bytes_clear(&b);
  return checker_says_of(&changed);
}

/* The zone's proof, as it is and with what it says of the zone replaced. */
static int
checker_says_of_zone(const char *claim)
{
  bytes b = read_bytes("proof"), changed = {NULL, 0};
  char *at = strstr((char *)b.data, "\nzone ") + 1;

  put(&changed, b.data, (size_t)(at - (char *)b.data));
  put_text(&changed, claim);
  bytes_clear(&b);
  return checker_says_of(&changed);
}

typedef struct {
  size_t zone[4], refused;
} zones;

/* Of a bifurcation: that nothing need be cut off, or all that there is. Of a compensation: another choice at a touch, by the
 * first parameter's first entry. None of it may be verified. */
static void
refuse_other_zones(zones *t, const session *s)
{
  const clarke_replay *r = &s->replay;
  const size_t n = r->n_touches < 3 ? r->n_touches : 3;
  bytes all = {NULL, 0};
  char text[256];
  size_t p = 0;

  while (!s->graph.parameters[p].wrt)
    p++;
  put_text(&all, "zone compensation\n");
  for (size_t k = 0; k < r->n_touches; k++) {
    snprintf(text, sizeof text, "cut %zu\n", k);
    put_text(&all, text);
  }
  put(&all, "", 1);
  if (s->audit.zone.zone == CLARKE_ZONE_BIFURCATION) {
    ck_assert_int_ne(checker_says_of_zone((const char *)all.data), 0);
    ck_assert_int_ne(checker_says_of_zone("zone compensation\n"), 0);
    t->refused += 2;
  }
  for (size_t k = 0; k < n && s->audit.zone.zone == CLARKE_ZONE_COMPENSATION; k++, t->refused++) {
    snprintf(text, sizeof text, "zone bifurcation\nswitch %zu %c\nentry %s 0\n", k, r->touch[k].n_options > 0 ? 'b' : '+',
             s->graph.parameters[p].name);
    ck_assert_int_ne(checker_says_of_zone(text), 0);
  }
  bytes_clear(&all);
}

/* What the audit says of the zone is verified, and the other zone is not. It has no proof where nothing is touched. */
static void
check_zone(zones *t, const network *net, const session *s)
{
  t->zone[s->audit.zone.zone]++;
  if (s->audit.zone.zone != CLARKE_ZONE_COMPENSATION && s->audit.zone.zone != CLARKE_ZONE_BIFURCATION)
    return;
  ck_assert(s->audit.zone.zone == CLARKE_ZONE_BIFURCATION || s->audit.verdict == CLARKE_IN_BOULIGAND);
  write_as(s, clarke_proof_write_zone);
  if (run(CHECKER " proof > checked 2>&1") != 0) {
    describe(net, s, NULL);
    show("proof checked");
    ck_abort_msg("a zone is not verified");
  }
  refuse_other_zones(t, s);
}

static bool
is_true(clarke_verdict said, clarke_verdict truth)
{
  return said == truth || (said == CLARKE_IN_CLARKE && truth == CLARKE_IN_BOULIGAND);
}

/* A false statement over right evidence must be refused; of a true one nothing is asked. */
static size_t
refuse(const network *net, const session *s, const char *old, const char *new, bool true_anyway)
{
  int status = checker_says(old, new);

  if (true_anyway || status == 1)
    return !true_anyway;
  describe(net, s, NULL);
  show("changed checked");
  ck_abort_msg("%s in place of %s: the checker ends with %d", new, old, status);
}

static size_t
flip_verdict(const network *net, const session *s, clarke_verdict truth)
{
  char old[64], new[64];
  size_t refused = 0;

  snprintf(old, sizeof old, "verdict %s\n", clarke_verdict_name(s->audit.verdict));
  for (clarke_verdict v = CLARKE_IN_BOULIGAND; v <= CLARKE_NOT_IN_CLARKE; v++) {
    snprintf(new, sizeof new, "verdict %s\n", clarke_verdict_name(v));
    if (v != s->audit.verdict && !is_true(v, truth))
      refused += refuse(net, s, old, new, false);
  }
  return refused;
}

/* The same verdict said of AD under a profile with another line, which a proof has after those words. */
static size_t
change_line(const network *net, const session *s, const char *words, const char *old, const char *new)
{
  const char *at = strstr(net->profile, old);
  char profile[320], before[64], after[64];
  bool strongest;
  size_t refused = 0;
  clarke_verdict truth;
  session other;

  snprintf(profile, sizeof profile, "%.*s%s%s", (int)(at - net->profile), net->profile, new, at + strlen(old));
  snprintf(before, sizeof before, "%s%s", words, old);
  snprintf(after, sizeof after, "%s%s", words, new);
  session_build(&other, net, profile);
  session_replay(&other, net);
  OK(clarke_audit_run(&other.audit, &other.question, false, &error));
  truth = found_truth(&strongest, net, &other);
  if (strongest && !is_true(s->audit.verdict, truth))
    refused += refuse(net, s, before, after, false);
  session_end(&other);
  return refused;
}

static size_t
change_rule(const network *net, const session *s)
{
  static const char *const ties[] = {"first\n", "last\n", "mean\n"};
  const char *old = strstr(net->profile, "tie MaxPool ");
  size_t refused = 0;

  for (size_t i = 0; i < 3; i++) {
    char new[32];

    snprintf(new, sizeof new, "tie MaxPool %s", ties[i]);
    if (strcmp(old, new) != 0)
      refused += change_line(net, s, "", old, new);
  }
  return refused;
}

START_TEST(proofs_verify_and_false_statements_do_not)
{
  uint64_t state = seed + 1000;
  size_t n_proofs = n_networks / 4, counts[4] = {0}, flipped = 0, changed = 0;
  zones zoned = {{0}, 0};

  make_folder("windows");
  for (size_t left = n_proofs; left > 0;) {
    network net;
    session s;
    bool strongest;
    clarke_verdict truth;

    draw_network(&net, &s, &state);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    /* Kinds of verdicts in like numbers. */
    if (s.audit.verdict != CLARKE_UNDECIDED && counts[s.audit.verdict] < n_proofs / 3) {
      left--;
      counts[s.audit.verdict]++;
      truth = found_truth(&strongest, &net, &s);
      save_network(&net);
      write_proof(&s);
      if (run(CHECKER " proof > checked 2>&1") != 0) {
        describe(&net, &s, NULL);
        show("proof checked");
        ck_abort_msg("a proof is not verified");
      }
      if (left % 20 == 0)
        check_command(&net, &s);
      if (strongest)
        flipped += flip_verdict(&net, &s, truth);
      changed += change_rule(&net, &s);
      if (left % 2 == 0)
        check_zone(&zoned, &net, &s);
    }
    session_end(&s);
    network_clear(&net);
  }
  printf("proofs: verdicts %zu %zu %zu verified; %zu other verdicts and %zu other rules refused\n",
         counts[0], counts[1], counts[2], flipped, changed);
  ck_assert_uint_gt(flipped, n_proofs / 2);
  ck_assert_uint_gt(changed, n_proofs / 20);
  printf("zones: %zu compensations and %zu bifurcations verified, %zu not known; %zu others refused\n",
         zoned.zone[CLARKE_ZONE_COMPENSATION], zoned.zone[CLARKE_ZONE_BIFURCATION], zoned.zone[CLARKE_ZONE_UNKNOWN], zoned.refused);
  ck_assert_uint_gt(zoned.zone[CLARKE_ZONE_COMPENSATION], n_proofs / 40);
  ck_assert_uint_gt(zoned.zone[CLARKE_ZONE_BIFURCATION], n_proofs / 8);
  remove_folder();
}
END_TEST

/* --- bounds ----------------------------------------------------------------------------------------- */

static double
nonzero(uint64_t *state)
{
  long x = draw_between(state, 1, 3);

  return (double)(draw_below(state, 2) ? x : -x);
}

static void
grow_leaky(growing *g)
{
  attr_float(grow_node(g, "LeakyRelu", NULL, false), "alpha", draw_below(g->state, 2) ? 0.25 : 0.75);
}

/* Filters at 0 over several images: what AD takes everywhere is then seldom what occurs. Behind it perhaps other
 * layers, whose touches stay open. */
static void
grow_filters(growing *g, uint64_t *state, size_t filters)
{
  size_t line[2] = {1, (size_t)draw_between(state, 3, 6)};
  drawn_window w;

  grow_begin(g, state, nonzero, 2, line);
  draw_window(&w, g, true, 2);
  grow_conv_of(g, &w, filters);
  memset(g->m.tensors[0].real, 0, g->m.tensors[0].count * sizeof(double));
  if (filters > 1 && draw_below(state, 2)) { /* the last one is 0 where its first entries agree, alone */
    g->m.tensors[0].real[g->m.tensors[0].count - 1] = -1;
    g->m.tensors[0].real[g->m.tensors[0].count - 2] = 1;
  }
  if (g->dims[1] < 2 || draw_below(state, 2))
    grow_kink(g);
  else
    grow_maxpool(g, true);
  grow_flatten(g);
  for (size_t layers = draw_below(state, 3); layers > 0; layers--) {
    grow_dense(g, 1 + draw_below(state, 3));
    if (g->m.tensors[g->m.n_tensors - 1].rank == 1 && draw_below(state, 2)) /* the bias: then what is behind is touched, too */
      memset(g->m.tensors[g->m.n_tensors - 1].real, 0, g->dims[0] * sizeof(double));
    if (layers > 1 || draw_below(state, 2))
      grow_leaky(g);
  }
  model_output(&g->m, g->at);
}

static void
draw_labels(network *net, const clarke_graph *g, uint64_t *state)
{
  net->y = tensor_of("y", CLARKE_I64, SHAPE((long)net->x.dims[0],));
  for (size_t e = 0; e < net->y.count; e++)
    net->y.integer[e] = (int64_t)draw_below(state, g->values[g->output].count);
}

/* The filters alone are in wrt, and so every activation piecewise linear in that. */
static void
draw_filters_once(network *net, session *s, uint64_t *state, size_t filters)
{
  *net = (network){.linear = true, .mse = draw_below(state, 2), .ce = draw_below(state, 4) == 0};
  grow_filters(&net->grown, state, filters);
  net->x = grow_batch(&net->grown, 2 + draw_below(state, 4));
  snprintf(net->profile, sizeof net->profile, "Relu 0 %d\nLeakyRelu 0 right\nAbs 0 right\ntie MaxPool %s\n",
           (int)draw_below(state, 2), draw_below(state, 2) ? "first" : "last");
  session_build(s, net, net->profile);
  if (net->ce)
    draw_labels(net, &s->graph, state);
  else
    draw_targets(net, &s->graph, state);
  session_replay(s, net);
}

static void
draw_filters(network *net, session *s, uint64_t *state, size_t filters)
{
  draw_filters_once(net, s, state, filters);
  while (s->replay.n_touches < 3) {
    session_end(s);
    network_clear(net);
    draw_filters_once(net, s, state, filters);
  }
}

typedef struct {
  size_t bound, derived, parallel, behind, ce, windows, flipped, changed;
} bounds;

static void
count_bound(bounds *t, const network *net, const session *s)
{
  size_t parallel = 0;

  for (size_t k = 0; k < s->replay.n_touches; k++)
    parallel += s->audit.tree.parallel[k] != CLARKE_NONE;
  t->bound++;
  t->parallel += parallel > 0;
  t->behind += s->replay.touch[0].step != s->replay.touch[s->replay.n_touches - 1].step;
  t->ce += net->ce;
  t->windows += has_windows(&s->replay);
}

static size_t
change_proxy(const network *net, const session *s)
{
  static const char *const numbers[] = {"0", "1", "1/2", "2"};
  size_t refused = 0;

  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < 4; k++) {
      char old[32], new[32];

      snprintf(old, sizeof old, "Relu 0 %s\n", numbers[i]);
      snprintf(new, sizeof new, "Relu 0 %s\n", numbers[k]);
      if (i != k && strncmp(net->profile, old, strlen(old)) == 0)
        refused += change_line(net, s, "proxy ", old, new);
    }
  return refused;
}

/* The proof holds; the verdict is that of the sets, where these can be had, and other statements fail. */
static void
check_bound(const network *net, session *s, bounds *t)
{
  bool strongest;

  count_bound(t, net, s);
  save_network(net);
  write_proof(s);
  if (run(CHECKER " proof > checked 2>&1") != 0) {
    describe(net, s, NULL);
    show("proof checked");
    ck_abort_msg("a proof is not verified");
  }
  if (net->ce || corners(&s->replay) > MOST_DERIVED)
    return;
  t->derived++;
  t->flipped += flip_verdict(net, s, found_truth(&strongest, net, s));
  t->changed += change_rule(net, s) + change_proxy(net, s);
}

START_TEST(bounds_verify)
{
  uint64_t state = seed + 3000;
  size_t n = n_networks;
  bounds t = {0};

  make_folder("windows");
  for (size_t i = 0; i < n; i++) {
    network net;
    session s;

    draw_filters(&net, &s, &state, 1);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    if (s.audit.evidence == CLARKE_EVIDENCE_BOUND)
      check_bound(&net, &s, &t);
    session_end(&s);
    network_clear(&net);
  }
  printf("bounds: %zu of %zu networks (%zu with windows, %zu with touches in several steps, %zu with parallel ones, %zu of "
         "cross entropy) verified, %zu of them with the sets; %zu other verdicts and %zu other profiles refused\n", t.bound,
         n, t.windows, t.behind, t.parallel, t.ce, t.derived, t.flipped, t.changed);
  ck_assert_uint_gt(t.bound, n / 30);
  ck_assert_uint_gt(t.parallel, n / 60);
  ck_assert_uint_gt(t.windows, n / 100);
  ck_assert_uint_gt(t.behind, n / 400);
  ck_assert_uint_gt(t.ce, n / 100);
  ck_assert_uint_gt(t.derived, n / 100);
  ck_assert_uint_gt(t.changed, n / 200);
  ck_assert_uint_gt(t.flipped, n / 50);
  remove_folder();
}
END_TEST

/* Windows of two options and kinks of a layer before them may turn together. A line `parallel` joins each with its
 * like alone: relu's kinks and the pool's windows over w0 x0 + w1 x1 at w = (0, 1), in two samples. */
START_TEST(kinks_and_windows_are_not_joined)
{
  static const struct {
    const char *proxy;
    long space[2];
    double x[16];
  } rules[] = {
    {"right", {2, 1}, {2, 0, 2, 2, -2, 2, 0, -1}},
    {"1", {2, 2}, {2, -1, 0, 1, 0, -2, -2, -1, 2, -2, -2, 2, -2, -1, -1, -1}},
  };
  bounds t = {0};

  make_folder("windows");
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    network net = {.linear = true};
    clarke_model *m = &net.grown.m;
    session s;

    model_begin(m, 17);
    model_input(m, "x", SHAPE(-1, 2, rules[i].space[0], rules[i].space[1],));
    model_floats(m, "w", SHAPE(1, 2, 1, 1,))[1] = 1;
    model_node(m, "Conv", "x,w", "y");
    attr_float(model_node(m, "LeakyRelu", "y", "z"), "alpha", 2);
    attr_ints(model_node(m, "MaxPool", "z", "out"), "kernel_shape", SHAPE(rules[i].space[0], rules[i].space[1],));
    model_output(m, "out");
    net.x = tensor_of("x", CLARKE_F64, SHAPE(2, 2, rules[i].space[0], rules[i].space[1],));
    memcpy(net.x.real, rules[i].x, net.x.count * sizeof *net.x.real);
    snprintf(net.profile, sizeof net.profile, "LeakyRelu 0 %s\ntie MaxPool first\n", rules[i].proxy);
    session_build(&s, &net, net.profile);
    draw_targets(&net, &s.graph, &(uint64_t){1});
    session_replay(&s, &net);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    ck_assert_int_eq(s.audit.evidence, CLARKE_EVIDENCE_BOUND);
    check_bound(&net, &s, &t);
    ck_assert(t.windows == i + 1 && t.behind == i + 1);
    session_end(&s);
    network_clear(&net);
  }
  remove_folder();
}
END_TEST

/* alpha W x + beta b with a 0: what is multiplied by it is no weight, or bias, of the layer. */
START_TEST(weights_times_zero_are_no_layers)
{
  make_folder("windows");
  for (size_t zero = 0; zero < 3; zero++) {
    network net = {.linear = false, .draws = UINT64_MAX};
    clarke_model *m = &net.grown.m;
    clarke_model_node *node;
    session s;

    model_begin(m, 17);
    model_input(m, "x", SHAPE(-1, 2,));
    model_floats(m, "w", SHAPE(2, 1,));
    model_floats(m, "b", SHAPE(1,));
    node = model_node(m, "Gemm", "x,w,b", "y");
    attr_float(node, "alpha", zero != 1);
    attr_float(node, "beta", zero != 2);
    model_node(m, "Relu", "y", "out");
    model_output(m, "out");
    net.x = tensor_of("x", CLARKE_F64, SHAPE(1, 2,));
    net.x.real[0] = net.x.real[1] = 1;
    snprintf(net.profile, sizeof net.profile, "Relu 0 0\n");
    session_build(&s, &net, net.profile);
    draw_targets(&net, &s.graph, &(uint64_t){1});
    session_replay(&s, &net);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    ck_assert_uint_eq(s.audit.n_layers, 1);
    ck_assert((s.audit.layer[0].bias != CLARKE_NONE) == (zero != 2));
    ck_assert((s.audit.layer[0].weight != CLARKE_NONE) == (zero != 1));
    ck_assert(s.audit.layer[0].plain_sum == (zero == 0));
    ck_assert_int_eq(s.audit.verdict, CLARKE_IN_BOULIGAND);
    save_network(&net);
    write_proof(&s);
    ck_assert_int_eq(run(CHECKER " proof > checked 2>&1"), 0);
    session_end(&s);
    network_clear(&net);
  }
  remove_folder();
}
END_TEST

/* --- simplices -------------------------------------------------------------------------------------- */

typedef struct {
  size_t simplices, blocks, several, others, ce, windows, derived, flipped, changed;
} surrounded;

static void
count_simplices(surrounded *t, const network *net, const session *s)
{
  const clarke_audit *a = &s->audit;

  t->simplices++;
  t->blocks += a->n_simplices > 1;
  for (size_t i = 0; i < a->n_simplices; i++)
    t->several += a->simplex[i].n > 2;
  t->others += a->others.n > 0;
  t->ce += net->ce;
  t->windows += has_windows(&s->replay);
}

/* Whatever else was found, the simplices alone prove in-clarke. */
static void
check_simplices(const network *net, session *s, surrounded *t)
{
  bool strongest;
  clarke_verdict truth;

  count_simplices(t, net, s);
  s->audit.evidence = CLARKE_EVIDENCE_SIMPLICES;
  s->audit.verdict = CLARKE_IN_CLARKE;
  save_network(net);
  write_proof(s);
  if (run("cd %s && " CHECKER " proof > checked 2>&1", folder) != 0) {
    describe(net, s, NULL);
    run("cd %s && cat proof checked", folder);
    ck_abort_msg("a proof is not verified");
  }
  if (net->ce || corners(&s->replay) > MOST_DERIVED)
    return;
  t->derived++;
  truth = found_truth(&strongest, net, s);
  ck_assert_int_ne(truth, CLARKE_NOT_IN_CLARKE);
  t->flipped += flip_verdict(net, s, truth);
  t->changed += change_rule(net, s) + change_proxy(net, s);
}

START_TEST(simplices_verify)
{
  uint64_t state = seed + 4000;
  size_t n = n_networks / 3;
  surrounded t = {0};

  make_folder("windows");
  for (size_t i = 0; i < n; i++) {
    network net;
    session s;

    draw_filters(&net, &s, &state, 1 + draw_below(&state, 3));
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    if (s.audit.n_simplices > 0) {
      ck_assert_int_ne(s.audit.verdict, CLARKE_UNDECIDED);
      ck_assert_int_ne(s.audit.verdict, CLARKE_NOT_IN_CLARKE);
      check_simplices(&net, &s, &t);
    }
    session_end(&s);
    network_clear(&net);
  }
  printf("simplices: %zu of %zu networks (%zu with several blocks, %zu of three cells or more, %zu with other touches, %zu of "
         "cross entropy, %zu with windows) verified, %zu of them with the sets; %zu other verdicts and %zu other profiles refused\n", t.simplices,
         n, t.blocks, t.several, t.others, t.ce, t.windows, t.derived, t.flipped, t.changed);
  ck_assert_uint_gt(t.simplices, n / 20);
  ck_assert_uint_gt(t.blocks, n / 60);
  ck_assert_uint_gt(t.several, n / 40);
  ck_assert_uint_gt(t.others, n / 60);
  ck_assert_uint_gt(t.windows, n / 60);
  ck_assert_uint_gt(t.derived, n / 60);
  ck_assert_uint_gt(t.flipped, n / 60);
  remove_folder();
}
END_TEST

/* --- identity, as the checker has it --------------------------------------------------------------- */

/* A proof of nothing, whose count of touched kinks must be the checker's. */
static bool
checker_counts_the_same(session *s)
{
  static char said[4096];
  size_t n;
  FILE *f;

  ck_assert_uint_eq(s->audit.n_cells, 0);
  s->audit.cell = malloc(sizeof *s->audit.cell);
  clarke_cell_init(&s->audit.cell[s->audit.n_cells++]);
  OK(clarke_cell_set(s->audit.cell, &s->question, NULL, &error));
  s->audit.verdict = CLARKE_IN_BOULIGAND;
  s->audit.evidence = CLARKE_EVIDENCE_AD;
  write_proof(s);
  if (run(CHECKER " proof > checked 2>&1") == 0)
    return true;
  snprintf(said, sizeof said, "%s/checked", folder);
  f = fopen(said, "rb");
  ck_assert_ptr_nonnull(f);
  n = fread(said, 1, sizeof said - 1, f);
  said[n] = '\0';
  fclose(f);
  /* Far enough to have counted. */
  return strstr(said, "no direction moves") != NULL ||
         strstr(said, "does not rest, and what AD does gives it no side") != NULL;
}

static double
mostly_zero(uint64_t *state)
{
  return draw_below(state, 6) == 0;
}

/* A smooth function before the windows of a convolution: entries at arguments that are one function tie, and no others. */
static void
grow_smooth(growing *g, uint64_t *state)
{
  static const char *const ops[] = {"Tanh", "Sigmoid", "Exp", "Elu", "Softplus", "Erf", "Softmax", "LogSoftmax"};
  const char *op = ops[draw_below(state, 8)];
  size_t dims[3] = {1 + draw_below(state, 2), 3 + draw_below(state, 3), 3 + draw_below(state, 3)};
  clarke_model_node *node;

  grow_begin(g, state, ternary, 2 + draw_below(state, 2), dims);
  grow_conv(g, 1 + draw_below(state, 2), draw_below(state, 2)); /* of one channel a Softmax over channels is 1 */
  node = grow_node(g, op, NULL, false);
  if (strstr(op, "Softmax") != NULL)
    attr_int(node, "axis", 1 + (int64_t)draw_below(state, g->rank));
  grow_maxpool(g, true);
  grow_flatten(g);
  grow_dense(g, 1);
  model_output(&g->m, g->at);
  g->number = mostly_zero; /* of the samples */
}

/* A normalization of lines, or of groups, some of which are the same functions place by place. */
static void
grow_lines(growing *g, uint64_t *state)
{
  size_t dims[3] = {2, 3 + draw_below(state, 3), 3 + draw_below(state, 3)};

  grow_begin(g, state, ternary, 2 + draw_below(state, 2), dims);
  g->m.opset = 18 + draw_below(state, 4);
  grow_conv(g, 2, draw_below(state, 2));
  if (draw_below(state, 3) > 0)
    grow_layer_norm(g);
  else
    grow_group_norm(g);
  grow_maxpool(g, true);
  grow_flatten(g);
  grow_dense(g, 1);
  model_output(&g->m, g->at);
  g->number = mostly_zero; /* of the samples */
}

/* As in the published networks: a convolution, Relu, a pool. */
static void
grow_pooled_relu(growing *g, uint64_t *state)
{
  size_t dims[3] = {1 + draw_below(state, 2), 3 + draw_below(state, 3), 3 + draw_below(state, 3)};

  grow_begin(g, state, ternary, 2 + draw_below(state, 2), dims);
  grow_conv(g, 2, draw_below(state, 2));
  grow_node(g, "Relu", NULL, false);
  grow_maxpool(g, true);
  grow_flatten(g);
  grow_dense(g, 1);
  model_output(&g->m, g->at);
}

static void
grow_kinked(growing *g, uint64_t *state)
{
  grow_convolutional(g, state, ternary);
}

typedef struct {
  size_t touches, trivial, open, zeros, above, parted;
} tie_tally;

/* By the values of an exact pass: is the window tied at its largest number? *zero: is that 0, and no entry less? */
static bool
is_tied(bool *zero, const clarke_forward *f, const clarke_step *s, size_t feature, size_t column)
{
  const clarke_matrix *x = &f->value[s->in[0].value];
  size_t best = CLARKE_NONE, equal = 0;

  *zero = true;
  for (size_t i = 0; i < s->width; i++) {
    const size_t entry = s->in[0].map[feature * s->width + i];
    const int sign = entry == CLARKE_NONE ? -1 : best == CLARKE_NONE ? 1 : clarke_matrix_compare_entries(x, entry, best, column);

    best = sign > 0 ? entry : best;
    equal = sign > 0 ? 1 : equal + (sign == 0);
    *zero = *zero && (entry == CLARKE_NONE || clarke_matrix_entry_is_zero(x, entry, column));
  }
  return equal > 1;
}

/* Windows of zeros alone, and tied ones that are none, of pools behind a Relu: counted by values, which the audit does not ask. */
static void
count_zeros(tie_tally *t, session *s)
{
  clarke_forward f;

  clarke_forward_init(&f);
  OK(clarke_layers_read(&s->audit, &s->question, &error));
  OK(clarke_replay_all(&f, &s->replay, false, 64, &error));
  for (size_t k = 0; k < s->audit.n_layers; k++) {
    const clarke_layer *l = &s->audit.layer[k];
    const clarke_step *step = &s->graph.steps[l->step];
    const size_t from = s->graph.values[step->in[0].value].producer;
    size_t zeros = 0, above = 0;

    if (step->kind != CLARKE_MAX || from == CLARKE_NONE || strcmp(s->graph.steps[from].op->name, "Relu") != 0)
      continue;
    for (size_t e = 0; e < l->neurons * f.n; e++) {
      bool zero, tied = is_tied(&zero, &f, step, e / f.n, e % f.n);

      zeros += tied && zero;
      above += tied && !zero;
    }
    ck_assert(l->zeros_known);
    ck_assert_uint_eq(l->ties_of_zeros, zeros);
    ck_assert_uint_eq(l->ties - l->ties_of_zeros, above);
    t->zeros += zeros;
    t->above += above;
  }
  clarke_forward_clear(&f);
}

/* In a touched window each option but the first has an entry at least, and all tied ones are fewer than the places. */
static void
count_parted(tie_tally *t, const clarke_replay *r)
{
  for (size_t k = 0; k < r->n_touches; k++) {
    const clarke_touch *touch = &r->touch[k];

    ck_assert(touch->n_options == 0 ? touch->parted == 0
                                    : touch->parted >= touch->n_options - 1 && touch->parted < r->g->steps[touch->step].width);
    t->parted += touch->parted;
  }
}

/* Open windows have no count that could be compared. */
static void
count_ties(tie_tally *t, const network *net, session *s, size_t number)
{
  t->open += s->replay.open > 0;
  if (clarke_graph_wrt_count(&s->graph) > 0 && s->replay.open == 0 && !checker_counts_the_same(s)) {
    describe(net, s, NULL);
    show("proof checked");
    ck_abort_msg("network %zu", number);
  }
  t->touches += s->replay.n_touches;
  count_parted(t, &s->replay);
  if (s->replay.open == 0 && clarke_graph_wrt_count(&s->graph) > 0)
    count_zeros(t, s);
  for (size_t k = 0; k < s->graph.n_steps; k++)
    t->trivial += ties_of(&s->replay, k);
  for (size_t k = 0; k < s->replay.n_touches; k++)
    t->trivial -= s->replay.touch[k].n_options > 0;
}

static tie_tally
compare_ties(void (*grow)(growing *g, uint64_t *state), uint64_t state)
{
  tie_tally t = {0};

  make_folder("windows");
  for (size_t i = 0; i < n_networks / 2; i++) {
    network net = {.linear = false};
    session s;

    grow(&net.grown, &state);
    net.x = grow_batch(&net.grown, 1 + draw_below(&state, 2));
    net.draws = draw(&state);
    draw_profile(&net, &state);
    session_build(&s, &net, net.profile);
    draw_targets(&net, &s.graph, &state);
    session_replay(&s, &net);
    save_network(&net);
    count_ties(&t, &net, &s, i);
    session_end(&s);
    network_clear(&net);
  }
  printf("identity: %zu touches and %zu trivial ties counted alike, %zu networks open; %zu windows of zeros, %zu others tied, %zu entries parted\n",
         t.touches, t.trivial, t.open, t.zeros, t.above, t.parted);
  remove_folder();
  return t;
}

START_TEST(the_checker_finds_the_same_ties)
{
  tie_tally t = compare_ties(grow_kinked, seed + 2000);

  ck_assert_uint_eq(t.open, 0);
  ck_assert_uint_gt(t.touches, n_networks / 2);
  ck_assert_uint_gt(t.trivial, n_networks / 4);
}
END_TEST

/* Where values are equal and the functions are two, no digits tell which is larger: such networks are open. */
START_TEST(windows_of_zeros_are_told_from_others)
{
  tie_tally t = compare_ties(grow_pooled_relu, seed + 2200);

  ck_assert_uint_eq(t.open, 0);
  ck_assert_uint_gt(t.zeros, n_networks / 2);
  ck_assert_uint_gt(t.above, n_networks / 2);
  ck_assert_uint_gt(t.parted, n_networks / 4);
}
END_TEST

START_TEST(the_checker_finds_the_same_ties_of_smooth_entries)
{
  tie_tally t = compare_ties(grow_smooth, seed + 2500);

  ck_assert_uint_gt(t.trivial, n_networks / 2);
  ck_assert_uint_lt(t.open, n_networks / 4);
}
END_TEST

START_TEST(the_checker_finds_the_same_ties_of_normalized_lines)
{
  tie_tally t = compare_ties(grow_lines, seed + 2600);

  ck_assert_uint_gt(t.trivial, n_networks / 2);
  ck_assert_uint_lt(t.open, n_networks / 4);
}
END_TEST

/* Entries of equal values at arguments that are two functions; of a Softmax also at one argument in two lines. Both programs
 * know a half exactly, and what AD does at the tie is no side; of other values they cannot tell the larger. */
START_TEST(equal_smooth_entries_may_be_two_functions)
{
  static const char *const ops[] = {"Tanh", "Exp", "Softplus", "Softmax", "LogSoftmax"};

  make_folder("windows");
  for (size_t i = 0; i < 5; i++) {
    network net = {.linear = false, .draws = UINT64_MAX};
    clarke_model *m = &net.grown.m;
    size_t ties = i < 3 ? 1 : 2; /* a window of u in both lines, a window of v's two entries */
    clarke_model_node *node;
    session s;

    model_begin(m, 17);
    model_input(m, "x", SHAPE(-1, 2, 1,));
    model_floats(m, "u", SHAPE(1, 1,))[0] = 1;
    model_floats(m, "v", SHAPE(2, 1,))[0] = 1;
    m->tensors[1].real[1] = 1;
    model_node(m, "Mul", "x,u", "a");
    model_node(m, "Mul", "x,v", "b");
    attr_int(model_node(m, "Concat", "a,b", "c"), "axis", 2);
    node = model_node(m, ops[i], "c", "d");
    if (i > 2)
      attr_int(node, "axis", 2);
    attr_ints(model_node(m, "Transpose", "d", "e"), "perm", SHAPE(0, 2, 1,));
    attr_ints(model_node(m, "MaxPool", "e", "out"), "kernel_shape", SHAPE(2,));
    model_output(m, "out");
    net.x = tensor_of("x", CLARKE_F64, SHAPE(1, 2, 1,));
    net.x.real[0] = net.x.real[1] = 1;
    strcpy(net.profile, "tie MaxPool first\n");
    session_build(&s, &net, net.profile);
    draw_targets(&net, &s.graph, &(uint64_t){1});
    session_replay(&s, &net);
    save_network(&net);
    ck_assert_uint_eq(i == 3 ? s.replay.n_touches : s.replay.open, ties);
    ck_assert(checker_counts_the_same(&s) == (i == 3));
    session_end(&s);
    network_clear(&net);
  }
  remove_folder();
}
END_TEST

/* --- one cell, of other sides than AD's -------------------------------------------------------------- */

/* Layers with many zeros, and products with what is smooth: kinks on which the loss may not depend. */
static void
grow_gated(growing *g, uint64_t *state)
{
  static const char *const ops[] = {"Sigmoid", "Tanh", "Softmax", "Erf"};
  size_t dims[1] = {1 + draw_below(state, 2)};

  grow_begin(g, state, mostly_zero, 1, dims);
  g->m.opset = 18;
  for (size_t layers = 1 + draw_below(state, 3); layers > 0; layers--) {
    char before[16];
    size_t gate = draw_below(state, 4);

    g->number = draw_below(state, 2) ? mostly_zero : ternary;
    grow_dense(g, 1 + draw_below(state, 3));
    strcpy(before, g->at);
    if (draw_below(state, 2))
      grow_kink(g);
    if (draw_below(state, 3) == 0)
      strcpy(before, g->at);
    clarke_model_node *node = grow_node(g, ops[gate], NULL, false);
    if (gate == 2)
      attr_int(node, "axis", 1);
    if (draw_below(state, 2))
      grow_node(g, "Mul", before, false);
    (draw_below(state, 2) ? grow_pointwise : grow_kink)(g);
    if (draw_below(state, 2))
      (draw_below(state, 2) ? grow_batchnorm : grow_normalization)(g); /* of variances that may be 0 */
  }
  grow_dense(g, 1 + draw_below(state, 2));
  g->number = ternary;
  model_output(&g->m, g->at);
}

/* Are the gradients under the cell's sides and AD's the same, as far as enclosures tell? */
static bool
has_ads_gradient(const session *s, const clarke_cell *c)
{
  const size_t n = s->graph.n_parameters;
  clarke_matrix *cell = clarke_matrices_new(n), *ad = clarke_matrices_new(n);
  bool same = true;

  OK(clarke_partial_gradient(cell, &s->question, c->side, &error));
  OK(clarke_partial_gradient(ad, &s->question, NULL, &error));
  for (size_t p = 0; p < n; p++)
    for (size_t e = 0; e < s->graph.parameters[p].count; e++) {
      double a = cell[p].rows > 0 ? clarke_matrix_get_double(&cell[p], e, 0) : 0;
      double b = ad[p].rows > 0 ? clarke_matrix_get_double(&ad[p], e, 0) : 0;

      same = same && fabs(a - b) < 1e-12;
    }
  clarke_matrices_free(cell, n);
  clarke_matrices_free(ad, n);
  return same;
}

typedef struct {
  size_t accepted, refused, by_slopes;
} cell_tally;

/* Claims that the cell's gradient is AD's. The checker must not be led to say so where it is not, and must where slopes show it. */
static void
claim_cell(cell_tally *t, const network *net, session *s, clarke_cell *c)
{
  bool *effect = malloc(s->replay.n_touches + 1), inside, verified;
  clarke_membership m;

  clarke_membership_init(&m);
  OK(clarke_effect_find(effect, &s->question, &error));
  OK(clarke_slope_hull_find(&m, &s->question, c, 1, effect, &error));
  inside = m.place == CLARKE_HULL_INSIDE;
  clarke_membership_clear(&m, 1);
  free(effect);
  s->audit.cell = malloc(sizeof *s->audit.cell);
  s->audit.cell[s->audit.n_cells++] = *c;
  clarke_cell_init(c);
  s->audit.weight = malloc(sizeof *s->audit.weight);
  mpq_init(s->audit.weight[0]);
  mpq_set_ui(s->audit.weight[0], 1, 1);
  s->audit.verdict = CLARKE_IN_BOULIGAND;
  s->audit.evidence = CLARKE_EVIDENCE_HULL;
  write_proof(s);
  verified = run(CHECKER " proof > checked 2>&1") == 0;
  if ((verified && !has_ads_gradient(s, s->audit.cell)) || (inside && !verified)) {
    describe(net, s, NULL);
    show("proof checked");
    ck_abort_msg("the cell's gradient %s AD's; by slopes: %d", verified ? "is not" : "is", inside);
  }
  t->accepted += verified;
  t->refused += !verified;
  t->by_slopes += inside;
}

START_TEST(a_cell_has_ads_gradient_or_is_refused)
{
  uint64_t state = seed + 3500;
  cell_tally t = {0};

  make_folder("windows");
  for (size_t i = 0; i < 2 * n_networks; i++) {
    network net = {.linear = false, .draws = UINT64_MAX, .mse = draw_below(&state, 2)};
    clarke_cell c;
    bool realized = false;
    session s;

    grow_gated(&net.grown, &state);
    net.x = grow_batch(&net.grown, 1 + draw_below(&state, 3));
    draw_profile(&net, &state);
    strcat(net.profile, "PRelu 0 left\nClip 0 right\nClip 1 left\nHardSigmoid 0 left\nHardSigmoid 1 right\n"
                        "HardSwish 0 left\nHardSwish 1 1/2\n");
    session_build(&s, &net, net.profile);
    draw_targets(&net, &s.graph, &state);
    session_replay(&s, &net);
    save_network(&net);
    clarke_cell_init(&c);
    for (size_t k = 0; k < 4 && s.replay.n_touches > 0 && s.replay.open == 0 && !realized; k++)
      OK(clarke_ray_cell(&realized, &c, &state, false, &s.question, &error));
    if (realized)
      claim_cell(&t, &net, &s, &c);
    clarke_cell_clear(&c);
    session_end(&s);
    network_clear(&net);
  }
  printf("one cell: %zu have AD's gradient (%zu by their slopes), %zu refused\n", t.accepted, t.by_slopes, t.refused);
  ck_assert_uint_gt(t.by_slopes, n_networks / 8);
  ck_assert_uint_gt(t.refused, n_networks / 8);
  remove_folder();
}
END_TEST

/* --- normalizations --------------------------------------------------------------------------------- */

typedef struct {
  size_t coupled, open, touched, windows, derived, flipped, verdict[4], evidence[CLARKE_EVIDENCE_UNANIMOUS + 1];
  zones zones;
} normalized_tally;

static double
plus_or_minus(uint64_t *state)
{
  return draw_below(state, 2) ? 1 : -1;
}

/* Pairs normalized by rational roots (variances are 0 or 1, epsilon 9/16), then neurons that are 0 at all samples and alone
 * asked about: AD's sides contradict each other. */
static void
grow_zero_neurons(network *net, uint64_t *state)
{
  growing *g = &net->grown;
  size_t dims[2] = {2, 0};

  grow_begin(g, state, plus_or_minus, 1, dims);
  g->m.opset = 17;
  grow_layer_norm(g);
  attr_float(&g->m.nodes[g->m.n_nodes - 1], "epsilon", 0.5625);
  dims[0] = g->dims[0];
  g->dims[0] = dims[1] = 1 + draw_below(g->state, 2);
  strcpy(net->only, a_weight(g, 2, dims, false));
  memset(g->m.tensors[g->m.n_tensors - 1].real, 0, dims[0] * dims[1] * sizeof(double));
  grow_node(g, "MatMul", net->only, false);
  grow_kink(g);
  grow_dense(g, 1 + draw_below(g->state, 2));
}

/* Small numbers, of which many entries tie and many roots are rational. */
static void
draw_normalized(network *net, session *s, uint64_t *state)
{
  static const char *const ties[] = {"first", "last", "mean", "hybrid 1/3"};

  do {
    *net = (network){.mse = draw_below(state, 2)};
    if (draw_below(state, 3))
      grow_normalizing(&net->grown, state, ternary);
    else
      grow_zero_neurons(net, state);
    model_output(&net->grown.m, net->grown.at);
    net->x = grow_batch(&net->grown, (net->only[0] != '\0' ? 3 : 1) + draw_below(state, 3));
    net->draws = draw(state);
    draw_profile(net, state);
    if (net->only[0] != '\0')
      snprintf(net->profile, sizeof net->profile, "Relu 0 %d\nLeakyRelu 0 right\nAbs 0 right\ntie MaxPool first\n",
               (int)draw_below(state, 2));
    strcat(net->profile, "tie GlobalMaxPool ");
    strcat(net->profile, ties[draw_below(state, 4)]);
    session_build(s, net, net->profile);
    if (clarke_graph_wrt_count(&s->graph) > 0)
      break;
    session_end(s);
    network_clear(net);
  } while (true);
  draw_targets(net, &s->graph, state);
  session_replay(s, net);
}

static void
count_normalized(normalized_tally *t, const session *s)
{
  t->coupled += clarke_graph_couples(&s->graph);
  t->open += s->replay.open > 0;
  t->touched += s->replay.n_touches > 0;
  t->windows += has_windows(&s->replay);
  t->verdict[s->audit.verdict]++;
  if (s->audit.verdict != CLARKE_UNDECIDED)
    t->evidence[s->audit.evidence]++;
}

/* Of samples that are not coupled the loss unrolls to a program, whose derivation may know the truth. */
static void
compare_normalized(normalized_tally *t, const network *net, session *s)
{
  bool strongest;
  clarke_verdict truth;

  if (clarke_graph_couples(&s->graph) || s->replay.open > 0 || corners(&s->replay) > 16)
    return;
  truth = derived_truth(&strongest, net, s);
  t->derived += truth != CLARKE_UNDECIDED && s->audit.verdict != CLARKE_UNDECIDED;
  if (strongest && s->audit.verdict != CLARKE_UNDECIDED)
    t->flipped += flip_verdict(net, s, truth);
}

/* The checker meets the same kinks and ties, and every proof is verified. */
START_TEST(normalized_networks_have_proofs)
{
  uint64_t state = seed + 4000;
  size_t n = 3 * n_networks / 4;
  normalized_tally t = {0};

  make_folder("windows");
  for (size_t i = 0; i < n; i++) {
    network net;
    session s;

    draw_normalized(&net, &s, &state);
    save_network(&net);
    if (s.replay.open == 0 && !checker_counts_the_same(&s)) {
      describe(&net, &s, NULL);
      show("proof checked");
      ck_abort_msg("network %zu", i);
    }
    clarke_audit_clear(&s.audit);
    clarke_audit_init(&s.audit);
    OK(clarke_audit_run(&s.audit, &s.question, false, &error));
    if (s.audit.verdict != CLARKE_UNDECIDED) {
      write_proof(&s);
      if (run(CHECKER " proof > checked 2>&1") != 0) {
        describe(&net, &s, NULL);
        show("proof checked");
        ck_abort_msg("network %zu: a proof is not verified", i);
      }
      compare_normalized(&t, &net, &s);
    }
    if (i % 2 == 0)
      check_zone(&t.zones, &net, &s);
    count_normalized(&t, &s);
    session_end(&s);
    network_clear(&net);
  }
  printf("normalized: of %zu networks %zu couple the samples, %zu are not decided, %zu are touched, %zu at windows; verdicts %zu %zu %zu %zu; "
         "verified %zu cells of AD's own, %zu mixes, %zu hulls, %zu separators; of %zu the derivation "
         "knows as much, %zu other verdicts refused\n", n, t.coupled,
         t.open, t.touched, t.windows, t.verdict[0], t.verdict[1], t.verdict[2], t.verdict[3], t.evidence[CLARKE_EVIDENCE_AD],
         t.evidence[CLARKE_EVIDENCE_MIX], t.evidence[CLARKE_EVIDENCE_HULL], t.evidence[CLARKE_EVIDENCE_SEPARATOR],
         t.derived, t.flipped);
  ck_assert_uint_gt(t.coupled, n / 4);
  ck_assert_uint_gt(t.touched, n / 2);
  ck_assert_uint_gt(t.windows, n / 400);
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_gt(t.verdict[v], n / 60);
  ck_assert_uint_gt(t.evidence[CLARKE_EVIDENCE_MIX], n / 100);
  ck_assert_uint_gt(t.evidence[CLARKE_EVIDENCE_HULL], n / 200);
  ck_assert_uint_gt(t.evidence[CLARKE_EVIDENCE_SEPARATOR], n / 100);
  ck_assert_uint_gt(t.derived, n / 20);
  ck_assert_uint_gt(t.flipped, n / 20);
  printf("zones: %zu compensations and %zu bifurcations verified, %zu not known; %zu others refused\n",
         t.zones.zone[CLARKE_ZONE_COMPENSATION], t.zones.zone[CLARKE_ZONE_BIFURCATION], t.zones.zone[CLARKE_ZONE_UNKNOWN],
         t.zones.refused);
  remove_folder();
}
END_TEST

int
main(int argc, char **argv)
{
  const struct {
    const char *name;
    const TTest *test;
  } tests[] = {{"verdicts", verdicts_are_those_of_the_limits},
               {"proofs", proofs_verify_and_false_statements_do_not},
               {"bounds", bounds_verify},
               {"not-joined", kinks_and_windows_are_not_joined},
               {"zero", weights_times_zero_are_no_layers},
               {"simplices", simplices_verify},
               {"identity", the_checker_finds_the_same_ties},
               {"two", equal_smooth_entries_may_be_two_functions},
               {"zeros", windows_of_zeros_are_told_from_others},
               {"smooth", the_checker_finds_the_same_ties_of_smooth_entries},
               {"lines", the_checker_finds_the_same_ties_of_normalized_lines},
               {"cell", a_cell_has_ads_gradient_or_is_refused},
               {"normalized", normalized_networks_have_proofs}};

  if (argc > 1)
    n_networks = strtoul(argv[1], NULL, 10);
  if (argc > 2)
    seed = strtoul(argv[2], NULL, 10);
  thorough = argc > 3 && strcmp(argv[3], "thorough") == 0;
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
    TCase *tcase = tests_of(tests[i].name);

    tcase_add_test(tcase, tests[i].test);
  }
  return run_tests();
}
