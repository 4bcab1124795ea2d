/* SHA-256. */
#ifndef CLARKE_KERNEL_SHA256_H
#define CLARKE_KERNEL_SHA256_H

#include "check/base/bytes.h"

void sha256(bytes b, char hex[65]); /* FIPS 180-4 */

/* Its parts: what it begins with; n blocks of 64 bytes taken in, as C has it, and as the processor does where it has instructions. */
void sha256_constants(uint32_t h[8], uint32_t k[64]);
void sha256_blocks(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n);
bool sha256_has_instructions(void);
void sha256_by_instructions(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n);

#endif
