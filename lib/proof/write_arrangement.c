/* Proofs about arrangements (write_arrangement.h). */
#include <stdio.h> /* before flint.h, for its printing */

#include "proof/write_arrangement.h"
#include "base/stop.h"
#include "proof/text.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_arrangement_proof_init(clarke_arrangement_proof *p, const clarke_arrangement *a, clarke_error *err)
{
  memset(p, 0, sizeof *p);
  p->arrangement = a;
  p->point = _fmpz_vec_init((slong)a->n + 1);
  return clarke_text_open(&p->tree, err);
}

void
clarke_arrangement_proof_clear(clarke_arrangement_proof *p)
{
  if (p->point != NULL)
    _fmpz_vec_clear(p->point, (slong)p->arrangement->n + 1);
  clarke_text_clear(&p->tree);
  memset(p, 0, sizeof *p);
}

/* A circuit's member with the least column of `from` on; its rows have their columns in another order. */
static size_t
next_member(const clarke_arrangement *a, const clarke_circuit *c, size_t from)
{
  size_t best = c->n;

  for (size_t i = 0; i < c->n; i++) {
    const size_t column = a->first[c->row[i]];

    if (column >= from && (best == c->n || column < a->first[c->row[best]]))
      best = i;
  }
  return best;
}

clarke_status
clarke_arrangement_proof_circuit(void *proof, const clarke_circuit *c, clarke_error *err)
{
  clarke_arrangement_proof *p = proof;
  const clarke_arrangement *a = p->arrangement;

  (void)err;
  clarke_work_keep(12 * c->n);
  fputs("circuit", p->tree.to);
  for (size_t i, from = 0; (i = next_member(a, c, from)) < c->n; from = a->first[c->row[i]] + 1) {
    const size_t column = a->first[c->row[i]];

    fprintf(p->tree.to, " %zu ", column);
    fmpz_fprint(p->tree.to, c->value + i);
  }
  fputc('\n', p->tree.to);
  return CLARKE_OK;
}

clarke_status
clarke_arrangement_proof_split(void *proof, size_t row, clarke_error *err)
{
  clarke_arrangement_proof *p = proof;

  (void)err;
  fprintf(p->tree.to, "split %zu\n", p->arrangement->first[row]);
  return CLARKE_OK;
}

clarke_status
clarke_arrangement_proof_forced(void *proof, size_t row, int sign, size_t circuit, clarke_error *err)
{
  clarke_arrangement_proof *p = proof;

  (void)sign;
  (void)err;
  fprintf(p->tree.to, "forced %zu %zu\n", p->arrangement->first[row], circuit);
  return CLARKE_OK;
}

void
clarke_arrangement_proof_leaf(clarke_arrangement_proof *p, const clarke_witness *w)
{
  const clarke_arrangement *a = p->arrangement;

  clarke_arrangement_point(p->point, a, w);
  clarke_work_keep(12 * (a->n + 1));
  fputs("leaf", p->tree.to);
  for (size_t i = 0; i < a->n + a->affine; i++) {
    fputc(' ', p->tree.to);
    fmpz_fprint(p->tree.to, p->point + i);
  }
  fputc('\n', p->tree.to);
}

static void
put_statement(FILE *out, const clarke_arrangement *a, const clarke_proof_input *matrix, const clarke_proof_input *offsets,
              size_t regions)
{
  fputs("clarke-proof 1\nclaim arrangement\nsemantics real\n", out);
  clarke_proof_put_file(out, "arrangement", matrix->name, matrix->sha256);
  if (a->affine)
    clarke_proof_put_file(out, "offsets", offsets->name, offsets->sha256);
  fprintf(out, "regions %zu\n", regions);
  for (size_t j = 0; j < a->p; j++)
    if (a->row[j] != CLARKE_NO_ROW && a->first[a->row[j]] != j)
      fprintf(out, "parallel %zu %zu\n", j, a->first[a->row[j]]);
  if (!a->affine && a->rows.n > 0)
    fprintf(out, "half %zu\n", a->first[0]);
  fputs("tree\n", out);
}

clarke_status
clarke_arrangement_proof_save(clarke_arrangement_proof *p, const char *path, const clarke_proof_input *matrix,
                              const clarke_proof_input *offsets, size_t regions, clarke_error *err)
{
  clarke_text all;
  clarke_status status = clarke_text_close(&p->tree, CLARKE_OK, err);

  if (status == CLARKE_OK)
    status = clarke_text_open(&all, err);
  if (status != CLARKE_OK)
    return status;
  put_statement(all.to, p->arrangement, matrix, offsets, regions);
  fwrite(p->tree.text, 1, p->tree.size, all.to);
  return clarke_proof_save(&all, CLARKE_OK, path, err);
}
