import { createRequire } from 'node:module';

export type Weight = 'regular' | 'bold';
/** Writing systems with a font of their own. */
export type Family = 'latin' | 'arabic' | 'hebrew' | 'chinese' | 'japanese' | 'korean' | 'emoji';

const require = createRequire(import.meta.url);

const files: Record<Family, { folder: string; name: string; hasBold: boolean }> = {
  // Latin, Greek, Cyrillic and Devanagari.
  latin: { folder: 'noto-sans', name: 'NotoSans', hasBold: true },
  arabic: { folder: 'noto-sans-arabic', name: 'NotoSansArabic', hasBold: true },
  hebrew: { folder: 'noto-sans-hebrew', name: 'NotoSansHebrew', hasBold: true },
  chinese: { folder: 'noto-sans-sc', name: 'NotoSansSC', hasBold: true },
  japanese: { folder: 'noto-sans-jp', name: 'NotoSansJP', hasBold: true },
  korean: { folder: 'noto-sans-kr', name: 'NotoSansKR', hasBold: true },
  emoji: { folder: 'noto-emoji', name: 'NotoEmoji', hasBold: false },
};

export function fontPath(family: Family, weight: Weight): string {
  const { folder, name, hasBold } = files[family];
  const cut = weight === 'bold' && hasBold ? '700Bold' : '400Regular';
  return require.resolve(`@expo-google-fonts/${folder}/${cut}/${name}_${cut}.ttf`);
}

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const hangul = /\p{Script=Hangul}/u;

/**
 * The fonts in which to look for a character. Chinese, Japanese and Korean draw the same code points differently: the
 * language decides, unless the text itself contains kana or hangul.
 */
export function familyOrder(text: string, language: string): Family[] {
  const isJapanese = kana.test(text) || language.startsWith('ja');
  const isKorean = hangul.test(text) || language.startsWith('ko');
  const eastern: Family[] = isJapanese
    ? ['japanese', 'chinese', 'korean']
    : isKorean
      ? ['korean', 'chinese', 'japanese']
      : ['chinese', 'korean', 'japanese'];
  return ['latin', 'arabic', 'hebrew', ...eastern, 'emoji'];
}
