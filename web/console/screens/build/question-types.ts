import {
  AtSign,
  Calendar,
  ChartNoAxesColumn,
  CircleCheck,
  CircleDot,
  Clock,
  FileUp,
  Gauge,
  Grid3x3,
  Hash,
  ListOrdered,
  type LucideIcon,
  SlidersHorizontal,
  SquareCheck,
  SquareChevronDown,
  Star,
  TextCursorInput,
  TextInitial,
} from 'lucide-react';
import type { QuestionTypeName } from '../../data/questions.ts';

/** A setting of a question type, as the editor shows it. `initial` is what holds if it is not set. */
export type Setting =
  | { kind: 'flag'; name: string; label: string; hint?: string }
  | { kind: 'number'; name: string; label: string; min?: number; max?: number; isWhole?: boolean; initial?: number }
  | { kind: 'pattern' | 'mediaTypes' | 'megabytes' | 'date' | 'time'; name: string; label: string; hint?: string };

interface TypeEntry {
  group: (typeof groups)[number];
  icon: LucideIcon;
  settings: readonly Setting[];
  /** author: its options are edited; fixed: they are shown and only their labels change. */
  options?: 'author' | 'fixed';
  optionNoun?: string;
  hasRows?: boolean;
  /** Whether `optionsFrom` may choose its options or rows. */
  takesOptions?: boolean;
  /** What a new question of the type has besides its text. */
  initial?: { options?: { text: string }[]; settings?: Record<string, unknown> };
}

export const groups = ['Choices', 'Scales', 'Lists', 'Texts', 'Facts'] as const;

const shuffle: Setting = {
  kind: 'flag',
  name: 'shuffleOptions',
  label: 'Shuffle the options',
  hint: 'Each respondent sees them in an order of their own; anchored ones keep their place.',
};
const whole = { kind: 'number', isWhole: true } as const;
const twoOptions = [{ text: 'Option 1' }, { text: 'Option 2' }];
const scale = (min: number, max: number): readonly Setting[] => [
  { kind: 'number', name: 'min', label: 'From', initial: min },
  { kind: 'number', name: 'max', label: 'To', initial: max },
  { kind: 'number', name: 'step', label: 'Step', min: 0, initial: 1 },
];
const oneChoice: readonly Setting[] = [
  { kind: 'flag', name: 'allowOther', label: 'Offer “Other” with a text' },
  shuffle,
];
const text = (maxLength: number): readonly Setting[] => [
  { ...whole, name: 'maxLength', label: 'Longest text', min: 1, max: 10_000, initial: maxLength },
  { kind: 'pattern', name: 'pattern', label: 'Form', hint: 'A regular expression that the whole text must fit.' },
];

/** Everything in Build that differs by question type, besides its title. */
const questionTypes = {
  MULTIPLE_CHOICE: {
    group: 'Choices',
    icon: CircleDot,
    options: 'author',
    takesOptions: true,
    settings: oneChoice,
    initial: { options: twoOptions },
  },
  CHECKBOXES: {
    group: 'Choices',
    icon: SquareCheck,
    options: 'author',
    takesOptions: true,
    settings: [
      { ...whole, name: 'minSelections', label: 'Fewest selections', min: 1, max: 200 },
      { ...whole, name: 'maxSelections', label: 'Most selections', min: 1, max: 200 },
      shuffle,
    ],
    initial: { options: twoOptions },
  },
  DROPDOWN: {
    group: 'Choices',
    icon: SquareChevronDown,
    options: 'author',
    takesOptions: true,
    settings: oneChoice,
    initial: { options: twoOptions },
  },
  YES_NO: {
    group: 'Choices',
    icon: CircleCheck,
    options: 'fixed',
    settings: [shuffle],
  },
  NPS: { group: 'Scales', icon: Gauge, settings: [] },
  RATING_SCALE: { group: 'Scales', icon: Star, settings: scale(1, 5) },
  LIKERT_SCALE: {
    group: 'Scales',
    icon: ChartNoAxesColumn,
    options: 'author',
    optionNoun: 'point',
    settings: [shuffle],
  },
  SLIDER: { group: 'Scales', icon: SlidersHorizontal, settings: scale(0, 100) },
  MATRIX: {
    group: 'Lists',
    icon: Grid3x3,
    options: 'author',
    optionNoun: 'column',
    hasRows: true,
    takesOptions: true,
    settings: [
      { kind: 'flag', name: 'multiple', label: 'Several answers a row' },
      { ...shuffle, label: 'Shuffle the columns' },
      { kind: 'flag', name: 'shuffleRows', label: 'Shuffle the rows' },
    ],
    initial: {
      options: [{ text: 'Good' }, { text: 'Fair' }, { text: 'Poor' }],
      settings: { rows: [{ text: 'Row 1' }, { text: 'Row 2' }] },
    },
  },
  RANKING: {
    group: 'Lists',
    icon: ListOrdered,
    options: 'author',
    takesOptions: true,
    settings: [{ ...whole, name: 'maxRanked', label: 'Most ranked', min: 1, max: 200 }, shuffle],
    initial: { options: [...twoOptions, { text: 'Option 3' }] },
  },
  SHORT_TEXT: { group: 'Texts', icon: TextCursorInput, settings: text(255) },
  LONG_TEXT: { group: 'Texts', icon: TextInitial, settings: text(10_000) },
  EMAIL: { group: 'Texts', icon: AtSign, settings: [] },
  NUMBER: {
    group: 'Facts',
    icon: Hash,
    settings: [
      { kind: 'number', name: 'min', label: 'Smallest' },
      { kind: 'number', name: 'max', label: 'Largest' },
      { kind: 'flag', name: 'integer', label: 'Whole numbers only' },
    ],
  },
  DATE: {
    group: 'Facts',
    icon: Calendar,
    settings: [
      { kind: 'date', name: 'min', label: 'Earliest' },
      { kind: 'date', name: 'max', label: 'Latest' },
    ],
  },
  TIME: {
    group: 'Facts',
    icon: Clock,
    settings: [
      { kind: 'time', name: 'min', label: 'Earliest' },
      { kind: 'time', name: 'max', label: 'Latest' },
    ],
  },
  FILE_UPLOAD: {
    group: 'Facts',
    icon: FileUp,
    settings: [
      {
        kind: 'megabytes',
        name: 'maxBytes',
        label: 'Largest file (MB)',
        hint: 'Empty: as large as the service takes.',
      },
      { kind: 'mediaTypes', name: 'mimeTypes', label: 'Kinds of files', hint: 'Such as image/*, application/pdf.' },
    ],
  },
} as const satisfies Readonly<Record<QuestionTypeName, TypeEntry>>;

export const typeNames = Object.keys(questionTypes) as QuestionTypeName[];
export const typeOf = (name: QuestionTypeName): TypeEntry => questionTypes[name];

/** The types of the same group. */
export const typesLike = (name: QuestionTypeName): QuestionTypeName[] =>
  typeNames.filter((other) => typeOf(other).group === typeOf(name).group);
