/* Which of clarke-check's limits (docs/formats.md) a proof goes past by their defaults: foreseen where it is written, so that the
 * command that writes it can say which option the check needs. Nothing of the checker is here but the numbers of its table. */
#ifndef CLARKE_PROOF_CHECK_LIMITS_H
#define CLARKE_PROOF_CHECK_LIMITS_H

#include "network/graph/graph.h"
#include "program/code.h"

/* Those that can be foreseen. The rest depends on what the check meets on its way. */
typedef enum {
  CLARKE_CHECK_FILE,
  CLARKE_CHECK_NODES,
  CLARKE_CHECK_ENTRIES,
  CLARKE_CHECK_PRODUCTS,
  CLARKE_CHECK_TEXT,
  CLARKE_CHECK_INSTRUCTIONS,
  CLARKE_CHECK_VECTORS,
  CLARKE_CHECK_WORDS,
  CLARKE_CHECK_BITS,
  CLARKE_CHECK_TIES,
  CLARKE_CHECK_GRADIENTS,
  CLARKE_CHECK_MEMORY,
  CLARKE_N_CHECK_LIMITS
} clarke_check_limit;

/* Its name, and its default where the checker reads so many bytes. */
const char *clarke_check_limit_name(clarke_check_limit which);
size_t clarke_check_limit_default(clarke_check_limit which, size_t bytes);

/* What a check needs, by limit: an upper bound of `gradients`; of `memory` an estimate; of one that the command itself was given
 * with --limit, that number. 0: nothing is known. */
typedef struct {
  size_t needs[CLARKE_N_CHECK_LIMITS];
  size_t bytes; /* that the checker reads */
} clarke_check_needs;

/* bytes: of the proof and of what it names. */
void clarke_check_needs_begin(clarke_check_needs *c, size_t bytes);

/* The check follows the program, with the gradient of each instruction in n entries: what `derive` proves, and patterns of products.
 * text: it was read from a program's text, which the checker makes more instructions of; else from a network. */
void clarke_check_needs_to_follow(clarke_check_needs *c, const clarke_code *p, size_t n, bool text);
/* The check makes an affine form in n variables of each instruction: proofs of regions and of segments. */
void clarke_check_needs_forms(clarke_check_needs *c, const clarke_code *p, size_t n, bool text);

/* What a check needs of memory: it evaluates the network for all its samples, each entry as a number of its own. An upper
 * bound but for what the evidence needs besides, which is made of a cell at a time. */
void clarke_check_needs_network(clarke_check_needs *c, const clarke_graph *g);
/* A recorded step's, of so many bytes of tensors beside the network: the numbers, what is made of them, and what was not recorded. */
void clarke_check_needs_record(clarke_check_needs *c, const clarke_graph *g, size_t tensors);

/* Is the need past the checker's default? */
bool clarke_check_needs_more(const clarke_check_needs *c, clarke_check_limit which);

#endif
