/* The numbers of a float format along a segment, and how many of them lie in the bifurcation zone.
 *
 * Along a segment of one entry a piecewise linear program's kinks part finitely many intervals. Inside each what is touched is the same
 * everywhere, and with it the zone; so it is decided at one point of each, and where they meet. The numbers of a format are counted by
 * arithmetic, none of them being visited. */
#ifndef CLARKE_SESSION_GRID_H
#define CLARKE_SESSION_GRID_H

#include "program/ieee.h"
#include "session/regions.h"

typedef struct {
  mpz_t numbers;      /* of the format, from the lesser end to the greater; both zeros are one */
  mpz_t bifurcation;  /* those of them in the zone */
  mpz_t unknown;      /* those of which it is not known */
  size_t zones;       /* points and intervals in the bifurcation zone */
  size_t intervals;   /* between points where something is met */
} clarke_grid;

void clarke_grid_init(clarke_grid *g);
void clarke_grid_clear(clarke_grid *g);

/* How many numbers of the format are in [a, b], or in (a, b) where it is open. */
void clarke_grid_count(mpz_t n, clarke_ieee format, const mpq_t a, const mpq_t b, bool open);

/* The zone is that of AD's gradient in all entries that vary in f, which is held (clarke_region_function_hold) where some are. a and b differ
 * in one entry. Refused: a program with steps that are not piecewise linear in what varies. */
clarke_status clarke_grid_find(clarke_grid *g, const clarke_region_function *f, mpq_t *a, mpq_t *b, clarke_ieee format, clarke_error *err);

/* The same in a rectangle: the grid of pairs of numbers from a to b, which differ in two entries. The numbers of the first of these are swept
 * over. Kinks that meet part them into columns, in each of which all points where a kink is met move linearly: it is asked about once. `zones`
 * counts its parts by columns, `intervals` the columns. No number is visited: a zone's border may be slanted (clarke_grid_under). */
clarke_status clarke_grid_find_plane(clarke_grid *g, const clarke_region_function *f, mpq_t *a, mpq_t *b, clarke_ieee format, clarke_error *err);

#endif
