#include "cost/program.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_count *c;
  const clarke_code *p;
  bool *varies, *zero; /* by instruction: is it a quantity; or the number 0, as padding is? */
  bool *pieces;        /* is it needed by a declared piece, and by no output? */
  clarke_error *err;
} counting;

static clarke_status
add(counting *w, clarke_elementary e, size_t times)
{
  return clarke_count_add(w->c, &e, times, w->err);
}

static size_t
varying(const counting *w, const clarke_instruction *i)
{
  size_t n = 0;

  for (size_t k = 0; k < i->n_in; k++)
    n += w->varies[i->in[k]];
  return n;
}

/* Terms with a coefficient that is neither 1 nor -1 are multiplied; where all have the same, their sum is. A sign goes with an addition,
 * unless all terms have it. What a text multiplies by 1, or adds 0 to, is an operation like any other. */
static clarke_status
add_linear(counting *w, const clarke_instruction *i)
{
  size_t terms = 0, multiplied = 0, negative = 0;
  bool constant = mpq_sgn(i->coef[i->n_in]) != 0, alike = true;
  size_t last = i->n_in;
  clarke_status status;

  for (size_t k = 0; k < i->n_in; k++) {
    constant = constant || (!w->varies[i->in[k]] && !w->zero[i->in[k]] && mpq_sgn(i->coef[k]) != 0);
    if (!w->varies[i->in[k]])
      continue;
    terms += mpq_sgn(i->coef[k]) != 0;
    negative += mpq_cmp_si(i->coef[k], -1, 1) == 0;
    multiplied += mpq_sgn(i->coef[k]) != 0 && mpq_cmp_si(i->coef[k], -1, 1) != 0 && mpq_cmp_ui(i->coef[k], 1, 1) != 0;
    alike = alike && (last == i->n_in || mpq_equal(i->coef[last], i->coef[k]));
    last = k;
  }
  multiplied = alike && multiplied > 0 && !constant ? 1 : multiplied;
  if (i->n_in == 1 && i->line > 0 && !constant && multiplied + negative == 0)
    return add(w, clarke_elementary_times_constant(), 1);
  status = add(w, clarke_elementary_times_constant(), multiplied + (negative > 0 && negative == terms && !constant));
  if (status == CLARKE_OK && terms > 1)
    status = add(w, clarke_elementary_addition(), terms - 1);
  return status == CLARKE_OK ? add(w, clarke_elementary_plus_constant(), constant) : status;
}

static bool
is_one(const clarke_instruction *i)
{
  return i->kind == CLARKE_DO_CONSTANT && mpq_cmp_ui(i->coef[0], 1, 1) == 0;
}

static clarke_status
add_quotient(counting *w, const clarke_instruction *i)
{
  const bool above = w->varies[i->in[0]], below = w->varies[i->in[1]];
  clarke_status status = below ? add(w, clarke_elementary_inverse(), 1) : CLARKE_OK;

  if (status != CLARKE_OK || (below && is_one(&w->p->instruction[i->in[0]])))
    return status;
  return add(w, above && below ? clarke_elementary_product() : clarke_elementary_times_constant(), 1);
}

static clarke_status
add_among(counting *w, clarke_elementary e, size_t n)
{
  e.arguments = n;
  return add(w, e, 1);
}

static clarke_status
add_order(counting *w, const clarke_instruction *i, size_t n)
{
  if (i->n_in == 1)
    return CLARKE_OK;
  return add_among(w, i->rank == 1 || i->rank == i->n_in ? clarke_elementary_maximum(i->n_in) : clarke_elementary_order(i->n_in), n);
}

/* An instruction n of whose arguments vary, at least one. */
static clarke_status
add_instruction(counting *w, const clarke_instruction *i, size_t n)
{
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    return add_linear(w, i);
  case CLARKE_DO_PRODUCT:
    return add(w, n == 2 ? clarke_elementary_product() : clarke_elementary_times_constant(), 1);
  case CLARKE_DO_QUOTIENT:
    return add_quotient(w, i);
  case CLARKE_DO_ANALYTIC:
    return add(w, clarke_elementary_analytic(i->function), 1);
  case CLARKE_DO_PIECEWISE:
    return add(w, clarke_elementary_pieces(i->pieces, i->op->name, false), 1);
  case CLARKE_DO_ELU:
    return add(w, clarke_elementary_elu(), 1);
  case CLARKE_DO_ORDER:
    return add_order(w, i, n);
  case CLARKE_DO_BRANCH:
    return add_among(w, clarke_elementary_choice(), n);
  case CLARKE_DO_NORM:
    return add_among(w, clarke_elementary_norm(i->n_in), n);
  default:
    return CLARKE_OK;
  }
}

/* 0 itself, or a sum of such. */
static bool
is_zero(const counting *w, const clarke_instruction *i)
{
  bool is = (i->kind == CLARKE_DO_CONSTANT && mpq_sgn(i->coef[0]) == 0) || (i->kind == CLARKE_DO_LINEAR && mpq_sgn(i->coef[i->n_in]) == 0);

  for (size_t k = 0; k < i->n_in && is; k++)
    is = w->zero[i->in[k]] || mpq_sgn(i->coef[k]) == 0;
  return is;
}

static void
mark(bool *needed, const clarke_code *p)
{
  for (size_t k = p->n; k-- > 0;)
    for (size_t i = 0; needed[k] && i < p->instruction[k].n_in; i++)
      needed[p->instruction[k].in[i]] = true;
}

/* A representation says something of the program; it is no part of it. */
static clarke_status
leave_pieces_out(counting *w)
{
  const clarke_code *p = w->p;
  bool *program = calloc(p->n + 1, sizeof *program);

  if (program == NULL)
    return clarke_no_memory(w->err);
  for (size_t i = 0; i < p->n_outputs; i++)
    program[p->output[i]] = true;
  for (size_t i = 0; i < p->n_pieces; i++) {
    w->pieces[p->piece[i].value] = true;
    for (size_t k = 0; k < p->piece[i].n_conditions; k++)
      w->pieces[p->piece[i].condition[k].left] = w->pieces[p->piece[i].condition[k].right] = true;
  }
  mark(program, p);
  mark(w->pieces, p);
  for (size_t k = 0; k < p->n; k++)
    w->pieces[k] = w->pieces[k] && !program[k];
  free(program);
  return CLARKE_OK;
}

static clarke_status
count_all(counting *w)
{
  clarke_status status = leave_pieces_out(w);

  for (size_t k = 0; k < w->p->n_inputs; k++)
    memset(w->varies + w->p->input[k].first, w->p->input[k].wrt, w->p->input[k].n * sizeof *w->varies);
  for (size_t k = 0; k < w->p->n && status == CLARKE_OK; k++) {
    const clarke_instruction *i = &w->p->instruction[k];
    const size_t n = varying(w, i);

    w->varies[k] = w->varies[k] || n > 0;
    w->zero[k] = is_zero(w, i);
    if (n > 0 && !w->pieces[k])
      status = add_instruction(w, i, n);
    if (status == CLARKE_OK)
      status = clarke_work_check(w->err);
  }
  return status;
}

clarke_status
clarke_count_program(clarke_count *c, const clarke_code *p, clarke_error *err)
{
  counting w = {.c = c, .p = p, .varies = calloc(p->n + 1, sizeof *w.varies), .zero = calloc(p->n + 1, sizeof *w.zero),
                .pieces = calloc(p->n + 1, sizeof *w.pieces), .err = err};
  clarke_status status = w.varies != NULL && w.zero != NULL && w.pieces != NULL ? count_all(&w) : clarke_no_memory(err);

  free(w.varies);
  free(w.zero);
  free(w.pieces);
  return status;
}

/* --- (2.13) ------------------------------------------------------------------------------------------- */

void
clarke_linear_relu_init(clarke_linear_relu *r)
{
  memset(r, 0, sizeof *r);
  mpz_inits(r->size, r->bound, NULL);
}

void
clarke_linear_relu_clear(clarke_linear_relu *r)
{
  mpz_clears(r->size, r->bound, NULL);
}

void
clarke_linear_relu_find(clarke_linear_relu *r, const clarke_count *c, size_t inputs)
{
  mpz_t n;

  mpz_init(n);
  clarke_count_operations(n, c);
  r->is = mpz_sgn(n) > 0 && mpz_fits_slong_p(n);
  for (size_t i = 0; i < c->n; i++)
    r->is = r->is && (strcmp(c->row[i].what.name, "+") == 0 || strcmp(c->row[i].what.name, "Relu") == 0);
  r->layers = r->is ? mpz_get_ui(n) : 0;
  r->memory = r->is ? inputs + r->layers : 0;
  mpz_set_ui(r->size, r->memory);
  mpz_mul_ui(r->size, r->size, r->memory);
  mpz_add_ui(r->size, r->size, r->memory);
  mpz_mul_ui(r->size, r->size, r->layers);
  mpz_set_ui(r->bound, 18);
  for (int k = 0; k < 3; k++)
    mpz_mul_ui(r->bound, r->bound, r->layers);
  mpz_clear(n);
}
