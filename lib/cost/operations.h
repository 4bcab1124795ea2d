/* What costs something, and how much of it there is: the model of costs of the thesis, chapter 2.
 *
 * An elementary function costs so many additions, multiplications, smooth nonlinear operations (exp, log, 1/x, ...) and evaluations
 * of a sign. Each has its price: c+, cx, c_nl and c_R (tables 2.2 and 2.3). The prices c+ and cx are 1 unless they are given. Where
 * c_nl or c_R is not given, texts keep it as a letter, and numbers take it for 1 (Assumption 1: all operations cost the same). */
#ifndef CLARKE_COST_OPERATIONS_H
#define CLARKE_COST_OPERATIONS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h> /* before GMP, which has its functions of files only then */

#include <gmp.h>

enum { CLARKE_ADDITION, CLARKE_MULTIPLICATION, CLARKE_NONLINEAR, CLARKE_SIGN, CLARKE_N_OPERATIONS };

/* The operations of one elementary function: small numbers. */
typedef struct {
  size_t of[CLARKE_N_OPERATIONS];
} clarke_operations;

/* The operations of many: whole numbers of any size. Initialized by clarke_amount_init, which makes them 0. */
typedef struct {
  mpz_t of[CLARKE_N_OPERATIONS];
} clarke_amount;

/* Prices, all at least 0. given[k] is false where a letter stands for it; then of[k] is 1. */
typedef struct {
  bool given[CLARKE_N_OPERATIONS];
  mpq_t of[CLARKE_N_OPERATIONS];
} clarke_prices;

/* All 1; c_nl and c_R are letters. */
void clarke_prices_init(clarke_prices *p);
void clarke_prices_clear(clarke_prices *p);
/* An exact literal, at least 0; `option` is how messages name it. */
clarke_status clarke_prices_set(clarke_prices *p, int operation, const char *text, const char *option, clarke_error *err);

void clarke_amount_init(clarke_amount *a);
void clarke_amount_clear(clarke_amount *a);
/* a += times b; a += times x. */
void clarke_amount_add(clarke_amount *a, const clarke_operations *b, const mpz_t times);
void clarke_amount_add_amount(clarke_amount *a, const clarke_amount *x, const mpz_t times);

/* What it costs; letters are 1. */
void clarke_amount_price(mpq_t cost, const clarke_amount *a, const clarke_prices *p);

/* The same as a text (malloc; NULL when out of memory), letters kept: "12 + 2 c_nl + c_R". */
char *clarke_amount_text(const clarke_amount *a, const clarke_prices *p);
/* above / below in lowest terms: a number where the two are proportional, else "(FORM) / (FORM)". "unbounded" where the prices make
 * only below 0; "0" where there is nothing above. */
char *clarke_amount_ratio_text(const clarke_amount *above, const clarke_amount *below, const clarke_prices *p);
/* The ratio's number, letters being 1. False where below costs nothing: there is none. */
bool clarke_amount_ratio(mpq_t ratio, const clarke_amount *above, const clarke_amount *below, const clarke_prices *p);

/* A rational as a text (malloc). */
char *clarke_price_text(const mpq_t q);

#endif
