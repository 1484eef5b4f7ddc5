#pragma once
// Handing errors up: NNEX_TRY for a Status (or a Result whose value nobody wants), NNEX_ASSIGN for a value.

#include "nnex/result.h"

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

namespace nnex {
/// Ends the program: a mistake in nnex itself, never bad input.
[[noreturn]] void broken(const char* condition, const char* file, int line);
}  // namespace nnex

/// For mistakes in this code; active in every build, so it may stand only where it costs nothing.
#define NNEX_ASSERT(...)                                \
  do {                                                  \
    if (!(__VA_ARGS__)) [[unlikely]]                    \
      ::nnex::broken(#__VA_ARGS__, __FILE__, __LINE__); \
  } while (false)
