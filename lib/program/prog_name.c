/* The names of a program: each distinct one gets a number, in sorted order, so that what looking a
 * name up costs does not depend on which names a file has. Of a name that is unknown, those near. */
#include "program/prog_name.h"

#include "program/prog_call.h"
#include "program/prog_value.h"

#include <stdlib.h>
#include <string.h>

/* Longer names are shown cut; only so many bound names are compared with an unknown one. */
#define SHOWN 40
#define COMPARED 2000
#define LISTED 8

typedef struct {
  const char *text;
  uint32_t length, node;
} occurrence;

static int
by_text(const void *a, const void *b)
{
  const occurrence *x = a, *y = b;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);

  if (order != 0)
    return order;
  return (x->length > y->length) - (x->length < y->length);
}

static size_t
collect(occurrence *list, const clarke_prog *g)
{
  size_t n = 0;

  for (uint32_t k = 1; k < g->n_nodes; k++)
    if (g->node[k].kind == CLARKE_PROG_NAME) {
      if (list != NULL)
        list[n] = (occurrence){ g->text + g->node[k].start, g->node[k].length, k };
      n++;
    }
  return n;
}

clarke_status
clarke_prog_names_find(prog_lowering *low)
{
  const size_t n = collect(NULL, low->g);
  occurrence *list = malloc((n + 1) * sizeof *list);

  low->symbol = calloc(low->g->n_nodes + 1, sizeof *low->symbol);
  low->name = calloc(n + 1, sizeof *low->name);
  if (list == NULL || low->symbol == NULL || low->name == NULL) {
    free(list);
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  }
  collect(list, low->g);
  qsort(list, n, sizeof *list, by_text);
  for (size_t k = 0; k < n; k++) {
    if (k == 0 || by_text(&list[k - 1], &list[k]) != 0)
      low->n_names++;
    low->symbol[list[k].node] = (uint32_t)(low->n_names - 1);
  }
  free(list);
  return CLARKE_OK;
}

void
clarke_prog_names_clear(prog_lowering *low)
{
  for (size_t k = 0; k < low->n_names; k++)
    clarke_prog_value_clear(&low->name[k].value);
  free(low->name);
  free(low->symbol);
}

static int
shown(const clarke_prog_node *node)
{
  return node->length > SHOWN ? SHOWN : (int)node->length;
}

static bool
is_function(const char *text, size_t length)
{
  const char *function;

  for (size_t i = 0; (function = clarke_prog_function_name(i)) != NULL; i++)
    if (strlen(function) == length && memcmp(function, text, length) == 0)
      return true;
  return false;
}

clarke_status
clarke_prog_bind(prog_lowering *low, uint32_t node, prog_value *v)
{
  const clarke_prog_node *n = clarke_prog_node_at(low, node);
  const char *text = low->g->text + n->start;
  prog_name *name = &low->name[low->symbol[node]];
  size_t line, column;

  if (is_function(text, n->length))
    return clarke_prog_fail(low->g, n->at, low->err, "'%.*s' is a function: expected another name",
                            shown(n), text);
  if (name->bound) {
    clarke_prog_place(low->g, clarke_prog_node_at(low, name->node)->at, &line, &column);
    return clarke_prog_fail(low->g, n->at, low->err, "'%.*s' is bound already, in line %zu:"
                            " expected a new name", shown(n), text, line);
  }
  /* Entries that v does not own are another name's: all names live until the end. */
  *name = (prog_name){ .bound = true, .node = node, .value = *v };
  *v = (prog_value){ 0 };
  return CLARKE_OK;
}

clarke_status
clarke_prog_lookup(const prog_value **v, prog_lowering *low, uint32_t node)
{
  const prog_name *name = &low->name[low->symbol[node]];

  if (!name->bound)
    return clarke_prog_unknown(low, node, false);
  *v = &name->value;
  return CLARKE_OK;
}

/* --- near names ---------------------------------------------------------------------------------- */

/* Edits (a character put in, taken out, replaced, or two neighbours exchanged) between two texts of
 * at most SHOWN characters; a row at a time. */
static size_t
distance(const char *a, size_t n, const char *b, size_t m)
{
  size_t row[3][SHOWN + 1];

  for (size_t j = 0; j <= m; j++)
    row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *const now = row[i % 3], *const last = row[(i + 2) % 3], *const before = row[(i + 1) % 3];

    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

      best = best < last[j] + 1 ? best : last[j] + 1;
      best = best < now[j - 1] + 1 ? best : now[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
          && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

/* Near: at most two edits apart, and fewer than half of the characters. */
static bool
is_near(const char *a, size_t n, const char *b, size_t m)
{
  size_t d;

  if (n > SHOWN || m > SHOWN)
    return false;
  d = distance(a, n, b, m);
  return d <= 2 && 2 * d < n + 1;
}

/* Names one after another in a message, the first LISTED of them. */
typedef struct {
  char text[LISTED * (SHOWN + 6)];
  size_t length, n;
} listing;

static void
list_name(listing *list, const char *text, size_t length)
{
  if (list->n < LISTED)
    list->length += (size_t)snprintf(list->text + list->length, sizeof list->text - list->length,
                                     "%s%.*s", list->n > 0 ? ", " : "",
                                     length > SHOWN ? SHOWN : (int)length, text);
  else if (list->n == LISTED)
    list->length += (size_t)snprintf(list->text + list->length, sizeof list->text - list->length,
                                     ", ...");
  list->n++;
}

static void
list_bound(listing *list, const prog_lowering *low, const char *text, size_t length, bool near)
{
  for (size_t k = 0, compared = 0; k < low->n_names && compared < COMPARED; k++) {
    const clarke_prog_node *node = clarke_prog_node_at(low, low->name[k].node);
    const char *name = low->g->text + node->start;

    if (!low->name[k].bound)
      continue;
    compared++;
    if (!near || is_near(text, length, name, node->length))
      list_name(list, name, node->length);
  }
}

static void
list_functions(listing *list, const char *text, size_t length)
{
  const char *function;

  for (size_t i = 0; (function = clarke_prog_function_name(i)) != NULL; i++)
    if (is_near(text, length, function, strlen(function)))
      list_name(list, function, strlen(function));
}

clarke_status
clarke_prog_unknown(prog_lowering *low, uint32_t node, bool function)
{
  const clarke_prog_node *n = clarke_prog_node_at(low, node);
  const char *text = low->g->text + n->start;
  listing list = { .n = 0 };

  if (!function && is_function(text, n->length))
    return clarke_prog_fail(low->g, n->at, low->err, "'%.*s' is a function: expected '(' and its"
                            " arguments after it", shown(n), text);
  if (function)
    list_functions(&list, text, n->length);
  else
    list_bound(&list, low, text, n->length, true);
  if (list.n > 0)
    return clarke_prog_fail(low->g, n->at, low->err, "unknown %s '%.*s': did you mean %s?",
                            function ? "function" : "name", shown(n), text, list.text);
  if (function)
    return clarke_prog_fail(low->g, n->at, low->err, "unknown function '%.*s': see the list in"
                            " docs/programs.md", shown(n), text);
  list_bound(&list, low, text, n->length, false);
  return clarke_prog_fail(low->g, n->at, low->err, "unknown name '%.*s': %s%s", shown(n), text,
                          list.n > 0 ? "bound so far: " : "no name is bound so far", list.text);
}
