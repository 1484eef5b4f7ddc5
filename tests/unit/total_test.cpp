// Every row is total: no node of any row, in any spelling, whatever its attributes, inputs and extents, ends a process,
// hangs, takes memory without end or gives an error of our own making. NNEX_TOTAL_CASES says how many nodes (200,000
// is the whole promise), NNEX_TOTAL_FROM the number of the first: one number is one node, everywhere.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "hostile_run.h"
#include "share.h"
#include "source.h"

namespace {

using namespace nnex;
using namespace nnex::test;

constexpr int kSeconds = 20;              ///< A case may take: instrumented code is slow.
constexpr long kMegabytes = 1000;         ///< A process may take.
constexpr int kTooMuch = 90, kOurs = 91;  ///< Exit codes of a child.

int64_t wish(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

/// In a child: cases from `at` on, whose number the parent sees.
[[noreturn]] void work(HostileMaker& producer, std::atomic<int64_t>& at, int64_t end) {
  for (; at < end; ++at) {
    alarm(kSeconds);
    const HostileCase c = producer.make(static_cast<uint64_t>(at.load()));
    const Status s = run_hostile(c);
    if (!s.ok() && s.error().code() == Code::internal) {
      std::fprintf(stderr, "%s\n", s.error().text().c_str());
      std::_Exit(kOurs);
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    if (used.ru_maxrss / 1024 > kMegabytes) std::_Exit(kTooMuch);
  }
  std::_Exit(0);
}

std::string how(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "takes more than " + std::to_string(kSeconds) + " s"
                                       : "dies of signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == kTooMuch) return "takes more than " + std::to_string(kMegabytes) + " MB";
  if (WEXITSTATUS(status) == kOurs) return "is told as our mistake";
  return "ends the process with " + std::to_string(WEXITSTATUS(status));
}

TEST(Total, EveryRowInEverySpelling) {
  HostileMaker producer(source_dir() + "/tests/cases/ops");
  ASSERT_GT(producer.rows(), 500U);
  const int64_t first = wish("NNEX_TOTAL_FROM", 0), count = wish("NNEX_TOTAL_CASES", some_of(20000));
  void* page = mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& at = *new (page) std::atomic<int64_t>(first);
  int failed = 0;
  while (at < first + count && failed < 200) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) work(producer, at, std::min(first + count, at + 2000));
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++failed;
    ADD_FAILURE() << "case " << at << " " << how(status) << ": "
                  << producer.make(static_cast<uint64_t>(at.load())).text();
    ++at;
  }
}

}  // namespace
