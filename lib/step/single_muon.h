/* PyTorch's program of Muon, whose products of matrices are made in bfloat16: sums are made in float32, in any order, and rounded. So a number lies
 * between two others, which are mostly one. */
#ifndef CLARKE_STEP_SINGLE_MUON_H
#define CLARKE_STEP_SINGLE_MUON_H

#include "step/judge.h"

/* The ways that are asked about bit for bit: sums are rounded once, and all numbers are points. lerp is fused or not; addmm rounds to bfloat16 once, at
 * the end (the first two), or in between, too, as other processors may. The last way has spans: of sums in any order, and one rounding of addmm, which is
 * what PyTorch does on a CPU. */
#define CLARKE_MUON_NEAREST 12
#define CLARKE_MUON_WAYS (CLARKE_MUON_NEAREST + 1)
/* And spans of all that products of matrices in bfloat16 may give: sums in bfloat16, too; factors and results rounded wherever a library may round
 * them. What lies outside no library makes. */
#define CLARKE_MUON_COARSE CLARKE_MUON_WAYS

typedef struct {
  double lo, hi;
} clarke_span;

/* Is x.lerp(y, w) that number, with a fused multiplication or not? */
bool clarke_muon_is_lerp(clarke_dtype dtype, double x, double y, double w, double number);

/* Where theta's entries are after the step, given m after it; way: below CLARKE_MUON_WAYS, or CLARKE_MUON_COARSE. point: where what theta moved by is one number, and the span is of its roundings. False:
 * there is too much to do, or a span has no end. */
bool clarke_muon_spans(clarke_span *theta, bool *point, const clarke_step_question *q, const clarke_step_tensor *t, unsigned way);

#endif
