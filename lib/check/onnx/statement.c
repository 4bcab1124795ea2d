/* What a verified proof of a network says. Two statements that differ in anything have different words: files by their
 * hashes, names as proofs write them. */
#include "check/onnx/statement.h"
#include "check/base/lines.h"
#include "check/onnx/network.h"

#include <stdlib.h>
#include <string.h>

/* In the one way proofs write it: no two names alike, and nothing but ASCII. */
void
state_name(const char *name)
{
  if (*name == '\0')
    fputs("(no name)", account); /* brackets stand for nothing else */
  for (; *name != '\0'; name++)
    fprintf(account, strchr(safe, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
}

void
state_profile(char *name)
{
  fputs("Proxies (profile ", account);
  state_name(name);
  fputs("):\n", account);
  free(name);
}

/* (2, 3); an axis of 0 is one that is not declared. */
static void
put_shape(const size_t *dims, size_t rank)
{
  fputc('(', account);
  for (size_t i = 0; i < rank; i++)
    if (dims[i] == 0)
      fprintf(account, "%s?", i > 0 ? ", " : "");
    else
      fprintf(account, "%s%zu", i > 0 ? ", " : "", dims[i]);
  fputc(')', account);
}

/* How a batch is read that is not of the input's declared shape. */
static void
state_samples(const network *net, const tensor *x)
{
  const port *in = net->input;
  if (!net->batched)
    fputs("  no batch axis: each sample is a run of the model of its own\n", account);
  else if (net->together < net->batch)
    fputs("  one sample declared: each sample is a run of the model of its own\n", account);
  if (net->batched && x->rank < in->rank) {
    fputs("  each sample's entries, in row-major order, are read as ", account);
    put_shape(in->dims + 1, in->rank - 1);
    fputc('\n', account);
  }
}

/* What the batch has of further inputs. */
static void
state_given(const network *net, const model *m, const arrays *given)
{
  for (size_t i = 0; i < m->n_inputs && net->n_given > 0; i++) {
    const tensor *t = array_named(given, m->inputs[i].name);
    if (&m->inputs[i] == net->input || t == NULL)
      continue;
    fputs("  constant input ", account);
    state_name(t->name);
    fputs(": the batch's array of that name, ", account);
    put_shape(t->dims, t->rank);
    fputc('\n', account);
  }
}

/* What it has of masks. */
static void
state_masks(const network *net)
{
  for (size_t s = 0; s < net->n_steps && net->n_masks > 0; s++) {
    const tensor *t = net->steps[s].given;
    if (t == NULL)
      continue;
    fputs("  mask of the Dropout that computes ", account);
    state_name(t->name);
    fputs(": the batch's array of that name, ", account);
    put_shape(t->dims, t->rank);
    fputc('\n', account);
  }
}

void
state_network(const network *net, const model *m, const arrays *given)
{
  const tensor *x = given->x;
  fprintf(account, "Operators: ONNX, version %ju\nInput: ", (uintmax_t)m->opset);
  state_name(net->input->name);
  fputs(", declared ", account);
  put_shape(net->input->dims, net->input->rank);
  fprintf(account, "; %zu sample%s of ", net->batch, net->batch == 1 ? "" : "s");
  put_shape(x->dims + 1, x->rank - 1);
  fputc('\n', account);
  state_samples(net, x);
  state_given(net, m, given);
  state_masks(net);
  fputs("Output: ", account);
  state_name(net->own.of);
  fputs(", of each sample ", account);
  put_shape(net->dims + net->batched, net->rank - net->batched);
  fputc('\n', account);
  for (size_t i = 0; i < N_READINGS; i++)
    if (net->read[i])
      fprintf(account, "Reading rule: %s\n", readings[i]);
}

void
state_loss(const point *p)
{
  if (p->loss == LOSS_SUM)
    fputs("Loss: sum, of all entries of the output in all samples\n", account);
  if (p->loss == LOSS_MSE)
    fputs("Loss: mse, the mean over all entries of the output in all samples of (output - y)^2\n", account);
  if (p->loss == LOSS_CE)
    fputs("Loss: ce, the mean over all samples of log(sum over classes c of exp(output[c])) - output[y]\n", account);
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
    put_shape(net->tensors[i]->dims, net->tensors[i]->rank);
    fputc('\n', account);
  }
}

static const char *const meanings[][2] = {
    {"in-bouligand", "an element of the Bouligand subdifferential: a limit of true gradients, taken\n"
                     "at points near the weights where the loss is differentiable"},
    {"in-clarke", "an element of the Clarke subdifferential: a convex combination of limits of true\n"
                  "gradients, taken at points near the weights where the loss is differentiable"},
    {"not-in-clarke", "NOT an element of the Clarke subdifferential: neither a limit of true\n"
                      "gradients, taken near the weights, nor a convex combination of such limits"}};

static const char *
meaning_of(const char *verdict)
{
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (strcmp(meanings[i][0], verdict) == 0)
      return meanings[i][1];
  return NULL;
}

bool
verdict_known(const char *verdict)
{
  return meaning_of(verdict) != NULL;
}

void
print_verdict(const network *net, const char *verdict)
{
  bool rules = false;
  for (size_t i = 0; i < N_READINGS; i++)
    rules = rules || net->read[i];
  printf("Verdict: %s. At the stored weights, what reverse-mode automatic\n"
         "differentiation computes with these proxies is\n%s.\n"
         "Semantics: real arithmetic, every stored number taken exactly%s; what a GPU followed\n"
         "in floating point may differ.\n",
         verdict, meaning_of(verdict), rules ? ", but for the reading rules above" : "");
}
