#pragma once
// From any thread to the one of JavaScript, and what must not make it wait.

#include <napi.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace nnex::js {

/// The event loop of one environment of JavaScript.
class Loop {
 public:
  static std::shared_ptr<Loop> make(Napi::Env env);
  explicit Loop(napi_env env) : env_(env) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs a task of its own on JavaScript's thread, from any thread; once the environment ends, never.
  void post(std::function<void()> task);
  /// Whether calls of JavaScript still may be made. JavaScript's thread alone asks; so with what follows.
  bool open() const { return !closed_; }
  napi_env env() const { return env_; }
  /// While something is held the process does not end by itself.
  void hold();
  void let_go();
  void close();

 private:
  const napi_env env_;
  napi_threadsafe_function call_ = nullptr;
  size_t held_ = 0;
  std::mutex mutex_;  // of closed_, as other threads see it
  bool closed_ = false;
};

/// Lets objects go on a thread of its own: the last handle of a context waits for what was queued.
class Releases {
 public:
  Releases() = default;
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;
  ~Releases() { close(); }

  void push(std::shared_ptr<const void> object);
  /// Waits until all are gone; from now on push() lets go itself.
  void close();

 private:
  void live();

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<const void>> objects_;
  bool stop_ = false;
};

}  // namespace nnex::js
