/* clarke step: what a rule makes of a state and gradients, exactly. */
#include "step_lbfgs.h"
#include "step_proof.h"
#include "step_report.h"
#include "step_run.h"

#include "base/stop.h"
#include "command.h"
#include "failed.h"
#include "exact/literal.h"
#include "session/json.h"
#include "summary.h"
#include "watch.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  OPTION_STATE = 256, OPTION_GRADIENT, OPTION_EPS_PLACE, OPTION_DECAY, OPTION_NESTEROV, OPTION_PRECONDITIONED,
  OPTION_AGAINST, OPTION_WITHIN, OPTION_RULE, OPTION_STEP, OPTION_OPTIMIZER,
  OPTION_GAMMA, OPTION_NO_NESTEROV, OPTION_ADJUST, OPTION_LINE_SEARCH, OPTION_HYPER = 512, /* and on */
};

#define MOST_GRADIENTS 4096

typedef struct {
  const char *rule, *state, *against, *within, *proof, *hyper[CLARKE_N_HYPERS];
  size_t n_gradients;
  const char **gradient;
  clarke_eps_place place;
  clarke_decay_kind decay;
  bool nesterov, plain, matches, searches, preconditioned, json, is_run;
  clarke_step_request run; /* is_run: the rule is a folder's name */
  clarke_watch_limits watch;
} request;

static const struct argp_option options[] = {
  {"state", OPTION_STATE, "FILE", 0, "theta, k, and what the rule has beside it: psi, m, v (docs/step.md)", 0},
  {"gradient", OPTION_GRADIENT, "FILE", 0, "the gradient of a step; several are several steps", 0},
  {"alpha", OPTION_HYPER + CLARKE_HYPER_ALPHA, "Q", 0, "damping of inna and what is made of it", 0},
  {"beta", OPTION_HYPER + CLARKE_HYPER_BETA, "Q", 0, "the other one", 0},
  {"gamma", OPTION_GAMMA, "Q", 0, "the step size", 0},
  {"eta", OPTION_HYPER + CLARKE_HYPER_STEP, "Q", 0, "the same", 0},
  {"sigma", OPTION_HYPER + CLARKE_HYPER_SIGMA, "Q", 0, "of the average of squared gradients (beta_2)", 0},
  {"momentum", OPTION_HYPER + CLARKE_HYPER_MOMENTUM, "Q", 0, "of the average of gradients (beta_1)", 0},
  {"dampening", OPTION_HYPER + CLARKE_HYPER_DAMPENING, "Q", 0, "of torch-sgd", 0},
  {"momentum-decay", OPTION_HYPER + CLARKE_HYPER_MOMENTUM_DECAY, "Q", 0, "of nadam and torch-nadam (0.004)", 0},
  {"lambd", OPTION_HYPER + CLARKE_HYPER_LAMBD, "Q", 0, "of torch-asgd, whose power is --alpha (1e-4)", 0},
  {"t0", OPTION_HYPER + CLARKE_HYPER_T0, "Q", 0, "of torch-asgd: from that step on it averages (1e6)", 0},
  {"eta-minus", OPTION_HYPER + CLARKE_HYPER_ETA_MINUS, "Q", 0, "of torch-rprop: the factor where signs differ (0.5)", 0},
  {"eta-plus", OPTION_HYPER + CLARKE_HYPER_ETA_PLUS, "Q", 0, "of torch-rprop: where they agree (1.2)", 0},
  {"size-min", OPTION_HYPER + CLARKE_HYPER_SIZE_MIN, "Q", 0, "of torch-rprop: the least step (1e-6)", 0},
  {"size-max", OPTION_HYPER + CLARKE_HYPER_SIZE_MAX, "Q", 0, "of torch-rprop: the largest one (50)", 0},
  {"beta2-decay", OPTION_HYPER + CLARKE_HYPER_BETA2_DECAY, "Q", 0, "of torch-adafactor: what is new weighs t^Q in step t (-0.8)", 0},
  {"eps2", OPTION_HYPER + CLARKE_HYPER_EPS2, "Q", 0, "of torch-adafactor: the least size of theta that steps are made of (0.001)", 0},
  {"clip", OPTION_HYPER + CLARKE_HYPER_CLIP, "Q", 0, "of torch-adafactor: d, the size from which a step is clipped (1)", 0},
  {"ns-a", OPTION_HYPER + CLARKE_HYPER_NS_A, "Q", 0, "of torch-muon, whose polynomial is a x + b x^3 + c x^5 (3.4445)", 0},
  {"ns-b", OPTION_HYPER + CLARKE_HYPER_NS_B, "Q", 0, "the same (-4.775)", 0},
  {"ns-c", OPTION_HYPER + CLARKE_HYPER_NS_C, "Q", 0, "the same (2.0315)", 0},
  {"ns-steps", OPTION_HYPER + CLARKE_HYPER_NS_STEPS, "N", 0, "of torch-muon: how often that is applied (5)", 0},
  {"max-iter", OPTION_HYPER + CLARKE_HYPER_MAX_ITER, "N", 0, "of torch-lbfgs: the most iterations of a step (20)", 0},
  {"max-eval", OPTION_HYPER + CLARKE_HYPER_MAX_EVAL, "N", 0, "of torch-lbfgs: a step ends that has evaluated so often (5/4 of --max-iter)", 0},
  {"tolerance-grad", OPTION_HYPER + CLARKE_HYPER_TOLERANCE_GRAD, "Q", 0, "of torch-lbfgs: it ends where no gradient is larger (1e-7)", 0},
  {"tolerance-change", OPTION_HYPER + CLARKE_HYPER_TOLERANCE_CHANGE, "Q", 0, "of torch-lbfgs: where theta, or the loss, changes by less (1e-9)", 0},
  {"history-size", OPTION_HYPER + CLARKE_HYPER_HISTORY_SIZE, "N", 0, "of torch-lbfgs: so many pairs make the direction (100)", 0},
  {"line-search", OPTION_LINE_SEARCH, "HOW", 0, "of torch-lbfgs: none, or strong_wolfe (none)", 0},
  {"adjust", OPTION_ADJUST, "HOW", 0, "of torch-muon: original, or match_rms_adamw (original)", 0},
  {"eps", OPTION_HYPER + CLARKE_HYPER_EPS, "Q", 0, "beside the root", 0},
  {"eps-place", OPTION_EPS_PLACE, "WHERE", 0, "inside the root or outside (the rule's)", 0},
  {"weight-decay", OPTION_HYPER + CLARKE_HYPER_DECAY, "Q", 0, "lambda", 0},
  {"decay", OPTION_DECAY, "KIND", 0, "coupled, part of the gradient, or decoupled (the rule's)", 0},
  {"nesterov", OPTION_NESTEROV, NULL, 0, "of torch-sgd", 0},
  {"no-nesterov", OPTION_NO_NESTEROV, NULL, 0, "of torch-muon, which has it else", 0},
  {"preconditioned", OPTION_PRECONDITIONED, NULL, 0, "the gradients are divided by their roots already: v is not used", 0},
  {"against", OPTION_AGAINST, "FILE", 0, "the state after the last step: is it the rule's?", 0},
  {"within", OPTION_WITHIN, "Q", 0, "with --against: no entry is farther from the rule's than this (0)", 0},
  {"proof", 'p', "FILE", 0, "write a proof of the state after the last step, which clarke-check verifies", 0},
  {"rule", OPTION_RULE, "RULE", 0, "of a run folder: is the step this rule's? (the optimizer's own)", 0},
  {"step", OPTION_STEP, "N", 0, "of a run folder, the step with that number (the first)", 0},
  {"optimizer", OPTION_OPTIMIZER, "N", 0, "of several optimizers of a recorded step, and averages, that with the number N, from 0 on (all)", 0},
  {"json", 'j', NULL, 0, "print one JSON object", 0},
  CLARKE_OPTIONS_OF_WATCH,
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] =
  "What does a rule make of parameters, a state and gradients? Computes steps of optimizers exactly, by the papers' rules and by the "
  "frameworks', which are others. Roots are enclosed, and printed to the digits that are certain. Of a run folder: is the step that the "
  "optimizer made its rule's?"
  "\vExamples:\n"
  "  clarke step run/ --step 3\n"
  "  clarke step list\n"
  "  clarke step momentum --state state.json --gradient g1.json --gradient g2.json --eta 1/10 --momentum 0.9\n"
  "  clarke step torch-adam --state before.npz --gradient g.npz --eta 0.001 --against after.npz --within 1e-9\n"
  "  clarke step inna --state s.json --gradient g.json --eta 1/10 --alpha 2 --beta 2 --proof inna.proof\n\n"
  "Exit status: 0 computed (--against, or a run folder: every entry is the rule's, or within the bound), 1 some is not (the first is "
  "shown), 2 the question could not be asked, 3 that is undecided.";

static void
take_gradient(request *q, const char *arg, const struct argp_state *state)
{
  const char **grown;

  if (q->n_gradients == MOST_GRADIENTS)
    argp_error(state, "--gradient: more than %d steps", MOST_GRADIENTS);
  grown = realloc(q->gradient, (q->n_gradients + 1) * sizeof *grown);
  if (grown == NULL)
    argp_failure(state, EXIT_NOT_ASKED, 0, "out of memory");
  else {
    q->gradient = grown;
    q->gradient[q->n_gradients++] = arg;
  }
}

static void
take_hyper(request *q, size_t which, const char *arg, const struct argp_state *state)
{
  if (which == CLARKE_HYPER_STEP && q->hyper[which] != NULL)
    argp_error(state, "--eta and --gamma are one: the step size");
  q->hyper[which] = arg;
}

/* One of two words. */
static int
take_word(const char *arg, const char *first, const char *second, const char *option, const struct argp_state *state)
{
  if (strcmp(arg, first) != 0 && strcmp(arg, second) != 0)
    argp_error(state, "--%s: '%s' is neither %s nor %s", option, arg, first, second);
  return strcmp(arg, first) == 0 ? 1 : 2;
}

static bool
is_folder(const char *path)
{
  struct stat s;

  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* What is asked of a folder is in it. */
static void
check_run(const request *q, const struct argp_state *state)
{
  bool given = q->state != NULL || q->n_gradients > 0 || q->against != NULL || q->within != NULL || q->nesterov || q->plain || q->matches || q->searches || q->preconditioned
               || q->place != CLARKE_EPS_OF_RULE || q->decay != CLARKE_DECAY_OF_RULE;

  for (int k = 0; k < CLARKE_N_HYPERS; k++)
    given = given || q->hyper[k] != NULL;
  if (given)
    argp_error(state, "a run folder has the state, the gradient and the settings; only --rule, --step, --optimizer and --proof go with it");
}

static void
check_request(const request *q, const struct argp_state *state)
{
  if (q->rule == NULL)
    argp_error(state, "a rule is needed; clarke step list has them");
  if (q->is_run) {
    check_run(q, state);
    return;
  }
  if (q->run.rule != NULL || q->run.step != CLARKE_NONE || q->run.which != CLARKE_NONE)
    argp_error(state, "--rule, --step and --optimizer go with a run folder; '%s' is none", q->rule);
  if (strcmp(q->rule, "list") == 0)
    return;
  if (q->state == NULL || q->n_gradients == 0)
    argp_error(state, "--state FILE and --gradient FILE are needed");
  if (q->within != NULL && q->against == NULL)
    argp_error(state, "--within goes with --against");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  request *q = state->input;
  const clarke_shared_options shared = {.json = &q->json, .proof = &q->proof};

  if (clarke_take_shared(key, arg, state, &shared) || clarke_watch_take(key, arg, state, &q->watch))
    return 0;
  if (key >= OPTION_HYPER && key < OPTION_HYPER + CLARKE_N_HYPERS) {
    take_hyper(q, (size_t)(key - OPTION_HYPER), arg, state);
    return 0;
  }
  switch (key) {
  case OPTION_STATE:
    q->state = arg;
    return 0;
  case OPTION_GRADIENT:
    take_gradient(q, arg, state);
    return 0;
  case OPTION_GAMMA:
    take_hyper(q, CLARKE_HYPER_STEP, arg, state);
    return 0;
  case OPTION_EPS_PLACE:
    q->place = (clarke_eps_place)take_word(arg, "inside", "outside", "eps-place", state);
    return 0;
  case OPTION_DECAY:
    q->decay = (clarke_decay_kind)take_word(arg, "coupled", "decoupled", "decay", state);
    return 0;
  case OPTION_NESTEROV:
    q->nesterov = true;
    return 0;
  case OPTION_NO_NESTEROV:
    q->plain = true;
    return 0;
  case OPTION_ADJUST:
    q->matches = take_word(arg, "original", "match_rms_adamw", "adjust", state) == 2;
    return 0;
  case OPTION_LINE_SEARCH:
    q->searches = take_word(arg, "none", "strong_wolfe", "line-search", state) == 2;
    return 0;
  case OPTION_PRECONDITIONED:
    q->preconditioned = true;
    return 0;
  case OPTION_AGAINST:
    q->against = arg;
    return 0;
  case OPTION_WITHIN:
    q->within = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (q->rule != NULL)
      argp_error(state, "one rule is expected");
    q->rule = arg;
    q->is_run = is_folder(arg);
    q->run.folder = arg;
    return 0;
  case OPTION_RULE:
    q->run.rule = arg;
    return 0;
  case OPTION_STEP:
    q->run.step = clarke_read_step(arg, state);
    return 0;
  case OPTION_OPTIMIZER:
    if (*arg < '0' || *arg > '9' || strspn(arg, "0123456789") != strlen(arg) || strlen(arg) > 9)
      argp_error(state, "--optimizer: '%s' is no number", arg);
    q->run.which = strtoul(arg, NULL, 10);
    return 0;
  case ARGP_KEY_END:
    check_request(q, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* --- the list ------------------------------------------------------------------------------------------------ */

static clarke_status
print_list(bool json, clarke_error *err)
{
  json_t *list = json_array(), *j = json_object();

  for (size_t i = 0; clarke_rule_at(i) != NULL; i++) {
    const clarke_rule *r = clarke_rule_at(i);
    json_t *one = json_object();

    if (!json)
      printf("%-18s %-38s %s\n", r->name, r->where, r->says);
    clarke_json_set(&one, "name", json_string(r->name));
    clarke_json_set(&one, "where", json_string(r->where));
    clarke_json_set(&one, "says", json_string(r->says));
    clarke_json_append(&list, one);
  }
  clarke_json_set(&j, "rules", list);
  if (json)
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  json_decref(j);
  return CLARKE_OK;
}

/* --- the steps ------------------------------------------------------------------------------------------------- */

typedef struct {
  const clarke_rule *rule;
  clarke_hypers hypers;
  clarke_step_vectors state, against;
  clarke_step_shape shape; /* theta's */
  size_t n, k; /* entries; steps that were made, with those of the state */
  bool scalar;
  clarke_step_entry *entry; /* number i of a slot is in entry i, also where a slot has fewer */
  mpq_t within;
  json_t *steps;
  clarke_text proof, told; /* told: behind the three lines */
  size_t compared;
  int answer;
} work;

static clarke_status
set_hypers(work *w, const request *q, clarke_error *err)
{
  for (int k = 0; k < CLARKE_N_HYPERS; k++) {
    w->hypers.given[k] = q->hyper[k] != NULL;
    if (q->hyper[k] != NULL && !clarke_literal_parse(w->hypers.of[k], q->hyper[k]))
      return clarke_fail(err, CLARKE_EINPUT, "--%s: '%s' is no number; expected an exact one, such as 9/10 or 0.9",
                         clarke_hyper_name((clarke_hyper)k), q->hyper[k]);
  }
  if (q->within != NULL && (!clarke_literal_parse(w->within, q->within) || mpq_sgn(w->within) < 0))
    return clarke_fail(err, CLARKE_EINPUT, "--within: '%s' is no number from 0 on", q->within);
  w->hypers.place = q->place;
  w->hypers.decay = q->decay;
  w->hypers.nesterov = q->nesterov;
  w->hypers.plain = q->plain;
  w->hypers.matches = q->matches;
  w->hypers.searches = q->searches;
  w->hypers.preconditioned = q->preconditioned;
  return clarke_rule_check(&w->hypers, w->rule, err);
}

static clarke_status
check_names(const work *w, clarke_error *err)
{
  for (size_t i = 0; i < w->state.n; i++) {
    const char *name = w->state.vector[i].name;
    bool known = strcmp(name, "theta") == 0 || strcmp(name, "k") == 0;

    for (int s = 0; s < CLARKE_N_SLOTS; s++)
      known = known || (w->rule->slot[s] && strcmp(name, clarke_slot_names[s]) == 0);
    if (!known)
      return clarke_fail(err, CLARKE_EINPUT, "%s: %s has no '%s' in its state", w->state.file, w->rule->name, name);
  }
  return CLARKE_OK;
}

/* Has the state that slot (-1: theta)? */
static bool
has(const work *w, int s)
{
  return clarke_rule_has(w->rule, &w->hypers, s) && clarke_shape_has(&w->shape, w->rule, s);
}

static clarke_status
take_slot(work *w, int s, clarke_error *err)
{
  const clarke_step_vector *v = clarke_step_vectors_find(&w->state, clarke_slot_names[s]);
  const size_t n = clarke_shape_count(&w->shape, s);

  if (v != NULL && w->rule->slot[s] && !clarke_shape_has(&w->shape, w->rule, s))
    return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is there, and theta has %zu axes; %s has v of vectors, row and col of others", w->state.file,
                       clarke_slot_names[s], w->shape.rank, w->rule->name);
  if (!has(w, s))
    return CLARKE_OK;
  if (v == NULL && w->k > 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: '%s' is missing; %s has it after %zu steps", w->state.file, clarke_slot_names[s],
                       w->rule->name, w->k);
  if (v != NULL && v->n != n)
    return clarke_fail(err, CLARKE_EINPUT, n == w->n ? "%s: '%s' has %zu entries, theta has %zu" : "%s: '%s' has %zu entries, it should have %zu",
                       w->state.file, clarke_slot_names[s], v->n, n);
  for (size_t i = 0; v != NULL && i < n; i++) {
    if ((s == CLARKE_SLOT_V || s == CLARKE_SLOT_U || s >= CLARKE_SLOT_ROW) && clarke_number_sign(&v->x[i]) < 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: entry %zu of '%s' is below 0", w->state.file, i, clarke_slot_names[s]);
    clarke_number_set(&w->entry[i].slot[s], &v->x[i]);
  }
  return CLARKE_OK;
}

static clarke_status
read_state(work *w, const request *q, clarke_error *err)
{
  const clarke_step_vector *theta;
  clarke_status status = clarke_step_vectors_read(&w->state, q->state, "theta", err);

  theta = status == CLARKE_OK ? clarke_step_vectors_find(&w->state, "theta") : NULL;
  if (status == CLARKE_OK && theta == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: 'theta' is missing", w->state.file);
  if (status == CLARKE_OK)
    status = check_names(w, err);
  if (status == CLARKE_OK)
    status = clarke_step_vectors_count(&w->k, &w->state, err);
  if (status != CLARKE_OK)
    return status;
  w->scalar = theta->scalar;
  w->shape = theta->shape;
  status = clarke_shape_check(&w->shape, w->rule, err);
  if (status != CLARKE_OK)
    return clarke_fail_in(err, status, "%s", w->state.file);
  w->entry = calloc(theta->n + 1, sizeof *w->entry);
  if (w->entry == NULL)
    return clarke_no_memory(err);
  for (; w->n < theta->n; w->n++) {
    clarke_step_entry_init(&w->entry[w->n]);
    clarke_number_set(&w->entry[w->n].theta, &theta->x[w->n]);
    clarke_rule_begin(&w->entry[w->n], w->rule, &w->hypers);
  }
  for (int s = 0; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++)
    status = take_slot(w, s, err);
  return status;
}

static void
swap(clarke_number *a, clarke_number *b)
{
  const clarke_number other = *a;

  *a = *b;
  *b = other;
}

/* Into the tensor, or back. */
static void
swap_numbers(work *w, clarke_step_whole *of)
{
  for (size_t i = 0; i < w->n; i++)
    swap(&w->entry[i].theta, &of->theta[i]);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    for (size_t i = 0; of->slot[s] != NULL && i < clarke_shape_count(&w->shape, s); i++)
      swap(&w->entry[i].slot[s], &of->slot[s][i]);
}

static clarke_status
step_whole(work *w, const clarke_number *g, clarke_error *err)
{
  clarke_step_whole of;
  clarke_status status = clarke_whole_init(&of, &w->shape, w->rule, err);

  if (status == CLARKE_OK) {
    swap_numbers(w, &of);
    status = clarke_whole_step(&of, w->rule, g, &w->hypers, w->k, err);
    swap_numbers(w, &of);
  }
  clarke_whole_clear(&of);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "%s: step %zu", w->rule->name, w->k);
}

static clarke_status
make_step(work *w, const char *path, clarke_error *err)
{
  clarke_step_vectors file = {.n = 0};
  const clarke_step_vector *g = NULL;
  clarke_status status = clarke_step_vectors_read(&file, path, "g", err);

  if (status == CLARKE_OK)
    status = clarke_step_vectors_gradient(&g, &file, err);
  if (status == CLARKE_OK && g->n != w->n)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: the gradient has %zu entries, theta has %zu", file.file, g->n, w->n);
  if (status == CLARKE_OK && w->rule->whole != NULL && g->shape.rank > 1 && (g->shape.rows != w->shape.rows || g->shape.cols != w->shape.cols))
    status = clarke_fail(err, CLARKE_EINPUT, "%s: the gradient is %zu x %zu, theta %zu x %zu", file.file, g->shape.rows, g->shape.cols, w->shape.rows,
                         w->shape.cols);
  if (status == CLARKE_OK && w->proof.to != NULL)
    clarke_step_proof_gradient(&w->proof, g->x, g->n);
  if (status == CLARKE_OK && w->rule->whole != NULL)
    status = step_whole(w, g->x, err);
  for (size_t i = 0; i < w->n && status == CLARKE_OK && w->rule->whole == NULL; i++) {
    status = clarke_rule_step(&w->entry[i], w->rule, &g->x[i], &w->hypers, w->k, err);
    if (status != CLARKE_OK)
      status = clarke_fail_in(err, status, "%s: step %zu, entry %zu", w->rule->name, w->k, i);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  w->k++;
  clarke_step_vectors_clear(&file);
  return status;
}

/* --- what was found -------------------------------------------------------------------------------------------------- */

/* slot -1: theta. */
static const clarke_number *
number_at(const work *w, int slot, size_t i)
{
  return slot < 0 ? &w->entry[i].theta : &w->entry[i].slot[slot];
}

static json_t *
vector_json(const work *w, int slot)
{
  json_t *list = json_array();

  for (size_t i = 0; i < clarke_shape_count(&w->shape, slot); i++) {
    char *text = clarke_number_text(number_at(w, slot, i));

    if (w->scalar) {
      json_decref(list);
      list = json_string(text);
    } else
      clarke_json_append(&list, json_string(text));
    free(text);
  }
  return list;
}

static void
set_state(json_t **j, const work *w)
{
  clarke_json_set(j, "k", json_integer((json_int_t)w->k));
  for (int s = -1; s < CLARKE_N_SLOTS; s++)
    if (has(w, s))
      clarke_json_set(j, s < 0 ? "theta" : clarke_slot_names[s], vector_json(w, s));
}

static clarke_status
put_state(FILE *to, const work *w, clarke_error *err)
{
  fprintf(to, "after step %zu\n", w->k);
  for (int s = -1; s < CLARKE_N_SLOTS; s++) {
    if (!has(w, s))
      continue;
    fprintf(to, "  %-6s", s < 0 ? "theta" : clarke_slot_names[s]);
    for (size_t i = 0; i < clarke_shape_count(&w->shape, s); i++) {
      char *text = clarke_number_text(number_at(w, s, i));

      if (text == NULL)
        return clarke_no_memory(err);
      fprintf(to, " %s", text);
      free(text);
    }
    putc('\n', to);
  }
  return CLARKE_OK;
}

static clarke_status
tell(work *w, int answer, int slot, size_t i, const clarke_number *other, clarke_error *err)
{
  char *texts[2] = {clarke_number_text(number_at(w, slot, i)), clarke_number_text(other)};
  const bool are = texts[0] != NULL && texts[1] != NULL;

  w->answer = answer;
  if (are)
    fprintf(w->told.to, "%s: entry %zu of %s is %s, by the rule %s\n", answer == EXIT_FAILS ? "not the rule's" : "undecided", i,
            slot < 0 ? "theta" : clarke_slot_names[slot], texts[1], texts[0]);
  free(texts[0]);
  free(texts[1]);
  return are ? CLARKE_OK : clarke_no_memory(err);
}

/* Entries of the file that the rule has, one after another, up to the first that is not the rule's. */
static clarke_status
compare(work *w, const request *q, json_t **j, clarke_error *err)
{
  clarke_status status = clarke_step_vectors_read(&w->against, q->against, "theta", err);

  for (int s = -1; s < CLARKE_N_SLOTS && status == CLARKE_OK; s++) {
    const char *name = s < 0 ? "theta" : clarke_slot_names[s];
    const clarke_step_vector *v = has(w, s) ? clarke_step_vectors_find(&w->against, name) : NULL;
    const size_t n = clarke_shape_count(&w->shape, s);

    if (v != NULL && v->n != n)
      status = clarke_fail(err, CLARKE_EINPUT, n == w->n ? "%s: '%s' has %zu entries, theta has %zu" : "%s: '%s' has %zu entries, it should have %zu",
                           w->against.file, name, v->n, n);
    for (size_t i = 0; v != NULL && status == CLARKE_OK && i < n && w->answer == EXIT_HOLDS; i++, w->compared++) {
      const int is = clarke_step_is_within(number_at(w, s, i), &v->x[i], w->within);

      if (is != 1)
        status = tell(w, is == 0 ? EXIT_FAILS : EXIT_UNDECIDED, s, i, &v->x[i], err);
    }
  }
  if (status == CLARKE_OK && w->compared == 0 && w->answer == EXIT_HOLDS && w->n > 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no 'theta', and nothing else of %s's state", w->against.file, w->rule->name);
  clarke_json_set(j, "agrees", w->answer == EXIT_UNDECIDED ? json_null() : json_boolean(w->answer == EXIT_HOLDS));
  return status;
}

static clarke_step_state
state_of(const work *w)
{
  return (clarke_step_state){.rule = w->rule, .hypers = &w->hypers, .shape = &w->shape, .n = w->n, .k = w->k, .entry = w->entry};
}

static clarke_status
make_steps(work *w, const request *q, clarke_error *err)
{
  clarke_step_state state = state_of(w);
  clarke_status status = q->proof != NULL ? clarke_step_proof_begin(&w->proof, &state, q->n_gradients, err) : CLARKE_OK;

  clarke_work_begin("steps", q->n_gradients);
  for (size_t i = 0; i < q->n_gradients && status == CLARKE_OK; i++) {
    json_t *j = json_object();

    status = make_step(w, q->gradient[i], err);
    clarke_watch_hide(true);
    if (status == CLARKE_OK)
      status = put_state(w->told.to, w, err);
    if (status == CLARKE_OK)
      set_state(&j, w);
    clarke_json_append(&w->steps, j);
    clarke_work_done();
  }
  state = state_of(w);
  return clarke_step_proof_save(&w->proof, &state, status, q->proof, err);
}

/* --- three lines ------------------------------------------------------------------------------------------------------ */

static clarke_status
tell_summary(const work *w, const request *q, clarke_error *err)
{
  const clarke_step_answered a = {.rule = w->rule, .state = w->state.file, .against = q->against != NULL ? w->against.file : NULL, .within = q->within,
                                  .proof = q->proof, .steps = q->n_gradients, .n = w->n, .k = w->k, .compared = w->compared, .answer = w->answer,
                                  .theta = w->n > 0 ? &w->entry[0].theta : NULL};

  return clarke_step_tell(&a, err);
}

static clarke_status
print(work *w, const request *q, clarke_error *err)
{
  clarke_status status = clarke_text_close(&w->told, CLARKE_OK, err);

  if (status == CLARKE_OK)
    status = tell_summary(w, q, err);
  if (status == CLARKE_OK)
    fputs(w->told.text, stdout);
  return status;
}

static clarke_status
ask(work *w, const request *q, clarke_error *err)
{
  clarke_status status = clarke_text_open(&w->told, err);

  if (status == CLARKE_OK)
    status = set_hypers(w, q, err);
  if (status == CLARKE_OK)
    status = read_state(w, q, err);
  return status == CLARKE_OK ? make_steps(w, q, err) : status;
}

/* A rule whose steps evaluate where they go. */
static clarke_status
answer_evaluating(work *w, const request *q, clarke_error *err)
{
  const clarke_lbfgs_request of = {.hypers = &w->hypers, .state = q->state, .against = q->against, .within = q->within, .proof = q->proof, .bound = w->within,
                                   .n_gradients = q->n_gradients, .gradient = q->gradient, .json = q->json};
  const clarke_status status = set_hypers(w, q, err);

  return status == CLARKE_OK ? clarke_step_lbfgs(&w->answer, &of, err) : status;
}

static clarke_status
answer(work *w, const request *q, clarke_error *err)
{
  json_t *j = json_object();
  clarke_status status = CLARKE_OK;

  w->rule = clarke_rule_find(q->rule);
  if (w->rule == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "there is no rule '%s'; clarke step list has all of them", q->rule);
  if (status == CLARKE_OK && w->rule->evaluates) {
    json_decref(j);
    return answer_evaluating(w, q, err);
  }
  if (status == CLARKE_OK)
    status = ask(w, q, err);
  if (status == CLARKE_OK && q->against != NULL)
    status = compare(w, q, &j, err);
  if (status == CLARKE_OK) {
    clarke_json_set(&j, "rule", json_string(w->rule->name));
    set_state(&j, w);
    clarke_json_set(&j, "steps", json_incref(w->steps));
  }
  if (status == CLARKE_OK && q->json)
    return clarke_json_print(stdout, j, JSON_INDENT(2), "\n", err);
  json_decref(j);
  return status == CLARKE_OK ? print(w, q, err) : status;
}

static void
work_clear(work *w)
{
  for (size_t i = 0; i < w->n; i++)
    clarke_step_entry_clear(&w->entry[i]);
  free(w->entry);
  clarke_step_vectors_clear(&w->state);
  clarke_step_vectors_clear(&w->against);
  clarke_hypers_clear(&w->hypers);
  mpq_clear(w->within);
  json_decref(w->steps);
  clarke_text_clear(&w->told);
}

int
clarke_command_step(int argc, char **argv)
{
  static char name[] = "clarke step";
  struct argp argp = {options, parse, "RULE --state FILE --gradient FILE...\nRUN\nlist", doc, NULL, NULL, NULL};
  request q = {.run = {.step = CLARKE_NONE, .which = CLARKE_NONE}};
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status;
  work w = {.answer = EXIT_HOLDS, .steps = json_array()};

  clarke_read_arguments(&q, &argp, name, argc, argv, 0);
  clarke_hypers_init(&w.hypers);
  mpq_init(w.within);
  clarke_watch_begin(&q.watch);
  q.run.json = q.json;
  q.run.proof = q.proof;
  status = q.is_run ? clarke_step_run(&w.answer, &q.run, &err) : strcmp(q.rule, "list") == 0 ? print_list(q.json, &err) : answer(&w, &q, &err);
  clarke_watch_end();
  if (status != CLARKE_OK)
    w.answer = clarke_failed("step", q.json, &err);
  work_clear(&w);
  free(q.gradient);
  return w.answer;
}
