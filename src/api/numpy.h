#pragma once
// NumPy's files: one array (.npy), or many in a zip archive (.npz).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/tensor.h"
#include "standards/container.h"

namespace nnex {

/// An array of the format 1.0 to 3.0, row- or column-major; numbers, booleans, strings ('U', 'S').
/// Errors: unreadable, with what is wrong.
Result<Tensor> read_npy(std::string_view bytes);
/// Errors: unsupported for element types NumPy lacks.
Result<std::string> npy_bytes(const Tensor& t, std::string_view name);

/// What a host lets such an archive unpack to, as InputFileOptions has it. Error: invalid_argument (a number below 0).
Result<ContainerLimits> npz_limits(int64_t archive_limit, int64_t archive_ratio);
/// The arrays of a .npz file by name, without ".npy". Errors: unreadable; limit.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path, std::string_view bytes,
                                               const ContainerLimits& limits = {});
/// An archive of these arrays, not compressed, as numpy.savez writes it.
Result<std::string> npz_bytes(const std::vector<std::pair<std::string, Tensor>>& arrays);

}  // namespace nnex
