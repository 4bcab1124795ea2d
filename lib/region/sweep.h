/* A search's affine forms, as far as its choices decide them. */
#ifndef CLARKE_REGION_SWEEP_H
#define CLARKE_REGION_SWEEP_H

#include "region/regions_inside.h"

/* Computes all that is affine by now. What must be decided next is in l, or *fork is a maximum (CLARKE_NONE: none). */
clarke_status clarke_region_sweep(clarke_region_search *s, clarke_region_level *l, size_t *fork, clarke_error *err);
/* The form of instruction i, on that piece or with that winner; it is known from here on. */
void clarke_region_settle(clarke_region_search *s, size_t i, size_t piece);
/* Can candidate a of a maximum be the largest, as far as differences tell that are a matter of course? Of equal ones the first can. */
bool clarke_region_may_win(const clarke_region_search *s, size_t i, size_t a);
/* Forgets what became known or asked since s->n_done was n. */
void clarke_region_take_back(clarke_region_search *s, size_t n);

#endif
