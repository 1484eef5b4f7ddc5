#include "base/unfinished.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "nnex/unfinished.h"

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)
#define NNEX_HAS_GROUPS 1
#include <signal.h>
#endif

namespace nnex {
namespace {

namespace fs = std::filesystem;

struct Unfinished {
  std::mutex mutex;
  std::multiset<std::string> paths;
  std::set<int> groups;
};

/// Never destroyed: threads may still write while the program ends.
Unfinished& unfinished() {
  static auto& all = *new Unfinished;
  return all;
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  for (int tries = 0; tries < 3 && fs::remove_all(path, ignored) == static_cast<std::uintmax_t>(-1); ++tries) {
  }  // a compiler that was started may be writing into a folder
}

}  // namespace

UnfinishedLock::UnfinishedLock() : lock_(unfinished().mutex) {}
void UnfinishedLock::add(const std::string& path) { unfinished().paths.insert(path); }
void UnfinishedLock::drop(const std::string& path) {
  auto& paths = unfinished().paths;
  if (const auto at = paths.find(path); at != paths.end()) paths.erase(at);
}

void UnfinishedLock::add_group(int group) { unfinished().groups.insert(group); }
void UnfinishedLock::drop_group(int group) { unfinished().groups.erase(group); }

void remove_unfinished() noexcept {
  unfinished().mutex.lock();  // and nobody gets it any more
#ifdef NNEX_HAS_GROUPS
  for (const int group : unfinished().groups) ::kill(-group, SIGTERM);  // compilers remove what they write elsewhere
#endif
  for (const std::string& path : unfinished().paths) remove_all(path);
  unfinished().paths.clear();
}

Result<FolderBeside> FolderBeside::make(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  NNEX_ASSIGN(std::string made, make_folder_beside(path));
  return FolderBeside(std::move(made));
}

FolderBeside::~FolderBeside() {
  if (made_.empty()) return;
  remove_all(made_);
  UnfinishedLock().drop(made_);
}

Status FolderBeside::rename(const std::string& path) {
  UnfinishedLock lock;
  if (std::rename(made_.c_str(), path.c_str()) != 0)
    return failure(Code::unreadable, "cannot write '{}': {}", path, std::generic_category().message(errno));
  lock.drop(made_);
  made_.clear();
  return {};
}

}  // namespace nnex
