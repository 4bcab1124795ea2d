/* Writing proofs about programs: docs/proof-format.md, "Programs". */
#include <stdio.h> /* before gmp.h, for mpq_out_str */

#include "base/verify.h"
#include "proof/text.h"
#include "proof/write.h"
#include "proof/write_held.h"
#include "proof/write_tree.h"

#include <stdlib.h>
#include <string.h>

/* --- the statement --- */

static void
put_wrt(FILE *out, const clarke_code *p)
{
  bool all = true;

  for (size_t k = 0; k < p->n_inputs; k++)
    all = all && p->input[k].wrt;
  fputs(all ? "wrt *" : "wrt", out);
  for (size_t k = 0; k < p->n_inputs && !all; k++)
    if (p->input[k].wrt) {
      fputc(' ', out);
      clarke_proof_put_name(out, p->input[k].name);
    }
  fputc('\n', out);
}

/* With respect to parameters, a network: they come first, and are as stored. */
static bool
has_parameters(const clarke_code *p, bool network)
{
  return network && p->n_inputs > 1;
}

static void
put_inputs(FILE *out, const clarke_derivation *d, bool network)
{
  const clarke_code *p = d->p;
  const bool parameters = has_parameters(p, network);

  if (parameters) {
    clarke_proof_put_constants(out, p);
    put_wrt(out, p);
  }
  for (size_t k = 0, at = 0; k < (parameters ? 1 : p->n_inputs); at += p->input[k++].n) {
    fputs("at ", out);
    clarke_proof_put_name(out, p->input[k].name);
    clarke_proof_put_row(out, "", d->execution.at + at, p->input[k].n);
  }
  if (!parameters)
    put_wrt(out, p);
  fputs("profile ", out);
  clarke_proof_put_name(out, d->profile->name);
  fputc('\n', out);
}

static int
compare_names(const void *a, const void *b)
{
  const clarke_op *const *x = a, *const *y = b;

  return strcmp((*x)->name, (*y)->name);
}

/* The operators that some instruction without braces has, sorted by name; *n of them. */
static const clarke_op **
collect_operators(const clarke_code *p, size_t *n)
{
  const clarke_op **list = malloc((p->n + 1) * sizeof *list);
  size_t all = 0;

  for (size_t i = 0; i < p->n && list != NULL; i++)
    if (p->instruction[i].op != NULL && !p->instruction[i].proxy.given)
      list[all++] = p->instruction[i].op;
  if (list != NULL)
    qsort(list, all, sizeof *list, compare_names);
  *n = 0;
  for (size_t i = 0; i < all; i++)
    if (i == 0 || list[i] != list[i - 1])
      list[(*n)++] = list[i];
  return list;
}

static clarke_status
put_statement(FILE *out, bool network, const clarke_proof_input *of, const clarke_derivation *d, clarke_error *err)
{
  size_t n;
  const clarke_op **op = collect_operators(d->p, &n);

  if (op == NULL)
    return clarke_no_memory(err);
  fprintf(out, "clarke-proof 1\nverdict %s\nsemantics real\n", clarke_verdict_name(d->verdict));
  clarke_proof_put_input(out, network ? "network" : "program", of);
  put_inputs(out, d, network);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < op[i]->n_kinks; k++)
      clarke_proof_put_proxy(out, op[i], k, d->profile);
  for (size_t i = 0; i < n; i++)
    if (op[i]->order)
      clarke_proof_put_tie(out, op[i], d->profile);
  fprintf(out, "touched %zu\n", d->execution.n_touched);
  free(op);
  return CLARKE_OK;
}

/* --- the evidence --- */

/* Along the direction and against it. */
static clarke_status
put_opposites(FILE *out, const clarke_derivation *d, clarke_error *err)
{
  mpq_t *step = clarke_rationals(d->patterns.width), half;
  clarke_pattern p = {.n_directions = 1, .direction = &step};

  if (step == NULL)
    return clarke_no_memory(err);
  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  fputs("evidence hull 2\n", out);
  for (int side = 0; side < 2; side++) {
    for (size_t k = 0; k < d->patterns.width; k++)
      (side == 0 ? mpq_set : mpq_neg)(step[k], d->opposite[k]);
    clarke_proof_put_row(out, "cell", &half, 1);
    clarke_proof_put_arc(out, &p, d->patterns.width);
  }
  mpq_clear(half);
  clarke_rationals_free(step, d->patterns.width);
  return CLARKE_OK;
}

static void
put_hull(FILE *out, const clarke_derivation *d)
{
  size_t n = 0;

  for (size_t i = 0; i < d->patterns.n; i++)
    n += mpq_sgn(d->weight[i]) != 0;
  fprintf(out, "evidence hull %zu\n", n);
  for (size_t i = 0; i < d->patterns.n; i++)
    if (mpq_sgn(d->weight[i]) != 0) {
      clarke_proof_put_row(out, "cell", d->weight + i, 1);
      clarke_proof_put_arc(out, &d->patterns.pattern[i], d->patterns.width);
    }
}

static void
put_open(FILE *out, const clarke_derivation *d)
{
  fputs("evidence unanimous\ntree\n", out);
  for (size_t k = 0; k < d->n_open; k++)
    fputs("open\n", out);
  fputs("leaf\n", out);
}

static void
put_tree(FILE *out, const clarke_patterns *t)
{
  fputs("tree\n", out);
  for (size_t k = 0; k < t->n_forks; k++)
    clarke_proof_put_fork(out, &t->fork[k]);
}

static void
put_separator(FILE *out, const clarke_derivation *d, const clarke_proof_tree *tree)
{
  clarke_proof_put_row(out, "evidence separator\nv", d->separator, d->dim);
  if (!d->patterns.cones) {
    put_tree(out, &d->patterns);
    return;
  }
  fputs("cones\n", out);
  tree->put(out, tree->context);
}

static clarke_status
put_evidence(FILE *out, const clarke_derivation *d, const clarke_proof_tree *tree, clarke_error *err)
{
  switch (d->evidence) {
  case CLARKE_EVIDENCE_AD:
    fputs("evidence ad\n", out);
    clarke_proof_put_arc(out, &d->patterns.pattern[d->ad_pattern], d->patterns.width);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_HULL:
    if (d->opposite != NULL)
      return put_opposites(out, d, err);
    put_hull(out, d);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_SEPARATOR:
    put_separator(out, d, tree);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_UNANIMOUS:
    if (d->opened) {
      put_open(out, d);
      return CLARKE_OK;
    }
    fputs("evidence unanimous\n", out);
    put_tree(out, &d->patterns);
    return CLARKE_OK;
  case CLARKE_EVIDENCE_MIX:
  case CLARKE_EVIDENCE_BOUND:
  case CLARKE_EVIDENCE_SIMPLICES:
  case CLARKE_EVIDENCE_COMPENSATION:
  case CLARKE_EVIDENCE_NONE:
    break;
  }
  return clarke_fail(err, CLARKE_EINPUT, "an undecided question has no proof");
}

/* A proof that would be refused is not written. */
static clarke_status
within_reach(const clarke_derivation *d, clarke_error *err)
{
  bool exponential;

  if (d->far == CLARKE_NONE)
    return CLARKE_OK;
  exponential = d->p->instruction[d->far].function == CLARKE_FN_EXP;
  return clarke_code_fail(d->p, d->far, err, "no proof can be checked here: the argument of %s is beyond 2^%d",
                             exponential ? "exp" : "sin or cos", exponential ? CLARKE_REACH_EXP : CLARKE_REACH_CIRCLE);
}

static clarke_status
write(const char *path, bool network, const clarke_proof_input *of, const clarke_derivation *d, const clarke_proof_tree *tree,
      clarke_error *err)
{
  clarke_text text;
  clarke_status status = within_reach(d, err);

  CLARKE_VERIFY_CHECK(clarke_derivation_is_valid(d));
  if (status == CLARKE_OK)
    status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  status = put_statement(text.to, network, of, d, err);
  if (status == CLARKE_OK)
    status = put_evidence(text.to, d, tree, err);
  return clarke_proof_save(&text, status, path, err);
}

clarke_status
clarke_proof_write_program(const char *path, const char *name, const char *sha256, const clarke_derivation *d, const clarke_proof_tree *tree,
                           clarke_error *err)
{
  const clarke_proof_input of = {name, sha256, NULL};

  return write(path, false, &of, d, tree, err);
}

static bool
is_of_steps(const clarke_code *p, const clarke_instruction *i, bool products)
{
  switch (i->kind) {
  case CLARKE_DO_INPUT:
  case CLARKE_DO_CONSTANT:
  case CLARKE_DO_LINEAR:
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ORDER:
    return true;
  case CLARKE_DO_QUOTIENT:
    return p->instruction[i->in[1]].kind == CLARKE_DO_CONSTANT;
  case CLARKE_DO_PRODUCT:
    return products;
  default:
    return false;
  }
}

bool
clarke_proof_of_steps(const clarke_code *p, bool products)
{
  bool all = true;

  for (size_t i = 0; i < p->n; i++)
    all = all && is_of_steps(p, &p->instruction[i], products);
  return all;
}

clarke_status
clarke_proof_write_network(const char *path, const clarke_proof_input *model, const clarke_derivation *d,
                           const clarke_proof_tree *tree, clarke_error *err)
{
  const clarke_code *p = d->p;

  const bool parameters = has_parameters(p, true);

  if (parameters && p->input[0].wrt)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a network's proof is with respect to its input, or to parameters, not to both", model->name);
  if (!clarke_proof_of_steps(p, parameters))
    return clarke_fail(err, CLARKE_EINPUT, "%s: a network's proof is of sums%s, piecewise functions and maxima; this one has other steps", model->name,
                       parameters ? ", products" : "");
  return write(path, true, model, d, tree, err);
}
