export const ink = '#1f2933';
const white = '#ffffff';
/** Colours that colour-blind readers and grey prints can distinguish (after Okabe and Ito). */
const palette = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#8a7f00',
  '#7d6bb3',
  '#7a7a7a',
  '#3b3b3b',
] as const;
/** Colours on which dark text is more readable. */
const light = new Set<string>(['#e69f00', '#cc79a7', '#56b4e9']);
/** From dark to light, so that colour-blind readers and grey prints have the order of the parts (viridis). */
const ramp = ['#440154', '#3b528b', '#21918c', '#5ec962', '#fde725'] as const;
/** From here on, dark text is more readable on the ramp. */
const lightFrom = 0.5;

export const barColor = palette[0];

interface PartColor {
  fill: string;
  /** That of text on the part. */
  text: string;
}

/** A colour for each part of a whole: those of the palette, or steps of the ramp if there are more parts. */
export function partColors(count: number): PartColor[] {
  if (count <= palette.length)
    return palette.slice(0, count).map((fill) => ({ fill, text: light.has(fill) ? ink : white }));
  return Array.from({ length: count }, (_, index) => {
    const place = index / (count - 1);
    return { fill: rampColor(place), text: place < lightFrom ? white : ink };
  });
}

/** `place`: from 0 to 1. */
function rampColor(place: number): string {
  const at = place * (ramp.length - 1);
  const before = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [ramp[before], ramp[before + 1]].map(channelsOf);
  const mixed = (from ?? []).map((channel, index) => channel + ((to?.[index] ?? 0) - channel) * (at - before));
  return `#${mixed.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

const channelsOf = (color: string = white): number[] =>
  [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
