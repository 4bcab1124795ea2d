#include <stdio.h> /* before gmp.h, for mpq_out_str */

#include "proof/write.h"
#include "proof/text.h"
#include "proof/write_tree.h"
#include "base/verify.h"
#include "network/pass/fingerprint.h"
#include "op/surrogate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  FILE *out;
  const clarke_question *q;
  const clarke_audit *a;
} writer;

static void
put_name(writer *w, const char *name)
{
  clarke_proof_put_name(w->out, name);
}

static void
put_rational(writer *w, const mpq_t q)
{
  mpq_out_str(w->out, 10, q);
}

void
clarke_proof_put_input(FILE *out, const char *word, const clarke_proof_input *input)
{
  if (input->name != NULL)
    clarke_proof_put_file(out, word, input->name, input->sha256);
  if (input->output == NULL)
    return;
  fputs("output ", out);
  clarke_proof_put_name(out, input->output);
  fputc('\n', out);
}

/* --- the statement --- */

typedef struct {
  const clarke_op *op;
  size_t kink;
} proxy_line;

static int
compare_proxy_lines(const void *a, const void *b)
{
  const proxy_line *x = a, *y = b;
  int order = strcmp(x->op->name, y->op->name);

  return order != 0 ? order : x->kink < y->kink ? -1 : x->kink > y->kink;
}

/* The kinks of the operators in the model, each operator once. */
static size_t
collect_proxies(proxy_line *line, const clarke_graph *g)
{
  size_t n = 0, kept = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; g->steps[i].kind == CLARKE_PIECEWISE && k < g->steps[i].op->n_kinks; k++)
      line[n++] = (proxy_line){g->steps[i].op, k};
  qsort(line, n, sizeof *line, compare_proxy_lines);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || compare_proxy_lines(&line[kept - 1], &line[i]) != 0)
      line[kept++] = line[i];
  return kept;
}

/* The operator with windows whose name comes next after that of `last` (NULL: the first). */
static const clarke_op *
next_windows(const clarke_graph *g, const clarke_op *last)
{
  const clarke_op *next = NULL;

  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_op *op = g->steps[i].op;

    if (g->steps[i].kind == CLARKE_MAX && (last == NULL || strcmp(op->name, last->name) > 0) &&
        (next == NULL || strcmp(op->name, next->name) < 0))
      next = op;
  }
  return next;
}

static void
put_ties(writer *w)
{
  const clarke_graph *g = w->q->g;

  for (const clarke_op *op = next_windows(g, NULL); op != NULL; op = next_windows(g, op))
    clarke_proof_put_tie(w->out, op, w->q->profile);
}

clarke_status
clarke_proof_put_proxies(FILE *out, const clarke_graph *g, const clarke_profile *profile, clarke_error *err)
{
  proxy_line *line = malloc((g->n_steps * CLARKE_MAX_KINKS + 1) * sizeof *line);
  size_t n;

  if (line == NULL)
    return clarke_no_memory(err);
  n = collect_proxies(line, g);
  for (size_t i = 0; i < n; i++)
    clarke_proof_put_proxy(out, line[i].op, line[i].kink, profile);
  free(line);
  return CLARKE_OK;
}

/* Constant nodes that are parameters, if there are any. */
static void
put_constants(FILE *out, const clarke_graph *g)
{
  bool begun = false;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].promoted && !g->parameters[p].statistic) {
      fputs(begun ? " " : "constants ", out);
      clarke_proof_put_name(out, g->parameters[p].name);
      begun = true;
    }
  if (begun)
    fputc('\n', out);
}

static void
put_surrogates(FILE *out, const clarke_graph *g)
{
  for (size_t i = 0; clarke_surrogate_operator(i) != NULL; i++)
    if (g->surrogates.rule[i] != CLARKE_SURROGATE_NONE)
      fprintf(out, "surrogate %s %s\n", clarke_surrogate_operator(i), clarke_surrogate_name(g->surrogates.rule[i]));
}

clarke_status
clarke_proof_put_fingerprints(FILE *out, const clarke_graph *g, clarke_error *err)
{
  uint64_t *print = calloc(g->n_values + 1, sizeof *print);
  clarke_status status = print != NULL ? clarke_fingerprints(print, g, err) : clarke_no_memory(err);

  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    if (g->values[v].printed && !g->values[v].constant) {
      fputs("fingerprint ", out);
      clarke_proof_put_name(out, g->values[v].name);
      fprintf(out, " %016" PRIx64 "\n", print[v]);
    }
  free(print);
  return status;
}

/* wrt: in the order of the evidence, whatever that of the names given. */
static void
put_parameters(FILE *out, const clarke_graph *g, bool all)
{
  fputs(all ? "wrt *" : "wrt", out);
  for (size_t p = 0; !all && p < g->n_parameters; p++)
    if (g->parameters[p].wrt) {
      fputc(' ', out);
      clarke_proof_put_name(out, g->parameters[p].name);
    }
  fputc('\n', out);
}

void
clarke_proof_put_wrt(FILE *out, const clarke_graph *g, bool all, const clarke_profile *profile)
{
  put_parameters(out, g, all);
  fputs("profile ", out);
  clarke_proof_put_name(out, profile->name);
  fputc('\n', out);
}

/* From the first line to that of the loss. what: `verdict` or `claim`, and which. */
static clarke_status
put_files(writer *w, const clarke_proof_statement *s, const char *what, const char *which, clarke_error *err)
{
  clarke_status status;

  fprintf(w->out, "clarke-proof 1\n%s %s\nsemantics real\n", what, which);
  clarke_proof_put_input(w->out, "model", &s->model);
  put_constants(w->out, w->q->g);
  put_surrogates(w->out, w->q->g);
  clarke_proof_put_input(w->out, "params", &s->params);
  clarke_proof_put_input(w->out, "batch", &s->batch);
  if (s->whole || s->together)
    fputs(s->whole ? "samples whole\n" : "samples together\n", w->out);
  status = clarke_proof_put_fingerprints(w->out, w->q->g, err);
  fprintf(w->out, "loss %s\n", clarke_loss_name(w->q->loss.kind));
  return status;
}

static clarke_status
put_statement(writer *w, const clarke_proof_statement *s, clarke_error *err)
{
  clarke_status status = put_files(w, s, "verdict", clarke_verdict_name(w->a->verdict), err);

  if (status != CLARKE_OK)
    return status;
  clarke_proof_put_wrt(w->out, w->q->g, s->n_wrt == 0, w->q->profile);
  status = clarke_proof_put_proxies(w->out, w->q->g, w->q->profile, err);
  put_ties(w);
  fprintf(w->out, "touched %zu\n", w->q->replay->n_touches);
  return status;
}

/* --- cells --- */

static void
put_move(writer *w, const clarke_move *m)
{
  static const char *const word[] = {"copy", "add", "at"};

  fputs("move ", w->out);
  put_name(w, w->q->g->parameters[m->parameter].name);
  fprintf(w->out, " %s ", word[m->kind]);
  if (m->kind == CLARKE_MOVE_AT)
    fprintf(w->out, "%zu ", m->entry);
  put_rational(w, m->coef);
  fputc('\n', w->out);
}

static void
put_direction(writer *w, const clarke_direction *d)
{
  fputs("direction\n", w->out);
  for (size_t k = 0; k < d->n; k++)
    put_move(w, &d->move[k]);
}

static void
put_directions(writer *w, const clarke_cell *cell)
{
  fprintf(w->out, "directions %zu\n", cell->n);
  for (size_t i = 0; i < cell->n; i++)
    put_direction(w, &cell->direction[i]);
}

static void
put_option(writer *w, size_t option)
{
  if (option < 26)
    fputc((char)('a' + option), w->out);
  else
    fprintf(w->out, "{%zu}", option + 1);
}

/* A side that does not matter may be none: then it is the first. */
static void
put_side(writer *w, const clarke_touch *t, clarke_branch side)
{
  if (t->n_options == 0)
    fputc(side == CLARKE_RIGHT ? '+' : '-', w->out);
  else
    put_option(w, side == CLARKE_PROXY ? 0 : CLARKE_OPTION_OF(side));
}

static void
put_mix(writer *w)
{
  const clarke_audit *a = w->a;

  fprintf(w->out, "evidence mix %zu\n", a->n_mixed);
  for (size_t i = 0; i < a->n_mixed; i++) {
    fputs("mix ", w->out);
    put_name(w, w->q->g->steps[a->layer[a->mixed[i]].step].name);
    fputc(' ', w->out);
    put_rational(w, a->lambda[i]);
    fputc('\n', w->out);
  }
  for (size_t m = 0; m < a->n_cells; m++) {
    fputs("cell mix ", w->out);
    for (size_t i = 0; i < a->n_mixed; i++)
      fputc((m >> (a->n_mixed - 1 - i)) & 1 ? '+' : '-', w->out);
    fputc('\n', w->out);
    put_directions(w, &a->cell[m]);
  }
}

static void
put_groups(writer *w)
{
  const clarke_balance *b = &w->a->balance;

  fprintf(w->out, "evidence balance %zu\n", b->n);
  for (size_t g = 0; g < b->n; g++) {
    fprintf(w->out, "group %zu", b->cells[g]);
    for (size_t k = 0; k < w->q->replay->n_touches; k++)
      if (b->group_of[k] == g + 1)
        fprintf(w->out, " %zu", k);
    fputc('\n', w->out);
  }
}

/* Cells with their directions; of a hull each with its weight. */
static void
put_hull(writer *w)
{
  if (w->a->evidence == CLARKE_EVIDENCE_BALANCE)
    put_groups(w);
  else
    fprintf(w->out, "evidence hull %zu\n", w->a->n_cells);
  for (size_t i = 0; i < w->a->n_cells; i++) {
    const clarke_cell *cell = &w->a->cell[i];

    fputs("cell ", w->out);
    if (w->a->evidence == CLARKE_EVIDENCE_HULL) {
      put_rational(w, w->a->weight[i]);
      fputc(' ', w->out);
    }
    for (size_t k = 0; k < w->q->replay->n_touches; k++)
      put_side(w, &w->q->replay->touch[k], cell->side[k]);
    if (w->q->replay->n_touches == 0)
      fputc('.', w->out);
    fputc('\n', w->out);
    put_directions(w, cell);
  }
}

static void
put_simplices(writer *w)
{
  const clarke_audit *a = w->a;

  fprintf(w->out, "evidence simplices %zu\n", a->n_simplices);
  for (size_t i = 0; i < a->n_simplices; i++) {
    fprintf(w->out, "block %zu", a->simplex[i].n);
    for (size_t k = 0; k < a->simplex[i].n_touches; k++)
      fprintf(w->out, " %zu", a->simplex[i].touch[k]);
    fputc('\n', w->out);
  }
  for (size_t i = 0; i < a->n_simplices; i++)
    for (size_t k = 0; k < a->simplex[i].n; k++)
      put_direction(w, &a->simplex[i].direction[k]);
  put_directions(w, &a->others);
}

/* --- the separator and the tree --- */

/* The other option, of a window. */
static void
put_condition(void *of, const clarke_multiplier *m)
{
  writer *w = of;

  if (w->q->replay->touch[m->of].n_options == 0)
    return;
  fputc(' ', w->out);
  put_option(w, m->condition);
}

/* Writes those that take their sides with touch j, or the other sides, if there are some. */
static void
put_together(writer *w, size_t j, bool opposite)
{
  const clarke_tree *t = &w->a->tree;
  bool any = false;

  for (size_t k = j + 1; k < w->q->replay->n_touches; k++) {
    if (t->parallel[k] != j || (t->opposite != NULL && t->opposite[k]) != opposite)
      continue;
    if (!any)
      fprintf(w->out, "%s %zu", opposite ? "opposite" : "parallel", j);
    fprintf(w->out, " %zu", k);
    any = true;
  }
  if (any)
    fputc('\n', w->out);
}

static void
put_parallels(writer *w)
{
  for (size_t j = 0; j < w->q->replay->n_touches; j++)
    put_together(w, j, false);
  for (size_t j = 0; w->a->tree.opposite != NULL && j < w->q->replay->n_touches; j++)
    put_together(w, j, true);
}

static void
put_separator(writer *w, const char *evidence)
{
  const clarke_row *v = &w->a->membership.v;
  const clarke_graph *g = w->q->g;
  size_t p = 0;

  fprintf(w->out, "evidence %s\n", evidence);
  for (size_t e = 0; e < v->n; e++) {
    size_t entry = clarke_column_entry(&p, v->column[e], g);

    fputs("v ", w->out);
    put_name(w, g->parameters[p].name);
    fprintf(w->out, " %zu ", entry);
    put_rational(w, v->value[e]);
    fputc('\n', w->out);
  }
  if (w->a->tree.parallel != NULL)
    put_parallels(w);
  fputs("tree\n", w->out);
  for (size_t i = 0; i < w->a->tree.n; i++)
    clarke_proof_put_node(w->out, &w->a->tree.node[i], w->a->tree.node[i].at, put_condition, w);
}

/* --- zones --- */

static void
put_cut(writer *w)
{
  for (size_t k = 0; k < w->q->replay->n_touches; k++)
    if (w->a->zone.cut[k])
      fprintf(w->out, "cut %zu\n", k);
}

/* What is not as in the base, and the entry by which the derivative changes. */
static void
put_switches(writer *w)
{
  const clarke_zone_found *z = &w->a->zone;

  for (size_t k = 0; k < w->q->replay->n_touches; k++) {
    const clarke_touch *t = &w->q->replay->touch[k];

    if (z->side[k] == clarke_side_numbered(t, 0))
      continue;
    fprintf(w->out, "switch %zu ", k);
    put_side(w, t, z->side[k]);
    fputc('\n', w->out);
  }
  fputs("entry ", w->out);
  put_name(w, w->q->g->parameters[z->parameter].name);
  fprintf(w->out, " %zu\n", z->entry);
}

static clarke_status
put_zone(writer *w, const clarke_proof_statement *s, clarke_error *err)
{
  const clarke_status status = put_files(w, s, "claim", "zone", err);

  put_parameters(w->out, w->q->g, s->n_wrt == 0);
  fprintf(w->out, "touched %zu\nzone %s\n", w->q->replay->n_touches, clarke_zone_name(w->a->zone.zone));
  if (w->a->zone.zone == CLARKE_ZONE_COMPENSATION)
    put_cut(w);
  else
    put_switches(w);
  return status;
}

static clarke_status
put_evidence(writer *w, clarke_error *err)
{
  switch (w->a->evidence) {
  case CLARKE_EVIDENCE_AD:
    fputs("evidence ad\ncell ad\n", w->out);
    put_directions(w, &w->a->cell[0]);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_MIX:
    put_mix(w);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_HULL:
  case CLARKE_EVIDENCE_BALANCE:
    put_hull(w);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_SEPARATOR:
    put_separator(w, "separator");
    return CLARKE_OK;
  case CLARKE_EVIDENCE_BOUND:
    put_separator(w, "bound");
    return CLARKE_OK;
  case CLARKE_EVIDENCE_SIMPLICES:
    put_simplices(w);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_COMPENSATION:
    fputs("evidence compensation\n", w->out);
    put_cut(w);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_UNANIMOUS:
  case CLARKE_EVIDENCE_NONE:
    break;
  }
  return clarke_fail(err, CLARKE_EINPUT, "an undecided audit has no proof");
}

/* A statement is about all proxies and rules, those of untouched kinks too: each must be known. */
static clarke_status
can_state(const clarke_step *s, const clarke_profile *profile, clarke_error *err)
{
  const clarke_op *op = s->op;

  for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < op->n_kinks; k++)
    if (clarke_profile_find(profile, op, k) == NULL)
      return clarke_fail(err, CLARKE_EINPUT, "profile %s says nothing of %s kink %zu, and a proof "
                         "states all proxies of the network's operators. Say so with --profile FILE, a file with the line '%s %zu "
                         "VALUE', VALUE a number, left or right", profile->name, op->name, k, op->name, k);
  if (s->kind == CLARKE_MAX && (op->hint != NULL || op->first_alone))
    return clarke_tie_check(clarke_profile_tie(profile, op), profile, op, err);
  if (s->kind == CLARKE_MAX &&
      clarke_tie_check(clarke_profile_tie(profile, op), profile, op, NULL) != CLARKE_OK)
    return clarke_fail(err, CLARKE_EINPUT, "profile %s has no rule for ties of %s, and a proof "
                       "states it: first, last, mean or hybrid. Say so with --profile FILE, a file with the line 'tie %s RULE'",
                       profile->name, op->name, op->name);
  return CLARKE_OK;
}

clarke_status
clarke_proof_possible(const clarke_graph *g, const clarke_profile *profile, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    status = can_state(&g->steps[i], profile, err);
  return status;
}

clarke_status
clarke_proof_write(const char *path, const clarke_proof_statement *statement,
                   const clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  clarke_text text;
  clarke_status status = clarke_proof_possible(q->g, q->profile, err);

  CLARKE_VERIFY_CHECK(clarke_audit_is_valid(a, q));
  if (status == CLARKE_OK)
    status = clarke_text_open(&text, err);
  if (status == CLARKE_OK) {
    writer w = {.out = text.to, .q = q, .a = a};

    status = put_statement(&w, statement, err);
    if (status == CLARKE_OK)
      status = put_evidence(&w, err);
    status = clarke_proof_save(&text, status, path, err);
  }
  return status;
}

clarke_status
clarke_proof_write_zone(const char *path, const clarke_proof_statement *statement, const clarke_audit *a,
                        const clarke_question *q, clarke_error *err)
{
  clarke_text text;
  clarke_status status;

  if (a->zone.zone != CLARKE_ZONE_COMPENSATION && a->zone.zone != CLARKE_ZONE_BIFURCATION)
    return clarke_fail(err, CLARKE_EINPUT, "zone %s: there is no proof", clarke_zone_name(a->zone.zone));
  CLARKE_VERIFY_CHECK(clarke_audit_is_valid(a, q));
  status = clarke_text_open(&text, err);
  if (status == CLARKE_OK) {
    writer w = {.out = text.to, .q = q, .a = a};

    status = put_zone(&w, statement, err);
    status = clarke_proof_save(&text, status, path, err);
  }
  return status;
}
