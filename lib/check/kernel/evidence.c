/* What proves where AD's output of a network is (docs/proof-format.md): what all kinds of evidence have. */
#include "check/kernel/evidence.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/cell.h"
#include "check/kernel/names.h"
#include "check/kernel/place.h"
#include "check/kernel/question.h"
#include "check/kernel/statement.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

void
read_sides(claim *q)
{
  static const char each[] = "one side for each touched kink is expected";
  const char *sides = next_word();
  require(q->p->n_touched > 0 || strcmp(sides, ".") == 0, each);
  for (size_t k = 0; k < q->p->n_touched; k++) {
    require(*sides != '\0', each);
    q->c.side[k] = side_named(q->p, k, &sides);
  }
  require(q->p->n_touched == 0 || *sides == '\0', each);
}

void
check_cell(claim *q)
{
  bool *found = allocate(q->p->n_slopes, sizeof *found);
  cell_settle(&q->c, q->p, false);
  next_line("directions");
  size_t n = next_number();
  for (size_t i = 0; i < n; i++) {
    read_direction(q->net);
    motion d = tangents(q->p, q->c.slope);
    note_moves(q->p, &q->c, &d, found);
    tangents_free(&d);
  }
  must_move(q->p, &q->c, found, true);
  free(found);
}

void
add_last_gradient(claim *q, const rational *by)
{
  for (size_t i = 0; i < q->net->n_wrt; i++)
    add_multiple(&q->sum[i], &q->net->gradient[i], by);
}

static void
check_evidence(claim *q, const char *verdict, const evidence_kind *kinds, size_t n)
{
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  size_t i = 0;
  next_line("evidence");
  const char *word = next_word();
  fprintf(account, "Evidence: %s\n", word);
  while (i < n && strcmp(kinds[i].word, word) != 0)
    i++;
  require(i < n
              && (outside     ? kinds[i].outside
                  : bouligand ? kinds[i].bouligand
                              : kinds[i].clarke),
          "'%s' does not prove %s", word, verdict);
  kinds[i].check(q, bouligand);
  last_line();
}

/* ---- Statement */

/* The proxy of every kink of every operator in the model. */
static void
read_proxies(claim *q)
{
  for (size_t i = 0; i < q->net->n_operators; i++) {
    const char *op = q->net->operators[i].name;
    bool used = network_has(q->net, op);
    for (size_t j = 0; used && j < q->net->operators[i].kinks; j++) {
      RATIONAL(value);
      proxy_side side = read_proxy(op, j, &value);
      for (size_t k = 0; k < q->p->n_touched; k++) {
        const touch *t = &q->p->touched[k];
        const step *st = &q->net->steps[t->step];
        if (strcmp(step_operator(st), op) == 0 && st->number[t->kink] == j)
          mpq_set(&q->ad[t->slope], side == PROXY_LEFT ? &t->left : side == PROXY_RIGHT ? &t->right : &value);
      }
    }
  }
}

void
check_output(point *p, const char *verdict, const evidence_kind *kinds, size_t n)
{
  claim q = {.p = p, .net = p->net};
  read_loss(p);
  read_wrt(p->net);
  q.sum = allocate(p->net->n_wrt, sizeof *q.sum);
  point_evaluate(p);
  q.c = cell_new(p);
  q.ad = rationals(p->n_slopes);
  next_line("profile");
  state_profile(next_name());
  read_proxies(&q);
  size_t n_windows = read_ties(p, q.ad);
  read_touched(p);
  if (n_windows > 0)
    fprintf(account, "Of these, windows with ties: %zu\n", n_windows);
  check_evidence(&q, verdict, kinds, n);
}
