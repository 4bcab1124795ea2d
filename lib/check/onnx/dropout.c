/* Dropout in training mode: its input where the mask is 1, divided by the share that stays; 0 elsewhere. */
#include "check/onnx/dropout.h"
#include "check/onnx/reshape.h"

#include <string.h>

/* The batch's array of the node's output's name; or NULL. */
static const tensor *
find_mask(const builder *b)
{
  for (size_t i = 0; i < b->given->n; i++) {
    const char *name = b->given->array[i].name;
    if (strcmp(name, b->node->out[0]) == 0 && strcmp(name, "x") != 0 && strcmp(name, "y") != 0)
      return &b->given->array[i];
  }
  return NULL;
}

/* Zeros and ones in the shape of x, of all samples: each sample's after those before it. */
static void
check_mask(const builder *b, const value *x, const tensor *mask)
{
  size_t samples = b->net->batched ? b->net->batch : 1, rest = 1;
  bool fits = mask->rank == x->rank;
  need(x->constant == NULL && x->excluded == NULL, "a mask for what is no activation");
  need(b->net->batched ? is_batch(b, x) && x->at == 0 && x->inner == 0 : b->net->batch == 1,
       "a mask for what has not the samples on its first axis");
  for (size_t i = 0; i < x->rank && fits; i++) {
    bool first = b->net->batched && i == 0;
    fits = mask->dims[i] == (first ? samples : x->dims[i]);
    rest *= first ? 1 : mask->dims[i];
  }
  need(fits && mask->count == samples * rest && rest == x->count, "a mask has not the shape of the output");
  for (size_t i = 0; i < mask->count; i++)
    need(mpq_sgn(&mask->value[i]) == 0 || mpq_cmp_ui(&mask->value[i], 1, 1) == 0, "a mask is not of zeros and ones");
}

void
lower_dropout(builder *b)
{
  const tensor *mask = find_mask(b);
  const value x = b->in[0], *ratio = &b->in[1];
  long training[MAX_RANK] = {0};
  if (mask == NULL) {
    lower_identity(b);
    return;
  }
  need(b->in[2].name != NULL && whole_list(b, 2, "", training) == 1 && b->in[2].rank == 0 && training[0] != 0,
       "the batch has a mask for it, and it is not in training mode");
  check_mask(b, &x, mask);
  rational *share = rationals(1);
  mpq_set_ui(share, 1, 2);
  if (ratio->name != NULL) {
    need(ratio->constant != NULL && ratio->constant->real && ratio->rank == 0, "a ratio that is no constant scalar");
    mpq_set_ui(share, 1, 1);
    mpq_sub(share, share, &ratio->constant->value[ratio->map[0]]);
    ratio->constant->number = true;
  }
  need(mpq_sgn(share) > 0 && mpq_cmp_ui(share, 1, 1) < 0, "a mask, and a ratio that is not between 0 and 1");
  mpq_inv(share, share);
  step *s = add_step(b, INPUT, 0, x.rank, x.dims);
  s->given = mask;
  value drawn = b->out;
  put_products(b, &x, &drawn, x.rank, x.dims);
  value kept = b->out;
  s = add_function(b, LINEAR, &kept);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = share;
  b->net->n_masks++;
}
