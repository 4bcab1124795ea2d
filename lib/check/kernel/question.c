/* What a proof asks about a network: loss, parameters, proxies (docs/proof-format.md). */
#include "check/kernel/question.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/statement.h"

#include <string.h>

static bool
port_fits(const port *declared, const tensor *t)
{
  bool fits = !declared->shaped || declared->rank == t->rank;
  for (size_t i = 0; i < t->rank && fits && declared->shaped; i++)
    fits = declared->dims[i] == 0 || declared->dims[i] == t->dims[i];
  return fits;
}

void
read_loss(point *p)
{
  const network *net = p->net;
  const tensor *y = p->target;
  const size_t *dims = net->dims + net->batched, rank = net->rank - net->batched;
  next_line("loss");
  const char *word = next_word();
  p->loss = strcmp(word, "mse") == 0 ? LOSS_MSE : strcmp(word, "ce") == 0 ? LOSS_CE : LOSS_SUM;
  require(p->loss != LOSS_SUM || strcmp(word, "sum") == 0, "unknown loss '%s'", word);
  require(net->own.kind == LOSS_NONE || net->own.kind == p->loss, "the model's own loss is another");
  state_loss(p);
  if (p->loss == LOSS_SUM)
    return;
  require(y != NULL && y->rank > 0 && y->dims[0] == net->batch, "there is no y for each sample");
  require(net->own.y == NULL || port_fits(net->own.y, y), "y does not have the shape that the model declares");
  bool same = y->rank == rank + 1 && memcmp(y->dims + 1, dims, rank * sizeof *dims) == 0;
  require(p->loss == LOSS_CE || same, "y does not have the output's shape");
  require(p->loss == LOSS_MSE || (rank == 1 && y->rank == 1 && !y->real),
          "cross entropy is of outputs (batch, classes) and an integer label for each sample");
  for (size_t b = 0; b < net->batch && p->loss == LOSS_CE; b++)
    require(loss_ignores(p, b) || (mpq_sgn(&y->value[b]) >= 0 && mpq_cmp_ui(&y->value[b], dims[0], 1) < 0),
            "label %zu is no class", b);
  require(loss_counted(p) > 0, "every label is ignored: the loss has no value");
}

/* Puts a parameter after those in wrt already. */
static void
add_parameter(network *net, tensor *t)
{
  require(!t->wrt, "parameter '%s' is named twice", t->name);
  t->wrt = true;
  t->move = net->move + net->n_wrt;
  t->gradient = net->gradient + net->n_wrt;
  net->n_wrt += t->count;
}

void
read_wrt_names(network *net)
{
  size_t most = 0;
  for (size_t i = 0; i < net->n_tensors; i++)
    most += net->tensors[i]->count;
  net->move = allocate(most, sizeof *net->move); /* numbers once they are needed: most proofs need none */
  net->gradient = allocate(most, sizeof *net->gradient);
  bool all = word_is("*");
  for (size_t i = 0; all && i < net->n_tensors; i++)
    if (net->tensors[i]->weight)
      add_parameter(net, net->tensors[i]);
  if (all)
    next_word();
  while (!all && more_words())
    add_parameter(net, next_parameter(net));
  require(net->n_wrt > 0, "no parameter is named, or the model has none");
  state_parameters(net);
}

void
read_wrt(network *net)
{
  next_line("wrt");
  read_wrt_names(net);
}

void
read_touched(const point *p)
{
  next_line("touched");
  require(next_number() == p->n_touched, "the number of touched kinks is %zu", p->n_touched);
  fprintf(account, "Touched kinks: %zu\n", p->n_touched);
}

proxy_side
read_proxy(const char *op, size_t kink, rational *value)
{
  next_line("proxy");
  require(strcmp(next_word(), op) == 0 && next_number() == kink, "the proxy of kink %zu of %s is expected", kink, op);
  const char *word = next_word();
  fprintf(account, "  %s, kink %zu: %s\n", op, kink, word);
  if (strcmp(word, "left") == 0)
    return PROXY_LEFT;
  if (strcmp(word, "right") == 0)
    return PROXY_RIGHT;
  unread_word(word);
  next_rational(value);
  return PROXY_VALUE;
}
