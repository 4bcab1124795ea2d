/* Which rule which tensor cores follow. */
#ifndef CLARKE_TRACE_MMA_GPU_H
#define CLARKE_TRACE_MMA_GPU_H

typedef enum { CLARKE_VOLTA, CLARKE_AMPERE, CLARKE_ADA, CLARKE_HOPPER, CLARKE_BLACKWELL, CLARKE_NO_ARCHITECTURE } clarke_architecture;

/* The architecture of a GPU's name: "H100", "RTX4090", "NVIDIA GeForce RTX 4090". Case and what is no letter or digit do not count.
 * CLARKE_NO_ARCHITECTURE: not in the table. */
clarke_architecture clarke_architecture_of(const char *gpu);
const char *clarke_architecture_name(clarke_architecture a); /* "Hopper"; "unknown" */

#endif
