/* Draws that are the same in every run: splitmix64 (Steele, Lea, Flood), from a seed that moves on with each. */
#ifndef CLARKE_TESTS_DRAW_H
#define CLARKE_TESTS_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t
draw(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* 0..n-1 */
static inline size_t
draw_below(uint64_t *state, size_t n)
{
  return (size_t)(draw(state) % n);
}

static inline int
draw_int(uint64_t *state, int n)
{
  return (int)draw_below(state, (size_t)n);
}

/* low..high */
static inline long
draw_between(uint64_t *state, long low, long high)
{
  return low + (long)draw_below(state, (size_t)(high - low + 1));
}

/* How many of n networks to draw. What is drawn is compared with a definition, and for that no sanitizer is needed: under them a
 * quarter, unless the environment has DRAW_ALL. */
static inline size_t
draw_count(size_t n)
{
#ifdef SANITIZED
  return getenv("DRAW_ALL") != NULL ? n : n / 4;
#else
  return n;
#endif
}

#endif
