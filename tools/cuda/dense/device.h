/* CUDA's words, as nvcc knows them or as loops. A kernel is written in phases, so that both are right:
 *
 *   KERNEL(halve, task)
 *   {
 *     SHARED(float, sum, 32);
 *     FOR_THREADS { sum[THREAD] = ...; }
 *     BARRIER
 *     FOR_THREADS { ... sum[THREAD + 16] ... }
 *   }
 *
 * A phase reads nothing that another thread writes in it. What a thread keeps from phase to phase is PER_THREAD, and MINE in it. */
#ifndef CLARKE_CUDA_DENSE_DEVICE_H
#define CLARKE_CUDA_DENSE_DEVICE_H

#include <string.h>

#define WARP 32

#ifdef __CUDACC__

#define KERNEL(name, type) static __global__ void name(const type task)
#define LAUNCH(name, blocks, threads, task) name<<<(unsigned)(blocks), (unsigned)(threads)>>>(task)
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
#define THREADS blockDim.x
#define FOR_THREADS
#define BARRIER __syncthreads();
#define SHARED(type, name, count) __shared__ type name[count]
#define PER_THREAD(type, name) type name
#define MINE(name) name
/* Each thread of the one warp adds what the thread `by` places above it has, if there is one. */
#define ADD_FROM_ABOVE(name, by)                                   \
  do {                                                             \
    float above = __shfl_down_sync(0xffffffffu, name, (unsigned)(by)); \
    name = name + above;                                           \
  } while (0)

#else

#define KERNEL(name, type) static void name(const type task, unsigned BLOCK, unsigned THREADS)
#define LAUNCH(name, blocks, threads, task)                  \
  do {                                                       \
    for (unsigned at = 0; at < (unsigned)(blocks); at++)     \
      name(task, at, (unsigned)(threads));                   \
  } while (0)
#define FOR_THREADS for (unsigned THREAD = 0; THREAD < THREADS; THREAD++)
#define BARRIER
#define SHARED(type, name, count) type name[count]
#define PER_THREAD(type, name) type name[WARP]
#define MINE(name) name[THREAD]
#define ADD_FROM_ABOVE(name, by)                                                    \
  do {                                                                              \
    float before[WARP];                                                             \
                                                                                    \
    memcpy(before, name, sizeof before);                                            \
    for (unsigned lane = 0; lane < WARP; lane++)                                    \
      name[lane] = before[lane] + before[lane + (by) < WARP ? lane + (by) : lane]; \
  } while (0)

#endif
#endif
