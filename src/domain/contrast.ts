import type { ValidationIssue } from '../errors.ts';

/** Whether the texts of the respondent's page can be read on the colours that a survey gives it. */

/** `#rrggbb` each; null: the page's own colour. */
export interface PageColors {
  primaryColor: string | null;
  backgroundColor: string | null;
}

/** Colours of the respondent's page in light; web/shared/tokens.css has the same, and a test compares them. */
export const pageColors = {
  background: '#f6f7f9',
  accent: '#1f5fbf',
  onAccent: '#ffffff',
  text: '#1b2330',
  mutedText: '#566070',
  errorText: '#b3261e',
} as const;

/** WCAG 2.2, 1.4.3, for text of usual size. */
const leastContrast = 4.5;

/** The contrast of two colours `#rrggbb` by WCAG 2.2: from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Red, green and blue of a colour `#rrggbb`, from 0 to 255. */
const channelsOf = (color: string): number[] => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** A share (0 to 1) of one colour mixed with another one in sRGB, as `color-mix()` of CSS does it. */
export function mixed(one: string, share: number, other: string): string {
  const others = channelsOf(other);
  const channels = channelsOf(one).map((value, at) => Math.round(share * value + (1 - share) * (others[at] ?? 0)));
  return `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * Colours on which the page's texts cannot be read. Colours without such an issue have a contrast of at least 3:1 to
 * each other, as marks and focus need it.
 */
export function colorIssues({ primaryColor, backgroundColor }: PageColors): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const compare = (field: string, color: string, text: string, what: string) => {
    const contrast = contrastOf(color, text);
    if (contrast >= leastContrast) return;
    // Rounded down, so that 4.499 is not shown as 4.5.
    const shown = Math.floor(contrast * 100) / 100;
    const message = `${what} (${text}) has a contrast of ${shown}:1 to it; at least ${leastContrast}:1 is needed`;
    issues.push({ path: `appearance.${field}`, message });
  };
  const { onAccent, text, mutedText, errorText } = pageColors;
  if (primaryColor !== null) compare('primaryColor', primaryColor, onAccent, 'the text on buttons');
  if (backgroundColor !== null) {
    compare('backgroundColor', backgroundColor, text, 'the text');
    compare('backgroundColor', backgroundColor, mutedText, 'the text of descriptions');
    compare('backgroundColor', backgroundColor, errorText, 'the text of errors');
  }
  return issues;
}
