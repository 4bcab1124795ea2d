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
clarke_proof_put_node(FILE *out, const clarke_node *node, size_t what, void (*option)(void *of, const clarke_multiplier *m), void *of)
{
  if (node->kind == CLARKE_BRANCH)
    fprintf(out, "branch %zu\n", what);
  else if (node->kind == CLARKE_LEAF)
    fputs("leaf\n", out);
  else {
    fprintf(out, "dead %zu\n", node->gordan.n);
    for (size_t k = 0; k < node->gordan.n; k++) {
      fprintf(out, "u %zu", node->gordan.multiplier[k].of);
      if (option != NULL)
        option(of, &node->gordan.multiplier[k]);
      clarke_proof_put_row(out, "", &node->gordan.multiplier[k].u, 1);
    }
  }
}
