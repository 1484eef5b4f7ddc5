// unit_tests [googletest's options] [NAME...]: the cases of the files tests/unit/NAME.cpp, or of all. One program holds
// every unit test: the library, instrumented by sanitizers most of all, is linked once, not a hundred times.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

/// The cases of one file as googletest's filter names them; "" where the file has none.
std::string cases_of(const std::string& file) {
  std::string filter;
  const auto& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const auto& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      if (std::filesystem::path(test.file()).stem() == file)
        filter += std::string(filter.empty() ? "" : ":") + suite.name() + "." + test.name();
    }
  }
  return filter;
}

/// What testing::TempDir() names: a folder of this process alone, as several may run at once; gone with it.
class OwnFolder {
 public:
  OwnFolder() : path_(testing::TempDir() + "nnex_tests_XXXXXX") {
    if (mkdtemp(path_.data()))
      setenv("TEST_TMPDIR", path_.c_str(), 1);
    else
      path_.clear();
  }
  ~OwnFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  // A report into a folder (GTEST_OUTPUT=xml:FOLDER/) has the file's name, not the program's.
  auto& report = testing::GTEST_FLAG(output);
  if (argc == 2 && !report.empty() && report.back() == '/') report += std::string(argv[1]) + ".xml";
  testing::InitGoogleTest(&argc, argv);  // takes its own options out
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const std::string found = cases_of(argv[i]);
    if (found.empty()) {
      std::fprintf(stderr, "unit_tests: no case stands in '%s.cpp'; needed: the name of a file of tests/unit\n",
                   argv[i]);
      return 2;
    }
    filter += (filter.empty() ? "" : ":") + found;
  }
  if (!filter.empty()) testing::GTEST_FLAG(filter) = filter;
  const OwnFolder folder;
  return RUN_ALL_TESTS();
}
