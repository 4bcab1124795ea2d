#include "audit/direction.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_direction_init(clarke_direction *d)
{
  memset(d, 0, sizeof *d);
}

void
clarke_direction_clear(clarke_direction *d)
{
  for (size_t i = 0; i < d->n; i++)
    mpq_clear(d->move[i].coef);
  free(d->move);
  clarke_direction_init(d);
}

clarke_status
clarke_direction_move(clarke_direction *d, clarke_move_kind kind, size_t parameter, size_t entry,
                      const mpq_t coef, clarke_error *err)
{
  if (!clarke_room(&d->move, &d->capacity, d->n + 1, sizeof *d->move))
    return clarke_no_memory(err);
  d->move[d->n].kind = kind;
  d->move[d->n].parameter = parameter;
  d->move[d->n].entry = entry;
  mpq_init(d->move[d->n].coef);
  mpq_set(d->move[d->n++].coef, coef);
  return CLARKE_OK;
}

static void
apply(mpq_t *entries, const clarke_move *m, const clarke_parameter *p)
{
  mpq_t term;

  mpq_init(term);
  if (m->kind == CLARKE_MOVE_AT)
    mpq_add(entries[m->entry], entries[m->entry], m->coef);
  for (size_t e = 0; m->kind != CLARKE_MOVE_AT && e < p->count; e++) {
    if (m->kind == CLARKE_MOVE_COPY) {
      mpq_set_d(term, p->real[e]);
      mpq_mul(term, term, m->coef);
    } else
      mpq_set(term, m->coef);
    mpq_add(entries[e], entries[e], term);
  }
  mpq_clear(term);
}

static clarke_status
parameter_matrix(clarke_matrix *m, const clarke_direction *direction, size_t parameter,
                 const clarke_graph *g, clarke_error *err)
{
  const clarke_parameter *p = &g->parameters[parameter];
  mpq_t *entries = malloc((p->count + 1) * sizeof *entries);
  clarke_status status;

  if (entries == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < p->count; e++)
    mpq_init(entries[e]);
  for (size_t i = 0; i < direction->n; i++)
    if (direction->move[i].parameter == parameter)
      apply(entries, &direction->move[i], p);
  status = clarke_matrix_set_rationals(m, p->count, 1, entries, err);
  for (size_t e = 0; e < p->count; e++)
    mpq_clear(entries[e]);
  free(entries);
  return status;
}

clarke_status
clarke_direction_matrices(clarke_matrix *d, const clarke_direction *direction,
                          const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    bool moves = false;

    for (size_t i = 0; i < direction->n; i++)
      moves = moves || direction->move[i].parameter == p;
    clarke_matrix_clear(&d[p]);
    clarke_matrix_init(&d[p]);
    if (moves)
      status = parameter_matrix(&d[p], direction, p, g, err);
  }
  return status;
}
