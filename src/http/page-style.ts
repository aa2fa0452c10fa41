import type { PageColors } from '../domain/contrast.ts';

/** The survey's colours as tokens of the style sheet; in the dark, a tint of them that can be read there. */
export function pageStyleOf({ primaryColor, backgroundColor }: PageColors): string {
  const mixed = (share: number, other: string) => `color-mix(in srgb,${primaryColor} ${share}%,${other})`;
  const accent = (color: string, hover: string, soft: string, on: string) =>
    `--color-accent:${color};--color-focus:${color};--color-accent-hover:${hover};--color-accent-soft:${soft};--color-on-accent:${on}`;
  const light = primaryColor ? accent(primaryColor, mixed(85, '#000'), mixed(10, '#fff'), '#fff') : '';
  const dark = primaryColor ? accent(mixed(40, '#fff'), mixed(30, '#fff'), mixed(30, '#12161c'), '#0b1a30') : '';
  const background = backgroundColor ? `--color-background:${backgroundColor}` : '';
  if (light === '' && background === '') return '';
  return [
    `:root{${[light, background].filter((part) => part !== '').join(';')}}`,
    `@media (prefers-color-scheme:dark){:root:not([data-theme="light"]){${dark}}}`,
  ].join('');
}
