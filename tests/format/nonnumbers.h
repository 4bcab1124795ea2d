/* Infinities and NaNs of each type of floats, as they are stored. */
#ifndef CLARKE_TESTS_FORMAT_NONNUMBERS_H
#define CLARKE_TESTS_FORMAT_NONNUMBERS_H

#include <stdint.h>

static const struct {
  const char *npy, *safetensors;
  unsigned onnx, field; /* TensorProto's data_type, and its field for numbers of that type */
  unsigned width;
  uint64_t bits[4]; /* two infinities, two NaNs */
} nonnumbers[] = {
  { "<f2", "F16", 10, 5, 2, { 0x7c00, 0xfc00, 0x7c01, 0xfe00 } },
  { "<f4", "F32", 1, 4, 4, { 0x7f800000, 0xff800000, 0x7f800001, 0xffc00000 } },
  { "<f8", "F64", 11, 10, 8,
    { 0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001, 0xfff8000000000000 } },
  { "", "BF16", 16, 5, 2, { 0x7f80, 0xff80, 0x7f81, 0xffc0 } },
};
#define N_NONNUMBERS (int)(sizeof nonnumbers / sizeof nonnumbers[0])

#endif
