/* A program as the thesis' costs see it: how often it has which elementary function. (2.8), (2.10), (2.11) and Theorem 3 follow. */
#ifndef CLARKE_COST_COUNT_H
#define CLARKE_COST_COUNT_H

#include "cost/elementary.h"

typedef struct {
  clarke_elementary what;
  mpz_t times;
} clarke_counted;

typedef struct {
  size_t n, capacity;
  clarke_counted *row; /* all different, each at least once */
} clarke_count;

void clarke_count_init(clarke_count *c);
void clarke_count_clear(clarke_count *c);
/* Counts a function so many times more; 0 adds nothing. */
clarke_status clarke_count_add(clarke_count *c, const clarke_elementary *e, size_t times, clarke_error *err);
/* All that is counted in another. */
clarke_status clarke_count_join(clarke_count *c, const clarke_count *more, clarke_error *err);

/* What (2.10) and (2.11) have of one function, with p entries that are differentiated in. */
void clarke_elementary_backward(clarke_operations *o, const clarke_elementary *e);
void clarke_elementary_forward(clarke_amount *a, const clarke_elementary *e, const mpz_t p);

void clarke_count_operations(mpz_t n, const clarke_count *c);         /* how many functions */
void clarke_count_cost(clarke_amount *a, const clarke_count *c);      /* (2.8): sum of cost(g_i) */
void clarke_count_backward(clarke_amount *a, const clarke_count *c);  /* (2.10): sum of cost(gd_i) + |pr_i| (c+ + cx) */
/* (2.11): sum of cost(gd_i) + p |pr_i| cx + p (|pr_i| - 1) c+. */
void clarke_count_forward(clarke_amount *a, const clarke_count *c, const mpz_t p);

/* Theorem 3: the largest (cost(gd) + 2 max(c+, cx) |pr|) / cost(g), and for forward mode that of (2.11)'s terms. False where some
 * function costs nothing: then there is no bound. Letters are 1. Of no function at all it is 0. */
bool clarke_count_omega(mpq_t omega, const clarke_count *c, const clarke_prices *p);
bool clarke_count_omega_forward(mpq_t omega, const clarke_count *c, const mpz_t entries, const clarke_prices *p);
/* omega with its letters (malloc; NULL when out of memory): "5", or "max(5, (2 + c_R) / c_R)". */
char *clarke_count_omega_text(const clarke_count *c, const clarke_prices *p);

#endif
