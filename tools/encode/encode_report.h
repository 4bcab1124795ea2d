/* What clarke encode found, in text and JSON. */
#ifndef CLARKE_TOOLS_ENCODE_REPORT_H
#define CLARKE_TOOLS_ENCODE_REPORT_H

#include "format/dimacs.h"
#include "sat/network.h"
#include "sat/solve.h"

#include <gmp.h>

/* A direction and what it says of the formula. */
typedef struct {
  bool asked;
  mpq_t value;       /* F(d) */
  bool *assignment;  /* by variable of the three-literal formula; NULL when F(d) is 0 */
} clarke_decoded;

typedef struct {
  const char *formula, *written; /* base names; written: NULL when no network was */
  size_t bytes;                  /* of that file */
  clarke_cnf cnf;
  clarke_three three;
  clarke_sign_network network;
  bool decided; /* was it asked? */
  const char *followed; /* base name of the refutation that was followed; NULL: it was searched for */
  size_t followed_steps;
  clarke_solution solution;
  clarke_decoded decoded;
} clarke_encode_report;

/* proof: the file that was written, or NULL. */
clarke_status clarke_encode_text(const clarke_encode_report *r, const char *proof, clarke_error *err);
clarke_status clarke_encode_json(const clarke_encode_report *r, clarke_error *err);

#endif
