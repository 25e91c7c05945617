// Opens and saves files; a file keeps its line ends and its byte order mark.

const LARGEST = 5_000_000; // bytes

/** Read a text file; returns {name, text, newline, bom}; throws an Error with one plain line. */
export async function read(file) {
  if (file.size > LARGEST) throw new Error(`${file.name} is larger than 5 MB`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.subarray(0, 2000).includes(0) && !isUtf16(bytes)) {
    throw new Error(`${file.name} is not a text file`);
  }
  const { text, encoding } = decoded(bytes);
  const bom = text.startsWith("\ufeff");
  const whole = bom ? text.slice(1) : text;
  const count = (pattern) => whole.match(pattern)?.length ?? 0;
  const newline = 2 * count(/\r\n/g) > count(/\n/g) ? "\r\n" : "\n"; // what most lines have
  return { name: file.name, text: whole.replace(/\r\n?/g, "\n"), newline, bom, encoding };
}

const isUtf16 = (bytes) =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);

function decoded(bytes) {
  if (isUtf16(bytes)) {
    const encoding = bytes[0] === 0xff ? "utf-16le" : "utf-16be";
    return { text: new TextDecoder(encoding).decode(bytes), encoding };
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { text: decoder.decode(bytes), encoding: "utf-8" };
  } catch {
    return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "windows-1252" };
  }
}

/** Hand a text to the browser as a download. */
export function save(name, text, { newline = "\n", bom = false } = {}) {
  const content = (bom ? "\ufeff" : "") + (newline === "\n" ? text : text.replaceAll("\n", newline));
  const type = /\.(md|markdown)$/i.test(name) ? "text/markdown" : "text/plain";
  const url = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Take files that are dropped on the page; `dragging(bool)` shows that a file is over it. */
export function onDrop(take, dragging) {
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  const stop = () => {
    depth = 0;
    dragging(false);
  };
  addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    if (++depth === 1) dragging(true);
  });
  addEventListener("dragleave", (event) => {
    if (carries(event) && --depth <= 0) stop();
  });
  addEventListener("dragover", (event) => {
    if (carries(event)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    stop();
    const file = event.dataTransfer.files[0];
    if (file) take(file);
  });
}
