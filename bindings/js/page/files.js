// The files of a model, dropped or chosen, with the paths that they have beside each other.

const answer = (object, method) => new Promise((resolve, reject) => { object[method](resolve, reject); });

/** The files of an entry, with their paths. What begins with a dot is the system's. */
async function below(entry, path) {
  if (entry.isFile) return [[path, await answer(entry, 'file')]];
  const reader = entry.createReader(), entries = [];
  for (let more; (more = await answer(reader, 'readEntries')).length > 0;) entries.push(...more); // some of them at a time
  const shown = entries.filter(({ name }) => !name.startsWith('.'));
  return (await Promise.all(shown.map((each) => below(each, `${path}/${each.name}`)))).flat();
}

/** Paths without the folder that all of them lie in. */
export function relative(files) {
  const folders = files.map(([path]) => path.split('/').slice(0, -1)), [first] = folders;
  let depth = 0;
  while (depth < first?.length && folders.every((folder) => folder[depth] === first[depth])) ++depth;
  return files.map(([path, file]) => [path.split('/').slice(depth).join('/'), file]);
}

/** Their name for messages. */
const nameOf = (tops) => (tops.size === 1 ? [...tops][0] : `${tops.size} files`);

/** What an input of files has: {name, files}, or undefined where that is nothing. */
export function chosen({ files }) {
  const all = Array.from(files, (file) => [file.webkitRelativePath || file.name, file]);
  const seen = all.filter(([path]) => all.length === 1 || !path.split('/').some((part) => part.startsWith('.')));
  return seen.length === 0 ? undefined : { name: nameOf(new Set(seen.map(([path]) => path.split('/')[0]))), files: async () => seen };
}
/** What was dropped, folders too: it is to be asked for at once. */
export function dropped({ items }) {
  const entries = [...items].filter(({ kind }) => kind === 'file').map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  if (entries.length === 0) return undefined;
  const files = async () => (await Promise.all(entries.map((entry) => (entry instanceof File ? [[entry.name, entry]] : below(entry, entry.name))))).flat();
  return { name: nameOf(new Set(entries.map(({ name }) => name))), files };
}

/** The files of some that are models by themselves; others belong to one. */
export const modelsIn = (paths) => paths.filter((path) => /\.(?:onnx|onnxtxt|webnn|tar|tgz|tar\.gz|symbol)$|(?:^|\/)(?:graph\.nnef|symbol)$/i.test(path));

/** What was given: {name, files, models}, files by their paths, and those that are models by themselves. */
export async function filesOf({ name, files }) {
  const all = relative(await files().catch(() => { throw new Error(`'${name}' cannot be read by this browser; needed files that are still there and may be read`); }));
  if (all.length === 0) throw new Error(`'${name}' has no files; needed those of a model`);
  return { name, files: all, models: modelsIn(all.map(([path]) => path)) };
}
/** What nnex reads, anew for every call: one file, or several by their paths; of models `which` alone, with what lies below its folder. */
export function sourceOf({ name, files, models }, which = models[0]) {
  const folder = (which ?? '').replace(/[^/]*$/, '');
  const wanted = files.filter(([path]) => path === which || (path.startsWith(folder) && !models.includes(path)));
  if (wanted.length === 1) return { source: wanted[0][1], options: { name: wanted[0][0] } };
  return { source: new Map(wanted.map(([path, file]) => [path.slice(folder.length), file])), options: { name: folder.slice(0, -1) || name } };
}
