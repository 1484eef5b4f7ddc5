// nnex conform: another program, which comes with the tests.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "cli.h"

namespace nnex::cli {
namespace {

constexpr const char* kProgram = "nnex-conform";

/// Beside this program, wherever that was started from.
[[maybe_unused]] std::filesystem::path beside() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : self.parent_path() / kProgram;
}

}  // namespace

std::optional<int> run_conform([[maybe_unused]] int argc, char** argv) {
#ifdef __EMSCRIPTEN__
  const int failed = ENOSYS;
#else
  char** words = argv + 1;  // "conform" stands where its own name does
  if (const auto path = beside(); !path.empty()) ::execv(path.c_str(), words);
  int failed = errno;
  if (failed == ENOENT) {
    ::execvp(kProgram, words);
    failed = errno;
  }
#endif
  for (int i = 2; i < argc; ++i)
    if (const std::string_view word = argv[i]; word == "--help" || word == "-h") return std::nullopt;
  return report(
      Error(Code::unsupported,
            fmt::format("cannot start {}: {}; it comes with the tests: build the target nnex_conform, and put it "
                        "beside nnex or into a folder of PATH",
                        kProgram, std::strerror(failed))));
}

void add_conform(CommandLine& line) {
  auto words = std::make_shared<std::pair<std::string, std::string>>();
  Verb verb = line.verb("conform",
                        "Run stored conformance cases and compare the answers (the program nnex-conform, which comes "
                        "with the tests; its --help lists its options)",
                        [words] { return kUsage; });
  verb.option("standard", words->first, "Whose cases").required().one_of({"onnx", "nnef", "webnn", "cvm"});
  verb.option("path", words->second, "A case, a folder of cases or archives, or an archive (.tar.xz, .tar.gz, .zip)")
      .required();
}

}  // namespace nnex::cli
