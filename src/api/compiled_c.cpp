#include "api/compiled_c.h"

#include <fmt/format.h>

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/system_text.h"
#include "base/try.h"
#include "base/unfinished.h"

extern char** environ;
#endif

namespace nnex {

#if defined(__EMSCRIPTEN__) || defined(_WIN32)

Result<std::unique_ptr<WrittenModel>> compile_c(const c_format::Written&, const std::string&, const RunOptions&) {
  return Error(Code::unsupported,
               "this system starts no compiler, which proves C output; needed to write it without a proof");
}

#else

namespace {

constexpr std::string_view kCompilerUse = "a C compiler proves C output (CC names another one)";

/// Writing without a proof.
Remedy unproven() { return {"proof", "none", "writes it without a proof"}; }

bool is_over(const RunOptions& run) {
  return (run.cancel && run.cancel->load()) || (run.deadline && std::chrono::steady_clock::now() >= *run.deadline);
}

/// Starts a program that leads a group of its own, by which its helpers end with it.
Result<pid_t> start(const std::vector<std::string>& words, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions)) return Error(Code::limit, "no memory to start a program");
  const auto destroy = [](posix_spawn_file_actions_t* a) { posix_spawn_file_actions_destroy(a); };
  const std::unique_ptr<posix_spawn_file_actions_t, decltype(destroy)> owner(&actions, destroy);
  if (posix_spawnattr_init(&attributes)) return Error(Code::limit, "no memory to start a program");
  const auto destroy_too = [](posix_spawnattr_t* a) { posix_spawnattr_destroy(a); };
  const std::unique_ptr<posix_spawnattr_t, decltype(destroy_too)> owner_too(&attributes, destroy_too);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  UnfinishedLock working;
  if (const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ))
    return failure(Code::unsupported, "'{}' cannot be started: {}; {}", words[0], std::strerror(error), kCompilerUse)
        .helped_by(unproven());
  working.add_group(pid);
  return pid;
}

/// Runs a program; what it prints goes to a file. Its exit code. Error: cancelled; it is ended then.
Result<int> run_quietly(const std::vector<std::string>& words, const std::string& log, const RunOptions& run) {
  NNEX_ASSIGN(const pid_t pid, start(words, log));
  const bool looks = run.cancel || run.deadline;
  bool ended = false;
  siginfo_t info = {};
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, std::chrono::milliseconds(20))) {
    info.si_pid = 0;
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | (looks ? WNOHANG : 0)) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (info.si_pid != 0) break;
    if (!ended && is_over(run)) ended = ::kill(-pid, SIGTERM) == 0;
    std::this_thread::sleep_for(pause);
  }
  UnfinishedLock working;  // until it is reaped its id is nobody else's
  if (ended) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  working.drop_group(pid);
  if (ended) return Error(Code::cancelled, "the compiler was ended, as the caller asked or the time was over");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// The beginning of what a program printed, its lines under the sentence that tells of it.
std::string printed(const std::string& log) {
  const auto begin = read_begin(log, 400);
  std::string text;
  if (!begin.ok()) return text;
  for (size_t at = 0; at < begin->size();) {
    const size_t end = std::min(begin->find('\n', at), begin->size());
    text += "\n  " + begin->substr(at, end - at);
    at = end + 1;
  }
  return text;
}

/// Whether a file is one of programs, but of another machine or system than this program is. Only asked where that can
/// be told from files (Linux).
bool is_of_another_machine(const std::string& library) {
  constexpr size_t kForm = 6, kMachine = 18, kEnd = 20;  // of ELF: width and byte order, then the processor
  const auto made = read_begin(library, kEnd), own = read_begin("/proc/self/exe", kEnd);
  if (!made.ok() || !own.ok() || made->size() < kEnd || own->size() < kEnd) return false;
  return made->compare(0, kForm, *own, 0, kForm) != 0 || made->compare(kMachine, 2, *own, kMachine, 2) != 0;
}

/// Whether the compiler makes a library of next to nothing: else what was written is not to blame.
Result<bool> compiles_at_all(std::vector<std::string> words, const std::string& path, const RunOptions& run) {
  const std::string source = path + ".probe.c", log = path + ".probe.log";
  for (std::string& word : words)
    if (word == path) word = source;
  NNEX_TRY(write_file(source,
                      "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
                      "double probe(double x);\ndouble probe(double x) { return exp(x); }\n",
                      Existing::replace));
  NNEX_ASSIGN(const int code, run_quietly(words, log, run));
  return code == 0;
}

struct Closer {
  void operator()(void* library) const { ::dlclose(library); }
};

PortInfo port_of(const c_format::Member& m) {
  PortInfo p;
  p.name = m.label, p.dtype = m.type, p.known_rank = true;
  p.extents.assign(m.shape.begin(), m.shape.end());
  p.type = fmt::format("{}{}", name(m.type), m.shape.text());
  return p;
}

class CompiledC : public WrittenModel {
 public:
  using Run = int (*)(const void* inputs, const void* outputs, void* arena);
  CompiledC(std::unique_ptr<void, Closer> library, Run run, const c_format::Written& model)
      : library_(std::move(library)), run_(run), outputs_(model.outputs), arena_bytes_(model.arena_bytes) {
    for (const auto& m : model.inputs) input_ports_.push_back(port_of(m));
    for (const auto& m : model.outputs) output_ports_.push_back(port_of(m));
  }

  std::vector<PortInfo> inputs() const override { return input_ports_; }
  std::vector<PortInfo> outputs() const override { return output_ports_; }

  /// The structs of the header are pointers and nothing else.
  Result<std::vector<Value>> run(const std::vector<Value>& inputs) override {
    std::vector<Tensor> given, made;
    std::vector<const void*> in(1), out(1);  // a struct has one member at least
    for (const Value& v : inputs) {
      NNEX_ASSIGN(Tensor t, v.tensor()->aligned_copy());
      given.push_back(std::move(t));
    }
    in.resize(std::max<size_t>(given.size(), 1)), out.resize(std::max<size_t>(outputs_.size(), 1));
    for (size_t i = 0; i < given.size(); ++i) in[i] = some(given[i].data());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      NNEX_ASSIGN(Tensor t, Tensor::make(outputs_[i].type, outputs_[i].shape));
      out[i] = some(t.mutable_data());
      made.push_back(std::move(t));
    }
    NNEX_ASSIGN(Tensor arena, Tensor::make(DType::u8, {arena_bytes_}));
    std::memset(arena.mutable_data(), 0xA5, static_cast<size_t>(arena_bytes_));  // it needs no content
    if (const int fault = run_(in.data(), out.data(), arena.mutable_data()))
      return failure(Code::fault, "the compiled network returns {}", fault);
    return std::vector<Value>(made.begin(), made.end());
  }

 private:
  /// Arrays of no elements have an address, too.
  static const void* some(const std::byte* p) {
    static const double kNothing = 0;
    return p ? static_cast<const void*>(p) : &kNothing;
  }

  std::unique_ptr<void, Closer> library_;
  Run run_;
  std::vector<PortInfo> input_ports_, output_ports_;
  std::vector<c_format::Member> outputs_;
  int64_t arena_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<WrittenModel>> compile_c(const c_format::Written& model, const std::string& path,
                                                const RunOptions& run) {
  const std::string library = path + ".so", log = path + ".log";
  std::vector<std::string> words;
  const char* named = std::getenv("CC");
  std::string_view command = named && *named ? named : "cc";
  for (std::string_view word; !(word = take_word(command)).empty();) words.emplace_back(word);
  if (words.empty()) words.push_back("cc");
  for (const char* word : {"-std=c99", "-O2", "-fPIC", "-shared", "-o"}) words.emplace_back(word);
  words.push_back(library), words.push_back(path), words.emplace_back("-lm");
  NNEX_ASSIGN(const int code, run_quietly(words, log, run));
  if (code != 0) {
    NNEX_ASSIGN(const bool able, compiles_at_all(words, path, run));
    const std::string_view what = able ? "on what would be written" : "on a source of two lines, too";
    return failure(able ? Code::internal : Code::unsupported, "'{}' ended with exit code {} {}; {}{}{}", words[0], code,
                   what, kCompilerUse, printed(log).empty() ? "" : ":", printed(log))
        .helped_by(unproven());
  }
  std::unique_ptr<void, Closer> loaded(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!loaded && is_of_another_machine(library))
    return failure(Code::unsupported, "'{}' makes programs for another machine, which this one cannot call; {}",
                   words[0], kCompilerUse)
        .helped_by(unproven());
  if (!loaded)
    return failure(Code::unsupported, "what was compiled cannot be loaded: {}; {}", ::dlerror(), kCompilerUse)
        .helped_by(unproven());
  const auto entry = reinterpret_cast<CompiledC::Run>(::dlsym(loaded.get(), (model.name + "_run").c_str()));
  if (!entry) return failure(Code::internal, "what was compiled has no '{}_run'", model.name);
  return std::unique_ptr<WrittenModel>(std::make_unique<CompiledC>(std::move(loaded), entry, model));
}

#endif

}  // namespace nnex
