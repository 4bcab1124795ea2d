/* Proofs about segments (write_segment.h). */
#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_segment.h"
#include "proof/text.h"
#include "proof/write_held.h"

clarke_status
clarke_segment_proof_begin(clarke_text *t, const clarke_segment_statement *s, clarke_error *err)
{
  const clarke_status status = clarke_text_open(t, err);

  if (status != CLARKE_OK)
    return status;
  fputs("clarke-proof 1\nclaim segment\nsemantics real\n", t->to);
  clarke_proof_put_input(t->to, s->network ? "model" : "program", &s->function);
  if (s->held != NULL)
    clarke_proof_put_held(t->to, s->held, s->from, s->n);
  clarke_proof_put_entries(t->to, "from", s->held, s->from, s->n, true);
  clarke_proof_put_entries(t->to, "to", s->held, s->to, s->n, true);
  fprintf(t->to, "pieces %zu\n", s->pieces);
  clarke_proof_put_row(t->to, "integral", s->integral, s->n_outputs);
  return CLARKE_OK;
}

void
clarke_segment_proof_piece(clarke_text *t, mpq_t to, mpq_t *slope, size_t n_outputs)
{
  fputs("piece ", t->to);
  mpq_out_str(t->to, 10, to);
  clarke_proof_put_row(t->to, "", slope, n_outputs);
}
