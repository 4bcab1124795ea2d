/* Proofs about all patterns around a point (write_patterns.h). */
#include <stdio.h> /* before gmp.h */

#include "proof/write_patterns.h"
#include "proof/text.h"
#include "proof/write_held.h"
#include "proof/write_tree.h"

#include <stdlib.h>

static void
put_gradients(FILE *out, const clarke_number *const *gradient, size_t n, size_t size)
{
  fprintf(out, "gradients %zu\n", n);
  for (size_t g = 0; g < n; g++) {
    fputs("gradient", out);
    for (size_t k = 0; k < size; k++)
      gmp_fprintf(out, " %Qd", gradient[g][k].q);
    fputc('\n', out);
  }
}

static void
put_tree(FILE *out, const clarke_patterns *t)
{
  fputs("tree\n", out);
  for (size_t k = 0; k < t->tree.n; k++) {
    clarke_proof_put_node(out, &t->tree.node[k], t->tree.node[k].n_branches, NULL, NULL);
    if (t->tree.node[k].kind == CLARKE_LEAF)
      clarke_proof_put_arc(out, &t->pattern[t->tree.node[k].leaf], t->width);
  }
}

clarke_status
clarke_patterns_prove(const clarke_patterns *t, const clarke_patterns_statement *s, const char *path, clarke_error *err)
{
  const clarke_number **gradient;
  size_t gradients;
  clarke_text text;
  clarke_status status = clarke_patterns_gradients(&gradient, &gradients, t, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_text_open(&text, err);
  if (status == CLARKE_OK) {
    const size_t n = clarke_code_entries(s->held);

    fputs("clarke-proof 1\nclaim patterns\nsemantics real\n", text.to);
    clarke_proof_put_input(text.to, s->network ? "model" : "program", &s->function);
    clarke_proof_put_held(text.to, s->held, s->point, n);
    if (s->network)
      fputs("at stored\n", text.to);
    else
      clarke_proof_put_entries(text.to, "at", s->held, s->point, n, true);
    fprintf(text.to, "patterns %zu\n", t->n);
    put_gradients(text.to, gradient, gradients, t->dim);
    put_tree(text.to, t);
    status = clarke_proof_save(&text, status, path, err);
  }
  free(gradient);
  return status;
}
