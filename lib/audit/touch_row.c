#include "audit/touch_row.h"

#include "base/verify.h"
#include "audit/sparse_row.h"
#include "network/derive/reverse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row that is not cut, in a graph that couples samples, takes a pass over all of their activations: no
 * more than so many entries in all. */
#define COUPLED_WORK ((size_t)1 << 27)

bool
clarke_whole_rows_reachable(const clarke_question *q)
{
  return !clarke_graph_couples(q->g) || q->replay->n_conditions <= COUPLED_WORK / (q->g->activations + 1);
}

clarke_status
clarke_columns_init(clarke_columns *c, const clarke_question *q, const clarke_branch *side,
                    clarke_error *err)
{
  memset(c, 0, sizeof *c);
  c->q = q;
  c->column = CLARKE_NONE;
  clarke_slopes_init(&c->slopes);
  clarke_sparse_init(&c->sparse);
  clarke_forward_init(&c->forward);
  clarke_slopes_init(&c->slope);
  return clarke_question_slopes(&c->slopes, q, side, err);
}

void
clarke_columns_clear(clarke_columns *c)
{
  clarke_forward_clear(&c->forward);
  clarke_slopes_clear(&c->slope);
  clarke_slopes_clear(&c->slopes);
  clarke_sparse_clear(&c->sparse);
  memset(c, 0, sizeof *c);
}

static clarke_status
take_column(clarke_columns *c, size_t column, clarke_error *err)
{
  clarke_status status;

  if (column == c->column)
    return CLARKE_OK;
  clarke_forward_clear(&c->forward);
  clarke_slopes_clear(&c->slope);
  c->column = CLARKE_NONE;
  status = clarke_forward_column(&c->forward, &c->q->replay->near, column, err);
  if (status == CLARKE_OK)
    status = clarke_slopes_column(&c->slope, &c->slopes, &c->q->replay->near, column, err);
  if (status == CLARKE_OK)
    c->column = column;
  return status;
}

typedef struct {
  clarke_row *row;
  const clarke_graph *g;
  int sign;
} row_receiver;

static clarke_status
receive(void *context, size_t parameter, size_t entry, const mpq_t value, clarke_error *err)
{
  row_receiver *r = context;
  clarke_status status =
    clarke_row_add(r->row, clarke_column_base(r->g, parameter) + entry, value, err);

  if (status == CLARKE_OK && r->sign < 0)
    mpq_neg(r->row->value[r->row->n - 1], r->row->value[r->row->n - 1]);
  return status;
}

/* Is everything the touch's derivative is made of exact? That of a NORMALIZE is taken not to be: zeros of
 * its output may be exact where the root that its derivative is divided by is not. */
static bool
pass_is_exact(const clarke_forward *f, size_t step)
{
  for (size_t i = 0; i <= step; i++) {
    size_t in = f->g->steps[i].in[0].value;

    if (f->g->steps[i].kind == CLARKE_NORMALIZE)
      return false;
    if (!f->g->values[in].constant && f->value[in].radius != NULL)
      return false;
  }
  return true;
}

/* What the row is the gradient of. */
static clarke_sparse_seed
seed_of(const clarke_graph *g, const clarke_touch *t, clarke_branch side, size_t condition, bool segment)
{
  clarke_sparse_seed seed = {g->steps[t->step].in[0].value, 1, segment ? t->step : CLARKE_NONE,
                             {t->feature, 0}, {1, -1}};

  if (t->n_options > 0) {
    seed.n = 2;
    seed.entry[0] = t->option[CLARKE_OPTION_OF(side)];
    seed.entry[1] = t->option[condition];
  }
  return seed;
}

/* The seed as gradients, all zero but in one column of the pass. */
static clarke_status
sow(clarke_matrix *grad, const clarke_sparse_seed *seed, const clarke_forward *f, size_t column,
    clarke_error *err)
{
  clarke_matrix *at = &grad[seed->value];
  clarke_status status = clarke_matrix_resize(at, f->g->values[seed->value].count, f->n, 1, err);

  for (size_t k = 0; k < seed->n && status == CLARKE_OK; k++)
    at->word[(seed->entry[k] * f->n + column) * at->limbs] = (uint64_t)(int64_t)seed->sign[k];
  return status;
}

/* The same by matrices. */
static clarke_status
matrix_row(const clarke_sparse_seed *seed, const clarke_forward *f, const clarke_slopes *s,
           clarke_emitter *emitter, clarke_error *err)
{
  const clarke_graph *g = f->g;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  clarke_status status;

  if (grad == NULL)
    return clarke_no_memory(err);
  status = sow(grad, seed, f, 0, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, f, s, seed->segment, clarke_emit_sink, emitter, err);
  clarke_matrices_free(grad, g->n_values);
  return status;
}

/* The nonzero midpoints of whole gradients. */
static clarke_status
emit_gradients(const clarke_emitter *emitter, const clarke_matrix *gradient, const clarke_graph *g,
               clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  mpq_init(q);
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; e < gradient[p].rows && status == CLARKE_OK; e++) {
      clarke_matrix_get(q, &gradient[p], e, 0);
      if (mpq_sgn(q) != 0)
        status = emitter->emit(emitter->context, p, e, q, err);
    }
  mpq_clear(q);
  return status;
}

/* The gradient of the condition by all parameters, as matrices: over all samples where the graph couples them before its
 * step, else over the column at hand. grad, n_values new matrices, ends as its derivatives by values. */
static clarke_status
whole_gradient(clarke_matrix *gradient, clarke_matrix *grad, bool up_to_root, const clarke_sparse_seed *seed, size_t column,
               bool coupled, const clarke_columns *c, clarke_error *err)
{
  const clarke_slopes *slopes = coupled ? &c->slopes : &c->slope;
  const clarke_forward *f = coupled ? &c->q->replay->near : &c->forward;
  const size_t at = coupled ? column : 0;
  clarke_status status = sow(grad, seed, f, at, err);

  if (status == CLARKE_OK)
    status = up_to_root ? clarke_reverse_up_to_root(gradient, grad, f, slopes, err)
                        : clarke_reverse_run(grad, f, slopes, seed->segment, clarke_gradient_sink,
                                             gradient, err);
  return status;
}

static clarke_status
matrices_row(const clarke_sparse_seed *seed, size_t column, clarke_columns *c, const clarke_emitter *emitter,
             clarke_error *err)
{
  const clarke_graph *g = c->q->g;
  clarke_matrix *gradient, *grad;
  clarke_status status;

  c->far = c->frugal && !clarke_whole_rows_reachable(c->q);
  if (c->far)
    return CLARKE_OK;
  gradient = clarke_matrices_new(g->n_parameters);
  grad = clarke_matrices_new(g->n_values);
  status = gradient != NULL && grad != NULL ? whole_gradient(gradient, grad, false, seed, column, true, c, err)
                                            : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = emit_gradients(emitter, gradient, g, err);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_matrices_free(grad, g->n_values);
  return status;
}

/* A gradient that comes to no normalization stays in the condition's own sample. That is so behind a scale of 0, with which
 * networks' last normalization of a block begins. */
static clarke_status
coupled_row(clarke_row *row, const clarke_sparse_seed *seed, size_t column, clarke_columns *c, clarke_emitter *emitter,
            clarke_error *err)
{
  const size_t before = row->n;
  bool known = false;
  clarke_status status = take_column(c, column, err);

  if (status == CLARKE_OK)
    status = clarke_sparse_run(&known, &c->sparse, seed, &c->forward, &c->slope, emitter, err);
  if (status != CLARKE_OK || known)
    return status;
  row->n = before;
  return matrices_row(seed, column, c, emitter, err);
}

/* May what a step's argument is made of be of several samples? */
static bool
couples_before(const clarke_graph *g, size_t step)
{
  for (size_t i = 0; i < step; i++)
    if (g->steps[i].kind == CLARKE_NORMALIZE && g->steps[i].grouping.couples)
      return true;
  return false;
}

/* Did enclosures come into what the sparse pass has made?  Where it is one entry alone, and its sign is certain, the row is
 * that sign. */
static bool
sparse_row_is_exact(clarke_row *row, clarke_columns *c)
{
  const clarke_sparse *w = &c->sparse;
  bool certain;
  mpq_t size;

  if (w->vague || !w->enclosed)
    return !w->vague;
  if (c->whole || row->n != 1 || row->column[0] != clarke_column_base(c->q->g, w->parameter) + w->entry)
    return false;
  mpq_init(size);
  mpq_abs(size, row->value[0]);
  certain = mpq_cmp(size, w->spread) > 0;
  if (certain) {
    c->divided = fabs(mpq_get_d(row->value[0]));
    mpq_set_si(row->value[0], mpq_sgn(row->value[0]), 1);
  }
  mpq_clear(size);
  return certain;
}

/* By one column, which is all that the condition depends on. */
static clarke_status
column_row(clarke_row *row, bool *exact, const clarke_sparse_seed *seed, clarke_columns *c, size_t column,
           clarke_emitter *emitter, clarke_error *err)
{
  const size_t before = row->n;
  clarke_status status = take_column(c, column, err);
  bool known = true;

  if (status == CLARKE_OK)
    status = clarke_sparse_run(&known, &c->sparse, seed, &c->forward, &c->slope, emitter, err);
  if (status == CLARKE_OK && !known) {
    row->n = before;
    status = matrix_row(seed, &c->forward, &c->slope, emitter, err);
  }
  clarke_row_finish(row);
  *exact = status == CLARKE_OK && known && sparse_row_is_exact(row, c);
  return status;
}

clarke_status
clarke_touch_row(clarke_row *row, bool *exact, clarke_columns *c, size_t k, clarke_branch side,
                 size_t condition, bool segment, clarke_error *err)
{
  const clarke_touch *t = &c->q->replay->touch[k];
  const clarke_graph *g = c->q->g;
  const clarke_sparse_seed seed = seed_of(g, t, side, condition, segment);
  row_receiver receiver = {row, g, t->n_options > 0 ? 1 : side};
  clarke_emitter emitter = {receive, &receiver};
  clarke_status status;

  *exact = false;
  c->divided = 1;
  /* A segment ends behind every normalization. */
  if (!segment && couples_before(g, t->step))
    status = coupled_row(row, &seed, t->column, c, &emitter, err);
  else
    status = column_row(row, exact, &seed, c, t->column, &emitter, err);
  clarke_row_finish(row);
  *exact = status == CLARKE_OK && (*exact || pass_is_exact(&c->q->replay->near, t->step));
  return status;
}

clarke_status
clarke_touch_meets(clarke_matrix *gradient, clarke_matrix *grad, bool *coupled, clarke_columns *c, size_t k, clarke_branch side,
                   size_t condition, clarke_error *err)
{
  const clarke_touch *t = &c->q->replay->touch[k];
  const clarke_sparse_seed seed = seed_of(c->q->g, t, side, condition, false);
  clarke_status status = CLARKE_OK;

  *coupled = couples_before(c->q->g, t->step);
  if (!*coupled)
    status = take_column(c, t->column, err);
  return status == CLARKE_OK ? whole_gradient(gradient, grad, true, &seed, t->column, *coupled, c, err) : status;
}

clarke_status
clarke_touch_rests(bool *rests, clarke_columns *c, size_t k, clarke_branch side, size_t condition,
                   clarke_error *err)
{
  const clarke_graph *g = c->q->g;
  clarke_matrix *gradient = clarke_matrices_new(g->n_parameters), *grad = clarke_matrices_new(g->n_values);
  bool coupled;
  clarke_status status = gradient != NULL && grad != NULL
                           ? clarke_touch_meets(gradient, grad, &coupled, c, k, side, condition, err)
                           : clarke_no_memory(err);

  *rests = true;
  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK && *rests; p++)
    *rests = clarke_matrix_is_zero(&gradient[p]);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_matrices_free(grad, g->n_values);
  return status;
}
