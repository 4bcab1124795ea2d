/* A recorded tensor beside what it should be: the strongest answer that can be proved of it. */
#ifndef CLARKE_TRACE_CERTIFICATE_H
#define CLARKE_TRACE_CERTIFICATE_H

#include "exact/matrix.h"
#include "exact/tensor.h"

/* The ladder, from the strongest answer down. */
typedef enum {
  CLARKE_BIT_EXACT,    /* every entry is the exact result, rounded once to nearest, ties to even (a zero's sign is not looked at) */
  CLARKE_BY_TREE,      /* every entry is what the recorded tree of its sums gives, bit for bit (summation.h) */
  CLARKE_WITHIN_BOUND, /* some order of roundings may have made every entry */
  CLARKE_FOLLOWED,     /* not recorded: records that follow from it are judged by its exact numbers, its bound being part of theirs */
  CLARKE_CANNOT_SAY,   /* of some entry no bound is known, or nothing was recorded, nor behind it */
  CLARKE_NOT_CERTIFIED, /* a convolution's, and no sum of its products; Winograd's and FFT's are off so far */
  CLARKE_IS_REFUTED,      /* no order of roundings makes some entry */
} clarke_certainty;

/* A statistic is a buffer that a normalization brought up to date. */
typedef enum { CLARKE_OUTPUT, CLARKE_GRADIENT, CLARKE_INDICES, CLARKE_PARAMETER, CLARKE_STATISTIC } clarke_part;

const char *clarke_certainty_name(clarke_certainty c); /* "bit-exact", "bit-exact (tree)", ... */
const char *clarke_part_name(clarke_part p);           /* "output", "gradient", "indices", "parameter", "statistic" */

/* So large a part of a tensor's norm may the norm of its bounds be. Within it all numbers are at less than 15 degrees to the tensor, and
 * between 3/4 and 5/4 of it: neither 0 nor the tensor's negative, double or half is among them. */
#define CLARKE_VAGUE 0.25

/* Was a tree of its sums recorded, and does it give all entries? */
typedef enum { CLARKE_NO_TREE, CLARKE_TREE_EXPLAINS, CLARKE_TREE_DOES_NOT } clarke_tree_answer;

/* One entry that decides: of a refuted tensor the first that is refuted, else the first of which nothing can be said. */
typedef struct {
  char *index;  /* "[2, 0, 1]" */
  double recorded;
  char *should; /* exactly, as a rational; of an enclosure its midpoint, behind "about " */
  double near;  /* the nearest double of that */
  double bound;
} clarke_offender;

typedef struct {
  clarke_part part;
  char *name;     /* the node's, or the parameter's */
  const char *op; /* the operator's name; NULL: none */
  clarke_certainty certainty;
  size_t entries, exact; /* all; those that are bit-exact */
  size_t beyond, open;   /* refuted; those of which nothing can be said, */
  size_t unsure;         /* although there is a bound: it is too near to it, for what is known of the exact number */
  double worst;          /* the largest error in parts of its bound, where that is finite */
  bool at_most;          /* doubles decided: the largest is at most `worst`, and at least `exact` entries are bit-exact */
  double farthest, widest; /* the largest error of the refuted entries; the largest finite bound */
  double norm, slack;      /* Euclidean: about that of what it should be (doubles decided, and branches are asked for: at most that of the record;
                            * bit-exact: 0); at least that of all bounds */
  double slack_least;      /* doubles decided: at most the slack of the exact pass's bounds, but for 2^-9 of it; 0: none is known */
  bool has_offender;
  clarke_offender offender;
  char *why; /* a sentence without its end, or NULL */
  clarke_tree_answer tree;
  char *tree_why; /* why it does not, likewise */
} clarke_certificate;

/* `name` is copied. */
clarke_status clarke_certificate_init(clarke_certificate *c, clarke_part part, const char *name, const char *op,
                                      clarke_error *err);
void clarke_certificate_clear(clarke_certificate *c);

/* Says why, and nothing else of it. */
clarke_status clarke_certificate_say(clarke_certificate *c, clarke_certainty certainty, clarke_error *err, const char *format, ...)
  __attribute__((format(printf, 4, 5)));

/* An error in parts of its bound, in two digits, or in as many as tell it from 1: 0.9999 is no 1, and is within the bound. at_most:
 * "< 0.5", rounded up. */
enum { CLARKE_SHARE_SIZE = 32 };
void clarke_share_write(char text[CLARKE_SHARE_SIZE], double share, bool at_most);

/* Judges floats t. m is what they should be, features x samples: entry k of t is m(k % rows, k / rows). bound: of each entry of
 * m, row-major, how far rounding may take it; an infinite one says nothing. */
clarke_status clarke_certificate_judge(clarke_certificate *c, const clarke_tensor *t, const clarke_matrix *m, const double *bound,
                                       clarke_error *err);

/* The same of exact numbers of the tensor's type, in its order. False, and nothing is judged: it is not these, number for number. */
bool clarke_certificate_judge_moved(clarke_certificate *c, const clarke_tensor *t, const double *number, const double *bound);

/* The number of a type that is nearest to m(i,j), ties to even; infinite beyond its largest. m is exact. */
double clarke_rounded(const clarke_matrix *m, size_t i, size_t j, clarke_dtype type);

/* The number of a floating-point type that is nearest to a double, ties to even; infinite beyond its largest. */
double clarke_round_double(double d, clarke_dtype type);

/* "[2, 0, 1]": an entry in row-major order. */
void clarke_put_index(char *text, size_t size, const size_t *dims, size_t rank, size_t entry);

#endif
