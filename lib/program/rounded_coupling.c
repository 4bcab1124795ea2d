/* Normalizations over all samples in the replay in floats, as the instructions would be replayed that clarke_unroll_normalize makes
 * of one sample, with groups of all samples' entries. */
#include "program/rounded_inside.h"

#include <stdlib.h>
#include <string.h>

void
clarke_coupled_clear(clarke_coupled *k)
{
  free(k->centred);
  free(k->root);
  free(k->back);
  free(k->reached);
  free(k->mean);
  free(k->has);
  memset(k, 0, sizeof *k);
}

clarke_status
clarke_coupled_begin(clarke_coupled *k, const clarke_coupling *c, const clarke_machine_room *room, size_t n, clarke_machine *m,
                     clarke_error *err)
{
  const size_t entries = n * c->n;
  mpq_t share;

  *k = (clarke_coupled){.c = c, .n = n, .room = room};
  mpq_init(share);
  mpq_set_ui(share, 1, clarke_step_group_size(c->step, n));
  k->share = clarke_ieee_rational(&m->unit, share);
  mpq_clear(share);
  k->centred = calloc(entries + 1, sizeof *k->centred);
  k->root = calloc(c->step->grouping.groups + 1, sizeof *k->root);
  k->back = calloc(entries + 1, sizeof *k->back);
  k->reached = calloc(entries + 1, sizeof *k->reached);
  k->mean = calloc(c->step->grouping.groups + 1, sizeof *k->mean);
  k->has = calloc(c->step->grouping.groups + 1, sizeof *k->has);
  return k->centred != NULL && k->root != NULL && k->back != NULL && k->reached != NULL && k->mean != NULL && k->has != NULL ? CLARKE_OK
                                                                                                          : clarke_no_memory(err);
}

/* The i-th entry of a group, of all samples': room * count + feature. */
static size_t
member(const clarke_coupled *k, size_t group, size_t i)
{
  const clarke_grouping *of = &k->c->step->grouping;
  const size_t each = of->blocks * of->length, j = i % each;

  return i / each * k->c->n + (j / of->length * of->groups + group) * of->length + j % of->length;
}

static size_t
members(const clarke_coupled *k)
{
  return clarke_step_group_size(k->c->step, k->n);
}

static double *
argument(const clarke_coupled *k, size_t e)
{
  return &k->room[e / k->c->n].value[k->c->x[e % k->c->n]];
}

/* Multiplied by the share, which is 1 of a group of one. */
static double
shared(const clarke_coupled *k, const clarke_machine *m, double x)
{
  return members(k) == 1 ? x : clarke_ieee_mul(&m->unit, k->share, x);
}

static void
normalize_group(clarke_coupled *k, clarke_machine *m, size_t group)
{
  double mean = 0, variance = 0;

  for (size_t i = 0; i < members(k); i++) {
    const double x = shared(k, m, *argument(k, member(k, group, i)));

    mean = i == 0 ? x : clarke_ieee_add(&m->unit, mean, x);
  }
  for (size_t i = 0; i < members(k); i++) {
    const size_t e = member(k, group, i);
    const double c = k->centred[e] = clarke_ieee_add(&m->unit, *argument(k, e), -mean);
    const double square = shared(k, m, clarke_ieee_mul(&m->unit, c, c));

    variance = i == 0 ? square : clarke_ieee_add(&m->unit, variance, square);
  }
  variance = clarke_ieee_add(&m->unit, variance, clarke_ieee_rational(&m->unit, k->c->step->epsilon));
  k->root[group] = clarke_ieee_analytic(&m->unit, CLARKE_FN_SQRT, variance);
  for (size_t i = 0; i < members(k); i++) {
    const size_t e = member(k, group, i);

    k->room[e / k->c->n].value[k->c->first + e % k->c->n] = clarke_ieee_div(&m->unit, k->centred[e], k->root[group]);
  }
}

void
clarke_coupled_forward(clarke_coupled *k, clarke_machine *m)
{
  for (size_t group = 0; group < k->c->step->grouping.groups; group++)
    normalize_group(k, m, group);
}

/* The adjoint of a group's root, from those of its quotients, which give to the centred entries first; false: it has none. */
static bool
undo_quotients(clarke_coupled *k, const clarke_machine *m, size_t group, double *root)
{
  bool begun = false;

  for (size_t i = 0; i < members(k); i++) {
    const size_t e = member(k, group, i), at = k->c->first + e % k->c->n;
    const clarke_machine_room *room = &k->room[e / k->c->n];
    double g;

    k->reached[e] = room->reached[at];
    if (!k->reached[e])
      continue;
    g = room->adjoint[at];
    k->back[e] = clarke_ieee_div(&m->unit, g, k->root[group]);
    clarke_machine_add(m, root, &begun, clarke_ieee_mul(&m->unit, -g, clarke_ieee_div(&m->unit, room->value[at], k->root[group])));
  }
  return begun;
}

/* The root, the mean of squares, and each square, whose factors have a turn each. */
static void
undo_squares(clarke_coupled *k, const clarke_machine *m, size_t group, double root)
{
  const double square = shared(k, m, clarke_ieee_div(&m->unit, root, clarke_ieee_mul(&m->unit, 2, k->root[group])));

  for (size_t i = 0; i < members(k); i++) {
    const size_t e = member(k, group, i);
    const double part = clarke_ieee_mul(&m->unit, square, k->centred[e]);

    clarke_machine_add(m, &k->back[e], &k->reached[e], part);
    clarke_machine_add(m, &k->back[e], &k->reached[e], part);
  }
}

/* What the centred entries give to the argument's, feature after feature, as one run. */
static void
give_entries(clarke_coupled *k, clarke_machine *m)
{
  m->several = k->n * k->c->n > 1;
  for (size_t j = 0; j < k->n; j++) {
    clarke_machine_enter(m, &k->room[j]);
    for (size_t f = 0; f < k->c->n; f++)
      if (k->reached[j * k->c->n + f])
        clarke_machine_give(m, k->c->x[f], k->back[j * k->c->n + f]);
    clarke_machine_flush(m);
  }
}

/* The adjoint of a group's mean: less those of the centred entries. */
static double
mean_adjoint(const clarke_coupled *k, const clarke_machine *m, size_t group)
{
  double sum = 0;
  bool begun = false;

  for (size_t i = 0; i < members(k); i++)
    clarke_machine_add(m, &sum, &begun, -k->back[member(k, group, i)]);
  return sum;
}

/* What the means give to the argument's entries: their terms from the last, those of all groups as one run. */
static void
give_means(clarke_coupled *k, clarke_machine *m)
{
  const size_t groups = k->c->step->grouping.groups, n = members(k);

  m->several = groups > 1;
  for (size_t turn = 0; turn < n; turn++) {
    const size_t i = clarke_machine_turn(n, turn, n == 1);

    clarke_machine_enter(m, &k->room[member(k, 0, i) / k->c->n]);
    for (size_t group = 0; group < groups; group++)
      if (k->has[group])
        clarke_machine_give(m, k->c->x[member(k, group, i) % k->c->n], shared(k, m, k->mean[group]));
    clarke_machine_flush(m);
  }
}

void
clarke_coupled_backward(clarke_coupled *k, clarke_machine *m)
{
  for (size_t group = 0; group < k->c->step->grouping.groups; group++) {
    double root = 0;

    k->has[group] = undo_quotients(k, m, group, &root);
    if (!k->has[group])
      continue;
    undo_squares(k, m, group, root);
    k->mean[group] = mean_adjoint(k, m, group);
  }
  give_entries(k, m);
  give_means(k, m);
}
