/* Vectors lowered: joined, and parts of them. */

#include "program/prog_vector.h"

#include "base/room.h"
#include "program/prog_expression.h"
#include "program/prog_value.h"

#include <stdlib.h>
#include <string.h>

/* Puts v's entries after those of the list. */
static clarke_status
join(prog_value *list, size_t *capacity, prog_lowering *low, const prog_value *v, size_t at)
{
  clarke_status status = clarke_prog_count(low, list->n + v->n, at);

  if (status != CLARKE_OK)
    return status;
  low->entries -= list->n;
  if (!clarke_room(&list->entry, capacity, list->n + v->n, sizeof *list->entry))
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  for (size_t i = 0; i < v->n; i++)
    list->entry[list->n++] = clarke_prog_entry(v, i);
  return CLARKE_OK;
}

clarke_status
clarke_prog_join(prog_value *v, prog_lowering *low, uint32_t child)
{
  clarke_status status = CLARKE_OK;
  size_t capacity = 0;

  *v = (prog_value){ .vector = true, .owned = true };
  for (; status == CLARKE_OK && child != 0; child = clarke_prog_node_at(low, child)->next) {
    prog_value part = { 0 };

    status = clarke_prog_value_of(&part, low, child);
    if (status == CLARKE_OK)
      status = join(v, &capacity, low, &part, clarke_prog_node_at(low, child)->at);
    clarke_prog_value_clear(&part);
  }
  return status;
}

/* An index: a constant integer in low .. high. */
static clarke_status
index_of(size_t *index, prog_lowering *low, uint32_t node, size_t from, size_t to,
         const char *what)
{
  const size_t at = clarke_prog_node_at(low, node)->at;
  clarke_status status;
  mpq_t value;

  mpq_init(value);
  status = clarke_prog_constant_of(value, low, node, what);
  if (status == CLARKE_OK && mpz_cmp_ui(mpq_denref(value), 1) != 0)
    status = clarke_prog_fail(low->g, at, low->err, "%s is no integer", what);
  else if (status == CLARKE_OK && (mpz_cmp_ui(mpq_numref(value), from) < 0
                                   || mpz_cmp_ui(mpq_numref(value), to) > 0))
    status = clarke_prog_fail(low->g, at, low->err, "%s is out of range: expected %zu to %zu",
                              what, from, to);
  else if (status == CLARKE_OK)
    *index = mpz_get_ui(mpq_numref(value));
  mpq_clear(value);
  return status;
}

/* v becomes the part [from, to) of itself, or the scalar entry `from`. */
static clarke_status
take_part(prog_value *v, prog_lowering *low, const clarke_prog_node *node, size_t from, size_t to)
{
  prog_value whole = *v;
  clarke_status status = CLARKE_OK;

  if (node->kind == CLARKE_PROG_ENTRY) {
    *v = (prog_value){ .n = 1, .one = whole.entry[from] };
  } else if (!whole.owned) {
    v->entry += from;
    v->n = to - from;
    return CLARKE_OK;
  } else {
    status = clarke_prog_vector(v, low, to - from, node->at);
    if (status == CLARKE_OK)
      memcpy(v->entry, whole.entry + from, (to - from) * sizeof *v->entry);
  }
  clarke_prog_value_clear(&whole);
  return status;
}

clarke_status
clarke_prog_part(prog_value *v, prog_lowering *low, const clarke_prog_node *node)
{
  const uint32_t index = clarke_prog_node_at(low, node->first)->next;
  const uint32_t end = clarke_prog_node_at(low, index)->next;
  size_t from = 0, to = 0;
  clarke_status status = clarke_prog_value_of(v, low, node->first);

  if (status == CLARKE_OK && !v->vector)
    return clarke_prog_fail(low->g, node->at, low->err, "a scalar has no entries: expected a vector"
                            " before '['");
  if (status == CLARKE_OK)
    status = index_of(&from, low, index, 0, v->n - 1, end == 0 ? "the index" : "the first index");
  if (status == CLARKE_OK && end != 0)
    status = index_of(&to, low, end, from + 1, v->n, "the slice's end");
  return status == CLARKE_OK ? take_part(v, low, node, from, to) : status;
}
