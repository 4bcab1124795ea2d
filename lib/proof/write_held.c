/* What varies and what is held (write_held.h). */
#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_held.h"
#include "proof/text.h"

bool
clarke_proof_varies(const clarke_code *p, size_t entry)
{
  return p == NULL || clarke_code_varies(p, entry);
}

void
clarke_proof_put_entries(FILE *out, const char *word, const clarke_code *p, mpq_t *const value, size_t n, bool vary)
{
  fputs(word, out);
  for (size_t i = 0; i < n; i++)
    if (clarke_proof_varies(p, i) == vary)
      gmp_fprintf(out, " %Qd", value[i]);
  fputc('\n', out);
}

void
clarke_proof_put_constants(FILE *out, const clarke_code *p)
{
  bool begun = false;

  for (size_t k = 0; k < p->n_inputs; k++)
    if (p->input[k].promoted) {
      fputs(begun ? " " : "constants ", out);
      clarke_proof_put_name(out, p->input[k].name);
      begun = true;
    }
  fputs(begun ? "\n" : "", out);
}

void
clarke_proof_put_held(FILE *out, const clarke_code *p, mpq_t *const value, size_t n)
{
  clarke_proof_put_constants(out, p);
  fputs("wrt", out);
  for (size_t k = 0; k < p->n_inputs; k++)
    if (p->input[k].wrt) {
      fputc(' ', out);
      clarke_proof_put_name(out, p->input[k].name);
    }
  fputc('\n', out);
  clarke_proof_put_entries(out, "held", p, value, n, false);
}
