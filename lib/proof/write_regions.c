/* Proofs about regions (write_regions.h). */
#include <stdio.h> /* before flint.h, for its printing */

#include "proof/write_regions.h"
#include "base/stop.h"
#include "proof/text.h"
#include "proof/write_held.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* An arrangement under way. */
struct clarke_regions_proof_level {
  const clarke_rows *rows;
  size_t above, winner;
  size_t base, circuits; /* the proof's circuits before it; its own */
  bool entered;
};

clarke_status
clarke_regions_proof_init(clarke_regions_proof *p, const clarke_forms *forms, bool local, clarke_error *err)
{
  memset(p, 0, sizeof *p);
  p->forms = forms;
  p->local = local;
  return clarke_text_open(&p->tree, err);
}

void
clarke_regions_proof_clear(clarke_regions_proof *p)
{
  for (size_t k = 0; k < p->gradient_room; k++)
    mpq_clear(p->gradient[k]);
  free(p->gradient);
  free(p->level);
  free(p->turn);
  clarke_text_clear(&p->tree);
  memset(p, 0, sizeof *p);
}

/* --- the tree -------------------------------------------------------------------------------- */

static clarke_regions_proof_level *
top(const clarke_regions_proof *p)
{
  return &p->level[p->n_levels - 1];
}

static clarke_status
begin(void *proof, const clarke_rows *rows, size_t above, size_t fixed, size_t winner, clarke_error *err)
{
  clarke_regions_proof *p = proof;
  clarke_regions_proof_level *level = p->level;
  const size_t base = p->n_levels > 0 ? top(p)->base + top(p)->circuits : 0;

  (void)fixed;
  if (p->n_levels == p->room)
    level = realloc(level, (2 * p->room + 8) * sizeof *level);
  if (level == NULL)
    return clarke_no_memory(err);
  p->room = p->n_levels == p->room ? 2 * p->room + 8 : p->room;
  p->level = level;
  level[p->n_levels++] = (clarke_regions_proof_level){rows, above, winner, base, 0, false};
  if (rows->n > p->turn_room) {
    signed char *turn = realloc(p->turn, 2 * rows->n);

    if (turn == NULL)
      return clarke_no_memory(err);
    p->turn = turn;
    p->turn_room = 2 * rows->n;
  }
  for (size_t i = p->n_levels > 1 ? above : 0; i < rows->n; i++)
    p->turn[i] = 1;
  return CLARKE_OK;
}

static clarke_status
enter(void *proof, const signed char *sign, clarke_error *err)
{
  clarke_regions_proof *p = proof;
  clarke_regions_proof_level *l = top(p);

  (void)err;
  for (size_t i = l->above; i < l->rows->n; i++)
    p->turn[i] = sign[i];
  if (l->winner != CLARKE_NONE)
    fprintf(p->tree.to, "wins %zu\n", l->winner);
  l->entered = true;
  return CLARKE_OK;
}

static void
end(void *proof)
{
  clarke_regions_proof *p = proof;
  const clarke_regions_proof_level *l = top(p);

  if (l->winner != CLARKE_NONE && !l->entered)
    fprintf(p->tree.to, "loses %zu %zu\n", l->winner, l->base);
  p->n_levels--;
}

/* The coefficient of the primitive row number i of the proof; rows above are turned, and none is primitive. */
static void
set_coefficient(fmpz_t value, const clarke_regions_proof *p, size_t i, const fmpz_t of)
{
  const clarke_regions_proof_level *l = top(p);
  fmpz_t content;

  fmpz_init(content);
  _fmpz_vec_content(content, fmpz_mat_entry(l->rows->exact, (slong)i, 0), (slong)l->rows->dim);
  fmpz_mul(value, of, content);
  if (i < l->above && p->turn[i] < 0)
    fmpz_neg(value, value);
  fmpz_clear(content);
}

static int
compare_members(const void *a, const void *b)
{
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;

  return x < y ? -1 : x > y;
}

/* Pairs of a row and a place in the circuit, by row; the coefficients at these places, in lowest terms. */
static void
set_members(size_t (*member)[2], fmpz *value, const clarke_regions_proof *p, const clarke_circuit *c)
{
  fmpz_t content;

  fmpz_init(content);
  for (size_t k = 0; k < c->n; k++) {
    member[k][0] = c->row[k];
    member[k][1] = k;
    set_coefficient(value + k, p, c->row[k], c->value + k);
  }
  _fmpz_vec_content(content, value, (slong)c->n);
  _fmpz_vec_scalar_divexact_fmpz(value, value, (slong)c->n, content);
  clarke_work_keep(12 * c->n);
  qsort(member, c->n, sizeof *member, compare_members);
  fmpz_clear(content);
}

static clarke_status
circuit(void *proof, const clarke_circuit *c, clarke_error *err)
{
  clarke_regions_proof *p = proof;
  size_t(*member)[2] = malloc((c->n + 1) * sizeof *member);
  fmpz *value;

  if (member == NULL)
    return clarke_no_memory(err);
  value = _fmpz_vec_init((slong)c->n);
  set_members(member, value, p, c);
  fputs("circuit", p->tree.to);
  for (size_t k = 0; k < c->n; k++) {
    fprintf(p->tree.to, " %zu ", member[k][0]);
    fmpz_fprint(p->tree.to, value + member[k][1]);
  }
  fputc('\n', p->tree.to);
  top(p)->circuits++;
  _fmpz_vec_clear(value, (slong)c->n);
  free(member);
  return CLARKE_OK;
}

static clarke_status
split(void *proof, size_t row, clarke_error *err)
{
  clarke_regions_proof *p = proof;

  (void)err;
  fprintf(p->tree.to, "split %zu\n", row);
  return CLARKE_OK;
}

static clarke_status
forced(void *proof, size_t row, int sign, size_t number, clarke_error *err)
{
  clarke_regions_proof *p = proof;

  (void)sign;
  (void)err;
  fprintf(p->tree.to, "forced %zu %zu\n", row, top(p)->base + number);
  return CLARKE_OK;
}

clarke_region_listener
clarke_regions_proof_listener(clarke_regions_proof *p)
{
  return (clarke_region_listener){p, begin, enter, end, circuit, split, forced};
}

/* --- leaves ---------------------------------------------------------------------------------- */

static size_t
gradient_size(const clarke_regions_proof *p)
{
  return p->forms->p->n_outputs * p->forms->dim;
}

static clarke_status
make_room(clarke_regions_proof *p, clarke_error *err)
{
  const size_t n = (p->n_gradients + 1) * gradient_size(p), room = n > p->gradient_room ? 2 * n : p->gradient_room;
  mpq_t *grown = p->gradient;

  if (room > p->gradient_room)
    grown = realloc(grown, room * sizeof *grown);
  if (grown == NULL)
    return clarke_no_memory(err);
  for (p->gradient = grown; p->gradient_room < room; p->gradient_room++)
    mpq_init(p->gradient[p->gradient_room]);
  return CLARKE_OK;
}

static clarke_status
keep_gradient(clarke_regions_proof *p, clarke_error *err)
{
  const size_t dim = p->forms->dim, size = gradient_size(p);
  clarke_status status = make_room(p, err);

  clarke_work_keep(64 * size);
  for (size_t k = 0; k < size && status == CLARKE_OK; k++) {
    const size_t at = p->forms->p->output[k / dim];
    mpq_t *q = p->gradient + p->n_gradients * size + k;

    fmpz_get_mpz(mpq_numref(*q), clarke_forms_at(p->forms, at) + k % dim);
    fmpz_get_mpz(mpq_denref(*q), p->forms->den + at);
    mpq_canonicalize(*q);
  }
  p->n_gradients++;
  return status;
}

clarke_status
clarke_regions_proof_leaf(clarke_regions_proof *p, const clarke_region *region, size_t function, clarke_error *err)
{
  fmpz_t x;

  fmpz_init(x);
  clarke_work_keep(12 * (p->forms->dim + 1));
  fputs("leaf", p->tree.to);
  for (size_t k = 0; k < p->forms->dim + !p->local; k++) {
    clarke_witness_get(x, region->point, k);
    fputc(' ', p->tree.to);
    fmpz_fprint(p->tree.to, x);
  }
  fputc('\n', p->tree.to);
  fmpz_clear(x);
  p->leaves++;
  return p->local && function == p->n_gradients ? keep_gradient(p, err) : CLARKE_OK;
}

/* --- the proof ------------------------------------------------------------------------------- */

static void
put_place(FILE *out, const clarke_regions_statement *s)
{
  if (s->local && s->network && s->held != NULL)
    fputs("at stored\n", out);
  else if (s->local)
    clarke_proof_put_entries(out, "at", s->held, s->point, s->n, true);
  else if (s->bounds == NULL)
    clarke_proof_put_file(out, "box", s->box.name, s->box.sha256);
  else {
    fputs("box -\n", out);
    for (size_t i = 0; i < s->n; i++)
      if (clarke_proof_varies(s->held, i))
        clarke_proof_put_row(out, "bound", s->bounds + 2 * i, 2);
  }
}

typedef struct {
  mpq_t *q;
  size_t n;
} gradient;

static int
compare_gradients(const void *a, const void *b)
{
  const gradient *x = a, *y = b;

  for (size_t k = 0; k < x->n; k++) {
    const int order = mpq_cmp(x->q[k], y->q[k]);

    if (order != 0)
      return order;
  }
  return 0;
}

static clarke_status
put_gradients(FILE *out, const clarke_regions_proof *p, clarke_error *err)
{
  const size_t size = gradient_size(p);
  gradient *sorted = malloc((p->n_gradients + 1) * sizeof *sorted);

  if (sorted == NULL)
    return clarke_no_memory(err);
  for (size_t g = 0; g < p->n_gradients; g++)
    sorted[g] = (gradient){p->gradient + g * size, size};
  qsort(sorted, p->n_gradients, sizeof *sorted, compare_gradients);
  fprintf(out, "gradients %zu\n", p->n_gradients);
  for (size_t g = 0; g < p->n_gradients; g++)
    clarke_proof_put_row(out, "gradient", sorted[g].q, size);
  free(sorted);
  return CLARKE_OK;
}

clarke_status
clarke_regions_proof_end(clarke_regions_proof *p, clarke_error *err)
{
  return clarke_text_close(&p->tree, CLARKE_OK, err);
}

void
clarke_regions_proof_tree(FILE *out, const void *proof)
{
  const clarke_regions_proof *p = proof;

  fwrite(p->tree.text, 1, p->tree.size, out);
}

clarke_status
clarke_regions_proof_save(clarke_regions_proof *p, const char *path, const clarke_regions_statement *s, clarke_error *err)
{
  clarke_text all;
  clarke_status status = clarke_regions_proof_end(p, err);

  if (status == CLARKE_OK)
    status = clarke_text_open(&all, err);
  if (status != CLARKE_OK)
    return status;
  fputs("clarke-proof 1\nclaim regions\nsemantics real\n", all.to);
  clarke_proof_put_input(all.to, s->network ? "model" : "program", &s->function);
  if (s->held != NULL)
    clarke_proof_put_held(all.to, s->held, s->point, s->n);
  put_place(all.to, s);
  fprintf(all.to, "regions %zu\n", p->leaves);
  if (p->local)
    status = put_gradients(all.to, p, err);
  fputs("tree\n", all.to);
  clarke_regions_proof_tree(all.to, p);
  return clarke_proof_save(&all, status, path, err);
}
