// Convolution, dense, pooling, upsampling (cvm.md 9.4).

#include "ops/window.h"
#include "standards/cvm/import_quirks.h"

namespace nnex::cvm_format {
namespace {

Status check_word(const NodeImport& n, std::string_view attr, std::string_view needed, std::string_view or_else = {}) {
  const std::string found = n.text(attr, needed);
  if (found == needed || (!or_else.empty() && found == or_else)) return {};
  return n.error("{} is '{}'; needed '{}'", attr, found, needed);
}

}  // namespace

/// channels and kernel_size only repeat the filter's shape; upstream never compares them.
Status prepare_conv2d(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 4));
  NNEX_TRY(n.check_rank(1, 4));
  NNEX_TRY(check_word(n, "layout", "NCHW"));
  NNEX_TRY(check_word(n, "kernel_layout", "OIHW"));
  NNEX_TRY(check_word(n, "out_layout", "__undef__", "NCHW"));
  NNEX_TRY(check_word(n, "out_dtype", "same", "int32"));
  const Ints kernel = n.tuple("kernel_size", {}), stride = n.tuple("strides", {1, 1}),
             padding = n.tuple("padding", {0, 0}), dilation = n.tuple("dilation", {1, 1});
  const int64_t channels = n.integer("channels", 0), groups = n.integer("groups", 1);
  NNEX_TRY(n.check_list("kernel_size", kernel, 2, 1, INT32_MAX));
  NNEX_TRY(n.check_list("strides", stride, 2, 1, kMaxAttr));
  NNEX_TRY(n.check_list("padding", padding, 2, 0, kMaxAttr));
  NNEX_TRY(n.check_list("dilation", dilation, 2, 1, kMaxAttr));
  const Shape &x = n.shape(0), &w = n.shape(1);
  if (groups < 1 || x[1] % groups || channels < 1 || channels % groups)
    return n.error("{} groups for {} channels in and {} out", groups, x[1], channels);
  if (n.in.size() > 2 && !(n.shape(2) == Shape{channels}))
    return runtime_error("conv2d: the bias is {}; needed [{}]", n.shape(2).text(), channels);
  if (!(w == Shape{channels, x[1] / groups, kernel[0], kernel[1]}))
    return n.error("the filter is {}; needed {}", w.text(),
                   Shape{channels, x[1] / groups, kernel[0], kernel[1]}.text());
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1, room = x[static_cast<int64_t>(2 + i)] + 2 * padding[i];
    if (reach > room) return n.error("the kernel reaches over {} elements of {}", reach, room);
  }
  n.become({{"strides", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}});
  return {};
}

Status prepare_dense(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 2));
  const Shape needed{n.integer("units", 0), n.shape(0)[1]};
  if (!(n.shape(1) == needed))
    return runtime_error("dense: the weight is {}; needed {}", n.shape(1).text(), needed.text());
  if (n.in.size() > 2 && !(n.shape(2) == Shape{needed[0]}))
    return runtime_error("dense: the bias is {}; needed [{}]", n.shape(2).text(), needed[0]);
  n.become({});
  return {};
}

/// No window may begin beyond the input: others drop such a window, CVM refuses it.
Status prepare_max_pool2d(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 4));
  NNEX_TRY(check_word(n, "layout", "NCHW"));
  const Ints size = n.tuple("pool_size", {}), stride = n.tuple("strides", {1, 1});
  Ints padding = n.tuple("padding", {0, 0});
  if (padding.size() == 1) padding.push_back(padding[0]);
  const bool ceil = n.boolean("ceil_mode", false);
  NNEX_TRY(n.check_list("pool_size", size, 2, 1, INT32_MAX));
  NNEX_TRY(n.check_list("strides", stride, 2, 1, kMaxAttr));
  NNEX_TRY(n.check_list("padding", padding, 2, 0, kMaxAttr));
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = n.shape(0)[static_cast<int64_t>(2 + i)], room = extent + 2 * padding[i];
    if (padding[i] >= size[i] || size[i] > room)
      return n.error("a window of {} over {} elements with padding {}", size[i], extent, padding[i]);
    const int64_t last = window_count(room, size[i], stride[i], ceil) - 1;
    if (ceil && last * stride[i] - padding[i] >= extent)
      return n.error("the last window begins at {}, beyond the {} elements", last * stride[i] - padding[i], extent);
  }
  n.become({{"pool_size", size}, {"strides", stride}, {"padding", padding}, {"ceil_mode", ceil}});
  return {};
}

Status prepare_upsampling(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 4));
  NNEX_TRY(check_word(n, "layout", "NCHW"));
  NNEX_TRY(check_word(n, "method", "NEAREST_NEIGHBOR"));
  const int64_t scale = n.integer("scale", 0);
  NNEX_TRY(n.check_range("scale", scale, 1, kMaxAttr));
  const Shape& x = n.shape(0);
  n.become({{"scale", Ints{x[0], x[1], x[2] * scale, x[3] * scale}}});
  return {};
}

}  // namespace nnex::cvm_format
