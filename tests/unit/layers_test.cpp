// src/LAYERS says who may include whom; this reads every #include of src/ and checks it.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "source.h"

namespace {

namespace fs = std::filesystem;

std::map<std::string, std::set<std::string>> read_layers(const fs::path& file) {
  std::map<std::string, std::set<std::string>> layers;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::set<std::string>& below = layers[line.substr(0, colon)];
    std::istringstream names(line.substr(colon + 1));
    for (std::string name; names >> name;) below.insert(name);
  }
  return layers;
}

TEST(Layers, EveryIncludePointsDown) {
  const fs::path source = fs::path(nnex::test::source_dir()) / "src";
  const auto layers = read_layers(source / "LAYERS");
  ASSERT_GT(layers.size(), 5u);
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".cpp" && ending != ".h") continue;
    const std::string layer = fs::relative(entry.path(), source).begin()->string();
    ASSERT_TRUE(layers.count(layer)) << entry.path() << ": its folder is not in LAYERS";
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("#include \"", 0) != 0) continue;
      const std::string included = line.substr(10, line.find('"', 10) - 10);
      const size_t slash = included.find('/');
      if (slash == std::string::npos) continue;
      const std::string folder = included.substr(0, slash);
      if (folder == "nnex" || folder == layer) continue;
      ++checked;
      EXPECT_TRUE(layers.at(layer).count(folder)) << entry.path() << " includes " << included;
    }
  }
  EXPECT_GT(checked, 50);
}

}  // namespace
