/* Building programs, one instruction after another. */
#include "program/code.h"
#include "base/limit.h"
#include "base/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_code_init(clarke_code *p)
{
  memset(p, 0, sizeof *p);
}

static void
pieces_init(clarke_pieces *pieces, size_t n_kinks)
{
  memset(pieces, 0, sizeof *pieces);
  pieces->n_kinks = n_kinks;
  pieces->slope = CLARKE_NONE;
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_init(pieces->kink[k]);
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_init(pieces->coef[i][c]);
}

static void
pieces_clear(clarke_pieces *pieces)
{
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_clear(pieces->kink[k]);
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_clear(pieces->coef[i][c]);
}

void
clarke_instruction_clear(clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_coef; k++)
    mpq_clear(i->coef[k]);
  free(i->coef);
  free(i->in);
  if (i->pieces != NULL)
    pieces_clear(i->pieces);
  free(i->pieces);
  mpq_clear(i->proxy.value);
}

void
clarke_code_clear(clarke_code *p)
{
  for (size_t i = 0; i < p->n; i++)
    clarke_instruction_clear(&p->instruction[i]);
  for (size_t i = 0; i < p->n_inputs; i++)
    free(p->input[i].name);
  for (size_t i = 0; i < p->n_pieces; i++)
    free(p->piece[i].condition);
  free(p->instruction);
  free(p->input);
  free(p->output);
  free(p->piece);
  free(p->file);
  clarke_code_init(p);
}

size_t
clarke_code_entries(const clarke_code *p)
{
  size_t n = 0;

  for (size_t i = 0; i < p->n_inputs; i++)
    n += p->input[i].n;
  return n;
}

size_t
clarke_code_wrt_count(const clarke_code *p)
{
  size_t n = 0;

  for (size_t i = 0; i < p->n_inputs; i++)
    n += p->input[i].wrt ? p->input[i].n : 0;
  return n;
}

bool
clarke_code_varies(const clarke_code *p, size_t entry)
{
  size_t k = 0;

  for (; entry >= p->input[k].n; k++)
    entry -= p->input[k].n;
  return p->input[k].wrt;
}

static size_t
entry(const clarke_code *p, size_t instruction, bool wrt)
{
  size_t base = 0;

  for (size_t k = 0; k < p->n_inputs; k++) {
    const clarke_code_input *input = &p->input[k];

    if (instruction >= input->first && instruction - input->first < input->n)
      return wrt && !input->wrt ? CLARKE_NONE : base + (instruction - input->first);
    base += !wrt || input->wrt ? input->n : 0;
  }
  return CLARKE_NONE;
}

size_t
clarke_code_entry(const clarke_code *p, size_t instruction)
{
  return entry(p, instruction, false);
}

size_t
clarke_code_wrt_entry(const clarke_code *p, size_t instruction)
{
  return entry(p, instruction, true);
}

clarke_status
clarke_code_fail(const clarke_code *p, size_t instruction, clarke_error *err,
                    const char *format, ...)
{
  const clarke_instruction *i = &p->instruction[instruction];
  const char *file = p->file != NULL ? p->file : "program";
  char text[512];
  va_list list;

  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (i->line > 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s:%zu:%zu: %s", file, i->line, i->column, text);
  return clarke_fail(err, CLARKE_EINPUT, "%s: instruction %zu: %s", file, instruction, text);
}

clarke_status
clarke_code_past(const clarke_code *p, size_t instruction, clarke_error *err, clarke_limit which, const char *what)
{
  clarke_error limit = { CLARKE_OK, "" };

  clarke_limit_fail(&limit, which, "%s", what);
  return clarke_code_fail(p, instruction, err, "%.400s", limit.text);
}

static clarke_status
unknown_input(const clarke_code *p, const char *name, clarke_error *err)
{
  char list[512] = "";
  size_t n = 0;

  for (size_t i = 0; i < p->n_inputs && n < sizeof list - 1; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", p->input[i].name);
  return clarke_fail(err, CLARKE_EINPUT, "%s: no input '%s'; the inputs are: %s", p->file, name,
                     list);
}

clarke_status
clarke_code_wrt(clarke_code *p, char *const *names, size_t n, clarke_error *err)
{
  for (size_t i = 0; i < p->n_inputs; i++)
    p->input[i].wrt = n == 0;
  for (size_t k = 0; k < n; k++) {
    size_t i = 0;

    while (i < p->n_inputs && strcmp(p->input[i].name, names[k]) != 0)
      i++;
    if (i == p->n_inputs)
      return unknown_input(p, names[k], err);
    if (p->input[i].wrt)
      return clarke_fail(err, CLARKE_EINPUT, "%s: input '%s' is named twice", p->file, names[k]);
    p->input[i].wrt = true;
  }
  return CLARKE_OK;
}

/* A new instruction with copies of its arguments; NULL past a limit or out of memory. */
static clarke_instruction *
append(clarke_code *p, clarke_do kind, size_t n_in, const size_t *in, size_t n_coef,
       clarke_error *err)
{
  const size_t most = clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS);
  clarke_instruction *i;

  if (p->n >= most || n_in > most || n_in > PTRDIFF_MAX / sizeof *in || p->arguments > most - n_in) {
    clarke_limit_fail(err, CLARKE_LIMIT_INSTRUCTIONS, "%s: more instructions or arguments than allowed",
                      p->file != NULL ? p->file : "program");
    return NULL;
  }
  if (!clarke_room(&p->instruction, &p->capacity, p->n + 1, sizeof *p->instruction)) {
    clarke_no_memory(err);
    return NULL;
  }
  i = &p->instruction[p->n];
  memset(i, 0, sizeof *i);
  i->in = malloc((n_in + 1) * sizeof *i->in);
  i->coef = n_coef > 0 ? malloc(n_coef * sizeof *i->coef) : NULL;
  if (i->in == NULL || (n_coef > 0 && i->coef == NULL)) {
    free(i->in);
    free(i->coef);
    clarke_no_memory(err);
    return NULL;
  }
  i->kind = kind;
  i->n_in = n_in;
  if (n_in > 0)
    memcpy(i->in, in, n_in * sizeof *in);
  i->n_coef = n_coef;
  for (size_t k = 0; k < n_coef; k++)
    mpq_init(i->coef[k]);
  mpq_init(i->proxy.value);
  i->group = p->groups;
  p->arguments += n_in;
  p->n++;
  return i;
}

static clarke_status
appended(const clarke_code *p, const clarke_instruction *i, size_t *at, clarke_error *err)
{
  if (i == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  *at = p->n - 1;
  return CLARKE_OK;
}

void
clarke_code_new_group(clarke_code *p)
{
  p->groups++;
}

clarke_status
clarke_code_add_input(clarke_code *p, size_t *first, const char *name, size_t n, bool vector,
                         clarke_error *err)
{
  clarke_code_input *grown = realloc(p->input, (p->n_inputs + 1) * sizeof *grown);
  clarke_code_input *input;

  if (grown == NULL)
    return clarke_no_memory(err);
  p->input = grown;
  input = &p->input[p->n_inputs];
  *input = (clarke_code_input){.name = strdup(name), .vector = vector, .n = 0, .first = p->n,
                                  .wrt = true};
  if (input->name == NULL)
    return clarke_no_memory(err);
  p->n_inputs++;
  *first = p->n;
  for (; input->n < n; input->n++)
    if (append(p, CLARKE_DO_INPUT, 0, NULL, 0, err) == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
  return CLARKE_OK;
}

clarke_status
clarke_code_add_constant(clarke_code *p, size_t *at, const mpq_t value, clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_CONSTANT, 0, NULL, 1, err);

  if (i != NULL)
    mpq_set(i->coef[0], value);
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_linear(clarke_code *p, size_t *at, size_t n, const size_t *in, mpq_t *coef,
                          clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_LINEAR, n, in, n + 1, err);

  for (size_t k = 0; i != NULL && k <= n; k++)
    mpq_set(i->coef[k], coef[k]);
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add(clarke_code *p, size_t *at, clarke_do kind, size_t n, const size_t *in,
                   clarke_error *err)
{
  return appended(p, append(p, kind, n, in, 0, err), at, err);
}

clarke_status
clarke_code_add_analytic(clarke_code *p, size_t *at, clarke_analytic f, size_t in,
                            clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_ANALYTIC, 1, &in, 0, err);

  if (i != NULL)
    i->function = f;
  return appended(p, i, at, err);
}

static clarke_pieces *
new_pieces(clarke_instruction *i, size_t n_kinks, clarke_error *err)
{
  i->pieces = malloc(sizeof *i->pieces);
  if (i->pieces == NULL)
    clarke_no_memory(err);
  else
    pieces_init(i->pieces, n_kinks);
  return i->pieces;
}

static clarke_status
add_elu(clarke_code *p, size_t *at, const clarke_op *op, size_t in, const mpq_t alpha,
        clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_ELU, 1, &in, 1, err);

  if (i != NULL) {
    i->op = op;
    mpq_set(i->coef[0], alpha);
  }
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_pointwise(clarke_code *p, size_t *at, const clarke_op *op, size_t in,
                             size_t n_constants, mpq_t *constant, clarke_error *err)
{
  clarke_instruction *i;
  const char *wrong;

  if (op->pieces == NULL && n_constants == 1)
    return add_elu(p, at, op, in, constant[0], err);
  i = op->pieces != NULL ? append(p, CLARKE_DO_PIECEWISE, 1, &in, 0, err) : NULL;
  if (op->pieces == NULL)
    return clarke_fail(err, CLARKE_EINTERNAL, "operator %s is not pointwise", op->name);
  if (i == NULL || new_pieces(i, op->n_kinks, err) == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  i->op = op;
  wrong = op->pieces(i->pieces, constant);
  if (wrong != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s", wrong);
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_pieces(clarke_code *p, size_t *at, const clarke_op *op, size_t in,
                          const clarke_pieces *pieces, clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_PIECEWISE, 1, &in, 0, err);

  if (i == NULL || new_pieces(i, pieces->n_kinks, err) == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  i->op = op;
  i->pieces->first_kink = pieces->first_kink;
  for (size_t k = 0; k < CLARKE_MAX_KINKS; k++)
    mpq_set(i->pieces->kink[k], pieces->kink[k]);
  for (size_t k = 0; k <= CLARKE_MAX_KINKS; k++)
    for (size_t c = 0; c < 3; c++)
      mpq_set(i->pieces->coef[k][c], pieces->coef[k][c]);
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_order(clarke_code *p, size_t *at, const clarke_op *op, size_t rank, size_t n,
                         const size_t *in, clarke_error *err)
{
  clarke_instruction *i;

  if (rank < 1 || rank > n)
    return clarke_fail(err, CLARKE_EINPUT, "there is no %zu-th largest of %zu numbers", rank, n);
  i = append(p, CLARKE_DO_ORDER, n, in, 0, err);
  if (i != NULL) {
    i->op = op;
    i->rank = rank;
  }
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_branch(clarke_code *p, size_t *at, clarke_relation relation,
                          const size_t in[4], clarke_error *err)
{
  clarke_instruction *i = append(p, CLARKE_DO_BRANCH, 4, in, 0, err);

  if (i != NULL)
    i->relation = relation;
  return appended(p, i, at, err);
}

clarke_status
clarke_code_add_output(clarke_code *p, size_t at, clarke_error *err)
{
  size_t *grown = realloc(p->output, (p->n_outputs + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  p->output = grown;
  p->output[p->n_outputs++] = at;
  return CLARKE_OK;
}

bool
clarke_relation_holds(clarke_relation r, int sign)
{
  switch (r) {
  case CLARKE_LT:
    return sign < 0;
  case CLARKE_LE:
    return sign <= 0;
  case CLARKE_GT:
    return sign > 0;
  case CLARKE_GE:
    return sign >= 0;
  case CLARKE_EQ:
    return sign == 0;
  case CLARKE_NE:
    return sign != 0;
  }
  return false;
}

const char *
clarke_relation_text(clarke_relation r)
{
  static const char *const text[] = {"<", "<=", ">", ">=", "==", "!="};

  return text[r];
}

static void
proxy_value(mpq_t value, clarke_proxy_kind kind, const mpq_t number, const mpq_t left,
            const mpq_t right)
{
  mpq_set(value, kind == CLARKE_PROXY_LEFT    ? left
                 : kind == CLARKE_PROXY_RIGHT ? right
                                              : number);
}

clarke_status
clarke_code_proxy(mpq_t value, const clarke_instruction *i, size_t kink, const mpq_t left,
                     const mpq_t right, const clarke_profile *profile, clarke_error *err)
{
  size_t number = kink + (i->pieces != NULL ? i->pieces->first_kink : 0);
  const clarke_proxy *proxy;

  if (i->proxy.given) {
    proxy_value(value, i->proxy.kind, i->proxy.value, left, right);
    return CLARKE_OK;
  }
  proxy = i->op != NULL ? clarke_profile_find(profile, i->op, number) : NULL;
  if (proxy == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "profile %s has no proxy for kink %zu of %s",
                       profile->name, number, i->op != NULL ? i->op->name : "a function");
  if (proxy->kind == CLARKE_PROXY_INJECTED)
    return clarke_fail(err, CLARKE_EINTERNAL, "a number in the gradient's place was taken for a slope");
  proxy_value(value, proxy->kind, proxy->value, left, right);
  return CLARKE_OK;
}

clarke_status
clarke_code_tie(clarke_tie *tie, mpq_t beta, const clarke_instruction *i,
                   const clarke_profile *profile, clarke_error *err)
{
  const clarke_tie_rule *rule;

  if (i->proxy.given) {
    *tie = i->proxy.tie;
    mpq_set(beta, i->proxy.value);
    return CLARKE_OK;
  }
  rule = clarke_profile_tie(profile, i->op);
  if (i->op->first_alone && clarke_tie_sorts(rule, profile, i->op, err) != CLARKE_OK)
    return CLARKE_EINPUT;
  if (rule == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "profile %s does not say what %s returns on a tie",
                       profile->name, i->op->name);
  *tie = rule->tie;
  mpq_set(beta, rule->beta);
  return CLARKE_OK;
}

size_t
clarke_tie_index(clarke_tie tie, size_t n_tied, size_t rank_in_tie)
{
  return tie == CLARKE_TIE_FIRST ? 0 : tie == CLARKE_TIE_LAST ? n_tied - 1 : n_tied - rank_in_tie;
}
