/* Proxies in braces after the name of a function. */
#include "program/prog_proxy.h"

#include "program/prog_expression.h"
#include "program/prog_value.h"

#include <stdlib.h>
#include <string.h>

static bool
proxy_is(const prog_lowering *low, const clarke_prog_node *proxy, const char *word)
{
  return clarke_prog_is(low->g, proxy->start, proxy->length, word);
}

clarke_status
clarke_prog_no_braces(prog_lowering *low, const prog_call *c)
{
  if (c->proxy == 0)
    return CLARKE_OK;
  return clarke_prog_fail(low->g, clarke_prog_node_at(low, c->proxy)->at, low->err,
                          "%s has no proxy to override: expected '('", c->name);
}

clarke_status
clarke_prog_kink_proxy(clarke_override *o, prog_lowering *low, const prog_call *c)
{
  const clarke_prog_node *proxy = clarke_prog_node_at(low, c->proxy);

  if (c->proxy == 0)
    return CLARKE_OK;
  o->given = true;
  o->kind = proxy_is(low, proxy, "left") ? CLARKE_PROXY_LEFT
            : proxy_is(low, proxy, "right") ? CLARKE_PROXY_RIGHT : CLARKE_PROXY_VALUE;
  if (o->kind != CLARKE_PROXY_VALUE)
    return CLARKE_OK;
  if (proxy->length > 0)
    return clarke_prog_fail(low->g, proxy->at, low->err, "'%.*s' is a rule for ties: %s takes a"
                            " number, left or right", (int)proxy->length,
                            low->g->text + proxy->start, c->name);
  return clarke_prog_constant_of(o->value, low, proxy->first, "a proxy");
}

clarke_status
clarke_prog_tie_proxy(clarke_override *o, prog_lowering *low, const prog_call *c)
{
  const clarke_prog_node *proxy = clarke_prog_node_at(low, c->proxy);

  if (c->proxy == 0)
    return CLARKE_OK;
  o->given = true;
  o->tie = proxy_is(low, proxy, "last") ? CLARKE_TIE_LAST
           : proxy_is(low, proxy, "stable") ? CLARKE_TIE_STABLE : CLARKE_TIE_FIRST;
  if (proxy->length == 0 || proxy_is(low, proxy, "left") || proxy_is(low, proxy, "right"))
    return clarke_prog_fail(low->g, proxy->at, low->err, "%s takes a rule for ties: first, last,"
                            " stable, mean or hybrid B", c->name);
  if (proxy_is(low, proxy, "mean"))
    mpq_set_ui(o->value, 1, 1);
  return proxy->first == 0
           ? CLARKE_OK : clarke_prog_constant_of(o->value, low, proxy->first, "hybrid");
}

clarke_status
clarke_prog_put_proxy(prog_lowering *low, const clarke_override *o, size_t at)
{
  clarke_override *to = &low->p->instruction[low->p->n - 1].proxy;
  clarke_status status = o->given ? clarke_prog_charge(low, o->value, at) : CLARKE_OK;

  if (!o->given || status != CLARKE_OK)
    return status;
  to->given = true;
  to->kind = o->kind;
  to->tie = o->tie;
  mpq_set(to->value, o->value);
  return CLARKE_OK;
}
