/* Touched kinks in words: where they are in the source, their argument, the derivatives around
 * them and the one AD uses. */
#include "session/derive.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_touched_text_clear(clarke_touched_text *t)
{
  free(t->node);
  free(t->argument);
  for (size_t i = 0; t->slope != NULL && i < t->n_slopes; i++)
    free(t->slope[i]);
  for (size_t i = 0; t->proxy != NULL && i < t->n_proxies; i++)
    free(t->proxy[i]);
  free(t->slope);
  free(t->proxy);
}

/* --- names ------------------------------------------------------------------------------------ */

/* The word of the source that an instruction was written with, into word; false: there is none. */
static bool
word_at(char *word, size_t size, const clarke_prog *g, const clarke_instruction *i)
{
  size_t from, n = 0;

  if (i->line == 0 || i->line > g->n_lines || i->column == 0)
    return false;
  from = g->line_start[i->line - 1] + i->column - 1;
  while (from + n < g->size && n + 1 < size &&
         (isalnum((unsigned char)g->text[from + n]) || g->text[from + n] == '_')) {
    word[n] = g->text[from + n];
    n++;
  }
  word[n] = '\0';
  return n > 0 && !isdigit((unsigned char)word[0]);
}

static const char *
kind_name(const clarke_instruction *i)
{
  if (i->kind == CLARKE_DO_BRANCH)
    return "if";
  if (i->kind == CLARKE_DO_NORM)
    return "norm2";
  if (i->op == NULL)
    return "operation";
  return i->op->spelling[0].name != NULL ? i->op->spelling[0].name : i->op->name;
}

/* Where things stand, found once for all touched kinks. */
typedef struct {
  const clarke_derive_session *s;
  size_t *first;            /* by instruction: the first of its group */
  size_t *size;             /* by the first of a group: how many it has */
  const clarke_step **step; /* by the first of a group: the pointwise step it unrolls, or NULL */
} places;

static void
places_clear(places *at)
{
  free(at->first);
  free(at->size);
  free(at->step);
}

static clarke_status
places_of_groups(places *at, const clarke_code *p, clarke_error *err)
{
  at->first = calloc(p->n + 1, sizeof *at->first);
  at->size = calloc(p->n + 1, sizeof *at->size);
  at->step = calloc(p->n + 1, sizeof *at->step);
  if (at->first == NULL || at->size == NULL || at->step == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p->n; i++) {
    bool same = i > 0 && p->instruction[i].group == p->instruction[i - 1].group;

    at->first[i] = same ? at->first[i - 1] : i;
    at->size[at->first[i]]++;
  }
  return CLARKE_OK;
}

/* The graph's pointwise steps that the output needs are unrolled in their order, each to a group.
 * (Where an operator does not match, the step stays unnamed.) */
static clarke_status
places_of_steps(places *at, const clarke_graph *g, const clarke_code *p, clarke_error *err)
{
  bool *needed = calloc(g->n_values + 1, sizeof *needed);
  size_t k = 0;

  if (needed == NULL)
    return clarke_no_memory(err);
  needed[g->output] = true;
  for (size_t j = g->n_steps; j-- > 0;)
    for (size_t i = 0; needed[g->steps[j].out] && i < g->steps[j].n_in; i++)
      needed[g->steps[j].in[i].value] = true;
  for (size_t i = 0; i < p->n; i++) {
    if (p->instruction[i].kind != CLARKE_DO_PIECEWISE || at->first[i] != i)
      continue;
    while (k < g->n_steps && (g->steps[k].kind != CLARKE_PIECEWISE || !needed[g->steps[k].out]))
      k++;
    if (k < g->n_steps && g->steps[k].op == p->instruction[i].op)
      at->step[i] = &g->steps[k];
    k++;
  }
  free(needed);
  return CLARKE_OK;
}

static char *
name_node(const places *where, size_t i)
{
  const clarke_derive_session *s = where->s;
  const clarke_instruction *at = &s->program.instruction[i];
  char word[64], place[64] = "", part[64] = "";
  size_t first = where->first[i];

  if (where->size[first] > 1)
    snprintf(part, sizeof part, ", entry %zu", i - first);
  if (s->network) {
    const clarke_step *step = where->step[first];

    if (step != NULL)
      return clarke_text_print("%s '%.200s'%s", step->op->name, step->name, part);
    return clarke_text_print("%s, instruction %zu%s", at->op != NULL ? at->op->name : kind_name(at), i, part);
  }
  if (at->line > 0)
    snprintf(place, sizeof place, " at line %zu, column %zu", at->line, at->column);
  return clarke_text_print("%s%s%s", word_at(word, sizeof word, &s->prog, at) ? word : kind_name(at), place,
                 part);
}

/* --- derivatives ------------------------------------------------------------------------------ */

static clarke_status
make_room(clarke_touched_text *t, size_t slopes, size_t proxies, clarke_error *err)
{
  t->slope = calloc(slopes + 1, sizeof *t->slope);
  t->proxy = calloc(proxies + 1, sizeof *t->proxy);
  t->n_slopes = slopes;
  t->n_proxies = proxies;
  return t->slope != NULL && t->proxy != NULL ? CLARKE_OK
                                              : clarke_no_memory(err);
}

static void
describe_sides(clarke_touched_text *t, const clarke_instruction *i, size_t kink,
               const clarke_number *partial)
{
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  clarke_kink_slopes(left, right, i, kink);
  t->slope[0] = mpq_get_str(NULL, 10, left);
  t->slope[1] = mpq_get_str(NULL, 10, right);
  t->proxy[0] = clarke_number_text(&partial[0]);
  mpq_clears(left, right, NULL);
}

static void
describe_tie(clarke_touched_text *t, const clarke_touched *k, const clarke_number *partial)
{
  for (size_t j = 0; j < k->n_tied; j++) {
    t->slope[j] = clarke_text_print("%zu", k->tied[j]);
    t->proxy[j] = clarke_number_text(&partial[k->tied[j]]);
  }
  t->several = true;
}

static clarke_status
describe_kind(clarke_touched_text *t, const clarke_touched *k, const clarke_execution *e, const clarke_profile *profile,
              const clarke_number *partial, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[k->instruction];
  bool tie = i->kind == CLARKE_DO_ORDER, norm = i->kind == CLARKE_DO_NORM;
  clarke_status status = make_room(t, tie ? k->n_tied : norm ? 0 : 2,
                                   tie ? k->n_tied : norm ? i->n_in : 1, err);

  if (status != CLARKE_OK)
    return status;
  if (tie)
    describe_tie(t, k, partial);
  else if (i->kind == CLARKE_DO_BRANCH) {
    t->slope[0] = strdup("then");
    t->slope[1] = strdup("else");
    t->proxy[0] = strdup(e->piece[k->instruction] != 0 ? "then" : "else");
  } else if (norm) {
    for (size_t j = 0; j < i->n_in; j++)
      t->proxy[j] = clarke_is_unbounded(e, k->instruction, profile) ? strdup("nan") : clarke_number_text(&partial[j]);
    t->several = true;
  } else
    describe_sides(t, i, k->kink, partial);
  return CLARKE_OK;
}

/* Is there a text where one must be? */
static clarke_status
check_texts(const clarke_touched_text *t, clarke_error *err)
{
  bool all = t->node != NULL && t->argument != NULL;

  for (size_t j = 0; j < t->n_slopes; j++)
    all = all && t->slope[j] != NULL;
  for (size_t j = 0; j < t->n_proxies; j++)
    all = all && t->proxy[j] != NULL;
  return all ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
describe(clarke_touched_text *t, const clarke_touched *k, const places *where, const clarke_execution *e,
         const clarke_profile *profile, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[k->instruction];
  const clarke_number *argument = &e->value[i->in[0]];
  clarke_number *partial = clarke_numbers(i->n_in);
  clarke_status status;

  if (partial == NULL)
    return clarke_no_memory(err);
  if (i->kind == CLARKE_DO_ORDER)
    argument = &e->value[k->instruction];
  t->node = name_node(where, k->instruction);
  t->argument = clarke_number_text(argument);
  t->line = i->line;
  t->column = i->column;
  status = clarke_partials(partial, e, k->instruction, profile, err);
  if (status == CLARKE_OK)
    status = describe_kind(t, k, e, profile, partial, err);
  clarke_numbers_free(partial, i->n_in);
  return status == CLARKE_OK ? check_texts(t, err) : status;
}

clarke_status
clarke_derive_touched(clarke_derive_text *t, const clarke_derive_session *s, const clarke_execution *e,
                      const clarke_profile *profile, clarke_error *err)
{
  places where = {.s = s};
  clarke_status status = CLARKE_OK;

  if (e->n_touched == 0)
    return CLARKE_OK;
  t->touched = calloc(e->n_touched, sizeof *t->touched);
  if (t->touched == NULL)
    return clarke_no_memory(err);
  status = places_of_groups(&where, e->p, err);
  if (status == CLARKE_OK && s->network)
    status = places_of_steps(&where, &s->graph, e->p, err);
  while (t->n_touched < e->n_touched && status == CLARKE_OK) {
    t->n_touched++;
    status = describe(&t->touched[t->n_touched - 1], &e->touched[t->n_touched - 1], &where, e, profile, err);
  }
  places_clear(&where);
  return status;
}
