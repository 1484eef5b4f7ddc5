#pragma once
// What `bench` and `profile` share: a model ready to be timed.

#include <chrono>

#include "cli.h"
#include "time_limit.h"

namespace nnex::cli {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct TimingOptions {
  ModelOptions model;
  InputOptions inputs;
  double seconds = 2, timeout = 0;
  bool json = false;

  void add_to(Verb verb);
};

/// The model, carried as asked for. An extent that inputs which are carried share with others is 1 where nobody gives
/// it, as open extents of the others are.
Result<Model> load_timed(const ModelOptions& o);

/// A session that has run once, and what it runs on.
struct Prepared {
  Model model;
  Session session;
  std::vector<Given> given;
  std::vector<Value> inputs;
  int threads = 0;
  double load_ms = 0, first_ms = 0;
};

/// Inputs are those asked for, else those of the model's own test_data_set_0 where it lies beside it, else seeded
/// random numbers. Errors: those of loading, reading and running.
Result<Prepared> prepare(const TimingOptions& o, const RunOptions& options);

/// Name, type and origin of each input.
Json inputs_json(const Prepared& p);
void print_inputs(const Prepared& p);

}  // namespace nnex::cli
