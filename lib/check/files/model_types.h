/* The types of a model's values. */
#ifndef CLARKE_FILES_MODEL_TYPES_H
#define CLARKE_FILES_MODEL_TYPES_H

#include "check/files/onnx.h"

void model_check_types(model *m); /* do they fit the operators and what is declared? */

#endif
