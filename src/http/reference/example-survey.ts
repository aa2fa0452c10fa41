/** The survey of all examples in the reference: a hotel asks four guests in January 2026. */
const id = (last: string): string => `0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d${last}`;

export const exampleIds = {
  owner: id('01'),
  survey: id('02'),
  stay: id('03'),
  after: id('04'),
  quota: id('05'),
  heard: id('10'),
  friend: id('11'),
  press: id('12'),
  again: id('20'),
  first: id('30'),
  yes: id('31'),
  no: id('32'),
  nights: id('40'),
  rooms: id('50'),
  bed: id('51'),
  bath: id('52'),
  good: id('53'),
  bad: id('54'),
  why: id('60'),
  response: id('70'),
  file: id('80'),
  webhook: id('90'),
  collector: id('a0'),
  invitation: id('b0'),
};

const questionDefaults = {
  surveyId: exampleIds.survey,
  description: null,
  isRequired: false,
  options: [],
  settings: {},
  sectionId: null,
  isAnchored: false,
  visibleIf: null,
  skips: [],
  optionsFrom: null,
};

export const exampleQuestions = {
  heard: {
    ...questionDefaults,
    id: exampleIds.heard,
    type: 'MULTIPLE_CHOICE',
    text: 'How did you hear of us?',
    isRequired: true,
    order: 0,
    options: [
      { id: exampleIds.friend, text: 'A friend', value: 'friend' },
      { id: exampleIds.press, text: 'The press', value: 'press' },
    ],
    settings: { allowOther: false },
  },
  again: {
    ...questionDefaults,
    id: exampleIds.again,
    type: 'NPS',
    text: 'How likely are you to recommend us?',
    order: 1,
  },
  first: {
    ...questionDefaults,
    id: exampleIds.first,
    type: 'YES_NO',
    text: 'Was it your first stay?',
    order: 2,
    options: [
      { id: exampleIds.yes, text: 'Yes', value: 'yes' },
      { id: exampleIds.no, text: 'No', value: 'no' },
    ],
  },
  nights: {
    ...questionDefaults,
    id: exampleIds.nights,
    type: 'NUMBER',
    text: 'How many nights did you stay?',
    order: 3,
    settings: { min: 1, integer: true },
  },
  rooms: {
    ...questionDefaults,
    id: exampleIds.rooms,
    type: 'MATRIX',
    text: 'How was your room?',
    order: 4,
    options: [
      { id: exampleIds.good, text: 'Good', value: 'good' },
      { id: exampleIds.bad, text: 'Bad', value: 'bad' },
    ],
    settings: {
      multiple: false,
      rows: [
        { id: exampleIds.bed, text: 'The bed', value: 'bed' },
        { id: exampleIds.bath, text: 'The bathroom', value: 'bathroom' },
      ],
    },
  },
  why: {
    ...questionDefaults,
    id: exampleIds.why,
    type: 'SHORT_TEXT',
    text: 'What did you like best?',
    order: 5,
    settings: { maxLength: 255 },
  },
};

/** No question is in them, so each is asked before the first one. */
const sectionDefaults = { description: null, isShuffled: false, isAnchored: false, visibleIf: null };

export const exampleSections = [
  { ...sectionDefaults, id: exampleIds.stay, title: 'Your stay', order: 0 },
  { ...sectionDefaults, id: exampleIds.after, title: 'After it', order: 1 },
];

export const exampleSurvey = {
  id: exampleIds.survey,
  title: 'How was your stay?',
  description: 'Six short questions',
  status: 'ACTIVE',
  isAnonymous: false,
  visibility: 'PUBLIC',
  responseQuota: 500,
  submissionRateLimit: null,
  startsAt: null,
  endsAt: null,
  aiEnabled: true,
  language: 'en',
  isShuffled: false,
  appearance: {
    pageMode: 'SECTION',
    primaryColor: '#0b6e4f',
    backgroundColor: null,
    closingText: 'Thank you. We hope to see you again.',
    redirectUrl: null,
    allowedOrigins: ['https://www.example.org'],
    logo: null,
  },
  retentionDays: null,
  createdAt: '2026-01-02T08:00:00.000Z',
  updatedAt: '2026-01-02T08:20:00.000Z',
  publishedAt: '2026-01-02T08:20:00.000Z',
  closedAt: null,
  responseCount: 4,
  ownerId: exampleIds.owner,
  version: 7,
};

/** The answers of the four guests to the questions that the examples count and cross. */
export const exampleRespondents = [
  { heard: 'friend', again: 9, first: 'yes' },
  { heard: 'friend', again: 10, first: 'no' },
  { heard: 'press', again: 7, first: 'no' },
  { heard: 'press', again: 3, first: 'no' },
] as const;
