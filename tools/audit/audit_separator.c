/* The vector that separates AD's output from all derivatives nearby, as a proof has it. */
#include "audit_report.h"

#include "session/json.h"

#include <stdlib.h>

#define MOST_ENTRIES ((size_t)20000)

static json_t *
shape_json(const clarke_parameter *p)
{
  json_t *shape = json_array();

  for (size_t a = 0; a < p->rank; a++)
    clarke_json_append(&shape, json_integer((json_int_t)p->dims[a]));
  return shape;
}

/* The entries of parameter p from the v's e-th on; *e moves past them. */
static json_t *
parameter_json(size_t *e, const clarke_row *v, const clarke_graph *g, size_t p)
{
  const size_t base = clarke_column_base(g, p), end = base + g->parameters[p].count;
  json_t *entries = json_array();

  for (; *e < v->n && v->column[*e] < end; ++*e) {
    char *number = *e < MOST_ENTRIES ? mpq_get_str(NULL, 10, v->value[*e]) : NULL;

    if (number != NULL)
      clarke_json_append(&entries, json_pack("[I, s]", (json_int_t)(v->column[*e] - base), number));
    free(number);
  }
  return json_pack("{s:o, s:o, s:o}", "name", clarke_json_text(g->parameters[p].name), "shape", shape_json(&g->parameters[p]), "entries", entries);
}

void
clarke_audit_set_separator(json_t **answer, const clarke_audit_session *s, bool wanted)
{
  const clarke_audit *a = &s->audit;
  const clarke_row *v = &a->membership.v;
  json_t *list;

  if (!wanted || a->verdict != CLARKE_NOT_IN_CLARKE || v->n == 0)
    return;
  list = json_array();
  for (size_t e = 0, p = 0; e < v->n;) {
    clarke_column_entry(&p, v->column[e], &s->graph);
    clarke_json_append(&list, parameter_json(&e, v, &s->graph, p));
  }
  clarke_json_set(answer, "separator", json_pack("{s:o, s:I}", "parameters", list, "entries", (json_int_t)v->n));
}
