// src/LAYERS says who may include whom; this reads every #include of src/ and checks it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

/// The room that a path from src/ on is in: the innermost folder with a line of its own ("standards/onnx/write.h").
std::string room_of(const std::map<std::string, std::set<std::string>>& layers, const std::string& path) {
  std::string room = path.substr(0, path.find('/'));
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
    if (layers.count(path.substr(0, at))) room = path.substr(0, at);
  return room;
}

/// What is wrong with an #include; empty: nothing.
std::string judge(const std::map<std::string, std::set<std::string>>& layers, const std::string& file,
                  const std::string& included) {
  const size_t slash = included.find('/');
  if (slash == std::string::npos || included.substr(0, slash) == "nnex") return {};
  const std::string from = room_of(layers, file), to = room_of(layers, included);
  const auto rules = layers.find(from);
  if (rules == layers.end()) return file + ": its folder is not in LAYERS";
  if (from == to || rules->second.count(to)) return {};
  return file + " includes " + included + ": " + from + " may not use " + to;
}

TEST(Layers, EveryIncludePointsDown) {
  const fs::path source = fs::path(nnex::test::source_dir()) / "src";
  const auto layers = read_layers(source / "LAYERS");
  ASSERT_GT(layers.size(), 5u);
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".cpp" && ending != ".h") continue;
    const std::string file = fs::relative(entry.path(), source).generic_string();
    EXPECT_TRUE(layers.count(room_of(layers, file))) << file << ": its folder is not in LAYERS";
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("#include \"", 0) != 0) continue;
      ++checked;
      EXPECT_EQ(judge(layers, file, line.substr(10, line.find('"', 10) - 10)), "");
    }
  }
  EXPECT_GT(checked, 50);
}

/// "#include "standards/below.h"" -> "standards/below.h"; empty for other lines.
std::string quoted_include(const std::string& line) {
  if (line.rfind("#include \"", 0) != 0) return {};
  return line.substr(10, line.find('"', 10) - 10);
}

TEST(Layers, ProgramsSeeWhatTheyMay) {
  const fs::path root = nnex::test::source_dir();
  int checked = 0, programs = 0;
  for (const auto& [layer, below] : read_layers(root / "src" / "LAYERS")) {
    if (layer.rfind("apps/", 0) != 0) continue;
    ++programs;
    ASSERT_TRUE(fs::is_directory(root / layer)) << layer;
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".h") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        const std::string included = quoted_include(line);
        const std::string folder = included.substr(0, included.find('/'));
        if (included.empty() || folder == "nnex" || folder == ".." || fs::exists(root / layer / included)) continue;
        ++checked;
        const bool shared = fs::exists(root / "apps" / included);
        EXPECT_TRUE(shared ? layer == "apps/" + folder || below.count("apps/" + folder) : below.count(folder))
            << entry.path() << " includes " << included;
      }
    }
  }
  EXPECT_GE(programs, 3);
  EXPECT_GT(checked, 20);
}

/// libnnex.so hides all that no public header declares, and shows what they do.
TEST(Layers, PublicHeadersAreVisible) {
  int headers = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(nnex::test::source_dir()) / "include" / "nnex")) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NE(text.find("#pragma GCC visibility push(default)"), std::string::npos) << entry.path();
    EXPECT_NE(text.find("#pragma GCC visibility pop"), std::string::npos) << entry.path();
    ++headers;
  }
  EXPECT_GE(headers, 20);
}

/// Flags and verbs are the command line's words; a message of the library names an option, as a Remedy (nnex/result.h).
/// Other programs' flags are named with their owners ("tar's --sparse"), and var(--page) is a colour of CSS.
TEST(Layers, MessagesNameNoFlags) {
  const std::regex literal(R"re(//.*|"((?:[^"\\]|\\.)*)")re"), foreign(R"('s --[\w-]+|var\(--[\w-]+)"),
      flag(R"((^|[^\w-])--[a-z]|`nnex [a-z])");
  const fs::path source = fs::path(nnex::test::source_dir()) / "src";
  int literals = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".cpp" && ending != ".h") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.find('"') == std::string::npos) continue;
      for (std::sregex_iterator it(line.begin(), line.end(), literal), end; it != end; ++it, ++literals)
        EXPECT_FALSE(std::regex_search(std::regex_replace((*it)[1].str(), foreign, ""), flag))
            << fs::relative(entry.path(), source) << ": " << it->str();
    }
  }
  EXPECT_GT(literals, 5000);
}

TEST(Layers, NoStandardSeesAnother) {
  const fs::path source = fs::path(nnex::test::source_dir()) / "src";
  const auto layers = read_layers(source / "LAYERS");
  std::vector<std::string> rooms;
  for (const auto& entry : fs::directory_iterator(source / "standards"))
    if (entry.is_directory()) rooms.push_back(fs::relative(entry.path(), source).generic_string());
  EXPECT_GE(rooms.size(), 5u);
  for (const std::string& room : rooms) {
    ASSERT_TRUE(layers.count(room)) << room;
    for (const std::string& other : rooms) {
      EXPECT_FALSE(layers.at(room).count(other)) << room << " may use " << other;
      if (room == other) continue;
      EXPECT_NE(judge(layers, room + "/write.cpp", other + "/write.h"), "") << room << " and " << other;
    }
    EXPECT_NE(judge(layers, "standards/container.cpp", room + "/write.h"), "") << room;
    EXPECT_EQ(judge(layers, room + "/write.cpp", "standards/container.h"), "") << room;
    EXPECT_EQ(judge(layers, "api/save.cpp", room + "/write.h"), "") << room;
  }
  EXPECT_EQ(judge(layers, "standards/nnef/tract/read.cpp", "standards/nnef/model.h"), "");
}

/// A type's name in its namespaces, as a line at the left edge begins to define it; empty: it does not, or in a
/// namespace without a name.
std::string defined_type(const std::string& line, std::vector<std::string>& namespaces) {
  static const std::regex space(R"((?:inline )?namespace ([\w:]*) ?\{)"),
      type(
          R"((?:template <.*> )?(?:struct|class|union|enum|enum class) (?:\[\[.*?\]\] )?(\w+)(?: final)?(?: :[^:].*)? \{.*)");
  std::smatch found;
  if (std::regex_search(line, found, space, std::regex_constants::match_continuous)) {
    namespaces.push_back(found[1]);
  } else if (line.rfind("}  // namespace", 0) == 0 && !namespaces.empty()) {
    namespaces.pop_back();
  } else if (std::regex_match(line, found, type) && std::count(namespaces.begin(), namespaces.end(), "") == 0) {
    std::string name;
    for (const std::string& n : namespaces) name += n + "::";
    return name + found[1].str();
  }
  return {};
}

/// One name for two types of one namespace: a program that links both has undefined behaviour, and no compiler says so.
TEST(Layers, NoNameIsTwoTypes) {
  std::map<std::string, std::string> defined;  // the file that has it
  for (const char* folder : {"src", "include", "apps"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(nnex::test::source_dir()) / folder)) {
      const std::string ending = entry.path().extension().string(), file = entry.path().generic_string();
      if (ending != ".cpp" && ending != ".h") continue;
      std::ifstream in(entry.path());
      std::vector<std::string> namespaces;
      for (std::string line; std::getline(in, line);) {
        const std::string name = defined_type(line, namespaces);
        if (name.empty()) continue;
        EXPECT_EQ(defined.emplace(name, file).first->second, file) << name;
      }
    }
  EXPECT_GT(defined.size(), 500u);
}

/// No room uses one that uses it, by whatever way.
TEST(Layers, RoomsAreInOrder) {
  const auto layers = read_layers(fs::path(nnex::test::source_dir()) / "src" / "LAYERS");
  std::set<std::string> done;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [room, below] : layers) {
      const bool ready = std::all_of(below.begin(), below.end(), [&](const auto& b) { return done.count(b) > 0; });
      more |= ready && done.insert(room).second;
    }
  }
  for (const auto& [room, below] : layers) EXPECT_TRUE(done.count(room)) << room << " stands on itself";
}

/// A family that families.def lacks would be compiled and never found.
TEST(Layers, EveryFamilyIsListed) {
  const fs::path src = fs::path(nnex::test::source_dir()) / "src";
  for (const auto& [folder, type] : {std::pair("ops", "OpDef"), std::pair("kernels", "KernelDef")}) {
    std::set<std::string> listed;
    std::map<std::string, std::string> defined;  // the file that has it
    const std::regex line(R"(NNEX_FAMILY\((\w+)\))"),
        definition(std::string("std::span<const ") + type + R"(> (\w+)\(\) \{)");
    std::smatch found;
    std::ifstream list(src / folder / "families.def");
    for (std::string text; std::getline(list, text);)
      if (std::regex_match(text, found, line)) {
        EXPECT_TRUE(listed.insert(found[1]).second) << found[1] << " twice";
      }
    for (const auto& file : fs::recursive_directory_iterator(src / folder)) {
      if (file.path().extension() != ".cpp") continue;
      std::ifstream in(file.path());
      for (std::string text; std::getline(in, text);)
        if (std::regex_search(text, found, definition, std::regex_constants::match_continuous))
          defined.emplace(found[1], fs::relative(file.path(), src).generic_string());
    }
    for (const auto& [family, file] : defined)
      EXPECT_TRUE(listed.count(family)) << family << " is defined in src/" << file << " and not listed in src/"
                                        << folder << "/families.def";
    for (const std::string& family : listed)
      EXPECT_TRUE(defined.count(family)) << family << " is listed in src/" << folder
                                         << "/families.def and defined in no file of src/" << folder;
    EXPECT_GT(listed.size(), 20u) << folder;
  }
}

/// Layers that do one job have a namespace of their name, which nobody else opens.
TEST(Layers, AWorkshopHasItsOwnNamespace) {
  const fs::path src = fs::path(nnex::test::source_dir()) / "src";
  const std::regex opened(R"(^(?:inline )?namespace nnex(?:::(\w+))?[\w:]* \{.*)");
  std::map<std::string, int> count;
  for (const auto& file : fs::recursive_directory_iterator(src)) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".h") continue;
    const std::string path = file.path().lexically_relative(src).generic_string(),
                      layer = path.substr(0, path.find('/'));
    std::ifstream in(file.path());
    std::smatch found;
    for (std::string text; std::getline(in, text);) {
      if (!std::regex_match(text, found, opened)) continue;
      for (const std::string workshop : {"kernels", "passes", "plan"})
        if (layer == workshop || found[1].str() == workshop) {
          EXPECT_EQ(layer, found[1].str()) << path << ": " << text;
          ++count[layer];
        }
      if (found[1].str() == "run") {
        EXPECT_EQ(layer, "run") << path;
      }
    }
  }
  EXPECT_GT(count["kernels"], 50);
  EXPECT_GT(count["passes"], 20);
  EXPECT_GT(count["plan"], 5);
}

}  // namespace
