#pragma once
// Handing errors up in programs: NNEX_TRY for a Status, NNEX_ASSIGN for the value of a Result.

#include "nnex/result.h"

#ifndef NNEX_TRY  // the engine's own, in programs that see its insides
#define NNEX_CONCAT_(a, b) a##b
#define NNEX_CONCAT(a, b) NNEX_CONCAT_(a, b)

/// NNEX_TRY(expression): returns the Error of a failed Status or Result from the enclosing function.
#define NNEX_TRY(...)                                                                               \
  do {                                                                                              \
    if (auto nnex_status = (__VA_ARGS__); !nnex_status.ok()) return std::move(nnex_status).error(); \
  } while (false)

/// NNEX_ASSIGN(Shape s, f()): declares or assigns the value of a Result, or returns its Error.
#define NNEX_ASSIGN(target, ...) NNEX_ASSIGN_(NNEX_CONCAT(nnex_result_, __COUNTER__), target, __VA_ARGS__)
#define NNEX_ASSIGN_(result, target, ...)             \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  target = std::move(result).value()
#endif
