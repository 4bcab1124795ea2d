/* What is printed of a network behind the account: the verdict, and what real arithmetic leaves out. */
#include "check/network_verdict.h"

#include <stdio.h>
#include <string.h>

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

static void
print_semantics(const network *net)
{
  bool rules = false;
  for (size_t i = 0; i < N_READINGS; i++)
    rules = rules || net->read[i];
  printf("Semantics: real arithmetic, every stored number taken exactly%s; what a GPU followed\n"
         "in floating point may differ.\n",
         rules ? ", but for the reading rules above" : "");
  if (net->replaced)
    printf("The network is the one with the surrogates above: of what it computes without them nothing is said.\n");
}

void
print_verdict(const network *net, const char *verdict)
{
  printf("Verdict: %s. At the stored weights, what reverse-mode automatic\n"
         "differentiation computes with these proxies is\n%s.\n",
         verdict, meaning_of(verdict));
  print_semantics(net);
}

void
print_zone(const network *net, bool compensation)
{
  printf("Zone: %s. At the stored weights, what reverse-mode automatic differentiation\n"
         "computes %s, where each touched\n"
         "kink may have any slope between those on its sides, and each tied window any mean of\n"
         "its tied entries.\n",
         compensation ? "compensation" : "bifurcation",
         compensation ? "is the same vector for all choices" : "depends on choices");
  print_semantics(net);
}
