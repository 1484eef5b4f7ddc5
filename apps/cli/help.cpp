// nnex help, completion: what is described, for people and shells.

#include "cli.h"

namespace nnex::cli {
namespace {

int shown(const Result<std::string>& text) {
  if (!text.ok()) return report(text.error());
  say("{}", *text);
  return kOk;
}

const std::vector<ManualSection>& manual_sections() {
  static const std::vector<ManualSection> sections = {
      {"ENVIRONMENT",
       {{"NNEX_ISA",
         "The instruction set to keep to, for comparison: scalar, sse4, avx2, avx512 or neon; absent: the best that "
         "this machine runs. Another word is refused."},
        {"NNEX_PROGRESS",
         "always: what takes longer than a second says so on standard error, in logs too; never: nowhere; absent: on "
         "terminals, but where TERM is dumb."},
        {"PEER_ORT",
         "The folder with node_modules/onnxruntime-node, for compare --against peer; absent: this folder or one "
         "above."},
        {"CC", "The compiler that proves what convert writes as C; absent: cc."},
        {"TMPDIR", "Where a model that goes to standard output is made; absent: /tmp."},
        {"OMPI_COMM_WORLD_RANK, SLURM_ARRAY_TASK_ID, SLURM_PROCID, PMI_RANK",
         "With the variables that say how many there are: which part of the items batch --shard auto takes."}}},
      {"FILES",
       {{"test_data_set_0/",
         "Beside a model: input_0.pb, input_1.pb and so on, which bench, profile and compare take."},
        {"NAME.XXXX-N.tmp",
         "What is being written, beside the name that it will have; a signal removes it. What is left of a program "
         "that was killed may be removed."},
        {"manifest.jsonl", "In the folder of batch's answers: what became of each item, by which it goes on."}}},
      {"EXAMPLES",
       {{"nnex run model.onnx -i cat.png --mean 0.5 --scale 0.5 --topk 5 --labels labels.txt",
         "The five likeliest labels of a picture."},
        {"nnex check model.onnx", "Every fault of a model, each with its place."},
        {"nnex convert model.onnx model.nnef.tgz --set N=1", "The model in another standard, run beside the first."},
        {"nnex compare a.onnx b.onnx", "Whether two models compute the same, and where they begin to differ."},
        {"nnex quantize model.onnx -o small.onnx --calibrate pictures/", "A network of 8-bit codes."},
        {"nnex why model.onnx", "What keeps a model from each standard, from other extents, from faster kernels."}}}};
  return sections;
}

}  // namespace

void add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  line.verb("completion", "Print what makes a shell complete nnex's verbs and options",
            [&line, shell] { return shown(completion(line.text(), *shell)); })
      .option("shell", *shell, "bash, zsh or fish: put the text where the shell looks for completions")
      .required()
      .one_of({"bash", "zsh", "fish"});
}

void add_help(CommandLine& line) {
  struct Asked {
    std::string verb;
    bool man = false;
  };
  auto asked = std::make_shared<Asked>();
  Verb verb = line.verb("help", "Show what a verb takes", [&line, asked] {
    return shown(asked->man ? manual(line.text(), manual_sections()) : line.help(asked->verb));
  });
  verb.option("verb", asked->verb, "The verb; absent: all of them, a line each");
  verb.flag("--man", asked->man, "Print the manual page instead, of all verbs, in the language of man");
}

}  // namespace nnex::cli
