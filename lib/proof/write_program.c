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
put_inputs(FILE *out, const clarke_execution *e, const clarke_profile *profile, bool network)
{
  const clarke_code *p = e->p;
  const bool parameters = has_parameters(p, network);

  if (parameters) {
    clarke_proof_put_constants(out, p);
    put_wrt(out, p);
  }
  for (size_t k = 0, at = 0; k < (parameters ? 1 : p->n_inputs); at += p->input[k++].n) {
    fputs("at ", out);
    clarke_proof_put_name(out, p->input[k].name);
    clarke_proof_put_row(out, "", e->at + at, p->input[k].n);
  }
  if (!parameters)
    put_wrt(out, p);
  fputs("profile ", out);
  clarke_proof_put_name(out, profile->name);
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

/* kind: "verdict" or "claim", and which. */
static clarke_status
put_statement(FILE *out, const char *kind, const char *which, bool network, const clarke_proof_input *of, const clarke_execution *e,
              const clarke_profile *profile, clarke_error *err)
{
  size_t n;
  const clarke_op **op = collect_operators(e->p, &n);

  if (op == NULL)
    return clarke_no_memory(err);
  fprintf(out, "clarke-proof 1\n%s %s\nsemantics real\n", kind, which);
  clarke_proof_put_input(out, network ? "network" : "program", of);
  put_inputs(out, e, profile, network);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < op[i]->n_kinks; k++)
      clarke_proof_put_proxy(out, op[i], k, profile);
  for (size_t i = 0; i < n; i++)
    if (op[i]->order)
      clarke_proof_put_tie(out, op[i], profile);
  fprintf(out, "touched %zu\n", e->n_touched);
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
  for (size_t k = 0; k < t->tree.n; k++)
    clarke_proof_put_node(out, &t->tree.node[k], t->tree.node[k].n_branches, NULL, NULL);
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
  case CLARKE_EVIDENCE_BALANCE:
  case CLARKE_EVIDENCE_NONE:
    break;
  }
  return clarke_fail(err, CLARKE_EINPUT, "an undecided question has no proof");
}

/* A proof that would be refused is not written. */
static clarke_status
within_reach(const clarke_code *p, size_t far, clarke_error *err)
{
  bool exponential;

  if (far == CLARKE_NONE)
    return CLARKE_OK;
  exponential = p->instruction[far].function == CLARKE_FN_EXP;
  return clarke_code_fail(p, far, err, "no proof can be checked here: the argument of %s is beyond 2^%d",
                             exponential ? "exp" : "sin or cos", exponential ? CLARKE_REACH_EXP : CLARKE_REACH_CIRCLE);
}

static clarke_status
write(const char *path, bool network, const clarke_proof_input *of, const clarke_derivation *d, const clarke_proof_tree *tree,
      clarke_error *err)
{
  clarke_text text;
  clarke_status status = within_reach(d->p, d->far, err);

  CLARKE_VERIFY_CHECK(clarke_derivation_is_valid(d));
  if (status == CLARKE_OK)
    status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  status = put_statement(text.to, "verdict", clarke_verdict_name(d->verdict), network, of, &d->execution, d->profile, err);
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

/* Can the network that p unrolls be asked about in a proof? */
static clarke_status
can_be_network(const clarke_code *p, const char *name, clarke_error *err)
{
  const bool parameters = has_parameters(p, true);

  if (parameters && p->input[0].wrt)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a network's proof is with respect to its input, or to parameters, not to both", name);
  if (!clarke_proof_of_steps(p, parameters))
    return clarke_fail(err, CLARKE_EINPUT, "%s: a network's proof is of sums%s, piecewise functions and maxima; this one has other steps", name,
                       parameters ? ", products" : "");
  return CLARKE_OK;
}

clarke_status
clarke_proof_write_network(const char *path, const clarke_proof_input *model, const clarke_derivation *d,
                           const clarke_proof_tree *tree, clarke_error *err)
{
  const clarke_status status = can_be_network(d->p, model->name, err);

  return status == CLARKE_OK ? write(path, true, model, d, tree, err) : status;
}

/* --- along directions --- */

/* The number, or what is 2^-64 below and above what is near it: `least` and `most`. */
static clarke_status
bound(mpq_t *least, mpq_t *most, const clarke_number *x, long precision, clarke_error *err)
{
  clarke_number end;
  mpq_t unit;
  bool within = x->exact;

  clarke_number_middle(*least, x);
  mpq_set(*most, *least);
  if (within)
    return CLARKE_OK;
  mpq_init(unit);
  clarke_number_init(&end);
  mpq_set_ui(unit, 1, 1);
  mpq_div_2exp(unit, unit, 64);
  mpq_mul_2exp(*least, *least, 64);
  mpz_fdiv_q(mpq_numref(*least), mpq_numref(*least), mpq_denref(*least));
  mpz_set_ui(mpq_denref(*least), 1);
  mpq_div_2exp(*least, *least, 64);
  mpq_add(*most, *least, unit);
  mpq_add(*most, *most, unit);
  mpq_sub(*least, *least, unit);
  clarke_number_set_q(&end, *least);
  within = clarke_number_compare(x, &end, precision) == 1;
  clarke_number_set_q(&end, *most);
  within = within && clarke_number_compare(x, &end, precision) == -1;
  clarke_number_clear(&end);
  mpq_clear(unit);
  return within ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "a derivative along a direction is not known to 2^-64: no proof is written of it");
}

/* `derivative V ...`; where one is not rational, `least V ...` and `most V ...`. */
static clarke_status
put_derivative(FILE *out, const clarke_directional *x, size_t k, clarke_error *err)
{
  mpq_t *least = clarke_rationals(x->n_outputs), *most = clarke_rationals(x->n_outputs);
  bool exact = true;
  clarke_status status = least != NULL && most != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t o = 0; status == CLARKE_OK && o < x->n_outputs; o++) {
    const clarke_number *y = &x->derivative[k * x->n_outputs + o];

    exact = exact && y->exact;
    status = bound(&least[o], &most[o], y, x->execution.precision, err);
  }
  if (status == CLARKE_OK) {
    clarke_proof_put_row(out, exact ? "derivative" : "least", least, x->n_outputs);
    if (!exact)
      clarke_proof_put_row(out, "most", most, x->n_outputs);
  }
  clarke_rationals_free(least, least != NULL ? x->n_outputs : 0);
  clarke_rationals_free(most, most != NULL ? x->n_outputs : 0);
  return status;
}

clarke_status
clarke_proof_write_direction(const char *path, bool network, const clarke_proof_input *of, const clarke_directional *x, mpq_t **line,
                             const clarke_profile *profile, clarke_error *err)
{
  clarke_text text;
  clarke_status status = network ? can_be_network(x->p, of->name, err) : CLARKE_OK;

  if (status == CLARKE_OK && !(x->known && x->ad_known)) /* the checker takes 0 for AD's derivative of a norm of zeros, which is NaN in some profiles */
    status = clarke_fail(err, CLARKE_EINPUT, "an undecided question has no proof");
  if (status == CLARKE_OK)
    status = within_reach(x->p, x->far, err);
  if (status == CLARKE_OK)
    status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  status = put_statement(text.to, "claim", "direction", network, of, &x->execution, profile, err);
  for (size_t k = 0; status == CLARKE_OK && k < x->n; k++) {
    clarke_proof_put_row(text.to, "direction", line[k], clarke_code_wrt_count(x->p));
    status = put_derivative(text.to, x, k, err);
  }
  return clarke_proof_save(&text, status, path, err);
}
