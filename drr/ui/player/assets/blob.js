// Reads the blob that drr/ui/player/blob.py writes: a JSON header and columns, deflated together.

const VIEWS = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array, f8: Float64Array };

/** A message is two bytes with the length of a note, the note as JSON, and a blob: { ...note, blob }. */
export function splitMessage(message) {
  const bytes = message instanceof Uint8Array ? message : new Uint8Array(message);
  const end = 2 + bytes[0] + 256 * bytes[1];
  return { ...JSON.parse(new TextDecoder().decode(bytes.subarray(2, end))), blob: bytes.subarray(end) };
}

/** Inflate a blob to { header, columns }. */
export async function readBlob(blob) {
  const stream = new Blob([blob]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer();
  const length = new DataView(raw).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(raw, 4, length)));
  const columns = {};
  let at = 4 + length;
  for (const [name, kind, count] of header.columns) {
    const size = Number(kind[1]);
    columns[name] = joinPlanes(new Uint8Array(raw, at, count * size), VIEWS[kind], count, size);
    at += count * size;
  }
  return { header, columns };
}

/** Bytes are stored plane by plane, all lowest bytes first; put each item's bytes together again. */
function joinPlanes(planes, View, count, size) {
  if (size === 1) return new View(planes.buffer, planes.byteOffset, count);
  const bytes = new Uint8Array(count * size);
  for (let plane = 0; plane < size; plane += 1) {
    const from = plane * count;
    for (let i = 0, to = plane; i < count; i += 1, to += size) bytes[to] = planes[from + i];
  }
  return new View(bytes.buffer);
}
