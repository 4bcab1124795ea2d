/* Files of other programs, told by how they begin: for messages alone. Nothing is decided by it. */
#ifndef CLARKE_FORMAT_FOREIGN_H
#define CLARKE_FORMAT_FOREIGN_H

#include <stddef.h>

/* What a file that is no ONNX model seems to be, and how to ask about it; NULL: it is not known. A string of the program's. */
const char *clarke_foreign_model(const void *data, size_t size);

/* The same of one that holds no weights as they are read. */
const char *clarke_foreign_weights(const void *data, size_t size);

#endif
