/** Parts of a tag of Chinese that is written in the traditional script: the script itself, and its regions. */
const traditionalParts = ['hant', 'tw', 'hk', 'mo'];

/** The script that a tag of Chinese names, or else its region has; undefined for another language. */
export function chineseScript(tag: string): 'zh-Hans' | 'zh-Hant' | undefined {
  const [base, ...parts] = tag.toLowerCase().split('-');
  if (base !== 'zh') return undefined;
  const isTraditional = !parts.includes('hans') && parts.some((part) => traditionalParts.includes(part));
  return isTraditional ? 'zh-Hant' : 'zh-Hans';
}

/**
 * Whether a language tag is another one or a form of it: `de-AT` of `de`, and Chinese of its script (`zh-TW` of
 * `zh-Hant`). Conditions, quotas, filters and crosstabs go by this. Both tags are in lower case.
 */
export function isLanguageForm(tag: string, of: string): boolean {
  return tag === of || tag.startsWith(`${of}-`) || chineseScript(tag)?.toLowerCase() === of;
}
