"""What nnex raises: nnex.Error, and a kind of it for each code."""

import errno
import os
import re


class Error(Exception):
    """An error of nnex.

    code: 'invalid model' and the like. where: the place ("model.onnx: node 'conv1' (Conv)"), '' where nobody knew.
    message: what was found and what was needed. name: the specification's name of an error of WebNN, else ''.
    """

    code = where = message = name = ""


class InvalidArgument(Error, ValueError):
    """The request makes no sense: a wrong shape, a name that is not there."""


class Exists(InvalidArgument, FileExistsError):
    """A file is in the way of one that is written."""

    def __str__(self):
        return str(self.args[0])

    def __reduce__(self):
        return _again, (type(self), self.args, self.__dict__, (self.errno, self.strerror, self.filename))


class InvalidType(InvalidArgument, TypeError):
    """What WebNN's specification calls a TypeError."""


class InvalidModel(Error, ValueError):
    """A file or graph breaks a rule of its standard."""


class Unreadable(Error, OSError):
    """A file cannot be opened, read or written."""

    def __str__(self):
        return str(self.args[0])

    def __reduce__(self):
        return _again, (type(self), self.args, self.__dict__, (self.errno, self.strerror, self.filename))


class NotFound(Unreadable, FileNotFoundError):
    """There is no such file."""


class Denied(Unreadable, PermissionError):
    """A file may not be read or written by this user."""


class Unsupported(Error, NotImplementedError):
    """Legal, but nnex lacks it."""


class LimitReached(Error, MemoryError):
    """A limit on memory, size, depth or steps was reached."""


class Fault(Error, ArithmeticError):
    """The data of this run made an operator fail."""


class Cancelled(Error):
    """A run was asked to stop."""


class TimedOut(Cancelled, TimeoutError):
    """A run took longer than its `timeout`."""

    def __str__(self):
        return str(self.args[0])


class InternalError(Error, SystemError):
    """A mistake in nnex."""


def _again(kind, arguments, told, of_system):
    error = kind(*arguments)
    error.__dict__.update(told)
    error.errno, error.strerror, error.filename = of_system
    return error


def refused(message):
    """What is refused before WebNN sees it, as WebNN refuses it."""
    return error_of(0, 0, "invalid argument", message, "", message, "TypeError", message)


def no_keyword(message):
    """Of a keyword that there is not."""
    return error_of(0, 0, "invalid argument", message, "", message, "TypeError", message, of_webnn=False)


# In the order of nnex_code.
_KINDS = (InvalidArgument, InvalidModel, Unreadable, Unsupported, LimitReached, Fault, Cancelled, InternalError)


# What the C interface calls otherwise.
_WORDS = (("nnex_isa()", "nnex.isa"), ("save->", ""), ("options->", ""), ("option external_folder names", "external_folder= names"))
_FIX = "nnex_load_options_symbol or nnex_graph_set_symbol fixes them"


def _ours(text):
    """A sentence of the C interface with what Python calls options, symbols and their values."""
    for word, ours in _WORDS:
        text = text.replace(word, ours)
    if _FIX in text:
        names = [name for extents in re.findall(r"\[([^\]]*)\]", text) for name in re.findall(r"[^\W\d]\w*", extents)]
        symbols = ", ".join(f'"{name}": 1' for name in dict.fromkeys(names)) or '"N": 1'
        text = text.replace(_FIX, f"symbols={{{symbols}}} fixes them")
    return re.sub(r"\boption (\w+) = (\w+)", lambda found: f"{found[1]}={found[2].title() if found[2] in ('true', 'false') else found[2]}", text)


def _of_system(message):
    """What the system said of a file at the end of a sentence, and the file: (errno, path)."""
    for number in errno.errorcode:
        if message.endswith(": " + os.strerror(number)):
            path = re.search("'(.*)': [^']*$", message, re.DOTALL)
            return number, path and path[1]
    if missing := re.search("there is no folder '(.*)'$", message, re.DOTALL):
        return errno.ENOENT, missing[1]
    if exists := re.match("'(.*)' exists(;|$)", message, re.DOTALL):
        return errno.EEXIST, exists[1]
    return None, None


_SYSTEMS = {errno.ENOENT: NotFound, errno.EACCES: Denied, errno.EPERM: Denied}


def error_of(number, timed_out, code, message, where, text, name, exact, of_webnn=True):
    """exact: the message with its bytes that are no UTF-8 as lone surrogates, as paths of Python's have them."""
    kind = _KINDS[number] if 0 <= number < len(_KINDS) else Error
    system, path = _of_system(exact) if kind in (Unreadable, InvalidArgument) else (None, None)
    message, text = _ours(message), _ours(text)
    if not where and (port := re.match("((?:input|output|state|tensor) '.*?'): ", message, re.DOTALL)):
        where, message = port[1], message[port.end():]
    if kind is Unreadable:
        kind = _SYSTEMS.get(system, kind)
    elif kind is InvalidArgument and system == errno.EEXIST:
        kind = Exists
    elif kind is Cancelled and (timed_out or message.endswith("passed its deadline")):
        kind = TimedOut
    elif kind is InvalidArgument and name == "TypeError":
        kind = InvalidType
    error = kind(text.removeprefix(f"{name}: "))
    if system and isinstance(error, OSError):
        error.errno, error.strerror, error.filename = system, os.strerror(system), path
    error.code, error.message, error.where, error.name = code, message, where, name if of_webnn else ""
    return error


for _kind in (Error, Denied, Exists, InvalidType, NotFound, TimedOut, *_KINDS):
    _kind.__module__ = "nnex"
