/* Writing proofs: docs/proof-format.md, version 1. */
#ifndef CLARKE_PROOF_WRITE_H
#define CLARKE_PROOF_WRITE_H

#include "audit/audit.h"
#include "program/derive.h"
#include "program/directional.h"

#include <stdio.h>

/* A file the statement speaks of. */
typedef struct {
  const char *name; /* base name; NULL: there is none */
  const char *sha256;
  const char *output; /* of a model the one that was chosen; NULL: it has one, or is none */
} clarke_proof_input;

typedef struct {
  clarke_proof_input model, params, batch;
  bool whole, together; /* each sample is a whole input; all of them are one */
  char *const *wrt; /* the names given, or NULL with n_wrt == 0 for all */
  size_t n_wrt;
} clarke_proof_statement;

/* Does the profile know all that a proof states of the network's operators? Else an error that names the operator. */
clarke_status clarke_proof_possible(const clarke_graph *g, const clarke_profile *profile,
                                    clarke_error *err);

/* Parts of statements about networks: a file, unless it has no name, and the output that was chosen; the lines `wrt` and `profile`; `proxy` of each operator. */
void clarke_proof_put_input(FILE *out, const char *word, const clarke_proof_input *input);
/* A line for each node's output. */
clarke_status clarke_proof_put_fingerprints(FILE *out, const clarke_graph *g, clarke_error *err);
void clarke_proof_put_wrt(FILE *out, const clarke_graph *g, bool all, const clarke_profile *profile);
clarke_status clarke_proof_put_proxies(FILE *out, const clarke_graph *g, const clarke_profile *profile, clarke_error *err);

/* Writes the proof of a decided audit to a temporary file beside path, then renames it. An
 * undecided one is an error, and one that is not possible. */
clarke_status clarke_proof_write(const char *path, const clarke_proof_statement *statement,
                                 const clarke_audit *a, const clarke_question *q,
                                 clarke_error *err);

/* The same of its zone, compensation or bifurcation; another is an error. */
clarke_status clarke_proof_write_zone(const char *path, const clarke_proof_statement *statement, const clarke_audit *a,
                                      const clarke_question *q, clarke_error *err);

/* Can the checker make the program, unrolled and nothing held yet, of a network's steps? These are sums, piecewise functions and
 * maxima; with `products`, products of two entries, too. */
bool clarke_proof_of_steps(const clarke_code *p, bool products);

/* Writes the tree of cones, of patterns that are cones; else it is not called. */
typedef struct {
  const void *context;
  void (*put)(FILE *out, const void *context);
} clarke_proof_tree;

/* The same of a decided question about a program; name: the base name of its file. What is past a proof's reach
 * (program/lipschitz.h) is an error: the verdict holds, but could not be checked. tree: or NULL, when patterns are none of cones. */
clarke_status clarke_proof_write_program(const char *path, const char *name, const char *sha256, const clarke_derivation *d,
                                         const clarke_proof_tree *tree, clarke_error *err);

/* The same of a network that was unrolled at one sample, with respect to its input or to parameters. It has sums, piecewise functions
 * and maxima alone, with respect to parameters products, too; else that is an error. */
clarke_status clarke_proof_write_network(const char *path, const clarke_proof_input *model, const clarke_derivation *d,
                                         const clarke_proof_tree *tree, clarke_error *err);

/* The same of derivatives along directions that are known, as AD's are; line: those. of: the program or network. */
clarke_status clarke_proof_write_direction(const char *path, bool network, const clarke_proof_input *of, const clarke_directional *x,
                                           mpq_t **line, const clarke_profile *profile, clarke_error *err);

#endif
