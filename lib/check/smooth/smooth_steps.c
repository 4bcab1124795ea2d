/* What smooth steps do, in one table. */
#include "check/smooth/smooth_steps.h"
#include "check/kernel/factor.h"
#include "check/smooth/entropy.h"
#include "check/smooth/function.h"
#include "check/smooth/line.h"
#include "check/smooth/size.h"

const smooth_rules smooth_steps = {.inside = function_inside,
                                   .holds = function_holds,
                                   .value = function_value,
                                   .slope = function_slope,
                                   .rational_slope = function_rational_slope,
                                   .function_near = function_near,
                                   .line_values = line_values,
                                   .line_tangents = line_tangents,
                                   .line_row = line_row,
                                   .lines_back = lines_back,
                                   .line_near = line_near,
                                   .sign_by_size = sign_by_size,
                                   .cancels = cancels,
                                   .root_prepare = root_prepare,
                                   .inverse_root = inverse_root_at,
                                   .entropy_slopes = entropy_slopes,
                                   .entropy_origins = entropy_origins};
