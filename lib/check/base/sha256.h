/* SHA-256. */
#ifndef CLARKE_KERNEL_SHA256_H
#define CLARKE_KERNEL_SHA256_H

#include "check/base/bytes.h"

void sha256(bytes b, char hex[65]); /* FIPS 180-4 */

#endif
