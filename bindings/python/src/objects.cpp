#include "objects.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace nnex_python {
namespace {

constexpr std::string_view kMark = "\1nnex:";  // before the number of a cause, in an error's sentence
constexpr char kMarkEnd = '\1';
constexpr size_t kCauses = 64;
std::map<uint64_t, Ref>& causes() {  // the last ones, for errors that are on their way; the lock of Python guards them
  static auto* const all = new std::map<uint64_t, Ref>;
  return *all;
}

unsigned long main_thread() {
  static const unsigned long ident = [] {
    unsigned long found = 0;
    const Ref threading(PyImport_ImportModule("threading"));
    const Ref thread(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
    const Ref number(thread ? PyObject_GetAttrString(thread.get(), "ident") : nullptr);
    if (number) found = PyLong_AsUnsignedLong(number.get());
    PyErr_Clear();
    return found;
  }();
  return ident;
}

/// Whether SIGINT does what it does in every program of Python that says nothing else.
bool raises_interrupt() {
  const Ref module = need(PyImport_ImportModule("signal"));
  const Ref handler = need(PyObject_CallMethod(module.get(), "getsignal", "i", SIGINT));
  return handler.get() == need(PyObject_GetAttrString(module.get(), "default_int_handler")).get();
}

volatile std::sig_atomic_t interrupted = 0;
struct sigaction pythons;  // what SIGINT did before
/// What SIGINT did when the module was loaded: Python's own function, unless a program of C was faster.
const struct sigaction at_first = [] {
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  return now;
}();
bool is_default(const struct sigaction& a) {
  return !(a.sa_flags & SA_SIGINFO) && (a.sa_handler == SIG_IGN || a.sa_handler == SIG_DFL);
}
int watching = 0;  // calls that are on; the lock of Python guards it

void on_interrupt(int signal, siginfo_t* info, void* context) {
  interrupted = 1;
  if (pythons.sa_flags & SA_SIGINFO) return pythons.sa_sigaction(signal, info, context);
  pythons.sa_handler(signal);
}

}  // namespace

struct Interruptible::Handler {
  Handler() {
    if (watching++ > 0) return;
    interrupted = 0;
    struct sigaction ours = {};
    ours.sa_sigaction = on_interrupt;
    ours.sa_flags = SA_SIGINFO;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &pythons);
  }
  ~Handler() {
    if (--watching == 0) sigaction(SIGINT, &pythons, nullptr);
  }
};

Interruptible::Interruptible(double timeout, bool long_enough, const std::atomic<bool>* cancel) : cancel_(cancel) {
  if (!(timeout >= 0)) raise(PyExc_ValueError, "found a timeout below 0; needed seconds");
  constexpr double kLongest = 9e9;  // of int64 nanoseconds
  options_.timeout_ns = static_cast<int64_t>((timeout < kLongest ? timeout : kLongest) * 1e9);
  if (timeout > 0 && options_.timeout_ns == 0) options_.timeout_ns = 1;
  options_.context = this;
  if (cancel) options_.cancelled = [](void* self) { return static_cast<Interruptible*>(self)->cancel_->load(); };
  if (!long_enough || PyThread_get_thread_ident() != main_thread() || !raises_interrupt()) return;
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0 || is_default(now)) return;
  const bool one_of_c = now.sa_handler != at_first.sa_handler && now.sa_sigaction != on_interrupt;
  if (one_of_c && !is_default(at_first)) return;
  handler_ = std::make_unique<Handler>();
  options_.cancelled = [](void* self) {
    const auto* const cancel = static_cast<Interruptible*>(self)->cancel_;
    return interrupted != 0 || (cancel && *cancel);
  };
}

Interruptible::~Interruptible() = default;

bool Interruptible::timed_out() const {
  return options_.timeout_ns > 0 && !(handler_ && interrupted) && !(cancel_ && *cancel_);
}

Stay::~Stay() {
  while (!over_) pause();
}

void lock(PyThreadState* state) {
  Stay stay;
  PyEval_RestoreThread(state);
  stay.over();
}
PyGILState_STATE lock() {
  Stay stay;
  const PyGILState_STATE state = PyGILState_Ensure();
  stay.over();
  return state;
}

Ref cause_of(const char* utf8) {
  const char* const mark = utf8 ? std::strstr(utf8, kMark.data()) : nullptr;
  const auto at = mark ? causes().find(std::strtoull(mark + kMark.size(), nullptr, 10)) : causes().end();
  if (at == causes().end()) return {};
  Ref found = std::move(at->second);
  causes().erase(at);
  return found;
}

void pass_on(Ref& cause) {
  if (!cause || PyObject_TypeCheck(cause.get(), reinterpret_cast<PyTypeObject*>(PyExc_Exception))) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.get())), cause.get());
  throw Raised();
}

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw Raised();
}

void raise(nnex_error* error, bool timed_out) {
  const std::unique_ptr<nnex_error, void (*)(nnex_error*)> owned(error, nnex_error_free);
  Ref why = cause_of(nnex_error_message(error));
  pass_on(why);
  if (nnex_error_code(error) == NNEX_CANCELLED) need(PyErr_CheckSignals());  // KeyboardInterrupt, if that was it
  const Ref errors = need(PyImport_ImportModule("nnex._errors"));
  const Ref made =
      need(PyObject_CallMethod(errors.get(), "error_of", "iiNNNNNN", static_cast<int>(nnex_error_code(error)),
                               timed_out ? 1 : 0, text(nnex_error_code_name(error)).release(),
                               sentence(nnex_error_message(error)).release(), text(nnex_error_where(error)).release(),
                               sentence(nnex_error_text(error)).release(), text(nnex_error_webnn_name(error)).release(),
                               exact(nnex_error_message(error), std::strlen(nnex_error_message(error))).release()));
  if (why) PyException_SetCause(made.get(), why.release());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
  throw Raised();
}

nnex_error* error_of_callback(nnex_code code, const char* where) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  const Ref said(value ? PyObject_Str(value) : nullptr);
  const Ref name(type ? PyObject_GetAttrString(type, "__name__") : nullptr);
  const char* const words = said ? PyUnicode_AsUTF8AndSize(said.get(), nullptr) : nullptr;
  const char* const kind = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  PyErr_Clear();
  static uint64_t last = 0;
  std::string words_of_it = kind ? kind : "an exception";
  if (words && *words) words_of_it += std::string(": ") + words;
  words_of_it += std::string(kMark) + std::to_string(++last) + kMarkEnd;
  nnex_error* const error = nnex_error_make(code, words_of_it.c_str(), where);
  if (value) causes()[last] = Ref(value);
  while (causes().size() > kCauses) causes().erase(causes().begin());
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return error;
}

PyObject* kind(const char* name) {
  const Ref types = need(PyImport_ImportModule("nnex._types"));
  return need(PyObject_GetAttrString(types.get(), name)).release();
}

Ref text(const char* utf8) {
  if (!utf8) return Ref::of(Py_None);
  return need(PyUnicode_DecodeUTF8(utf8, static_cast<Py_ssize_t>(std::strlen(utf8)), "replace"));
}

Ref sentence(const char* utf8) {
  std::string plain = utf8 ? utf8 : "";
  for (size_t at = 0; (at = plain.find(kMark, at)) != std::string::npos;) {
    const size_t end = plain.find(kMarkEnd, at + kMark.size());
    plain.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
  return text(plain.c_str());
}

std::string type_name(PyObject* object) {
  const Ref name = need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  return text_of(name.get());
}

void name_error(const std::string& name) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (type == PyExc_UnicodeEncodeError) {  // whose own words are of five parts
    Py_INCREF(PyExc_ValueError);
    Py_XDECREF(std::exchange(type, PyExc_ValueError));
  }
  if (type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_OverflowError) {
    const Ref said(value ? PyObject_Str(value) : nullptr);
    const char* const words = said ? PyUnicode_AsUTF8AndSize(said.get(), nullptr) : nullptr;
    PyErr_Clear();
    PyErr_SetString(type, (name + ": " + (words ? words : "")).c_str());
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return;
  }
  PyErr_Restore(type, value, trace);
}

Ref exact(const char* bytes, size_t size) {
  return need(PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(size), "surrogateescape"));
}

Ref name_of(const nnex_port* port) { return exact(nnex_port_name(port), nnex_port_name_size(port)); }

std::string bytes_of(PyObject* object) {
  if (!PyUnicode_Check(object)) raise(PyExc_TypeError, "found " + type_name(object) + "; needed str");
  Py_ssize_t size = 0;
  if (const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size)) return {utf8, static_cast<size_t>(size)};
  PyErr_Clear();
  const Ref encoded = need(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"));
  char* bytes = nullptr;
  need(PyBytes_AsStringAndSize(encoded.get(), &bytes, &size));
  return {bytes, static_cast<size_t>(size)};
}

std::string text_of(PyObject* object) {
  std::string text = bytes_of(object);
  if (text.find('\0') != std::string::npos) raise(PyExc_ValueError, "found a text with a character 0");
  return text;
}

std::string path_of(PyObject* object) {
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(object, &bytes)) throw Raised();
  const Ref owned(bytes);
  char* data = nullptr;
  Py_ssize_t size = 0;
  need(PyBytes_AsStringAndSize(bytes, &data, &size));
  return {data, static_cast<size_t>(size)};
}

void set(PyObject* dict, const char* key, Ref value) { need(PyDict_SetItemString(dict, key, value.get())); }

PyObject* member(PyObject* dict, const char* key) {
  PyObject* const found = dict ? PyDict_GetItemString(dict, key) : nullptr;
  return found == Py_None ? nullptr : found;
}

int64_t integer_of(PyObject* object) {
  const Ref index = need(PyNumber_Index(object));
  const long long value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred()) throw Raised();
  return value;
}

double real_of(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) throw Raised();
  return value;
}

bool truth_of(PyObject* object) {
  const int truth = PyObject_IsTrue(object);
  need(truth);
  return truth != 0;
}

std::vector<std::string> texts_of(PyObject* sequence) {
  if (PyUnicode_Check(sequence)) return {text_of(sequence)};
  std::vector<std::string> texts;
  each(sequence, [&](PyObject* item) { texts.push_back(text_of(item)); });
  return texts;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& t : texts) out.push_back(t.c_str());
  return out;
}

}  // namespace nnex_python
