/* The sign vectors of an arrangement, printed as they are found (patterns_arrangement.h). */
#include <stdio.h> /* before flint.h */

#include "patterns_arrangement.h"
#include "base/stop.h"
#include "base/text.h"
#include "format/file.h"
#include "format/table.h"
#include "patterns_list.h"
#include "patterns_regions.h"
#include "proof/write_arrangement.h"
#include "watch.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_arrangement_command *command;
  clarke_file matrix_file, offsets_file;
  clarke_table matrix, offsets;
  clarke_arrangement arrangement;
  clarke_arrangement_proof proof;
  fmpz *point;
  char *signs; /* p characters and NUL */
  size_t leaves, listed;
  clarke_patterns_list list;
} answer;

/* --- reading --------------------------------------------------------------------------------- */

static clarke_status
read_table(clarke_table *t, clarke_file *f, const char *path, clarke_error *err)
{
  clarke_status status = clarke_file_read(f, path, err);

  return status == CLARKE_OK ? clarke_table_parse(t, f->data, f->size, clarke_base_name(path), err) : status;
}

static clarke_status
read_offsets(answer *a, clarke_error *err)
{
  const clarke_table *t = &a->offsets;
  clarke_status status = read_table(&a->offsets, &a->offsets_file, a->command->offsets, err);

  if (status == CLARKE_OK && t->rows * t->columns != a->matrix.columns)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu by %zu numbers; expected one row of %zu, an offset for each column of %s",
                       clarke_base_name(a->command->offsets), t->rows, t->columns, a->matrix.columns,
                       clarke_base_name(a->command->matrix));
  if (status == CLARKE_OK && t->rows > 1 && t->columns > 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: %zu by %zu numbers; expected them in one row, or one column",
                       clarke_base_name(a->command->offsets), t->rows, t->columns);
  return status;
}

static clarke_status
read_arrangement(answer *a, clarke_error *err)
{
  const bool affine = a->command->offsets != NULL;
  clarke_status status = read_table(&a->matrix, &a->matrix_file, a->command->matrix, err);

  if (status == CLARKE_OK && affine)
    status = read_offsets(a, err);
  if (status == CLARKE_OK)
    status = clarke_arrangement_init(&a->arrangement, a->matrix.rows, a->matrix.columns, a->matrix.value,
                                     affine ? a->offsets.value : NULL, err);
  if (status != CLARKE_OK)
    return status;
  a->point = _fmpz_vec_init((slong)a->matrix.rows + 1);
  a->signs = calloc(a->matrix.columns + 1, 1);
  return a->signs != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* --- the list -------------------------------------------------------------------------------- */

/* Entry i of the point; of an affine arrangement over the last one. */
static void
put_entry(const answer *a, size_t i)
{
  mpq_t q;
  char *text;

  mpq_init(q);
  fmpz_get_mpz(mpq_numref(q), a->point + i);
  if (a->arrangement.affine)
    fmpz_get_mpz(mpq_denref(q), a->point + a->arrangement.n);
  mpq_canonicalize(q);
  text = mpq_get_str(NULL, 10, q);
  fputs(text, a->list.to);
  free(text);
  mpq_clear(q);
}

static void
put_vector(answer *a, const signed char *sign, int turn)
{
  const bool json = a->command->json;

  for (size_t j = 0; j < a->arrangement.p; j++)
    a->signs[j] = "-0+"[1 + turn * clarke_arrangement_sign(&a->arrangement, sign, j)];
  if (json)
    fprintf(a->list.to, "%s\n  {\"signs\": \"%s\", \"at\": [", a->listed > 0 ? "," : "", a->signs);
  else
    fputs(a->signs, a->list.to);
  for (size_t i = 0; i < a->arrangement.n; i++) {
    fputs(json ? i > 0 ? ", \"" : "\"" : i > 0 ? " " : "  ", a->list.to);
    put_entry(a, i);
    if (json)
      putc('"', a->list.to);
  }
  fputs(json ? "]}" : "\n", a->list.to);
  a->listed++;
}

static void
print_leaf(answer *a, const signed char *sign, const clarke_witness *w)
{
  const bool both = !a->arrangement.affine && a->arrangement.rows.n > 0;

  clarke_arrangement_point(a->point, &a->arrangement, w);
  put_vector(a, sign, 1);
  if (!both)
    return;
  _fmpz_vec_neg(a->point, a->point, (slong)a->arrangement.n);
  put_vector(a, sign, -1);
}

static clarke_status
take_leaf(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  answer *a = context;

  (void)err;
  a->leaves++;
  if (a->command->proof != NULL)
    clarke_arrangement_proof_leaf(&a->proof, w);
  if (!a->command->count)
    print_leaf(a, sign, w);
  clarke_work_done();
  *go_on = clarke_patterns_below_limit(clarke_arrangement_count(&a->arrangement, a->leaves));
  return CLARKE_OK;
}

/* The proof hears of all; without one only leaves are told. */
static clarke_status
tell_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  return clarke_arrangement_proof_circuit(&((answer *)context)->proof, c, err);
}

static clarke_status
tell_split(void *context, size_t row, clarke_error *err)
{
  return clarke_arrangement_proof_split(&((answer *)context)->proof, row, err);
}

static clarke_status
tell_forced(void *context, size_t row, int sign, size_t circuit, clarke_error *err)
{
  return clarke_arrangement_proof_forced(&((answer *)context)->proof, row, sign, circuit, err);
}

/* --- what is said of the whole --------------------------------------------------------------- */

static void
print_summary_text(const answer *a, const clarke_sign_tree *tree)
{
  const clarke_arrangement *r = &a->arrangement;
  const size_t count = clarke_arrangement_count(r, tree->leaves);

  if (!tree->complete)
    printf("at least %zu sign vectors; undecided: %s\n", count, clarke_patterns_why(tree->undecided, tree->stopped));
  else if (a->command->count)
    printf("%zu\n", count);
  else
    printf("%zu sign vector%s: all regions of the %s arrangement of %zu distinct hyperplane%s in dimension %zu, rank %zu.\n", count,
           count == 1 ? "" : "s", r->affine ? "affine" : "central", r->rows.n - r->affine, r->rows.n - r->affine == 1 ? "" : "s", r->n,
           r->rank - r->affine);
}

static clarke_status
print_json(answer *a, const clarke_sign_tree *tree, clarke_error *err)
{
  const clarke_arrangement *r = &a->arrangement;

  if (clarke_patterns_list_keys(&a->list, a->listed > 0, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  printf("\"count\": \"%zu\", \"complete\": %s, \"affine\": %s, \"dimension\": %zu, \"columns\": %zu, \"hyperplanes\": %zu, "
         "\"rank\": %zu,\n \"programs\": %zu, \"circuits\": %zu",
         clarke_arrangement_count(r, tree->leaves), tree->complete ? "true" : "false", r->affine ? "true" : "false", r->n, r->p,
         r->rows.n - r->affine, r->rank - r->affine, tree->programs, tree->circuits);
  return clarke_patterns_list_end(&a->list, a->listed > 0, tree->stopped, err);
}

static clarke_status
tell(answer *a, const clarke_sign_tree *tree, clarke_error *err)
{
  const clarke_arrangement *r = &a->arrangement;
  clarke_summary s = {0};
  clarke_status status = clarke_summary_begin(&s, err);

  if (status != CLARKE_OK)
    return status;
  fputs("Into which parts do the planes cut the space? ", s.asked.to);
  clarke_patterns_put_file(s.asked.to, a->command->matrix, a->matrix_file.sha256);
  clarke_patterns_put_begun(s.answer.to, tree->complete);
  clarke_put_count(s.answer.to, clarke_arrangement_count(r, tree->leaves), "part");
  fputs(" (sign vectors), by ", s.answer.to);
  clarke_put_count(s.answer.to, r->rows.n - r->affine, "plane");
  fprintf(s.answer.to, " that differ (hyperplanes), in dimension %zu.", r->n);
  clarke_patterns_put_next(&a->list, s.next.to, tree->complete ? NULL : clarke_patterns_why(tree->undecided, tree->stopped),
                           "a part: its side of each plane, and a point inside", a->command->proof);
  return clarke_patterns_list_tell(&a->list, &s, status, err);
}

/* --- the command ----------------------------------------------------------------------------- */

static clarke_status
enumerate(answer *a, clarke_sign_tree *tree, clarke_error *err)
{
  const bool proves = a->command->proof != NULL;
  const clarke_sign_visitor visitor = {a, proves ? tell_circuit : NULL, proves ? tell_split : NULL, proves ? tell_forced : NULL,
                                       take_leaf};

  return clarke_arrangement_enumerate(tree, &a->arrangement, &visitor, err);
}

static clarke_status
prove(answer *a, const clarke_sign_tree *tree, clarke_error *err)
{
  const clarke_proof_input matrix = {clarke_base_name(a->command->matrix), a->matrix_file.sha256, NULL};
  const clarke_proof_input offsets = {a->arrangement.affine ? clarke_base_name(a->command->offsets) : NULL, a->offsets_file.sha256, NULL};

  if (!tree->complete) {
    fputs("clarke patterns: no proof is written of a list that is not complete\n", stderr);
    return CLARKE_OK;
  }
  return clarke_arrangement_proof_save(&a->proof, a->command->proof, &matrix, &offsets,
                                       clarke_arrangement_count(&a->arrangement, tree->leaves), err);
}

static void
clear(answer *a)
{
  clarke_patterns_list_clear(&a->list);
  if (a->point != NULL)
    _fmpz_vec_clear(a->point, (slong)a->matrix.rows + 1);
  free(a->signs);
  clarke_arrangement_proof_clear(&a->proof);
  clarke_arrangement_clear(&a->arrangement);
  clarke_table_clear(&a->matrix);
  clarke_table_clear(&a->offsets);
  clarke_file_clear(&a->matrix_file);
  clarke_file_clear(&a->offsets_file);
}

clarke_status
clarke_arrangement_answer(bool *complete, const clarke_arrangement_command *c, clarke_error *err)
{
  answer a = {.command = c};
  clarke_sign_tree tree = {0};
  clarke_status status = read_arrangement(&a, err);

  if (status == CLARKE_OK && c->proof != NULL)
    status = clarke_arrangement_proof_init(&a.proof, &a.arrangement, err);
  clarke_work_begin("sign vectors found (or pairs)", 0);
  a.list = (clarke_patterns_list){c->json, c->count, c->as_found, "vectors", NULL};
  if (status == CLARKE_OK)
    status = clarke_patterns_list_begin(&a.list, err);
  if (status == CLARKE_OK)
    status = enumerate(&a, &tree, err);
  clarke_watch_hide(true);
  if (status == CLARKE_OK && c->proof != NULL)
    status = prove(&a, &tree, err);
  if (status == CLARKE_OK)
    status = c->json ? print_json(&a, &tree, err) : tell(&a, &tree, err);
  if (status == CLARKE_OK && !c->json)
    print_summary_text(&a, &tree);
  *complete = tree.complete;
  clear(&a);
  return status;
}
