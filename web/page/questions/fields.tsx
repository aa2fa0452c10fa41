import { withSeconds } from '../../../src/domain/path/answers.ts';
import { isCalendarDay, isClockTime, isEmailAddress } from '../../../src/domain/questions/text-checks.ts';
import { type Entry, joinedText } from '../survey/entries.ts';
import type { ShownQuestion } from '../survey/pages.ts';
import { numberFormat, say } from '../words/say.ts';
import type { ControlProps, PageType } from './contract.ts';
import { readNumber } from './read-number.ts';

type Problem = NonNullable<PageType['problemOf']>;

const textOf = ({ raw, answers }: Entry): string => raw ?? answers[0]?.textValue ?? '';
const textEntry = (text: string): Entry =>
  text.trim() === ''
    ? text === ''
      ? { answers: [] }
      : { answers: [], raw: text }
    : { answers: [{ textValue: text }] };

/** Adds a text that was typed early to the kept one. */
const joinTexts =
  (between: ' ' | '\n'): NonNullable<PageType['join']> =>
  (_question, kept, early) =>
    textEntry(joinedText(textOf(kept), textOf(early), between));

/** What all fields have in common. */
const common = ({ question, controlId, describedBy, isInvalid, leave }: ControlProps) => ({
  class: 'field',
  id: controlId,
  name: question.id,
  required: question.isRequired,
  'aria-describedby': describedBy,
  'aria-invalid': isInvalid || undefined,
  onBlur: leave,
});

/** What fields have in common whose text is the answer as it is. */
const commonOfText = (props: ControlProps) => ({
  ...common(props),
  value: textOf(props.entry),
  onInput: (event: { currentTarget: { value: string } }) => props.change(textEntry(event.currentTarget.value)),
});

const lengthOf = (text: string): number => [...text].length;
const maxLengthOf = ({ settings }: ShownQuestion): number => Number(settings['maxLength'] ?? 10_000);
/** From how many characters before the limit on they are counted down. */
const countedDown = 50;

const limited: Problem = (question, entry, words) => {
  const limit = maxLengthOf(question);
  return lengthOf(textOf(entry)) > limit ? say(words.errorLong, { n: limit }) : undefined;
};

function Left({ question, entry, words }: ControlProps) {
  const left = maxLengthOf(question) - lengthOf(textOf(entry));
  return (
    <p class="left" aria-live="polite">
      {left <= countedDown && textOf(entry) !== '' ? say(words.left, { n: left }) : ''}
    </p>
  );
}

export const shortText: PageType = {
  Control: (props) => (
    <>
      <input {...commonOfText(props)} type="text" dir="auto" />
      <Left {...props} />
    </>
  ),
  isField: true,
  clearsItself: true,
  problemOf: limited,
  join: joinTexts(' '),
};

export const longText: PageType = {
  Control: (props) => (
    <>
      <textarea {...commonOfText(props)} dir="auto" rows={5} />
      <Left {...props} />
    </>
  ),
  isField: true,
  clearsItself: true,
  problemOf: limited,
  join: joinTexts('\n'),
};

export const email: PageType = {
  Control: (props) => (
    <input
      {...common(props)}
      type="text"
      inputMode="email"
      autocomplete="email"
      autocapitalize="none"
      // In small letters it is a property, which is a boolean: "off" would turn it on.
      autoCorrect="off"
      spellcheck={false}
      dir="ltr"
      value={textOf(props.entry)}
      onInput={({ currentTarget: { value } }) => props.change({ ...textEntry(value.trim()), raw: value })}
    />
  ),
  isField: true,
  clearsItself: true,
  problemOf: (_question, { answers }, words) =>
    isEmailAddress(answers[0]?.textValue ?? '') ? undefined : words.errorEmail,
};

const numberEntry = (raw: string, language: string): Entry => {
  const value = readNumber(raw, language);
  return value === undefined ? { answers: [], raw } : { answers: [{ numberValue: value }], raw };
};

/** What was entered; as this page writes it where it was entered in another language and would mean something else. */
function numberText({ raw, answers }: Entry, language: string): string {
  const value = answers[0]?.numberValue;
  if (value === undefined || (raw !== undefined && readNumber(raw, language) === value)) return raw ?? '';
  const written = numberFormat(language)(value);
  return readNumber(written, language) === value ? written : (raw ?? String(value));
}

const limitsOf = ({ settings: { min, max } }: ShownQuestion) => ({
  min: typeof min === 'number' ? min : undefined,
  max: typeof max === 'number' ? max : undefined,
});

/** Keypads for numbers have no minus sign on an iPhone, so they are only for numbers that cannot be negative. */
function keypadOf(question: ShownQuestion): 'numeric' | 'decimal' | 'text' {
  const { min } = limitsOf(question);
  if (min === undefined || min < 0) return 'text';
  return question.settings['integer'] === true ? 'numeric' : 'decimal';
}

export const number: PageType = {
  Control: (props) => (
    <input
      {...common(props)}
      type="text"
      inputMode={keypadOf(props.question)}
      autocomplete="off"
      dir="ltr"
      value={numberText(props.entry, props.language)}
      onInput={(event) => props.change(numberEntry(event.currentTarget.value, props.language))}
    />
  ),
  isField: true,
  clearsItself: true,
  read: numberEntry,
  problemOf(question, { answers }, words, language) {
    const value = answers[0]?.numberValue;
    const { min, max } = limitsOf(question);
    const format = numberFormat(language);
    const isWhole = question.settings['integer'] === true;
    if (value === undefined) return say(words.errorNumber, { n: format(isWhole ? 12_345 : 12_345.6) });
    if (isWhole && !Number.isInteger(value)) return words.errorWhole;
    if (min !== undefined && value < min) return say(words.errorFrom, { n: format(min) });
    return max !== undefined && value > max ? say(words.errorTo, { n: format(max) }) : undefined;
  },
  hint(question, words, language) {
    const { min, max } = limitsOf(question);
    const format = numberFormat(language);
    if (min !== undefined && max !== undefined) return say(words.numberBetween, { n: format(min), m: format(max) });
    if (min !== undefined) return say(words.numberFrom, { n: format(min) });
    return max === undefined ? undefined : say(words.numberTo, { n: format(max) });
  },
};

/** A field of the browser's own for a date or time of day. What is entered by half has no value; the form finds it. */
function momentInput(type: 'date' | 'time') {
  return (props: ControlProps) => {
    const { min, max } = props.question.settings;
    return (
      <input
        {...commonOfText(props)}
        class="field field-short"
        type={type}
        min={typeof min === 'string' ? min : undefined}
        max={typeof max === 'string' ? max : undefined}
        step={type === 'time' && textOf(props.entry).length > 5 ? 1 : undefined}
      />
    );
  };
}

function momentProblem(isValid: (text: string) => boolean, error: 'errorDate' | 'errorTime'): Problem {
  return ({ settings: { min, max } }, { answers }, words, language) => {
    const text = answers[0]?.textValue ?? '';
    if (!isValid(text)) return words[error];
    if (typeof min === 'string' && withSeconds(text) < withSeconds(min))
      return say(words.errorNotBefore, { n: momentText(min, language) });
    return typeof max === 'string' && withSeconds(text) > withSeconds(max)
      ? say(words.errorNotAfter, { n: momentText(max, language) })
      : undefined;
  };
}

/** A date as the language writes it, of the calendar that the fields have; a time as it is. */
function momentText(text: string, language: string): string {
  if (!isCalendarDay(text)) return text;
  try {
    const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', calendar: 'gregory', timeZone: 'UTC' });
    return format.format(new Date(`${text}T00:00Z`));
  } catch {
    return text;
  }
}

export const date: PageType = {
  Control: momentInput('date'),
  isField: true,
  clearsItself: true,
  problemOf: momentProblem(isCalendarDay, 'errorDate'),
};

export const time: PageType = {
  Control: momentInput('time'),
  isField: true,
  clearsItself: true,
  problemOf: momentProblem(isClockTime, 'errorTime'),
};
