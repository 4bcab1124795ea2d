/* Writing proofs about networks of formulas: docs/proof-format.md, "Networks of formulas". */
#include "proof/write_formula.h"
#include "base/verify.h"
#include "proof/text.h"

#include <inttypes.h>
#include <stdlib.h>

static void
put_direction(FILE *out, const clarke_three *t, const clarke_solution *s)
{
  fputs("evidence opposite\nd", out);
  for (size_t v = 0; v < t->n_variables; v++)
    fputs(s->value[v] ? " 1" : " -1", out);
  fputc('\n', out);
}

static void
put_step(FILE *out, const clarke_sat_refutation *r, size_t k)
{
  fprintf(out, "learn %zu", r->n_given + k + 1);
  for (size_t i = r->first_literal[k]; i < r->first_literal[k + 1]; i++)
    fprintf(out, " %" PRId32, r->literal[i]);
  fputs(" 0", out);
  for (size_t i = r->first_hint[k]; i < r->first_hint[k + 1]; i++)
    fprintf(out, " %" PRIu32, r->hint[i]);
  fputc('\n', out);
}

/* last[h] == k: step k is the last that names step h. */
static size_t *
last_uses(const clarke_sat_refutation *r)
{
  size_t *last = malloc((r->n + 1) * sizeof *last);

  for (size_t k = 0; last != NULL && k < r->n; k++) {
    last[k] = k;
    for (size_t i = r->first_hint[k]; i < r->first_hint[k + 1]; i++)
      if (r->hint[i] > r->n_given)
        last[r->hint[i] - r->n_given - 1] = k;
  }
  return last;
}

/* The learned clauses that step k was the last to name. A step may name one twice. */
static void
put_deletions(FILE *out, const clarke_sat_refutation *r, size_t *last, size_t k)
{
  bool any = false;

  for (size_t i = r->first_hint[k]; i < r->first_hint[k + 1]; i++) {
    const size_t h = r->hint[i] > r->n_given ? r->hint[i] - r->n_given - 1 : r->n;

    if (h == r->n || last[h] != k)
      continue;
    last[h] = r->n;
    fprintf(out, "%s %" PRIu32, any ? "" : "delete", r->hint[i]);
    any = true;
  }
  fputs(any ? "\n" : "", out);
}

static clarke_status
put_refutation(FILE *out, const clarke_sat_refutation *r, clarke_error *err)
{
  size_t *last = last_uses(r);

  if (last == NULL)
    return clarke_no_memory(err);
  fputs("evidence refutation\n", out);
  for (size_t k = 0; k < r->n; k++) {
    put_step(out, r, k);
    if (k + 1 < r->n)
      put_deletions(out, r, last, k);
  }
  free(last);
  return CLARKE_OK;
}

clarke_status
clarke_proof_write_formula(const char *path, const clarke_proof_input *formula, const clarke_proof_input *model,
                           const clarke_three *t, const clarke_solution *s, clarke_error *err)
{
  const bool smooth = s->answer == CLARKE_FORMULA_REFUTED;
  clarke_text text;
  clarke_status status;

  CLARKE_ASSERT(s->answer != CLARKE_FORMULA_GIVEN_UP);
  status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  fprintf(text.to, "clarke-proof 1\nverdict %s\nsemantics real\n", smooth ? "differentiable" : "not-differentiable");
  clarke_proof_put_file(text.to, "formula", formula->name, formula->sha256);
  clarke_proof_put_file(text.to, "model", model->name, model->sha256);
  if (smooth)
    status = put_refutation(text.to, &s->refutation, err);
  else
    put_direction(text.to, t, s);
  return clarke_proof_save(&text, status, path, err);
}
