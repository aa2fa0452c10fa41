import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quotedCsv, useRecognition } from '../../support/recognised-files.ts';

describe('the export of', () => {
  const { recognise } = useRecognition();

  it('SurveyMonkey has a head of two lines, and columns about the respondent that are left out', async () => {
    const about = [
      'Collector ID',
      'Start Date',
      'End Date',
      'IP Address',
      'Email Address',
      'First Name',
      'Custom Data 1',
    ];
    const person = ['77', '01/02/2024 09:00:00 AM', '01/02/2024 09:05:00 AM', '192.0.2.1', 'a@example.org', 'Ann', 'x'];
    const found = await recognise(
      quotedCsv(
        ['Respondent ID', ...about, 'How was it?', 'Which?', '', '', 'Anything else?'],
        ['', ...about.map(() => ''), 'Response', 'App', 'Web', 'Other (please specify)', 'Open-Ended Response'],
        ['1001', ...person, 'Good', 'App', 'Web', '', 'nothing'],
        ['1002', ...person, 'Good', 'App', '', 'by post', 'no idea'],
        ['1003', ...person, 'Bad', '', 'Web', '', ''],
        ['1004', ...person, 'Bad', 'App', '', '', 'more'],
      ),
    );
    assert.deepEqual([found.id, found.time], ['Respondent ID', 'End Date']);
    assert.deepEqual(found.questions, [
      ['MULTIPLE_CHOICE', 'How was it?'],
      ['CHECKBOXES', 'Which?', ['App', 'Web']],
      ['SHORT_TEXT', 'Which? – Other (please specify)'],
      ['SHORT_TEXT', 'Anything else?'],
    ]);
    assert.match(
      found.remarks,
      /^Recognised as an export of SurveyMonkey; left out: Collector ID, Start Date, IP Address, Email Address, First/,
    );
  });

  const limeCells = [
    ['1', '2024-01-02 10:00:00', '3', 'en', '42', 'Good', 'Yes', 'No', 'often', 'never'],
    ['2', '2024-01-03 11:00:00', '3', 'en', '43', 'Bad', 'Yes', 'Yes', 'never', 'often'],
    ['3', '', '1', 'de', '44', 'Good', 'No', 'Yes', 'often', 'often'],
    ['4', '2024-01-03 11:00:00', '3', 'en', '45', 'Bad', 'N/A', 'N/A', '', ''],
  ];
  const limeHeads: Record<string, string[]> = {
    codes: [
      'id',
      'submitdate',
      'lastpage',
      'startlanguage',
      'seed',
      'G01Q01',
      'G01Q02[SQ1]',
      'G01Q02[SQ2]',
      'G02Q1[a]',
      'G02Q1[b]',
    ],
    'full texts': [
      'Response ID',
      'Date submitted',
      'Last page',
      'Start language',
      'Seed',
      'How was it?',
      'Which? [App]',
      'Which? [Web]',
      'How often? [Bus]',
      'How often? [Tram]',
    ],
    'codes and full texts': [
      'id. Response ID',
      'submitdate. Date submitted',
      'lastpage. Last page',
      'startlanguage. Start language',
      'seed. Seed',
      'G01Q01. How was it?',
      'G01Q02[SQ1]. Which? [App]',
      'G01Q02[SQ2]. Which? [Web]',
      'G02Q1[a]. How often? [Bus]',
      'G02Q1[b]. How often? [Tram]',
    ],
  };
  for (const [kind, head] of Object.entries(limeHeads))
    it(`LimeSurvey with ${kind} has the rows and options of a question in brackets`, async () => {
      const found = await recognise(quotedCsv(head, ...limeCells));
      const isCoded = kind === 'codes';
      assert.deepEqual(found.questions, [
        ['MULTIPLE_CHOICE', isCoded ? 'G01Q01' : 'How was it?'],
        ['CHECKBOXES', isCoded ? 'G01Q02' : 'Which?', isCoded ? ['SQ1', 'SQ2'] : ['App', 'Web']],
        ['MATRIX', isCoded ? 'G02Q1' : 'How often?', isCoded ? ['a', 'b'] : ['Bus', 'Tram']],
      ]);
      assert.match(found.remarks, /^Recognised as an export of LimeSurvey; left out: /);
      assert.match(found.id ?? '', /^(?:id|Response ID)$/);
      assert.match(found.time ?? '', /^(?:submitdate|Date submitted)$/);
      assert.deepEqual(found.rows[3]?.slice(6, 8), ['', ''], 'a question that was not shown has no answer');
    });

  for (const [kind, head] of Object.entries({
    codes: ['token', 'firstname', 'lastname', 'email', 'attribute_1', 'G01Q01'],
    'full texts': ['Access code', 'First name', 'Last name', 'Email address', 'Attribute 1', 'How was it?'],
  }))
    it(`LimeSurvey with ${kind} makes questions of the names of invited respondents in anonymous surveys only`, async () => {
      const rows = ['Good', 'Bad', 'Good'].map((answer, n) => [
        `${n + 1}`,
        '2024-01-01 10:00:00',
        '2',
        `key${n}`,
        `Ngozi${n}`,
        `Adeyemi${n}`,
        `ngozi${n}@example.org`,
        `EMP-${n}`,
        answer,
      ]);
      const questionsOf = async (names: readonly string[], kept: (place: number) => boolean) => {
        const own = ['id', 'submitdate', 'lastpage', ...names];
        const chosen = [own, ...rows].map((cells) => cells.filter((_, place) => kept(place)));
        return (await recognise(quotedCsv(...(chosen as [string[], ...string[][]])))).questions.map(([, text]) => text);
      };
      assert.deepEqual(await questionsOf(head, () => true), head.slice(-1));
      assert.deepEqual(await questionsOf(head, (place) => place !== 3), head.slice(1));
    });

  it('LimeSurvey ticks no option for whom the question was not shown, also where the option was shown to nobody', async () => {
    const head = ['id', 'submitdate', 'lastpage', 'Age', 'Brands [A]', 'Brands [N/A]', 'Brands [C]', 'Why?'];
    const rows = [
      ['1', '2024-01-02 10:00:00', '3', '31', 'Y', 'N/A', 'N/A', 'N/A'],
      ['2', '2024-01-03 11:00:00', '3', '42', '', 'N/A', 'n/a', 'a long story'],
      ['3', '2024-01-04 12:00:00', '3', '53', 'N/A', 'N/A', 'N/A', 'the end'],
    ];
    for (const missing of [undefined, ['-99']]) {
      const found = await recognise(quotedCsv(head, ...rows), {
        mapping: { ...(missing && { missing }), columns: {} },
      });
      assert.deepEqual(found.questions[1], ['CHECKBOXES', 'Brands', ['A', 'N/A', 'C']]);
      assert.deepEqual(
        found.rows.map((row) => row.slice(4)),
        [
          ['Y', '', '', 'N/A'],
          ['', '', '', 'a long story'],
          ['', '', '', 'the end'],
        ],
      );
      assert.match(found.remarks, /Taken as missing: “N\/A” \(6\), “n\/a” \(1\)\./);
    }
  });

  it('LimeSurvey ticks “Other” for nobody whom the question was not shown either', async () => {
    const head = ['id', 'submitdate', 'lastpage', 'Pets [Cat]', 'Pets [Dog]', 'Pets [Other]', 'Why?'];
    const found = await recognise(
      quotedCsv(
        head,
        ['1', '2024-01-02 10:00:00', '3', 'Yes', 'No', '', 'N/A'],
        ['2', '2024-01-03 11:00:00', '3', 'No', 'Yes', 'Hamster', 'a long story'],
        ['3', '2024-01-04 12:00:00', '3', 'N/A', 'N/A', 'N/A', 'the end'],
      ),
    );
    assert.deepEqual(found.questions[0], ['CHECKBOXES', 'Pets', ['Cat', 'Dog', 'Other']]);
    assert.deepEqual(
      found.rows.map((row) => row.slice(3)),
      [
        ['Yes', 'No', '', 'N/A'],
        ['No', 'Yes', 'Hamster', 'a long story'],
        ['', '', '', 'the end'],
      ],
    );
  });

  it('LimeSurvey keeps an N/A that was written under “Other” of a question that was shown', async () => {
    const found = await recognise(
      quotedCsv(
        ['id', 'submitdate', 'lastpage', 'Pets [Cat]', 'Pets [Dog]', 'Pets [Other]', 'Why?'],
        ['1', '2024-01-02 10:00:00', '3', 'No', 'No', 'N/A', 'N/A'],
        ['2', '2024-01-03 11:00:00', '3', 'No', 'Yes', 'Hamster', 'a long story'],
        ['3', '2024-01-04 12:00:00', '3', '', '', 'n/a', 'none'],
        // The question was not shown, or only one of its options was.
        ['4', '2024-01-05 12:00:00', '3', 'N/A', 'N/A', 'N/A', 'the end'],
        ['5', '2024-01-06 12:00:00', '3', 'N/A', 'Yes', 'N/A', 'a dog'],
      ),
    );
    assert.deepEqual(found.questions[0], ['CHECKBOXES', 'Pets', ['Cat', 'Dog', 'Other']]);
    assert.deepEqual(
      found.rows.map((row) => row.slice(3, 6)),
      [
        ['No', 'No', 'N/A'],
        ['No', 'Yes', 'Hamster'],
        ['', '', 'n/a'],
        ['', '', ''],
        ['', 'Yes', ''],
      ],
    );
    assert.match(found.remarks, /Taken as missing: “N\/A” \(5\)\./);
  });

  it('Typeform has a column for each choice, named as the choice', async () => {
    const found = await recognise(
      quotedCsv(
        [
          '#',
          'How was it?',
          'App',
          'Web',
          'Your age',
          'Response Type',
          'Start Date (UTC)',
          'Submit Date (UTC)',
          'Network ID',
          'Tags',
        ],
        ['k1', '5', 'App', 'Web', '31', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:01:00', 'n1', ''],
        ['k2', '3', 'App', '', '42', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:02:00', 'n2', ''],
        ['k3', '4', '', 'Web', '53', 'completed', '2024-01-02 10:00:00', '2024-01-02 10:03:00', 'n3', ''],
      ),
    );
    assert.deepEqual([found.id, found.time], ['#', 'Submit Date (UTC)']);
    assert.deepEqual(found.questions, [
      ['NUMBER', 'How was it?'],
      ['CHECKBOXES', 'App / Web', ['App', 'Web']],
      ['NUMBER', 'Your age'],
    ]);
    assert.match(found.remarks, /export of Typeform; left out: Response Type, Start Date \(UTC\), Network ID, Tags\./);
  });

  it('Qualtrics has three lines, and the columns of a question share an import id', async () => {
    const ids = [
      'startDate',
      'endDate',
      'status',
      'ipAddress',
      '_recordId',
      'QID1',
      'QID2_1',
      'QID2_2',
      'QID3_TEXT',
      'group',
    ];
    const found = await recognise(
      quotedCsv(
        ['StartDate', 'EndDate', 'Status', 'IPAddress', 'ResponseId', 'Q1', 'Q2_1', 'Q2_2', 'Q3', 'group'],
        [
          'Start Date',
          'End Date',
          'Response Type',
          'IP Address',
          'Response ID',
          'How was it - really? - Selected Choice',
          'How often? - By bus',
          'How often? - By tram',
          'Anything else?',
          'group',
        ],
        ids.map((id) => JSON.stringify({ ImportId: id })),
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:05:00',
          'IP Address',
          '192.0.2.1',
          'R_1',
          'Good',
          'often',
          'never',
          'x',
          'A',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:06:00',
          'IP Address',
          '192.0.2.2',
          'R_2',
          'Bad',
          'never',
          'often',
          '',
          'B',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:07:00',
          'IP Address',
          '192.0.2.3',
          'R_3',
          'Good',
          'often',
          'often',
          '',
          'A',
        ],
        [
          '2024-01-02 10:00:00',
          '2024-01-02 10:07:00',
          'IP Address',
          '192.0.2.3',
          'R_4',
          'Bad',
          'often',
          'never',
          'y',
          'B',
        ],
      ),
    );
    assert.deepEqual([found.id, found.time], ['Response ID', 'End Date']);
    assert.deepEqual(found.questions, [
      ['MULTIPLE_CHOICE', 'How was it - really?'],
      ['MATRIX', 'How often?', ['By bus', 'By tram']],
      ['SHORT_TEXT', 'Anything else?'],
      ['MULTIPLE_CHOICE', 'group'],
    ]);
    assert.match(found.remarks, /export of Qualtrics; left out: Start Date, Response Type, IP Address\./);
  });

  it('no tool leaves all columns questions; the mapping brings back a column that a tool leaves out', async () => {
    const plain = await recognise(quotedCsv(['id', 'seed', 'IP Address'], ['1', '5', 'x'], ['2', '6', 'y']));
    assert.deepEqual(plain.questions, [
      ['NUMBER', 'seed'],
      ['SHORT_TEXT', 'IP Address'],
    ]);
    const head = limeHeads['codes'] ?? [];
    const found = await recognise(quotedCsv(head, ...limeCells), {
      mapping: { columns: { startlanguage: { type: 'DROPDOWN' }, submitdate: { type: 'DATE' } } },
    });
    assert.deepEqual(found.questions.slice(0, 2), [
      ['DATE', 'submitdate'],
      ['DROPDOWN', 'startlanguage'],
    ]);
    assert.equal(found.time, undefined);
    assert.deepEqual(found.rows[0]?.[1], '2024-01-02', 'a day without its time');
  });
});
