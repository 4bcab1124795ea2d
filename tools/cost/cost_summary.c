/* The three lines in front of what clarke cost prints. */
#include <stdio.h> /* before gmp.h, for gmp_fprintf */

#include "cost_report.h"

#include "summary.h"

/* Are the numbers of another counter explained, if they were asked about? */
static void
put_against(FILE *to, const clarke_against *a)
{
  size_t missed = 0;

  for (size_t i = 0; i < a->n; i++)
    missed += !a->claim[i].explained;
  if (a->n > 0 && missed == 0)
    fprintf(to, a->n == 1 ? "Yes: the other counter's number is explained to the unit. "
                          : "Yes: all %zu numbers of other counters are explained to the unit. ", a->n);
  else if (a->n > 0)
    fprintf(to, "No: of %zu %s %zu %s not explained. ", a->n, a->n == 1 ? "number of another counter" : "numbers of other counters", missed,
            missed == 1 ? "is" : "are");
}

/* Says what the program costs with all parameters and the input, by the prices that are given. */
static clarke_status
put_program(FILE *to, const clarke_cost_report *r, clarke_error *err)
{
  clarke_cost_numbers n = {0};
  clarke_status status;
  mpz_t p;

  mpz_init(p);
  clarke_cost_session_entries(p, &r->session, CLARKE_WITH_INPUT);
  status = clarke_cost_numbers_find(&n, clarke_cost_session_count(&r->session, CLARKE_WITH_INPUT), p, &r->prices, false, err);
  if (status == CLARKE_OK)
    fprintf(to, "The program costs %s; with its derivatives, in %s mode, %s: %s times as much.", n.cost,
            r->forward ? "forward" : "backward", r->forward ? n.forward_mode : n.backward, r->forward ? n.forward_ratio : n.ratio);
  clarke_cost_numbers_clear(&n);
  mpz_clear(p);
  return status;
}

/* Products alone, with those of padding, as the table's last row has them. */
static void
put_network(FILE *to, const clarke_network_cost *c)
{
  mpz_t n[4];

  for (int k = 0; k < 4; k++)
    mpz_init(n[k]);
  clarke_layer_products(n[0], &c->total);
  clarke_layer_flop(n[1], &c->total, true);
  clarke_layer_flop_backward(n[2], &c->total, CLARKE_PARAMETERS_ALONE, true);
  clarke_layer_flop_backward(n[3], &c->total, CLARKE_WITH_INPUT, true);
  gmp_fprintf(to, "Forward: %Zd multiply-adds (MAC), which are %Zd floating-point operations (FLOP). Backward: %Zd more, or %Zd with the input's "
              "gradient.", n[0], n[1], n[2], n[3]);
  for (int k = 0; k < 4; k++)
    mpz_clear(n[k]);
}

static void
put_asked(FILE *to, const clarke_cost_report *r)
{
  const clarke_cost_session *s = &r->session;

  fprintf(to, "What do %s and its derivatives cost? ", s->name);
  if (s->network) {
    clarke_put_count(to, s->cost.samples, "sample");
    gmp_fprintf(to, ", %Zd parameters%s.", s->cost.parameters, s->loss ? ", the loss not counted" : "");
  } else {
    clarke_put_count(to, clarke_code_entries(&s->program), "input");
    fputs("; in operations, where functions and comparisons have the prices --cnl and --cr, or 1.", to);
  }
}

static void
put_next(FILE *to, const clarke_cost_report *r)
{
  if (r->against.n > 0 && !r->against.explained)
    fputs("Look at NOT EXPLAINED below: another model, batch or version was counted, or a part that counters leave out.", to);
  else if (r->against.n > 0)
    fputs("Nothing needs doing: below is which of the counter's habits makes the difference.", to);
  else if (r->session.network)
    fputs("Layer by layer it is below; --against FILE explains another counter's number.", to);
  else
    fputs("Function by function it is below; --at NAME=V,... counts what our own passes do at a point.", to);
}

clarke_status
clarke_cost_tell_summary(const clarke_cost_report *r, clarke_error *err)
{
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    put_asked(s.asked.to, r);
    put_against(s.answer.to, &r->against);
    if (r->session.network)
      put_network(s.answer.to, &r->session.cost);
    else
      status = put_program(s.answer.to, r, err);
    put_next(s.next.to, r);
  }
  return clarke_summary_tell(&s, status, err);
}

clarke_status
clarke_cost_tell_table(const char *table, size_t rows, size_t wrong, clarke_error *err)
{
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "Is the thesis' table %s what comes out? Costs of functions and of their derivatives.", table);
    if (wrong == 0)
      fprintf(s.answer.to, "Yes: all %zu rows are.", rows);
    else
      fprintf(s.answer.to, "Not all: of %zu rows %zu %s printed otherwise (paper wrong).", rows, wrong, wrong == 1 ? "is" : "are");
    fputs(wrong == 0 ? "Nothing needs doing." : "Use the rows below.", s.next.to);
  }
  return clarke_summary_tell(&s, status, err);
}

clarke_status
clarke_cost_tell_matrices(size_t p, const mpz_t cost, const char *product, const mpz_t least, clarke_error *err)
{
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "How dear are %zu derivatives along directions, beside a product of %zu x %zu matrices?", p, p, p);
    gmp_fprintf(s.answer.to, "The function itself takes %Zd operations. Its %zu derivatives take at least a fifth of what the cheapest such product "
                "takes, less %zu; the cheapest that was tried takes %Zd (%s).", cost, p, p, least, product);
    fputs("The ratios that follow are below, for each way to multiply.", s.next.to);
  }
  return clarke_summary_tell(&s, status, err);
}
