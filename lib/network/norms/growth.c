/* How each step passes on errors: factors of their norms, the same for all samples. */
#include "network/norms/growth.h"

#include "network/norms/convolution_norm.h"
#include "network/norms/operator_norm.h"

#include "base/verify.h"
#include "base/wide.h"
#include "exact/upward.h"

#include <stdlib.h>
#include <string.h>

static double
up(double v)
{
  return clarke_up_by(v, 0x1p12);
}

/* uses[e] grows by the times that the operand takes entry e. */
static void
count_uses(uint32_t *uses, const clarke_operand *o, size_t n)
{
  for (size_t i = 0, run; i < n; i += run) {
    run = clarke_operand_run(o, i, n);
    for (size_t e = 0; e < run && clarke_operand_entry(o, i) != CLARKE_NONE; e++)
      uses[clarke_operand_entry(o, i) + e]++;
  }
}

static double
most_uses(const uint32_t *uses, size_t n)
{
  uint32_t most = 0;

  for (size_t e = 0; e < n; e++)
    most = uses[e] > most ? uses[e] : most;
  return (double)most;
}

/* An entry that an operand of n entries has r times counts r times in the square of the norm. */
static clarke_status
repeated(double *root, const clarke_graph *g, const clarke_operand *o, size_t n, clarke_error *err)
{
  const size_t count = g->values[o->value].count;
  uint32_t *uses = calloc(count + 1, sizeof *uses);

  if (uses == NULL)
    return clarke_no_memory(err);
  count_uses(uses, o, n);
  *root = up(sqrt(most_uses(uses, count)));
  free(uses);
  return CLARKE_OK;
}

/* The operands of one value together, by Cauchy and Schwarz: (sum of c_k x_k)^2 <= (sum of c_k^2) (sum of x_k^2). The first of
 * them gets the factor, the others 0. */
static clarke_status
grow_value(clarke_growth *growth, const clarke_graph *g, const clarke_step *s, size_t first, clarke_error *err)
{
  const size_t value = s->in[first].value, n = g->values[s->out].count;
  uint32_t *uses = calloc(g->values[value].count + 1, sizeof *uses);
  double square = 0, sum = 0;
  clarke_status status = uses != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = first; k < s->n_in && status == CLARKE_OK; k++) {
    double root = 0;

    if (s->in[k].value != value)
      continue;
    status = repeated(&root, g, &s->in[k], n, err);
    count_uses(uses, &s->in[k], n);
    growth[k] = (clarke_growth){.norm = 0, .most = fabs(s->in[k].coef), .alone = up(fabs(s->in[k].coef) * root)};
    square += s->in[k].coef * s->in[k].coef;
    sum += fabs(s->in[k].coef) * root;
  }
  if (status == CLARKE_OK)
    growth[first].norm = up(fmin(up(sum), up(sqrt(up(square) * most_uses(uses, g->values[value].count)))));
  free(uses);
  return status;
}

/* Does no entry take more than one activation? */
static clarke_status
find_apart(bool *apart, const clarke_graph *g, const clarke_step *s, clarke_error *err)
{
  const size_t n = g->values[s->out].count;
  uint32_t *taken = calloc(n + 1, sizeof *taken);

  if (taken == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t i = 0; i < n && !g->values[s->in[k].value].constant; i++)
      taken[i] += clarke_operand_entry(&s->in[k], i) != CLARKE_NONE;
  *apart = most_uses(taken, n) <= 1;
  free(taken);
  return CLARKE_OK;
}

static clarke_status
grow_sum(clarke_growths *p, size_t i, clarke_error *err)
{
  const clarke_step *s = &p->g->steps[i];
  clarke_status status = find_apart(&p->apart[i], p->g, s, err);

  for (size_t k = 0; k < s->n_in && status == CLARKE_OK; k++) {
    bool first = !p->g->values[s->in[k].value].constant;

    for (size_t l = 0; l < k; l++)
      first = first && s->in[l].value != s->in[k].value;
    if (first)
      status = grow_value(p->growth[i], p->g, s, k, err);
  }
  return status;
}

static clarke_status
grow_scale(clarke_growths *p, size_t i, clarke_error *err)
{
  const clarke_step *s = &p->g->steps[i];
  const double *c = p->g->values[s->in[1].value].real, epsilon = s->root ? mpq_get_d(s->epsilon) : 0;
  double most = 0, root = 1;
  clarke_status status = repeated(&root, p->g, &s->in[0], p->g->values[s->out].count, err);

  for (size_t e = 0; e < p->g->values[s->out].count; e++) {
    double k = fabs(c[clarke_operand_entry(&s->in[1], e)]);

    if (s->root) /* the sum may cancel: a statistic below 0 by less than epsilon */
      k = clarke_down_by(sqrt(c[clarke_operand_entry(&s->in[1], e)] + epsilon), 0x1p32);
    k = s->divide || s->root ? up(1 / k) : k;
    most = k > most ? k : most;
  }
  p->growth[i][0] = (clarke_growth){.norm = up(most * root), .most = up(most)};
  return status;
}

/* No entry is there twice in a column, as a rule. */
static clarke_status
repeated_in_columns(double *root, const clarke_growths *p, const clarke_step *s, const clarke_step *gather,
                    clarke_error *err)
{
  const clarke_dense *d = &s->dense;
  const size_t count = p->g->values[gather->in[0].value].count;
  size_t *seen = calloc(count + 1, sizeof *seen), most = 1;
  uint32_t *uses = calloc(count + 1, sizeof *uses);

  for (size_t c = 0; seen != NULL && uses != NULL && c < d->blocks * d->repeat; c++)
    for (size_t i = 0; i < d->inner; i++) {
      const size_t e = clarke_operand_entry(&gather->in[0], (c / d->repeat * d->inner + i) * d->repeat + c % d->repeat);

      if (e == CLARKE_NONE)
        continue;
      uses[e] = seen[e] == c + 1 ? uses[e] + 1 : 1;
      seen[e] = c + 1;
      most = uses[e] > most ? uses[e] : most;
    }
  *root = most == 1 ? 1 : up(sqrt((double)most));
  free(seen);
  free(uses);
  return seen != NULL && uses != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Sums that are begun side by side: additions wait for no other. */
#define SIDE_BY_SIDE ((size_t)8)

/* The sums of n squares and of absolute values, `stride` apart. */
CLARKE_WIDE static void
add_row(double *square, double *absolute, const double *w, size_t stride, size_t n)
{
  double squares[SIDE_BY_SIDE] = {0}, sizes[SIDE_BY_SIDE] = {0};
  size_t i = 0;

  *square = *absolute = 0;
  for (; i + SIDE_BY_SIDE <= n && stride == 1; i += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
      squares[l] += w[i + l] * w[i + l];
      sizes[l] += fabs(w[i + l]);
    }
  for (; i < n; i++) {
    *square += w[i * stride] * w[i * stride];
    *absolute += fabs(w[i * stride]);
  }
  for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
    *square += squares[l];
    *absolute += sizes[l];
  }
}

/* The largest norm of a row, sum of a row's absolute entries, and norm of a block's entries. */
static void
measure_rows(double *norm, double *sum, double *size, const clarke_dense *d, const double *w, size_t blocks)
{
  const double more = clarke_up_factor((double)(d->inner + 16)); /* what sums of so many round */
  double block = 0;

  *norm = *sum = *size = 0;
  for (size_t r = 0; r < blocks * d->outer; r++) {
    const size_t first = d->transposed ? r / d->outer * d->outer * d->inner + r % d->outer : r * d->inner;
    double square, absolute;

    add_row(&square, &absolute, w + first, d->transposed ? d->outer : 1, d->inner);
    /* what underflows in a square is less than 2^-1074 */
    square *= more;
    *norm = clarke_larger(*norm, up(sqrt(up(square) + (double)d->inner * CLARKE_TINY)));
    *sum = clarke_larger(*sum, up(absolute * more));
    block = (r % d->outer > 0 ? block : 0) + up(square) + (double)d->inner * CLARKE_TINY;
    *size = clarke_larger(*size, up(sqrt(up(block))));
  }
}

/* W, row after row, each as often as it counts in the output's scaling: the most of what its entries do. */
static double *
scaled_weight(const clarke_graph *g, const clarke_dense *d, const clarke_scaling *scaling)
{
  const double *w = g->values[d->weight].real;
  const size_t blocks = d->grouped ? d->blocks : 1, rows = blocks * d->outer;
  double *to = malloc((rows * d->inner + 1) * sizeof *to);

  for (size_t r = 0; to != NULL && r < rows; r++) {
    double by = 0;

    for (size_t b = d->grouped ? r / d->outer : 0; b < (d->grouped ? r / d->outer + 1 : d->blocks); b++)
      for (size_t e = 0; e < d->repeat; e++)
        by = clarke_larger(by, scaling->row[(b * d->outer + r % d->outer) * d->repeat + e]);
    for (size_t i = 0; i < d->inner; i++)
      to[r * d->inner + i] = by * w[d->transposed ? i * d->outer + r : r * d->inner + i];
  }
  return to;
}

/* What a step before costs more by the digits that a bit of growth takes: a tenth of a product by W's two planes, and as much
 * again around it; in products of floats, which take half of one. */
#define BIT_WORK 0.25

/* Parts of the rows whose norms are taken one by one, and bits that this loses, at most, of wide matrices. */
#define ROW_PARTS ((size_t)4)
#define PART_BITS 1

/* Is the norm of so many rows worth less than it costs in products of floats? `before`: products of the steps before, or 0. */
static bool
rows_apart(size_t rows, size_t cols, double before)
{
  const double gram = (double)rows * (double)rows * ((double)cols / 2 + (double)rows);

  return before > 0 && rows >= 32 * ROW_PARTS && cols >= 4 * rows && gram * (1 - 1.0 / ROW_PARTS) > PART_BITS * BIT_WORK * before;
}

/* At least the norm of a rows x cols matrix: where the rows are taken apart, its square is at most the sum of their squares. */
static clarke_status
matrix_norm(double *norm, const double *w, size_t rows, size_t cols, double before, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (!rows_apart(rows, cols, before))
    return clarke_operator_norm(norm, w, rows, cols, err);
  for (size_t k = 0; k < ROW_PARTS && status == CLARKE_OK; k++) {
    const size_t from = k * rows / ROW_PARTS, to = (k + 1) * rows / ROW_PARTS;
    double here = 0;

    status = clarke_operator_norm(&here, w + from * cols, to - from, cols, err);
    *norm = up(hypot(k > 0 ? *norm : 0, here));
  }
  return status;
}

/* At least the largest norm of a block of w, rows of which are at most `row` long. */
static clarke_status
largest_block(double *most, const clarke_dense *d, const double *w, double row, double before, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *most = 0;
  for (size_t b = 0; b < (d->grouped ? d->blocks : 1) && status == CLARKE_OK; b++) {
    double norm = row;

    if (d->outer > 1)
      status = matrix_norm(&norm, w + b * d->outer * d->inner, d->transposed ? d->inner : d->outer,
                           d->transposed ? d->outer : d->inner, before, err);
    *most = clarke_larger(*most, norm);
  }
  return status;
}

/* *joined: at most what it was, where the step is a convolution and `before` products are worth its norm. */
static clarke_status
join_convolution(double *joined, const clarke_graph *g, const clarke_step *s, const double *w, double before, clarke_error *err)
{
  clarke_convolution c;
  bool found;
  double norm = INFINITY;
  clarke_status status = clarke_convolution_recognize(&c, &found, g, s, err);

  if (status == CLARKE_OK && found && !s->dense.transposed && clarke_convolution_cost(&c, s) <= BIT_WORK * before)
    status = clarke_convolution_norm(&norm, &c, s, w, err);
  *joined = norm < *joined ? norm : *joined;
  clarke_convolution_clear(&c);
  return status;
}

/* Columns `from` to `to` of w. */
static clarke_status
norm_of_columns(double *norm, const clarke_dense *d, const double *w, size_t from, size_t to, clarke_error *err)
{
  const size_t cols = to - from;
  double *part;
  clarke_status status;

  if (d->transposed)
    return clarke_operator_norm(norm, w + from * d->outer, cols, d->outer, err);
  part = malloc((d->outer * cols + 1) * sizeof *part);
  if (part == NULL)
    return clarke_no_memory(err);
  for (size_t o = 0; o < d->outer; o++)
    memcpy(part + o * cols, w + o * d->inner + from, cols * sizeof *part);
  status = clarke_operator_norm(norm, part, d->outer, cols, err);
  free(part);
  return status;
}

/* The norms of W's columns by the segments of what they multiply, if these are whole rows of columns. */
static clarke_status
grow_segments(clarke_growths *p, size_t i, const clarke_dense *d, const double *w, clarke_error *err)
{
  const clarke_segments *from = &p->segments[p->g->steps[i].in[0].value];
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < from->n; k++)
    if (d->blocks != 1 || from->end[k] % d->repeat != 0)
      return CLARKE_OK;
  if (from->n == 0)
    return CLARKE_OK;
  p->by_segment[i] = malloc(from->n * sizeof **p->by_segment);
  if (p->by_segment[i] == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < from->n && status == CLARKE_OK; k++) {
    status = norm_of_columns(&p->by_segment[i][k], d, w, k > 0 ? from->end[k - 1] / d->repeat : 0, from->end[k] / d->repeat, err);
    p->by_segment[i][k] = up(p->by_segment[i][k]); /* entries in a scaling were rounded */
  }
  return status;
}

/* before: products of the steps before, or 0: norms of convolutions are not looked for. */
static clarke_status
grow_dense(clarke_growths *p, size_t i, const clarke_scaling *scaling, double before, clarke_error *err)
{
  const clarke_step *s = &p->g->steps[i];
  const size_t producer = p->g->values[s->in[0].value].producer;
  const clarke_step *gather = producer != CLARKE_NONE ? &p->g->steps[producer] : NULL;
  const bool scaled = scaling != NULL && scaling->row != NULL, gathers = gather != NULL && gather->kind == CLARKE_GATHER;
  clarke_dense d = s->dense;
  double *own = scaled ? scaled_weight(p->g, &d, scaling) : NULL, sum, most = 0, row, ignored[2];
  const double *w = scaled ? own : p->g->values[d.weight].real;
  clarke_status status = scaled && own == NULL ? clarke_no_memory(err) : CLARKE_OK;

  measure_rows(&p->row[i], &sum, &p->size[i], &d, p->g->values[d.weight].real, d.grouped ? d.blocks : 1);
  row = p->row[i];
  d.transposed = d.transposed && !scaled;
  if (scaled && status == CLARKE_OK)
    measure_rows(&row, &ignored[0], &ignored[1], &d, w, d.grouped ? d.blocks : 1);
  if (status == CLARKE_OK)
    status = largest_block(&most, &d, w, row, before, err);
  most = scaled ? up(most) : most; /* its entries were rounded */
  p->growth[i][0] = (clarke_growth){.norm = scaled ? up(most / scaling->least) : most, .most = sum};
  p->joined[i] = gathers && p->growth[producer] != NULL ? up(most * p->growth[producer][0].norm) : gathers ? INFINITY : most;
  p->column[i] = 1;
  if (status == CLARKE_OK && gathers)
    status = repeated_in_columns(&p->column[i], p, s, gather, err);
  if (status == CLARKE_OK && before > 0 && gathers)
    status = join_convolution(&p->joined[i], p->g, s, w, before, err);
  if (scaled)
    p->joined[i] = up(p->joined[i]);
  if (status == CLARKE_OK && p->segments != NULL)
    status = grow_segments(p, i, &d, w, err);
  free(own);
  return status;
}

/* The growth of a GATHER or a MAX. */
static clarke_status
grow_moved(clarke_growths *p, size_t i, clarke_error *err)
{
  const clarke_step *s = &p->g->steps[i];
  const size_t taken = p->g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);

  p->growth[i][0].most = 1;
  return repeated(&p->growth[i][0].norm, p->g, &s->in[0], taken, err);
}

/* But for a DENSE. Others grow by 1. */
static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_growths *p, size_t i, clarke_error *err) = {
  [CLARKE_SUM] = grow_sum, [CLARKE_SCALE] = grow_scale, [CLARKE_GATHER] = grow_moved, [CLARKE_MAX] = grow_moved,
};

/* The growth of step i. */
static clarke_status
grow_step(clarke_growths *p, size_t i, const clarke_scaling *scaling, double before, clarke_error *err)
{
  const clarke_step *s = &p->g->steps[i];

  p->growth[i] = calloc(s->n_in + 1, sizeof **p->growth);
  if (p->growth[i] == NULL)
    return clarke_no_memory(err);
  if (s->kind == CLARKE_DENSE)
    return grow_dense(p, i, scaling != NULL ? &scaling[s->out] : NULL, before, err);
  p->growth[i][0] = (clarke_growth){.norm = 1, .most = 1};
  return of_kind[s->kind] != NULL ? of_kind[s->kind](p, i, err) : CLARKE_OK;
}

static clarke_status
allocate(clarke_growths *p, const clarke_graph *g, clarke_error *err)
{
  *p = (clarke_growths){.g = g};
  p->growth = calloc(g->n_steps + 1, sizeof *p->growth);
  p->row = calloc(g->n_steps + 1, sizeof *p->row);
  p->column = calloc(g->n_steps + 1, sizeof *p->column);
  p->size = calloc(g->n_steps + 1, sizeof *p->size);
  p->joined = calloc(g->n_steps + 1, sizeof *p->joined);
  p->apart = calloc(g->n_steps + 1, sizeof *p->apart);
  p->by_segment = calloc(g->n_steps + 1, sizeof *p->by_segment);
  return p->growth != NULL && p->row != NULL && p->column != NULL && p->size != NULL && p->joined != NULL && p->apart != NULL &&
             p->by_segment != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

static clarke_status
find_segments(clarke_growths *p, const bool *needed, clarke_error *err)
{
  p->segments = calloc(p->g->n_values + 1, sizeof *p->segments);
  return p->segments != NULL ? clarke_segments_find(p->segments, p->g, needed, err) : clarke_no_memory(err);
}

clarke_status
clarke_growths_add_scaled(clarke_growths *p, const clarke_graph *g, const bool *needed, const clarke_scaling *scaling, size_t samples,
                          clarke_error *err)
{
  double before = 0;
  clarke_status status;

  CLARKE_ASSERT(p->g == NULL || scaling == NULL); /* a growth that is known is that of no scaling */
  status = p->g == NULL ? allocate(p, g, err) : CLARKE_OK;
  if (status == CLARKE_OK && scaling != NULL)
    status = find_segments(p, needed, err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_dense *d = &g->steps[i].dense;

    if (needed[g->steps[i].out] && p->growth[i] == NULL)
      status = grow_step(p, i, scaling, before, err);
    if (needed[g->steps[i].out] && g->steps[i].kind == CLARKE_DENSE)
      before += (double)(d->blocks * d->repeat * samples) * (double)(d->outer * d->inner);
  }
  return status;
}

clarke_status
clarke_growths_add(clarke_growths *p, const clarke_graph *g, const bool *needed, clarke_error *err)
{
  return clarke_growths_add_scaled(p, g, needed, NULL, 0, err);
}

void
clarke_growths_clear(clarke_growths *p)
{
  for (size_t i = 0; p->growth != NULL && i < p->g->n_steps; i++)
    free(p->growth[i]);
  for (size_t i = 0; p->by_segment != NULL && i < p->g->n_steps; i++)
    free(p->by_segment[i]);
  clarke_segments_free(p->segments, p->g);
  free(p->by_segment);
  free(p->growth);
  free(p->row);
  free(p->column);
  free(p->size);
  free(p->joined);
  free(p->apart);
  *p = (clarke_growths){0};
}

void
clarke_growths_cost(double *norms, double *products, const clarke_graph *g, const bool *needed, size_t n)
{
  *norms = *products = 0;
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_dense *d = &g->steps[i].dense;
    double less, more;

    if (g->steps[i].kind != CLARKE_DENSE || !needed[g->steps[i].out])
      continue;
    less = (double)(d->outer < d->inner ? d->outer : d->inner);
    more = (double)(d->outer < d->inner ? d->inner : d->outer);
    *products += (double)(d->blocks * d->repeat * n) * less * more;
    if (d->outer > 1) /* half of a product of floats, a factor of that and a square of the factor */
      *norms += (double)(d->grouped ? d->blocks : 1) * (less * less * more / 4 + less * less * less / 2);
  }
}
