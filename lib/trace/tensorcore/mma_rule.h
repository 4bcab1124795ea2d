/* What tensor cores compute, bit for bit: d = a . b + c by the rules of their generations (docs/certify.md).
 *
 * A group of products is added like this: every product is exact; the addend joins them; all are aligned to the largest exponent
 * among those that are not zero (a product's is the sum of its factors'; there may be a least one), and each is cut off, toward
 * zero, a number of bits after that exponent's place; the sum of what is left is exact, and is rounded once. */
#ifndef CLARKE_TRACE_MMA_RULE_H
#define CLARKE_TRACE_MMA_RULE_H

#include "trace/tensorcore/mma_gpu.h"
#include "trace/tensorcore/mma_number.h"

#include <stddef.h>

typedef enum {
  CLARKE_MMA_ONE_GROUP,
  CLARKE_MMA_HALVES, /* the first half of the products, then the other, to which the first's sum is the addend */
  CLARKE_MMA_PAIRS,  /* the first two of each four products, then the other two, likewise */
} clarke_mma_grouping;

typedef enum {
  CLARKE_MMA_C_FUSED, /* c is the first group's addend */
  CLARKE_MMA_C_LAST,  /* c is added to the sum of products by an addition of IEEE 754, to nearest */
  CLARKE_MMA_C_NOT,   /* c took no part in what was recorded */
} clarke_mma_addend;

typedef struct {
  clarke_architecture architecture;
  unsigned inputs;         /* formats of factors, a bit each */
  int output;              /* CLARKE_MMA_FP32 or CLARKE_MMA_FP16 */
  uint64_t k;              /* numbers of products that were recorded: bit k */
  const char *instruction; /* its name in PTX begins so; NULL: only of records that name none */
  int kept;                /* bits after the largest exponent's place */
  int least;               /* what counts as the largest exponent when all are below */
  int fraction;            /* bits of a result's fraction, at most the output format's */
  clarke_mma_grouping grouping;
  clarke_mma_addend addend;
} clarke_mma_rule;

#define CLARKE_MMA_PRODUCTS_MOST 63 /* of one result */

typedef struct {
  const char *gpu;
  int input, output; /* formats */
  int k;
  const char *instruction; /* in PTX, or NULL */
} clarke_mma_question;

/* The rules that may explain such results, by which they are to be tried in order: the next after `after`, or the first (NULL).
 * NULL: there is no other. */
const clarke_mma_rule *clarke_mma_rule_next(const clarke_mma_question *q, const clarke_mma_rule *after);

/* Does an instruction's name in PTX say these formats and this number of products? */
bool clarke_mma_instruction_says(const char *instruction, int input, int output, int k);

/* What the rule gives, as the bits of a float32: of k products of factors in the format, and c, a finite float32 (rounded to nearest
 * when the result is a float16). */
uint32_t clarke_mma_apply(const clarke_mma_rule *rule, int input, int k, const uint32_t *a, const uint32_t *b, uint32_t c);

/* The rule in words. */
void clarke_mma_describe(char *text, size_t size, const clarke_mma_rule *rule);

#endif
