/* The float simplex that guesses (cone_block.h): GLPK, kept from printing and from aborting. */
#include "exact/cone_simplex.h"

#include "base/stop.h"

#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

clarke_status
clarke_cone_guess_init(clarke_cone_guess *g, size_t rows, size_t cols, clarke_error *err)
{
  g->x = calloc(cols + 1, sizeof *g->x);
  g->dual = calloc(rows + 1, sizeof *g->dual);
  g->active = calloc(rows + 1, sizeof *g->active);
  g->basic = calloc(cols + 1, sizeof *g->basic);
  if (g->x != NULL && g->dual != NULL && g->active != NULL && g->basic != NULL)
    return CLARKE_OK;
  clarke_cone_guess_clear(g);
  return clarke_fail(err, CLARKE_ENOMEM, "no memory for a cone of %zu rows, %zu columns", rows,
                     cols);
}

void
clarke_cone_guess_clear(clarke_cone_guess *g)
{
  free(g->x);
  free(g->dual);
  free(g->active);
  free(g->basic);
  g->x = g->dual = NULL;
  g->active = g->basic = NULL;
}

/* The constraint matrix in GLPK's triplets, counted from 1. */
typedef struct {
  int count;
  int *row, *col;
  double *value;
} triplets;

static bool
triplets_init(triplets *t, const clarke_cone_floats *f)
{
  size_t count = f->rows;

  for (size_t k = 0; k < f->rows * f->cols; k++)
    count += f->scaled[k] != 0;
  t->row = malloc((count + 1) * sizeof *t->row);
  t->col = malloc((count + 1) * sizeof *t->col);
  t->value = malloc((count + 1) * sizeof *t->value);
  t->count = 0;
  if (t->row == NULL || t->col == NULL || t->value == NULL)
    return false;
  for (size_t i = 0; i < f->rows; i++)
    for (size_t j = 0; j <= f->cols; j++) {
      const double value = j < f->cols ? f->scaled[i * f->cols + j] : -1;

      if (value == 0)
        continue;
      t->count++;
      t->row[t->count] = (int)i + 1;
      t->col[t->count] = (int)j + 1;
      t->value[t->count] = value;
    }
  return true;
}

static void
triplets_clear(triplets *t)
{
  free(t->row);
  free(t->col);
  free(t->value);
}

static void
state_problem(glp_prob *lp, const clarke_cone_floats *f, const triplets *t)
{
  glp_set_obj_dir(lp, GLP_MAX);
  glp_add_rows(lp, (int)f->rows);
  for (int i = 1; i <= (int)f->rows; i++)
    glp_set_row_bnds(lp, i, GLP_LO, 0, 0);
  glp_add_cols(lp, (int)f->cols + 1);
  for (int j = 1; j <= (int)f->cols; j++)
    glp_set_col_bnds(lp, j, GLP_FR, 0, 0);
  glp_set_col_bnds(lp, (int)f->cols + 1, GLP_UP, 0, 1);
  glp_set_obj_coef(lp, (int)f->cols + 1, 1);
  glp_load_matrix(lp, t->count, t->row, t->col, t->value);
}

static void
read_guess(clarke_cone_guess *g, glp_prob *lp, const clarke_cone_floats *f)
{
  for (size_t j = 0; j < f->cols; j++) {
    g->x[j] = glp_get_col_prim(lp, (int)j + 1);
    g->basic[j] = glp_get_col_stat(lp, (int)j + 1) == GLP_BS;
  }
  for (size_t i = 0; i < f->rows; i++) {
    g->dual[i] = -glp_get_row_dual(lp, (int)i + 1);
    g->active[i] = glp_get_row_stat(lp, (int)i + 1) != GLP_BS;
  }
}

/* An iteration prices the entries, updates a few numbers a row, and solves with the factors of the basis,
 * which may fill in where columns that are no slacks meet. At least one is made. */
static uint64_t
iteration_work(const clarke_cone_floats *f, const triplets *t)
{
  const uint64_t inner = (f->rows < f->cols ? f->rows : f->cols) + 1;

  return (uint64_t)t->count + 16 * f->rows + inner * inner;
}

static int
iteration_limit(const clarke_cone_floats *f, const triplets *t, uint64_t work)
{
  const uint64_t most = work / iteration_work(f, t);

  return most < 1 ? 1 : most > INT_MAX ? INT_MAX : (int)most;
}

static void
run_simplex(clarke_cone_guess *g, glp_prob *lp, const clarke_cone_floats *f, const triplets *t,
            double tolerance, uint64_t work)
{
  glp_smcp options;

  state_problem(lp, f, t);
  glp_init_smcp(&options);
  options.msg_lev = GLP_MSG_OFF;
  options.meth = GLP_PRIMAL;
  options.tol_bnd = options.tol_dj = tolerance;
  options.it_lim = iteration_limit(f, t, work);
  /* A failure leaves some basis, and reading it costs nothing. */
  (void)glp_simplex(lp, &options);
  clarke_work_spend((size_t)glp_get_it_cnt(lp) * (size_t)iteration_work(f, t) / 4 + (size_t)t->count * 4);
  read_guess(g, lp, f);
}

static void
escape(void *info)
{
  longjmp(*(jmp_buf *)info, 1);
}

/* GLPK calls abort on an error unless a hook leaves by longjmp; then its environment must be freed. That memory ran
 * out is told from its other errors, after which there is no guess, by malloc's errno. */
static clarke_status
guarded_simplex(bool *found, clarke_cone_guess *g, const clarke_cone_floats *f, const triplets *t, double tolerance,
                uint64_t work, clarke_error *err)
{
  const int terminal = glp_term_out(GLP_OFF);
  jmp_buf out;
  glp_prob *lp;

  *found = false;
  errno = 0;
  if (setjmp(out) != 0) {
    const bool no_memory = errno == ENOMEM;

    glp_error_hook(NULL, NULL);
    glp_free_env();
    return no_memory ? clarke_fail(err, CLARKE_ENOMEM, "no memory for a linear program") : CLARKE_OK;
  }
  glp_error_hook(escape, &out);
  lp = glp_create_prob();
  run_simplex(g, lp, f, t, tolerance, work);
  glp_delete_prob(lp);
  glp_error_hook(NULL, NULL);
  glp_term_out(terminal);
  *found = true;
  return CLARKE_OK;
}

clarke_status
clarke_cone_simplex(bool *found, clarke_cone_guess *g, const clarke_cone_floats *f, double tolerance, uint64_t work,
                    clarke_error *err)
{
  triplets t;
  clarke_status status;

  *found = false;
  if (f->rows >= INT_MAX / 2 || f->cols >= INT_MAX / 2 || f->rows * (f->cols + 1) >= INT_MAX)
    return CLARKE_OK;
  status = triplets_init(&t, f) ? guarded_simplex(found, g, f, &t, tolerance, work, err)
                                : clarke_fail(err, CLARKE_ENOMEM, "no memory for a linear program");
  triplets_clear(&t);
  for (size_t j = 0; j < f->cols && *found; j++)
    *found = isfinite(g->x[j]);
  return status;
}

void
clarke_cone_end_thread(void)
{
  glp_free_env();
}
