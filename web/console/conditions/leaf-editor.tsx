import { answerKindOf } from '../../../src/domain/path/answer-kinds.ts';
import type { AnswerLeaf, Condition, KeyLeaf, LanguageLeaf } from '../../../src/domain/path/definition.ts';
import type { Operator } from '../../../src/domain/path/operators.ts';
import { readable } from '../../../src/domain/path/placeholders.ts';
import type { Definition, Item, Question } from '../data/questions.ts';
import { CheckboxGroup, ComboBox, Select } from '../parts/choice-fields.tsx';
import { ListField } from '../parts/list-field.tsx';
import { DateField, NumberField, TextField } from '../parts/text-fields.tsx';
import { isTextual, leafAbout, leafOf, type OtherSubject } from './condition-forms.ts';
import { keyOperatorName, operatorNames, operatorsOf } from './condition-words.ts';
import styles from './conditions.module.css';

type Leaf = AnswerLeaf | KeyLeaf | LanguageLeaf;

interface LeafEditorProps {
  survey: Definition;
  questions: readonly Question[];
  leaf: Leaf;
  onChange(leaf: Condition): void;
}

const otherSubjects: { value: OtherSubject; label: string }[] = [
  { value: 'metadata', label: 'A value of the link' },
  { value: 'invitation', label: 'A value of the invitation' },
  { value: 'language', label: 'The language' },
];

const subjectOf = (leaf: Leaf): string => {
  if ('questionId' in leaf) return leaf.questionId;
  if ('language' in leaf) return 'language';
  return 'metadata' in leaf ? 'metadata' : 'invitation';
};

const itemOption = ({ id, text }: Item) => ({ value: id, label: readable(text) });

/** One comparison: what it is about, how it is compared, and with what. */
export function LeafEditor({ survey, questions, leaf, onChange }: LeafEditorProps) {
  const numbers = new Map(survey.questions.map(({ id }, index) => [id, index + 1]));
  const subjects = [
    ...questions.map(({ id, text }) => ({ value: id, label: `${numbers.get(id) ?? ''}. ${readable(text)}` })),
    ...otherSubjects,
  ];
  const question = 'questionId' in leaf ? survey.questions.find(({ id }) => id === leaf.questionId) : undefined;
  const choose = (subject: string | null) => {
    const next = questions.find(({ id }) => id === subject);
    if (next) onChange(leafAbout(next));
    else if (subject === 'metadata' || subject === 'invitation' || subject === 'language') onChange(leafOf(subject));
  };
  return (
    <div className={styles.leaf}>
      <ComboBox label="About" isLabelHidden options={subjects} value={subjectOf(leaf)} onChange={choose} />
      {'questionId' in leaf && question && <AnswerTest question={question} leaf={leaf} onChange={onChange} />}
      {'language' in leaf && <Languages leaf={leaf} onChange={onChange} />}
      {!('questionId' in leaf) && !('language' in leaf) && <KeyTest leaf={leaf} onChange={onChange} />}
    </div>
  );
}

interface AnswerTestProps {
  question: Question;
  leaf: AnswerLeaf;
  onChange(leaf: AnswerLeaf): void;
}

function AnswerTest({ question, leaf, onChange }: AnswerTestProps) {
  const { rows } = question.settings;
  const operators = operatorsOf(question).map((value) => ({ value, label: operatorNames[value] }));
  const isPresence = leaf.operator === 'answered' || leaf.operator === 'notAnswered';
  const anyRow = { value: '', label: 'any row' };
  const rowOptions = (rows ?? []).map(itemOption);
  return (
    <>
      {rows && (
        <Select
          label="Row"
          isLabelHidden
          options={isPresence ? [anyRow, ...rowOptions] : rowOptions}
          value={leaf.rowId ?? ''}
          onChange={(rowId) => onChange({ ...leaf, rowId: rowId === '' ? undefined : rowId })}
        />
      )}
      <Select
        label="Comparison"
        isLabelHidden
        options={operators}
        value={leaf.operator}
        onChange={(operator: Operator) => {
          const fresh = leafAbout(question, operator);
          const row = leaf.rowId !== undefined && 'rowId' in fresh ? { rowId: leaf.rowId } : {};
          const chosen = 'optionIds' in fresh && 'optionIds' in leaf ? { optionIds: leaf.optionIds } : {};
          onChange({ ...fresh, ...row, ...chosen } as AnswerLeaf);
        }}
      />
      <Operands question={question} leaf={leaf} onChange={onChange} />
    </>
  );
}

function Operands({ question, leaf, onChange }: AnswerTestProps) {
  if ('optionIds' in leaf) {
    const options = question.options.map(itemOption);
    if (question.settings['allowOther'] === true) options.push({ value: 'other', label: 'Other' });
    return (
      <div className={styles.optionIds}>
        <CheckboxGroup
          label="Options"
          isLabelHidden
          options={options}
          value={leaf.optionIds}
          onChange={(optionIds) => onChange({ ...leaf, optionIds })}
        />
      </div>
    );
  }
  if (leaf.operator === 'rankedAtMost')
    return (
      <>
        <Select
          label="Option"
          isLabelHidden
          options={question.options.map(itemOption)}
          value={leaf.optionId}
          onChange={(optionId) => onChange({ ...leaf, optionId })}
        />
        <NumberField
          label="Rank at most"
          value={leaf.rank}
          minValue={1}
          step={1}
          onChange={(rank) => onChange({ ...leaf, rank: rank ?? 1 })}
        />
      </>
    );
  if (leaf.operator === 'between' || leaf.operator === 'countBetween')
    return (
      <>
        <ValueField
          label="From"
          question={question}
          isCount={leaf.operator === 'countBetween'}
          value={leaf.min}
          onChange={(min) => onChange({ ...leaf, min } as AnswerLeaf)}
        />
        <ValueField
          label="To"
          question={question}
          isCount={leaf.operator === 'countBetween'}
          value={leaf.max}
          onChange={(max) => onChange({ ...leaf, max } as AnswerLeaf)}
        />
      </>
    );
  if (leaf.operator === 'equals' || leaf.operator === 'notEquals')
    return (
      <ValueField
        label="Value"
        question={question}
        value={leaf.value}
        onChange={(value) => onChange({ ...leaf, value: value ?? (isTextual(question) ? '' : Number.NaN) })}
      />
    );
  if (leaf.operator === 'equalsText' || leaf.operator === 'containsText' || leaf.operator === 'startsWithText')
    return (
      <TextField label="Text" isLabelHidden value={leaf.value} onChange={(value) => onChange({ ...leaf, value })} />
    );
  return null;
}

interface ValueFieldProps {
  label: string;
  question: Question;
  isCount?: boolean;
  value: number | string | undefined;
  onChange(value: number | string | undefined): void;
}

/** A number, a date or a time of day, as the question takes it. */
function ValueField({ label, question, isCount = false, value, onChange }: ValueFieldProps) {
  const kind = isCount ? 'number' : answerKindOf(question.type);
  if (kind === 'date')
    return <DateField label={label} value={String(value ?? '')} onChange={(text) => onChange(text || undefined)} />;
  if (kind === 'time')
    return (
      <TextField
        label={label}
        placeholder="08:30"
        value={String(value ?? '')}
        onChange={(text) => onChange(text || undefined)}
      />
    );
  return (
    <NumberField
      label={label}
      value={typeof value === 'number' && !Number.isNaN(value) ? value : null}
      onChange={(number) => onChange(number ?? undefined)}
      {...(isCount && { minValue: 0, step: 1 })}
    />
  );
}

type KeyOperator = KeyLeaf['operator'];
const keyOperators = (['equalsText', 'containsText', 'startsWithText', 'answered', 'notAnswered'] as const).map(
  (value) => ({ value, label: keyOperatorName(value) }),
);

function KeyTest({ leaf, onChange }: { leaf: KeyLeaf; onChange(leaf: KeyLeaf): void }) {
  const about = 'metadata' in leaf ? 'metadata' : 'invitation';
  const key = 'metadata' in leaf ? leaf.metadata : leaf.invitation;
  const value = 'value' in leaf ? leaf.value : '';
  const build = (name: string, operator: KeyOperator, text: string): KeyLeaf =>
    ({
      [about]: name,
      operator,
      ...(operator !== 'answered' && operator !== 'notAnswered' && { value: text }),
    }) as unknown as KeyLeaf;
  return (
    <>
      <TextField
        label="Name of the value"
        isLabelHidden
        placeholder="Name"
        value={key}
        onChange={(name) => onChange(build(name, leaf.operator, value))}
        maxLength={100}
      />
      <Select
        label="Comparison"
        isLabelHidden
        options={keyOperators}
        value={leaf.operator}
        onChange={(operator) => onChange(build(key, operator, value))}
      />
      {'value' in leaf && (
        <TextField
          label="Text"
          isLabelHidden
          placeholder="Text"
          value={value}
          onChange={(text) => onChange(build(key, leaf.operator, text))}
        />
      )}
    </>
  );
}

function Languages({ leaf, onChange }: { leaf: LanguageLeaf; onChange(leaf: LanguageLeaf): void }) {
  return (
    <ListField
      label="Language tags"
      isLabelHidden
      placeholder="en, de"
      value={leaf.language}
      onChange={(language) => onChange({ language })}
    />
  );
}
