import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Languages, Plus, Sparkles } from 'lucide-react';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { type TranslationLanguage, translationLanguages } from '../../../../src/domain/translation/languages.ts';
import { useDraft, useDraftNames } from '../../app/drafts.ts';
import { noteUser } from '../../app/session.ts';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { aiProblemText } from '../../data/ai-jobs.ts';
import { pollUnlessRefused, queryClient, rereadMs } from '../../data/query-client.ts';
import { definitionOf } from '../../data/questions.ts';
import { changeSurvey, type SurveyWithQuestions, surveyQuery } from '../../data/surveys.ts';
import { languageListQuery, type SurveyLanguage, translateWithAi } from '../../data/translations.ts';
import { Button } from '../../parts/button.tsx';
import { ProblemPanel } from '../../parts/conflict.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { LanguageField } from '../../parts/language-field.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { Toolbar } from '../../parts/page.tsx';
import { AiTranslation } from './ai-translation.tsx';
import { LanguageList } from './language-list.tsx';
import { type TranslatedText, textGroups } from './texts.ts';
import { TranslationEditor } from './translation-editor.tsx';

const route = getRouteApi('/app/surveys/$surveyId/languages');

/** The languages of a survey, and its texts in them side by side. */
export function Screen() {
  const surveyId = useSurveyId();
  // No stream tells of translations or of settings, which make no version of the survey.
  const refetchInterval = pollUnlessRefused(rereadMs);
  const survey = useQuery({ ...surveyQuery(surveyId), refetchInterval });
  const list = useQuery({ ...languageListQuery(surveyId), refetchInterval });
  const error = survey.error ?? list.error;
  if (survey.data && list.data) return <View survey={survey.data} languages={list.data} />;
  if (error) return <ErrorState error={error} onRetry={() => Promise.all([survey.refetch(), list.refetch()])} />;
  return <Loading lines={8} />;
}

function View({ survey, languages }: { survey: SurveyWithQuestions; languages: SurveyLanguage[] }) {
  const canEdit = survey.right !== 'read';
  const { language } = route.useSearch();
  const navigate = route.useNavigate();
  const [isTranslating, setTranslating] = useState(false);
  const groups = textGroups(definitionOf(survey));
  const own = survey.language;
  const translations = languages.filter(({ isOwn }) => !isOwn).map((item) => item.language);
  const known = new Set(languages.map((item) => item.language));
  const missing = translationLanguages.filter((code) => !known.has(code));
  const draftNames = useDraftNames(survey.id);
  const unsaved = translationLanguages.filter((code) => code !== own && code !== language && draftNames.includes(code));
  const open = (next: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, language: next, beside: undefined }) });

  const translate = async (chosen: TranslationLanguage[]) => {
    const isSameUser = noteUser();
    setTranslating(false);
    try {
      const count = await translateWithAi(survey, chosen);
      if (!isSameUser()) return;
      toast({
        text: count === 0 ? 'All texts were up to date.' : `Texts translated: ${count}. Please read them over.`,
      });
    } catch (failure) {
      if (isSameUser()) toast({ text: aiProblemText(failure), isError: true });
    }
  };

  const addMenu = canEdit && missing.length > 0 && (
    <Menu label="Add a language" button={<Button icon={<Plus aria-hidden />}>Add a language</Button>}>
      {missing.map((code) => (
        <MenuItem key={code} onAction={() => open(code)}>
          {languageName(code)}
        </MenuItem>
      ))}
    </Menu>
  );
  // A language that was just added has no text yet: the service knows it from its first text on.
  const isShown =
    language !== undefined && language !== own && (known.has(language) || missing.some((code) => code === language));
  return (
    <>
      <Toolbar>
        {addMenu}
        {canEdit && <OwnLanguage surveyId={survey.id} own={own} known={known} />}
        {canEdit && (
          <Button icon={<Sparkles aria-hidden />} isDisabled={!survey.aiEnabled} onPress={() => setTranslating(true)}>
            {survey.aiEnabled ? 'Translate with AI' : 'AI is off for this survey'}
          </Button>
        )}
      </Toolbar>
      {unsaved.map((code) => (
        <ProblemPanel key={code} label={`${languageName(code)} is not saved`}>
          <p>What was typed in {languageName(code)} is not saved yet.</p>
          <Button onPress={() => open(code)}>Go on</Button>
        </ProblemPanel>
      ))}
      {translations.length === 0 && !isShown ? (
        <EmptyState title={`Only in ${languageName(own)} so far`} action={addMenu}>
          Respondents see the survey in the language of their browser or of the link where there is a translation, and
          in {languageName(own)} otherwise.
        </EmptyState>
      ) : (
        <LanguageList survey={survey} groups={groups} languages={languages} selected={language} onOpen={open} />
      )}
      {translationLanguages.some((code) => code === own) && <TypedBefore key={own} surveyId={survey.id} own={own} />}
      {isShown && (
        <TranslationEditor
          key={language}
          surveyId={survey.id}
          own={own}
          language={language}
          isNew={!translations.includes(language)}
          others={translations.filter((item) => item !== language)}
          groups={groups}
          isReadOnly={!canEdit}
        />
      )}
      {!isShown && translations.length > 0 && (
        <EmptyState title="Choose a language" action={<Languages aria-hidden />}>
          Its texts stand here beside the original, with what is missing or has changed since.
        </EmptyState>
      )}
      {isTranslating && (
        <AiTranslation
          own={own}
          known={translations}
          onStart={(chosen) => void translate(chosen)}
          onClose={() => setTranslating(false)}
        />
      )}
    </>
  );
}

/** What was typed as a translation to the language in which the survey is written by now: it cannot be saved. */
function TypedBefore({ surveyId, own }: { surveyId: string; own: string }) {
  const { changes, isChanged, reset } = useDraft<Record<string, TranslatedText>>(`${surveyId} ${own}`, {});
  if (!isChanged) return null;
  return (
    <ProblemPanel label="No translation any more">
      <h3>The survey is written in {languageName(own)} now, and what you have typed as its translation is not saved</h3>
      {Object.entries(changes).map(([path, typed]) => (
        <div key={path}>
          <h4 dir="auto">{typed?.original}</h4>
          <p dir="auto">{typed?.text}</p>
        </div>
      ))}
      <Button onPress={reset}>Discard</Button>
    </ProblemPanel>
  );
}

interface OwnLanguageProps {
  surveyId: string;
  own: string;
  known: ReadonlySet<string>;
}

/** The language in which the survey is written; the change is in effect at once. */
function OwnLanguage({ surveyId, own, known }: OwnLanguageProps) {
  const choose = async (language: string) => {
    try {
      await changeSurvey(surveyId, { language });
      await queryClient.invalidateQueries({ queryKey: languageListQuery(surveyId).queryKey, exact: true });
    } catch (failure) {
      toastFailure(failure);
    }
  };
  return (
    <LanguageField
      label="Written in"
      // One that the survey is translated to cannot become its own.
      taken={known}
      value={own}
      onChange={(next) => void choose(next)}
    />
  );
}
