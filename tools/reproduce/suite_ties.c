/* Ties, and pieces that hold at ties alone (suite.h): Despres, (15) and 2.2; Park et al., Appendix B; Bolte and Pauwels, 5.1. */
#include "suite_drawn.h"

#include <stdlib.h>

#define INPUTS 2

/* --- Despres, (15) ------------------------------------------------------------------------------ */

/* max(y), whose piece on the tie is y_1 + (y_1 - y_2) (q_0 + q_1 y_1 + q_2 y_2), and more by * y_1, which is no piece unless it is 0. */
static clarke_status
pose_tied_piece(clarke_posed *p, const long *q, long by, const long *at, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fputs("input y[2]\noutput max(y)\npiece y[1] if y[0] < y[1]\npiece y[0] if y[0] > y[1]\n", t.to);
  fprintf(t.to, "piece y[0] + (y[0] - y[1])*((%ld) + (%ld)*y[0] + (%ld)*y[1]) + (%ld)*y[0] if y[0] == y[1]\n", q[0], q[1], q[2], by);
  return clarke_posed_read(p, &t, at, INPUTS, err);
}

/* On the tie each (s, 1 - s) is the gradient of a piece, and the derivatives of each piece there have the sum 1. Those outside the Clarke set
 * differ. What is not equal to the maximum on the tie is no piece. */
clarke_status
clarke_suite_tied_pieces(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const long m = clarke_draw_between(d, -2, 2), at[INPUTS] = {m, m}, by = clarke_draw_below(d, 3) == 0 ? clarke_draw_between(d, 1, 3) : 0;
  long q[3];
  clarke_posed p;
  clarke_status status;

  q[0] = clarke_draw_between(d, -3, 3);
  q[1] = clarke_draw_below(d, 2) ? clarke_draw_between(d, -2, 2) : 0;
  q[2] = q[1] != 0 ? clarke_draw_between(d, -2, 2) : 0;
  const long s = 1 + q[0] + (q[1] + q[2]) * m;

  clarke_posed_init(&p);
  status = pose_tied_piece(&p, q, by, at, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&p, err);
  if (status == CLARKE_OK) {
    const clarke_representation *r = &p.d.representation;
    const bool gradient = r->associated != NULL && mpq_cmp_si(r->associated[0], s, 1) == 0 && mpq_cmp_si(r->associated[1], 1 - s, 1) == 0;

    t->of[CLARKE_COUNT_DIFFER] += by == 0 && (s < 0 || s > 1);
    t->of[CLARKE_COUNT_EMPTY] += by != 0;
    clarke_suite_add(t, r->answer == CLARKE_REPRESENTS_UNKNOWN                                    ? CLARKE_UNKNOWN
                        : (r->answer == CLARKE_REPRESENTS) == (by == 0) && (by != 0 || gradient) ? CLARKE_YES
                                                                                                  : CLARKE_NO);
  }
  clarke_posed_clear(&p);
  return status;
}

/* --- Despres, 2.2 ------------------------------------------------------------------------------- */

#define MOST_COPIES 5

/* The program, and the maximum of so many copies of its output, of which the tie's rule is hybrid `beta` / 2. 1: the output itself. */
static clarke_status
pose_copies(clarke_posed *q, const clarke_drawn *p, const long *at, size_t copies, long beta, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_drawn_open(&t, p, err);

  if (status != CLARKE_OK)
    return status;
  fputs("output ", t.to);
  if (copies > 1)
    fprintf(t.to, "max{hybrid %ld/2}(", beta);
  for (size_t i = 0; i < copies; i++)
    fprintf(t.to, "%sv%zu", i > 0 ? ", " : "", p->n - 1);
  fputs(copies > 1 ? ")\n" : "\n", t.to);
  return clarke_posed_read(q, &t, at, INPUTS, err);
}

/* max(u, ..., u) is at a tie everywhere, and whatever shares of 1 the copies have, AD's output is that of u. Shares below 0 or above 1
 * differ. */
clarke_status
clarke_suite_copies(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t copies = 2 + clarke_draw_below(d, MOST_COPIES - 1);
  const long beta = clarke_draw_between(d, -8, 8), n = (long)copies;
  mpq_t *g = clarke_rationals(2 * INPUTS);
  clarke_posed q[2];
  clarke_drawn p;
  long at[INPUTS];
  bool equal = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, INPUTS);
  clarke_drawn_draw(&p, d, at, INPUTS, 6, CLARKE_DRAWN_MAX, true);
  for (size_t k = 0; k < 2; k++) {
    clarke_posed_init(&q[k]);
    if (status == CLARKE_OK)
      status = pose_copies(&q[k], &p, at, k == 0 ? 1 : copies, beta, err);
    if (status == CLARKE_OK)
      status = clarke_posed_run(&q[k], g + k * INPUTS, err);
  }
  if (status == CLARKE_OK) {
    for (size_t i = 0; i < INPUTS; i++)
      equal = equal && mpq_equal(g[i], g[INPUTS + i]);
    t->of[CLARKE_COUNT_TOUCHED] += q[1].d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += beta < 0 || beta * (n - 1) > 2 * n; /* the first has 1 - beta + beta / n, the others beta / n */
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  }
  for (size_t k = 0; k < 2; k++)
    clarke_posed_clear(&q[k]);
  clarke_rationals_free(g, 2 * INPUTS);
  return status;
}

/* --- Park et al., Appendix B -------------------------------------------------------------------- */

#define MOST_ENTRIES 6

/* rho and its slope, 0 at 0. */
static long
activated(bool absolute, long x)
{
  return x > 0 ? x : absolute ? -x : 0;
}

static long
slope(bool absolute, long x)
{
  return x > 0 ? 1 : x < 0 && absolute ? -1 : 0;
}

/* The first of the largest entries of the window that begins at `from`: of rho(x), or of x itself. */
static size_t
winner(const long *x, size_t from, size_t width, bool absolute, bool before)
{
  size_t best = from;

  for (size_t i = from + 1; i < from + width; i++)
    if (before ? x[i] > x[best] : activated(absolute, x[i]) > activated(absolute, x[best]))
      best = i;
  return best;
}

/* Pools of `width` entries, one further on each, behind relu or abs. */
static clarke_status
pose_pools(clarke_posed *q, const long *x, size_t n, size_t width, bool absolute, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input x[%zu]\nlet r = %s(x)\noutput ", n, absolute ? "abs" : "relu");
  for (size_t i = 0; i + width <= n; i++)
    fprintf(t.to, "%smaxpool(r[%zu:%zu])", i > 0 ? ", " : "", i, i + width);
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, x, n, err);
}

/* Row i of AD's Jacobian has rho'(x_j) at j, the first winner of rho(x) in pool i. Where the formula as printed, rho'(x_i) at the winner of
 * x, has another Jacobian, the instance differs. */
clarke_status
clarke_suite_pooled(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t n = 3 + clarke_draw_below(d, MOST_ENTRIES - 2), width = 2 + clarke_draw_below(d, 2), rows = n - width + 1;
  const bool absolute = clarke_draw_below(d, 2);
  long x[MOST_ENTRIES];
  mpq_t *g = clarke_rationals(rows * n);
  bool right = true, printed = true;
  clarke_posed q;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < n; i++)
    x[i] = clarke_draw_between(d, -2, 2);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = pose_pools(&q, x, n, width, absolute, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  for (size_t i = 0; i < rows && status == CLARKE_OK; i++) {
    const size_t own = winner(x, i, width, absolute, false), other = winner(x, i, width, absolute, true);

    for (size_t j = 0; j < n; j++) {
      right = right && mpq_cmp_si(g[i * n + j], j == own ? slope(absolute, x[j]) : 0, 1) == 0;
      printed = printed && mpq_cmp_si(g[i * n + j], j == other ? slope(absolute, x[i]) : 0, 1) == 0;
    }
  }
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += !printed;
    clarke_suite_add(t, right ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  clarke_rationals_free(g, rows * n);
  return status;
}

/* --- Bolte and Pauwels, 5.1 --------------------------------------------------------------------- */

#define MOST_FORMS 4
#define NEAR 12

typedef struct {
  size_t n;
  long of[MOST_FORMS][INPUTS]; /* gradients, no two the same */
  size_t essential[MOST_FORMS], n_essential;
  long at[INPUTS];
} forms;

/* Is the form above all others somewhere near the point, where all are equal? */
static bool
is_essential(const forms *f, size_t i)
{
  for (long x = -NEAR; x <= NEAR; x++)
    for (long y = -NEAR; y <= NEAR; y++) {
      bool above = true;

      for (size_t k = 0; k < f->n; k++)
        above = above && (k == i || (f->of[i][0] - f->of[k][0]) * x + (f->of[i][1] - f->of[k][1]) * y > 0);
      if (above)
        return true;
    }
  return false;
}

static void
draw_forms(forms *f, clarke_draws *d)
{
  const size_t n = 2 + clarke_draw_below(d, MOST_FORMS - 1);

  clarke_draw_point(f->at, d, INPUTS);
  f->n = f->n_essential = 0;
  while (f->n < n) {
    bool there = false;
    long *g = f->of[f->n];

    clarke_draw_point(g, d, INPUTS);
    for (size_t k = 0; k < f->n; k++)
      there = there || (f->of[k][0] == g[0] && f->of[k][1] == g[1]);
    f->n += !there;
  }
  for (size_t i = 0; i < n; i++)
    if (is_essential(f, i))
      f->essential[f->n_essential++] = i;
}

/* Form i as a text. */
static void
put_form(FILE *to, const forms *f, size_t i)
{
  fprintf(to, "((%ld)*(w[0] - (%ld)) + (%ld)*(w[1] - (%ld)))", f->of[i][0], f->at[0], f->of[i][1], f->at[1]);
}

static void
put_compared(FILE *to, const forms *f, size_t i, const char *sign, size_t k, bool first)
{
  fputs(first ? " if " : " and ", to);
  put_form(to, f, i);
  fprintf(to, " %s ", sign);
  put_form(to, f, k);
}

/* Each essential form where it is the first of the largest. extra: where the first two are largest together, another piece in their place,
 * first + by (first - second). */
static void
put_pieces(FILE *to, const forms *f, bool extra, long by)
{
  const size_t *e = f->essential;

  for (size_t i = 0; i < f->n_essential; i++) {
    fputs("piece ", to);
    put_form(to, f, e[i]);
    for (size_t k = 0, first = 1; k < f->n_essential; k++)
      if (k != i) {
        put_compared(to, f, e[i], k < i || (extra && i == 0 && k == 1) ? ">" : ">=", e[k], first);
        first = 0;
      }
    fputs("\n", to);
  }
  if (!extra)
    return;
  fputs("piece ", to);
  put_form(to, f, e[0]);
  fprintf(to, " + (%ld)/2*(", by);
  put_form(to, f, e[0]);
  fputs(" - ", to);
  put_form(to, f, e[1]);
  fputs(")", to);
  put_compared(to, f, e[0], "==", e[1], true);
  for (size_t k = 2; k < f->n_essential; k++)
    put_compared(to, f, e[0], ">=", e[k], false);
  fputs("\n", to);
}

static bool
same_sets(const clarke_points *a, const clarke_points *b)
{
  bool same = a->n == b->n;

  for (size_t i = 0; i < a->n && same; i++)
    same = clarke_points_find(b, a->entry + i * INPUTS) != SIZE_MAX;
  return same;
}

/* The maximum of all forms by such pieces: is D_f the Clarke set? UNKNOWN where it, or the representation, is not known to be one. */
static clarke_status
ask_pieces(clarke_truth *same, const forms *f, bool extra, long by, clarke_error *err)
{
  clarke_posed q;
  clarke_text t;
  clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fputs("input w[2]\noutput max(", t.to);
  for (size_t i = 0; i < f->n; i++) {
    fputs(i > 0 ? ", " : "", t.to);
    put_form(t.to, f, i);
  }
  fputs(")\n", t.to);
  put_pieces(t.to, f, extra, by);
  clarke_posed_init(&q);
  status = clarke_posed_read(&q, &t, f->at, INPUTS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    const clarke_representation *r = &q.d.representation;

    *same = r->answer != CLARKE_REPRESENTS || !r->selection_known || !q.d.sets_known ? CLARKE_UNKNOWN
            : same_sets(&r->selection, &q.d.clarke)                                   ? CLARKE_YES
                                                                                      : CLARKE_NO;
  }
  clarke_posed_clear(&q);
  return status;
}

/* By essential pieces alone D_f is the Clarke set. One more on a tie, whose gradient lies on the line through those of two of them, changes it
 * if and only if it is not between these: they are extreme. Those that it changes differ; forms that are nowhere the largest alone are
 * counted. */
clarke_status
clarke_suite_essential(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const long by = clarke_draw_between(d, -5, 4); /* halves: between them from -2 to 0 */
  const bool between = by >= -2 && by <= 0;
  clarke_truth alone = CLARKE_UNKNOWN, with = CLARKE_UNKNOWN;
  clarke_status status;
  forms f;

  draw_forms(&f, d);
  status = ask_pieces(&alone, &f, false, 0, err);
  if (status == CLARKE_OK)
    status = ask_pieces(&with, &f, true, by, err);
  if (status != CLARKE_OK)
    return status;
  t->of[CLARKE_COUNT_EMPTY] += f.n - f.n_essential;
  t->of[CLARKE_COUNT_DIFFER] += with == CLARKE_NO;
  clarke_suite_add(t, alone == CLARKE_UNKNOWN || with == CLARKE_UNKNOWN      ? CLARKE_UNKNOWN
                      : alone == CLARKE_YES && (with == CLARKE_YES) == between ? CLARKE_YES
                                                                               : CLARKE_NO);
  return CLARKE_OK;
}
