/* Functions of which regions are asked (region_function.h). */
#include "check/program/region_function.h"
#include "check/program/hold.h"
#include "check/base/lines.h"

#include <string.h>

static size_t
count_entries_of(const program *p)
{
  size_t n = 0;
  for (size_t k = 0; k < p->n_inputs; k++)
    n += p->inputs[k].n;
  return n;
}

/* ---- What varies */

/* The words of `wrt`, each a program's input, in their order: its entries get places, so that they are not held. */
static void
name_inputs(program *p)
{
  bool all = word_is("*"), any = all;
  fputs("F is a function of:", account);
  if (all)
    next_word();
  for (size_t k = 0; k < p->n_inputs; k++) {
    const program_input *in = &p->inputs[k];
    if (!all && !word_is(in->name))
      continue;
    fprintf(account, " %s", all ? in->name : next_word());
    any = true;
    for (size_t e = 0; e < in->n; e++)
      p->instructions[in->first + e].entry = 0;
  }
  require(!more_words() && any, "'%s' is no input, or not in their order", more_words() ? next_word() : "");
  fputs("; the other inputs are fixed\n", account);
}

/* A network's parameters are its inputs but the first. */
static void
name_parameters(program *p)
{
  for (size_t k = 1; k < p->n_inputs; k++)
    for (size_t e = 0; e < p->inputs[k].n; e++)
      p->instructions[p->inputs[k].first + e].entry = 0;
}

/* `held V ...`: the entries of all inputs that do not vary. */
static void
read_held(program *p)
{
  next_line("held");
  fputs("Held fixed:", account);
  for (size_t k = 0; k < p->n_inputs; k++) {
    const program_input *in = &p->inputs[k];
    if (p->instructions[in->first].entry != NONE)
      continue;
    fprintf(account, " %s =", in->name);
    for (size_t e = 0; e < in->n; e++) {
      rational *value = p->instructions[in->first + e].c;
      next_rational(value);
      gmp_fprintf(account, " %Qd", value);
    }
  }
  fputs("\n", account);
}

/* The inputs that vary are all that are left. */
static void
drop_held(program *p)
{
  size_t left = 0;
  for (size_t k = 0; k < p->n_inputs; k++)
    if (p->instructions[p->inputs[k].first].kind == AN_INPUT)
      p->inputs[left++] = p->inputs[k];
  p->n_inputs = left;
}

/* ---- The function */

size_t
region_function_read(program *p, bool parameters, what_varies *varies)
{
  *varies = parameters ? VARIES_PARAMETERS : line_is("wrt") ? VARIES_NAMED : VARIES_INPUT;
  if (*varies == VARIES_INPUT)
    return count_entries_of(p);
  (parameters ? name_parameters : name_inputs)(p);
  read_held(p);
  hold_constants(p);
  drop_held(p);
  return count_entries_of(p);
}

instruction *
region_function_entry(program *p, size_t e)
{
  const program_input *in = p->inputs;
  for (; e >= in->n; in++)
    e -= in->n;
  return &p->instructions[in->first + e];
}

size_t
region_function_read_point(program *p, what_varies varies)
{
  size_t n = count_entries_of(p);
  bool stored = varies == VARIES_PARAMETERS;
  fprintf(account, "Point w:%s", stored ? " the stored values of these parameters" : "");
  if (stored)
    require(strcmp(next_word(), "stored") == 0, "'at stored' is expected");
  for (size_t e = 0; e < n; e++) {
    instruction *i = region_function_entry(p, e);
    i->entry = e;
    if (stored)
      continue;
    next_rational(i->c);
    gmp_fprintf(account, " %Qd", i->c);
  }
  fputs("\n", account);
  return n;
}
