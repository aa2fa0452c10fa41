import { mixed, type PageColors } from '../domain/contrast.ts';

const [white, black] = ['#ffffff', '#000000'];
/** web/shared/tokens.css has the same, of the page in the dark. */
const [darkBackground, darkOnAccent] = ['#12161c', '#0b1a30'];

/** The survey's colours as tokens of the style sheet; in the dark, a tint of them that can be read there. */
export function pageStyleOf({ primaryColor, backgroundColor }: PageColors): string {
  const { light, dark } = primaryColor ? accentsOf(primaryColor) : { light: '', dark: '' };
  const background = backgroundColor ? `--color-background:${backgroundColor}` : '';
  if (light === '' && background === '') return '';
  return [
    `:root{${[light, background].filter((part) => part !== '').join(';')}}`,
    `@media (prefers-color-scheme:dark){:root:not([data-theme="light"]){${dark}}}`,
  ].join('');
}

function accentsOf(primary: string): { light: string; dark: string } {
  // Some browsers that the page supports have no color-mix().
  const mix = (share: number, other: string) => mixed(primary, share, other);
  return {
    light: accent(primary, mix(0.85, black), mix(0.1, white), white),
    dark: accent(mix(0.4, white), mix(0.3, white), mix(0.3, darkBackground), darkOnAccent),
  };
}

const accent = (color: string, hover: string, soft: string, on: string): string =>
  `--color-accent:${color};--color-focus:${color};--color-accent-hover:${hover};--color-accent-soft:${soft};--color-on-accent:${on}`;
