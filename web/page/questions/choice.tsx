import { maxOtherLength } from '../../../src/domain/questions/text-checks.ts';
import { type Entry, joinedAnswers, joinedText } from '../survey/entries.ts';
import type { ShownItem } from '../survey/pages.ts';
import { say } from '../words/say.ts';
import type { ControlProps, PageType } from './contract.ts';

/** Radio buttons or checkboxes, each with its text as one large target. */
function Choices({
  props,
  kind,
  items,
  isChosen,
  choose,
  className = 'choices',
}: {
  props: ControlProps;
  kind: 'radio' | 'checkbox';
  items: readonly ShownItem[];
  isChosen(item: ShownItem): boolean;
  choose(item: ShownItem, isOn: boolean): void;
  className?: string;
}) {
  const { question, controlId, isInvalid, describedBy } = props;
  return (
    <div class={className}>
      {items.map((item, index) => (
        <label class="choice" key={item.id}>
          <input
            type={kind}
            id={index === 0 ? controlId : undefined}
            name={question.id}
            checked={isChosen(item)}
            aria-invalid={isInvalid || undefined}
            aria-describedby={index === 0 ? describedBy : undefined}
            onChange={(event) => choose(item, event.currentTarget.checked)}
          />
          <span class="choice-mark" aria-hidden="true" />
          <span class="choice-text" dir="auto">
            {item.text}
          </span>
        </label>
      ))}
    </div>
  );
}

const otherId = '';

const isOther = ({ answers, raw }: Entry): boolean => raw !== undefined || answers[0]?.textValue !== undefined;
const otherTextOf = ({ answers, raw, otherText }: Entry): string => raw ?? answers[0]?.textValue ?? otherText ?? '';

/** An entry for the free "other" text; while it is empty it is no answer. */
const otherEntry = (text: string): Entry =>
  text.trim() === '' ? { answers: [], raw: text } : { answers: [{ textValue: text }], raw: text };

/** An entry for an option; the text of "other" is there again if this one was chosen by mistake. */
const optionEntry = (optionId: string | undefined, former: Entry): Entry => {
  const otherText = otherTextOf(former);
  return { answers: optionId === undefined ? [] : [{ optionId }], ...(otherText !== '' && { otherText }) };
};

function OtherField({ entry, words, change, question, isInvalid }: ControlProps) {
  return (
    <input
      class="field"
      type="text"
      dir="auto"
      aria-label={words.otherText}
      aria-invalid={isInvalid || undefined}
      name={`${question.id}-other`}
      maxLength={maxOtherLength}
      value={otherTextOf(entry)}
      onInput={(event) => change(otherEntry(event.currentTarget.value))}
    />
  );
}

const chosenId = ({ answers }: Entry): string | undefined => answers[0]?.optionId;
const allowsOther = ({ question }: ControlProps): boolean => question.settings['allowOther'] === true;

function SingleChoice(props: ControlProps) {
  const { question, entry, words, change } = props;
  const other = allowsOther(props) ? [{ id: otherId, text: words.other }] : [];
  return (
    <>
      <Choices
        props={props}
        kind="radio"
        items={[...question.options, ...other]}
        isChosen={({ id }) => (id === otherId ? isOther(entry) : chosenId(entry) === id)}
        choose={({ id }) => change(id === otherId ? otherEntry(otherTextOf(entry)) : optionEntry(id, entry))}
      />
      {isOther(entry) && <OtherField {...props} />}
    </>
  );
}

/** What questions with one choice have in common. */
const oneChoice: Pick<PageType, 'missingPart' | 'join'> = {
  /** An "other" that is chosen and says nothing is no answer yet, and not none either. */
  missingPart: (_question, entry, words) =>
    entry.answers.length === 0 && entry.raw !== undefined ? words.errorOtherText : undefined,
  /** The early choice counts; the text of "other" stays, be it chosen or not. */
  join(_question, kept, early) {
    const text = joinedText(otherTextOf(kept), otherTextOf(early), ' ');
    const otherText = text.length > maxOtherLength ? otherTextOf(kept) : text;
    return isOther(early) ? otherEntry(otherText) : optionEntry(chosenId(early), { answers: [], otherText });
  },
};

export const singleChoice: PageType = { Control: SingleChoice, isField: false, ...oneChoice };

const maxInRow = 7;
/** Letters of the longest word that fits into a column. */
const longestInRow = 12;

const fitsInRow = (options: readonly ShownItem[]): boolean =>
  options.length <= maxInRow &&
  options.every(({ text }) => text.split(/\s/).every((word) => word.length <= longestInRow));

/** Options side by side where there is room, as for an ordered scale or yes and no. */
function RowChoice(props: ControlProps) {
  const { question, entry, change } = props;
  return (
    <Choices
      props={props}
      kind="radio"
      className={fitsInRow(question.options) ? 'choices choices-row' : 'choices'}
      items={question.options}
      isChosen={({ id }) => chosenId(entry) === id}
      choose={({ id }) => change({ answers: [{ optionId: id }] })}
    />
  );
}

export const rowChoice: PageType = { Control: RowChoice, isField: false };

function Checkboxes(props: ControlProps) {
  const { question, entry, change } = props;
  const isChosen = (id: string) => entry.answers.some(({ optionId }) => optionId === id);
  return (
    <Choices
      props={props}
      kind="checkbox"
      items={question.options}
      isChosen={({ id }) => isChosen(id)}
      choose={({ id }, isOn) =>
        // In the order shown, so that the same choice is the same answer.
        change({
          answers: question.options
            .filter((option) => (option.id === id ? isOn : isChosen(option.id)))
            .map((option) => ({ optionId: option.id })),
        })
      }
    />
  );
}

/** Nobody can choose more than is offered. */
function bounds({ settings, options }: ControlProps['question']): { least: number; most: number } {
  const { minSelections, maxSelections } = settings;
  return {
    least: typeof minSelections === 'number' ? Math.min(minSelections, options.length) : 0,
    most: typeof maxSelections === 'number' ? maxSelections : Number.POSITIVE_INFINITY,
  };
}

export const checkboxes: PageType = {
  Control: Checkboxes,
  isField: false,
  clearsItself: true,
  problemOf(question, { answers }, words) {
    const { least, most } = bounds(question);
    if (answers.length < least) return say(words.atLeast, { n: least });
    return answers.length > most ? say(words.atMost, { n: most }) : undefined;
  },
  hint(question, words) {
    const { least, most } = bounds(question);
    if (least > 1 && least === most) return say(words.exactly, { n: least });
    if (least > 1 && Number.isFinite(most)) return say(words.between, { n: least, m: most });
    if (least > 1) return say(words.atLeast, { n: least });
    return Number.isFinite(most) ? say(words.atMost, { n: most }) : undefined;
  },
  join: (_question, kept, early) => ({ answers: joinedAnswers(kept.answers, early.answers) }),
};

function Dropdown(props: ControlProps) {
  const { question, entry, words, change, controlId, describedBy, isInvalid } = props;
  const isOtherChosen = isOther(entry);
  return (
    <>
      <select
        class="field"
        id={controlId}
        name={question.id}
        aria-describedby={describedBy}
        aria-invalid={isInvalid || undefined}
        required={question.isRequired}
        value={isOtherChosen ? 'other' : (chosenId(entry) ?? '')}
        onChange={({ currentTarget: { value } }) =>
          change(value === 'other' ? otherEntry(otherTextOf(entry)) : optionEntry(value || undefined, entry))
        }
      >
        <option value="">{words.choose}</option>
        {question.options.map(({ id, text }) => (
          <option value={id} key={id}>
            {text}
          </option>
        ))}
        {allowsOther(props) && <option value="other">{words.other}</option>}
      </select>
      {isOtherChosen && <OtherField {...props} />}
    </>
  );
}

export const dropdown: PageType = { Control: Dropdown, isField: true, clearsItself: true, ...oneChoice };

/** Width of a table's columns together, in rem: more would be scrolled out of sight. */
const roomForColumns = 30.5;
const narrowestColumn = 2.75;
/** About the width of a letter, in rem, and of the space beside a word. */
const [letterWidth, wordSpace] = [0.5, 0.5];

function fitsInTable(columns: readonly ShownItem[]): boolean {
  const longestWord = Math.max(...columns.flatMap(({ text }) => text.split(/\s/).map((word) => word.length)));
  return columns.length * Math.max(narrowestColumn, longestWord * letterWidth + wordSpace) <= roomForColumns;
}

/** A grid: rows with one group of choices each, a table where there is room and cards where there is not. */
function Matrix(props: ControlProps) {
  const { question, entry, change, isInvalid, controlId, describedBy } = props;
  const isMissing = ({ id }: ShownItem) => !entry.answers.some(({ rowId }) => rowId === id);
  // An error that names no row concerns all of them.
  const faulty = isInvalid ? (question.rows.some(isMissing) ? question.rows.filter(isMissing) : question.rows) : [];
  const firstRow = faulty[0] ?? question.rows[0];
  const isMultiple = question.settings['multiple'] === true;
  const isChosen = (rowId: string, optionId: string) =>
    entry.answers.some((answer) => answer.rowId === rowId && answer.optionId === optionId);
  const choose = (rowId: string, optionId: string, isOn: boolean) =>
    change({
      answers: question.rows.flatMap((row) =>
        question.options
          .filter((option) => {
            if (row.id !== rowId) return isChosen(row.id, option.id);
            if (option.id === optionId) return isOn;
            return isMultiple && isChosen(row.id, option.id);
          })
          .map((option) => ({ rowId: row.id, optionId: option.id })),
      ),
    });
  return (
    <div class={fitsInTable(question.options) ? 'matrix matrix-table' : 'matrix matrix-cards'}>
      <div class="matrix-row matrix-head" aria-hidden="true">
        <span />
        {question.options.map(({ id, text }) => (
          <span class="matrix-column" key={id} dir="auto">
            {text}
          </span>
        ))}
      </div>
      {question.rows.map((row) => (
        <div
          class="matrix-row"
          key={row.id}
          data-faulty={faulty.includes(row) || undefined}
          {...{ role: isMultiple ? 'group' : 'radiogroup', 'aria-labelledby': `${controlId}-${row.id}` }}
        >
          <span class="matrix-label" id={`${controlId}-${row.id}`} dir="auto">
            {row.text}
          </span>
          {question.options.map((option, index) => (
            <label class="choice matrix-cell" key={option.id}>
              <input
                type={isMultiple ? 'checkbox' : 'radio'}
                id={row === firstRow && index === 0 ? controlId : undefined}
                name={`${question.id}-${row.id}`}
                checked={isChosen(row.id, option.id)}
                aria-invalid={faulty.includes(row) || undefined}
                aria-describedby={row === firstRow && index === 0 ? describedBy : undefined}
                onChange={(event) => choose(row.id, option.id, event.currentTarget.checked)}
              />
              <span class="choice-mark" aria-hidden="true" />
              <span class="choice-text matrix-text" dir="auto">
                {option.text}
              </span>
            </label>
          ))}
        </div>
      ))}
    </div>
  );
}

export const matrix: PageType = {
  Control: Matrix,
  isField: false,
  missingPart: ({ rows }, { answers }, words) =>
    rows.every(({ id }) => answers.some(({ rowId }) => rowId === id)) ? undefined : words.errorRows,
  join({ settings }, kept, early) {
    const isReplaced = (rowId: string | undefined) =>
      settings['multiple'] !== true && early.answers.some((answer) => answer.rowId === rowId);
    const stays = kept.answers.filter(({ rowId }) => !isReplaced(rowId));
    return { answers: joinedAnswers(stays, early.answers) };
  },
};
