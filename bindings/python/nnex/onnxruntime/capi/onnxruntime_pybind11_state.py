"""ONNX Runtime's names of what is raised: nnex's kinds of errors, for `except` of programs that are ported."""

from ..._errors import (Error as EPFail, Error as Fail, Error as ModelLoaded, Error as RuntimeException, InternalError as EngineError, InvalidArgument,
                        InvalidModel as InvalidGraph, InvalidModel as InvalidProtobuf, NotFound as NoSuchFile, Unreadable as NoModel,
                        Unsupported as NotImplemented)

__all__ = ["EPFail", "EngineError", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoaded", "NoModel", "NoSuchFile", "NotImplemented",
           "RuntimeException"]
