/* Numbers in fixed point, of more digits than pairs of doubles have (docs/gradient.md, "Fixed point"). An entry is an integer of
 * some limbs, two's complement, the lowest first, times 2^unit. Sums are exact; what is smaller than a unit is lost, and whatever
 * has no room is told. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_FIXED_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_FIXED_H

#include "exact/pair.h"

#include <gmp.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLARKE_FIXED_LIMBS ((size_t)8)
#define CLARKE_FIXED_LIMB 64

typedef struct {
  mp_limb_t *limb; /* NULL: there is none */
  size_t limbs;
  int unit;
} clarke_fixed;

/* What entries are multiplied by: |factor| is so many limbs, times 2^unit. */
typedef struct {
  mp_limb_t limb[CLARKE_FIXED_LIMBS];
  bool negative;
  int unit;
} clarke_fixed_factor;

/* The limbs of entry e, the lowest first. */
static inline mp_limb_t *
clarke_fixed_at(const clarke_fixed *v, size_t e)
{
  return v->limb + e * v->limbs;
}

/* Integers that make a sum before it joins an entry. */
__extension__ typedef __int128 clarke_wide;

/* entry + v 2^shift, off by less than a unit, as all that follow; false: it has no room. */
bool clarke_fixed_add_wide(mp_limb_t *entry, size_t limbs, clarke_wide v, long shift);
bool clarke_fixed_add_integer(mp_limb_t *entry, size_t limbs, int64_t v, long shift);
bool clarke_fixed_add_double(const clarke_fixed *v, size_t e, double x);
/* Without error. */
bool clarke_fixed_add(mp_limb_t *entry, const mp_limb_t *term, size_t limbs, bool subtract);
/* entry + term c 2^-shift, or less that. */
bool clarke_fixed_add_multiple(mp_limb_t *entry, const mp_limb_t *term, size_t limbs, const clarke_fixed_factor *c, long shift,
                               bool subtract);
/* entry / m */
void clarke_fixed_divide(mp_limb_t *entry, size_t limbs, size_t m);

/* The entry's size into `size`; is it negative? */
bool clarke_fixed_size(mp_limb_t *size, const mp_limb_t *entry, size_t limbs);
/* Off by the pairs' unit. */
clarke_pair clarke_fixed_pair(const mp_limb_t *entry, size_t limbs, int unit);
void clarke_fixed_get(mpq_t q, const clarke_fixed *v, size_t e);
/* The entry becomes q, off by less than a unit; false: it has no room. */
bool clarke_fixed_set(const clarke_fixed *v, size_t e, const mpq_t q);

/* The nearest factor of so many limbs: off by less than 2^(1 - bits) of itself. */
void clarke_fixed_factor_of(clarke_fixed_factor *c, const mpfr_t v, size_t limbs);
void clarke_fixed_factor_of_double(clarke_fixed_factor *c, double v, size_t limbs);
/* An entry, without error. */
void clarke_fixed_factor_of_entry(clarke_fixed_factor *c, const mp_limb_t *entry, size_t limbs, int unit);

/* The nearest multiple of 2^at as digits of `bits` bits, integers of absolute value at most half of 2^bits, the lowest first; what is
 * left as a double. 2^at is a unit at least. Of an entry of at most 2^(at + slices * bits - 1) units. */
double clarke_fixed_cut(double *digit, size_t stride, const clarke_fixed *v, size_t e, size_t slices, int bits, int at);

#endif
