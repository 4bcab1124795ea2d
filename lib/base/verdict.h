/* What answers and evidence are called, of networks and of programs. */
#ifndef CLARKE_BASE_VERDICT_H
#define CLARKE_BASE_VERDICT_H

#include "clarke.h" /* clarke_verdict */

typedef enum { CLARKE_YES, CLARKE_NO, CLARKE_UNKNOWN } clarke_truth;

typedef enum {
  CLARKE_EVIDENCE_NONE, CLARKE_EVIDENCE_AD, CLARKE_EVIDENCE_MIX, CLARKE_EVIDENCE_HULL,
  CLARKE_EVIDENCE_SEPARATOR, CLARKE_EVIDENCE_BOUND, CLARKE_EVIDENCE_SIMPLICES, CLARKE_EVIDENCE_COMPENSATION,
  CLARKE_EVIDENCE_BALANCE,
  CLARKE_EVIDENCE_UNANIMOUS /* programs */,
} clarke_evidence;

/* thesis, Definition 7, of a point: every elementary function has one Clarke Jacobian at its argument; some have several, and
 * all choices among them lead backpropagation to one result; not to one. */
typedef enum { CLARKE_ZONE_REGULAR, CLARKE_ZONE_COMPENSATION, CLARKE_ZONE_BIFURCATION,
               CLARKE_ZONE_UNKNOWN } clarke_zone;
const char *clarke_zone_name(clarke_zone z);

#endif
