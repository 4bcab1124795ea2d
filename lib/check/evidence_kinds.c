/* Each kind's word, and what it may prove. */
#include "check/evidence_kinds.h"
#include "check/kernel/balance.h"
#include "check/kernel/bound.h"
#include "check/kernel/hull.h"
#include "check/kernel/mix.h"
#include "check/kernel/simplex.h"
#include "check/kernel/zone.h"

static void
compensates(claim *q, bool bouligand)
{
  (void)bouligand;
  check_compensation(q->p);
}

const evidence_kind evidence_kinds[N_EVIDENCE] = {
    {"ad", true, false, false, check_ad},
    {"mix", false, true, false, check_mix},
    {"hull", true, true, false, check_hull},
    {"balance", true, true, false, check_balance},
    {"compensation", true, false, false, compensates},
    {"simplices", true, true, false, check_simplices},
    {"separator", false, false, true, check_separator},
    {"bound", false, false, true, check_bound},
};
