/* Refutations (refutation.h): kept end to end, and trimmed. */
#include "sat/refutation.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_refutation_init(clarke_sat_refutation *r)
{
  memset(r, 0, sizeof *r);
}

void
clarke_refutation_clear(clarke_sat_refutation *r)
{
  free(r->first_literal);
  free(r->first_hint);
  free(r->literal);
  free(r->hint);
  clarke_refutation_init(r);
}

bool
clarke_refutation_literal(clarke_sat_refutation *r, int32_t literal)
{
  if (!clarke_room(&r->literal, &r->literal_capacity, r->n_literals + 1, sizeof *r->literal))
    return false;
  r->literal[r->n_literals++] = literal;
  return true;
}

bool
clarke_refutation_hint(clarke_sat_refutation *r, size_t number)
{
  if (!clarke_room(&r->hint, &r->hint_capacity, r->n_hints + 1, sizeof *r->hint))
    return false;
  r->hint[r->n_hints++] = (uint32_t)number;
  return true;
}

uint32_t
clarke_refutation_end(clarke_sat_refutation *r)
{
  size_t of_literals = r->capacity;

  if (r->n_given + r->n >= UINT32_MAX - 1 ||
      !clarke_room(&r->first_literal, &of_literals, r->n + 2, sizeof *r->first_literal) ||
      !clarke_room(&r->first_hint, &r->capacity, r->n + 2, sizeof *r->first_hint))
    return 0;
  if (r->n == 0)
    r->first_literal[0] = r->first_hint[0] = 0;
  r->n++;
  r->first_literal[r->n] = r->n_literals;
  r->first_hint[r->n] = r->n_hints;
  return (uint32_t)(r->n_given + r->n);
}

/* Where a step's literals and hints begin and end. */
typedef struct {
  size_t literal, literal_end, hint, hint_end;
} span;

/* That step moves to place `to`, its own or one before it; its hints get their new numbers. */
static void
move_step(clarke_sat_refutation *r, const span *from, size_t to, const uint32_t *number)
{
  const size_t literals = from->literal_end - from->literal, hints = from->hint_end - from->hint;
  const size_t literal = r->first_literal[to], hint = r->first_hint[to];

  if (literals > 0)
    memmove(r->literal + literal, r->literal + from->literal, literals * sizeof *r->literal);
  for (size_t i = 0; i < hints; i++) {
    const uint32_t old = r->hint[from->hint + i];

    r->hint[hint + i] = old <= r->n_given ? old : number[old - r->n_given - 1];
  }
  r->first_literal[to + 1] = literal + literals;
  r->first_hint[to + 1] = hint + hints;
}

/* number[k] becomes 1 for the steps that the last one rests on. */
static void
mark_needed(const clarke_sat_refutation *r, uint32_t *number)
{
  number[r->n - 1] = 1;
  for (size_t k = r->n; k-- > 0;)
    for (size_t i = r->first_hint[k]; number[k] != 0 && i < r->first_hint[k + 1]; i++)
      if (r->hint[i] > r->n_given)
        number[r->hint[i] - r->n_given - 1] = 1;
}

clarke_status
clarke_refutation_trim(clarke_sat_refutation *r, clarke_error *err)
{
  uint32_t *number = calloc(r->n + 1, sizeof *number); /* of each step; 0: not needed */
  size_t kept = 0;
  span next = {0};

  if (number == NULL)
    return clarke_no_memory(err);
  if (r->n > 0)
    mark_needed(r, number);
  for (size_t k = 0; k < r->n; k++) {
    const span from = {next.literal, r->first_literal[k + 1], next.hint, r->first_hint[k + 1]};

    next.literal = from.literal_end;
    next.hint = from.hint_end;
    if (number[k] == 0)
      continue;
    number[k] = (uint32_t)(r->n_given + kept + 1);
    move_step(r, &from, kept++, number);
  }
  r->n = kept;
  r->n_literals = kept > 0 ? r->first_literal[kept] : 0;
  r->n_hints = kept > 0 ? r->first_hint[kept] : 0;
  free(number);
  return CLARKE_OK;
}
