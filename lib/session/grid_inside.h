/* What the counts along a segment and in a rectangle share. */
#ifndef CLARKE_SESSION_GRID_INSIDE_H
#define CLARKE_SESSION_GRID_INSIDE_H

#include "base/verdict.h"
#include "session/grid.h"

/* --- grid.c --- */

/* precision: bits; the least normal number is 2^emin, the largest has the exponent emax. */
typedef struct {
  long precision, emin, emax;
} clarke_grid_format;

extern const clarke_grid_format clarke_grid_formats[];

/* The exponent of q > 0: 2^e <= q < 2^(e + 1). */
long clarke_grid_exponent(const mpq_t q);
/* Is it a number of the format? */
bool clarke_grid_has(clarke_ieee format, const mpq_t q);
/* The numbers of the format are numbered in order, 0 being 0. n: of the greatest that is at most q; and the number so numbered. */
void clarke_grid_rank(mpz_t n, clarke_ieee format, const mpq_t q);
void clarke_grid_number(mpq_t q, clarke_ieee format, const mpz_t n);
/* Do choices at kinks that are touched at the point lead to several results? */
clarke_status clarke_grid_parts(clarke_truth *several, const clarke_code *p, mpq_t *at, clarke_error *err);
/* So many numbers more of which that is so. */
void clarke_grid_add(clarke_grid *g, clarke_truth several, const mpz_t count);

/* --- grid_line.c --- */

/* Over all numbers x of the format in the open interval: `under` is the sum of the ranks of line[0] + line[1] x, and `on` how many of these are
 * numbers of the format. None of them is visited. */
clarke_status clarke_grid_under(mpz_t under, mpz_t on, clarke_ieee format, const mpq_t from, const mpq_t to, mpq_t line[2], clarke_error *err);

/* --- grid_course.c: a program along a segment that moves --- */

/* A moving number a + b h, for small h >= 0, is two rationals. Of an array of such: */
static inline mpq_t *
clarke_moving(mpq_t *array, size_t k)
{
  return array + 2 * k;
}

typedef struct {
  size_t room;
  mpq_t *x;
} clarke_moving_row;

/* Values by instruction at increasing t, all moving; between neighbours each is affine in t and h. */
typedef struct {
  const clarke_code *p;
  size_t n, done;   /* points; instructions that have values */
  clarke_moving_row t;
  clarke_moving_row *value; /* by instruction */
  bool ends;        /* for h > 0 all comparisons stay what they are while */
  mpq_t until;      /* ... h is below this */
} clarke_course;

/* Two points; the inputs' entries have values, all 0, that are to be set, and t. */
clarke_status clarke_course_begin(clarke_course *c, const clarke_code *p, clarke_error *err);
/* All instructions, with a point more wherever a kink is met. Refused: a program with steps that are not piecewise linear. */
clarke_status clarke_course_run(clarke_course *c, clarke_error *err);
void clarke_course_clear(clarke_course *c);

#endif
