#include "api/compiled_c.h"

#include <fmt/format.h>

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/system_text.h"
#include "base/try.h"

extern char** environ;
#endif

namespace nnex {

#if defined(__EMSCRIPTEN__) || defined(_WIN32)

Result<std::unique_ptr<WrittenModel>> compile_c(const c_format::Written&, const std::string&) {
  return Error(Code::unsupported,
               "this system starts no compiler, which proves C output; needed to write it without a proof");
}

#else

namespace {

constexpr std::string_view kCompilerUse = "a C compiler proves C output (CC names another one)";

/// Writing without a proof.
Remedy unproven() { return {"proof", "none", "writes it without a proof"}; }

/// Runs a program; what it prints goes to a file. Its exit code.
Result<int> run_quietly(const std::vector<std::string>& words, const std::string& log) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions)) return Error(Code::limit, "no memory to start a program");
  const auto destroy = [](posix_spawn_file_actions_t* a) { posix_spawn_file_actions_destroy(a); };
  const std::unique_ptr<posix_spawn_file_actions_t, decltype(destroy)> owner(&actions, destroy);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ))
    return failure(Code::unsupported, "'{}' cannot be started: {}; {}", words[0], std::strerror(error), kCompilerUse)
        .helped_by(unproven());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
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

Result<std::unique_ptr<WrittenModel>> compile_c(const c_format::Written& model, const std::string& path) {
  const std::string library = path + ".so", log = path + ".log";
  std::vector<std::string> words;
  const char* named = std::getenv("CC");
  std::string_view command = named && *named ? named : "cc";
  for (std::string_view word; !(word = take_word(command)).empty();) words.emplace_back(word);
  if (words.empty()) words.push_back("cc");
  for (const char* word : {"-std=c99", "-O2", "-fPIC", "-shared", "-o"}) words.emplace_back(word);
  words.push_back(library), words.push_back(path), words.emplace_back("-lm");
  NNEX_ASSIGN(const int code, run_quietly(words, log));
  if (code != 0) {
    const auto printed = read_begin(log, 400);
    return Error(code == 127 ? Code::unsupported : Code::internal,
                 fmt::format("'{}' ended with exit code {} on what would be written; {}{}", words[0], code,
                             kCompilerUse, printed.ok() && !printed->empty() ? ":\n" + *printed : ""))
        .helped_by(unproven());
  }
  std::unique_ptr<void, Closer> loaded(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!loaded)
    return failure(Code::unsupported, "what was compiled cannot be loaded: {}; {}", ::dlerror(), kCompilerUse)
        .helped_by(unproven());
  const auto run = reinterpret_cast<CompiledC::Run>(::dlsym(loaded.get(), (model.name + "_run").c_str()));
  if (!run) return failure(Code::internal, "what was compiled has no '{}_run'", model.name);
  return std::unique_ptr<WrittenModel>(std::make_unique<CompiledC>(std::move(loaded), run, model));
}

#endif

}  // namespace nnex
