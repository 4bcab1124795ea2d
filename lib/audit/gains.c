#include "audit/gains.h"

#include "exact/mdm.h"

#include <stdlib.h>
#include <string.h>

static double
most_of(const double *x, size_t n)
{
  double most = x[0];

  for (size_t i = 1; i < n; i++)
    most = x[i] > most ? x[i] : most;
  return most;
}

/* By the classes' guesses. part: room for the options of one. */
static void
guess_gains(clarke_gains *g, const double *v, double *part)
{
  const size_t columns = g->c->n_columns;

  for (size_t i = 0; i < g->c->n; i++) {
    const clarke_class *class = &g->c->class[i];

    for (size_t sign = 0; sign < 2; sign++) {
      for (size_t o = 0; o < class->options; o++) {
        part[o] = clarke_dot(class->gain[sign] + o * columns, v, columns);
        g->option[i][o] += part[o];
      }
      g->open[i] += most_of(part, class->options);
    }
  }
}

/* The upper end: a sum of enclosures is negative when that of their upper ends is. */
static double
upper(arb_srcptr x)
{
  arf_t end;
  double d;

  arf_init(end);
  arb_get_ubound_arf(end, x, 53);
  d = arf_get_d(end, ARF_RND_UP);
  arf_clear(end);
  return d;
}

/* By enclosures. Touches outside the classes stay open. */
static void
enclosed_gains(clarke_gains *g, const clarke_separation *m)
{
  arb_t most;

  arb_init(most);
  for (size_t k = 0; k < m->q->replay->n_touches; k++) {
    clarke_separation_open(most, m, k);
    g->base += upper(most);
  }
  for (size_t i = 0; i < g->c->n; i++) {
    const clarke_class *class = &g->c->class[i];

    for (size_t e = 0; e < class->n; e++) {
      clarke_separation_open(most, m, class->touch[e]);
      g->open[i] += upper(most);
      for (size_t o = 0; o < class->options; o++)
        g->option[i][o] += upper(clarke_separation_gain(m, class->touch[e], o));
    }
    g->base -= g->open[i];
  }
  arb_clear(most);
}

clarke_status
clarke_gains_init(clarke_gains *g, const clarke_classes *c, const double *v, const clarke_separation *separation,
                  clarke_error *err)
{
  size_t most = 0, done = 0;
  double *part;

  *g = (clarke_gains){.c = c, .option = calloc(c->n + 1, sizeof *g->option),
                      .open = calloc(c->n + 1, sizeof *g->open)};
  for (size_t i = 0; g->option != NULL && i < c->n; i++) {
    g->option[i] = calloc(c->class[i].options, sizeof **g->option);
    done += g->option[i] != NULL;
    most = c->class[i].options > most ? c->class[i].options : most;
  }
  part = malloc((most + 1) * sizeof *part);
  if (done < c->n || g->open == NULL || part == NULL) {
    free(part);
    return clarke_no_memory(err);
  }
  if (separation != NULL)
    enclosed_gains(g, separation);
  else
    guess_gains(g, v, part);
  free(part);
  return CLARKE_OK;
}

void
clarke_gains_clear(clarke_gains *g)
{
  for (size_t i = 0; g->option != NULL && i < g->c->n; i++)
    free(g->option[i]);
  free(g->option);
  free(g->open);
  memset(g, 0, sizeof *g);
}

double
clarke_gains_spread(const clarke_gains *g, size_t class)
{
  double least = g->option[class][0];

  for (size_t o = 1; o < g->c->class[class].options; o++)
    least = g->option[class][o] < least ? g->option[class][o] : least;
  return g->open[class] - least;
}
