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
    return error_of(0, 0, "invalid argument", message, "", message, "TypeError")


# In the order of nnex_code.
_KINDS = (InvalidArgument, InvalidModel, Unreadable, Unsupported, LimitReached, Fault, Cancelled, InternalError)


# What the C interface calls otherwise.
_WORDS = (("nnex_load_options_symbol or nnex_graph_set_symbol fixes them", 'symbols={"N": 1} fixes them'), ("nnex_isa()", "nnex.isa"), ("save->format", "format"), ("and no folder is known", "and no folder is known (external_folder= names it)"))


def error_of(number, timed_out, code, message, where, text, name):
    kind = _KINDS[number] if 0 <= number < len(_KINDS) else Error
    for word, ours in _WORDS:
        message, text = message.replace(word, ours), text.replace(word, ours)
    if kind is Unreadable and message.endswith(os.strerror(errno.ENOENT)):
        kind = NotFound
    elif kind is Cancelled and timed_out:
        kind = TimedOut
    elif kind is InvalidArgument and name == "TypeError":
        kind = InvalidType
    error = kind(text.removeprefix(f"{name}: "))
    if isinstance(error, NotFound):
        error.errno, error.strerror = errno.ENOENT, os.strerror(errno.ENOENT)
        path = re.search("'(.*)': [^']*$", message)
        error.filename = path and path[1]
    error.code, error.message, error.where, error.name = code, message, where, name
    return error


for _kind in (Error, InvalidType, NotFound, TimedOut, *_KINDS):
    _kind.__module__ = "nnex"
