#include "base/verdict.h"

const char *
clarke_verdict_name(clarke_verdict v)
{
  static const char *const name[] = {"in-bouligand", "in-clarke", "not-in-clarke", "undecided"};

  return (size_t)v < sizeof name / sizeof *name ? name[v] : "unknown";
}

const char *
clarke_zone_name(clarke_zone z)
{
  static const char *const name[] = {"regular", "compensation", "bifurcation", "unknown"};

  return name[z];
}
