// Where Highway's assertions end, in the builds that have them on: its own library is not linked, its headers are all
// we use.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <hwy/base.h>

namespace hwy {

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace hwy
