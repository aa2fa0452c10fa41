import { encode } from 'uqr';

/** Rows of dark (true) and light modules, with the quiet zone of four modules that readers need. */
export const qrModules = (text: string): boolean[][] => encode(text, { ecc: 'M', border: 4 }).data;

/** The dark modules as the data of an SVG path, one unit a module. */
export const qrPath = (modules: readonly (readonly boolean[])[]): string =>
  modules.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');

export function svgOfQr(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="512" height="512">`,
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${qrPath(modules)}"/></svg>`,
  ].join('');
}

const pixelsAModule = 16;

export async function pngOfQr(modules: readonly (readonly boolean[])[]): Promise<Blob> {
  const canvas = document.createElement('canvas');
  canvas.width = modules.length * pixelsAModule;
  canvas.height = canvas.width;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser cannot draw');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = '#000';
  for (const [y, row] of modules.entries())
    for (const [x, isDark] of row.entries())
      if (isDark) context.fillRect(x * pixelsAModule, y * pixelsAModule, pixelsAModule, pixelsAModule);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture cannot be made'))), 'image/png'),
  );
}
