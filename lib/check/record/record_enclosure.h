/* What a composed node's numbers are enclosed in: doubles, or GMP's numbers where doubles do not tell. All numbers of a pass are
 * enclosed in one of them. */
#ifndef CLARKE_CHECK_RECORD_ENCLOSURE_H
#define CLARKE_CHECK_RECORD_ENCLOSURE_H

#include "check/smooth/function.h"
#include "check/record/record_bound.h"
#include "check/base/span.h"

/* z is NULL: in doubles. */
typedef struct {
  span d;
  interval *z;
} enclosure;

/* What is multiplied by: q, or in doubles what holds it, q being NULL. size: |q| or less. */
typedef struct {
  const rational *q;
  span d;
  bound size;
} multiple;

/* A local variable that is zero to begin with and clears itself. */
#define ENCLOSURE(x, doubles) __attribute__((cleanup(enclosure_clear))) enclosure x = enclosure_nought(doubles)

enclosure enclosure_nought(bool doubles); /* [0, 0]; to be cleared */
void enclosure_clear(enclosure *x);
enclosure *enclosures(size_t n, bool doubles); /* n zeros; of GMP's, x[0].z are the intervals of all */
void enclosures_free(enclosure *x, size_t n);
size_t enclosure_bytes(const enclosure *x); /* that it takes beside itself */

void enclosure_get(interval *y, const enclosure *x);   /* y = x; one of doubles has ends that are numbers */
bool enclosure_known(const enclosure *x);              /* has it? GMP's always have */
void enclosure_put(enclosure *y, const interval *x);   /* y holds x */
void enclosure_copy(enclosure *y, const enclosure *x); /* y = x */
void enclosure_negate(enclosure *x);                   /* x = -x */
bool enclosure_zero(const enclosure *x);               /* exactly */

void enclosure_add(enclosure *y, const enclosure *x);                             /* y += x */
void enclosure_subtract(enclosure *y, const enclosure *x);                        /* y -= x */
void enclosure_add_number(enclosure *y, const rational *q);                       /* y += q */
void enclosure_add_times(enclosure *y, const enclosure *x, const multiple *c);    /* y += c x */
void enclosure_multiply(enclosure *y, const enclosure *a, const enclosure *b);    /* y = a b; y may be either */
void enclosure_add_product(enclosure *y, const enclosure *a, const enclosure *b); /* y += a b */
void enclosure_round(enclosure *x);                                               /* GMP's to the session's bits */
multiple multiple_of(const rational *q, bool doubles);                            /* to multiply by q */
void enclosure_value(enclosure *y, function f, const enclosure *x); /* of functions, which x lies in the domain of */
void enclosure_slope(enclosure *y, function f, const enclosure *x); /* its derivative */
void enclosure_softmax(enclosure *x, size_t n, bool log);           /* x become its softmax, or the logarithm */
void enclosure_centre(enclosure *x, size_t n);                      /* line.h's */
void enclosure_inverse_root(enclosure *r, const enclosure *c, size_t n, const rational *epsilon); /* line.h's, too */
bound least_size(const enclosure *x);                                                             /* the least |x| */
/* Is x known, but for 2^-16 of that size? GMP's numbers are. */
bool enclosure_sharp(const enclosure *x, bound size);
bound number_rest(const enclosure *x,
                  bound off); /* what is left of the largest |x| where an error takes `off`, rounded up; 0: nothing */
/* Is a double surely as near to x, which is enclosed in doubles? */
bool enclosure_within(const enclosure *x, bound off, double d);

#endif
