import { useQueries } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { deleteTranslation, type SurveyLanguage, type Translation, translationQuery } from '../../data/translations.ts';
import { IconButton } from '../../parts/button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Badge } from '../../parts/feedback.tsx';
import styles from './languages.module.css';
import type { TextGroup } from './texts.ts';

interface LanguageListProps {
  survey: SurveyWithQuestions;
  groups: readonly TextGroup[];
  languages: readonly SurveyLanguage[];
  selected: string | undefined;
  onOpen(language: string | undefined): void;
}

interface Row extends SurveyLanguage {
  translation: Translation | undefined;
}

/** The languages beside each other: how much of each is translated. */
export function LanguageList({ survey, groups, languages, selected, onOpen }: LanguageListProps) {
  const isEditor = useMayEditSurvey();
  const [removed, setRemoved] = useState<string>();
  const translations = useQueries({
    queries: languages.map(({ language, isOwn }) => ({ ...translationQuery(survey.id, language), enabled: !isOwn })),
  });
  const total = groups.reduce((sum, { texts }) => sum + texts.length, 0);
  const rows = languages.map((item, index): Row => ({ ...item, translation: translations[index]?.data }));

  const columns: Column<Row>[] = [
    {
      id: 'language',
      title: 'Language',
      width: 'minmax(10rem, 1fr)',
      cell: ({ language, isOwn }) =>
        isOwn ? (
          languageName(language)
        ) : (
          <button type="button" className={styles.open} onClick={() => onOpen(language)}>
            {languageName(language)}
          </button>
        ),
    },
    { id: 'code', title: 'Code', width: '6rem', cell: ({ language }) => <code>{language}</code> },
    {
      id: 'texts',
      title: 'Texts',
      width: '8rem',
      isNumber: true,
      cell: ({ isOwn, translation }) =>
        isOwn ? total : translation && `${total - translation.missing.length} of ${total}`,
    },
    { id: 'state', title: 'State', width: 'minmax(14rem, 1fr)', cell: (row) => <LanguageState row={row} /> },
    {
      id: 'actions',
      title: 'Actions',
      width: '4rem',
      isTitleHidden: true,
      cell: ({ language, isOwn }) =>
        !isOwn &&
        isEditor && (
          <IconButton
            label={`Delete the translation to ${languageName(language)}`}
            icon={<Trash2 aria-hidden />}
            onPress={() => setRemoved(language)}
          />
        ),
    },
  ];
  return (
    <>
      <DataTable
        label="Languages"
        columns={columns}
        rows={rows}
        rowKey={({ language }) => language}
        isSelected={({ language }) => language === selected}
        onOpen={({ language, isOwn }) => {
          if (!isOwn) onOpen(language);
        }}
        rowHeight={36}
      />
      {removed !== undefined && (
        <ConfirmDialog
          title={`Delete the translation to ${languageName(removed)}?`}
          isOpen
          onClose={() => setRemoved(undefined)}
          action="Delete the translation"
          isDangerous
          onConfirm={async () => {
            if (removed === selected) onOpen(undefined);
            await deleteTranslation(survey.id, removed);
          }}
        >
          Respondents see the survey in {languageName(survey.language)} then. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}

function LanguageState({ row: { isOwn, translation } }: { row: Row }) {
  if (isOwn) return <Badge>Original</Badge>;
  if (!translation) return null;
  const { missing, stale } = translation;
  if (missing.length === 0 && stale.length === 0) return <Badge tone="success">Complete</Badge>;
  return (
    <span className={styles.badges}>
      {missing.length > 0 && <Badge tone="warning">{missing.length} missing</Badge>}
      {stale.length > 0 && <Badge tone="error">{stale.length} out of date</Badge>}
    </span>
  );
}
