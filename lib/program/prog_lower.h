/* Lowering a program's tree to instructions: what its files share. */
#ifndef CLARKE_PROGRAM_PROG_LOWER_H
#define CLARKE_PROGRAM_PROG_LOWER_H

#include "program/prog_tree.h"

/* Entries of vectors made in all, constants, and limbs of those with more than two, operands
 * counted: what a small text could blow up. Bits of one constant. */

/* A number of the program: an instruction, or a constant in the pool that is none yet. */
typedef struct {
  bool constant;
  uint32_t index;
} prog_scalar;

/* What an expression stands for. */
typedef struct {
  bool vector;
  prog_scalar one;    /* when not a vector */
  size_t n;           /* entries; 1 when not a vector */
  prog_scalar *entry; /* when a vector */
  bool owned;         /* entry is this value's own, not a name's */
} prog_value;

typedef struct {
  bool bound;
  uint32_t node; /* where */
  prog_value value;
} prog_name;

typedef struct {
  clarke_code *p;
  const clarke_prog *g;
  clarke_error *err;
  size_t n_pool, pool_capacity;
  mpq_t *pool;
  size_t entries, limbs; /* so far, of the limits above */
  size_t n_names;
  prog_name *name;  /* the distinct names of the text, sorted */
  uint32_t *symbol; /* of each NAME node: its name's number */
  mpq_t coef[3];
  uint32_t output;  /* the output statement's node, 0: none yet */
} prog_lowering;

/* --- values (prog_value.c) ---------------------------------------------------------------------- */

const clarke_prog_node *clarke_prog_node_at(const prog_lowering *low, uint32_t node);
prog_scalar clarke_prog_entry(const prog_value *v, size_t i);
void clarke_prog_value_clear(prog_value *v);
/* Counts n more entries of vectors, of one vector. */
clarke_status clarke_prog_count(prog_lowering *low, size_t n, size_t at);
/* A vector of n entries yet to be set. */
clarke_status clarke_prog_vector(prog_value *v, prog_lowering *low, size_t n, size_t at);
/* *out: a vector of n entries or, when `vector` is false, a scalar. */
clarke_status clarke_prog_result(prog_value *out, prog_lowering *low, bool vector, size_t n,
                                 size_t at);
void clarke_prog_set(prog_value *v, size_t i, prog_scalar s);

/* The constant of a scalar that is one. */
mpq_t *clarke_prog_constant(const prog_lowering *low, prog_scalar s);
/* Counts the limbs of one more constant that is kept or computed with. */
clarke_status clarke_prog_charge(prog_lowering *low, const mpq_t value, size_t at);
/* Puts a copy of value in the pool. */
clarke_status clarke_prog_new_constant(prog_scalar *s, prog_lowering *low, const mpq_t value,
                                       size_t at);
/* Fails when so many more instructions or arguments are past the program's limits. */
clarke_status clarke_prog_room(prog_lowering *low, size_t instructions, size_t arguments,
                               size_t at);
/* The scalar's instruction; a constant becomes one. */
clarke_status clarke_prog_solid(size_t *instruction, prog_lowering *low, prog_scalar s, size_t at);
/* The last instruction added comes from this place: as a scalar. */
prog_scalar clarke_prog_added(prog_lowering *low, size_t at);
/* The status of adding an instruction, its message given a place. */
clarke_status clarke_prog_add_status(prog_lowering *low, clarke_status status,
                                     const clarke_error *err, size_t at);

/* --- expressions (prog_expression.c, prog_call.c) ------------------------------------------------- */

clarke_status clarke_prog_value_of(prog_value *v, prog_lowering *low, uint32_t node);
/* The node's value must be a scalar; what names it in the message. */
clarke_status clarke_prog_scalar_of(prog_scalar *s, prog_lowering *low, uint32_t node,
                                    const char *what);
/* The same, and a constant: copied to value. */
clarke_status clarke_prog_constant_of(mpq_t value, prog_lowering *low, uint32_t node,
                                      const char *what);
/* The entries of a list of nodes, vectors joined. */
clarke_status clarke_prog_join(prog_value *v, prog_lowering *low, uint32_t child);
clarke_status clarke_prog_call(prog_value *v, prog_lowering *low, uint32_t node);
/* a OPERATOR b, entry by entry; at: the operator's place. */
clarke_status clarke_prog_apply(prog_value *out, prog_lowering *low, char operator,
                                const prog_value *a, const prog_value *b, size_t at);
/* The sum of n instructions: one instruction. */
clarke_status clarke_prog_sum(prog_scalar *sum, prog_lowering *low, const size_t *in, size_t n,
                              size_t at);

/* --- names (prog_name.c) ---------------------------------------------------------------------------- */

clarke_status clarke_prog_names_find(prog_lowering *low);
void clarke_prog_names_clear(prog_lowering *low);
/* Binds the NAME node's name; *v goes over to it. */
clarke_status clarke_prog_bind(prog_lowering *low, uint32_t node, prog_value *v);
clarke_status clarke_prog_lookup(const prog_value **v, prog_lowering *low, uint32_t node);
/* "unknown name" or "unknown function", with those near it or those there are. */
clarke_status clarke_prog_unknown(prog_lowering *low, uint32_t node, bool function);

/* Names of all functions of the language in turn, NULL past the end. */
const char *clarke_prog_function_name(size_t i);

#endif
