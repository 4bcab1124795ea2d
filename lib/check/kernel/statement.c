/* What a verified proof of a network says. Two statements that differ in anything have different words: files by their
 * hashes, names as proofs write them. */
#include "check/kernel/statement.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

void
state_loss(const point *p)
{
  if (p->loss == LOSS_SUM)
    fputs("Loss: sum, of all entries of the output in all samples\n", account);
  if (p->loss == LOSS_MSE)
    fputs("Loss: mse, the mean over all entries of the output in all samples of (output - y)^2\n", account);
  if (p->loss == LOSS_CE) {
    fputs("Loss: ce, the mean over all samples ", account);
    if (p->net->own.ignored != NULL)
      fprintf(account, "whose y is not %ld ", mpz_get_si(mpq_numref(p->net->own.ignored->value)));
    fputs("of log(sum over classes c of exp(output[c])) - output[y]\n", account);
  }
  if (p->net->own.kind != LOSS_NONE)
    fputs("  as the model's own last nodes have it\n", account);
}

void
state_parameters(const network *net)
{
  fprintf(account, "Parameters: %zu numbers, in\n", net->n_wrt);
  for (size_t i = 0; i < net->n_tensors; i++) {
    if (!net->tensors[i]->wrt)
      continue;
    fputs("  ", account);
    state_name(net->tensors[i]->name);
    fputc(' ', account);
    state_shape(net->tensors[i]->dims, net->tensors[i]->rank);
    fputc('\n', account);
  }
}
