/* Verdicts against the definitions: random little networks, often on their kinks. For networks
 * piecewise linear in their parameters every limit of gradients is listed by the arrangement of
 * the kinks' hyperplanes, and the verdict must be exactly the right one. */
#include "../tools/command.h"
#include "../format/files.h"
#include "little.h"
#include "../ok.h"

#include "exact/cone.h"
#include "proof/write.h"
#include "network/graph/build.h"

#include <stdio.h>

/* --- random networks ------------------------------------------------------------------------- */

static fraction
draw_slope(uint64_t *state)
{
  static const fraction slopes[] = {{1, 4}, {1, 2}, {-1, 1}, {2, 1}, {0, 1}, {1, 1}, {-1, 2}};

  return slopes[draw_below(state, sizeof slopes / sizeof slopes[0])];
}

static void
draw_proxies(little *net, uint64_t *state)
{
  static const fraction numbers[] = {{0, 1}, {1, 1}, {1, 2}, {1, 3}, {0, 1}, {1, 12}, {2, 1}};
  bool pytorch = draw_below(state, 3) == 0;

  for (size_t a = 0; a < 8; a++)
    for (size_t k = 0; k < 2; k++) {
      little_proxy *q = &net->proxy[a][k];

      q->kind = (proxy_kind)draw_below(state, 3);
      q->number = numbers[draw_below(state, sizeof numbers / sizeof numbers[0])];
      if (!pytorch)
        continue;
      q->number = whole(0);
      q->kind = a == LEAKY || a == PRELU || (a == HARDSWISH && k == 0) ? PROXY_LEFT
                : a == HARDSWISH                                        ? PROXY_RIGHT
                                                                        : PROXY_NUMBER;
    }
}

static void
draw_activation(little_layer *l, uint64_t *state, bool last)
{
  l->act = last && draw_below(state, 3) > 0 ? NOTHING : (activation)draw_below(state, 8);
  if (l->act == HARDSWISH)
    l->act = RELU;
  l->left = draw_slope(state);
  for (size_t o = 0; o < MOST_WIDTH; o++)
    l->slope[o] = draw_slope(state);
  l->has_low = draw_below(state, 4) > 0;
  l->has_high = !l->has_low || draw_below(state, 4) > 0;
  l->low = draw_between(state, -2, 0);
  l->high = l->low + draw_between(state, 1, 3);
}

static void
draw_layer(little_layer *l, uint64_t *state, size_t n_in, size_t n_out, bool last)
{
  l->n_in = n_in;
  l->n_out = n_out;
  for (size_t i = 0; i < MOST_WIDTH; i++)
    for (size_t o = 0; o < MOST_WIDTH; o++)
      if ((l->w[i][o] = draw_between(state, -1, 1)) != 0)
        l->w[i][o] *= draw_between(state, 1, 3);
  for (size_t o = 0; o < MOST_WIDTH; o++)
    l->b[o] = draw_below(state, 2) ? 0 : draw_between(state, -3, 3);
  l->has_bias = draw_below(state, 2);
  l->bias_first = draw_below(state, 2);
  l->w_trains = l->b_trains = l->tied = false;
  draw_activation(l, state, last);
}

/* A fixed weight of 0 makes arguments constant that no rule calls flat: seldom. */
static void
fill_zeros(little_layer *l, uint64_t *state)
{
  for (size_t i = 0; i < l->n_in; i++)
    for (size_t o = 0; o < l->n_out; o++)
      if (l->w[i][o] == 0 && draw_below(state, 40) > 0)
        l->w[i][o] = draw_below(state, 2) ? 1 : -2;
}

/* The weights of the layer before, where they fit and are not tied themselves. */
static void
tie(little_layer *l)
{
  if (l[-1].n_in != l->n_in || l[-1].n_out != l->n_out || l[-1].tied)
    return;
  l->tied = true;
  l->w_trains = l[-1].w_trains;
  memcpy(l->w, l[-1].w, sizeof l->w);
}

static void
number_parameters(little *net)
{
  net->n_parameters = 0;
  for (size_t k = 0; k < net->n_layers; k++) {
    little_layer *l = &net->layer[k];

    l->b_trains = l->b_trains && l->has_bias;
    l->w_base = l->tied ? l[-1].w_base : net->n_parameters;
    net->n_parameters += l->w_trains && !l->tied ? l->n_in * l->n_out : 0;
    l->b_base = net->n_parameters;
    net->n_parameters += l->b_trains ? l->n_out : 0;
  }
}

/* Both draw until the parameters are as many as wanted. Linear: one layer trains, the first. */
static void
draw_network(little *net, uint64_t *state, bool linear)
{
  size_t most = linear ? 3 : 6;

  memset(net, 0, sizeof *net);
  do {
    size_t width = 1 + draw_below(state, 2);

    net->samples = 1 + draw_below(state, MOST_SAMPLES);
    net->n_layers = 1 + draw_below(state, linear ? 4 : 3);
    for (size_t j = 0; j < MOST_SAMPLES; j++)
      for (size_t i = 0; i < MOST_WIDTH; i++) {
        net->x[j][i] = draw_between(state, -2, 2);
        net->y[j][i] = draw_between(state, -1, 1);
      }
    for (size_t k = 0; k < net->n_layers; k++) {
      size_t out = 1 + draw_below(state, k == 0 && linear ? 2 : MOST_WIDTH);

      if (!linear && draw_below(state, 2))
        out = width; /* layers that may be tied */
      draw_layer(&net->layer[k], state, width, out, k + 1 == net->n_layers);
      width = out;
      net->layer[k].w_trains = linear ? k == 0 : draw_below(state, 2);
      if (!net->layer[k].w_trains)
        fill_zeros(&net->layer[k], state);
      net->layer[k].b_trains = linear ? k == 0 : draw_below(state, 2);
      if (linear && k == 0 && draw_below(state, 3) == 0)
        net->layer[k].act = NOTHING; /* the next layer shares the parameters among its kinks */
      if (!linear && k > 0 && draw_below(state, 2))
        tie(&net->layer[k]);
      if (!linear && net->layer[k].act == ABSOLUTE && draw_below(state, 2))
        net->layer[k].act = HARDSWISH;
    }
    net->mse = draw_below(state, 2);
    number_parameters(net);
  } while (net->n_parameters == 0 || net->n_parameters > most);
  draw_proxies(net, state);
}

/* --- limits of gradients --------------------------------------------------------------------- */

typedef struct {
  size_t n, n_limits, n_normals, n_asked;
  fraction limit[512][MOST_PARAMETERS];
  fraction normal[512][MOST_PARAMETERS]; /* each direction once, whatever its length and sign */
  bool resting;
} limits;

static bool
same_vector(const fraction *a, const fraction *b, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!same(a[i], b[i]))
      return false;
  return true;
}

/* The first nonzero entry becomes 1. */
static void
scale_first(fraction *v, size_t n)
{
  size_t at = 0;

  while (v[at].n == 0)
    at++;
  fraction by = ratio(v[at].d, v[at].n);
  for (size_t i = 0; i < n; i++)
    v[i] = times(v[i], by);
}

static void
add_vector(fraction (*list)[MOST_PARAMETERS], size_t *count, const fraction *v, size_t n)
{
  for (size_t k = 0; k < *count; k++)
    if (same_vector(list[k], v, n))
      return;
  if (*count == 512)
    ck_abort_msg("too many cells for one little network");
  memcpy(list[(*count)++], v, sizeof list[0]);
}

static void
ask(limits *l, const little *net, const passage *way)
{
  meeting met;
  dual f = little_loss(net, NULL, way, &met);

  l->n_asked++;
  l->resting = l->resting || met.resting;
  for (size_t k = 0; k < met.n_normals; k++) {
    scale_first(met.normal[k], l->n);
    add_vector(l->normal, &l->n_normals, met.normal[k], l->n);
  }
  /* In piecewise linear networks an argument of gradient zero rests: no side is needed. */
  if (met.generic)
    add_vector(l->limit, &l->n_limits, f.g, l->n);
}

static void
cross(fraction *c, const fraction *a, const fraction *b)
{
  for (size_t i = 0; i < 3; i++)
    c[i] = minus(times(a[(i + 1) % 3], b[(i + 2) % 3]), times(a[(i + 2) % 3], b[(i + 1) % 3]));
}

static void
set_direction(passage *way, size_t j, const fraction *v, long sign, size_t n)
{
  for (size_t i = 0; i < n; i++)
    way->d[j][i] = times(whole(sign), v[i]);
  way->n = j + 1;
}

/* In the plane every cell has a ray on its border: along it, then off it to both sides. */
static void
ask_in_plane(limits *l, const little *net)
{
  for (size_t k = 0; k < l->n_normals; k++)
    for (long s = -1; s <= 1; s += 2)
      for (long t = -1; t <= 1; t += 2) {
        fraction ray[2] = {times(whole(-1), l->normal[k][1]), l->normal[k][0]};
        passage way;

        set_direction(&way, 0, ray, s, 2);
        set_direction(&way, 1, l->normal[k], t, 2);
        ask(l, net, &way);
      }
}

/* In space: along an edge, where two planes meet, then within a plane of it, then off that. */
static void
ask_in_space(limits *l, const little *net)
{
  size_t n = l->n_normals;

  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < a; b++) {
      fraction edge[3];

      cross(edge, l->normal[a], l->normal[b]);
      for (size_t c = 0; c < n; c++) {
        fraction on = whole(0), ray[3];

        for (size_t i = 0; i < 3; i++)
          on = plus(on, times(edge[i], l->normal[c][i]));
        cross(ray, l->normal[c], edge);
        for (int m = 0; on.n == 0 && m < 8; m++) {
          passage way;

          set_direction(&way, 0, edge, m & 1 ? 1 : -1, 3);
          set_direction(&way, 1, ray, m & 2 ? 1 : -1, 3);
          set_direction(&way, 2, l->normal[c], m & 4 ? 1 : -1, 3);
          ask(l, net, &way);
        }
      }
    }
}

/* Off a plane: enough where all normals are parallel. */
static void
ask_off_planes(limits *l, const little *net)
{
  for (size_t k = 0; k < l->n_normals; k++)
    for (long s = -1; s <= 1; s += 2) {
      passage way;

      set_direction(&way, 0, l->normal[k], s, l->n);
      ask(l, net, &way);
    }
}

/* Some directions that no kink of small coefficients contains. */
static void
ask_anywhere(limits *l, const little *net, uint64_t *state, size_t times_over)
{
  for (size_t k = 0; k < times_over; k++) {
    passage way = {.n = 1};

    for (size_t i = 0; i < l->n; i++)
      way.d[0][i] = whole(draw_between(state, -1000, 1000) * 2 + 1);
    ask(l, net, &way);
  }
}

/* Every limit: normals met in a new cell give new cells, until there are no more. */
static void
all_limits(limits *l, const little *net, uint64_t *state)
{
  size_t before;

  memset(l, 0, sizeof *l);
  l->n = net->n_parameters;
  ask_anywhere(l, net, state, 4);
  do {
    before = l->n_normals;
    ask_off_planes(l, net);
    if (l->n == 2)
      ask_in_plane(l, net);
    if (l->n == 3)
      ask_in_space(l, net);
  } while (l->n_normals > before);
}

static bool
is_limit(const limits *l, const fraction *g)
{
  for (size_t k = 0; k < l->n_limits; k++)
    if (same_vector(l->limit[k], g, l->n))
      return true;
  return false;
}

/* v times a common denominator, as row i. */
static void
set_row(fmpz_mat_t m, size_t i, const fraction *v, size_t n, wide by)
{
  for (size_t j = 0; j < n; j++) {
    wide entry = wide_mul(v[j].n, by / v[j].d);

    if (entry > (wide)1 << 60 || entry < -((wide)1 << 60))
      ck_abort_msg("an entry is too large");
    fmpz_set_si(fmpz_mat_entry(m, (slong)i, (slong)j), (slong)entry);
  }
}

static bool
in_hull(fraction (*point)[MOST_PARAMETERS], size_t n_points, const fraction *g, size_t n)
{
  wide by = 1;
  clarke_cone cone;
  fmpz_mat_t gaps, q; /* no direction is positive on all q - p_k */
  bool inside;

  for (size_t i = 0; i < n; i++) {
    by = by / wide_gcd(by, g[i].d) * g[i].d;
    for (size_t k = 0; k < n_points; k++)
      by = by / wide_gcd(by, point[k][i].d) * point[k][i].d;
  }
  fmpz_mat_init(gaps, (slong)n_points, (slong)n);
  fmpz_mat_init(q, 1, (slong)n);
  for (size_t k = 0; k < n_points; k++)
    set_row(gaps, k, point[k], n, by);
  set_row(q, 0, g, n, by);
  for (size_t k = 0; k < n_points; k++)
    for (slong i = 0; i < (slong)n; i++)
      fmpz_sub(fmpz_mat_entry(gaps, (slong)k, i), fmpz_mat_entry(q, 0, i), fmpz_mat_entry(gaps, (slong)k, i));
  clarke_cone_init(&cone);
  OK(clarke_cone_solve(&cone, gaps, CLARKE_CONE_WORK, &error));
  ck_assert_int_ne(cone.answer, CLARKE_CONE_UNKNOWN);
  inside = cone.answer == CLARKE_CONE_EMPTY;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(gaps);
  fmpz_mat_clear(q);
  return inside;
}

/* --- the audit ------------------------------------------------------------------------------- */

typedef struct {
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensor x, y;
  clarke_replay replay;
  clarke_question question;
  clarke_audit audit;
  char *wrt[2 * MOST_LAYERS], text[1024];
  size_t n_wrt;
} session;

static void
session_begin(session *s, const little *net)
{
  clarke_model m;
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = net->samples};

  memset(s, 0, sizeof *s);
  clarke_graph_init(&s->graph);
  clarke_profile_init(&s->profile);
  clarke_replay_init(&s->replay);
  clarke_audit_init(&s->audit);
  s->x = little_rows("x", net->x, net->samples, net->layer[0].n_in);
  s->y = little_rows("y", net->y, net->samples, net->layer[net->n_layers - 1].n_out);
  little_model(&m, net);
  OK(clarke_graph_build(&s->graph, &m, &s->x, &error));
  clarke_model_clear(&m);
  s->n_wrt = little_wrt(s->wrt, net);
  OK(clarke_graph_wrt(&s->graph, s->wrt, s->n_wrt, &error));
  ck_assert_uint_eq(clarke_graph_wrt_count(&s->graph), net->n_parameters);
  little_profile(s->text, sizeof s->text, net);
  OK(clarke_profile_parse(&s->profile, s->text, strlen(s->text), "drawn", &error));
  if (net->mse)
    loss = (clarke_loss){.kind = CLARKE_LOSS_MSE, .y = &s->y, .samples = net->samples};
  OK(clarke_loss_check(&loss, &s->graph, &error));
  OK(clarke_replay_run(&s->replay, NULL, &s->graph, &s->x, false, 1, &error));
  OK(clarke_question_init(&s->question, &s->replay, &s->profile, &loss, &error));
  OK(clarke_audit_run(&s->audit, &s->question, false, &error));
}

static void
session_end(session *s)
{
  clarke_audit_clear(&s->audit);
  clarke_question_clear(&s->question);
  clarke_replay_clear(&s->replay);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
  clarke_tensor_clear(&s->x);
  clarke_tensor_clear(&s->y);
  for (size_t k = 0; k < s->n_wrt; k++)
    free(s->wrt[k]);
}

static fraction
fraction_of(const mpq_t q)
{
  ck_assert(mpz_fits_slong_p(mpq_numref(q)) && mpz_fits_slong_p(mpq_denref(q)));
  return ratio(mpz_get_si(mpq_numref(q)), mpz_get_si(mpq_denref(q)));
}

/* The number of the first entry of the graph's parameter p among the wrt ones. */
static size_t
base_of(const clarke_graph *g, size_t p)
{
  size_t base = 0;

  for (size_t i = 0; i < p; i++)
    base += g->parameters[i].wrt ? g->parameters[i].count : 0;
  return base;
}

static void
way_of(passage *way, const clarke_cell *cell, const clarke_graph *g)
{
  ck_assert_uint_le(cell->n, sizeof way->d / sizeof way->d[0]);
  way->n = cell->n;
  for (size_t j = 0; j < cell->n; j++) {
    for (size_t i = 0; i < MOST_PARAMETERS; i++)
      way->d[j][i] = whole(0);
    for (size_t k = 0; k < cell->direction[j].n; k++) {
      const clarke_move *m = &cell->direction[j].move[k];
      const clarke_parameter *p = &g->parameters[m->parameter];

      ck_assert(p->wrt);
      for (size_t e = 0; e < p->count; e++) {
        fraction coef = fraction_of(m->coef), *to = &way->d[j][base_of(g, m->parameter) + e];

        if (m->kind == CLARKE_MOVE_COPY)
          coef = times(coef, whole((long)p->real[e]));
        if (m->kind != CLARKE_MOVE_AT || m->entry == e)
          *to = plus(*to, coef);
      }
    }
  }
}

/* The gradient near w along the cell's directions. */
static dual
cell_gradient(const little *net, const session *s, size_t cell)
{
  meeting met;
  passage way;
  dual f;

  way_of(&way, &s->audit.cell[cell], &s->graph);
  if (way.n == 0) { /* no kink moves: any direction */
    way.n = 1;
    for (size_t i = 0; i < net->n_parameters; i++)
      way.d[0][i] = whole(0);
  }
  f = little_loss(net, NULL, &way, &met);
  ck_assert(met.generic);
  return f;
}

static void
describe(const little *net, const session *s, const limits *l)
{
  fprintf(stderr, "%zu samples, %s, %zu parameters; verdict %s (%s)\n%s", net->samples,
          net->mse ? "mse" : "sum", net->n_parameters, clarke_verdict_name(s->audit.verdict),
          s->audit.why, s->text);
  for (size_t j = 0; j < net->samples; j++)
    fprintf(stderr, "x %ld %ld %ld y %ld %ld %ld\n", net->x[j][0], net->x[j][1], net->x[j][2],
            net->y[j][0], net->y[j][1], net->y[j][2]);
  for (size_t k = 0; k < net->n_layers; k++) {
    const little_layer *y = &net->layer[k];

    fprintf(stderr, "layer %s %zu -> %zu%s%s left %g clip %ld %ld W", act_name[y->act], y->n_in,
            y->n_out, y->tied ? " tied" : y->w_trains ? " W trains" : "", y->b_trains ? " b trains" : "",
            rounded(y->left), y->has_low ? y->low : -99, y->has_high ? y->high : 99);
    for (size_t i = 0; i < y->n_in; i++)
      for (size_t o = 0; o < y->n_out; o++)
        fprintf(stderr, " %ld", y->w[i][o]);
    for (size_t o = 0; y->has_bias && o < y->n_out; o++)
      fprintf(stderr, "%s %ld", o == 0 ? " b" : "", y->b[o]);
    fprintf(stderr, "\n");
  }
  for (size_t k = 0; l != NULL && k < l->n_limits; k++) {
    fprintf(stderr, "limit");
    for (size_t i = 0; i < l->n; i++)
      fprintf(stderr, " %g", rounded(l->limit[k][i]));
    fprintf(stderr, "\n");
  }
}

/* --- tests ----------------------------------------------------------------------------------- */

static dual
ad_gradient(const little *net, meeting *met)
{
  static const passage proxies = {.n = 0};

  return little_loss(net, NULL, &proxies, met);
}

#define CASES 6000
#define PROOFS 110

/* What may be said instead of the truth: a mix of cells that happens to be a limit (Theorem 4 does
 * not look), and nothing where an argument is constant by cancellation, which no rule of
 * docs/proof-format.md calls flat. */
static bool
allowed(const session *s, clarke_verdict truth, const limits *l)
{
  return s->audit.verdict == CLARKE_UNDECIDED
           ? l->resting
           : truth == CLARKE_IN_BOULIGAND && s->audit.evidence == CLARKE_EVIDENCE_MIX;
}

/* --- proofs ---------------------------------------------------------------------------------- */

/* The same network as files: clarke's verdict and proof; clarke-check's word. */
static void
check_proof(const little *net, const session *s)
{
  static const int statuses[] = {0, 0, 1, 3};
  clarke_model m;
  bytes profile = {NULL, 0};
  char names[64] = "";
  int found;

  little_model(&m, net);
  save_model(folder, "net.onnx", &m);
  clarke_model_clear(&m);
  save_batch(folder, "batch.npz", &s->x, &s->y);
  put_text(&profile, s->text);
  save_bytes(folder, "drawn.profile", &profile);
  for (size_t k = 0; k < s->n_wrt; k++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k > 0 ? "," : "",
             s->wrt[k]);
  found = run(CLARKE " audit net.onnx --batch batch.npz --loss %s --wrt %s "
              "--profile ./drawn.profile --proof proof > report 2>&1",
              net->mse ? "mse" : "sum", names);
  if (found == statuses[s->audit.verdict] &&
      (found == 3 || run(CHECKER " proof > checked") == 0))
    return;
  show("report proof checked");
  fprintf(stderr, "clarke exits with %d in %s: ", found, folder);
  describe(net, s, NULL);
  ck_abort();
}

START_TEST(proofs_of_little_networks_verify)
{
  uint64_t state = 3;
  size_t counts[4] = {0};

  make_folder("definition");
  for (size_t left = PROOFS; left > 0;) {
    little net;
    session s;

    draw_network(&net, &state, left % 2);
    session_begin(&s, &net);
    /* Untouched networks are many, and their proofs short: one in twenty. */
    if (s.replay.n_touches > 0 || draw_below(&state, 20) == 0) {
      counts[s.audit.verdict]++;
      check_proof(&net, &s);
      left--;
    }
    session_end(&s);
  }
  printf("proofs: verdicts %zu %zu %zu %zu\n", counts[0], counts[1], counts[2], counts[3]);
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_gt(counts[v], PROOFS / 30);
  remove_folder();
}
END_TEST

/* The papers' theorems are true: where one is said to hold, AD's gradient is where it says. Theorem 8, N-1 and the global system speak of
 * limits; the others of the Clarke set where proxies are between slopes. held: by theorem, of networks that touch a kink. */
static bool
theorems_are_true(size_t *held, const session *s, clarke_verdict truth)
{
  for (size_t i = 0; i < CLARKE_THEOREMS; i++) {
    const clarke_theorem *t = &s->audit.theorem[i];
    const bool of_limits = strcmp(t->name, "Theorem 8") == 0 || strcmp(t->name, "N-1") == 0 || strcmp(t->name, "global system") == 0;

    if (!t->applies || t->holds != CLARKE_YES)
      continue;
    held[i] += s->replay.n_touches > 0;
    if (of_limits ? truth != CLARKE_IN_BOULIGAND : truth == CLARKE_NOT_IN_CLARKE) {
      fprintf(stderr, "%s (%s) is not true: ", t->name, t->why);
      return false;
    }
  }
  return true;
}

START_TEST(piecewise_linear_verdicts_are_exact)
{
  static limits l;
  uint64_t state = 1;
  size_t counts[4] = {0}, touched = 0, mixed = 0, held[CLARKE_THEOREMS] = {0};

  for (size_t i = 0; i < CASES; i++) {
    little net;
    session s;
    meeting met;
    dual ad;
    clarke_verdict truth;

    draw_network(&net, &state, true);
    session_begin(&s, &net);
    ad = ad_gradient(&net, &met);
    all_limits(&l, &net, &state);
    ck_assert_uint_eq(met.touches, s.replay.n_touches);
    touched += met.touches > 0;
    truth = is_limit(&l, ad.g)                              ? CLARKE_IN_BOULIGAND
            : in_hull(l.limit, l.n_limits, ad.g, l.n) ? CLARKE_IN_CLARKE
                                                            : CLARKE_NOT_IN_CLARKE;
    counts[s.audit.verdict]++;
    mixed += s.audit.verdict == CLARKE_IN_CLARKE && truth == CLARKE_IN_BOULIGAND;
    if (!theorems_are_true(held, &s, truth) || (s.audit.verdict != truth && !allowed(&s, truth, &l))) {
      fprintf(stderr, "case %zu: expected %s: ", i, clarke_verdict_name(truth));
      describe(&net, &s, &l);
      ck_abort();
    }
    session_end(&s);
  }
  printf("piecewise linear: %zu touched; verdicts %zu %zu %zu %zu; mixes that are limits %zu\n",
         touched, counts[0], counts[1], counts[2], counts[3], mixed);
  for (size_t i = 0; i < CLARKE_THEOREMS; i++) {
    printf("theorem %zu holds of %zu that touch a kink\n", i, held[i]);
    ck_assert_uint_gt(held[i], CASES / 500);
  }
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_gt(counts[v], CASES / 100);
  ck_assert_uint_lt(counts[3], CASES / 50);
  ck_assert_uint_gt(touched, CASES / 5);
}
END_TEST

/* The gradients near w, along directions drawn. */
static void
draw_limits(limits *l, const little *net, uint64_t *state)
{
  memset(l, 0, sizeof *l);
  l->n = net->n_parameters;
  for (size_t k = 0; k < 200; k++) {
    passage way = {.n = 1};
    meeting met;
    dual f;

    for (size_t e = 0; e < l->n; e++)
      way.d[0][e] = whole(draw_between(state, -1000, 1000) * 2 + 1);
    f = little_loss(net, NULL, &way, &met);
    if (met.generic && !met.resting)
      add_vector(l->limit, &l->n_limits, f.g, l->n);
  }
}

/* In the compensation zone AD's gradient is the only one. */
static bool
compensates(const limits *l, const dual *ad)
{
  for (size_t k = 0; k < l->n_limits; k++)
    if (!same_vector(l->limit[k], ad->g, l->n))
      return false;
  return true;
}

/* Beyond first order: cells must be limits along their own directions, and nothing outside the
 * Clarke set may be among the limits found. */
START_TEST(other_verdicts_are_sound)
{
  static limits l;
  uint64_t state = 2;
  size_t counts[4] = {0}, touched = 0, compensations = 0;

  for (size_t i = 0; i < CASES / 2; i++) {
    little net;
    session s;
    meeting met;
    dual ad;
    static fraction cell[1024][MOST_PARAMETERS];
    bool right = true, cells;

    draw_network(&net, &state, false);
    session_begin(&s, &net);
    ad = ad_gradient(&net, &met);
    ck_assert_uint_eq(met.touches, s.replay.n_touches);
    touched += met.touches > 0;
    counts[s.audit.verdict]++;
    cells = s.audit.verdict < CLARKE_NOT_IN_CLARKE && s.audit.evidence != CLARKE_EVIDENCE_COMPENSATION;
    for (size_t c = 0; c < s.audit.n_cells && cells; c++)
      memcpy(cell[c], cell_gradient(&net, &s, c).g, sizeof cell[c]);
    if (s.audit.verdict == CLARKE_IN_BOULIGAND && cells)
      right = s.audit.n_cells == 1 && same_vector(cell[0], ad.g, net.n_parameters);
    else if (s.audit.verdict == CLARKE_IN_CLARKE)
      right = in_hull(cell, s.audit.n_cells, ad.g, net.n_parameters);
    memset(&l, 0, sizeof l);
    if (s.audit.verdict == CLARKE_NOT_IN_CLARKE || s.audit.zone.zone == CLARKE_ZONE_COMPENSATION)
      draw_limits(&l, &net, &state);
    if (s.audit.verdict == CLARKE_NOT_IN_CLARKE)
      right = !is_limit(&l, ad.g) && (l.n_limits == 0 || !in_hull(l.limit, l.n_limits, ad.g, l.n));
    if (s.audit.zone.zone == CLARKE_ZONE_COMPENSATION)
      right = right && s.audit.verdict == CLARKE_IN_BOULIGAND && compensates(&l, &ad);
    compensations += s.audit.zone.zone == CLARKE_ZONE_COMPENSATION && l.n_limits > 0;
    if (!right) {
      fprintf(stderr, "case %zu: ", i);
      describe(&net, &s, &l);
      ck_abort();
    }
    session_end(&s);
  }
  printf("others: %zu touched, %zu of which compensate; verdicts %zu %zu %zu %zu\n", touched, compensations, counts[0],
         counts[1], counts[2], counts[3]);
  ck_assert_uint_gt(compensations, CASES / 200);
  for (size_t v = 0; v < 3; v++)
    ck_assert_uint_gt(counts[v], CASES / 200);
  ck_assert_uint_gt(touched, CASES / 10);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("audit-definition");

  tcase_add_test(tcase, piecewise_linear_verdicts_are_exact);
  tcase_add_test(tcase, other_verdicts_are_sound);
  tcase_add_test(tcase, proofs_of_little_networks_verify);
  return run_tests();
}
