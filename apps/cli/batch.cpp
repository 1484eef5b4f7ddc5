// nnex batch: a model over many files, each answered once whatever happens on the way.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "batch_items.h"
#include "batch_log.h"
#include "cli.h"
#include "describe.h"
#include "nnex/elements.h"
#include "nnex/environment.h"
#include "nnex/file.h"
#include "nnex/tensor_file.h"
#include "proof.h"
#include "shared/flags.h"
#include "top.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct BatchArguments {
  ModelOptions model;
  InputOptions fit;
  std::string input, output, format = "npz", shard, labels;
  std::vector<std::string> fixed;
  int topk = 0, jobs = 0, lease = 30;
  double timeout = 0;  ///< Of an item, in seconds.
  bool resume = false, share = false, force = false, json = false, quiet = false;
};

/// An item's limit of time from now on.
RunOptions limit_of(const BatchArguments& o) {
  RunOptions limit;
  if (o.timeout > 0)
    limit.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.timeout));
  return limit;
}

/// What the model answers to seeded numbers and texts; nothing where such are no input, or it refuses them or takes
/// longer than an item may.
std::string trial_of(const Model& model, const BatchArguments& o) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    auto v = trial_input(model.inputs()[i], i + 1, {}, 1, bits_of(model));
    if (!v.ok()) return {};
    inputs.push_back(std::move(*v));
  }
  std::string all;
  if (auto out = model.session(o.model.session_options()).run(inputs, limit_of(o)); out.ok())
    for (const Value& v : *out) all += v.tensor() ? sha256(*v.tensor()) : v.text();
  return all;
}

Result<std::string> digest_of(const std::string& file) {
  NNEX_ASSIGN(const FileDigest digest, digest_file(file));
  return digest.sha256;
}

/// What answers depend on: the bytes of the model's files, those of external tensors too, or of standard input; its
/// answer to a trial, and the options.
Result<std::string> key_of(const Model& model, const BatchArguments& o) {
  std::string all;
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(const LoadOptions load, o.model.options());
  NNEX_ASSIGN(const std::vector<std::string> files, files_of(o.model.path, source, load));
  for (const std::string& file : files) {
    NNEX_ASSIGN(const std::string digest, digest_of(file));
    all += digest;
  }
  if (const FileReader* reader = source.reader()) {
    NNEX_ASSIGN(const auto names, reader->list());
    for (const std::string& name : names) {
      NNEX_ASSIGN(const OwnedBytes bytes, reader->read(name));
      all += sha256(bytes.bytes);
    }
  }
  all += trial_of(model, o);
  const PictureOptions& p = o.fit.fit.picture;
  all += fmt::format("{} {} {} {} {} {}", o.format, o.topk, o.fit.fit.cast, o.fit.layout, p.bgr, o.model.compat);
  for (double x : p.mean) all += fmt::format(" mean {}", x);
  for (double x : p.scale) all += fmt::format(" scale {}", x);
  for (const auto* words : {&o.model.symbols, &o.model.shapes})
    for (const std::string& word : *words) all += " " + word;
  for (const std::string& word : o.fixed) {
    NNEX_ASSIGN(const std::string digest, digest_of(named(word).second));
    all += fmt::format(" {} {}", word, digest);
  }
  if (!o.labels.empty()) {
    NNEX_ASSIGN(const std::string digest, digest_of(o.labels));
    all += digest;
  }
  return sha256(all);
}

/// What all workers see.
struct Work {
  const BatchArguments& o;
  const Model& model;
  std::map<size_t, Value> fixed;  ///< By the input's number.
  std::vector<std::string> labels;
  ManifestWriter& manifest;
};

/// The inputs of an item: by their names, or its only value for the first input that nothing else is given for.
Result<std::vector<Value>> inputs_of(const Work& work, const Item& item) {
  const auto& ports = work.model.inputs();
  const InputFileOptions options = work.o.fit.file_options(work.o.model);
  NNEX_ASSIGN(const InputFile file, InputFile::open(item.path.string()));
  std::map<std::string, Value> given;
  if (file.by_names()) {
    NNEX_ASSIGN(given, file.values(ports, options));
  } else {
    for (size_t i = 0; i < ports.size() && given.empty(); ++i) {
      if (work.fixed.count(i)) continue;
      NNEX_ASSIGN(Value v, file.value(ports[i], options));
      given.emplace(ports[i].name, std::move(v));
    }
  }
  std::vector<Value> out;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (const auto it = given.find(ports[i].name); it != given.end()) {
      out.push_back(std::move(it->second));
    } else if (const auto fixed = work.fixed.find(i); fixed != work.fixed.end()) {
      out.push_back(fixed->second);
    } else {
      return Error(Code::invalid_argument, fmt::format("input '{}' is missing; it takes {} (--fixed {}=FILE)",
                                                       ports[i].name, ports[i].type, ports[i].name));
    }
  }
  return out;
}

/// Writes the answer; its bytes and their digest.
Result<FileDigest> write_answer(const Work& work, const fs::path& path, const std::vector<Value>& out) {
  if (work.o.format == "npz") {
    NNEX_TRY(save_outputs(path.string(), work.model.outputs(), out, work.o.fit.fit.cast, Existing::replace_link));
  } else {
    Json j = {{"schema", "nnex.run/1"}, {"outputs", Json::array()}};
    for (size_t i = 0; i < out.size(); ++i) {
      const std::string& name = work.model.outputs()[i].name;
      Json row = {{"name", name}, {"type", out[i].text()}};
      NNEX_TRY(describe_all(out[i], name, row));
      const auto top = work.o.topk > 0 ? top_of(out[i], work.o.topk) : std::nullopt;
      if (top) to_json(*top, work.labels, row);
      j["outputs"].push_back(std::move(row));
    }
    const std::string text = j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    NNEX_TRY(write_file(path.string(), text, Existing::replace_link));
  }
  return digest_file(path.string());
}

/// One item, from its file to its answer's: why it failed, or nothing. Error: the manifest cannot be written, which
/// ends the batch.
Result<std::optional<std::string>> answer(const Work& work, Session& session, const Item& item) {
  const auto start = Clock::now();
  const std::string output = fmt::format("{}.{}", item.name, work.o.format);
  const fs::path path = fs::path(work.o.output) / output;
  const RunOptions limit = limit_of(work.o);
  auto done = [&]() -> Result<FileDigest> {
    NNEX_ASSIGN(const auto inputs, inputs_of(work, item));
    NNEX_ASSIGN(const auto out, session.run(inputs, limit));
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    return write_answer(work, path, out);
  }();
  Json line = {{"item", item.name}};
  if (!done.ok()) {
    const bool late = limit.deadline && done.error().code() == Code::cancelled;
    std::string why =
        late ? fmt::format("took longer than {} s (--timeout)", work.o.timeout) : done.error().text(flag_words);
    line["error"] = why;
    NNEX_TRY(work.manifest.add(line));
    return std::optional(std::move(why));
  }
  line["size"] = item.size, line["changed"] = item.changed, line["output"] = output, line["bytes"] = done->bytes;
  line["sha256"] = done->sha256;
  line["ms"] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  NNEX_TRY(work.manifest.add(line));
  return std::optional<std::string>();
}

/// Items done, in a line of progress.
class Progress {
 public:
  Progress(size_t items, bool quiet) : items_(items), shown_(quiet ? Shown::no : progress_shown()) {}
  void add(const Item& item, const std::optional<std::string>& failure) {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (failure) {
      if (++failed_ <= kTold) {
        clear_progress(shown_);
        say(stderr, "nnex: {}: {}\n", item.name, *failure);
      }
    }
    const auto now = Clock::now();
    if (shown_ == Shown::no || now < next_) return;
    next_ = now + progress_pace(shown_);
    const double seconds = seconds_taken(), rate = static_cast<double>(done_) / std::max(seconds, 1e-3);
    put_progress(shown_, fmt::format("{} of {} items, {:.1f} a second, {} failed, {:.0f} s left", done_, items_, rate,
                                     failed_, static_cast<double>(items_ - std::min(done_, items_)) / rate));
  }
  void end() {
    clear_progress(shown_);
    if (failed_ > kTold) say(stderr, "nnex: and {} others failed: the manifest has them\n", failed_ - kTold);
  }
  size_t done() const { return done_ - failed_; }
  size_t failed() const { return failed_; }
  double seconds_taken() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  static constexpr size_t kTold = 10;
  std::mutex mutex_;
  size_t items_, done_ = 0, failed_ = 0;
  const Shown shown_;
  Clock::time_point start_ = Clock::now(), next_ = start_ + std::chrono::seconds(1);
};

/// Answers items on `jobs` threads, a session each. Error: what ended the batch, of one of them.
Status answer_all(const Work& work, const std::vector<const Item*>& items, std::vector<Session>& sessions,
                  Progress& progress) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  Status status;
  const auto take = [&](Session& session) {
    for (size_t i = next++; i < items.size(); i = next++) {
      auto failure = answer(work, session, *items[i]);
      if (failure.ok()) {
        progress.add(*items[i], *failure);
        continue;
      }
      next = items.size();
      const std::lock_guard lock(mutex);
      status = std::move(failure).error();
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(sessions.size(), items.size()); ++t)
    threads.emplace_back([&, t] { take(sessions[t]); });
  if (!items.empty()) take(sessions[0]);
  for (std::thread& t : threads) t.join();
  return status;
}

/// Items that are claimed together: enough that claiming costs little, few enough that processes end together.
constexpr size_t kPart = 32;

/// The names of the parts say what is in them: a list that has grown has other parts where it has grown.
std::string name_of(const std::vector<Item>& items, size_t begin, size_t end) {
  std::string names;
  for (size_t i = begin; i < end; ++i) names += items[i].name + "\n";
  return sha256(names).substr(0, 24);
}

/// Takes parts while there are any that nobody has done, waiting for those that others have claimed.
Status answer_shared(const Work& work, const std::vector<Item>& items, const std::string& key, bool again,
                     std::vector<Session>& sessions, Progress& progress, size_t& skipped) {
  NNEX_ASSIGN(const auto claims,
              Claims::open(fs::path(work.o.output) / (".claims-" + key.substr(0, 16)), work.o.lease));
  struct Part {
    size_t begin, end;
    std::string name;
  };
  std::vector<Part> left;
  std::set<std::string> done_before;
  for (size_t i = 0; i < items.size(); i += kPart) {
    const size_t end = std::min(i + kPart, items.size());
    left.push_back({i, end, name_of(items, i, end)});
    if (claims->is_done(left.back().name)) done_before.insert(left.back().name);
  }
  // Marks are read before manifests: whatever was marked has its lines.
  NNEX_ASSIGN(Manifest before, Manifest::read(work.o.output, key));
  const auto missing = [&](const Manifest& manifest, const Part& part) {
    std::vector<const Item*> out;
    for (size_t i = part.begin; i < part.end; ++i)
      if (again || !manifest.has(items[i])) out.push_back(&items[i]);
    return out;
  };
  for (const Part& part : left) {
    if (!done_before.count(part.name) || missing(before, part).empty()) continue;
    claims->reopen(part.name);
    done_before.erase(part.name);
  }
  while (!left.empty()) {
    bool some = false;
    for (size_t p = 0; p < left.size();) {
      const Part part = left[p];
      const bool done = claims->is_done(part.name);
      if (!done && !claims->claim(part.name)) {
        ++p;
        continue;
      }
      left.erase(left.begin() + static_cast<ptrdiff_t>(p));
      if (done && done_before.count(part.name)) skipped += part.end - part.begin;
      if (done) continue;
      some = true;
      NNEX_ASSIGN(const Manifest now, Manifest::read(work.o.output, key));
      const auto todo = missing(now, part);
      skipped += part.end - part.begin - todo.size();
      NNEX_TRY(answer_all(work, todo, sessions, progress));
      NNEX_TRY(claims->done(part.name));
    }
    if (!some && !left.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return {};
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "host";
}

/// Ranks of one mpirun have the same items: they share them, unless --shard divides them otherwise. Told once.
void share_among_ranks(BatchArguments& o) {
  const Shard rank = rank_of_open_mpi();
  if (rank.count == 1 || o.share || !o.shard.empty()) return;
  o.share = true;
  if (!o.quiet && rank.index == 1)
    say(stderr, "nnex: the {} ranks of Open MPI share the items, as by --share\n", rank.count);
}

/// Before anything is written: an archive holds tensors alone, of types that NumPy has.
Status can_answer(const Model& model, const BatchArguments& o) {
  for (const PortInfo& port : model.outputs()) {
    if (o.format != "npz") break;
    for (const char* kind : {"sequence(", "optional(", "map(", "sparse "})
      if (port.type.starts_with(kind))
        return Error(Code::invalid_argument, fmt::format("output '{}' is {}; an archive holds tensors alone: needed "
                                                         "--format json",
                                                         port.name, port.type));
    if (port.dtype == DType::none) continue;
    NNEX_ASSIGN(const Tensor none, Tensor::make(port.dtype, Shape{0}));
    const auto fit = fit_for_numpy(Value(none), port.name, o.fit.fit.cast);
    if (!fit.ok() || !tensor_bytes(*fit->tensor(), TensorFormat::npy).ok())
      return Error(Code::invalid_argument,
                   fmt::format("output '{}' is {}; NumPy has no such element type: needed --format json{}", port.name,
                               port.type, fit.ok() ? "" : ", or --cast for a wider one"));
  }
  return {};
}

/// What --fixed gives, by the input's number. One input is left for the items at least: they would be passed over else.
Result<std::map<size_t, Value>> fixed_inputs(const Model& model, const BatchArguments& o) {
  const auto& ports = model.inputs();
  std::map<size_t, Value> out;
  std::map<size_t, std::string> from;
  for (const std::string& word : o.fixed) {
    const auto [name, path] = named(word);
    if (name.empty()) return Error(Code::invalid_argument, fmt::format("--fixed '{}': needed NAME=FILE", word));
    NNEX_ASSIGN(const size_t at, port_at("input", ports, name));
    if (const auto [before, is_new] = from.emplace(at, path); !is_new)
      return Error(Code::invalid_argument, fmt::format("input '{}' is given twice: by --fixed '{}' and by --fixed '{}'",
                                                       name, before->second, path));
    NNEX_ASSIGN(const InputFile given, InputFile::open(path));
    NNEX_ASSIGN(Value v, given.value(ports[at], o.fit.file_options(o.model)));
    out.emplace(at, std::move(v));
  }
  if (!ports.empty() && out.size() == ports.size())
    return Error(Code::invalid_argument,
                 fmt::format("input '{}' is given twice: by --fixed '{}' and by the items; needed one input at least "
                             "that --fixed does not give",
                             ports[0].name, from[0]));
  return out;
}

Result<int> batch(const BatchArguments& o) {
  NNEX_ASSIGN(const Shard shard, o.shard.empty() ? Result<Shard>(Shard()) : shard_of(o.shard));
  if (o.share && shard.count > 1)
    return Error(Code::invalid_argument, "--share and --shard: found both; a shared batch has no fixed shards");
  if (o.format != "json" && (o.topk > 0 || !o.labels.empty()))
    return Error(Code::invalid_argument, "--topk, --labels: needed --format json with them");
  if (!o.labels.empty() && o.topk == 0)
    return Error(Code::invalid_argument, "--labels names what --topk shows; needed both");
  if (o.model.path == "-" && o.input == "-")
    return Error(Code::invalid_argument, "the model and --input are both standard input; needed one of them in a file");
  const fs::path folder(o.output);
  std::error_code error;
  if (!o.resume && !o.share && !o.force && shard.count == 1 && Manifest::is_in(folder))
    return Error(Code::invalid_argument,
                 fmt::format("'{}' has a batch already; --resume goes on with it, --force begins anew", o.output));
  if (fs::equivalent(o.input, folder, error))
    return Error(Code::invalid_argument,
                 fmt::format("--output '{}' is the folder of the items, of which answers would be some; needed another "
                             "folder",
                             o.output));
  NNEX_ASSIGN(const Model model, o.model.load());
  NNEX_TRY(can_answer(model, o));
  NNEX_ASSIGN(auto fixed, fixed_inputs(model, o));
  NNEX_ASSIGN(std::vector<Item> items, items_of("--input", o.input, folder));
  NNEX_ASSIGN(const std::string key, key_of(model, o));
  fs::create_directories(folder, error);
  if (error) return Error(Code::unreadable, fmt::format("cannot make '{}': {}", o.output, error.message()));

  const std::string file = o.share           ? fmt::format("manifest-{}-{}.jsonl", host_name(), ::getpid())
                           : shard.count > 1 ? fmt::format("manifest-{}-of-{}.jsonl", shard.index, shard.count)
                                             : "manifest.jsonl";
  // What was done is known before this process's own lines begin.
  NNEX_ASSIGN(const Manifest before, Manifest::read(folder, key));
  const Json header = {{"schema", "nnex.batch/1"}, {"model", o.model.path}, {"key", key}};
  NNEX_ASSIGN(const auto manifest, ManifestWriter::open(folder / file, header));
  Work work{o, model, std::move(fixed), {}, *manifest};
  if (!o.labels.empty()) {
    std::ifstream in(o.labels);
    for (std::string line; std::getline(in, line);) work.labels.push_back(line);
  }
  // Items side by side need less than threads within one: by default a thread for each.
  const int jobs = o.jobs ? o.jobs : std::max(1, usable_threads() / std::max(1, o.model.threads));
  SessionOptions options;
  options.threads = std::max(1, o.model.threads);
  std::vector<Session> sessions;
  for (int i = 0; i < jobs; ++i) sessions.push_back(model.session(options));

  size_t skipped = 0;
  std::optional<Progress> progress;
  if (o.share) {
    progress.emplace(items.size(), o.quiet);
    NNEX_TRY(answer_shared(work, items, key, o.force, sessions, *progress, skipped));
  } else {
    std::vector<const Item*> todo;
    for (const Item& item : items) {
      if (!belongs(item, shard)) continue;
      if (!o.force && before.has(item))
        ++skipped;
      else
        todo.push_back(&item);
    }
    progress.emplace(todo.size(), o.quiet);
    NNEX_TRY(answer_all(work, todo, sessions, *progress));
  }
  progress->end();
  const double seconds = progress->seconds_taken();
  if (o.json) {
    const Json j = {{"schema", "nnex.batch/1"}, {"done", progress->done()}, {"failed", progress->failed()},
                    {"skipped", skipped},       {"seconds", seconds},       {"manifest", (folder / file).string()}};
    say("{}\n", j.dump(1));
  } else if (!o.quiet) {
    say("{} done, {} failed, {} done before; {:.1f} s\n", progress->done(), progress->failed(), skipped, seconds);
  }
  return progress->failed() ? kNegative : kOk;
}

}  // namespace

void add_batch(CommandLine& line) {
  auto o = std::make_shared<BatchArguments>();
  Verb verb = line.verb("batch", "Run a model over many files, each answered once", [o] {
    share_among_ranks(*o);
    auto code = batch(*o);
    return code.ok() ? *code : report(code.error());
  });
  o->model.add_to(verb);
  add_cache(verb, o->model.cache);
  verb.option("--input", o->input,
              "The items: every file of a folder, and of those below it (a folder with input_0.pb is one item), or a "
              "file that lists paths, one a line; - is standard input")
      .type("FOLDER|LIST")
      .required();
  verb.option("--output", o->output, "The folder of the answers, ITEM.npz or ITEM.json, and of the manifest")
      .type("FOLDER")
      .required();
  verb.option("--format", o->format,
              "How answers are written: all outputs in one archive (with --cast those of a type that NumPy lacks as a "
              "wider one), or what `nnex run --json` says")
      .one_of({"npz", "json"});
  verb.option("--fixed", o->fixed, "An input that is the same for all items").type("NAME=FILE").one_each();
  o->fit.add_fit_to(verb);
  verb.option("--topk", o->topk, "With --format json: the K largest of each row of each output").whole(0);
  verb.option("--labels", o->labels, "A file with one label a line, for --topk");
  verb.option("--jobs", o->jobs, "Items at one time; 0: as many as there are threads").whole(0);
  verb.option("--timeout", o->timeout, "Fail an item that takes longer, and go on with the next")
      .type("SECONDS")
      .above_zero();
  verb.flag("--resume", o->resume, "Go on: items whose answer is there already, of the same model and options, stay");
  verb.option("--shard", o->shard,
              "Do part I of N (from 1), by a hash of the items' names; auto: as Open MPI or Slurm say")
      .type("I/N|auto");
  verb.flag(
      "--share", o->share,
      "Share the work with others that run the same command on the same folder: what one does not end, another does; "
      "ranks of Open MPI do without being told");
  verb.option("--lease", o->lease, "With --share: seconds after which a silent process's part is given to another")
      .type("SECONDS")
      .whole(1);
  verb.flag("--force", o->force, "Do everything again");
  verb.flag("--json", o->json, "Print what was done as a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors");
}

}  // namespace nnex::cli
