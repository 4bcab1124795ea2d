/* Which architecture is a GPU of that name? Models that are not listed have none: a rule is not guessed. */
#include "trace/tensorcore/mma_gpu.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* A name ends in '*' where letters may follow: "RTX4060*" is RTX 4060 Ti too. (RTX 4000 is another matter, a Turing.) */
static const struct {
  const char *name;
  clarke_architecture architecture;
} gpus[] = {
  {"V100", CLARKE_VOLTA}, {"V100S", CLARKE_VOLTA},
  {"A100", CLARKE_AMPERE}, {"A800", CLARKE_AMPERE}, {"A2", CLARKE_AMPERE}, {"A10", CLARKE_AMPERE}, {"A10G", CLARKE_AMPERE},
  {"A16", CLARKE_AMPERE}, {"A30", CLARKE_AMPERE}, {"A40", CLARKE_AMPERE},
  {"RTX3050*", CLARKE_AMPERE}, {"RTX3060*", CLARKE_AMPERE}, {"RTX3070*", CLARKE_AMPERE}, {"RTX3080*", CLARKE_AMPERE},
  {"RTX3090*", CLARKE_AMPERE},
  {"Ada", CLARKE_ADA}, {"L4", CLARKE_ADA}, {"L40", CLARKE_ADA}, {"L40S", CLARKE_ADA}, {"RTX4050*", CLARKE_ADA},
  {"RTX4060*", CLARKE_ADA}, {"RTX4070*", CLARKE_ADA}, {"RTX4080*", CLARKE_ADA}, {"RTX4090*", CLARKE_ADA},
  {"RTX1000Ada", CLARKE_ADA}, {"RTX2000Ada", CLARKE_ADA}, {"RTX4000Ada", CLARKE_ADA}, {"RTX5000Ada", CLARKE_ADA},
  {"RTX6000Ada", CLARKE_ADA},
  {"H100", CLARKE_HOPPER}, {"H200", CLARKE_HOPPER}, {"H800", CLARKE_HOPPER}, {"H20", CLARKE_HOPPER}, {"GH200", CLARKE_HOPPER},
  {"B200", CLARKE_BLACKWELL}, {"B100", CLARKE_BLACKWELL}, {"GB200", CLARKE_BLACKWELL},
};

/* After the maker's names, whatever stands between. */
static const char *
past_maker(const char *gpu)
{
  static const char *const maker[] = {"NVIDIA", "GeForce", "Tesla"};

  for (size_t i = 0; i < 3; i++) {
    while (*gpu != '\0' && !isalnum((unsigned char)*gpu))
      gpu++;
    if (strncasecmp(gpu, maker[i], strlen(maker[i])) == 0)
      gpu += strlen(maker[i]);
  }
  return gpu;
}

/* The next letter or digit, as a capital; NUL at the end. */
static int
next_letter(const char **from)
{
  while (**from != '\0' && !isalnum((unsigned char)**from))
    ++*from;
  return **from == '\0' ? '\0' : toupper((unsigned char)*(*from)++);
}

/* Is this the name, or does it begin with it, and more follows after a hyphen or blank ("H100 80GB HBM3")? */
static bool
is_named(const char *gpu, const char *name)
{
  for (; *name != '\0' && *name != '*'; name++)
    if (next_letter(&gpu) != toupper((unsigned char)*name))
      return false;
  return *name == '*' ? !isdigit((unsigned char)*gpu) : !isalnum((unsigned char)*gpu);
}

clarke_architecture
clarke_architecture_of(const char *gpu)
{
  const char *model = past_maker(gpu);

  for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
    if (is_named(model, gpus[i].name))
      return gpus[i].architecture;
  return CLARKE_NO_ARCHITECTURE;
}

const char *
clarke_architecture_name(clarke_architecture a)
{
  static const char *const name[] = {"Volta", "Ampere", "Ada", "Hopper", "Blackwell", "unknown"};

  return name[a];
}
