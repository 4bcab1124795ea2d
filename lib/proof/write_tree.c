/* Trees of choices and arcs (write_tree.h). */
#include <stdio.h> /* before gmp.h */

#include "proof/write_tree.h"
#include "proof/text.h"

void
clarke_proof_put_arc(FILE *out, const clarke_pattern *p, size_t width)
{
  fprintf(out, "arc %zu\n", p->n_directions);
  for (size_t r = 0; r < p->n_directions; r++)
    clarke_proof_put_row(out, "step", p->direction[r], width);
}

void
clarke_proof_put_fork(FILE *out, const clarke_fork *f)
{
  if (f->kind == CLARKE_BRANCHING)
    fprintf(out, "branch %zu\n", f->n_choices);
  else if (f->kind == CLARKE_PATTERN)
    fputs("leaf\n", out);
  else {
    fprintf(out, "dead %zu\n", f->n_u);
    for (size_t k = 0; k < f->n_u; k++) {
      fprintf(out, "u %zu", f->decision[k]);
      clarke_proof_put_row(out, "", f->u + k, 1);
    }
  }
}
