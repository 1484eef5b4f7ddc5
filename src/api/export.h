#pragma once
// From one standard's graph to another's file: what must happen to a graph before a writer can say it.

#include "nnex/format.h"
#include "standards/cvm/write.h"
#include "standards/nnef/write.h"
#include "standards/onnx/own_nodes.h"
#include "standards/onnx/write.h"

namespace nnex {

/// An NNEF document of the graph. Where NNEF has no words for it as it is, it is made plain on the way: functions
/// inlined, shapes computed, constants folded. Operations that NNEF lacks become what their rows' bodies say, where
/// they have one. Errors: unsupported, naming every operation that is left (unless options.custom), or what keeps the
/// document from being read again; those of write_document and of inference.
Result<nnef_format::Written> to_nnef(ir::Graph& graph, const nnef_format::WriteOptions& options);

/// An ONNX model of the graph, which is changed on the way into ONNX's conventions. Operations that ONNX lacks become
/// sentences of others, or what their rows' bodies say. Functions of the model stay functions where that can be.
/// `own`: the model that the graph was read from; what it still has of its nodes is written in their words where
/// options.opset has the same operators. Errors: unsupported, naming every operation that is left (unless
/// options.custom); those of inference.
Result<onnx_format::Written> to_onnx(ir::Graph& graph, const onnx_format::WriteOptions& options,
                                     std::shared_ptr<const onnx_format::OwnModel> own = nullptr);

/// A CVM model of a graph that computes with int32 alone, though formats without that type may carry it as int64:
/// what such a graph was read from NNEF for is read as int32 again. Errors: unsupported (the first node that CVM
/// cannot say), those of inference.
Result<cvm_format::ModelFiles> to_cvm(ir::Graph& graph);

/// Whether a graph can be said in a standard: what convert() would refuse it for. Errors: as of convert().
Status can_say(ir::Graph graph, Format format);

}  // namespace nnex
