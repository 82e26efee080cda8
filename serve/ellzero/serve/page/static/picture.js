// Inputs of a model as pictures.

import { el } from "./dom.js";

export const MOST_PIXELS = 64; // per side; larger pictures do not fit beside each other

/** {channels, height, width} of inputs that are grey or RGB images, otherwise null. */
export function readImageShape(shape) {
  if (shape.length !== 2 && shape.length !== 3) return null;
  const [channels, height, width] = shape.length === 2 ? [1, ...shape] : shape;
  return channels === 1 || channels === 3 ? { channels, height, width } : null;
}

/** The same for images that are small, otherwise null. */
export function getImageSize(shape) {
  const size = readImageShape(shape);
  return size !== null && Math.max(size.height, size.width) <= MOST_PIXELS ? size : null;
}

/** A canvas of one input: levels 0 … levels − 1 from dark to light, in channels, rows and columns. */
export function drawPicture(x, { shape, levels }) {
  const { channels, height, width } = readImageShape(shape);
  const planes = shape.length === 2 ? [x] : x;
  const canvas = el("canvas", { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [row, column] = [Math.floor(pixel / width), pixel % width];
    for (let colour = 0; colour < 3; colour++) {
      const level = planes[channels === 3 ? colour : 0][row][column];
      image.data[4 * pixel + colour] = Math.round((255 * level) / (levels - 1));
    }
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
