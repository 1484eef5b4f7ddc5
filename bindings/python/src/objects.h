#pragma once
// What all files of the module share: references, errors, handles of the C interface as Python objects.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <nnex.h>
#include <structmember.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace nnex_python {

/// A reference that is owned.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref of(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && Py_IsInitialized()) Py_DECREF(object_);  // not while the interpreter ends (Stay, ending)
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Thrown where Python has an exception set; guarded() ends in it.
struct Raised {};

/// What a call of Python's gave, where it did not fail.
inline Ref need(PyObject* owned) {
  if (!owned) throw Raised();
  return Ref(owned);
}
inline void need(int result) {
  if (result < 0) throw Raised();
}

/// Sets Python's exception and throws.
[[noreturn]] void raise(PyObject* type, const std::string& text);
/// nnex's error as Python's (nnex.Error and its kinds), with what a callback of Python raised as its cause; what is no
/// Exception there (KeyboardInterrupt) is raised itself. timed_out: a run was cancelled by its own time limit.
[[noreturn]] void raise(nnex_error* error, bool timed_out = false);
inline void need(nnex_error* error) {
  if (error) raise(error);
}
/// What a callback raised, as an error of nnex; the exception is kept as the cause of what is raised at last.
nnex_error* error_of_callback(nnex_code code, const char* where);

/// Where the interpreter ends, CPython ends other threads by unwinding their stacks as soon as they want its lock. C++
/// and Python's objects do not survive that: a thread that meets one of these waits until the process is gone.
class Stay {
 public:
  Stay() = default;
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  void over() { over_ = true; }

 private:
  bool over_ = false;
};

/// The body of everything that Python calls; `failed` is what it gives with an exception set.
template <class F, class R = PyObject*>
R guarded(F body, R failed = nullptr) {
  Stay stay;
  R result = failed;
  try {
    result = body();
  } catch (const Raised&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  stay.over();
  return result;
}

/// What a callback raised, where this text of an error is of it: found by a mark that sentence() takes out again.
Ref cause_of(const char* utf8);
/// Raises what is no Exception but ends a program (KeyboardInterrupt).
void pass_on(Ref& cause);

/// Takes Python's lock (Stay).
void lock(PyThreadState* state);
PyGILState_STATE lock();

/// Whether the interpreter ends, which the thread that has its lock does then.
inline bool ending() { return !Py_IsInitialized(); }

/// Calls nnex while other threads may run Python. Where the interpreter ends its lock is kept: the thread that ends it
/// would not get it again while a subinterpreter is its own.
template <class F>
auto unlocked(F call) {
  if (ending()) return call();
  PyThreadState* const state = PyEval_SaveThread();
  auto result = call();
  lock(state);
  return result;
}

/// In callbacks, which come on any thread. Those that only let something go ask whether the interpreter is `ending`
/// first: what it has goes with the process.
class Locked {
 public:
  Locked() : state_(lock()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// nnex.Cancel: what ends runs that were given it, from any thread.
struct CancelObject {
  PyObject_HEAD std::atomic<bool> set;
};
/// The flag of a nnex.Cancel; TypeError for others.
const std::atomic<bool>* flag_of(PyObject* cancel);

/// Lets Ctrl-C end a long call: where the main thread waits in nnex, and Python's own handler would raise
/// KeyboardInterrupt. Elsewhere Python looks after signals, and handlers of the program's run when the call has ended.
class Interruptible {
 public:
  /// cancel: ends the call, too, once it is true; may be null.
  explicit Interruptible(double timeout = 0, bool long_enough = true, const std::atomic<bool>* cancel = nullptr);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  const nnex_run_options* options() const { return &options_; }
  /// Whether it was not Ctrl-C that ended a call which was cancelled.
  bool timed_out() const;

 private:
  nnex_run_options options_ = {sizeof(nnex_run_options), 0, nullptr, nullptr};
  const std::atomic<bool>* cancel_ = nullptr;
  struct Handler;
  std::unique_ptr<Handler> handler_;
};

// ---- Handles ----

template <class T>
struct HandleObject {
  PyObject_HEAD T* handle;
  PyObject* weak;   // references that do not keep it
  PyObject* keeps;  // of models and graphs their custom operators, where the collector of cycles sees them; else null
};

/// Of each handle how it is freed, and its type in Python, made when the module is loaded.
template <class T>
struct Handle;
#define NNEX_PYTHON_HANDLE(name)                                \
  template <>                                                   \
  struct Handle<nnex_##name> {                                  \
    static void free(nnex_##name* p) { nnex_##name##_free(p); } \
    static inline PyTypeObject* type = nullptr;                 \
  }
NNEX_PYTHON_HANDLE(value);
NNEX_PYTHON_HANDLE(model);
NNEX_PYTHON_HANDLE(session);
NNEX_PYTHON_HANDLE(graph);
NNEX_PYTHON_HANDLE(source);
NNEX_PYTHON_HANDLE(load_options);
NNEX_PYTHON_HANDLE(report);
NNEX_PYTHON_HANDLE(inspection);
NNEX_PYTHON_HANDLE(files);
NNEX_PYTHON_HANDLE(quantized);
NNEX_PYTHON_HANDLE(comparison);
NNEX_PYTHON_HANDLE(ml_context);
NNEX_PYTHON_HANDLE(ml_builder);
NNEX_PYTHON_HANDLE(ml_operand);
NNEX_PYTHON_HANDLE(ml_tensor);
NNEX_PYTHON_HANDLE(ml_graph);
NNEX_PYTHON_HANDLE(ml_value);
#undef NNEX_PYTHON_HANDLE

template <class T>
struct Free {
  void operator()(T* p) const { Handle<T>::free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free<T>>;

/// What a function of nnex makes, or its error raised: made<nnex_model>([&](auto** out) { return nnex_...(out); }).
template <class T, class F>
Owned<T> made(F call) {
  T* out = nullptr;
  nnex_error* const error = unlocked([&] { return call(&out); });
  if (error) raise(error);
  return Owned<T>(out);
}

/// An object of Python's, of this type or of one that is derived from it, that takes the handle over.
template <class T>
PyObject* wrap(Owned<T> handle, PyTypeObject* type = Handle<T>::type) {
  PyObject* const object = PyType_GenericAlloc(type, 0);
  if (!object) throw Raised();
  reinterpret_cast<HandleObject<T>*>(object)->handle = handle.release();
  return object;
}
template <class T>
bool is(PyObject* object) {
  return PyObject_TypeCheck(object, Handle<T>::type);
}
template <class T>
T* handle_of(PyObject* object) {
  return reinterpret_cast<HandleObject<T>*>(object)->handle;
}
/// What dealloc begins with.
template <class T>
void clear_weak(PyObject* self) {
  if (reinterpret_cast<HandleObject<T>*>(self)->weak) PyObject_ClearWeakRefs(self);
}
inline void untrack(PyObject* self) {
  if (PyType_GetFlags(Py_TYPE(self)) & Py_TPFLAGS_HAVE_GC) PyObject_GC_UnTrack(self);
}
template <class T>
void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  untrack(self);
  clear_weak<T>(self);
  Py_CLEAR(reinterpret_cast<HandleObject<T>*>(self)->keeps);
  if (T* const handle = handle_of<T>(self)) unlocked([&] { return Handle<T>::free(handle), 0; });
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/// What the collector of cycles asks of types that keep Python's objects.
template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<HandleObject<T>*>(self)->keeps);
  return 0;
}
template <class T>
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<HandleObject<T>*>(self)->keeps);
  return 0;
}

// ---- Python's values ----

/// A class of nnex/_types.py, by its name.
PyObject* kind(const char* name);

Ref text(const char* utf8);  ///< For people: of bytes that are no UTF-8 marks. None for NULL.
/// Exactly: what is no UTF-8 becomes the lone surrogates of Python's `surrogateescape`, which go back as these bytes.
Ref exact(const char* bytes, size_t size);
Ref name_of(const nnex_port* port);
std::string bytes_of(PyObject* object);   ///< Of str, as `exact` has it; TypeError for others.
Ref sentence(const char* utf8);           ///< The same of an error's, without its mark (cause_of).
std::string text_of(PyObject* object);    ///< The same where a 0 would end it: ValueError for such.
std::string path_of(PyObject* object);    ///< Of str, bytes and path-like objects.
std::string type_name(PyObject* object);  ///< "list": for messages.
/// Puts the name before the text of a TypeError, ValueError or OverflowError that is set.
void name_error(const std::string& name);
/// Calls body; what it raises about a value names it: "input 'x': found ...".
template <class F>
auto named(const std::string& name, F body) {
  try {
    return body();
  } catch (const Raised&) {
    name_error(name);
    throw;
  }
}
/// dict[key] = value.
void set(PyObject* dict, const char* key, Ref value);
/// dict[key], or null where there is none or it is None.
PyObject* member(PyObject* dict, const char* key);
int64_t integer_of(PyObject* object);
double real_of(PyObject* object);
bool truth_of(PyObject* object);
std::vector<std::string> texts_of(PyObject* sequence);
std::vector<const char*> pointers(const std::vector<std::string>& texts);
template <class F>
void each(PyObject* iterable, F body) {
  const Ref iterator = need(PyObject_GetIter(iterable));
  while (const Ref item{PyIter_Next(iterator.get())}) body(item.get());
  if (PyErr_Occurred()) throw Raised();
}
/// body(key, value), of a dict or another mapping.
template <class F>
void each_pair(PyObject* mapping, F body) {
  const Ref items = need(PyMapping_Items(mapping));
  each(items.get(), [&](PyObject* pair) {
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
      raise(PyExc_TypeError, "found items that are no pairs; needed a mapping");
    body(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
  });
}
inline PyCFunction method(PyCFunctionWithKeywords f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

// ---- Values (values.cpp) ----

/// NumPy, where it is installed; else null.
PyObject* numpy();
/// "float32", as NumPy and ml_dtypes call them.
const char* numpy_name(nnex_dtype dtype);
nnex_dtype dtype_of(PyObject* name);
/// What a value is for: numbers without a type get its.
struct Wanted {
  nnex_dtype dtype = NNEX_NONE;
  std::string type;  ///< "sequence(f32[2])"; "": not known.

  Wanted() = default;
  explicit Wanted(const nnex_port* port);
  explicit Wanted(std::string text);
  Wanted inside() const;       ///< Of a sequence, an optional, a map what it holds.
  nnex_dtype of_keys() const;  ///< Of a map; NNEX_NONE of others.
};
/// A mapping as a dict; null: it is none, or a value of another kind.
Ref dict_of(PyObject* object);
/// An object as a value.
Owned<nnex_value> value_of(PyObject* object, const Wanted& wanted = {});
/// A copy of a tensor whose elements have bytes of their own; of all else null.
Owned<nnex_value> copied(const nnex_value* tensor);
/// A value as Python has it: arrays of NumPy's where it is there, lists, dicts.
Ref python_of(Owned<nnex_value> value);
/// A nnex.Port.
Ref port_of(const nnex_port* port);
template <class F>
Ref ports_of(size_t count, F port) {
  Ref list = need(PyList_New(0));
  for (size_t i = 0; i < count; ++i) need(PyList_Append(list.get(), port_of(port(i)).get()));
  return list;
}

// ---- Sources and options (options.cpp) ----

Owned<nnex_source> source_of(PyObject* object);
/// Of a dict that nnex/__init__.py makes; `source` tells what is likely carried, and may be null.
Owned<nnex_load_options> load_options_of(PyObject* dict, const nnex_source* source);
/// A graph as options of loading change it; null: they change nothing.
Owned<nnex_graph> graph_with(PyObject* graph, PyObject* dict);
/// custom.cpp. The options hold it weakly: what keeps it is `keep`.
void add_custom_op(nnex_load_options* options, PyObject* op);
/// The object keeps the custom operators of a dict of options, and those that another model or graph keeps; both may be
/// null. Gives the object.
PyObject* keep(PyObject* object, PyObject* options, PyObject* other);

// ---- What the module is made of: types, and functions ----

void add_cancel(PyObject* module);
void add_values(PyObject* module);
void add_models(PyObject* module);
void add_graphs(PyObject* module);
void add_webnn(PyObject* module);
extern PyMethodDef value_functions[], model_functions[], graph_functions[], report_functions[], webnn_functions[];

/// Makes a type and adds it; its objects begin as HandleObject<T>.
template <class T>
void add_type(PyObject* module, PyType_Spec spec) {
  PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(HandleObject<T>, weak), READONLY, nullptr},
                           {nullptr, 0, 0, 0, nullptr}};
  std::vector<PyType_Slot> slots = {{Py_tp_members, members}};
  for (const PyType_Slot* slot = spec.slots; slot->slot != 0; ++slot) slots.push_back(*slot);
  slots.push_back({0, nullptr});
  spec.slots = slots.data();
  const Ref type = need(PyType_FromSpec(&spec));
  Handle<T>::type = reinterpret_cast<PyTypeObject*>(type.get());
  Py_INCREF(type.get());
  const std::string name = spec.name;
  need(PyModule_AddObjectRef(module, name.substr(name.rfind('.') + 1).c_str(), type.get()));
}

}  // namespace nnex_python
