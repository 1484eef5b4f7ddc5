#pragma once
// What `nnex batch` works on: the items, and which of them are this process's.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nnex/result.h"

namespace nnex::cli {

/// One input of a batch: a file that holds a value of the model's inputs, or a folder with input_0.pb.
struct Item {
  std::string name;            ///< Relative to the folder or list that names it, '/' between folders.
  std::filesystem::path path;  ///< Where it lies.
  /// What tells a changed item: bytes, and the time of the last change. 0 of what is not there, which is a failed item.
  int64_t size = 0, changed = 0;
};

/// The items of a folder, those in folders below it too, in the order of their names; hidden files and `except` (the
/// folder of the answers) are left out, and a folder that links lead to again is visited once. `option`: what named
/// them, for messages. Of a file or "-" (standard input): the paths it lists, one a line, relative to the file's
/// folder. Errors: unreadable; invalid_argument (no items, one listed twice).
Result<std::vector<Item>> items_of(const std::string& option, const std::string& input,
                                   const std::filesystem::path& except);

/// Part `index` of `count`, from 1.
struct Shard {
  int64_t index = 1, count = 1;
};
/// "2/8"; "auto": as Open MPI, Slurm (an array of jobs, or a job's tasks) or PMI number this process. Errors:
/// invalid_argument.
Result<Shard> shard_of(const std::string& word);
/// Which of how many ranks of one `mpirun` this process is; 1 of 1: of none.
Shard rank_of_open_mpi();
/// Whether the item is of the shard: by a hash of its name, so that items added later move no others.
bool belongs(const Item& item, const Shard& shard);

}  // namespace nnex::cli
