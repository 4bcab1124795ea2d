/* How the time grows to answer two questions about the network of a formula at 0: is AD's conservative set one element (thesis,
 * Proposition 4: polynomial), and is F differentiable (Theorem 6: NP-hard).
 *
 *   encode_growth [SECONDS]
 *
 * Prints the table of docs/encode.md. Formulas of three literals a clause are drawn at 4.26 clauses a variable, where they are
 * hardest; of each size the first that cannot be satisfied, for which the second question is harder. Each time is one run's, of
 * the processor. The list of patterns is asked for while the one before took less than SECONDS (10). */
#include "../draw.h"

#include "base/output.h"
#include "program/derive.h"
#include "program/prog.h"
#include "sat/network.h"
#include "sat/solve.h"

#include <flint/flint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Processor time, in seconds. */
static double
now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool
draw_formula(clarke_cnf *f, uint64_t *state, size_t n, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  clarke_cnf_clear(f);
  f->n_variables = n;
  for (size_t c = 0; c < (426 * n + 50) / 100 && status == CLARKE_OK; c++) {
    size_t v[3];

    for (size_t i = 0; i < 3; i++)
      do
        v[i] = 1 + (size_t)(draw(state) % n);
      while ((i > 0 && v[i] == v[0]) || (i > 1 && v[i] == v[1]));
    for (size_t i = 0; i < 3 && status == CLARKE_OK; i++)
      status = clarke_cnf_add(f, draw(state) % 2 != 0 ? (int32_t)v[i] : -(int32_t)v[i], err);
    if (status == CLARKE_OK)
      status = clarke_cnf_end(f, err);
  }
  return status == CLARKE_OK;
}

typedef struct {
  clarke_three three;
  clarke_solution solution;
  double decided; /* seconds */
} question;

static void
question_clear(question *q)
{
  clarke_three_clear(&q->three);
  clarke_solution_clear(&q->solution);
}

/* A formula of n variables that cannot be satisfied. */
static bool
find(question *q, uint64_t *state, size_t n, clarke_error *err)
{
  clarke_cnf f;
  bool good = true;

  clarke_three_init(&q->three);
  clarke_solution_init(&q->solution);
  clarke_cnf_init(&f);
  while (good && q->solution.answer != CLARKE_FORMULA_REFUTED) {
    question_clear(q);
    good = draw_formula(&f, state, n, err) && clarke_three_make(&q->three, &f, err) == CLARKE_OK;
    q->decided = now();
    good = good && clarke_solve(&q->solution, &q->three, SIZE_MAX, err) == CLARKE_OK;
    q->decided = now() - q->decided;
  }
  clarke_cnf_clear(&f);
  return good;
}

/* The network as a program. */
static bool
make_program(clarke_code *p, const clarke_three *t, clarke_error *err)
{
  clarke_sign_network net;
  clarke_text text;
  bool good = clarke_text_open(&text, err) == CLARKE_OK;

  clarke_sign_network_init(&net);
  good = good && clarke_sign_network_make(&net, t, err) == CLARKE_OK;
  if (good)
    clarke_sign_network_print(text.to, &net, "drawn");
  good = good && clarke_text_close(&text, CLARKE_OK, err) == CLARKE_OK &&
         clarke_prog_parse(p, text.text, text.size, "drawn.prog", err) == CLARKE_OK && clarke_code_wrt(p, NULL, 0, err) == CLARKE_OK;
  clarke_text_clear(&text);
  clarke_sign_network_clear(&net);
  return good;
}

typedef struct {
  double execution, conservative, patterns; /* seconds; patterns < 0: not asked */
  size_t kinks;
  bool several, listed;
} figures;

static bool
measure(figures *m, const clarke_code *p, mpq_t *at, bool list, clarke_error *err)
{
  clarke_execution e;
  clarke_conservative c;
  clarke_patterns t;
  double begin = now();
  bool good;

  clarke_execution_init(&e);
  clarke_conservative_init(&c);
  clarke_patterns_init(&t);
  good = clarke_execute(&e, p, at, err) == CLARKE_OK;
  m->execution = now() - begin;
  m->kinks = e.n_touched;
  begin = now();
  good = good && clarke_conservative_find(&c, &e, err) == CLARKE_OK;
  m->conservative = now() - begin;
  m->several = c.known && !c.singleton && c.element[1] != NULL;
  begin = now();
  good = good && (!list || clarke_patterns_find(&t, &e, err) == CLARKE_OK);
  m->patterns = list ? now() - begin : -1;
  m->listed = list && t.tree.complete;
  clarke_patterns_clear(&t);
  clarke_conservative_clear(&c);
  clarke_execution_clear(&e);
  return good;
}

static bool
row(uint64_t *state, size_t n, bool *list, double seconds)
{
  question q;
  figures m = {0};
  clarke_code p;
  clarke_error err = {CLARKE_OK, ""};
  mpq_t *at = clarke_rationals(n);
  bool good;

  clarke_code_init(&p);
  good = at != NULL && find(&q, state, n, &err) && make_program(&p, &q.three, &err) && measure(&m, &p, at, *list, &err);
  if (good) {
    printf("| %zu | %zu | %zu | %s in %.3g | ", n, (426 * n + 50) / 100, m.kinks, m.several ? "two" : "one", 1e3 * m.conservative);
    if (*list)
      printf("%s%.3g | ", m.listed ? "" : "given up after ", 1e3 * m.patterns);
    else
      printf("- | ");
    printf("%.3g | %zu | %.2g |\n", 1e3 * q.decided, q.solution.conflicts, q.decided / m.conservative);
    *list = *list && m.patterns < seconds && m.listed;
  } else
    fprintf(stderr, "encode_growth: %s\n", err.text);
  fflush(stdout);
  clarke_code_clear(&p);
  question_clear(&q);
  clarke_rationals_free(at, n);
  return good;
}

int
main(int argc, char **argv)
{
  static const size_t sizes[] = {3, 4, 5, 6, 8, 10, 15, 20, 30, 60, 120, 180, 240, 270, 300, 0};
  const double seconds = argc > 1 ? atof(argv[1]) : 10;
  uint64_t state = 1;
  bool list = true, good = true;

  printf("| variables | clauses | kinks | elements of the conservative set, ms | all patterns, ms | differentiable or not, ms "
         "| conflicts | ratio |\n|---|---|---|---|---|---|---|---|\n");
  for (size_t k = 0; good && sizes[k] > 0; k++)
    good = row(&state, sizes[k], &list, seconds);
  flint_cleanup();
  return good ? 0 : 1;
}
