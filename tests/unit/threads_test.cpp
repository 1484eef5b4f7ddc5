#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/float_mode.h"
#include "base/quota.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nnex {
namespace {

/// Adds 1 to each of `parts` counters; true when every part ran exactly once.
bool runs_each_part_once(Team& team, int64_t parts) {
  std::vector<int> counts(static_cast<size_t>(parts), 0);
  team.run(parts, [&](int64_t part) { ++counts[static_cast<size_t>(part)]; });
  for (int count : counts)
    if (count != 1) return false;
  return true;
}

TEST(Team, RunsEachPartOnce) {
  for (int threads : {1, 2, 4}) {
    Team team(threads);
    EXPECT_EQ(team.size(), threads);
    for (int64_t parts : {0, 1, 2, 3, 17, 1000})
      EXPECT_TRUE(runs_each_part_once(team, parts)) << threads << " " << parts;
  }
}

TEST(Team, ManyShortCalls) {
  Team team(3);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(runs_each_part_once(team, 1 + i % 7));
}

TEST(Team, WorkersWakeAgainAfterSleep) {
  for (int round = 0; round < 3; ++round) {
    Team team(2);
    ASSERT_TRUE(runs_each_part_once(team, 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ASSERT_TRUE(runs_each_part_once(team, 8));
  }
}

TEST(Team, WorkersDoTakePart) {
  Team team(2);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int i = 0; i < 100 && seen.size() < 2; ++i) {
    team.run(2, [&](int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(seen.size(), 2U);
}

/// The first half of the parts is one thread's to begin with; the other one helps when it has none left.
TEST(Team, ThreadsTakeWhatOthersHaveLeft) {
  if (usable_threads() < 2) GTEST_SKIP() << "one thread";
  Team team(2);
  std::array<std::thread::id, 4> by;
  std::atomic<int> inside = 0;
  team.run(4, [&](int64_t part) {
    by[static_cast<size_t>(part)] = std::this_thread::get_id();
    if (part > 1) return;
    ++inside;  // parts 0 and 1 end together: nobody can do both
    const auto start = std::chrono::steady_clock::now();
    while (inside < 2 && std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
  EXPECT_NE(by[0], by[1]);
}

TEST(Team, SecondTeamWorksAlone) {
  Team first(2);
  Team second(2);
  EXPECT_EQ(second.size(), 1);
  EXPECT_TRUE(runs_each_part_once(second, 9));
  EXPECT_TRUE(runs_each_part_once(first, 9));
}

TEST(Team, CallersOfManyThreads) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        Team team(2);
        for (int j = 0; j < 3; ++j) wrong += !runs_each_part_once(team, 5);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Team, CallFromInsideAPart) {
  Team team(2);
  std::atomic<int> inner = 0;
  team.run(4, [&](int64_t) { team.run(3, [&](int64_t) { ++inner; }); });
  EXPECT_EQ(inner, 12);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NNEX_NO_FORK_TEST
#endif
#endif
#if !defined(NNEX_NO_FORK_TEST)
TEST(Team, SurvivesFork) {
  Team held(2);
  ASSERT_TRUE(runs_each_part_once(held, 4));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = runs_each_part_once(held, 4);
    Team fresh(2);
    good = good && fresh.size() == 2 && runs_each_part_once(fresh, 100);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runs_each_part_once(held, 4));
}
#endif

#if defined(__x86_64__)
TEST(FloatMode, KnownModeInsideCallersModeAfter) {
  const unsigned before = _mm_getcsr();
  const unsigned flushing = 0x9fc0;  // FTZ and DAZ
  _mm_setcsr(flushing);
  {
    const FloatMode mode;
    volatile float tiny = 1e-40F;
    EXPECT_EQ(tiny * 0.5F, 5e-41F);
    Team team(2);
    std::atomic<int> flushed = 0;
    team.run(8, [&](int64_t) {
      volatile float small = 1e-40F;
      flushed += small * 0.5F == 0;
    });
    EXPECT_EQ(flushed, 0);
  }
  EXPECT_EQ(_mm_getcsr() & ~0x3fU, flushing);
  _mm_setcsr(before);
}
#endif

struct Group {
  const char* file;
  const char* text;
};
const struct {
  const char* name;
  std::vector<Group> files;
  int expected;
  int64_t memory = 0;
} quota_rows[] = {
    {"nothing", {}, 0},
    {"v2 half a processor rounds up",
     {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}},
     1},
    {"v2 parent is tighter",
     {{"/proc/self/cgroup", "0::/a/b\n"},
      {"/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"}},
     3},
    {"v2 max is no limit", {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}}, 0},
    {"v2 host path unseen, root of the mount read",
     {{"/proc/self/cgroup", "0::/host/x\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}},
     2},
    {"v1",
     {{"/proc/self/cgroup", "3:cpuset:/q\n4:cpu,cpuacct:/q\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/q/cpu.cfs_quota_us", "400000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/q/cpu.cfs_period_us", "100000\n"}},
     4},
    {"v1 unlimited",
     {{"/proc/self/cgroup", "4:cpu:/\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
     0},
    {"memory, v2: the tightest of a path",
     {{"/proc/self/cgroup", "0::/a/b\n"},
      {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
      {"/sys/fs/cgroup/a/memory.max", "1073741824\n"}},
     0,
     int64_t{1} << 30},
    {"memory, v1",
     {{"/proc/self/cgroup", "4:memory:/q\n"}, {"/sys/fs/cgroup/memory/q/memory.limit_in_bytes", "4096\n"}},
     0,
     4096},
    {"memory, v1 unlimited",
     {{"/proc/self/cgroup", "4:memory:/q\n"},
      {"/sys/fs/cgroup/memory/q/memory.limit_in_bytes", "9223372036854771712\n"}},
     0},
};

TEST(Usable, QuotaOfControlGroups) {
  const std::string root = ::testing::TempDir() + "/nnex_quota_" + std::to_string(getpid());
  for (const auto& row : quota_rows) {
    SCOPED_TRACE(row.name);
    std::filesystem::create_directories(root);
    for (const Group& group : row.files) {
      std::filesystem::create_directories(std::filesystem::path(root + group.file).parent_path());
      std::ofstream(root + group.file) << group.text;
    }
    EXPECT_EQ(quota_threads(root), row.expected);
    EXPECT_EQ(quota_memory(root), row.memory);
    std::filesystem::remove_all(root);
  }
  EXPECT_GE(usable_threads(), 1);
}

}  // namespace
}  // namespace nnex
