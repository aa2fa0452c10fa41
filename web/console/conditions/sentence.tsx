import type { Word } from './condition-words.ts';

/** A sentence in which the names of questions and options stand out. */
export function Sentence({ words }: { words: readonly Word[] }) {
  return (
    <span>
      {words.map(({ text, isNamed }, index) =>
        isNamed ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the words of a sentence are told apart by their place alone.
          <strong key={index} dir="auto">
            {text}
          </strong>
        ) : (
          text
        ),
      )}
    </span>
  );
}
