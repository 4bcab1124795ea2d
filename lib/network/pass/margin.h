/* How near to kinks those arguments come that touch none: bounds for each layer and sample (docs/margins.md).
 *
 * The distance of an argument is |argument - kink| for its nearest kink; that of a window is its largest entry less the
 * largest of those that are smaller. Arguments at a kink, tied windows and windows of identical entries have none. */
#ifndef CLARKE_NETWORK_PASS_MARGIN_H
#define CLARKE_NETWORK_PASS_MARGIN_H

#include "exact/matrix.h"
#include "network/graph/graph.h"

#include <math.h>

/* Over the features of one layer in one sample. */
typedef struct {
  double least, most; /* the smallest distance lies between them; both are INFINITY where there is none */
  double size;        /* at least as large as all that is compared: |arguments| and |kinks|, or |entries| of windows */
  size_t feature;     /* the one whose lower bound the least is */
} clarke_margin;

typedef struct {
  size_t n_steps, samples;
  clarke_margin **at; /* n_steps, NULL but for steps with kinks: by sample */
} clarke_margins;

void clarke_margins_init(clarke_margins *m);
void clarke_margins_clear(clarke_margins *m);

/* n for each step with kinks, no distance yet: what clarke_margins holds. NULL when out of memory. */
clarke_margin **clarke_margin_rows(const clarke_graph *g, size_t n);
void clarke_margin_rows_free(clarke_margin **at, size_t n_steps);

/* One more distance of the feature, between the two. */
static inline void
clarke_margin_take(clarke_margin *m, double least, double most, size_t feature)
{
  if (least < m->least) {
    m->least = least > 0 ? least : 0;
    m->feature = feature;
  }
  m->most = most < m->most ? most : m->most;
}

/* m->size, which all that is compared is at most as large as, grows to this one. */
static inline void
clarke_margin_hold(clarke_margin *m, double size)
{
  if (!(size <= m->size))
    m->size = size > m->size ? size : INFINITY; /* a NaN is no bound */
}

/* Nothing is known: any distance may be there. */
void clarke_margin_forget(clarke_margin *m);
/* m becomes that of both. */
void clarke_margin_join(clarke_margin *m, const clarke_margin *other);

/* The distance of feature i, column j of a step whose argument is x, which is at no kink; place: where it lies, as in
 * clarke_forward. [*least, *most] holds it. INFINITY, of a window without smaller entries. */
void clarke_margin_of(double *least, double *most, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x,
                      clarke_branch place, size_t i, size_t j);
/* The same exactly, or, of an enclosure, a number that it is at least: *exact tells. *kink: the nearest one. */
void clarke_margin_exactly(mpq_t distance, bool *exact, size_t *kink, const clarke_step *s, const clarke_matrix *x,
                           clarke_branch place, size_t i, size_t j);

/* An upper bound of |entry|, the nearest double's for a number that is exact, but for a part of 2^-50; and of all that the
 * step compares in column j, into m->size. */
double clarke_margin_size(const clarke_matrix *x, size_t i, size_t j);
void clarke_margin_sizes(clarke_margin *m, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, size_t j);

/* The entries that a step compares: so many, at these rows of its argument (CLARKE_NONE: padding). */
static inline size_t
clarke_margin_compared(const clarke_graph *g, const clarke_step *s)
{
  return g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);
}

/* The feature of the operand that comparison c is of; CLARKE_NONE where it is padding. */
static inline size_t
clarke_margin_row(const clarke_step *s, size_t c)
{
  return s->kind == CLARKE_MAX ? s->in[0].map[c] : c;
}

/* Has the step no kink at all: is it a parabola, or one that its tangents continue? */
bool clarke_margin_is_smooth(const clarke_step *s);
/* Has the feature of a step that is not smooth a kink? A PRelu of slope 1 has none. */
bool clarke_margin_bends(const clarke_graph *g, const clarke_step *s, size_t feature);

/* Takes in the distances and sizes of column j, of the places that are decided. */
void clarke_margin_column(clarke_margin *m, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x,
                          const clarke_branch *place, size_t j);

#endif
