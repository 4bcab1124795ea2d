#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_statistics.h"
#include "proof/record_claim.h"
#include "proof/text.h"

#include <string.h>

/* Puts the nodes that bring a part of the buffer (mean, variance or count) up to date, in their order; how many there
 * are. out NULL: only counts. */
static size_t
put_updates(FILE *out, const clarke_certify *c, const char *buffer, const char *kind)
{
  size_t n = 0;

  for (size_t i = 0; i < c->n_statistics; i++) {
    const clarke_run_statistics *of = &c->statistics[i];
    const char *own = *kind == 'm' ? of->mean : *kind == 'v' ? of->variance : of->count;

    if (own == NULL || strcmp(own, buffer) != 0)
      continue;
    n++;
    if (out == NULL)
      continue;
    fputc(' ', out);
    clarke_proof_put_name(out, of->node);
    fputc(' ', out);
    mpq_out_str(out, 10, of->momentum);
    fprintf(out, " %zu", of->samples);
  }
  return n;
}

/* Is it known what each node read that brings the buffer up to date? */
static bool
reads_known(const clarke_certify *c, const char *buffer, const bool *known)
{
  for (size_t i = 0; i < c->n_statistics; i++)
    if ((strcmp(c->statistics[i].mean, buffer) == 0 || strcmp(c->statistics[i].variance, buffer) == 0) && !known[i])
      return false;
  return true;
}

void
clarke_proof_put_statistics(FILE *out, const clarke_certify *c, const bool *known, bool moderate)
{
  for (size_t i = 0; i < c->n; i++) {
    const clarke_certificate *made = &c->certificate[i];
    const char *kind = "mean";

    if (made->part != CLARKE_STATISTIC || made->certainty > CLARKE_WITHIN_BOUND)
      continue;
    kind = put_updates(NULL, c, made->name, kind) > 0 ? kind : put_updates(NULL, c, made->name, "variance") > 0 ? "variance" : "count";
    fputs("statistic ", out);
    clarke_proof_put_name(out, made->name);
    fprintf(out, " %s %zu", kind, put_updates(NULL, c, made->name, kind));
    if (*kind != 'c')
      put_updates(out, c, made->name, kind);
    fprintf(out, " %s\n", clarke_record_claim(made, *kind == 'c'                         ? CLARKE_OF_SUMS
                                                  : reads_known(c, made->name, known) ? CLARKE_OF_ENCLOSED
                                                                                      : CLARKE_NO_RULE, moderate));
  }
}
