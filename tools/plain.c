#include "plain.h"

#include <stddef.h>
#include <string.h>

/* The last of n stands for every other name. */
static size_t
find(const clarke_plain *of, size_t n, const char *name)
{
  for (size_t i = 0; name != NULL && i + 1 < n; i++)
    if (strcmp(of[i].name, name) == 0)
      return i;
  return n - 1;
}

const clarke_plain *
clarke_plain_verdict(const char *name, clarke_verdict *verdict)
{
  static const clarke_plain words[] = {
      [CLARKE_IN_BOULIGAND] = {"in-bouligand", "AD's gradient is right here: as near as you like, true gradients are as near to it as you like",
                               CLARKE_TONE_GOOD},
      [CLARKE_IN_CLARKE] = {"in-clarke", "AD's gradient is a weighted mean of true gradients nearby, or as near to one as you like", CLARKE_TONE_NOTE},
      [CLARKE_NOT_IN_CLARKE] =
          {"not-in-clarke",
           "AD's gradient is wrong here: nearby no true gradient is near it, nor is a weighted mean of such",
           CLARKE_TONE_BAD},
      [CLARKE_UNDECIDED] = {"undecided", "Neither yes nor no was proved: AD's gradient may be right or wrong here",
                            CLARKE_TONE_OPEN},
  };
  const size_t i = find(words, sizeof words / sizeof *words, name);

  if (verdict != NULL)
    *verdict = (clarke_verdict)i;
  return &words[i];
}

const clarke_plain *
clarke_plain_gradient(const char *name)
{
  static const clarke_plain words[] = {
      {"explained", "The recorded gradient is AD's but for rounding", CLARKE_TONE_GOOD},
      {"turned", "Rounding took another side of a kink, and the recorded gradient is the one there", CLARKE_TONE_NOTE},
      {"refuted", "The recorded gradient is not the one of the recorded step", CLARKE_TONE_BAD},
      {"not known", "It is not known whether the recorded gradient is AD's but for rounding", CLARKE_TONE_OPEN},
  };

  return &words[find(words, sizeof words / sizeof *words, name)];
}

const clarke_plain *
clarke_plain_certainty(const char *name)
{
  static const clarke_plain words[] = {
      {"bit-exact", "All that was recorded is exact, bit for bit", CLARKE_TONE_GOOD},
      {"bit-exact (tree)", "All that was recorded is what sums in the recorded order give, bit for bit", CLARKE_TONE_GOOD},
      {"within the bound", "All that was recorded is what the step computes, but for rounding", CLARKE_TONE_GOOD},
      {"followed", "All that was recorded is what the step computes, but for rounding", CLARKE_TONE_GOOD},
      {"refuted", "Something that was recorded is not what the step computes", CLARKE_TONE_BAD},
      {"differs", "A recorded result is not what the GPU's rule gives", CLARKE_TONE_BAD},
      {"cannot say", "Of something that was recorded nothing can be said", CLARKE_TONE_OPEN},
  };

  return &words[find(words, sizeof words / sizeof *words, name)];
}
