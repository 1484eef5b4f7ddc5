#pragma once
/// Inputs of a model from files: arrays, messages, tensors, JSON, tables, pictures, sound, bare bytes, folders of them.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/model.h"

#pragma GCC visibility push(default)
namespace nnex {

enum class PictureLayout : uint8_t {
  automatic,  ///< By the input's extents: the axis of 1 or 3 is that of the channels.
  nchw,
  nhwc
};

/// How a picture becomes a tensor: resized to the input's rows and columns; for floats value = (pixel / 255 - mean) /
/// scale, channel by channel, for integers the pixel itself.
struct PictureOptions {
  PictureLayout layout = PictureLayout::automatic;
  std::vector<double> mean = {}, scale = {};  ///< One for each channel, or one for all; empty: 0 and 1.
  bool bgr = false;                           ///< Blue first.
};

/// How recorded sound becomes a tensor: for floats a sample is its part of the greatest one, from -1 to below 1, for
/// integers the sample itself. Channels are never mixed, and nothing is resampled.
struct AudioOptions {
  int64_t sample_rate = 0;  ///< Samples a second that the model takes: others are refused; 0: any.
};

/// How values become what an input takes.
struct InputFileOptions {
  PictureOptions picture = {};
  AudioOptions audio = {};
  bool cast = false;  ///< Another element type is converted; else it is refused.
  /// Of a .npz file, as in LoadOptions: bytes that it may unpack to for one of its own (below 64 MiB any number; 0:
  /// 32), and in all (0: three quarters of what this process may have).
  int64_t archive_ratio = 0, archive_limit = 0;
};

/// A file or folder that was opened. Moves only.
class InputFile {
 public:
  /// A folder, or a file by its ending: .npy, .npz, .pb (ONNX), .dat (NNEF), .json, .csv (rows of numbers, whose
  /// columns may have names), .wav (PCM or floats), .raw or .bin (bare elements, little endian), a picture (.png .jpg
  /// .webp .bmp .tif .jp2 .ppm). Errors: unreadable; invalid_argument (an ending that says nothing).
  static Result<InputFile> open(const std::string& path);
  /// The same of bytes in memory, whose kind their content tells: NumPy, JSON, a tensor file of NNEF, a picture, sound,
  /// a table that begins with a number, else a message of ONNX. They are copied; `name` is for messages.
  static Result<InputFile> from_bytes(std::string name, std::string_view bytes);

  /// Whether a file's ending is one of those that open() takes.
  static bool has_ending(const std::string& path);

  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;
  ~InputFile();

  /// Whether it gives inputs by their names: a .npz archive, a JSON object, a folder.
  bool by_names() const;
  /// Whether it is a picture, or sound, or a folder, in which one may be.
  bool may_be_picture() const;
  bool may_be_sound() const;
  /// Its value for the input: its only array, or the one of the input's name. Aligned as kernels want it, so that no
  /// run copies it. A table is [rows, columns]: an input of one axis takes a row or a column, one of three axes and
  /// more takes the numbers in reading order. Sound is [n] of one channel, [channels, n] or [n, channels], whichever
  /// the input says, or [1, n]. Signed bytes stand for the wider integers that integer networks take, i32 for i64. Of a
  /// sequence, a map or a sparse tensor a .pb is ONNX's message of such; of a sequence JSON is the list of its items,
  /// of a map an object; an optional is null, or what its value takes. Errors: unreadable, invalid_argument (found and
  /// needed).
  Result<Value> value(const PortInfo& port, const InputFileOptions& options = {}) const;
  /// All it has, by the names of inputs; of a folder input_0.pb, input_1.pb ..., or files with the inputs' names.
  /// Errors: as of value(); invalid_argument for a name no input has.
  Result<std::map<std::string, Value>> values(const std::vector<PortInfo>& ports,
                                              const InputFileOptions& options = {}) const;

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  explicit InputFile(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex
#pragma GCC visibility pop
