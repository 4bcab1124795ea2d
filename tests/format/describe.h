/* What a reader made of a file, as text: the form that make_fixtures.py writes. */
#ifndef CLARKE_TESTS_FORMAT_DESCRIBE_H
#define CLARKE_TESTS_FORMAT_DESCRIBE_H

#include "format/tensors.h"
#include "op/model.h"

#include <stdio.h>

void describe_tensor(FILE *out, const clarke_tensor *t);
void describe_tensors(FILE *out, const clarke_tensors *ts);
void describe_model(FILE *out, const clarke_model *m);

#endif
