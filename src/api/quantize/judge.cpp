#include "api/quantize/judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "api/quantize/network.h"
#include "nnex/elements.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// Squares of a signal, and of what is beside it.
struct Squares {
  double signal = 0, noise = 0;

  void add(const Tensor& x, const Tensor& y) {
    if (x.dtype() == DType::f32 && y.dtype() == DType::f32) {
      const auto a = x.as<float>(), b = y.as<float>();
      for (size_t i = 0; i < a.size(); ++i) add(a[i], b[i]);
      return;
    }
    for (int64_t i = 0; i < x.count(); ++i) add(real_at(x, i), real_at(y, i));
  }
  void add(double a, double b) { signal += a * a, noise += (a - b) * (a - b); }
  double sqnr_db() const {
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(signal / noise);
  }
};

bool comparable(const Value& a, const Value& b) {
  const Tensor *x = a.tensor(), *y = b.tensor();
  return x && y && is_real(x->dtype()) && is_real(y->dtype()) && x->shape() == y->shape();
}

/// The place of the largest of a row's elements, the first where several are.
int64_t largest(const Tensor& x, int64_t begin, int64_t n) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i)
    if (real_at(x, begin + i) > real_at(x, begin + at)) at = i;
  return at;
}

void count_rows(const Tensor& x, const Tensor& y, QuantizedOutput& out) {
  const int64_t n = x.shape().rank() == 0 ? 1 : x.shape()[x.shape().rank() - 1];
  if (n < 2) return;
  for (int64_t at = 0; at < x.count(); at += n, ++out.rows)
    out.agreed += largest(x, at, n) == largest(y, at, n) ? 1 : 0;
}

}  // namespace

Result<Judgement> judge(const ir::Graph& in_float, const ir::Graph& quantised,
                        const std::vector<Counterpart>& counterparts, const SampleSet& samples,
                        const QuantizeOptions& options) {
  std::vector<ValueId> a, b;
  for (const Counterpart& c : counterparts) a.push_back(c.in_float), b.push_back(c.in_quantised);
  NNEX_ASSIGN(Model first, compile(with_results(in_float, a)));
  NNEX_ASSIGN(Model second, compile(with_results(quantised, b)));
  const size_t own = in_float.outputs().size() - in_float.states.size();
  std::vector<Squares> inner(counterparts.size()), outer(own);
  Judgement out;
  for (size_t i = 0; i < own; ++i) out.outputs.push_back({in_float[in_float.outputs()[i]].name, 0, 0, 0});
  out.samples = options.judge_count > 0 ? std::min(options.judge_count, samples.count) : samples.count;
  NNEX_TRY(run_samples({first, second}, samples, out.samples, options,
                       [&](int64_t, const std::vector<std::vector<Value>>& results) -> Status {
                         for (size_t i = 0; i < own + inner.size(); ++i) {
                           const Value &x = results[0][i], &y = results[1][i];
                           if (!comparable(x, y)) continue;
                           (i < own ? outer[i] : inner[i - own]).add(*x.tensor(), *y.tensor());
                           if (i < own) count_rows(*x.tensor(), *y.tensor(), out.outputs[i]);
                         }
                         return {};
                       }));
  for (size_t i = 0; i < own; ++i) out.outputs[i].sqnr_db = outer[i].sqnr_db();
  for (const Squares& s : inner) out.sqnr_db.push_back(s.sqnr_db());
  return out;
}

namespace {

using Clock = std::chrono::steady_clock;

/// A network that is timed, whole and node by node.
struct Timed {
  explicit Timed(Session s) : session(std::move(s)) {}
  Session session;
  double fastest = std::numeric_limits<double>::infinity();
  std::map<std::string, double> places;

  Status run(const std::vector<Value>& inputs, const RunOptions& options, bool by_node) {
    session.profile(by_node);
    NNEX_TRY(session.reset_states());
    const auto begin = Clock::now();
    auto r = session.run(inputs, options);
    if (!r.ok()) return std::move(r).error();
    if (!by_node) {
      fastest = std::min(fastest, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
      return {};
    }
    std::map<std::string, double> now;
    for (const NodeTime& n : session.nodes()) now[n.place] += n.us;
    for (const auto& [place, us] : now) {
      const auto [it, made] = places.try_emplace(place, us);
      it->second = std::min(it->second, us);
    }
    return {};
  }
};

}  // namespace

Result<Times> time_both(const ir::Graph& in_float, const ir::Graph& quantised, const SampleSet& samples,
                        const QuantizeOptions& options) {
  NNEX_ASSIGN(const Model a, compile(ir::Graph(in_float)));
  NNEX_ASSIGN(const Model b, compile(ir::Graph(quantised)));
  NNEX_ASSIGN(const std::vector<Value> inputs, samples.read(a.inputs(), 0));
  Timed both[2] = {Timed(a.session(options.session)), Timed(b.session(options.session))};
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  // In turns: what else the machine does meets both. The first runs plan and pack.
  for (int runs = 0; runs < 8 || (elapsed() < 2 * options.seconds && runs < 20000); ++runs)
    for (Timed& t : both) NNEX_TRY(t.run(inputs, options.run, runs % 2 == 1));
  return Times{both[0].fastest, both[1].fastest, std::move(both[0].places), std::move(both[1].places)};
}

}  // namespace nnex
