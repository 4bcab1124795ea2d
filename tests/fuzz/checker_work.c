#include "check/base/allocate.h"
#include "check/proof.h"
#include "check/show.h"
#include "check/files/tensor_files.h"

#include "checker.h"

#include <string.h>

/* In a block of their own length, so that a sanitizer sees any read past them. */
static bytes
copy_of(const checker_bytes *of)
{
  bytes b = {allocate(of->size, 1), of->size};

  if (of->size > 0)
    memcpy(b.data, of->data, of->size);
  return b;
}

static void
print_tensor(const tensor *t)
{
  printf("%s %s [", t->name, dtypes[t->type].name[1]);
  for (size_t k = 0; k < t->rank; k++)
    printf("%zu,", t->dims[k]);
  printf("]");
  for (size_t i = 0; i < t->count; i++) {
    printf(" ");
    mpq_out_str(stdout, 10, &t->value[i]);
  }
  printf("\n");
}

void
checker_tensors(const void *of)
{
  size_t n;
  const tensor *t = tensors_read(copy_of(of), &n, NULL);

  for (size_t i = 0; i < n; i++)
    print_tensor(&t[i]);
}

void
checker_batch(const void *of)
{
  const arrays given = batch_read(copy_of(of));

  for (size_t i = 0; i < given.n; i++)
    print_tensor(&given.array[i]);
}

void
checker_show(const void *of)
{
  const checker_pair *pair = of;

  clarke_show(pair->model, pair->batch);
}

void
checker_check(const void *of)
{
  const checker_proof *proof = of;

  session_set_bits(64); /* a thread's own: the run before may have left another number */
  clarke_check_proof(proof->proof, proof->folder);
}
