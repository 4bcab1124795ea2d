/* Free choices of a program at a point (units.h). */
#include "program/units.h"

#include "base/room.h"
#include "program/unbounded.h"

#include <stdlib.h>
#include <string.h>

/* Branches within arms within arms ...: instructions in all executions of them. */
#define ARM_STEPS ((size_t)1 << 26)

void
clarke_units_init(clarke_units *u)
{
  memset(u, 0, sizeof *u);
  clarke_execution_init(&u->own);
}

void
clarke_units_clear(clarke_units *u)
{
  size_t n = u->e != NULL ? u->e->p->n : 0;

  clarke_numbers_free(u->partial, u->first != NULL ? u->first[n] : 0);
  clarke_numbers_free(u->adjoint, n);
  for (size_t k = 0; k < u->n; k++)
    mpq_clear(u->unit[k].scale);
  free(u->unit);
  free(u->site);
  free(u->input);
  free(u->depends);
  free(u->first);
  clarke_execution_clear(&u->own);
  free(u->output);
  clarke_units_init(u);
}

/* --- the arms of touched branches ------------------------------------------------------------- */

static size_t
other_arm(const clarke_execution *e, size_t branch)
{
  return e->p->instruction[branch].in[e->piece[branch] ? 3 : 2];
}

/* Lengthens the outputs by the arms not executed yet; *added counts them. */
static clarke_status
add_arms(size_t *added, clarke_units *u, clarke_error *err)
{
  const clarke_execution *e = u->e;
  size_t n = u->p.n_outputs, *grown = malloc((n + e->n_touched + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  memcpy(grown, u->p.output, n * sizeof *grown);
  *added = 0;
  for (size_t t = 0; t < e->n_touched; t++) {
    size_t at = e->touched[t].instruction;

    if (e->p->instruction[at].kind == CLARKE_DO_BRANCH && !e->live[other_arm(e, at)])
      grown[n + (*added)++] = other_arm(e, at);
  }
  free(u->output);
  u->output = grown;
  u->p.output = grown;
  u->p.n_outputs = n + *added;
  return CLARKE_OK;
}

/* Executes arms until all touched branches have both of theirs. */
static clarke_status
execute_arms(clarke_units *u, const clarke_execution *e, clarke_error *err)
{
  clarke_execution next;
  size_t added = 0;
  clarke_status status;

  u->p = *e->p;
  u->e = e;
  for (size_t steps = 0; steps <= ARM_STEPS; steps += e->p->n) {
    status = add_arms(&added, u, err);
    if (status != CLARKE_OK || added == 0)
      return status;
    clarke_execution_init(&next);
    status = clarke_execute(&next, &u->p, e->at, err);
    if (status != CLARKE_OK || next.open) {
      clarke_execution_clear(&next);
      u->known = false;
      return status == CLARKE_EINPUT ? CLARKE_OK : status; /* an arm that cannot be executed */
    }
    clarke_execution_clear(&u->own);
    u->own = next;
    u->e = &u->own;
  }
  u->known = false;
  return CLARKE_OK;
}

/* Are both arms equal at the point? (Where they are not the branch is no continuous function.) */
static bool
arms_agree(const clarke_execution *e, size_t branch)
{
  const size_t *in = e->p->instruction[branch].in;

  return in[2] == in[3] ||
         clarke_number_compare(&e->value[in[2]], &e->value[in[3]], e->precision) == 0;
}

/* --- units ------------------------------------------------------------------------------------ */

static clarke_status
add_unit(clarke_units *u, size_t plus, size_t minus, const mpq_t scale, clarke_error *err)
{
  clarke_unit *unit;

  if (!clarke_room(&u->unit, &u->capacity, u->n + 1, sizeof *u->unit))
    return clarke_no_memory(err);
  unit = &u->unit[u->n++];
  *unit = (clarke_unit){.site = u->n_sites, .plus = plus, .minus = minus};
  mpq_init(unit->scale);
  mpq_set(unit->scale, scale);
  return CLARKE_OK;
}

/* The base choice of a touched instruction is the left slope, the first tied entry, the arm taken;
 * base holds its partials. */
static clarke_status
choices(clarke_units *u, clarke_number *base, const clarke_touched *t, clarke_error *err)
{
  const clarke_instruction *i = &u->e->p->instruction[t->instruction];
  clarke_status status = CLARKE_OK;
  mpq_t left, scale;

  mpq_inits(left, scale, NULL);
  mpq_set_ui(scale, 1, 1);
  if (i->kind == CLARKE_DO_ORDER) {
    clarke_number_set_si(&base[t->tied[0]], 1);
    for (size_t k = 1; k < t->n_tied && status == CLARKE_OK; k++)
      status = add_unit(u, t->tied[k], t->tied[0], scale, err);
  } else if (i->kind == CLARKE_DO_BRANCH) {
    size_t taken = u->e->piece[t->instruction] ? 2 : 3;

    clarke_number_set_si(&base[taken], 1);
    u->known = u->known && arms_agree(u->e, t->instruction);
    status = add_unit(u, 5 - taken, taken, scale, err);
  } else if (i->kind == CLARKE_DO_NORM) {
    u->known = u->known && !u->depends[t->instruction];
  } else {
    clarke_kink_slopes(left, scale, i, t->kink);
    clarke_number_set_q(&base[0], left);
    mpq_sub(scale, scale, left);
    if (mpq_sgn(scale) != 0)
      status = add_unit(u, 0, CLARKE_NONE, scale, err);
  }
  mpq_clears(left, scale, NULL);
  return status;
}

static clarke_status
add_site(clarke_units *u, clarke_number *base, const clarke_touched *t, clarke_error *err)
{
  size_t first = u->n;
  clarke_status status = choices(u, base, t, err);

  if (status == CLARKE_OK && u->n > first)
    u->site[u->n_sites++] = (clarke_site){t->instruction, first, u->n - first};
  return status;
}

static bool
is_zero(const clarke_number *x)
{
  return x->exact && mpq_sgn(x->q) == 0;
}

/* --- what a sweep needs ----------------------------------------------------------------------- */

static clarke_status
allocate(clarke_units *u, clarke_error *err)
{
  const clarke_code *p = u->e->p;
  size_t arguments = 0;

  u->first = malloc((p->n + 1) * sizeof *u->first);
  if (u->first == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p->n; i++) {
    u->first[i] = arguments;
    arguments += u->e->live[i] ? p->instruction[i].n_in : 0;
  }
  u->first[p->n] = arguments;
  u->partial = clarke_numbers(arguments);
  u->adjoint = clarke_numbers(p->n);
  u->depends = calloc(p->n + 1, sizeof *u->depends);
  u->site = malloc((u->e->n_touched + 1) * sizeof *u->site);
  u->input = malloc((u->n_wrt + 1) * sizeof *u->input);
  if (u->partial == NULL || u->adjoint == NULL || u->depends == NULL || u->site == NULL ||
      u->input == NULL)
    return clarke_no_memory(err);
  return CLARKE_OK;
}

static void
mark_inputs(clarke_units *u)
{
  const clarke_code *p = u->e->p;
  size_t n = 0;

  for (size_t i = 0; i < p->n_inputs; i++)
    for (size_t k = 0; p->input[i].wrt && k < p->input[i].n; k++) {
      u->depends[p->input[i].first + k] = true;
      u->input[n++] = p->input[i].first + k;
    }
}

/* In order of instruction, so that units come in topological order. */
static clarke_status
visit_instructions(clarke_units *u, clarke_error *err)
{
  const clarke_execution *e = u->e;
  clarke_status status = CLARKE_OK;

  mark_inputs(u);
  for (size_t i = 0; i < e->p->n && status == CLARKE_OK; i++) {
    const clarke_instruction *at = &e->p->instruction[i];
    const clarke_touched *t;

    if (!e->live[i])
      continue;
    for (size_t k = 0; k < at->n_in; k++)
      u->depends[i] = u->depends[i] || u->depends[at->in[k]];
    t = clarke_touched_find(e, i);
    if (t != NULL)
      status = add_site(u, &u->partial[u->first[i]], t, err);
    else if (u->depends[i] && clarke_is_unbounded(e, i, NULL))
      u->rooted = true, u->known = false;
    else if (u->depends[i])
      status = clarke_partials(&u->partial[u->first[i]], e, i, NULL, err);
  }
  return status;
}

clarke_status
clarke_units_find(clarke_units *u, const clarke_execution *e, clarke_error *err)
{
  clarke_status status;

  clarke_units_clear(u);
  u->known = !e->open;
  u->n_outputs = e->p->n_outputs;
  u->n_wrt = clarke_code_wrt_count(e->p);
  if (!u->known)
    return CLARKE_OK;
  status = execute_arms(u, e, err);
  if (status != CLARKE_OK || !u->known)
    return status;
  status = allocate(u, err);
  return status == CLARKE_OK ? visit_instructions(u, err) : status;
}

/* --- sweeps ----------------------------------------------------------------------------------- */

static void
clear_adjoints(clarke_units *u)
{
  for (size_t i = 0; i < u->e->p->n; i++)
    if (!is_zero(&u->adjoint[i]))
      clarke_number_set_si(&u->adjoint[i], 0);
}

/* Backward from the instruction `from`, where the highest seed is. */
static void
sweep(clarke_units *u, size_t from)
{
  const clarke_execution *e = u->e;

  for (size_t i = from + 1; i-- > 0;) {
    const clarke_instruction *at = &e->p->instruction[i];
    const clarke_number *partial = &u->partial[u->first[i]];

    if (!u->depends[i] || is_zero(&u->adjoint[i]) || at->kind == CLARKE_DO_INPUT)
      continue;
    for (size_t k = 0; k < at->n_in; k++)
      if (u->depends[at->in[k]])
        clarke_number_addmul(&u->adjoint[at->in[k]], &u->adjoint[i], &partial[k], e->precision);
  }
}

void
clarke_units_sweep_output(clarke_units *u, size_t output)
{
  size_t at = u->e->p->output[output];

  clear_adjoints(u);
  if (!u->depends[at])
    return;
  clarke_number_set_si(&u->adjoint[at], 1);
  sweep(u, at);
}

/* *x += or -= scale. */
static void
shift(clarke_number *x, const mpq_t scale, bool up, long precision)
{
  clarke_number step;

  clarke_number_init(&step);
  clarke_number_set_q(&step, scale);
  if (up)
    clarke_number_add(x, x, &step, precision);
  else
    clarke_number_sub(x, x, &step, precision);
  clarke_number_clear(&step);
}

void
clarke_units_sweep_unit(clarke_units *u, size_t unit)
{
  const clarke_unit *v = &u->unit[unit];
  size_t from = u->site[v->site].instruction;
  const size_t *in = u->e->p->instruction[from].in;

  clear_adjoints(u);
  if (u->depends[in[v->plus]])
    shift(&u->adjoint[in[v->plus]], v->scale, true, u->e->precision);
  if (v->minus != CLARKE_NONE && u->depends[in[v->minus]])
    shift(&u->adjoint[in[v->minus]], v->scale, false, u->e->precision);
  if (from > 0)
    sweep(u, from - 1);
}

void
clarke_units_choose(clarke_units *u, size_t unit, bool on)
{
  const clarke_unit *v = &u->unit[unit];
  clarke_number *partial = &u->partial[u->first[u->site[v->site].instruction]];

  shift(&partial[v->plus], v->scale, on, u->e->precision);
  if (v->minus != CLARKE_NONE)
    shift(&partial[v->minus], v->scale, !on, u->e->precision);
}

bool
clarke_units_gradient(mpq_t *gradient, clarke_units *u)
{
  for (size_t o = 0; o < u->n_outputs; o++) {
    clarke_units_sweep_output(u, o);
    for (size_t j = 0; j < u->n_wrt; j++) {
      const clarke_number *x = &u->adjoint[u->input[j]];

      if (!x->exact)
        return false;
      mpq_set(gradient[o * u->n_wrt + j], x->q);
    }
  }
  return true;
}
