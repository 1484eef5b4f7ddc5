#ifndef NNEX_CHECKS_H
#define NNEX_CHECKS_H
/* What tests of the C interface say of what does not hold. */
#include <stdio.h>
#include <string.h>

#include "nnex.h"

static int failures = 0;
#define CHECK(what)                                                    \
  do {                                                                 \
    if (!(what)) {                                                     \
      printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
      ++failures;                                                      \
    }                                                                  \
  } while (0)
#define OK(call)                                                                 \
  do {                                                                           \
    nnex_error* e_ = (call);                                                     \
    if (e_) {                                                                    \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nnex_error_text(e_)); \
      ++failures;                                                                \
      nnex_error_free(e_);                                                       \
    }                                                                            \
  } while (0)
#define FAILS(wanted, text, call)                                                                  \
  do {                                                                                             \
    nnex_error* e_ = (call);                                                                       \
    CHECK(e_ != NULL);                                                                             \
    if (e_) {                                                                                      \
      CHECK(nnex_error_code(e_) == (wanted));                                                      \
      if (!strstr(nnex_error_text(e_), text)) {                                                    \
        printf("%s:%d: found '%s'; needed '%s'\n", __FILE__, __LINE__, nnex_error_text(e_), text); \
        ++failures;                                                                                \
      }                                                                                            \
      nnex_error_free(e_);                                                                         \
    }                                                                                              \
  } while (0)
/* An error of WebNN by its name in the specification. */
#define FAILS_AS(name, call)                                                                   \
  do {                                                                                         \
    nnex_error* e_ = (call);                                                                   \
    CHECK(e_ != NULL);                                                                         \
    if (e_ && strcmp(nnex_error_webnn_name(e_), name) != 0) {                                  \
      printf("%s:%d: found '%s'; needed %s\n", __FILE__, __LINE__, nnex_error_text(e_), name); \
      ++failures;                                                                              \
    }                                                                                          \
    nnex_error_free(e_);                                                                       \
  } while (0)

#endif
