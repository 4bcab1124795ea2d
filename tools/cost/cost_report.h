/* What clarke cost found, in text, JSON and as a picture. */
#ifndef CLARKE_TOOLS_COST_REPORT_H
#define CLARKE_TOOLS_COST_REPORT_H

#include "cost/convention.h"
#include "session/cost.h"

#include <jansson.h>

/* What another counter says, and by which convention that follows. */
typedef struct {
  char *counter;    /* NULL: it is not told */
  const char *mode; /* a text that stays; NULL: it is not told */
  mpz_t total, remainder;
  bool explained;   /* to the unit */
  const clarke_convention *by; /* the one that explains it, else the first that it may mean; NULL: of that mode none is known */
} clarke_counter_claim;

typedef struct {
  size_t n;
  clarke_counter_claim *claim;
  bool explained; /* all of them */
} clarke_against;

/* Reads a file of JSON (docs/cost.md says what it may have). a is zeroed. */
clarke_status clarke_against_read(clarke_against *a, const char *path, clarke_error *err);
void clarke_against_clear(clarke_against *a);
void clarke_against_explain(clarke_against *a, const clarke_layer_cost *l);
void clarke_against_print(const clarke_against *a, const clarke_layer_cost *l);
json_t *clarke_against_json(const clarke_against *a, const clarke_layer_cost *l);

typedef struct {
  clarke_cost_session session;
  clarke_prices prices;
  bool forward;        /* --mode forward: texts speak of that */
  bool padding;
  size_t tokens;       /* D of 6 N D; 0: the samples */
  clarke_against against;
  const char *table;   /* NULL: none is asked for */
  bool ran;            /* --at: our own passes were counted */
  clarke_cost_run run;
} clarke_cost_report;

/* A whole number; as a text where it has more than 63 bits. */
json_t *clarke_cost_whole(const mpz_t n);

/* The numbers of (2.8) to (2.11) and Theorem 3, as texts (malloc). letters: c_nl and c_R stay where no price is given. "unbounded":
 * there is no such number, because some function costs nothing. */
typedef struct {
  char *cost, *backward, *forward_mode, *ratio, *forward_ratio, *omega, *omega_forward;
} clarke_cost_numbers;

clarke_status clarke_cost_numbers_find(clarke_cost_numbers *n, const clarke_count *c, const mpz_t p, const clarke_prices *prices,
                                       bool letters, clarke_error *err);
void clarke_cost_numbers_clear(clarke_cost_numbers *n);

/* --table, which may be asked beside a file, and --matrices. */
clarke_status clarke_cost_table_print(const char *table, const clarke_prices *prices, clarke_error *err);
clarke_status clarke_cost_table_tell(const char *table, clarke_error *err); /* its three lines */
clarke_status clarke_cost_table_json(json_t **j, const char *table, const clarke_prices *prices, clarke_error *err);
clarke_status clarke_cost_matrices_print(size_t p, bool json, clarke_error *err);

/* cost_summary.c: three lines of a file; of a table, of whose rows some are printed otherwise; of --matrices, and the cheapest product. */
clarke_status clarke_cost_tell_summary(const clarke_cost_report *r, clarke_error *err);
clarke_status clarke_cost_tell_table(const char *table, size_t rows, size_t wrong, clarke_error *err);
clarke_status clarke_cost_tell_matrices(size_t p, const mpz_t cost, const char *product, const mpz_t least, clarke_error *err);

/* A picture, whole or not at all. */
clarke_status clarke_cost_svg(const clarke_cost_report *r, const char *path, clarke_error *err);

clarke_status clarke_cost_text(const clarke_cost_report *r, clarke_error *err);
clarke_status clarke_cost_json(const clarke_cost_report *r, clarke_error *err);

#endif
