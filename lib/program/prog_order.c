/* Order statistics lowered: an instruction for each rank that is asked for. */
#include "program/prog_order.h"

#include "program/prog_proxy.h"
#include "program/prog_value.h"

#include <stdlib.h>
#include <string.h>

/* One order statistic of rank `rank` into entry k of v. */
static clarke_status
add_order(prog_value *v, size_t k, prog_lowering *low, const prog_call *c, const clarke_op *op,
          size_t rank, const prog_value *list, const size_t *in, const clarke_override *proxy)
{
  clarke_error err = { .text = "" };
  size_t number;
  clarke_status status = clarke_prog_add_status(
    low, clarke_code_add_order(low->p, &number, op, rank, list->n, in, &err), &err, c->at);

  if (status != CLARKE_OK)
    return status;
  clarke_prog_set(v, k, clarke_prog_added(low, c->at));
  return clarke_prog_put_proxy(low, proxy, c->at);
}

/* The ranks asked for: all, from the last, when rank is 0. */
static clarke_status
add_orders(prog_value *v, prog_lowering *low, const prog_call *c, const clarke_op *op, size_t rank,
           const prog_value *list, const size_t *in, const clarke_override *proxy)
{
  const size_t n = rank == 0 ? list->n : 1, most = clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS);
  clarke_status status = CLARKE_OK;

  if (op == NULL)
    return clarke_fail(low->err, CLARKE_EINTERNAL, "no operator for %s", c->name);
  if (list->n > most / n)
    status = clarke_prog_room(low, 0, most + 1, c->at);
  if (status == CLARKE_OK)
    status = clarke_prog_room(low, n, n * list->n, c->at);
  if (status == CLARKE_OK)
    status = clarke_prog_result(v, low, rank == 0, n, c->at);
  clarke_code_new_group(low->p);
  for (size_t k = 0; status == CLARKE_OK && k < n; k++)
    status = add_order(v, k, low, c, op, rank == 0 ? n - k : rank, list, in, proxy);
  return status;
}

clarke_status
clarke_prog_order(prog_value *v, prog_lowering *low, const prog_call *c, const clarke_op *op, size_t rank,
                  const prog_value *list, const size_t *in)
{
  clarke_override proxy = { .given = false };
  clarke_status status;

  mpq_init(proxy.value);
  status = clarke_prog_tie_proxy(&proxy, low, c);
  if (status == CLARKE_OK)
    status = add_orders(v, low, c, op, rank, list, in, &proxy);
  mpq_clear(proxy.value);
  return status;
}
