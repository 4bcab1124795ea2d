/* Profiles: named tables of proxies, D^AD at each kink of each operator (design: a bare name means
 * the newest version). A profile file has one proxy a line, `OPERATOR KINK VALUE`, VALUE being a
 * rational, `left` or `right`; `#` begins a comment; what it does not name is as in pytorch-2.13. */
#ifndef CLARKE_GRAPH_PROFILE_H
#define CLARKE_GRAPH_PROFILE_H

#include "graph/operator.h"

typedef enum { CLARKE_PROXY_VALUE, CLARKE_PROXY_LEFT, CLARKE_PROXY_RIGHT } clarke_proxy_kind;

typedef struct {
  clarke_proxy_kind kind;
  mpq_t value;
} clarke_proxy;

typedef struct {
  char *name;
  size_t n;            /* operators with kinks */
  const clarke_op **op;
  clarke_proxy (*proxy)[CLARKE_MAX_KINKS];
} clarke_profile;

void clarke_profile_init(clarke_profile *p);
void clarke_profile_clear(clarke_profile *p);

/* A known name, or else the path of a profile file (one that holds a '/' or '.'). An unknown name
 * is an error that lists the known ones. */
clarke_status clarke_profile_load(clarke_profile *p, const char *name, clarke_error *err);
/* The text of a profile file (a fuzz target). */
clarke_status clarke_profile_parse(clarke_profile *p, const char *text, size_t size,
                                   const char *file, clarke_error *err);

const clarke_proxy *clarke_profile_find(const clarke_profile *p, const clarke_op *op, size_t kink);

#endif
