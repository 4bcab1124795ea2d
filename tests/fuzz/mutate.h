/* Mutations that know a format: a container is taken apart, loosely, one part or a few are changed, and it is sealed again
 * (lengths, checksums, directory), so that a reader gets past the container to what was changed. What does not come apart is
 * changed as bytes, and so is, now and then, what does. */
#ifndef CLARKE_TESTS_FUZZ_MUTATE_H
#define CLARKE_TESTS_FUZZ_MUTATE_H

#include "buffer.h"

/* libFuzzer's; of replay.c where there is no libFuzzer. The dictionary's words come in by the first. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* A target defines its mutator by one of those below. */
#define MUTATED_AS(mutate) \
  size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) \
  { \
    return mutated(data, size, most, seed, mutate); \
  }

typedef struct {
  uint64_t state;
} chance;

size_t below(chance *c, size_t n); /* 0 to n - 1; 0 of none */
bool one_in(chance *c, size_t n);

/* Changes b as libFuzzer changes bytes; it grows by no more than that. */
void mutate_bytes(buffer *b, size_t growth);

/* Each changes what it is given, in its format; false: it is not in it, and unchanged. */
bool mutate_message(buffer *b, chance *c);     /* ONNX */
bool mutate_archive(buffer *b, chance *c);     /* .npz, .pt */
bool mutate_array(buffer *b, chance *c);       /* .npy */
bool mutate_safetensors(buffer *b, chance *c); /* .safetensors */
bool mutate_text(buffer *b, chance *c);        /* lines of words */
bool mutate_numbers(buffer *b, chance *c);     /* any file of numbers */

size_t mutated(uint8_t *data, size_t size, size_t most, unsigned seed, bool (*mutate)(buffer *b, chance *c));

#endif
