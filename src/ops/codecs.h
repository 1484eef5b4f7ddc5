#pragma once
// Codecs a spelling may name (Rename in ops/table.h): how a format's attribute value becomes ours, and back.

#include "ops/table.h"

namespace nnex {

extern const Codec one_item_list;     ///< axis = 2  <->  axes = [2]
extern const Codec int_bool;          ///< 1  <->  true
extern const Codec inverse_bool;      ///< 1  <->  false
extern const Codec begins_ends;       ///< [b0, b1, e0, e1]  <->  [(b0, e0), (b1, e1)]
extern const Codec zero_literal;      ///< allowzero = 1  <->  zero = literal
extern const Codec halves;            ///< [(b0, e0), (b1, e1)]  <->  [b0, b1, e0, e1], a list for a parameter port
extern const Codec nnef_border;       ///< reflect-even  <->  reflect_even; other words stay
extern const Codec webnn_border;      ///< edge, reflection  <->  replicate, reflect; other words stay
extern const Codec onnx_border;       ///< edge, reflect, wrap, constant  <->  the core's border words
extern const Codec padded_or_inside;  ///< count_include_pad = 1  <->  divisor = padded, 0  <->  inside
extern const Codec interleaved;       ///< [b0, e0, b1, e1]  <->  [(b0, e0), (b1, e1)]
extern const Codec full_rank_ints;    ///< per spatial axis  <->  with 1, 1 for batch and channels in front
extern const Codec full_rank_pads;    ///< [b..., e...] of spatial axes  <->  pairs with (0,0), (0,0) in front
/// [b0, e0, b1, e1] of two spatial axes  <->  pairs with (0,0), (0,0) in front
extern const Codec full_rank_interleaved;
extern const Codec full_rank_both_sides;  ///< [1, 2] or [1]  <->  [(0,0), (0,0), (1,1), (2,2)]
extern const Codec storage_order;         ///< 0, 1  <->  index_as = tensor, tensor_column_major
extern const Codec rounding_up;           ///< 'ceil', 'floor'  <->  true, false
extern const Codec normalized;            ///< true, false  <->  divisor = window, one
extern const Codec lower_case;            ///< 'DCR'  <->  'dcr'
extern const Codec onnx_dtype;            ///< ONNX element type number  <->  dtype

/// The DType of an ONNX TensorProto.DataType number; none for 0 and unknown ones.
DType dtype_of_onnx(int64_t number);
/// The ONNX number of a DType; 0 when it has none.
int64_t onnx_number(DType type);

}  // namespace nnex
