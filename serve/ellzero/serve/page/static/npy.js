// Inputs from .npy files, read into the levels that are shown and sent.

const TYPES = {
  "|b1": Uint8Array, "|u1": Uint8Array, "|i1": Int8Array, "<u2": Uint16Array, "<i2": Int16Array, "<u4": Uint32Array,
  "<i4": Int32Array, "<i8": BigInt64Array, "<u8": BigUint64Array, "<f4": Float32Array, "<f8": Float64Array,
}; // prettier-ignore
const MAGIC = "\x93NUMPY";
const FLOAT32_STEP = 2 ** -23;

/** What is wrong with a file, in words. */
export class FileProblem extends Error {}

/**
 * Parse a .npy file into an input of a model: nested lists of levels 0 … K. As for the API, integers are levels and floats
 * are multiples of 1/K.
 */
export function parseInput(buffer, { shape, levels }) {
  const { type, shape: fileShape, start } = parseHeader(buffer);
  if (fileShape.join() !== shape.join()) {
    throw new FileProblem(`The array must have the shape ${shape.join(" × ")}; this one has ${fileShape.join(" × ") || "none"}.`);
  }
  if (buffer.byteLength - start !== countCoordinates({ shape }) * type.BYTES_PER_ELEMENT) throw new FileProblem("The file is incomplete or damaged.");
  const values = Array.from(new type(buffer.slice(start)), Number);
  const isFloat = type === Float32Array || type === Float64Array;
  return nest(values.map((value) => toLevel(value, levels - 1, isFloat)), shape);
}

function parseHeader(buffer) {
  const bytes = new Uint8Array(buffer);
  const text = (from, to) => String.fromCharCode(...bytes.subarray(from, to));
  if (bytes.length < 12 || text(0, 6) !== MAGIC || ![1, 2].includes(bytes[6])) throw new FileProblem("This is not a .npy file.");
  const isVersion1 = bytes[6] === 1;
  const view = new DataView(buffer);
  const start = isVersion1 ? 10 + view.getUint16(8, true) : 12 + view.getUint32(8, true);
  const header = text(isVersion1 ? 10 : 12, Math.min(start, 4096));
  const [, descr] = /'descr': '([^']*)'/.exec(header) ?? [];
  const [, order] = /'fortran_order': (True|False)/.exec(header) ?? [];
  const [, sides] = /'shape': \(([\d, ]*)\)/.exec(header) ?? [];
  if (sides === undefined || !TYPES[descr]) throw new FileProblem("The array must hold integers, booleans or floats of at most 64 bits.");
  const shape = sides.split(",").filter((side) => side.trim()).map(Number);
  if (order !== "False" && shape.length > 1) throw new FileProblem("The array must be in C order.");
  return { type: TYPES[descr], shape, start };
}

function toLevel(value, k, isFloat) {
  const level = isFloat ? Math.round(value * k) : value;
  const isMultiple = !isFloat || Math.abs(value * k - level) <= k * FLOAT32_STEP; // what float32 makes of level/k
  if (isMultiple && level >= 0 && level <= k) return level;
  throw new FileProblem(`The array must hold integers from 0 to ${k}, or floats that are multiples of 1/${k}; ${value} is neither.`);
}

export const countCoordinates = ({ shape }) => shape.reduce((product, side) => product * side, 1);

/** A flat list as lists nested by shape, the last index changing fastest. */
export function nest(values, [side, ...rest]) {
  if (!rest.length) return values;
  const step = values.length / side;
  return Array.from({ length: side }, (_, index) => nest(values.slice(index * step, (index + 1) * step), rest));
}
