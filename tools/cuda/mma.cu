/* Records what single tensor-core instructions compute.
 *
 *   mma --out DIR [--count N] [--seed S] [--only SET]
 *
 * For each instruction that this GPU has, N dot products (products.h) go to DIR/SET/FORMAT, in files as `clarke certify --mma`
 * reads them, and DIR/README.txt says on which device. Names of files are made of the device's own name: a record cannot be
 * labelled as something that it is not. */
#include "pack.h"
#include "record.h"
#include "request.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- instructions --------------------------------------------------------------------------- */

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 890
#define HAS_FP8 1
#endif
#if !defined __CUDA_ARCH__ || defined __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_WGMMA 1
#endif

#define MMA_BEGIN(name)                                                                                           \
  static __global__ void name(uint32_t *d, const void *input, size_t tiles)                                      \
  {                                                                                                               \
    size_t tile = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;                                          \
    unsigned lane = threadIdx.x % 32;                                                                             \
    if (tile >= tiles)                                                                                            \
      return;                                                                                                     \
    const mma_input *in = (const mma_input *)input + tile;                                                        \
    const uint32_t *a = in->a + 4 * lane, *b = in->b + 2 * lane, *c = in->c + 4 * lane;                           \
    uint32_t r[4] = {0, 0, 0, 0};

#define MMA_END                                                                                                   \
    for (int i = 0; i < 4; i++)                                                                                   \
      d[tile * 128 + 4 * lane + i] = r[i];                                                                        \
  }

/* The instructions of one or two registers of B, and a float32 or float16 result. */
#define MMA_1_FP32(name, ptx)                                                                                     \
  MMA_BEGIN(name)                                                                                                 \
    asm volatile(ptx " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"                                             \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));                  \
  MMA_END
#define MMA_2_FP32(name, ptx)                                                                                     \
  MMA_BEGIN(name)                                                                                                 \
    asm volatile(ptx " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                                 \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),        \
                   "r"(c[2]), "r"(c[3]));                                                                         \
  MMA_END
#define MMA_1_FP16(name, ptx)                                                                                     \
  MMA_BEGIN(name)                                                                                                 \
    asm volatile(ptx " {%0,%1}, {%2,%3}, {%4}, {%5,%6};"                                                          \
                 : "=r"(r[0]), "=r"(r[1])                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]));                                        \
  MMA_END
#define MMA_2_FP16(name, ptx)                                                                                     \
  MMA_BEGIN(name)                                                                                                 \
    asm volatile(ptx " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"                                                 \
                 : "=r"(r[0]), "=r"(r[1])                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]));       \
  MMA_END
/* Code for a GPU without the instruction: no result may come of it. */
#define EMPTY(name)                                                                                               \
  static __global__ void name(uint32_t *d, const void *input, size_t tiles)                                      \
  {                                                                                                               \
    (void)d, (void)input, (void)tiles;                                                                            \
    __trap();                                                                                                     \
  }
#define MMA_EMPTY(name, ptx) EMPTY(name)

#define F16_K8_FP32 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
#define F16_K8_FP16 "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"
#define F16_K16_FP32 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define F16_K16_FP16 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
#define BF16_K8_FP32 "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"
#define BF16_K16_FP32 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define TF32_K4_FP32 "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"
#define TF32_K8_FP32 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#define E4M3_K16_FP32 "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32"
#define E4M3_K16_FP16 "mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e4m3.f16"
#define E5M2_K16_FP32 "mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e5m2.f32"
#define E5M2_K16_FP16 "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16"
#define E4M3_K32_FP32 "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define E4M3_K32_FP16 "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16"
#define E5M2_K32_FP32 "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"
#define E5M2_K32_FP16 "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16"

MMA_1_FP32(f16_k8_fp32, F16_K8_FP32)
MMA_1_FP16(f16_k8_fp16, F16_K8_FP16)
MMA_2_FP32(f16_k16_fp32, F16_K16_FP32)
MMA_2_FP16(f16_k16_fp16, F16_K16_FP16)
MMA_1_FP32(bf16_k8_fp32, BF16_K8_FP32)
MMA_2_FP32(bf16_k16_fp32, BF16_K16_FP32)
MMA_1_FP32(tf32_k4_fp32, TF32_K4_FP32)
MMA_2_FP32(tf32_k8_fp32, TF32_K8_FP32)
#ifdef HAS_FP8
MMA_1_FP32(e4m3_k16_fp32, E4M3_K16_FP32)
MMA_1_FP16(e4m3_k16_fp16, E4M3_K16_FP16)
MMA_1_FP32(e5m2_k16_fp32, E5M2_K16_FP32)
MMA_1_FP16(e5m2_k16_fp16, E5M2_K16_FP16)
MMA_2_FP32(e4m3_k32_fp32, E4M3_K32_FP32)
MMA_2_FP16(e4m3_k32_fp16, E4M3_K32_FP16)
MMA_2_FP32(e5m2_k32_fp32, E5M2_K32_FP32)
MMA_2_FP16(e5m2_k32_fp16, E5M2_K32_FP16)
#else
MMA_EMPTY(e4m3_k16_fp32, "")
MMA_EMPTY(e4m3_k16_fp16, "")
MMA_EMPTY(e5m2_k16_fp32, "")
MMA_EMPTY(e5m2_k16_fp16, "")
MMA_EMPTY(e4m3_k32_fp32, "")
MMA_EMPTY(e4m3_k32_fp16, "")
MMA_EMPTY(e5m2_k32_fp32, "")
MMA_EMPTY(e5m2_k32_fp16, "")
#endif

#ifdef HAS_WGMMA
/* A matrix in shared memory: core matrices of 128 bytes, the next eight columns' at 128 bytes, the next eight rows' at 256. */
static __device__ uint64_t
descriptor(const void *shared)
{
  uint64_t at = __cvta_generic_to_shared(shared);

  return (at & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}
#endif

#define WGMMA_BEGIN(name)                                                                                         \
  static __global__ void name(uint32_t *d, const void *input, size_t tiles)                                      \
  {                                                                                                               \
    __shared__ __align__(1024) uint32_t a[64 * 8];                                                                \
    __shared__ __align__(1024) uint32_t b[8 * 8];                                                                 \
    size_t tile = blockIdx.x;                                                                                     \
    unsigned thread = threadIdx.x;                                                                                \
    const wgmma_input *in = (const wgmma_input *)input + tile;                                                    \
    uint32_t r[4];                                                                                                \
    if (tile >= tiles)                                                                                            \
      return;                                                                                                     \
    for (unsigned i = thread; i < 64 * 8; i += 128)                                                               \
      a[i] = in->a[i];                                                                                            \
    for (unsigned i = thread; i < 8 * 8; i += 128)                                                                \
      b[i] = in->b[i];                                                                                            \
    for (unsigned i = 0; i < 4; i++)                                                                              \
      r[i] = thread < 32 ? in->c[4 * thread + i] : 0;                                                             \
    uint64_t da = descriptor(a), db = descriptor(b);                                                              \
    (void)da, (void)db;

#define WGMMA_ORDER                                                                                               \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                  \
    __syncthreads();                                                                                              \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");

#define WGMMA_END                                                                                                 \
    for (unsigned i = 0; i < 4 && thread < 32; i++)                                                               \
      d[tile * 128 + 4 * thread + i] = r[i];                                                                      \
  }

#define WGMMA_WAIT                                                                                                \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

#define WGMMA_FP32(name, ptx, more)                                                                               \
  WGMMA_BEGIN(name)                                                                                               \
    WGMMA_ORDER                                                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n" ptx " {%0,%1,%2,%3}, %4, %5, p, 1, 1" more ";\n}"    \
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])                                                 \
                 : "l"(da), "l"(db), "r"(1));                                                                     \
    WGMMA_WAIT                                                                                                    \
  WGMMA_END
#define WGMMA_FP16(name, ptx, more)                                                                               \
  WGMMA_BEGIN(name)                                                                                               \
    WGMMA_ORDER                                                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n" ptx " {%0,%1}, %2, %3, p, 1, 1" more ";\n}"          \
                 : "+r"(r[0]), "+r"(r[1])                                                                         \
                 : "l"(da), "l"(db), "r"(1));                                                                     \
    WGMMA_WAIT                                                                                                    \
  WGMMA_END
#define WGMMA_EMPTY(name, ptx, more) EMPTY(name)

#define F16_W_FP32 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
#define F16_W_FP16 "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"
#define BF16_W_FP32 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"
#define TF32_W_FP32 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32"
#define E4M3_W_FP32 "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
#define E4M3_W_FP16 "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3"
#define E5M2_W_FP32 "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2"
#define E5M2_W_FP16 "wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e5m2"

#ifdef HAS_WGMMA
#define WGMMA_32 WGMMA_FP32
#define WGMMA_16 WGMMA_FP16
#else
#define WGMMA_32 WGMMA_EMPTY
#define WGMMA_16 WGMMA_EMPTY
#endif
WGMMA_32(f16_w_fp32, F16_W_FP32, ", 0, 0")
WGMMA_16(f16_w_fp16, F16_W_FP16, ", 0, 0")
WGMMA_32(bf16_w_fp32, BF16_W_FP32, ", 0, 0")
WGMMA_32(tf32_w_fp32, TF32_W_FP32, "")
WGMMA_32(e4m3_w_fp32, E4M3_W_FP32, "")
WGMMA_16(e4m3_w_fp16, E4M3_W_FP16, "")
WGMMA_32(e5m2_w_fp32, E5M2_W_FP32, "")
WGMMA_16(e5m2_w_fp16, E5M2_W_FP16, "")

typedef void (*kernel)(uint32_t *d, const void *input, size_t tiles);

static const struct set {
  const char *name, *format;
  int k, wgmma, capability; /* the least, ten times; wgmma: that alone */
  kernel fp32;
  const char *ptx32;
  kernel fp16;
  const char *ptx16;
} sets[] = {
  {"mma-k8", "fp16", 8, 0, 80, f16_k8_fp32, F16_K8_FP32, f16_k8_fp16, F16_K8_FP16},
  {"mma-k16", "fp16", 16, 0, 80, f16_k16_fp32, F16_K16_FP32, f16_k16_fp16, F16_K16_FP16},
  {"mma-k8", "bf16", 8, 0, 80, bf16_k8_fp32, BF16_K8_FP32, NULL, NULL},
  {"mma-k16", "bf16", 16, 0, 80, bf16_k16_fp32, BF16_K16_FP32, NULL, NULL},
  {"mma-k4", "tf32", 4, 0, 80, tf32_k4_fp32, TF32_K4_FP32, NULL, NULL},
  {"mma-k8", "tf32", 8, 0, 80, tf32_k8_fp32, TF32_K8_FP32, NULL, NULL},
  {"mma-k16", "E4M3", 16, 0, 89, e4m3_k16_fp32, E4M3_K16_FP32, e4m3_k16_fp16, E4M3_K16_FP16},
  {"mma-k32", "E4M3", 32, 0, 89, e4m3_k32_fp32, E4M3_K32_FP32, e4m3_k32_fp16, E4M3_K32_FP16},
  {"mma-k16", "E5M2", 16, 0, 89, e5m2_k16_fp32, E5M2_K16_FP32, e5m2_k16_fp16, E5M2_K16_FP16},
  {"mma-k32", "E5M2", 32, 0, 89, e5m2_k32_fp32, E5M2_K32_FP32, e5m2_k32_fp16, E5M2_K32_FP16},
  {"wgmma-k16", "fp16", 16, 1, 90, f16_w_fp32, F16_W_FP32, f16_w_fp16, F16_W_FP16},
  {"wgmma-k16", "bf16", 16, 1, 90, bf16_w_fp32, BF16_W_FP32, NULL, NULL},
  {"wgmma-k8", "tf32", 8, 1, 90, tf32_w_fp32, TF32_W_FP32, NULL, NULL},
  {"wgmma-k32", "E4M3", 32, 1, 90, e4m3_w_fp32, E4M3_W_FP32, e4m3_w_fp16, E4M3_W_FP16},
  {"wgmma-k32", "E5M2", 32, 1, 90, e5m2_w_fp32, E5M2_W_FP32, e5m2_w_fp16, E5M2_W_FP16},
};
#define N_SETS (sizeof sets / sizeof sets[0])

/* --- running -------------------------------------------------------------------------------- */

static void
must(cudaError_t e, const char *what)
{
  if (e == cudaSuccess)
    return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  exit(2);
}

static void *
room(size_t n, size_t size)
{
  void *p = calloc(n, size);

  if (p != NULL)
    return p;
  fputs("out of memory\n", stderr);
  exit(2);
}

/* Runs a kernel on the packed tiles; registers of D come back. */
static void
run(kernel k, const struct set *s, const void *input, size_t bytes, size_t tiles, uint32_t *registers)
{
  void *in;
  uint32_t *out;

  must(cudaMalloc(&in, bytes), "memory of the GPU");
  must(cudaMalloc((void **)&out, tiles * 128 * sizeof *out), "memory of the GPU");
  must(cudaMemcpy(in, input, bytes, cudaMemcpyHostToDevice), "copying");
  must(cudaMemset(out, 0xff, tiles * 128 * sizeof *out), "memory of the GPU");
  if (s->wgmma)
    k<<<(unsigned)tiles, 128>>>(out, in, tiles);
  else
    k<<<(unsigned)((tiles + 3) / 4), 128>>>(out, in, tiles);
  must(cudaGetLastError(), s->ptx32);
  must(cudaDeviceSynchronize(), s->ptx32);
  must(cudaMemcpy(registers, out, tiles * 128 * sizeof *out, cudaMemcpyDeviceToHost), "copying");
  must(cudaFree(in), "memory of the GPU");
  must(cudaFree(out), "memory of the GPU");
}

static void
compute(uint32_t *d, const struct set *s, const product *p, size_t tiles, int half)
{
  const number_format *f = number_format_named(s->format);
  size_t size = s->wgmma ? sizeof(wgmma_input) : sizeof(mma_input);
  char *input = (char *)room(tiles, size);
  uint32_t *registers = (uint32_t *)room(tiles * 128, sizeof *registers);

  for (size_t t = 0; t < tiles; t++)
    if (s->wgmma)
      wgmma_pack((wgmma_input *)(input + t * size), p + t * PACK_PRODUCTS, f, half);
    else
      mma_pack((mma_input *)(input + t * size), p + t * PACK_PRODUCTS, f, s->k, half);
  run(half ? s->fp16 : s->fp32, s, input, tiles * size, tiles, registers);
  for (size_t t = 0; t < tiles; t++)
    pack_results(d + t * PACK_PRODUCTS, registers + t * 128, half);
  free(input);
  free(registers);
}

static void
record(const struct set *s, const char *out, const char *gpu, const char *comment, size_t n, uint64_t seed)
{
  const number_format *f = number_format_named(s->format);
  size_t tiles = (n + PACK_PRODUCTS - 1) / PACK_PRODUCTS;
  product *p = (product *)room(tiles * PACK_PRODUCTS, sizeof *p);
  uint32_t *d32 = (uint32_t *)room(tiles * PACK_PRODUCTS, sizeof *d32);
  uint32_t *d16 = (uint32_t *)room(tiles * PACK_PRODUCTS, sizeof *d16);
  record_results fp32 = {s->ptx32, d32}, fp16 = {s->ptx16, d16};
  char folder[4096];

  for (size_t i = 0; i < n; i++)
    product_make(&p[i], f, s->k, seed, i);
  compute(d32, s, p, tiles, 0);
  if (s->fp16 != NULL)
    compute(d16, s, p, tiles, 1);
  snprintf(folder, sizeof folder, "%s/%s/%s", out, s->name, s->format);
  if (record_write(folder, gpu, f, s->k, n, p, &fp32, &fp16, comment) != 0)
    exit(2);
  printf("%s: %zu products\n", folder, n);
  free(p);
  free(d32);
  free(d16);
}

static void
describe(char *comment, size_t size, const struct cudaDeviceProp *device, size_t n, uint64_t seed)
{
  int driver = 0;

  must(cudaDriverGetVersion(&driver), "the driver's version");
  snprintf(comment, size,
           "recorded on %s (compute capability %d.%d, CUDA %d.%d by the driver), compiled by nvcc %d.%d.%d, "
           "%zu products of seed %llu",
           device->name, device->major, device->minor, driver / 1000, driver % 1000 / 10, __CUDACC_VER_MAJOR__,
           __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, n, (unsigned long long)seed);
}

/* Does the GPU have the instructions? */
static int
has(const struct cudaDeviceProp *device, const struct set *s)
{
  const int capability = 10 * device->major + device->minor;

  return s->wgmma ? capability == s->capability : capability >= s->capability;
}

int
main(int argc, char **argv)
{
  const char *names[N_SETS];
  mma_request r;
  struct cudaDeviceProp device;
  char gpu[RECORD_NAME], comment[512];
  size_t recorded = 0;

  for (size_t i = 0; i < N_SETS; i++)
    names[i] = sets[i].name;
  if (mma_request_read(&r, argc, argv, names, N_SETS) != 0)
    return 2;
  must(cudaGetDeviceProperties(&device, 0), "no GPU");
  record_gpu_name(gpu, device.name);
  describe(comment, sizeof comment, &device, r.n, r.seed);
  puts(comment);
  for (size_t i = 0; i < N_SETS; i++)
    if (has(&device, &sets[i]) && (r.only == NULL || strcmp(r.only, sets[i].name) == 0)) {
      record(&sets[i], r.out, gpu, comment, r.n, r.seed);
      recorded++;
    }
  if (recorded > 0)
    return 0;
  fprintf(stderr, "mma: %s has no instruction of %s: nothing was recorded\n", device.name, r.only != NULL ? r.only : "these sets");
  return 2;
}
